/* call.c: one call of an operation on some rows of a case, by the library, the golden model or a
 * peer.
 * SPDX-License-Identifier: MIT */
#include "internal.h"

mxg_status bench_call_open(bench_call *call, size_t rows) {
  const bench_case *c = call->c;
  call->rows = rows;
  if (bench_is_limit(c->op->kind)) return MXG_OK;
  if (c->op->kind == BENCH_COMBINE) {
    call->layout = c->slot;
    return MXG_OK;
  }
  return mxg_layout_for(&c->recipe, rows, BENCH_COLS, NULL, &call->layout);
}

static unsigned char *row_of(const bench_array *array, size_t row) {
  return array->row_bytes == 0 ? NULL : array->data + row * array->row_bytes;
}

static mxg_status quantize(const bench_call *call, size_t first) {
  const bench_case *c = call->c;
  const size_t rows = call->rows;
  const mxg_matrix_view x = {row_of(&c->source, first), c->op->dtype, rows, BENCH_COLS, 0};
  const mxg_packed out = {row_of(&c->result, first), rows * c->result.row_bytes,
                          row_of(&c->result_scales, first), rows * c->result_scales.row_bytes,
                          call->layout};
  return call->impl == BENCH_REF ? mxg_ref_quantize(&c->recipe, &x, NULL, &out, &call->run)
                                 : mxg_quantize(&c->recipe, &x, NULL, &out, &call->run);
}

static mxg_status dequantize(const bench_call *call, size_t first) {
  const bench_case *c = call->c;
  const size_t rows = call->rows;
  const mxg_packed_view in = {row_of(&c->source, first), rows * c->source.row_bytes,
                              row_of(&c->source_scales, first), rows * c->source_scales.row_bytes,
                              call->layout};
  const mxg_matrix y = {row_of(&c->result, first), c->op->dtype, rows, BENCH_COLS, 0};
  return call->impl == BENCH_REF ? mxg_ref_dequantize(&c->recipe, &in, &y, &call->run)
                                 : mxg_dequantize(&c->recipe, &in, &y, &call->run);
}

static mxg_status combine(const bench_call *call, size_t first) {
  const bench_case *c = call->c;
  const void *const *slots = c->slots + first * BENCH_TOP_K;
  const float *weights = c->op->weighted ? c->weights + first * BENCH_TOP_K : NULL;
  const mxg_matrix y = {row_of(&c->result, first), c->op->dtype, call->rows, BENCH_COLS, 0};
  return call->impl == BENCH_REF ? mxg_ref_combine(&c->recipe, slots, BENCH_TOP_K, weights,
                                                   &call->layout, 0, BENCH_COLS, &y, &call->run)
                                 : mxg_combine(&c->recipe, slots, BENCH_TOP_K, weights,
                                               &call->layout, 0, BENCH_COLS, &y, &call->run);
}

static mxg_status encode(const bench_call *call, size_t first) {
  const bench_case *c = call->c;
  const float *x = (const float *)(const void *)row_of(&c->source, first);
  unsigned char *codes = row_of(&c->result, first);
  const size_t count = call->rows * BENCH_COLS;
  if (call->impl == BENCH_REF) return mxg_ref_encode_f32(&c->recipe, x, count, codes);
  return call->as_array ? mxg_encode_f32(&c->recipe, x, count, codes) : quantize(call, first);
}

static mxg_status decode(const bench_call *call, size_t first) {
  const bench_case *c = call->c;
  const unsigned char *codes = row_of(&c->source, first);
  float *y = (float *)(void *)row_of(&c->result, first);
  const size_t count = call->rows * BENCH_COLS;
  if (call->impl == BENCH_REF) return mxg_ref_decode_f32(c->recipe.element, codes, count, y);
  return call->as_array ? mxg_decode_f32(c->recipe.element, codes, count, y)
                        : dequantize(call, first);
}

mxg_status bench_call_rows(bench_call *call, size_t first) {
  const bench_case *c = call->c;
  const size_t bytes = call->rows * c->source.row_bytes;
  if (call->impl == BENCH_PEER) {
    call->peer(c, first, call->rows);
    return MXG_OK;
  }
  switch (c->op->kind) {
    case BENCH_READ:
      call->read = bench_read(row_of(&c->source, first), bytes, call->run.threads);
      break;
    case BENCH_COPY:
      bench_copy(row_of(&c->source, first), row_of(&c->result, first), bytes, call->run.threads);
      break;
    case BENCH_MEMCPY:
      bench_memcpy(row_of(&c->source, first), row_of(&c->result, first), bytes, call->run.threads);
      break;
    case BENCH_QUANTIZE: return quantize(call, first);
    case BENCH_DEQUANTIZE: return dequantize(call, first);
    case BENCH_COMBINE: return combine(call, first);
    case BENCH_ENCODE: return encode(call, first);
    case BENCH_DECODE: return decode(call, first);
  }
  return MXG_OK;
}
