/* runtime.h: the host half of the shim: what gpu.c asks of a runtime. One of runtime_hip.c,
 * runtime_cuda.c and the tests' runtime_sim.c implements it. Private to gpu/ and its tests.
 *
 * Every call returns MXG_OK, or a status after mxg_gpu_say() has said why. Calls leave the current
 * device of the thread as they find it.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_RUNTIME_H
#define MXGOLD_GPU_RUNTIME_H

#include "args.h"
#include "mxgold_gpu.h"

#ifdef __GNUC__
#define MXG_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define MXG_PRINTF(text, first)
#endif

/* Sets the message of this thread (message.c). */
void mxg_gpu_say(const char *format, ...) MXG_PRINTF(1, 2);

extern const char mxg_rt_backend[];

typedef struct mxg_rt_device {
  char name[256];
  char arch[256];
  uint32_t lanes, multiprocessors;
  uint32_t shared_bytes; /* of a multiprocessor, where kernels copy to shared memory; else 0 */
} mxg_rt_device;

/* MXG_ERR_NO_DEVICE when there is no driver, or no device of that index. */
mxg_status mxg_rt_device_at(int index, mxg_rt_device *device);

/* The code for an arch, loaded on device `index`; MXG_ERR_ARCH when the build has none. */
mxg_status mxg_rt_module_load(int index, const char *arch, void **module);
void mxg_rt_module_unload(int index, void *module);
mxg_status mxg_rt_kernel(int index, void *module, const char *name, void **kernel);

/* Lets a launch of the kernel ask for so much shared memory. */
mxg_status mxg_rt_allow_shared(int index, void *kernel, uint32_t bytes);

/* Groups of `threads` that fit a multiprocessor at a time, at least 1. */
mxg_status mxg_rt_resident(int index, void *kernel, uint32_t threads, uint32_t *groups);

/* Puts args->groups groups of args->threads on the stream, each with args->shared_bytes. */
mxg_status mxg_rt_launch(int index, void *kernel, const mxg_gpu_args *args, mxg_gpu_stream stream);

typedef enum mxg_rt_direction { MXG_RT_UPLOAD, MXG_RT_DOWNLOAD, MXG_RT_COPY } mxg_rt_direction;

mxg_status mxg_rt_alloc(int index, size_t bytes, void **memory);
mxg_status mxg_rt_free(int index, void *memory);
/* Up and down: waits for the end and takes no stream. */
mxg_status mxg_rt_copy(int index, void *to, const void *from, size_t bytes,
                       mxg_rt_direction direction, mxg_gpu_stream stream);
mxg_status mxg_rt_fill(int index, void *memory, uint8_t value, size_t bytes, mxg_gpu_stream stream);
mxg_status mxg_rt_stream_new(int index, mxg_gpu_stream *stream);
mxg_status mxg_rt_stream_free(int index, mxg_gpu_stream stream);
mxg_status mxg_rt_synchronize(int index, mxg_gpu_stream stream);
mxg_status mxg_rt_event_new(int index, mxg_gpu_event *event);
mxg_status mxg_rt_event_free(int index, mxg_gpu_event event);
mxg_status mxg_rt_event_record(int index, mxg_gpu_event event, mxg_gpu_stream stream);
mxg_status mxg_rt_event_elapsed(int index, mxg_gpu_event begin, mxg_gpu_event end, float *ms);
mxg_status mxg_rt_graph_begin(int index, mxg_gpu_stream stream);
mxg_status mxg_rt_graph_end(int index, mxg_gpu_stream stream, mxg_gpu_graph *graph);
mxg_status mxg_rt_graph_launch(int index, mxg_gpu_graph graph, mxg_gpu_stream stream);
mxg_status mxg_rt_graph_free(int index, mxg_gpu_graph graph);

#endif
