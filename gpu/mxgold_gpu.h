/* mxgold_gpu.h: the public interface of libmxgold_gpu: the same bytes, made on the device.
 *
 * Recipes, layouts, matrices and statuses are those of mxgold.h, and so are the bytes; data pointers
 * are device pointers. The library is built for one runtime, HIP or CUDA.
 *
 * Rules that hold for every call below, unless its own comment says otherwise:
 *   errors       the return value; MXG_OK is 0. On any error of a check nothing has been launched.
 *                mxg_gpu_message() has the details, the runtime's own words included.
 *   order        quantise, dequantise and combine put one kernel on the stream and return. After
 *                mxg_gpu_open() nothing is allocated, copied or waited for behind the caller's back.
 *                A fault of the kernel itself is reported by the runtime, on a later call.
 *   alignment    any pointer may have any alignment. 16-byte aligned rows are the fast case.
 *   aliasing     as in mxgold.h; slots of combine are not checked, the host cannot see them.
 *   live rows    `live_rows` points to a count on the device, read when the kernel runs: rows from
 *                it on are not touched, pads as for a matrix of that many rows. NULL: every row of
 *                the matrix. A count above the matrix's rows means all of them. The launch does not
 *                depend on the count, so a captured graph can be replayed with another one.
 *   path         a table gives each recipe its kernel on each chip (mxg_gpu_kernel_name()). FP4 runs
 *                on the converters of gfx950: on any other chip it is MXG_ERR_ARCH, unless the
 *                device was opened with MXG_GPU_PORTABLE. Nothing falls back silently.
 *   threads      a context is not changed after open: any number of threads may use it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_H
#define MXGOLD_GPU_H

#include "mxgold.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ---- */

typedef struct mxg_gpu mxg_gpu; /* an open device */

typedef void
    *mxg_gpu_stream; /* hipStream_t or cudaStream_t; NULL is the runtime's default stream */

/* Flags of mxg_gpu_open(). */
typedef enum mxg_gpu_flag {
  MXG_GPU_PORTABLE =
      1 /* every call runs the portable kernels, which need no particular converter */
} mxg_gpu_flag;

/* mxg_gpu_backend: what the library is built for: "hip", "cuda", or "sim" (the kernels' own source
 * on the CPU, for tests). Static storage. */
MXG_API const char *mxg_gpu_backend(void);

/* mxg_gpu_open: a device by its runtime's index; the one place that allocates and loads.
 * flags    0 or MXG_GPU_PORTABLE.
 * gpu      written on MXG_OK only.
 * returns  MXG_OK; MXG_ERR_NULL; MXG_ERR_RESERVED (unknown flag); MXG_ERR_NO_DEVICE (no driver, or
 *          no device of that index); MXG_ERR_ARCH (the library has no code for this chip);
 *          MXG_ERR_DEVICE (the runtime failed, or the code lacks a kernel of the table). */
MXG_API mxg_status mxg_gpu_open(int index, uint32_t flags, mxg_gpu **gpu);

/* Gives everything back; NULL is fine. No call may be in flight. */
MXG_API void mxg_gpu_close(mxg_gpu *gpu);

/* One or two English sentences about the last failed mxg_gpu_ call of this thread, the runtime's own
 * message included; "" when there was none. Never NULL; lives until the thread's next failure. */
MXG_API const char *mxg_gpu_message(void);

typedef struct mxg_gpu_info {
  const char *name;         /* the runtime's name of the device */
  const char *arch;         /* "gfx950", "sm_90", ... */
  uint32_t native_elements; /* bit 1 << mxg_element: recipes with native kernels exist for it */
  uint32_t lanes;           /* of a wave or warp */
  uint32_t multiprocessors;
  uint32_t flags; /* as opened */
} mxg_gpu_info;

/* About an open device; strings live as long as it does. MXG_ERR_NULL. */
MXG_API mxg_status mxg_gpu_info_of(const mxg_gpu *gpu, mxg_gpu_info *info);

/* ---- kernels ---- */

typedef struct mxg_gpu_kernel {
  const char *name; /* its symbol in the code objects */
  mxg_operation operation;
  mxg_element element;       /* 0 = every one */
  mxg_dtype dtype;           /* of the source (quantise); 0 = every one */
  mxg_accumulate accumulate; /* combine; else 0 */
  int native;                /* 1: uses the chip's own converters */
  int vector;                /* 1: aligned rows and regular blocks only */
  const char *archs;         /* the chips that have it: "gfx950 sm_90" */
} mxg_gpu_kernel;

/* Kernel number `index` of the table; NULL past the last. Needs no device. Static storage. */
MXG_API const mxg_gpu_kernel *mxg_gpu_kernel_at(size_t index);

/* mxg_gpu_kernel_name: the kernel of a recipe on this device for aligned rows of a whole number of
 * 16 columns; others may take a slower kernel of the same table.
 * dtype    of the source (quantise) or of the result (dequantise, combine).
 * returns  MXG_OK and *name, static storage; MXG_ERR_NULL, _RESERVED, _RECIPE, _TYPE, _SHAPE (unknown
 *          operation), _ARCH. */
MXG_API mxg_status mxg_gpu_kernel_name(const mxg_gpu *gpu, const mxg_recipe *recipe,
                                       mxg_operation operation, mxg_dtype dtype, const char **name);

/* ---- quantise, dequantise, combine ----
 * As their namesakes in mxgold.h, with device pointers, the live-row pointer and a stream. Statuses
 * are those of the namesake (never _ISA and _FENV), then MXG_ERR_ARCH and MXG_ERR_DEVICE. */

MXG_API mxg_status mxg_gpu_quantize(const mxg_gpu *gpu, const mxg_recipe *recipe,
                                    const mxg_matrix_view *x, const float *row_weight,
                                    const mxg_packed *out, const uint32_t *live_rows,
                                    mxg_gpu_stream stream);

MXG_API mxg_status mxg_gpu_dequantize(const mxg_gpu *gpu, const mxg_recipe *recipe,
                                      const mxg_packed_view *in, const mxg_matrix *y,
                                      const uint32_t *live_rows, mxg_gpu_stream stream);

/* slots  device array of y.rows * top_k device pointers. */
MXG_API mxg_status mxg_gpu_combine(const mxg_gpu *gpu, const mxg_recipe *recipe,
                                   const void *const *slots, size_t top_k, const float *weight,
                                   const mxg_layout *layout, size_t col_begin, size_t col_end,
                                   const mxg_matrix *y, const uint32_t *live_rows,
                                   mxg_gpu_stream stream);

/* ---- memory, streams and time ----
 * For programs that use no runtime of their own (the tool, the self-test, the bench).
 * All return MXG_OK; MXG_ERR_NULL, _DEVICE. Copies between host and device wait for their end. */

MXG_API mxg_status mxg_gpu_alloc(const mxg_gpu *gpu, size_t bytes, void **memory);
MXG_API mxg_status mxg_gpu_free(const mxg_gpu *gpu, void *memory);
MXG_API mxg_status mxg_gpu_upload(const mxg_gpu *gpu, void *device, const void *host, size_t bytes);
MXG_API mxg_status mxg_gpu_download(const mxg_gpu *gpu, void *host, const void *device,
                                    size_t bytes);
MXG_API mxg_status mxg_gpu_fill(const mxg_gpu *gpu, void *device, uint8_t value, size_t bytes,
                                mxg_gpu_stream stream);
MXG_API mxg_status mxg_gpu_copy(const mxg_gpu *gpu, void *to, const void *from, size_t bytes,
                                mxg_gpu_stream stream); /* device to device, not waited for */
MXG_API mxg_status mxg_gpu_stream_new(const mxg_gpu *gpu, mxg_gpu_stream *stream);
MXG_API mxg_status mxg_gpu_stream_free(const mxg_gpu *gpu, mxg_gpu_stream stream);
MXG_API mxg_status mxg_gpu_synchronize(const mxg_gpu *gpu, mxg_gpu_stream stream);

typedef void *mxg_gpu_event; /* a point in a stream */
MXG_API mxg_status mxg_gpu_event_new(const mxg_gpu *gpu, mxg_gpu_event *event);
MXG_API mxg_status mxg_gpu_event_free(const mxg_gpu *gpu, mxg_gpu_event event);
MXG_API mxg_status mxg_gpu_event_record(const mxg_gpu *gpu, mxg_gpu_event event,
                                        mxg_gpu_stream stream);
/* Milliseconds between two recorded events; waits for the later one. */
MXG_API mxg_status mxg_gpu_event_elapsed(const mxg_gpu *gpu, mxg_gpu_event begin, mxg_gpu_event end,
                                         float *milliseconds);

/* A graph: calls put on a stream between begin and end, recorded instead of run. A launch runs them
 * with the arguments they were given; a live-row count is read anew each time. The stream is not
 * the default one. */
typedef void *mxg_gpu_graph;
MXG_API mxg_status mxg_gpu_graph_begin(const mxg_gpu *gpu, mxg_gpu_stream stream);
MXG_API mxg_status mxg_gpu_graph_end(const mxg_gpu *gpu, mxg_gpu_stream stream,
                                     mxg_gpu_graph *graph);
MXG_API mxg_status mxg_gpu_graph_launch(const mxg_gpu *gpu, mxg_gpu_graph graph,
                                        mxg_gpu_stream stream);
MXG_API mxg_status mxg_gpu_graph_free(const mxg_gpu *gpu, mxg_gpu_graph graph);

#ifdef __cplusplus
}
#endif
#endif
