/* avx512_quantize_mx.c: bf16 into E8M0 blocks of 32, 64, ... elements, in 16-bit lanes and integers
 * alone: right in any FP environment. Part of the leaf avx512_quantize.c, which takes row weights.
 *
 * bf16 magnitudes are ordered integers, and dividing by a power of two subtracts from the exponent
 * field. A group is 8 blocks: one register holds all their maxima. A block with NaN or Inf, or with
 * a scale so small or so large that the sum of e8m0.h does not fit, goes to portable.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__x86_64__)
#include "../simd/fallback.h"
#include "../simd/mx_avx512.h"

/* ---- groups of blocks ---- */

#define AHEAD 4096u /* bytes of source to prefetch in large calls */

typedef struct kernel_constants {
  word_constants words;
  int prefetch, stream; /* a large call; codes around the caches */
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
  store_or_stream(codes, _mm512_permutexvar_epi8(c->fp4.order, bytes), c->stream);
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
  store_or_stream(codes, fp8_join(&c->fp8, code[0], code[1]), c->stream);
  store_or_stream(codes + 64, fp8_join(&c->fp8, code[2], code[3]), c->stream);
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

/* The source some groups on; prefetches beyond its end do no harm. */
MXG_OP void prefetch_group(const uint8_t *x) {
  MXG_UNROLL
  for (size_t i = 0; i < GROUP; i++)
    __builtin_prefetch((const void *)((uintptr_t)x + AHEAD + 64 * i));
}

/* Codes of a whole group of blocks of one vector. */
MXG_OP void group_codes(const kernel_constants *c, code_kind kind, const uint8_t *x,
                        const group_bases *bases, uint8_t *codes) {
  __m512i base[GROUP];
  if (c->prefetch) prefetch_group(x);
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
  if (c->prefetch) prefetch_group(from);
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
      uint8_t last_x[4 * 64] = {0};
      _Alignas(64) uint8_t last_codes[4 * VECTOR];
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

/* vectors: of a block; a constant 1 for the popular block of 32. large: job->streaming; a constant 0
 * for most calls, as choices in the loop cost a tenth. */
MXG_OP void encode_blocks(const mxg_quantize_job *job, const mxg_e8m0_sum *sum, code_kind kind,
                          size_t vectors, int large) {
  const mxg_plan *plan = job->plan;
  const size_t block = VECTOR * vectors, blocks = job->cols / block;
  const size_t block_bytes = kind == FP4 ? block / 2 : block;
  const uint8_t *x = job->x;
  uint8_t *codes = job->codes, *scales = job->scales;
  scale_constants scale;
  kernel_constants c;
  c.prefetch = large;
  /* 4 vectors become 64 bytes of FP4 or 128 of FP8: all stores are aligned if the first is */
  c.stream = large && may_stream(job->codes);
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
  if (c.stream) stream_end();
  if (job->cols % block != 0) (void)mxg_quantize_block_portably(job, blocks, job->cols % block);
}

/* ---- the kernel ---- */

#define INSTANCE(name, kind)                                                          \
  MXG_TARGET static void name(const mxg_quantize_job *job, const mxg_e8m0_sum *sum) { \
    const size_t vectors = job->plan->recipe.block / VECTOR;                          \
    if (vectors == 1 && !job->streaming)                                              \
      encode_blocks(job, sum, kind, 1, 0);                                            \
    else if (vectors == 1)                                                            \
      encode_blocks(job, sum, kind, 1, 1);                                            \
    else                                                                              \
      encode_blocks(job, sum, kind, vectors, job->streaming);                         \
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
