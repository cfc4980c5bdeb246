/* avx512_quantize_mx.c: bf16 into E8M0 blocks of 32, 64, ... elements, in 16-bit lanes and integers
 * alone: right in any FP environment. Part of the leaf avx512_quantize.c, which takes row weights.
 *
 * bf16 magnitudes are ordered integers, and dividing by a power of two subtracts from the exponent
 * field. A group is 16 blocks: one register holds all their maxima. A block with NaN or Inf, or with
 * a scale so small or so large that the sum of e8m0.h does not fit, is done apart, by fallback.h.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__x86_64__)
#include "../simd/fallback.h"
#include "../simd/mx_avx512.h"

/* ---- groups of blocks ---- */

#define AHEAD 8192u /* bytes of source to prefetch, as far as L2, in large calls */

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
  if (kind == FP4) {
    MXG_KEEP(c->fp4.tie_and_sign);
    MXG_KEEP(c->fp4.addends);
    MXG_KEEP(c->fp4.bins);
    MXG_KEEP(c->fp4.table);
    MXG_KEEP(c->fp4.pairs);
    MXG_KEEP(c->fp4.order);
    MXG_KEEP_MASK(c->fp4.second);
  } else {
    MXG_KEEP(c->words.one);
    MXG_KEEP(c->fp8.lift);
    MXG_KEEP(c->fp8.odd);
    MXG_KEEP(c->fp8.limit);
    MXG_KEEP(c->fp8.sign);
    MXG_KEEP(c->fp8.order);
    MXG_RELOAD(c->fp8.normal);
    MXG_RELOAD(c->fp8.table);
    MXG_RELOAD(c->fp8.in_table);
  }
}

/* What the encoders of a group's codes need of its scales, a dword for each block. Whole cache lines,
 * so that their stores are forwarded to the loads that broadcast them. */
typedef struct group_bases {
  _Alignas(64) uint32_t base[GROUP];
  _Alignas(64) uint32_t offset[GROUP];         /* FP8 */
  _Alignas(64) uint8_t magnitudes[64 * GROUP]; /* of blocks of one vector; unless normal */
  int normal;                                  /* FP8: no magnitude is below the format's normals */
} group_bases;

/* By name of the instruction: gcc would broadcast half of them from general registers, on a port
 * that the loop needs. */
MXG_OP __m512i of_block(const uint32_t *of_slot, size_t block) {
  __m512i value;
  __asm__("vpbroadcastd %1, %0" : "=v"(value) : "m"(of_slot[slot_of[block]]));
  return value;
}

/* 4 vectors, of the blocks block[0..3], into 64 bytes of FP4 or 128 of FP8. magnitudes: of the
 * vectors, or NULL. */
MXG_OP void encode4(const kernel_constants *c, code_kind kind, const uint8_t *from,
                    const uint8_t *magnitudes, const group_bases *bases, const size_t block[4],
                    int normal, uint8_t *codes) {
  __m512i x[4], magnitude[4], base[4];
  MXG_UNROLL
  for (size_t i = 0; i < 4; i++) {
    x[i] = _mm512_loadu_si512(from + 64 * i);
    if (kind == FP4 || !normal) {
      magnitude[i] = magnitudes != NULL ? _mm512_load_si512(magnitudes + 64 * i)
                                        : _mm512_and_si512(x[i], c->words.magnitude);
      base[i] = of_block(bases->base, block[i]);
    }
  }
  if (kind == FP4) {
    const __m512i low = fp4_join(&c->fp4, x, magnitude, base);
    const __m512i high = fp4_join(&c->fp4, x + 2, magnitude + 2, base + 2);
    const __m512i bytes = _mm512_packus_epi16(low, high);
    store_or_stream(codes, _mm512_permutexvar_epi8(c->fp4.order, bytes), c->stream);
  } else {
    __m512i code[4];
    MXG_UNROLL
    for (size_t i = 0; i < 4; i++) {
      code[i] = fp8_normal(&c->fp8, &c->words, x[i], of_block(bases->offset, block[i]));
      if (!normal) code[i] = fp8_any(&c->fp8, code[i], magnitude[i], base[i]);
      code[i] = fp8_codes(&c->fp8, x[i], code[i], kind == FP8_FNUZ);
    }
    store_or_stream(codes, fp8_join(&c->fp8, code[0], code[1]), c->stream);
    store_or_stream(codes + 64, fp8_join(&c->fp8, code[2], code[3]), c->stream);
  }
}

/* Are all words of a vector normal by the largest of 16 scale bytes? */
MXG_OP int all_normal(const scale_constants *scale, __m512i words, __m128i bytes) {
  /* VPHMINPOSUW finds the least word: of the inverse bytes, the lesser of each pair */
  const __m128i inverse = _mm_xor_si128(bytes, _mm_set1_epi8(-1));
  const __m128i lesser = _mm_min_epu8(inverse, _mm_srli_epi16(inverse, 8));
  const __m128i byte = _mm_xor_si128(_mm_minpos_epu16(lesser), _mm_set1_epi16(0xFF));
  const __m128i least = _mm_max_epu16(byte, _mm512_castsi512_si128(scale->least_byte));
  const __m128i subnormal =
      _mm_add_epi16(_mm_slli_epi16(least, 7), _mm512_castsi512_si128(scale->subnormal));
  return _mm512_cmple_epu16_mask(words, _mm512_broadcastw_epi16(subnormal)) == 0;
}

/* Scales and bases of count <= GROUP blocks; first and last are tree8 of their maxima, least: words
 * that are no larger than any magnitude, or NULL: assume subnormals. Returns 2 bits a slot for portable's blocks. */
MXG_OP __mmask32 scales_of(const kernel_constants *c, code_kind kind, const scale_constants *scale,
                           __m512i first, __m512i last, const __m512i *least, size_t count,
                           uint8_t *scales, group_bases *bases) {
  __mmask32 good;
  __m512i bytes = scale_bytes(scale, tree16(first, last), &good);
  const __m128i packed = _mm512_castsi512_si128(_mm512_permutexvar_epi8(scale->slots, bytes));
  if (count == GROUP)
    _mm_storeu_si128((__m128i *)(void *)scales, packed);
  else
    _mm_mask_storeu_epi8(scales, (__mmask16)((1u << count) - 1u), packed);
  bytes = _mm512_slli_epi16(_mm512_max_epu16(bytes, scale->least_byte), 7);
  bytes = _mm512_add_epi16(bytes, scale->base);
  _mm512_store_si512(bases->base, bytes);
  MXG_RELOAD(bases->base);
  if (kind != FP4) {
    _mm512_store_si512(bases->offset, fp8_offset(&c->fp8, bytes));
    MXG_RELOAD(bases->offset);
    bases->normal = least != NULL && all_normal(scale, *least, packed);
  }
  return ~good;
}

/* The same of a whole group of blocks of one vector each. look: whether FP8 has subnormals. Else
 * magnitudes are stored: to load them takes no port that the encoders need. */
MXG_OP __mmask32 group_scales(const kernel_constants *c, code_kind kind,
                              const scale_constants *scale, int look, const uint8_t *x,
                              uint8_t *scales, group_bases *bases) {
  __m512i tree[2], least = c->words.magnitude;
  __mmask32 bad;
  MXG_UNROLL
  for (size_t half = 0; half < 2; half++) {
    __m512i m[GROUP / 2];
    MXG_UNROLL
    for (size_t i = 0; i < GROUP / 2; i++) {
      m[i] = _mm512_and_si512(_mm512_loadu_si512(x + 512 * half + 64 * i), c->words.magnitude);
      if (look)
        least = _mm512_min_epu16(least, m[i]);
      else
        _mm512_store_si512(bases->magnitudes + 512 * half + 64 * i, m[i]);
    }
    tree[half] = tree8(m);
  }
  bad = scales_of(c, kind, scale, tree[0], tree[1], look ? &least : NULL, GROUP, scales, bases);
  if (look && !bases->normal)
    for (size_t i = 0; i < GROUP; i++)
      _mm512_store_si512(bases->magnitudes + 64 * i,
                         _mm512_and_si512(_mm512_loadu_si512(x + 64 * i), c->words.magnitude));
  return bad;
}

/* And of count blocks of `vectors` vectors each. */
MXG_OP __mmask32 any_group_scales(const kernel_constants *c, code_kind kind,
                                  const scale_constants *scale, size_t vectors, size_t count,
                                  const uint8_t *x, uint8_t *scales, group_bases *bases) {
  __m512i maxima[GROUP];
  for (size_t i = 0; i < GROUP; i++) {
    maxima[i] = _mm512_setzero_si512();
    for (size_t v = 0; i < count && v < vectors; v++, x += 64) {
      const __m512i m = _mm512_and_si512(_mm512_loadu_si512(x), c->words.magnitude);
      maxima[i] = _mm512_max_epu16(maxima[i], m);
    }
  }
  return scales_of(c, kind, scale, tree8(maxima), tree8(maxima + GROUP / 2), NULL, count, scales,
                   bases);
}

/* The source some groups on; prefetches beyond its end do no harm. */
MXG_OP void prefetch_group(const uint8_t *x) {
  MXG_UNROLL
  for (size_t i = 0; i < GROUP; i++)
    __builtin_prefetch((const void *)((uintptr_t)x + AHEAD + 64 * i), 0, 2);
}

/* Codes of a whole group of blocks of one vector. Most data have no subnormal element, which saves
 * a third of FP8. */
MXG_OP void group_codes(const kernel_constants *c, code_kind kind, const uint8_t *x,
                        const group_bases *bases, uint8_t *codes) {
  const size_t step = kind == FP4 ? 64 : 128;
  if (c->prefetch) prefetch_group(x);
  if (kind == FP4 || bases->normal) {
    MXG_UNROLL
    for (size_t i = 0; i < GROUP / 4; i++) {
      const size_t block[4] = {4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3};
      encode4(c, kind, x + 256 * i, bases->magnitudes + 256 * i, bases, block, 1, codes + step * i);
    }
  } else {
    MXG_UNROLL
    for (size_t i = 0; i < GROUP / 4; i++) {
      const size_t block[4] = {4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3};
      encode4(c, kind, x + 256 * i, bases->magnitudes + 256 * i, bases, block, 0, codes + step * i);
    }
  }
}

/* Codes of any group; 4 vectors at a time, whichever blocks they belong to. */
MXG_OP void any_group_codes(const kernel_constants *c, code_kind kind, size_t vectors, size_t count,
                            const uint8_t *x, const group_bases *bases, uint8_t *codes) {
  const size_t vector_bytes = kind == FP4 ? VECTOR / 2 : VECTOR, total = count * vectors;
  size_t at = 0, in_block = 0;
  for (size_t done = 0; done < total; done += 4) {
    size_t block[4];
    for (size_t i = 0; i < 4; i++) {
      block[i] = at;
      if (++in_block == vectors && at + 1 < count) in_block = 0, at++;
    }
    if (total - done >= 4) {
      encode4(c, kind, x + 64 * done, NULL, bases, block, 0, codes + vector_bytes * done);
    } else {
      uint8_t last_x[4 * 64] = {0};
      _Alignas(64) uint8_t last_codes[4 * VECTOR];
      memcpy(last_x, x + 64 * done, 64 * (total - done));
      encode4(c, kind, last_x, NULL, bases, block, 0, last_codes);
      memcpy(codes + vector_bytes * done, last_codes, vector_bytes * (total - done));
    }
  }
}

static mxg_mx_encode encode_job;

/* Blocks of a stretch of groups that were bad, in runs. */
static void redo(const mxg_quantize_job *job, const mxg_e8m0_sum *sum, size_t first, size_t count,
                 const __mmask32 *bad) {
  size_t run = 0;
  for (size_t i = 0; i <= count; i++) {
    if (i < count && (bad[i / GROUP] >> 2 * slot_of[i % GROUP] & 1u) != 0) {
      run++;
    } else if (run != 0) {
      mxg_quantize_mx_odd(job, sum, encode_job, first + i - run, run);
      run = 0;
    }
  }
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
    scale = scale_constants_for(sum, FP4_BASE, 0);
    c.fp4 = fp4_constants_for(plan->policy.limit);
  } else {
    scale = scale_constants_for(sum, fp8_base(&plan->traits), plan->traits.mantissa_bits + 1);
    c.fp8 = fp8_constants_for(plan);
  }
  for (size_t first = 0, count; first < blocks; first += count) {
    __mmask32 bad[STRETCH], any = 0;
    size_t group = 0;
    count = blocks - first < STRETCH * GROUP ? blocks - first : STRETCH * GROUP;
    keep(&c, kind);
    MXG_RELOAD(scale); /* constants of the scales in memory */
    if (vectors == 1 && count >= GROUP) {
      /* The scales of a group come from a long chain: they are made while the group before is
       * encoded. After the last group the same again, for want of another. */
      group_bases bases[2];
      size_t run = 0;
      bad[0] = group_scales(&c, kind, &scale, kind != FP4, x, scales, &bases[0]);
      for (; group < count / GROUP; group++) {
        const size_t next = group + 1 < count / GROUP ? group + 1 : group;
        const uint8_t *next_x = x + next * 2 * block * GROUP;
        uint8_t *next_scales = scales + next * GROUP;
        group_bases *next_bases = &bases[(group + 1) & 1];
        any |= bad[group];
        /* Data with many subnormals mostly go on like that: to look for them each time costs. */
        if (kind != FP4) run = bases[group & 1].normal ? 0 : run + 1;
        if (kind != FP4 && (run < 2 || next % 4 == 0))
          bad[next] = group_scales(&c, kind, &scale, 1, next_x, next_scales, next_bases);
        else
          bad[next] = group_scales(&c, kind, &scale, 0, next_x, next_scales, next_bases);
        if (bad[group] != UINT32_MAX)
          group_codes(&c, kind, x + group * 2 * block * GROUP, &bases[group & 1],
                      codes + group * block_bytes * GROUP);
      }
    }
    for (size_t done = group * GROUP, n; done < count; done += n, group++) {
      group_bases bases;
      n = count - done < GROUP ? count - done : GROUP;
      bad[group] = any_group_scales(&c, kind, &scale, vectors, n, x + done * 2 * block,
                                    scales + done, &bases);
      any |= bad[group];
      any_group_codes(&c, kind, vectors, n, x + done * 2 * block, &bases,
                      codes + done * block_bytes);
    }
    x += count * 2 * block;
    codes += count * block_bytes;
    scales += count;
    if (any != 0) redo(job, sum, first, count, bad);
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

static void encode_job(const mxg_quantize_job *job, const mxg_e8m0_sum *sum) {
  if (job->plan->traits.bits == 4)
    encode_fp4(job, sum);
  else if (job->plan->traits.fnuz != 0)
    encode_fp8_fnuz(job, sum);
  else
    encode_fp8(job, sum);
}

int mxg_quantize_bf16_mx__avx512(const mxg_quantize_job *job) {
  const mxg_e8m0_sum sum = mxg_e8m0_sum_for(job->plan);
  if (job->row_weight != NULL) return mxg_quantize__avx512(job);
  if (sum.begin == sum.end) return mxg_quantize__portable(job);
  encode_job(job, &sum);
  return 0;
}
#endif
