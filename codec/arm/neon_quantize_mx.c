/* neon_quantize_mx.c: bf16 into E8M0 blocks of 32, 64, ... elements for aarch64, in 16-bit lanes
 * and integers alone: right in any FP environment. Part of the leaf neon_quantize.c, which takes
 * row weights.
 *
 * bf16 magnitudes are ordered integers, and dividing by a power of two subtracts from the exponent
 * field. A group is 8 blocks: one register holds all their maxima. A block with NaN or Inf, or with
 * a scale so small or so large that the sum of e8m0.h does not fit, goes to portable.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__aarch64__) && !defined(__AARCH64EB__)
#include "../simd/e8m0.h"
#include "../simd/fallback.h"
#include "../simd/ops_neon.h"

#define GROUP 8 /* blocks */
#define UNIT 32 /* elements that are encoded at a time: 4 vectors */

typedef uint16x8_t words;

MXG_OP words load_words(const uint8_t *x) {
  return vreinterpretq_u16_u8(vld1q_u8(x));
}

/* ---- scales: e8m0.h in words ---- */

typedef struct scale_constants {
  words magnitude, addend, begin, minus, floor_byte, least_byte, base;
} scale_constants;

/* base: added to the exponent field of the block's scale, gives what an encoder subtracts from. */
MXG_OP scale_constants scale_constants_for(const mxg_e8m0_sum *sum, int base) {
  const uint32_t begin = (sum->begin + 0xFFFFu) >> 16;
  scale_constants c;
  c.magnitude = vdupq_n_u16(0x7FFF);
  c.addend = vdupq_n_u16((uint16_t)(sum->addend >> 16)); /* exact: the low half of amax is 0 */
  c.begin = vdupq_n_u16((uint16_t)(begin == 0 ? 0 : begin - 1));
  c.minus = vdupq_n_u16((uint16_t)sum->minus);
  c.floor_byte = vdupq_n_u16((uint16_t)sum->floor_byte);
  c.least_byte = vdupq_n_u16((uint16_t)sum->least_byte);
  c.base = vreinterpretq_u16_s16(vdupq_n_s16((int16_t)base));
  return c;
}

/* The scale bytes of a group in words, and in *bad all ones for what is not for us. */
MXG_OP words scale_bytes(const scale_constants *c, words amax, words *bad) {
  const words sum = vaddq_u16(amax, c->addend);
  const words below = vcltq_u16(vsubq_u16(amax, vdupq_n_u16(1)), c->begin); /* 0 wraps: good */
  *bad = vorrq_u16(below, vcgeq_u16(sum, vdupq_n_u16(0x7F80)));
  return vmaxq_u16(vqsubq_u16(vshrq_n_u16(sum, 7), c->minus), c->floor_byte);
}

typedef struct kernel_constants {
  scale_constants scale;
  uint8x16x2_t table; /* FP4 */
  uint8x16_t limit;   /* FP8 */
} kernel_constants;

/* ---- E2M1 ----
 * Less base = ((byte - 3) << 7) + 1, a magnitude is v in quarter binades of 32 steps: 0x80 for 0.25
 * (bin 4), 0x280 for 4. The 1 puts ties into the lower bin; those that go up (0.75, 1.75, 3.5) are
 * the ones with bit 6 set, which is added back. v < 8, so a table of 32 takes the bin to the code.
 */

#define FP4_BASE (1 - 3 * 128)

MXG_OP words fp4_steps(words magnitude, words x, words base) {
  return vsraq_n_u16(vqsubq_u16(vandq_u16(x, magnitude), base), vshlq_n_u16(x, 9), 15);
}

/* 16 codes, in pairs. */
MXG_OP uint8x8_t fp4_codes(const kernel_constants *c, words x0, words x1, words base) {
  const words steps0 = fp4_steps(c->scale.magnitude, x0, base);
  const words steps1 = fp4_steps(c->scale.magnitude, x1, base);
  const uint8x16_t bins = vshrn_high_n_u16(vshrn_n_u16(steps0, 5), steps1, 5);
  const uint8x16_t signs = vuzp2q_u8(vreinterpretq_u8_u16(x0), vreinterpretq_u8_u16(x1));
  const uint8x16_t codes = vsliq_n_u8(vqtbl2q_u8(c->table, bins), vshrq_n_u8(signs, 7), 3);
  const words pairs = vreinterpretq_u16_u8(codes);
  return vmovn_u16(vsraq_n_u16(pairs, pairs, 4));
}

/* ---- E4M3, E5M2 ----
 * Codes sit in the high byte of a word, what is to be rounded below them. n counts bf16 steps from
 * the binade below the smallest normal (base), so a normal is n << lift. Below, a significand is
 * shifted right once for each binade that is missing, and is the larger one of the two. Nothing is
 * lost that decides a tie, as the low byte has room for every shift that leaves a code. The shift
 * to the left saturates at 16 or 32 binades, so that their number, which is taken from its result,
 * fits the byte that USHL reads. */

MXG_OP words fp8_words(words magnitude, words x, words base, int lift) {
  const int16x8_t n = vreinterpretq_s16_u16(vsubq_u16(vandq_u16(x, magnitude), base));
  const int16x8_t normal = lift == 4 ? vqshlq_n_s16(n, 4) : vqshlq_n_s16(n, 3);
  const int16x8_t binade = lift == 4 ? vshrq_n_s16(normal, 11) : vshrq_n_s16(normal, 10);
  const words significand = vorrq_u16(vandq_u16(x, vdupq_n_u16(0x7F)), vdupq_n_u16(0x80));
  const words lifted = lift == 4 ? vshlq_n_u16(significand, 3) : vshlq_n_u16(significand, 2);
  const words subnormal = vshlq_u16(lifted, vminq_s16(binade, vdupq_n_s16(1)));
  return vreinterpretq_u16_s16(vmaxq_s16(normal, vreinterpretq_s16_u16(subnormal)));
}

/* Adds bit 8: with 7F, what the high byte needs to round to nearest even. */
MXG_OP words fp8_add_odd(words code) {
  return vsraq_n_u16(code, vshlq_n_u16(code, 7), 15);
}

/* 16 codes. */
MXG_OP uint8x16_t fp8_codes(const kernel_constants *c, words x0, words x1, words base, int lift,
                            int fnuz) {
  const words half = vdupq_n_u16(0x7F);
  const uint8x16_t sign = vdupq_n_u8(0x80);
  const words sum0 = fp8_add_odd(fp8_words(c->scale.magnitude, x0, base, lift));
  const words sum1 = fp8_add_odd(fp8_words(c->scale.magnitude, x1, base, lift));
  const uint8x16_t codes = vminq_u8(vaddhn_high_u16(vaddhn_u16(sum0, half), sum1, half), c->limit);
  uint8x16_t signs = vuzp2q_u8(vreinterpretq_u8_u16(x0), vreinterpretq_u8_u16(x1));
  if (!fnuz) return vbslq_u8(sign, signs, codes);
  signs = vandq_u8(vandq_u8(signs, sign), vtstq_u8(codes, codes)); /* no -0 */
  return vorrq_u8(codes, signs);
}

/* ---- groups of blocks ---- */

typedef enum code_kind { FP4, E4M3, E4M3FNUZ, E5M2, E5M2FNUZ } code_kind;

static inline code_kind code_kind_of(mxg_element element) {
  return element == MXG_ELEMENT_E2M1       ? FP4
         : element == MXG_ELEMENT_E4M3FN   ? E4M3
         : element == MXG_ELEMENT_E4M3FNUZ ? E4M3FNUZ
         : element == MXG_ELEMENT_E5M2     ? E5M2
                                           : E5M2FNUZ;
}

MXG_OP kernel_constants kernel_constants_for(const mxg_plan *plan, const mxg_e8m0_sum *sum,
                                             code_kind kind) {
  static const uint8_t code_of[32] = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4,
                                      4, 5, 5, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
  kernel_constants c;
  /* over is limit or, for overflow=nonfinite, the code above it */
  c.limit = vdupq_n_u8((uint8_t)plan->policy.over);
  c.table.val[0] = vminq_u8(vld1q_u8(code_of), c.limit);
  c.table.val[1] = vminq_u8(vld1q_u8(code_of + 16), c.limit);
  c.scale = scale_constants_for(sum, kind == FP4 ? FP4_BASE : (plan->traits.emin - 1) * 128);
  return c;
}

MXG_OP void encode_unit(const kernel_constants *c, code_kind kind, const uint8_t *x, words base,
                        uint8_t *codes) {
  const words x0 = load_words(x), x1 = load_words(x + 16);
  const words x2 = load_words(x + 32), x3 = load_words(x + 48);
  const int lift = kind == E4M3 || kind == E4M3FNUZ ? 4 : 3;
  const int fnuz = kind == E4M3FNUZ || kind == E5M2FNUZ;
  if (kind == FP4) {
    vst1q_u8(codes, vcombine_u8(fp4_codes(c, x0, x1, base), fp4_codes(c, x2, x3, base)));
  } else {
    vst1q_u8(codes, fp8_codes(c, x0, x1, base, lift, fnuz));
    vst1q_u8(codes + 16, fp8_codes(c, x2, x3, base, lift, fnuz));
  }
}

/* Largest magnitudes of a block, by lanes. */
MXG_OP words block_maxima(words magnitude, const uint8_t *x, size_t units) {
  words m = vdupq_n_u16(0);
  for (size_t u = 0; u < units; u++, x += 2 * UNIT) {
    const words a =
        vmaxq_u16(vandq_u16(load_words(x), magnitude), vandq_u16(load_words(x + 16), magnitude));
    const words b = vmaxq_u16(vandq_u16(load_words(x + 32), magnitude),
                              vandq_u16(load_words(x + 48), magnitude));
    m = u == 0 ? vmaxq_u16(a, b) : vmaxq_u16(m, vmaxq_u16(a, b));
  }
  return m;
}

/* Lane i is the largest lane of m[i]. */
MXG_OP words across(const words m[GROUP]) {
  const words a = vpmaxq_u16(vpmaxq_u16(m[0], m[1]), vpmaxq_u16(m[2], m[3]));
  return vpmaxq_u16(a, vpmaxq_u16(vpmaxq_u16(m[4], m[5]), vpmaxq_u16(m[6], m[7])));
}

/* count <= GROUP blocks. bad: all ones for portable's. Returns 1 if there are any. */
MXG_OP int encode_group(const kernel_constants *c, code_kind kind, size_t units, size_t count,
                        const uint8_t *x, uint8_t *codes, uint8_t *scales, uint16_t bad[GROUP]) {
  const size_t unit_bytes = kind == FP4 ? UNIT / 2 : UNIT;
  words m[GROUP], bytes, not_ours;
  uint8_t scale[GROUP];
  uint16_t base[GROUP];
  MXG_UNROLL for (size_t i = 0; i < GROUP; i++) m[i] =
      i < count ? block_maxima(c->scale.magnitude, x + i * units * 2 * UNIT, units)
                : vdupq_n_u16(0);
  bytes = scale_bytes(&c->scale, across(m), &not_ours);
  vst1_u8(scale, vmovn_u16(bytes));
  memcpy(scales, scale, count);
  bytes = vshlq_n_u16(vmaxq_u16(bytes, c->scale.least_byte), 7);
  vst1q_u16(base, vaddq_u16(bytes, c->scale.base));
  for (size_t i = 0; i < count; i++)
    for (size_t u = 0; u < units; u++) {
      encode_unit(c, kind, x, vdupq_n_u16(base[i]), codes);
      x += 2 * UNIT;
      codes += unit_bytes;
    }
  vst1q_u16(bad, not_ours);
  return vmaxvq_u16(not_ours) != 0;
}

static mxg_mx_encode encode_job;

MXG_OP void encode_blocks(const mxg_quantize_job *job, const mxg_e8m0_sum *sum, code_kind kind,
                          size_t units) {
  const size_t block = UNIT * units, blocks = job->cols / block;
  const size_t code_bytes = kind == FP4 ? block / 2 : block;
  kernel_constants c = kernel_constants_for(job->plan, sum, kind);
  const uint8_t *x = job->x;
  uint8_t *codes = job->codes;
  MXG_KEEP(c.scale.magnitude); /* else an AND with an immediate, which overwrites its operand */
  for (size_t first = 0; first < blocks; first += GROUP) {
    const size_t count = blocks - first < GROUP ? blocks - first : GROUP;
    uint8_t *scales = job->scales + first;
    uint16_t bad[GROUP];
    const int any = count == GROUP ? encode_group(&c, kind, units, GROUP, x, codes, scales, bad)
                                   : encode_group(&c, kind, units, count, x, codes, scales, bad);
    for (size_t i = 0; any && i < count; i++)
      if (bad[i] != 0) mxg_quantize_mx_odd(job, sum, encode_job, first + i, 1);
    x += 2 * block * count;
    codes += code_bytes * count;
  }
  if (job->cols % block != 0) (void)mxg_quantize_block_portably(job, blocks, job->cols % block);
}

/* ---- the kernel ---- */

/* units: of a block; a constant 1 for the popular block of 32. */
#define INSTANCE(name, kind)                                               \
  static void name(const mxg_quantize_job *job, const mxg_e8m0_sum *sum) { \
    const size_t units = job->plan->recipe.block / UNIT;                   \
    if (units == 1)                                                        \
      encode_blocks(job, sum, kind, 1);                                    \
    else                                                                   \
      encode_blocks(job, sum, kind, units);                                \
  }

INSTANCE(encode_fp4, FP4)
INSTANCE(encode_e4m3, E4M3)
INSTANCE(encode_e4m3fnuz, E4M3FNUZ)
INSTANCE(encode_e5m2, E5M2)
INSTANCE(encode_e5m2fnuz, E5M2FNUZ)

static void encode_job(const mxg_quantize_job *job, const mxg_e8m0_sum *sum) {
  switch (code_kind_of(job->plan->recipe.element)) {
    case FP4: encode_fp4(job, sum); break;
    case E4M3: encode_e4m3(job, sum); break;
    case E4M3FNUZ: encode_e4m3fnuz(job, sum); break;
    case E5M2: encode_e5m2(job, sum); break;
    case E5M2FNUZ: encode_e5m2fnuz(job, sum); break;
  }
}

int mxg_quantize_bf16_mx__neon(const mxg_quantize_job *job) {
  const mxg_e8m0_sum sum = mxg_e8m0_sum_for(job->plan);
  if (job->row_weight != NULL) return mxg_quantize__neon(job);
  if (sum.begin == sum.end) return mxg_quantize__portable(job);
  encode_job(job, &sum);
  return 0;
}
#endif
