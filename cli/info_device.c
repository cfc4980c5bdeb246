/* info_device.c: what would run on device 0.
 * SPDX-License-Identifier: MIT */
#include "info_device.h"

#include <stdio.h>

#include "device.h"

#if !defined(MXGOLD_GPU)

void mxg_info_device_text(void) {
  printf("\ngpu          not built in (cmake -DMXGOLD_GPU=CUDA or -DMXGOLD_GPU=HIP)\n");
}

json_t *mxg_info_device_json(void) {
  return json_null();
}

#else

static const struct {
  mxg_operation operation;
  const char *name;
} operations[] = {{MXG_OPERATION_QUANTIZE, "quantize"},
                  {MXG_OPERATION_DEQUANTIZE, "dequantize"},
                  {MXG_OPERATION_COMBINE, "combine"}};

static const char *kernel_of(const mxg_gpu *gpu, const mxg_recipe *recipe,
                             mxg_operation operation) {
  const char *name = NULL;
  const mxg_status status = mxg_gpu_kernel_name(gpu, recipe, operation, MXG_DTYPE_BF16, &name);
  if (status == MXG_ERR_ARCH) return "refused (,portable runs it)";
  return status == MXG_OK ? name : mxg_strerror(status);
}

void mxg_info_device_text(void) {
  mxg_gpu *gpu = NULL;
  mxg_gpu_info info;
  if (mxg_gpu_open(0, 0, &gpu) != MXG_OK || mxg_gpu_info_of(gpu, &info) != MXG_OK) {
    printf("\ngpu          %s: %s\n", mxg_gpu_backend(), mxg_gpu_message());
    return;
  }
  printf("\ngpu          %s: %s (%s), %u multiprocessors, %u lanes\n\ndevice kernels for bf16\n",
         mxg_gpu_backend(), info.name, info.arch, (unsigned)info.multiprocessors,
         (unsigned)info.lanes);
  printf("%-24s %-40s %-40s %s\n", "preset", "quantize", "dequantize", "combine");
  for (size_t i = 0; mxg_preset_at(i) != NULL; i++) {
    const mxg_preset *preset = mxg_preset_at(i);
    printf("%-24s %-40s %-40s %s\n", preset->name,
           kernel_of(gpu, &preset->recipe, MXG_OPERATION_QUANTIZE),
           kernel_of(gpu, &preset->recipe, MXG_OPERATION_DEQUANTIZE),
           kernel_of(gpu, &preset->recipe, MXG_OPERATION_COMBINE));
  }
  mxg_gpu_close(gpu);
}

json_t *mxg_info_device_json(void) {
  json_t *object = json_object(), *kernels = json_object();
  mxg_gpu *gpu = NULL;
  mxg_gpu_info info;
  json_object_set_new(object, "backend", json_string(mxg_gpu_backend()));
  if (mxg_gpu_open(0, 0, &gpu) != MXG_OK || mxg_gpu_info_of(gpu, &info) != MXG_OK) {
    json_object_set_new(object, "error", json_string(mxg_gpu_message()));
    json_decref(kernels);
    return object;
  }
  json_object_set_new(object, "name", json_string(info.name));
  json_object_set_new(object, "arch", json_string(info.arch));
  json_object_set_new(object, "lanes", json_integer((json_int_t)info.lanes));
  json_object_set_new(object, "multiprocessors", json_integer((json_int_t)info.multiprocessors));
  for (size_t i = 0; mxg_preset_at(i) != NULL; i++) {
    const mxg_preset *preset = mxg_preset_at(i);
    json_t *row = json_object();
    for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++)
      json_object_set_new(row, operations[k].name,
                          json_string(kernel_of(gpu, &preset->recipe, operations[k].operation)));
    json_object_set_new(kernels, preset->name, row);
  }
  json_object_set_new(object, "kernels_bf16", kernels);
  mxg_gpu_close(gpu);
  return object;
}

#endif
