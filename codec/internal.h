/* internal.h: what the files of codec/ share. Private.
 *
 * From call to bytes: api.c checks the arguments (check.c, overlap.h), asks dispatch.c for a plan
 * and a kernel, and hands rows.c a whole matrix. rows.c gives each row to the kernel, in runs of
 * blocks, and takes care of markers, scale orders, pads, unused scales and threads. A kernel only
 * knows contiguous blocks of one row.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MXG_CODEC_INTERNAL_H
#define MXG_CODEC_INTERNAL_H

#include <float.h>
#include <string.h>

#include "element.h"
#include "mxgold.h"
#include "scale.h"

/* 16 (CPUs with a native binary16) says the same of float and double as 0 does. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error \
    "float must be binary32: build with -msse2 -mfpmath=sse (i386), -fexcess-precision=fast (s390x)"
#endif

/* ---- f32 scales in packed buffers: little-endian, each NaN canonical when written ---- */

static inline uint32_t mxg_load_le32(const uint8_t *p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void mxg_store_le32(uint8_t *p, uint32_t bits) {
  if ((bits & ~MXG_F32_SIGN) > MXG_F32_INF) bits = MXG_F32_NAN;
  for (int i = 0; i < 4; i++) p[i] = (uint8_t)(bits >> 8 * i);
}

/* ---- a recipe made ready for the inner loops ---- */

typedef struct mxg_plan {
  mxg_recipe recipe;
  mxg_traits traits;
  mxg_policy policy;
  mxg_e8m0_rule e8m0; /* scale=e8m0 */
  mxg_f32_rule f32;   /* scale=f32 */
} mxg_plan;

/* ---- kernels ----
 * A kernel sees a run of blocks of one row that starts at the first element of a block and at the
 * first bit of a byte, so that rows.c can cut a row anywhere a multiple of 8 elements meets a
 * block, and a kernel for one instruction set can pass single blocks (NaN, Inf, an odd policy) on
 * to the portable one. Only the last block of a run may be short. Pointers have any alignment.
 * Scales are in row_major order, packed, f32 little-endian. */

typedef struct mxg_quantize_job {
  const mxg_plan *plan;
  const void *x; /* cols elements of dtype */
  mxg_dtype dtype;
  size_t cols;               /* >= 1 */
  const uint8_t *row_weight; /* one float, or NULL */
  uint8_t *codes;            /* unused bits of the last byte are written as 0 */
  uint8_t *scales;           /* one a block, markers not applied; NULL with scale=none */
  int streaming; /* the call is too large for the caches: prefetch, and store codes around them */
} mxg_quantize_job;

/* returns 1 if a block was scaled (section 5; e8m0 and none: unspecified), else 0 */
typedef int mxg_quantize_kernel(const mxg_quantize_job *job);

typedef struct mxg_dequantize_job {
  const mxg_plan *plan;
  const uint8_t *codes;
  const uint8_t *scales; /* one a block; NULL: value = element (scale=none, row not scaled) */
  int first_negated;     /* the first scale is stored negated by a marker */
  size_t cols;
  void *y; /* cols elements of dtype */
  mxg_dtype dtype;
  int streaming; /* as in mxg_quantize_job, of values */
} mxg_dequantize_job;

typedef void mxg_dequantize_kernel(const mxg_dequantize_job *job);

#define MXG_MAX_TOP_K 64

typedef struct mxg_source { /* a row to be summed; col 0 is the row's first element */
  const uint8_t *codes;
  const uint8_t *scales; /* as in mxg_dequantize_job */
  int first_negated;
  float weight; /* not read if the job is unweighted */
} mxg_source;

typedef struct mxg_combine_job {
  const mxg_plan *plan;
  const mxg_source *sources; /* in the order of summation, missing ones left out */
  size_t source_count;       /* 0..MXG_MAX_TOP_K */
  int weighted;
  size_t col_begin, col_end; /* any columns */
  void *y;                   /* column col_begin */
  mxg_dtype dtype;
  int streaming; /* likewise */
} mxg_combine_job;

typedef void mxg_combine_kernel(const mxg_combine_job *job);

/* Arrays of values in memory (x, y: bytes, of any alignment) and codes, one a byte (section 2).
 * Default FP environment. */
typedef void mxg_encode_kernel(const mxg_plan *plan, const uint8_t *x, size_t count,
                               uint8_t *codes);
typedef void mxg_decode_kernel(mxg_element element, const uint8_t *codes, size_t count, uint8_t *y);

/* Does a kernel serve this recipe? Named in kernels.def. */
typedef int mxg_serves(const mxg_recipe *recipe);
mxg_serves mxg_serves_every;
mxg_serves mxg_serves_quantize;    /* codec/simd/quantize.h */
mxg_serves mxg_serves_quantize_mx; /* E8M0 blocks of 32 n elements in 16-bit lanes */
mxg_serves mxg_serves_decode;      /* codec/simd/combine.h, dequantize.h */
mxg_serves mxg_serves_decode_f16;  /* the same with FP8 by way of binary16 */

#define MXG_DTYPE_BIT(dtype) (1u << (dtype))
#define MXG_ANY_DTYPE \
  (MXG_DTYPE_BIT(MXG_DTYPE_F32) | MXG_DTYPE_BIT(MXG_DTYPE_F16) | MXG_DTYPE_BIT(MXG_DTYPE_BF16))

#define MXG_QUANTIZE(name, isa, dtypes, serves) mxg_quantize_kernel name;
#define MXG_DEQUANTIZE(name, isa, dtypes, serves) mxg_dequantize_kernel name;
#define MXG_COMBINE(name, isa, dtypes, serves) mxg_combine_kernel name;
#define MXG_ENCODE(name, isa) mxg_encode_kernel name;
#define MXG_DECODE(name, isa) mxg_decode_kernel name;
#include "kernels.def"
#undef MXG_QUANTIZE
#undef MXG_DEQUANTIZE
#undef MXG_COMBINE

/* ---- dispatch.c ---- */

typedef struct mxg_kernel {
  const char *name;
  mxg_operation operation;
  mxg_isa isa;
  uint32_t dtypes; /* MXG_DTYPE_BIT mask */
  mxg_serves *serves;
  mxg_quantize_kernel *quantize; /* the one of operation; the others are NULL */
  mxg_dequantize_kernel *dequantize;
  mxg_combine_kernel *combine;
} mxg_kernel;

/* The plan of a valid recipe. */
void mxg_plan_for(const mxg_recipe *recipe, mxg_plan *plan);

/* The best kernel for valid arguments: never NULL. run may be NULL. */
const mxg_kernel *mxg_kernel_for(const mxg_recipe *recipe, mxg_operation operation, mxg_dtype dtype,
                                 const mxg_run *run);

/* The best kernels of arrays for these mxg_isa bits, 0 = any. */
mxg_encode_kernel *mxg_encode_kernel_for(uint32_t isa_mask);
mxg_decode_kernel *mxg_decode_kernel_for(uint32_t isa_mask);

/* ---- portable_decode.c: pieces that the portable kernels share ---- */

/* binary32 bits of the elements [first, first + count) of a row, times 2^shift. */
void mxg_portable_decode(mxg_element element, const uint8_t *codes, size_t first, size_t count,
                         int shift, uint32_t *bits);

/* binary32 bits stored as dtype, each NaN canonical. */
void mxg_portable_store(const uint32_t *bits, size_t count, mxg_dtype dtype, void *y);

/* binary32 bits of dtype elements. */
void mxg_portable_load(const void *x, size_t count, mxg_dtype dtype, uint32_t *bits);

/* Scale number `block` of a run as binary32: little-endian f32 or, by the recipe's edges, E8M0. */
float mxg_portable_scale(const mxg_plan *plan, const uint8_t *scales, int first_negated,
                         size_t block);

/* ---- rows.c ----
 * Arguments have been checked. Pointers are to bytes, because callers may misalign them. */

typedef struct mxg_call {
  const mxg_plan *plan;
  const mxg_kernel *kernel;
  const mxg_layout *layout;
  uint32_t threads;  /* as in mxg_run */
  int default_fpenv; /* 1: of other threads only those in the default FP environment may work */
  size_t rows;       /* live */
  const uint8_t *x;  /* quantize */
  uint8_t *y;        /* dequantize, combine */
  mxg_dtype dtype;
  size_t value_stride_bytes; /* of x or y */
  const uint8_t *row_weight; /* quantize: floats; may be NULL */
  uint8_t *codes_out;        /* quantize */
  uint8_t *scales_out;
  const uint8_t *codes_in; /* dequantize */
  const uint8_t *scales_in;
  const uint8_t *slots;  /* combine: pointers */
  const uint8_t *weight; /* floats; may be NULL */
  size_t top_k, col_begin, col_end;
} mxg_call;

void mxg_quantize_rows(const mxg_call *call);
void mxg_dequantize_rows(const mxg_call *call);
void mxg_combine_rows(const mxg_call *call);

/* ---- threads.c ---- */

typedef void mxg_row_fn(const mxg_call *call, size_t row);

/* each(call, row) for every row of call->rows, over threads where bytes_per_row makes that pay. */
void mxg_for_each_row(const mxg_call *call, size_t bytes_per_row, mxg_row_fn *each);

/* ---- layout.c ---- */

/* mxg_layout_for() of a legal recipe; options and out may not be NULL. */
mxg_status mxg_layout_make(const mxg_recipe *recipe, size_t rows, size_t cols,
                           const mxg_layout_options *options, mxg_layout *out);

/* ---- check.c: the argument checks, in the order in which a call makes them ---- */

mxg_status mxg_check_recipe(const mxg_recipe *recipe); /* NULL, RESERVED, RECIPE */
mxg_status mxg_check_reserved(const mxg_run *run);     /* RESERVED; NULL is fine */
int mxg_is_dtype(mxg_dtype dtype);
mxg_status mxg_check_layout(const mxg_recipe *recipe, const mxg_layout *layout); /* LAYOUT */
mxg_status mxg_check_isa(const mxg_run *run);                                    /* ISA */

/* ---- fpenv.c ---- */

/* 1 if this thread rounds to nearest even and neither flushes results nor inputs to zero. */
int mxg_fpenv_is_default(void);

/* 1 if moreover no exception traps: float arithmetic, in lanes that no result needs too, is free. */
int mxg_fpenv_is_quiet(void);

#endif
