/* gpu.c: the public calls: check the arguments, find the kernel in the table, launch it.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "arguments.h"
#include "mxgold_gpu.h"
#include "runtime.h"
#include "table.h"

#define MAX_WAVES (MXG_GPU_MAX_THREADS / 32)

typedef struct loaded_kernel {
  void *kernel;                 /* NULL: this chip has no such row */
  uint32_t resident[MAX_WAVES]; /* groups of 1, 2, ... waves on a multiprocessor */
} loaded_kernel;

struct mxg_gpu {
  int index;
  uint32_t flags, arch;
  mxg_rt_device device;
  void *module;
  loaded_kernel *kernels; /* one a row of the table */
};

#define TRY(expression)                      \
  do {                                       \
    const mxg_status status_ = (expression); \
    if (status_ != MXG_OK) return status_;   \
  } while (0)

static mxg_status fail(mxg_status status, const char *what) {
  mxg_gpu_say("%s: %s", what, mxg_strerror(status));
  return status;
}

const char *mxg_gpu_backend(void) {
  return mxg_rt_backend;
}

/* ---- open and close ---- */

/* What a group takes of a multiprocessor's shared memory beside what it asks for. */
#define OTHER_SHARED 4096

/* Two groups should fit, so that one computes while the other waits for its row. */
static uint32_t max_shared(const mxg_gpu *gpu) {
  return gpu->device.shared_bytes / 2 - OTHER_SHARED;
}

static mxg_status load_kernels(mxg_gpu *gpu) {
  const uint32_t waves = MXG_GPU_MAX_THREADS / gpu->device.lanes;
  for (size_t i = 0; i < mxg_gpu_table_rows; i++) {
    loaded_kernel *k = &gpu->kernels[i];
    if ((mxg_gpu_table[i].archs & gpu->arch) == 0) continue;
    TRY(mxg_rt_kernel(gpu->index, gpu->module, mxg_gpu_table[i].kernel.name, &k->kernel));
    if (gpu->device.shared_bytes != 0 && mxg_gpu_table[i].kernel.operation == MXG_OPERATION_COMBINE)
      TRY(mxg_rt_allow_shared(gpu->index, k->kernel, max_shared(gpu)));
    for (uint32_t w = 0; w < waves; w++)
      TRY(mxg_rt_resident(gpu->index, k->kernel, (w + 1) * gpu->device.lanes, &k->resident[w]));
  }
  return MXG_OK;
}

static mxg_status open_device(mxg_gpu *gpu) {
  const mxg_rt_device *d = &gpu->device;
  TRY(mxg_rt_device_at(gpu->index, &gpu->device));
  gpu->arch = mxg_arch_of(d->arch);
  if (gpu->arch == 0) {
    mxg_gpu_say(
        "device %d is %s (%s): there are kernels for gfx942, gfx950, gfx1250 and sm_90 only; "
        "the CPU library gives the same bytes",
        gpu->index, d->name, d->arch);
    return MXG_ERR_ARCH;
  }
  if (d->lanes != 32 && d->lanes != 64) {
    mxg_gpu_say("device %d (%s) has %u lanes: 32 or 64 are known", gpu->index, d->arch,
                (unsigned)d->lanes);
    return MXG_ERR_ARCH;
  }
  TRY(mxg_rt_module_load(gpu->index, d->arch, &gpu->module));
  return load_kernels(gpu);
}

mxg_status mxg_gpu_open(int index, uint32_t flags, mxg_gpu **out) {
  mxg_status status;
  mxg_gpu *gpu;
  if (out == NULL) return fail(MXG_ERR_NULL, "gpu");
  if ((flags & ~(uint32_t)MXG_GPU_PORTABLE) != 0) return fail(MXG_ERR_RESERVED, "flags");
  gpu = (mxg_gpu *)calloc(1, sizeof *gpu);
  if (gpu != NULL) gpu->kernels = (loaded_kernel *)calloc(mxg_gpu_table_rows, sizeof *gpu->kernels);
  if (gpu == NULL || gpu->kernels == NULL) {
    free(gpu);
    mxg_gpu_say("out of memory on the host");
    return MXG_ERR_DEVICE;
  }
  gpu->index = index;
  gpu->flags = flags;
  status = open_device(gpu);
  if (status != MXG_OK) {
    mxg_gpu_close(gpu);
    return status;
  }
  *out = gpu;
  return MXG_OK;
}

void mxg_gpu_close(mxg_gpu *gpu) {
  if (gpu == NULL) return;
  if (gpu->module != NULL) mxg_rt_module_unload(gpu->index, gpu->module);
  free(gpu->kernels);
  free(gpu);
}

mxg_status mxg_gpu_info_of(const mxg_gpu *gpu, mxg_gpu_info *info) {
  if (gpu == NULL || info == NULL) return fail(MXG_ERR_NULL, "gpu or info");
  memset(info, 0, sizeof *info);
  info->name = gpu->device.name;
  info->arch = gpu->device.arch;
  info->lanes = gpu->device.lanes;
  info->multiprocessors = gpu->device.multiprocessors;
  info->flags = gpu->flags;
  for (size_t i = 0; i < mxg_gpu_table_rows; i++)
    if (mxg_gpu_table[i].path == MXG_PATH_NATIVE && (mxg_gpu_table[i].archs & gpu->arch) != 0)
      info->native_elements |= 1u << mxg_gpu_table[i].kernel.element;
  return MXG_OK;
}

/* ---- the table ---- */

static mxg_status find(const mxg_gpu *gpu, const mxg_recipe *recipe, mxg_operation operation,
                       mxg_dtype dtype, int vector, size_t *row) {
  const mxg_status status =
      mxg_table_find(gpu->arch, gpu->flags, recipe, operation, dtype, vector, row);
  if (status == MXG_ERR_ARCH)
    mxg_gpu_say(
        "FP4 runs on the converters of gfx950, and device %d is %s (%s): open it with "
        "MXG_GPU_PORTABLE for the portable kernels, or use the CPU",
        gpu->index, gpu->device.name, gpu->device.arch);
  return status;
}

mxg_status mxg_gpu_kernel_name(const mxg_gpu *gpu, const mxg_recipe *recipe,
                               mxg_operation operation, mxg_dtype dtype, const char **name) {
  size_t row = 0;
  if (gpu == NULL || recipe == NULL || name == NULL)
    return fail(MXG_ERR_NULL, "gpu, recipe or name");
  TRY(mxg_gpu_check_recipe(recipe));
  if (mxg_dtype_bytes(dtype) == 0) return fail(MXG_ERR_TYPE, "dtype");
  if (operation != MXG_OPERATION_QUANTIZE && operation != MXG_OPERATION_DEQUANTIZE &&
      operation != MXG_OPERATION_COMBINE)
    return fail(MXG_ERR_SHAPE, "operation");
  TRY(find(gpu, recipe, operation, dtype, 1, &row));
  *name = mxg_gpu_table[row].kernel.name;
  return MXG_OK;
}

/* ---- launch ---- */

/* What every kernel reads of a recipe. */
static void prepare(mxg_gpu_args *a, const mxg_recipe *recipe, const mxg_layout *layout) {
  uint32_t shift = 0;
  memset(a, 0, sizeof *a);
  a->recipe = *recipe;
  a->layout = *layout;
  a->traits = mxg_element_traits(recipe->element);
  a->policy = mxg_policy_for(recipe, mxg_f32_bits(recipe->element_max));
  if (recipe->scale == MXG_SCALE_E8M0) a->e8m0 = mxg_e8m0_rule_for(recipe);
  if (recipe->scale == MXG_SCALE_F32) a->f32 = mxg_f32_rule_for(recipe);
  a->floor_bits = mxg_f32_bits(recipe->amax_floor);
  a->clamp = recipe->overflow == MXG_OVERFLOW_NONFINITE
                 ? mxg_f32_from_bits((uint32_t)(a->traits.emax + 1 + 127) << 23)
                 : mxg_f32_from_bits(mxg_max_bits(recipe));
  while (shift < 32 && recipe->block != 1u << shift) shift++;
  a->block_shift = shift;
  a->block_inverse = recipe->block == 0 ? 0 : UINT64_MAX / recipe->block;
  a->payload_stride = layout->payload_stride_bytes;
  a->scales_linear = 1;
  a->scale_row_stride = layout->scale_stride_bytes;
  a->scale_col_stride = layout->scale_bytes;
  a->padded_scales = mxg_size_ceil_div(layout->scale_count, mxg_order_tile_cols(layout->order)) *
                     mxg_order_tile_cols(layout->order);
  if (layout->placement == MXG_PLACEMENT_SLOT) {
    a->payload_stride = a->scale_row_stride = layout->slot_stride_bytes;
    a->scale_start = layout->scale_offset_bytes;
  } else if (layout->order == MXG_ORDER_TRANSPOSED) {
    a->scale_row_stride = layout->scale_bytes;
    a->scale_col_stride = layout->rows * layout->scale_bytes;
  } else {
    a->scales_linear = layout->order == MXG_ORDER_ROW_MAJOR;
  }
}

static int is_aligned(const void *p, size_t stride_bytes, size_t rows, size_t unit) {
  return (uintptr_t)p % unit == 0 && (rows < 2 || stride_bytes % unit == 0);
}

/* Values aligned to 16 bytes, codes to 8 elements, and columns a multiple of 8. */
static int is_vector_shape(const mxg_gpu_args *a, const void *values) {
  const mxg_layout *l = &a->layout;
  return l->cols % 8 == 0 && l->cols < (1u << 31) &&
         is_aligned(values, a->value_stride_bytes, a->rows, 16) &&
         is_aligned(a->codes, a->payload_stride, a->rows, (size_t)a->traits.bits);
}

/* cols_per_wave: that a wave works at, at a time. rows: that the kernel goes through. */
static mxg_status launch(const mxg_gpu *gpu, mxg_gpu_args *a, mxg_operation operation, int vector,
                         uint32_t cols_per_wave, size_t rows, mxg_gpu_stream stream) {
  size_t row = 0, steps, max_waves, waves, others, groups;
  TRY(find(gpu, &a->recipe, operation, a->dtype, vector, &row));
  if (rows == 0) return MXG_OK;
  /* Of the vector form of combine, a wave lists sources (combine.h). */
  others = operation == MXG_OPERATION_COMBINE && mxg_gpu_table[row].path != MXG_PATH_SLOW;
  max_waves = MXG_GPU_MAX_THREADS / gpu->device.lanes - others;
  /* So many waves that the last round of a row is as full as the others. */
  steps = mxg_size_ceil_div(a->layout.cols, cols_per_wave);
  waves = mxg_size_ceil_div(steps, mxg_size_ceil_div(steps == 0 ? 1 : steps, max_waves));
  if (waves == 0) waves = 1;
  a->workers = (uint32_t)waves * gpu->device.lanes;
  waves += others;
  groups = gpu->kernels[row].resident[waves - 1];
  if (a->shared_bytes != 0) {
    const uint32_t fit = gpu->device.shared_bytes / (a->shared_bytes + OTHER_SHARED);
    if (groups > fit) groups = fit;
  }
  groups *= gpu->device.multiprocessors;
  a->groups = (uint32_t)(rows < groups ? rows : groups);
  a->threads = (uint32_t)waves * gpu->device.lanes;
  return mxg_rt_launch(gpu->index, gpu->kernels[row].kernel, a, stream);
}

mxg_status mxg_gpu_quantize(const mxg_gpu *gpu, const mxg_recipe *recipe, const mxg_matrix_view *x,
                            const float *row_weight, const mxg_packed *out,
                            const uint32_t *live_rows, mxg_gpu_stream stream) {
  mxg_gpu_args a;
  size_t rows, tile;
  int vector;
  if (gpu == NULL) return fail(MXG_ERR_NULL, "gpu");
  TRY(mxg_gpu_check_quantize(recipe, x, row_weight, out));
  prepare(&a, recipe, &out->layout);
  a.rows = x->rows;
  a.live_rows = live_rows;
  a.x = (const uint8_t *)x->data;
  a.dtype = x->dtype;
  a.value_stride_bytes = mxg_gpu_stride(x->cols, x->stride_elems) * mxg_dtype_bytes(x->dtype);
  a.row_weight = (const uint8_t *)row_weight;
  a.codes = (uint8_t *)out->codes;
  a.scales = out->layout.placement == MXG_PLACEMENT_SLOT ? a.codes : (uint8_t *)out->scales;
  vector = is_vector_shape(&a, x->data);
  a.wide_codes = is_aligned(a.codes, a.payload_stride, a.rows, 16);
  tile = mxg_order_tile_rows(out->layout.order);
  rows = mxg_size_ceil_div(x->rows, tile) * tile;
  if (out->layout.cols == 0 && out->layout.scale_count == 0) rows = 0;
  return launch(gpu, &a, MXG_OPERATION_QUANTIZE, vector,
                vector ? MXG_GPU_TILE(a.traits.bits, gpu->device.lanes) : 1024, rows, stream);
}

mxg_status mxg_gpu_dequantize(const mxg_gpu *gpu, const mxg_recipe *recipe,
                              const mxg_packed_view *in, const mxg_matrix *y,
                              const uint32_t *live_rows, mxg_gpu_stream stream) {
  mxg_gpu_args a;
  int vector;
  if (gpu == NULL) return fail(MXG_ERR_NULL, "gpu");
  TRY(mxg_gpu_check_dequantize(recipe, in, y));
  prepare(&a, recipe, &in->layout);
  a.rows = y->rows;
  a.live_rows = live_rows;
  a.y = (uint8_t *)y->data;
  a.dtype = y->dtype;
  a.value_stride_bytes = mxg_gpu_stride(y->cols, y->stride_elems) * mxg_dtype_bytes(y->dtype);
  a.codes = (uint8_t *)(uintptr_t)in->codes; /* read only by this kernel */
  a.scales =
      in->layout.placement == MXG_PLACEMENT_SLOT ? a.codes : (uint8_t *)(uintptr_t)in->scales;
  vector = is_vector_shape(&a, y->data);
  return launch(gpu, &a, MXG_OPERATION_DEQUANTIZE, vector, (vector ? 8 : 1) * gpu->device.lanes,
                y->cols == 0 ? 0 : y->rows, stream);
}

/* FP4 slots in whole are copied to shared memory, where the chip can and they fit (combine_staged.h). */
static void stage(const mxg_gpu *gpu, mxg_gpu_args *a) {
  const mxg_layout *l = &a->layout;
  const uint64_t bytes = 2 * (uint64_t)l->slot_bytes * (a->top_k < 4 ? 4 : a->top_k); /* two rows */
  if (gpu->device.shared_bytes == 0 || a->recipe.element != MXG_ELEMENT_E2M1) return;
  if (a->rows >= 1u << 31) return;
  if (a->recipe.scale != MXG_SCALE_NONE && a->recipe.block % MXG_GPU_STAGED_STRIP != 0) return;
  if (l->cols % MXG_GPU_STAGED_STRIP != 0 || a->col_begin != 0 || a->col_end != l->cols) return;
  if (l->slot_bytes % 16 != 0 || bytes == 0 || bytes > max_shared(gpu)) return;
  if (!is_aligned(a->y, a->value_stride_bytes, a->rows, 16)) return;
  if (a->top_k > gpu->device.lanes || (uintptr_t)a->slots % 8 != 0) return;
  if ((uintptr_t)a->weight % 4 != 0 || l->scale_offset_bytes % 4 != 0) return;
  a->stage_bytes = (uint32_t)l->slot_bytes;
  a->shared_bytes = (uint32_t)bytes;
}

mxg_status mxg_gpu_combine(const mxg_gpu *gpu, const mxg_recipe *recipe, const void *const *slots,
                           size_t top_k, const float *weight, const mxg_layout *layout,
                           size_t col_begin, size_t col_end, const mxg_matrix *y,
                           const uint32_t *live_rows, mxg_gpu_stream stream) {
  mxg_gpu_args a;
  uint32_t strip;
  int vector;
  if (gpu == NULL) return fail(MXG_ERR_NULL, "gpu");
  TRY(mxg_gpu_check_combine(recipe, slots, top_k, weight, layout, col_begin, col_end, y));
  prepare(&a, recipe, layout);
  a.rows = y->rows;
  a.live_rows = live_rows;
  a.y = (uint8_t *)y->data;
  a.dtype = y->dtype;
  a.value_stride_bytes = mxg_gpu_stride(y->cols, y->stride_elems) * mxg_dtype_bytes(y->dtype);
  a.slots = (const uint8_t *)slots;
  a.weight = (const uint8_t *)weight;
  a.top_k = top_k;
  a.col_begin = col_begin;
  a.col_end = col_end;
  vector = layout->cols < (1u << 31);
  stage(gpu, &a);
  strip = a.stage_bytes != 0 ? MXG_GPU_STAGED_STRIP : vector ? MXG_GPU_COMBINE_STRIP : 1;
  return launch(gpu, &a, MXG_OPERATION_COMBINE, vector, strip * gpu->device.lanes,
                col_begin == col_end ? 0 : y->rows, stream);
}

/* ---- memory, streams and time ---- */

#define WITH_GPU \
  if (gpu == NULL) return fail(MXG_ERR_NULL, "gpu")

mxg_status mxg_gpu_alloc(const mxg_gpu *gpu, size_t bytes, void **memory) {
  WITH_GPU;
  if (memory == NULL) return fail(MXG_ERR_NULL, "memory");
  return mxg_rt_alloc(gpu->index, bytes, memory);
}
mxg_status mxg_gpu_free(const mxg_gpu *gpu, void *memory) {
  WITH_GPU;
  return memory == NULL ? MXG_OK : mxg_rt_free(gpu->index, memory);
}
static mxg_status copy(const mxg_gpu *gpu, void *to, const void *from, size_t bytes,
                       mxg_rt_direction direction, mxg_gpu_stream stream) {
  WITH_GPU;
  if (bytes == 0) return MXG_OK;
  if (to == NULL || from == NULL) return fail(MXG_ERR_NULL, "memory");
  return mxg_rt_copy(gpu->index, to, from, bytes, direction, stream);
}
mxg_status mxg_gpu_upload(const mxg_gpu *gpu, void *device, const void *host, size_t bytes) {
  return copy(gpu, device, host, bytes, MXG_RT_UPLOAD, NULL);
}
mxg_status mxg_gpu_download(const mxg_gpu *gpu, void *host, const void *device, size_t bytes) {
  return copy(gpu, host, device, bytes, MXG_RT_DOWNLOAD, NULL);
}
mxg_status mxg_gpu_copy(const mxg_gpu *gpu, void *to, const void *from, size_t bytes,
                        mxg_gpu_stream stream) {
  return copy(gpu, to, from, bytes, MXG_RT_COPY, stream);
}
mxg_status mxg_gpu_fill(const mxg_gpu *gpu, void *device, uint8_t value, size_t bytes,
                        mxg_gpu_stream stream) {
  WITH_GPU;
  if (bytes == 0) return MXG_OK;
  if (device == NULL) return fail(MXG_ERR_NULL, "memory");
  return mxg_rt_fill(gpu->index, device, value, bytes, stream);
}
mxg_status mxg_gpu_stream_new(const mxg_gpu *gpu, mxg_gpu_stream *stream) {
  WITH_GPU;
  if (stream == NULL) return fail(MXG_ERR_NULL, "stream");
  return mxg_rt_stream_new(gpu->index, stream);
}
mxg_status mxg_gpu_stream_free(const mxg_gpu *gpu, mxg_gpu_stream stream) {
  WITH_GPU;
  return stream == NULL ? MXG_OK : mxg_rt_stream_free(gpu->index, stream);
}
mxg_status mxg_gpu_synchronize(const mxg_gpu *gpu, mxg_gpu_stream stream) {
  WITH_GPU;
  return mxg_rt_synchronize(gpu->index, stream);
}
mxg_status mxg_gpu_event_new(const mxg_gpu *gpu, mxg_gpu_event *event) {
  WITH_GPU;
  if (event == NULL) return fail(MXG_ERR_NULL, "event");
  return mxg_rt_event_new(gpu->index, event);
}
mxg_status mxg_gpu_event_free(const mxg_gpu *gpu, mxg_gpu_event event) {
  WITH_GPU;
  return event == NULL ? MXG_OK : mxg_rt_event_free(gpu->index, event);
}
mxg_status mxg_gpu_event_record(const mxg_gpu *gpu, mxg_gpu_event event, mxg_gpu_stream stream) {
  WITH_GPU;
  if (event == NULL) return fail(MXG_ERR_NULL, "event");
  return mxg_rt_event_record(gpu->index, event, stream);
}
mxg_status mxg_gpu_event_elapsed(const mxg_gpu *gpu, mxg_gpu_event begin, mxg_gpu_event end,
                                 float *milliseconds) {
  WITH_GPU;
  if (begin == NULL || end == NULL || milliseconds == NULL) return fail(MXG_ERR_NULL, "event");
  return mxg_rt_event_elapsed(gpu->index, begin, end, milliseconds);
}
mxg_status mxg_gpu_graph_begin(const mxg_gpu *gpu, mxg_gpu_stream stream) {
  WITH_GPU;
  if (stream == NULL) return fail(MXG_ERR_NULL, "stream");
  return mxg_rt_graph_begin(gpu->index, stream);
}
mxg_status mxg_gpu_graph_end(const mxg_gpu *gpu, mxg_gpu_stream stream, mxg_gpu_graph *graph) {
  WITH_GPU;
  if (stream == NULL || graph == NULL) return fail(MXG_ERR_NULL, "stream or graph");
  return mxg_rt_graph_end(gpu->index, stream, graph);
}
mxg_status mxg_gpu_graph_launch(const mxg_gpu *gpu, mxg_gpu_graph graph, mxg_gpu_stream stream) {
  WITH_GPU;
  if (graph == NULL) return fail(MXG_ERR_NULL, "graph");
  return mxg_rt_graph_launch(gpu->index, graph, stream);
}
mxg_status mxg_gpu_graph_free(const mxg_gpu *gpu, mxg_gpu_graph graph) {
  WITH_GPU;
  return graph == NULL ? MXG_OK : mxg_rt_graph_free(gpu->index, graph);
}
