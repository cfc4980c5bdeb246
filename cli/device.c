/* device.c: --device: the calls of the library on a GPU, chunk by chunk.
 * SPDX-License-Identifier: MIT */
#include "device.h"

#include <stdlib.h>
#include <string.h>

static const char *device_text;

struct poptOption mxg_device_table[] = {
    {"device", 0, POPT_ARG_STRING, &device_text, 0,
     "on GPU number N (default 0); portable: kernels that need no converters of the chip",
     "gpu[:N][,portable]"},
    POPT_TABLEEND};

bool mxg_device_given(void) {
  return device_text != NULL;
}

int mxg_device_is_not_built(const char *option) {
  return mxg_fail(MXG_EXIT_USAGE,
                  "%s: this mxgold was built without a GPU library: configure with "
                  "-DMXGOLD_GPU=CUDA or -DMXGOLD_GPU=HIP, or leave %s out: the CPU gives the same "
                  "bytes",
                  option, option);
}

#if !defined(MXGOLD_GPU)

const char *mxg_device_message(void) {
  return "";
}

int mxg_device_impl(const mxg_impl **impl) {
  (void)impl;
  return mxg_device_is_not_built("--device");
}

#else

#include "../gpu/hosted.h"

static mxg_hosted hosted; /* one a process: the tool runs one command */

const char *mxg_device_message(void) {
  return mxg_gpu_message();
}

int mxg_device_open(const mxg_device_arg *arg, mxg_gpu **gpu) {
  const mxg_status status = mxg_gpu_open(arg->index, arg->flags, gpu);
  if (status == MXG_OK) return MXG_EXIT_OK;
  return mxg_fail(MXG_EXIT_USAGE,
                  "gpu:%d (%s): %s: %s. Name another device, or run on the CPU, which gives the "
                  "same bytes: leave the option out",
                  arg->index, mxg_gpu_backend(), mxg_strerror(status), mxg_gpu_message());
}

static int parse_device(const char *text, mxg_device_arg *out) {
  static const char portable[] = ",portable";
  const char *at = text + 3;
  out->index = 0;
  out->flags = 0;
  if (strncmp(text, "gpu", 3) != 0) at = "?";
  if (*at == ':') {
    at++;
    if (*at < '0' || *at > '9') at = "?";
    for (; *at >= '0' && *at <= '9' && out->index < 100000; at++)
      out->index = out->index * 10 + (*at - '0');
  }
  if (strcmp(at, portable) == 0) {
    out->flags = MXG_GPU_PORTABLE;
    at += strlen(portable);
  }
  if (*at == 0) return MXG_EXIT_OK;
  return mxg_fail(MXG_EXIT_USAGE, "--device: '%s' is no device: give gpu, gpu:1, or gpu:1,portable",
                  text);
}

static mxg_status gpu_quantize(const mxg_recipe *recipe, const mxg_matrix_view *x,
                               const float *row_weight, const mxg_packed *out, const mxg_run *run) {
  (void)run;
  return mxg_hosted_quantize(&hosted, recipe, x, row_weight, out, NULL);
}
static mxg_status gpu_dequantize(const mxg_recipe *recipe, const mxg_packed_view *in,
                                 const mxg_matrix *y, const mxg_run *run) {
  (void)run;
  return mxg_hosted_dequantize(&hosted, recipe, in, y, NULL);
}
static mxg_status gpu_combine(const mxg_recipe *recipe, const void *const *slots, size_t top_k,
                              const float *weight, const mxg_layout *layout, size_t col_begin,
                              size_t col_end, const mxg_matrix *y, const mxg_run *run) {
  (void)run;
  return mxg_hosted_combine(&hosted, recipe, slots, top_k, weight, layout, col_begin, col_end, y,
                            NULL);
}

static void close_device(void) {
  mxg_gpu *gpu = (mxg_gpu *)(uintptr_t)hosted.gpu;
  mxg_hosted_close(&hosted);
  mxg_gpu_close(gpu);
}

int mxg_device_impl(const mxg_impl **impl) {
  static const mxg_impl gpu_impl = {"gpu", mxg_layout_for, gpu_quantize, gpu_dequantize,
                                    gpu_combine};
  mxg_device_arg arg;
  mxg_gpu *gpu = NULL;
  int exit_code = parse_device(device_text, &arg);
  if (exit_code == 0) exit_code = mxg_device_open(&arg, &gpu);
  if (exit_code != 0) return exit_code;
  hosted.gpu = gpu;
  atexit(close_device);
  *impl = &gpu_impl;
  return MXG_EXIT_OK;
}

#endif
