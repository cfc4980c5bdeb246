/* avx2_quantize_mx.c: bf16 into E8M0 blocks of 32, 64, ... elements, in 16-bit lanes and integers
 * alone: right in any FP environment.
 *
 * bf16 magnitudes are ordered integers, and dividing by a power of two subtracts from the exponent
 * field. A group is 4 blocks: one register holds all their maxima. A block with NaN or Inf, or with
 * a scale so small or so large that the sum of e8m0.h does not fit, is done apart, by fallback.h.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "../simd/e8m0.h"
#include "../simd/fallback.h"
#include "../simd/ops_avx2.h"

#define GROUP 4   /* blocks */
#define VECTOR 16 /* elements */
#define PAIR 32   /* elements of two vectors: what is encoded at a time */
#define WORDS(value) _mm256_set1_epi16((short)(value))
/* Of a loop whose count is a constant in one instance only: clang unrolls it there by itself, and
 * warns of the other if asked to. */
#ifdef __clang__
#define MXG_UNROLL_IF_CONSTANT
#else
#define MXG_UNROLL_IF_CONSTANT MXG_UNROLL
#endif
#define BYTES(value) _mm256_set1_epi8((char)(value))

MXG_OP __m256i load(const void *from) {
  return _mm256_loadu_si256((const __m256i *)from);
}

/* ---- maxima ---- */

/* The quadword of tree4's result that holds vector i. */
static const uint8_t slot_of[GROUP] = {0, 2, 1, 3};

/* Each step joins halves of two vectors, so that one maximum serves both. */
MXG_OP __m256i halves_max(__m256i a, __m256i b) {
  return _mm256_max_epu16(_mm256_permute2x128_si256(a, b, 0x20),
                          _mm256_permute2x128_si256(a, b, 0x31));
}

/* Word maxima of 4 vectors: all four words of quadword slot_of[i] are the maximum of vector i. */
MXG_OP __m256i tree4(const __m256i m[GROUP]) {
  const __m256i low = halves_max(m[0], m[1]), high = halves_max(m[2], m[3]);
  __m256i t = _mm256_max_epu16(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
  t = _mm256_max_epu16(t, _mm256_shuffle_epi32(t, 0xB1));
  return _mm256_max_epu16(t, _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(t, 0xB1), 0xB1));
}

/* ---- scales: e8m0.h in words ---- */

typedef struct scale_constants {
  __m256i one, addend, infinity, begin, minus, floor_byte, least_byte, base;
} scale_constants;

/* base: added to the exponent field of the block's scale, gives what an encoder subtracts from. */
MXG_OP scale_constants scale_constants_for(const mxg_e8m0_sum *sum, int base) {
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
  return c;
}

MXG_OP __m256i at_least(__m256i a, __m256i b) {
  return _mm256_cmpeq_epi16(_mm256_max_epu16(a, b), a);
}

/* The scale bytes of a group in words, and in *bad a byte mask of what is not for us. */
MXG_OP __m256i scale_bytes(const scale_constants *c, __m256i amax, uint32_t *bad) {
  const __m256i sum = _mm256_add_epi16(amax, c->addend);
  const __m256i in_range = at_least(_mm256_sub_epi16(amax, c->one), c->begin); /* 0 wraps: good */
  const __m256i good = _mm256_andnot_si256(at_least(sum, c->infinity), in_range);
  *bad = ~(uint32_t)_mm256_movemask_epi8(good);
  return _mm256_max_epu16(_mm256_subs_epu16(_mm256_srli_epi16(sum, 7), c->minus), c->floor_byte);
}

/* ---- E2M1 ----
 * Less base = ((byte - 3) << 7) + 1, a magnitude is v in quarter binades of 32 steps: 0x80 for 0.25
 * (bin 4), 0x280 for 4. The 1 puts ties into the lower bin; those that go up (0.75, 1.75, 3.5) are
 * the ones with bit 6 set, which is added back. Bins below 4 are 0, those from 21 on 6: the 16 in
 * between index a table. */

typedef struct fp4_constants {
  __m256i first_bin, last_index, zero_bin, table, sign, pairs, order;
} fp4_constants;

#define FP4_BASE (1 - 3 * 128)

MXG_OP fp4_constants fp4_constants_for(uint32_t limit) {
  const __m256i codes =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7));
  fp4_constants c;
  c.first_bin = BYTES(6);
  c.last_index = BYTES(15);
  c.zero_bin = BYTES(3);
  c.table = _mm256_min_epu8(codes, BYTES(limit));
  c.sign = BYTES(8);
  c.pairs = WORDS(0x1001);
  c.order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  return c;
}

MXG_OP __m256i fp4_bins(__m256i magnitude_mask, __m256i one, __m256i x, __m256i base) {
  const __m256i steps = _mm256_subs_epu16(_mm256_and_si256(x, magnitude_mask), base);
  const __m256i up = _mm256_and_si256(_mm256_srli_epi16(x, 6), one);
  return _mm256_srli_epi16(_mm256_add_epi16(steps, up), 5);
}

/* ---- E4M3, E5M2 ----
 * base is the magnitude that would have code 0 in the format's normals, less half - 1: code =
 * (magnitude - base + odd) >> shift rounds to nearest even. Below the normals, significands are
 * shifted right once more for each binade that is missing. */

typedef struct fp8_constants {
  __m256i first_normal, last_subnormal, mantissa, implicit, half, powers, only_low, last_shift,
      limit, sign;
  __m256i shift; /* 2^(16 - shift): its high products shift right, in one micro-operation less */
  __m128i lift;
} fp8_constants;

MXG_OP fp8_constants fp8_constants_for(const mxg_plan *plan) {
  const int mantissa_bits = plan->traits.mantissa_bits, shift = 7 - mantissa_bits;
  const int half = (1 << (shift - 1)) - 1;
  fp8_constants c;
  c.first_normal = WORDS(0x80 + half);
  c.last_subnormal = WORDS(0x7F + half);
  c.mantissa = WORDS(0x7F);
  c.implicit = WORDS(0x80);
  c.half = WORDS(0x7F);
  c.powers = _mm256_broadcastsi128_si256(
      _mm_setr_epi8((char)128, 64, 32, 16, 8, 4, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0));
  c.only_low = WORDS(0x8000);
  c.last_shift = WORDS(15);
  c.limit = WORDS(plan->policy.over);
  c.sign = BYTES(0x80);
  c.shift = WORDS(1 << (16 - shift));
  c.lift = _mm_cvtsi32_si128(mantissa_bits + 1 + 4);
  return c;
}

/* 1 in each word whose magnitude rounds away from an even code on a tie: the last bit it keeps. */
MXG_OP __m256i odd_of(const fp8_constants *c, __m256i one, __m256i bits) {
  return _mm256_and_si256(_mm256_mulhi_epu16(bits, c->shift), one);
}

/* Magnitudes in the format's normals, or 0. */
MXG_OP __m256i fp8_normal(const fp8_constants *c, __m256i one, __m256i magnitude, __m256i base) {
  const __m256i steps = _mm256_subs_epu16(magnitude, base);
  const __m256i rounded = _mm256_add_epi16(steps, odd_of(c, one, magnitude));
  return _mm256_min_epu16(_mm256_mulhi_epu16(rounded, c->shift), c->limit);
}

/* Any magnitude. AVX2 shifts words by one count only: the high half of a product with 2^(12 - k) is
 * a shift of (significand << 4) right by 4 + k; what k > 7 leaves is no tie and rounds to 0. */
MXG_OP __m256i fp8_any(const fp8_constants *c, __m256i one, __m256i magnitude, __m256i base) {
  const __m256i edge = _mm256_add_epi16(base, c->first_normal); /* the first normal */
  const __m256i is_normal = at_least(magnitude, edge);
  const __m256i missing =
      _mm256_sub_epi16(_mm256_srli_epi16(edge, 7), _mm256_srli_epi16(magnitude, 7));
  const __m256i k = _mm256_or_si256(_mm256_min_epu16(missing, c->last_shift), c->only_low);
  const __m256i power = _mm256_slli_epi16(_mm256_shuffle_epi8(c->powers, k), 5);
  const __m256i significand =
      _mm256_or_si256(_mm256_and_si256(magnitude, c->mantissa), c->implicit);
  const __m256i shifted = _mm256_mulhi_epu16(_mm256_sll_epi16(significand, c->lift), power);
  /* The code is the high byte now, what is rounded away the low one. */
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi16(shifted, 8), one);
  const __m256i rounded = _mm256_add_epi16(_mm256_add_epi16(shifted, c->half), odd);
  const __m256i code = _mm256_min_epu16(_mm256_srli_epi16(rounded, 8), c->limit);
  return _mm256_blendv_epi8(code, fp8_normal(c, one, magnitude, base), is_normal);
}

/* ---- groups of blocks ---- */

typedef enum code_kind { FP4, FP8, FP8_FNUZ } code_kind;

typedef struct kernel_constants {
  __m256i magnitude, one;
  int stream; /* codes around the caches */
  fp4_constants fp4;
  fp8_constants fp8;
} kernel_constants;

/* Two vectors into words of two codes. */
MXG_OP __m256i fp4_pair(const kernel_constants *c, const uint8_t *from, __m256i base) {
  const fp4_constants *f = &c->fp4;
  const __m256i x0 = load(from), x1 = load(from + 32);
  const __m256i bins = _mm256_packus_epi16(fp4_bins(c->magnitude, c->one, x0, base),
                                           fp4_bins(c->magnitude, c->one, x1, base));
  const __m256i index = _mm256_min_epu8(_mm256_subs_epu8(bins, f->first_bin), f->last_index);
  const __m256i codes =
      _mm256_and_si256(_mm256_shuffle_epi8(f->table, index), _mm256_cmpgt_epi8(bins, f->zero_bin));
  /* Saturation keeps the sign of a word in its byte. */
  const __m256i signs = _mm256_and_si256(_mm256_srli_epi16(_mm256_packs_epi16(x0, x1), 4), f->sign);
  return _mm256_maddubs_epi16(_mm256_or_si256(codes, signs), f->pairs);
}

/* Packs interleave 128-bit halves; one permutation puts two pairs into order. */
MXG_OP void fp4_store(const kernel_constants *c, uint8_t *codes, __m256i pair0, __m256i pair1) {
  store_or_stream(codes,
                  _mm256_permutevar8x32_epi32(_mm256_packus_epi16(pair0, pair1), c->fp4.order),
                  c->stream);
}

/* Most data have no element below the format's normals but 0, and take the short way. */
MXG_OP void fp8_pair(const kernel_constants *c, const uint8_t *from, __m256i base, int fnuz,
                     uint8_t *codes) {
  const fp8_constants *f = &c->fp8;
  const __m256i x0 = load(from), x1 = load(from + 32);
  const __m256i m0 = _mm256_and_si256(x0, c->magnitude), m1 = _mm256_and_si256(x1, c->magnitude);
  /* above 0 where a magnitude less 1 is below the last subnormal; 0 less 1 wraps and is not */
  const __m256i least =
      _mm256_min_epu16(_mm256_sub_epi16(m0, c->one), _mm256_sub_epi16(m1, c->one));
  const __m256i below = _mm256_subs_epu16(_mm256_add_epi16(base, f->last_subnormal), least);
  __m256i code0, code1, bytes, signs;
  if (_mm256_testz_si256(below, below)) {
    code0 = fp8_normal(f, c->one, m0, base);
    code1 = fp8_normal(f, c->one, m1, base);
  } else {
    code0 = fp8_any(f, c->one, m0, base);
    code1 = fp8_any(f, c->one, m1, base);
  }
  bytes = _mm256_packus_epi16(code0, code1);
  signs = _mm256_and_si256(_mm256_packs_epi16(x0, x1), f->sign);
  if (fnuz) signs = _mm256_andnot_si256(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256()), signs);
  store_or_stream(codes, _mm256_permute4x64_epi64(_mm256_or_si256(bytes, signs), 0xD8), c->stream);
}

/* What the encoders subtract, a quadword for each block of a group. */
typedef struct group_bases {
  _Alignas(32) uint64_t of_slot[GROUP];
} group_bases;

MXG_OP __m256i base_of(const group_bases *bases, size_t block) {
  return _mm256_set1_epi64x((long long)bases->of_slot[slot_of[block]]);
}

/* Scales and bases of count <= GROUP blocks of `pairs` pairs each. Returns 8 bits a slot for
 * portable's blocks. */
MXG_OP uint32_t group_scales(const kernel_constants *c, const scale_constants *scale, size_t pairs,
                             size_t count, const uint8_t *x, uint8_t *scales, group_bases *bases) {
  __m256i maxima[GROUP], bytes;
  __m128i packed;
  uint32_t bad;
  MXG_UNROLL
  for (size_t i = 0; i < GROUP; i++) {
    __m256i m = _mm256_setzero_si256();
    if (i < count)
      for (size_t p = 0; p < pairs; p++) {
        const uint8_t *from = x + (i * pairs + p) * 2 * PAIR;
        m = _mm256_max_epu16(m, _mm256_and_si256(load(from), c->magnitude));
        m = _mm256_max_epu16(m, _mm256_and_si256(load(from + 32), c->magnitude));
      }
    maxima[i] = m;
  }
  bytes = scale_bytes(scale, tree4(maxima), &bad);
  /* bytes 0 and 8 of both halves, interleaved: slots 0, 2, 1, 3 */
  packed = _mm_unpacklo_epi8(
      _mm_shuffle_epi8(_mm256_castsi256_si128(bytes), _mm_set1_epi16(0x0800)),
      _mm_shuffle_epi8(_mm256_extracti128_si256(bytes, 1), _mm_set1_epi16(0x0800)));
  if (count == GROUP) {
    const int32_t all = _mm_cvtsi128_si32(packed);
    memcpy(scales, &all, sizeof all);
  } else {
    uint8_t some[16];
    _mm_storeu_si128((__m128i *)(void *)some, packed);
    memcpy(scales, some, count);
  }
  bytes = _mm256_slli_epi16(_mm256_max_epu16(bytes, scale->least_byte), 7);
  _mm256_store_si256((__m256i *)(void *)bases->of_slot, _mm256_add_epi16(bytes, scale->base));
  MXG_RELOAD(*bases);
  return bad;
}

/* Codes of count blocks of `pairs` pairs each. */
MXG_OP void group_codes(const kernel_constants *c, code_kind kind, size_t pairs, size_t count,
                        const uint8_t *x, const group_bases *bases, uint8_t *codes) {
  const size_t total = count * pairs;
  size_t p = 0;
  if (kind == FP4) {
    MXG_UNROLL_IF_CONSTANT
    for (; p + 2 <= total; p += 2) {
      const __m256i pair0 = fp4_pair(c, x + p * 2 * PAIR, base_of(bases, p / pairs));
      const __m256i pair1 = fp4_pair(c, x + (p + 1) * 2 * PAIR, base_of(bases, (p + 1) / pairs));
      fp4_store(c, codes + p * PAIR / 2, pair0, pair1);
    }
    if (p < total) {
      _Alignas(32) uint8_t last[PAIR];
      const __m256i pair = fp4_pair(c, x + p * 2 * PAIR, base_of(bases, p / pairs));
      fp4_store(c, last, pair, pair);
      memcpy(codes + p * PAIR / 2, last, PAIR / 2);
    }
  } else {
    MXG_UNROLL_IF_CONSTANT
    for (; p < total; p++)
      fp8_pair(c, x + p * 2 * PAIR, base_of(bases, p / pairs), kind == FP8_FNUZ, codes + p * PAIR);
  }
}

/* Constants of the encoders in registers, as many as there are. */
MXG_OP void keep(kernel_constants *c, code_kind kind) {
  MXG_KEEP(c->magnitude);
  MXG_KEEP(c->one);
  if (kind == FP4) {
    MXG_KEEP(c->fp4.first_bin);
    MXG_KEEP(c->fp4.last_index);
    MXG_KEEP(c->fp4.zero_bin);
    MXG_KEEP(c->fp4.table);
    MXG_KEEP(c->fp4.sign);
    MXG_KEEP(c->fp4.pairs);
    MXG_KEEP(c->fp4.order);
  } else {
    MXG_KEEP(c->fp8.shift);
    MXG_KEEP(c->fp8.limit);
    MXG_KEEP(c->fp8.sign);
    MXG_KEEP(c->fp8.last_subnormal);
  }
}

static mxg_mx_encode encode_job;

/* Blocks of a group that were bad, in runs. */
static void redo(const mxg_quantize_job *job, const mxg_e8m0_sum *sum, size_t first, size_t count,
                 uint32_t bad) {
  size_t run = 0;
  for (size_t i = 0; i <= count; i++) {
    if (i < count && (bad >> 8 * slot_of[i] & 1u) != 0) {
      run++;
    } else if (run != 0) {
      mxg_quantize_mx_odd(job, sum, encode_job, first + i - run, run);
      run = 0;
    }
  }
}

#define AHEAD 4096u /* bytes of source to prefetch in large calls; beyond its end they do no harm */

/* pairs: of a block; a constant 1 for the popular block of 32. large: job->streaming. */
MXG_OP void encode_blocks(const mxg_quantize_job *job, const mxg_e8m0_sum *sum, code_kind kind,
                          size_t pairs, int large) {
  const mxg_plan *plan = job->plan;
  const size_t block = PAIR * pairs, blocks = job->cols / block;
  const size_t block_bytes = kind == FP4 ? block / 2 : block;
  const uint8_t *x = job->x;
  uint8_t *codes = job->codes, *scales = job->scales;
  scale_constants scale;
  kernel_constants c;
  size_t done = 0, waiting = 0; /* blocks before `done`, all bad */
  c.magnitude = WORDS(0x7FFF);
  c.one = WORDS(1);
  c.stream = large && may_stream(job->codes); /* all stores are of 32 bytes */
  if (kind == FP4) {
    scale = scale_constants_for(sum, FP4_BASE);
    c.fp4 = fp4_constants_for(plan->policy.limit);
  } else {
    const int half = (1 << (6 - plan->traits.mantissa_bits)) - 1;
    scale = scale_constants_for(sum, -plan->traits.bias * 128 - half);
    c.fp8 = fp8_constants_for(plan);
  }
  keep(&c, kind);
  MXG_RELOAD(scale); /* constants of the scales in memory */
  for (; done + GROUP <= blocks; done += GROUP) {
    const uint8_t *from = x + done * 2 * block;
    group_bases bases;
    const uint32_t bad = group_scales(&c, &scale, pairs, GROUP, from, scales + done, &bases);
    if (large)
      for (size_t line = 0; line < 2 * block * GROUP; line += 64)
        __builtin_prefetch((const void *)((uintptr_t)from + AHEAD + line));
    if (bad == UINT32_MAX) {
      waiting += GROUP;
      continue;
    }
    group_codes(&c, kind, pairs, GROUP, from, &bases, codes + done * block_bytes);
    if ((bad | waiting) != 0) {
      if (waiting != 0) mxg_quantize_mx_odd(job, sum, encode_job, done - waiting, waiting);
      redo(job, sum, done, GROUP, bad);
      waiting = 0;
    }
  }
  if (waiting != 0) mxg_quantize_mx_odd(job, sum, encode_job, done - waiting, waiting);
  if (done < blocks) {
    const uint8_t *from = x + done * 2 * block;
    group_bases bases;
    const uint32_t bad =
        group_scales(&c, &scale, pairs, blocks - done, from, scales + done, &bases);
    group_codes(&c, kind, pairs, blocks - done, from, &bases, codes + done * block_bytes);
    if (bad != 0) redo(job, sum, done, blocks - done, bad);
  }
  if (c.stream) stream_end();
  if (job->cols % block != 0) (void)mxg_quantize_block_portably(job, blocks, job->cols % block);
}

/* ---- the kernel ---- */

#define INSTANCE(name, kind)                                                          \
  MXG_TARGET static void name(const mxg_quantize_job *job, const mxg_e8m0_sum *sum) { \
    const size_t pairs = job->plan->recipe.block / PAIR;                              \
    if (pairs == 1 && !job->streaming)                                                \
      encode_blocks(job, sum, kind, 1, 0);                                            \
    else if (pairs == 1)                                                              \
      encode_blocks(job, sum, kind, 1, 1);                                            \
    else                                                                              \
      encode_blocks(job, sum, kind, pairs, job->streaming);                           \
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

int mxg_quantize_bf16_mx__avx2(const mxg_quantize_job *job) {
  const mxg_e8m0_sum sum = mxg_e8m0_sum_for(job->plan);
  if (job->row_weight != NULL) return mxg_quantize__avx2(job);
  if (sum.begin == sum.end) return mxg_quantize__portable(job);
  encode_job(job, &sum);
  return 0;
}
#endif
