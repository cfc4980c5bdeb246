/* runtime_sim.c: the simulator as a runtime: device memory is host memory, streams are immediate.
 * Devices 0 to 3 are the chips of the table; device 4 is one that is not in it.
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim.h"

const char mxg_rt_backend[] = "sim";

static const struct device {
  const char *arch;
  uint32_t lanes;
  const mxg_sim_kernel *kernels; /* NULL: no code */
} devices[] = {{"gfx942:sramecc+:xnack-", 64, mxg_sim_gfx942},
               {"gfx950:sramecc+:xnack-", 64, mxg_sim_gfx950},
               {"gfx1250", 32, mxg_sim_gfx1250},
               {"sm_90", 32, mxg_sim_sm_90},
               {"gfx90a:sramecc+:xnack-", 64, NULL}};

mxg_status mxg_rt_device_at(int index, mxg_rt_device *device) {
  const int count = (int)(sizeof devices / sizeof devices[0]);
  if (index < 0 || index >= count) {
    mxg_gpu_say("no device %d: the simulator has %d", index, count);
    return MXG_ERR_NO_DEVICE;
  }
  memset(device, 0, sizeof *device);
  snprintf(device->name, sizeof device->name, "simulator of %s", devices[index].arch);
  snprintf(device->arch, sizeof device->arch, "%s", devices[index].arch);
  device->lanes = devices[index].lanes;
  device->multiprocessors = 2;
  if (strcmp(devices[index].arch, "sm_90") == 0) device->shared_bytes = 228 * 1024;
  return MXG_OK;
}

mxg_status mxg_rt_module_load(int index, const char *arch, void **module) {
  (void)arch;
  *module = (void *)(uintptr_t)devices[index].kernels;
  return MXG_OK;
}
void mxg_rt_module_unload(int index, void *module) {
  (void)index;
  (void)module;
}

mxg_status mxg_rt_kernel(int index, void *module, const char *name, void **kernel) {
  (void)index;
  for (const mxg_sim_kernel *k = (const mxg_sim_kernel *)module; k->name != NULL; k++) {
    if (strcmp(k->name, name) != 0) continue;
    *kernel = (void *)(uintptr_t)k;
    return MXG_OK;
  }
  mxg_gpu_say("the code for device %d has no kernel %s", index, name);
  return MXG_ERR_DEVICE;
}

mxg_status mxg_rt_allow_shared(int index, void *kernel, uint32_t bytes) {
  (void)index;
  (void)kernel;
  (void)bytes;
  return MXG_OK;
}

mxg_status mxg_rt_resident(int index, void *kernel, uint32_t threads, uint32_t *groups) {
  (void)index;
  (void)kernel;
  *groups = threads <= 64 ? 2 : 1;
  return MXG_OK;
}

/* A recorded graph, and the one that a stream is recording. */
enum { GRAPH_CALLS = 16 };
typedef struct graph {
  size_t count;
  struct {
    const mxg_sim_kernel *kernel;
    mxg_gpu_args args;
  } calls[GRAPH_CALLS];
} graph;
static mxg_gpu_stream recording_stream;
static graph *recording;

mxg_status mxg_rt_launch(int index, void *kernel, const mxg_gpu_args *args, mxg_gpu_stream stream) {
  const mxg_sim_kernel *k = (const mxg_sim_kernel *)kernel;
  if (recording != NULL && stream == recording_stream) {
    if (recording->count == GRAPH_CALLS) return MXG_ERR_DEVICE;
    recording->calls[recording->count].kernel = k;
    recording->calls[recording->count++].args = *args;
    return MXG_OK;
  }
  if (args->shared_bytes != 0) mxg_sim_note(MXG_SIM_STAGED);
  mxg_sim_note(k->name);
  mxg_sim_launch(k->run, args, devices[index].lanes);
  return MXG_OK;
}

mxg_status mxg_rt_alloc(int index, size_t bytes, void **memory) {
  (void)index;
  *memory = aligned_alloc(256, (bytes + 255) / 256 * 256 + 256);
  if (*memory != NULL) return MXG_OK;
  mxg_gpu_say("out of memory");
  return MXG_ERR_DEVICE;
}
mxg_status mxg_rt_free(int index, void *memory) {
  (void)index;
  free(memory);
  return MXG_OK;
}
mxg_status mxg_rt_copy(int index, void *to, const void *from, size_t bytes,
                       mxg_rt_direction direction, mxg_gpu_stream stream) {
  (void)index;
  (void)direction;
  (void)stream;
  memcpy(to, from, bytes);
  return MXG_OK;
}
mxg_status mxg_rt_fill(int index, void *memory, uint8_t value, size_t bytes,
                       mxg_gpu_stream stream) {
  (void)index;
  (void)stream;
  memset(memory, value, bytes);
  return MXG_OK;
}
mxg_status mxg_rt_stream_new(int index, mxg_gpu_stream *stream) {
  (void)index;
  *stream = malloc(1);
  return *stream != NULL ? MXG_OK : MXG_ERR_DEVICE;
}
mxg_status mxg_rt_stream_free(int index, mxg_gpu_stream stream) {
  (void)index;
  free(stream);
  return MXG_OK;
}
mxg_status mxg_rt_synchronize(int index, mxg_gpu_stream stream) {
  (void)index;
  (void)stream;
  return MXG_OK;
}

mxg_status mxg_rt_event_new(int index, mxg_gpu_event *event) {
  (void)index;
  *event = calloc(1, sizeof(struct timespec));
  return *event != NULL ? MXG_OK : MXG_ERR_DEVICE;
}
mxg_status mxg_rt_event_free(int index, mxg_gpu_event event) {
  (void)index;
  free(event);
  return MXG_OK;
}
mxg_status mxg_rt_event_record(int index, mxg_gpu_event event, mxg_gpu_stream stream) {
  (void)index;
  (void)stream;
  return clock_gettime(CLOCK_MONOTONIC, (struct timespec *)event) == 0 ? MXG_OK : MXG_ERR_DEVICE;
}
mxg_status mxg_rt_event_elapsed(int index, mxg_gpu_event begin, mxg_gpu_event end, float *ms) {
  const struct timespec *from = (const struct timespec *)begin;
  const struct timespec *to = (const struct timespec *)end;
  (void)index;
  *ms = (float)((double)(to->tv_sec - from->tv_sec) * 1e3 +
                (double)(to->tv_nsec - from->tv_nsec) * 1e-6);
  return MXG_OK;
}

mxg_status mxg_rt_graph_begin(int index, mxg_gpu_stream stream) {
  (void)index;
  recording = calloc(1, sizeof *recording);
  recording_stream = stream;
  return recording != NULL ? MXG_OK : MXG_ERR_DEVICE;
}
mxg_status mxg_rt_graph_end(int index, mxg_gpu_stream stream, mxg_gpu_graph *out) {
  (void)index;
  if (recording == NULL || stream != recording_stream) return MXG_ERR_DEVICE;
  *out = recording;
  recording = NULL;
  return MXG_OK;
}
mxg_status mxg_rt_graph_launch(int index, mxg_gpu_graph launched, mxg_gpu_stream stream) {
  const graph *g = (const graph *)launched;
  (void)stream;
  for (size_t i = 0; i < g->count; i++) {
    mxg_sim_note(g->calls[i].kernel->name);
    mxg_sim_launch(g->calls[i].kernel->run, &g->calls[i].args, devices[index].lanes);
  }
  return MXG_OK;
}
mxg_status mxg_rt_graph_free(int index, mxg_gpu_graph launched) {
  (void)index;
  free(launched);
  return MXG_OK;
}
