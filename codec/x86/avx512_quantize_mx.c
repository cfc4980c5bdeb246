/* avx512_quantize_mx.c: bf16 into E8M0 blocks of 32, 64, ... elements, in 16-bit lanes and integers
 * alone: right in any FP environment. Part of the leaf avx512_quantize.c, which takes row weights.
 *
 * bf16 magnitudes are ordered integers, and dividing by a power of two subtracts from the exponent
 * field. A group is 8 blocks: one register holds all their maxima. A block with NaN or Inf, or with
 * a scale so small or so large that the sum of e8m0.h does not fit, goes to portable.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__x86_64__)
#include "../simd/e8m0.h"
#include "../simd/fallback.h"
#include "../simd/ops_avx512.h"

#define GROUP 8   /* blocks */
#define VECTOR 32 /* elements */
#define WORDS(value) _mm512_set1_epi16((short)(value))

typedef struct word_constants {
  __m512i magnitude, one;
} word_constants;

/* ---- maxima ---- */

/* The quadword of tree8's result that holds vector i. */
static const uint8_t slot_of[GROUP] = {0, 2, 4, 6, 1, 3, 5, 7};

/* Each step joins halves of two vectors, so that one maximum serves both. */
MXG_OP __m512i halves_max(__m512i a, __m512i b) {
  return _mm512_max_epu16(_mm512_shuffle_i64x2(a, b, 0x44), _mm512_shuffle_i64x2(a, b, 0xEE));
}
MXG_OP __m512i quarters_max(__m512i a, __m512i b) {
  return _mm512_max_epu16(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xDD));
}

/* Word maxima of 8 vectors: all four words of quadword slot_of[i] are the maximum of vector i. */
MXG_OP __m512i tree8(const __m512i m[GROUP]) {
  const __m512i even = quarters_max(halves_max(m[0], m[1]), halves_max(m[2], m[3]));
  const __m512i odd = quarters_max(halves_max(m[4], m[5]), halves_max(m[6], m[7]));
  __m512i t = _mm512_max_epu16(_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd));
  t = _mm512_max_epu16(t, _mm512_rol_epi64(t, 32));
  return _mm512_max_epu16(t, _mm512_rol_epi64(t, 16));
}

/* ---- scales: e8m0.h in words ---- */

typedef struct scale_constants {
  __m512i one, addend, infinity, begin, minus, floor_byte, least_byte, base, slots;
} scale_constants;

/* base: added to the exponent field of the block's scale, gives what an encoder subtracts from. */
MXG_OP scale_constants scale_constants_for(const mxg_e8m0_sum *sum, int base) {
  const __m128i slots = _mm_setr_epi8(0, 16, 32, 48, 8, 24, 40, 56, 0, 0, 0, 0, 0, 0, 0, 0);
  const uint32_t begin = (sum->begin + 0xFFFFu) >> 16;
  scale_constants c;
  c.one = WORDS(1);
  c.addend = WORDS(sum->addend >> 16); /* exact: the low half of a bf16 maximum is 0 */
  c.infinity = WORDS(0x7F80);
  c.begin = WORDS(begin == 0 ? 0 : begin - 1);
  c.minus = WORDS(sum->minus);
  c.floor_byte = WORDS(sum->floor_byte);
  c.least_byte = WORDS(sum->least_byte);
  c.base = WORDS(base);
  c.slots = _mm512_castsi128_si512(slots);
  return c;
}

/* The scale bytes of a group in words, and in *bad 4 bits a slot for what is not for us. */
MXG_OP __m512i scale_bytes(const scale_constants *c, __m512i amax, __mmask32 *bad) {
  const __m512i sum = _mm512_add_epi16(amax, c->addend);
  *bad =
      _mm512_cmpge_epu16_mask(sum, c->infinity) |
      _mm512_cmplt_epu16_mask(_mm512_sub_epi16(amax, c->one), c->begin); /* 0 wraps: it is good */
  return _mm512_max_epu16(_mm512_subs_epu16(_mm512_srli_epi16(sum, 7), c->minus), c->floor_byte);
}

/* ---- E2M1 ----
 * Less base = ((byte - 3) << 7) + 1, a magnitude is v in quarter binades of 32 steps: 0x80 for 0.25
 * (bin 4), 0x280 for 4. The 1 puts ties into the lower bin; those that go up (0.75, 1.75, 3.5) are
 * the ones with bit 6 set, which is added back. v < 8, so a bin fits 5 bits and a table of 64
 * takes bin and sign to the code. */

typedef struct fp4_constants {
  __m512i tie, low_bin, low_sign, sign, table, pairs, order;
  __mmask64 second;
} fp4_constants;

#define FP4_BASE (1 - 3 * 128)

MXG_OP fp4_constants fp4_constants_for(uint32_t limit) {
  static const uint8_t code_of[32] = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4,
                                      4, 5, 5, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
  static const uint8_t order[64] = {0,  1,  4,  5,  16, 17, 20, 21, 32, 33, 36, 37, 48, 49, 52, 53,
                                    2,  3,  6,  7,  18, 19, 22, 23, 34, 35, 38, 39, 50, 51, 54, 55,
                                    8,  9,  12, 13, 24, 25, 28, 29, 40, 41, 44, 45, 56, 57, 60, 61,
                                    10, 11, 14, 15, 26, 27, 30, 31, 42, 43, 46, 47, 58, 59, 62, 63};
  const __m256i codes = _mm256_min_epu8(_mm256_loadu_si256((const __m256i *)(const void *)code_of),
                                        _mm256_set1_epi8((char)limit));
  fp4_constants c;
  c.tie = WORDS(0x40);
  c.low_bin = _mm512_set1_epi64(0x3525150535251505);
  c.low_sign = _mm512_set1_epi64(0x3A2A1A0A3A2A1A0A);
  c.sign = _mm512_set1_epi8(0x20);
  c.table = _mm512_inserti64x4(_mm512_castsi256_si512(codes),
                               _mm256_or_si256(codes, _mm256_set1_epi8(8)), 1);
  c.pairs = WORDS(0x1001);
  c.order = _mm512_loadu_si512(order);
  c.second = 0xF0F0F0F0F0F0F0F0u;
  return c;
}

MXG_OP __m512i fp4_bins(const fp4_constants *c, const word_constants *k, __m512i magnitude,
                        __m512i base) {
  const __m512i steps = _mm512_subs_epu16(magnitude, base);
  return _mm512_mask_add_epi16(steps, _mm512_test_epi16_mask(magnitude, c->tie), steps, k->one);
}

/* Two vectors of words into words of two codes; x for the signs. VPMULTISHIFTQB picks any 8 bits of
 * a quadword per byte: the bins of 4 words of the first vector, then of the second. */
MXG_OP __m512i fp4_join(const fp4_constants *c, const word_constants *k, const __m512i x[2],
                        const __m512i magnitude[2], const __m512i base[2]) {
  const __m512i bins0 =
      _mm512_multishift_epi64_epi8(c->low_bin, fp4_bins(c, k, magnitude[0], base[0]));
  const __m512i bins = _mm512_mask_multishift_epi64_epi8(bins0, c->second, c->low_bin,
                                                         fp4_bins(c, k, magnitude[1], base[1]));
  const __m512i signs0 = _mm512_multishift_epi64_epi8(c->low_sign, x[0]);
  const __m512i signs = _mm512_mask_multishift_epi64_epi8(signs0, c->second, c->low_sign, x[1]);
  const __m512i index = _mm512_ternarylogic_epi64(bins, signs, c->sign, 0xF8); /* a | (b & c) */
  return _mm512_maddubs_epi16(_mm512_permutexvar_epi8(index, c->table), c->pairs);
}

/* ---- E4M3, E5M2 ----
 * Codes sit in the high byte of a word, 8 bits of the discarded part below them. With d = base -
 * magnitude, base being the last bf16 of the format's first normal binade: negative d are normals,
 * whose code is the shifted magnitude less that of the base. Others are significands to be shifted
 * right once for each binade that is missing, d >> 7. Nothing is lost that decides a tie, as the
 * low byte has room for every shift that leaves a code. Both then round to nearest even. */

typedef struct fp8_constants {
  __m512i lift, normal, mantissa, implicit, half, odd, limit, sign, order;
} fp8_constants;

MXG_OP fp8_constants fp8_constants_for(const mxg_plan *plan) {
  const uint32_t lift = (uint32_t)plan->traits.mantissa_bits + 1;
  const __m512i bytes = _mm512_broadcast_i64x4(
      _mm256_setr_epi8(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39,
                       41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63));
  fp8_constants c;
  c.lift = WORDS(lift);
  c.normal = WORDS((0xFFu << lift) + 0x7F);
  c.mantissa = WORDS(0x7Fu << lift);
  c.implicit = WORDS(0x80u << lift);
  c.half = WORDS(0x7F);
  c.odd = WORDS(0x100);
  c.limit = WORDS(plan->policy.over << 8 | 0xFF);
  c.sign = WORDS(0x8000);
  c.order = bytes;
  return c;
}

MXG_OP __m512i fp8_codes(const fp8_constants *c, const word_constants *k, __m512i x, __m512i d,
                         int all_normal, int fnuz) {
  const __m512i lifted = _mm512_sllv_epi16(d, c->lift);
  __m512i code = _mm512_sub_epi16(c->normal, lifted);
  if (!all_normal) {
    /* (~lifted & mantissa) | implicit: base ends in 7F, so d has the inverse of x's mantissa. A
     * negative d shifts everything out. */
    const __m512i significand = _mm512_ternarylogic_epi64(lifted, c->mantissa, c->implicit, 0xAE);
    const __m512i shifted = _mm512_srlv_epi16(significand, _mm512_srli_epi16(d, 7));
    code = _mm512_mask_sub_epi16(_mm512_add_epi16(shifted, c->half), _mm512_movepi16_mask(d),
                                 c->normal, lifted);
  }
  code = _mm512_mask_add_epi16(code, _mm512_test_epi16_mask(code, c->odd), code, k->one);
  code = _mm512_min_epu16(code, c->limit);
  if (fnuz) x = _mm512_maskz_mov_epi16(_mm512_cmpge_epu16_mask(code, c->odd), x); /* no -0 */
  return _mm512_ternarylogic_epi64(code, x, c->sign, 0xF8);                       /* a | (b & c) */
}

/* The high bytes of two vectors of words. */
MXG_OP __m512i fp8_join(const fp8_constants *c, __m512i codes0, __m512i codes1) {
  const __m512i low = _mm512_permutexvar_epi8(c->order, codes0);
  return _mm512_mask_permutexvar_epi8(low, 0xFFFFFFFF00000000u, c->order, codes1);
}

/* ---- groups of blocks ---- */

typedef struct kernel_constants {
  word_constants words;
  fp4_constants fp4;
  fp8_constants fp8;
} kernel_constants;

typedef enum code_kind { FP4, FP8, FP8_FNUZ } code_kind;

/* Constants of the encoders in registers. */
MXG_OP void keep(kernel_constants *c, code_kind kind) {
  MXG_KEEP(c->words.magnitude);
  MXG_KEEP(c->words.one);
  if (kind == FP4) {
    MXG_KEEP(c->fp4.tie);
    MXG_KEEP(c->fp4.low_bin);
    MXG_KEEP(c->fp4.low_sign);
    MXG_KEEP(c->fp4.sign);
    MXG_KEEP(c->fp4.table);
    MXG_KEEP(c->fp4.pairs);
    MXG_KEEP(c->fp4.order);
    MXG_KEEP_MASK(c->fp4.second);
  } else {
    MXG_KEEP(c->fp8.lift);
    MXG_KEEP(c->fp8.normal);
    MXG_KEEP(c->fp8.mantissa);
    MXG_KEEP(c->fp8.implicit);
    MXG_KEEP(c->fp8.half);
    MXG_KEEP(c->fp8.odd);
    MXG_KEEP(c->fp8.limit);
    MXG_KEEP(c->fp8.sign);
    MXG_KEEP(c->fp8.order);
  }
}

MXG_OP void fp4_encode4(const kernel_constants *c, const __m512i x[4], const __m512i magnitude[4],
                        const __m512i base[4], uint8_t *codes) {
  const __m512i low = fp4_join(&c->fp4, &c->words, x, magnitude, base);
  const __m512i high = fp4_join(&c->fp4, &c->words, x + 2, magnitude + 2, base + 2);
  const __m512i bytes = _mm512_packus_epi16(low, high);
  _mm512_storeu_si512(codes, _mm512_permutexvar_epi8(c->fp4.order, bytes));
}

/* Most data have no element below the format's first two binades, which saves a third. */
MXG_OP void fp8_encode4(const kernel_constants *c, const __m512i x[4], const __m512i magnitude[4],
                        const __m512i base[4], int fnuz, uint8_t *codes) {
  __m512i d[4], code[4], normal;
  MXG_UNROLL
  for (int i = 0; i < 4; i++) d[i] = _mm512_sub_epi16(base[i], magnitude[i]);
  normal = _mm512_and_si512(_mm512_ternarylogic_epi64(d[0], d[1], d[2], 0x80), d[3]);
  if (_mm512_movepi16_mask(normal) == UINT32_MAX) {
    MXG_UNROLL
    for (int i = 0; i < 4; i++) code[i] = fp8_codes(&c->fp8, &c->words, x[i], d[i], 1, fnuz);
  } else {
    MXG_UNROLL
    for (int i = 0; i < 4; i++) code[i] = fp8_codes(&c->fp8, &c->words, x[i], d[i], 0, fnuz);
  }
  _mm512_storeu_si512(codes, fp8_join(&c->fp8, code[0], code[1]));
  _mm512_storeu_si512(codes + 64, fp8_join(&c->fp8, code[2], code[3]));
}

/* 4 vectors into 64 bytes of FP4 or 128 of FP8. */
MXG_OP void encode4(const kernel_constants *c, code_kind kind, const uint8_t *from,
                    const __m512i base[4], uint8_t *codes) {
  __m512i x[4], magnitude[4];
  MXG_UNROLL
  for (int i = 0; i < 4; i++) {
    x[i] = _mm512_loadu_si512(from + 64 * i);
    magnitude[i] = _mm512_and_si512(x[i], c->words.magnitude);
  }
  if (kind == FP4)
    fp4_encode4(c, x, magnitude, base, codes);
  else
    fp8_encode4(c, x, magnitude, base, kind == FP8_FNUZ, codes);
}

/* What the encoders subtract from, a quadword for each block of a group. A whole cache line, so
 * that its store is forwarded to the loads that broadcast it. */
typedef struct group_bases {
  _Alignas(64) uint64_t of_slot[GROUP];
} group_bases;

/* By name of the instruction: gcc would broadcast half of them from general registers, on a port
 * that the loop needs. */
MXG_OP __m512i base_of(const group_bases *bases, size_t block) {
  __m512i base;
  __asm__("vpbroadcastq %1, %0" : "=v"(base) : "m"(bases->of_slot[slot_of[block]]));
  return base;
}

/* Scales and bases of count <= GROUP blocks from vectors that hold their maxima. Returns 4 bits a
 * slot for portable's blocks. */
MXG_OP __mmask32 scales_of(const scale_constants *scale, const __m512i maxima[GROUP], size_t count,
                           uint8_t *scales, group_bases *bases) {
  __mmask32 bad;
  __m512i bytes = scale_bytes(scale, tree8(maxima), &bad);
  const __m128i packed = _mm512_castsi512_si128(_mm512_permutexvar_epi8(scale->slots, bytes));
  if (count == GROUP)
    _mm_storel_epi64((__m128i *)(void *)scales, packed);
  else
    _mm_mask_storeu_epi8(scales, (__mmask16)((1u << count) - 1u), packed);
  bytes = _mm512_slli_epi16(_mm512_max_epu16(bytes, scale->least_byte), 7);
  _mm512_store_si512(bases->of_slot, _mm512_add_epi16(bytes, scale->base));
  MXG_RELOAD(*bases);
  return bad;
}

/* The same of blocks of `vectors` vectors each, in memory. */
MXG_OP __mmask32 group_scales(const kernel_constants *c, const scale_constants *scale,
                              size_t vectors, size_t count, const uint8_t *x, uint8_t *scales,
                              group_bases *bases) {
  __m512i maxima[GROUP];
  MXG_UNROLL
  for (size_t i = 0; i < GROUP; i++) {
    __m512i m = _mm512_setzero_si512();
    if (i < count) {
      const uint8_t *from = x + i * vectors * 64;
      m = _mm512_and_si512(_mm512_loadu_si512(from), c->words.magnitude);
      for (size_t v = 1; v < vectors; v++)
        m = _mm512_max_epu16(
            m, _mm512_and_si512(_mm512_loadu_si512(from + 64 * v), c->words.magnitude));
    }
    maxima[i] = m;
  }
  return scales_of(scale, maxima, count, scales, bases);
}

/* Codes of a whole group of blocks of one vector. */
MXG_OP void group_codes(const kernel_constants *c, code_kind kind, const uint8_t *x,
                        const group_bases *bases, uint8_t *codes) {
  __m512i base[GROUP];
  MXG_UNROLL
  for (size_t i = 0; i < GROUP; i++) base[i] = base_of(bases, i);
  encode4(c, kind, x, base, codes);
  encode4(c, kind, x + 256, base + 4, codes + (kind == FP4 ? 64 : 128));
}

/* Scales and FP4 codes of a whole group of blocks of one vector, which is read once. */
MXG_OP __mmask32 fp4_group(const kernel_constants *c, const scale_constants *scale,
                           const uint8_t *from, uint8_t *codes, uint8_t *scales) {
  __m512i x[GROUP], magnitude[GROUP], base[GROUP];
  group_bases bases;
  __mmask32 bad;
  MXG_UNROLL
  for (size_t i = 0; i < GROUP; i++) {
    x[i] = _mm512_loadu_si512(from + 64 * i);
    magnitude[i] = _mm512_and_si512(x[i], c->words.magnitude);
  }
  bad = scales_of(scale, magnitude, GROUP, scales, &bases);
  MXG_UNROLL
  for (size_t i = 0; i < GROUP; i++) base[i] = base_of(&bases, i);
  fp4_encode4(c, x, magnitude, base, codes);
  fp4_encode4(c, x + 4, magnitude + 4, base + 4, codes + 64);
  return bad;
}

/* Codes of any group; 4 vectors at a time, whichever blocks they belong to. */
MXG_OP void any_group_codes(const kernel_constants *c, code_kind kind, size_t vectors, size_t count,
                            const uint8_t *x, const group_bases *bases, uint8_t *codes) {
  const size_t vector_bytes = kind == FP4 ? VECTOR / 2 : VECTOR, total = count * vectors;
  size_t block = 0, in_block = 0;
  for (size_t done = 0; done < total; done += 4) {
    __m512i base[4];
    for (size_t i = 0; i < 4; i++) {
      base[i] = base_of(bases, block);
      if (++in_block == vectors && block + 1 < count) in_block = 0, block++;
    }
    if (total - done >= 4) {
      encode4(c, kind, x + 64 * done, base, codes + vector_bytes * done);
    } else {
      uint8_t last_x[4 * 64] = {0}, last_codes[4 * VECTOR];
      memcpy(last_x, x + 64 * done, 64 * (total - done));
      encode4(c, kind, last_x, base, last_codes);
      memcpy(codes + vector_bytes * done, last_codes, vector_bytes * (total - done));
    }
  }
}

/* Blocks that a stretch of groups left to portable. */
static void redo(const mxg_quantize_job *job, size_t first, size_t count, const __mmask32 *bad) {
  for (size_t i = 0; i < count; i++)
    if ((bad[i / GROUP] >> 4 * slot_of[i % GROUP] & 1u) != 0)
      (void)mxg_quantize_block_portably(job, first + i, job->plan->recipe.block);
}

/* A call inside the loop over groups would cost it its registers, so portable's blocks are noted,
 * and done after each stretch of so many groups. */
#define STRETCH 64

/* vectors: of a block; a constant 1 for the popular block of 32. */
MXG_OP void encode_blocks(const mxg_quantize_job *job, const mxg_e8m0_sum *sum, code_kind kind,
                          size_t vectors) {
  const mxg_plan *plan = job->plan;
  const size_t block = VECTOR * vectors, blocks = job->cols / block;
  const size_t block_bytes = kind == FP4 ? block / 2 : block;
  const uint8_t *x = job->x;
  uint8_t *codes = job->codes, *scales = job->scales;
  scale_constants scale;
  kernel_constants c;
  c.words.magnitude = WORDS(0x7FFF);
  c.words.one = WORDS(1);
  if (kind == FP4) {
    scale = scale_constants_for(sum, FP4_BASE);
    c.fp4 = fp4_constants_for(plan->policy.limit);
  } else {
    scale = scale_constants_for(sum, plan->traits.emin * 128 + 0x7F);
    c.fp8 = fp8_constants_for(plan);
  }
  for (size_t first = 0, count; first < blocks; first += count) {
    __mmask32 bad[STRETCH], any = 0;
    size_t group = 0;
    count = blocks - first < STRETCH * GROUP ? blocks - first : STRETCH * GROUP;
    keep(&c, kind);
    MXG_RELOAD(scale); /* constants of the scales in memory */
    if (vectors == 1 && kind == FP4) {
      for (; group < count / GROUP; group++) {
        bad[group] = fp4_group(&c, &scale, x + group * 2 * block * GROUP,
                               codes + group * block_bytes * GROUP, scales + group * GROUP);
        any |= bad[group];
      }
    } else if (vectors == 1 && count >= GROUP) {
      /* The scales of a group come from a long chain: they are made while the group before is
       * encoded. After the last group the same again, for want of another. */
      group_bases bases[2];
      bad[0] = group_scales(&c, &scale, 1, GROUP, x, scales, &bases[0]);
      for (; group < count / GROUP; group++) {
        const size_t next = group + 1 < count / GROUP ? group + 1 : group;
        any |= bad[group];
        bad[next] = group_scales(&c, &scale, 1, GROUP, x + next * 2 * block * GROUP,
                                 scales + next * GROUP, &bases[(group + 1) & 1]);
        group_codes(&c, kind, x + group * 2 * block * GROUP, &bases[group & 1],
                    codes + group * block_bytes * GROUP);
      }
    }
    for (size_t done = group * GROUP, n; done < count; done += n, group++) {
      group_bases bases;
      n = count - done < GROUP ? count - done : GROUP;
      bad[group] =
          group_scales(&c, &scale, vectors, n, x + done * 2 * block, scales + done, &bases);
      any |= bad[group];
      any_group_codes(&c, kind, vectors, n, x + done * 2 * block, &bases,
                      codes + done * block_bytes);
    }
    x += count * 2 * block;
    codes += count * block_bytes;
    scales += count;
    if (any != 0) redo(job, first, count, bad);
  }
  if (job->cols % block != 0) (void)mxg_quantize_block_portably(job, blocks, job->cols % block);
}

/* ---- the kernel ---- */

#define INSTANCE(name, kind)                                                          \
  MXG_TARGET static void name(const mxg_quantize_job *job, const mxg_e8m0_sum *sum) { \
    const size_t vectors = job->plan->recipe.block / VECTOR;                          \
    if (vectors == 1)                                                                 \
      encode_blocks(job, sum, kind, 1);                                               \
    else                                                                              \
      encode_blocks(job, sum, kind, vectors);                                         \
  }

INSTANCE(encode_fp4, FP4)
INSTANCE(encode_fp8, FP8)
INSTANCE(encode_fp8_fnuz, FP8_FNUZ)

int mxg_quantize_bf16_mx__avx512(const mxg_quantize_job *job) {
  const mxg_e8m0_sum sum = mxg_e8m0_sum_for(job->plan);
  if (job->row_weight != NULL) return mxg_quantize__avx512(job);
  if (sum.begin == sum.end) return mxg_quantize__portable(job);
  if (job->plan->traits.bits == 4)
    encode_fp4(job, &sum);
  else if (job->plan->traits.fnuz != 0)
    encode_fp8_fnuz(job, &sum);
  else
    encode_fp8(job, &sum);
  return 0;
}
#endif
