/* oracle.h: a third opinion on every byte.
 *
 * Nothing of the library or of its golden model is included or borrowed here. Values travel as the
 * bits of a binary32, so that no compiler and no machine can touch a NaN on the way. Three sources:
 *   table     exact rational arithmetic, always there
 *   apfloat   LLVM's APFloat, where MXGOLD_HAVE_APFLOAT is defined
 *   cuda      the CUDA toolkit's host headers, where MXGOLD_HAVE_CUDA_HEADERS is defined
 * oracle_print_skipped() says which of them this build lacks.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_TESTS_ORACLE_H
#define MXGOLD_TESTS_ORACLE_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORACLE_NAN UINT32_C(0x7FC00000)
#define ORACLE_INF UINT32_C(0x7F800000)

typedef enum oracle_format {
  ORACLE_E4M3FN,
  ORACLE_E4M3FNUZ,
  ORACLE_E5M2,
  ORACLE_E5M2FNUZ,
  ORACLE_E2M1,
  ORACLE_E2M3,
  ORACLE_E3M2,
  ORACLE_FORMATS
} oracle_format;

typedef enum oracle_overflow {
  ORACLE_SATURATE,
  ORACLE_SATURATE_FINITE,
  ORACLE_NONFINITE
} oracle_overflow;

typedef enum oracle_nan {
  ORACLE_NAN_CODE,
  ORACLE_NAN_NEG_MAX,
  ORACLE_NAN_SIGN_MAX,
  ORACLE_NAN_POS_MAX,
  ORACLE_NAN_ZERO
} oracle_nan;

typedef enum oracle_rule {
  ORACLE_FLOOR,
  ORACLE_EVEN,
  ORACLE_EVEN21,
  ORACLE_HALF,
  ORACLE_CEIL,
  ORACLE_RCEIL,
  ORACLE_RCEIL_BUMP
} oracle_rule;

typedef enum oracle_inf_scale {
  ORACLE_INF_IS_NAN,
  ORACLE_INF_IS_MAX,
  ORACLE_INF_IS_FIELD
} oracle_inf_scale;

typedef enum oracle_edges { ORACLE_EDGES_OCP, ORACLE_EDGES_FLOAT } oracle_edges;

typedef enum oracle_half { ORACLE_F16, ORACLE_BF16 } oracle_half;

/* How one value becomes a code. max: bits of the largest magnitude allowed, 0 = the format's own. */
typedef struct oracle_encoding {
  oracle_format format;
  oracle_overflow overflow;
  oracle_nan nan;
  uint32_t max;
} oracle_encoding;

typedef enum oracle_apply {
  ORACLE_APPLY_DIV,
  ORACLE_APPLY_MUL_RCP,
  ORACLE_APPLY_MUL_MAX
} oracle_apply;

/* How a block gets its binary32 scale. */
typedef struct oracle_f32_rule {
  int scale_by_division; /* amax / max, else amax * fl(1 / max) */
  int only_above_max;
  int zero_is_computed; /* amax 0 goes through the formulas, else it means "no scale" */
  oracle_apply apply;
} oracle_f32_rule;

/* Builds the tables. Once, before anything else here and before any thread. */
void oracle_init(void);

/* One line on stdout for each source that this build lacks. */
void oracle_print_skipped(void);

/* ---- elements, by table ---- */

/* Bits of the format's largest finite value. */
uint32_t oracle_format_max(oracle_format format);
/* Number of codes: 256, 64 or 16. */
unsigned oracle_format_codes(oracle_format format);
/* Code of +max; the codes below it are all the smaller magnitudes in order. */
unsigned oracle_format_max_code(oracle_format format);
/* Is the code a NaN? */
int oracle_is_nan_code(oracle_format format, uint8_t code);

/* The code of value * 2^exponent. A NaN takes its sign from nan_negative. */
uint8_t oracle_encode(const oracle_encoding *how, uint32_t value, int exponent, int nan_negative);
/* Bits of the value of a code. */
uint32_t oracle_decode(oracle_format format, uint8_t code);

/* ---- arithmetic on the bits of binary32, one rounding to nearest even, NaN canonical ---- */

uint32_t oracle_mul(uint32_t a, uint32_t b);
uint32_t oracle_div(uint32_t a, uint32_t b);
/* a * 2^exponent */
uint32_t oracle_scale(uint32_t a, int exponent);
uint32_t oracle_widen(oracle_half kind, uint16_t bits);
uint16_t oracle_narrow(oracle_half kind, uint32_t bits);

/* ---- scales, in rational arithmetic ---- */

/* max: as in oracle_encoding. The sign of amax does not count. */
uint8_t oracle_e8m0(oracle_rule rule, oracle_format format, uint32_t max,
                    oracle_inf_scale inf_scale, uint32_t amax);
/* max(0, 127 + ceil(log2(amax / max))) with nothing rounded on the way; amax finite and > 0. */
int oracle_e8m0_exact_ceil(oracle_format format, uint32_t amax);
/* Bits of the scale that a byte stands for when it is decoded. */
uint32_t oracle_e8m0_value(oracle_edges edges, uint8_t byte);

/* The code of element x in a block whose scale byte is `byte`, and the value of a code in it. */
uint8_t oracle_e8m0_encode(const oracle_encoding *how, oracle_edges edges, uint8_t byte,
                           uint32_t x);
uint32_t oracle_e8m0_decode(oracle_format format, oracle_edges edges, uint8_t byte, uint8_t code);

/* The scale of a block; *scaled = 0 when the block is a plain cast (the scale is then 1). */
uint32_t oracle_f32_scale(const oracle_f32_rule *rule, const oracle_encoding *how, uint32_t amax,
                          int *scaled);
/* The code of element x in that block. */
uint8_t oracle_f32_encode(const oracle_f32_rule *rule, const oracle_encoding *how, uint32_t amax,
                          uint32_t x);

/* ---- LLVM's APFloat ---- */
#ifdef MXGOLD_HAVE_APFLOAT
uint8_t oracle_apfloat_encode(const oracle_encoding *how, uint32_t value, int exponent,
                              int nan_negative);
uint32_t oracle_apfloat_decode(oracle_format format, uint8_t code);
/* value * 2^exponent of a code */
uint32_t oracle_apfloat_decode_scaled(oracle_format format, uint8_t code, int exponent);
uint32_t oracle_apfloat_widen(oracle_half kind, uint16_t bits);
uint16_t oracle_apfloat_narrow(oracle_half kind, uint32_t bits);
uint32_t oracle_apfloat_mul(uint32_t a, uint32_t b);
uint32_t oracle_apfloat_div(uint32_t a, uint32_t b);
uint32_t oracle_apfloat_fma(uint32_t a, uint32_t b, uint32_t c);
/* E8M0 byte of a finite value >= 2^-127, rounded up or down to a power of two. */
uint8_t oracle_apfloat_e8m0(uint32_t value, int up);
uint32_t oracle_apfloat_e8m0_value(uint8_t byte);
#endif

/* ---- the CUDA toolkit's host headers ---- */
#ifdef MXGOLD_HAVE_CUDA_HEADERS
/* 1 if the headers have the format (they have no FNUZ). */
int oracle_cuda_has(oracle_format format);
/* saturate: __NV_SATFINITE, else __NV_NOSAT (FP8 only). */
uint8_t oracle_cuda_encode(oracle_format format, int saturate, uint32_t value);
uint32_t oracle_cuda_decode(oracle_format format, uint8_t code);
/* cvt.rp.ue8m0: a finite value or Inf, rounded up to a power of two. */
uint8_t oracle_cuda_e8m0_up(int saturate, uint32_t value);
uint32_t oracle_cuda_e8m0_value(uint8_t byte);
#endif

#ifdef __cplusplus
}
#endif
#endif
