/* fake_device.c: preloaded before a HIP runtime: one device, of the chip that FAKE_ARCH names, on which
 * any code loads and has no kernel. What libmxgold_gpu says of it is looked at in test_no_device.sh.
 * SPDX-License-Identifier: MIT */
#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hipError_t hipGetDeviceCount(int *count) {
  *count = 1;
  return hipSuccess;
}
hipError_t hipGetDevice(int *index) {
  *index = 0;
  return hipSuccess;
}
hipError_t hipSetDevice(int index) {
  return index == 0 ? hipSuccess : hipErrorInvalidDevice;
}
hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int index) {
  const char *const arch = getenv("FAKE_ARCH");
  (void)index;
  memset(properties, 0, sizeof *properties);
  (void)snprintf(properties->name, sizeof properties->name, "fake device");
  (void)snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "%s",
                 arch != NULL ? arch : "");
  properties->warpSize = 64;
  properties->multiProcessorCount = 2;
  return hipSuccess;
}
hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
  *module = (hipModule_t)(size_t)image;
  return hipSuccess;
}
hipError_t hipModuleUnload(hipModule_t module) {
  (void)module;
  return hipSuccess;
}
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
  (void)function;
  (void)module;
  (void)name;
  return hipErrorNotFound;
}
