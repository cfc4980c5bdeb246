/* ops.c: what is measured: operations, instruction sets, sizes, data sets.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "internal.h"

#define BF16 MXG_DTYPE_BF16
#define F16 MXG_DTYPE_F16
#define F32 MXG_DTYPE_F32

/* A cast of one f32 that saturates: what mxg_encode_f32 takes from this recipe. */
#define CAST "mori-fp8-direct-sat,overflow=saturate"

/* memcpy first: every other row is compared with it. */
const bench_op bench_limits[3] = {{"memcpy", BENCH_MEMCPY, NULL, BF16, 0},
                                  {"read", BENCH_READ, NULL, BF16, 0},
                                  {"copy", BENCH_COPY, NULL, BF16, 0}};

const bench_op bench_ops[] = {
    {"quantize-mxfp4", BENCH_QUANTIZE, "mxfp4", BF16, 0},
    {"quantize-mxfp4-f16", BENCH_QUANTIZE, "mxfp4", F16, 0},
    {"quantize-mxfp4-f32", BENCH_QUANTIZE, "mxfp4", F32, 0},
    {"quantize-mxfp8", BENCH_QUANTIZE, "mxfp8", BF16, 0},
    {"quantize-mxfp8-f16", BENCH_QUANTIZE, "mxfp8", F16, 0},
    {"quantize-mxfp8-f32", BENCH_QUANTIZE, "mxfp8", F32, 0},
    {"quantize-fp8-128", BENCH_QUANTIZE, "aiter-fp8-128", BF16, 0},
    {"quantize-fp8-128-f16", BENCH_QUANTIZE, "aiter-fp8-128", F16, 0},
    {"quantize-fp8-128-f32", BENCH_QUANTIZE, "aiter-fp8-128", F32, 0},
    {"quantize-mori-fp4", BENCH_QUANTIZE, "mori-fp4", BF16, 0},
    {"encode-e4m3", BENCH_ENCODE, CAST, F32, 0},
    {"decode-e4m3", BENCH_DECODE, CAST, F32, 0},
    {"dequantize-mxfp4", BENCH_DEQUANTIZE, "mxfp4", BF16, 0},
    {"dequantize-mxfp4-f32", BENCH_DEQUANTIZE, "mxfp4", F32, 0},
    {"dequantize-mxfp8", BENCH_DEQUANTIZE, "mxfp8", BF16, 0},
    {"dequantize-mxfp8-f32", BENCH_DEQUANTIZE, "mxfp8", F32, 0},
    {"dequantize-fp8-128", BENCH_DEQUANTIZE, "aiter-fp8-128", BF16, 0},
    {"dequantize-fp8-128-f32", BENCH_DEQUANTIZE, "aiter-fp8-128", F32, 0},
    {"combine8-fp8-128", BENCH_COMBINE, "aiter-fp8-128", BF16, 0},
    {"combine8-fp8-128-weighted", BENCH_COMBINE, "aiter-fp8-128", BF16, 1},
    {"combine8-mxfp4", BENCH_COMBINE, "mxfp4", BF16, 0},
    {"combine8-mxfp4-weighted", BENCH_COMBINE, "mxfp4", BF16, 1},
};
const size_t bench_op_count = sizeof bench_ops / sizeof bench_ops[0];

const bench_isa bench_isas[BENCH_ISA_COUNT] = {
    {"portable", MXG_ISA_PORTABLE, MXG_ISA_PORTABLE},
    {"avx2", MXG_ISA_AVX2, MXG_ISA_PORTABLE | MXG_ISA_AVX2},
    {"avx512", MXG_ISA_AVX512, MXG_ISA_PORTABLE | MXG_ISA_AVX2 | MXG_ISA_AVX512},
    {"neon", MXG_ISA_NEON, MXG_ISA_PORTABLE | MXG_ISA_NEON}};

static const char *const sizes[] = {"token", "l2", "l3", "dram"};
static const char *const data_sets[] = {"random", "denormal-heavy", "tie-heavy"};

const char *mxg_bench_name(mxg_bench_list list, size_t index) {
  switch (list) {
    case MXG_BENCH_OPS: return index < bench_op_count ? bench_ops[index].name : NULL;
    case MXG_BENCH_ISAS: return index < BENCH_ISA_COUNT ? bench_isas[index].name : NULL;
    case MXG_BENCH_SIZES: return index < 4 ? sizes[index] : NULL;
    case MXG_BENCH_DATA: return index < 3 ? data_sets[index] : NULL;
  }
  return NULL;
}

/* Instruction sets that array kernels exist for. */
#define MXG_QUANTIZE(name, isa, dtypes, serves)
#define MXG_DEQUANTIZE(name, isa, dtypes, serves)
#define MXG_COMBINE(name, isa, dtypes, serves)
#define MXG_ENCODE(name, isa) | (isa)
enum {
  ENCODE_ISAS = 0
#include "../codec/kernels.def"
};
#define MXG_DECODE(name, isa) | (isa)
enum {
  DECODE_ISAS = 0
#include "../codec/kernels.def"
};
#undef MXG_QUANTIZE
#undef MXG_DEQUANTIZE
#undef MXG_COMBINE

const bench_isa *bench_array_isa(bench_kind kind) {
  const uint32_t isas = kind == BENCH_ENCODE   ? (uint32_t)ENCODE_ISAS
                        : kind == BENCH_DECODE ? (uint32_t)DECODE_ISAS
                                               : 0;
  for (size_t i = BENCH_ISA_COUNT; i > 0; i--)
    if ((isas & mxg_cpu_features() & bench_isas[i - 1].bit) != 0) return &bench_isas[i - 1];
  return NULL;
}

mxg_operation bench_operation(bench_kind kind) {
  return kind == BENCH_COMBINE                              ? MXG_OPERATION_COMBINE
         : kind == BENCH_DEQUANTIZE || kind == BENCH_DECODE ? MXG_OPERATION_DEQUANTIZE
                                                            : MXG_OPERATION_QUANTIZE;
}

int bench_isa_serves(const bench_op *op, const mxg_recipe *recipe, const bench_isa *isa) {
  const mxg_run run = {1, isa->mask, {0}};
  const char *kernel = NULL;
  if ((isa->mask & ~mxg_cpu_features()) != 0) return 0;
  if (mxg_kernel_name(recipe, bench_operation(op->kind), op->dtype, &run, &kernel) != MXG_OK)
    return 0;
  /* mxg_OPERATION...__ISA */
  const char *suffix = strstr(kernel, "__");
  return suffix != NULL && strcmp(suffix + 2, isa->name) == 0;
}
