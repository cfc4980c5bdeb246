/* runtime.c: HIP (MXG_GPU_HIP) and CUDA (MXG_GPU_CUDA), whose calls mostly differ in a prefix.
 * SPDX-License-Identifier: MIT */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

#include "code.h"

#if defined(MXG_GPU_HIP)
#include <hip/hip_runtime_api.h>
#define RT(name) hip##name
typedef hipError_t rt_error;
typedef hipModule_t rt_module;
typedef hipFunction_t rt_kernel;
const char mxg_rt_backend[] = "hip";
#elif defined(MXG_GPU_CUDA)
#include <cuda_runtime_api.h>
#define RT(name) cuda##name
typedef cudaError_t rt_error;
typedef cudaLibrary_t rt_module;
typedef cudaKernel_t rt_kernel;
const char mxg_rt_backend[] = "cuda";
#else
#error "define MXG_GPU_HIP or MXG_GPU_CUDA"
#endif

static mxg_status fail(mxg_status status, int index, const char *call, rt_error error) {
  mxg_gpu_say("device %d: %s: %s (%s)", index, call, RT(GetErrorString)(error),
              RT(GetErrorName)(error));
  (void)RT(GetLastError)(); /* or the next check of the caller would find ours */
  return status;
}

#define TRY(index, call)                                                          \
  do {                                                                            \
    const rt_error error_ = (call);                                               \
    if (error_ != RT(Success)) return fail(MXG_ERR_DEVICE, index, #call, error_); \
  } while (0)

/* The device current for a call, and the caller's again. */
static rt_error enter(int index, int *before) {
  rt_error error = RT(GetDevice)(before);
  if (error == RT(Success) && *before != index) error = RT(SetDevice)(index);
  return error;
}
static void leave(int index, int before) {
  if (before != index) (void)RT(SetDevice)(before);
}
#define ON_DEVICE(index, call)                                                                  \
  do {                                                                                          \
    int before_ = 0;                                                                            \
    rt_error error_ = enter(index, &before_);                                                   \
    if (error_ != RT(Success)) return fail(MXG_ERR_DEVICE, index, "select the device", error_); \
    error_ = (call);                                                                            \
    leave(index, before_);                                                                      \
    if (error_ != RT(Success)) return fail(MXG_ERR_DEVICE, index, #call, error_);               \
  } while (0)

/* ---- what differs ---- */

#if defined(MXG_GPU_HIP)
typedef hipDeviceProp_t rt_properties;

static void arch_name(const rt_properties *p, char *text, size_t bytes) {
  (void)snprintf(text, bytes, "%s", p->gcnArchName);
}
static rt_error load(rt_module *module, const void *image) {
  return hipModuleLoadData(module, image);
}
static rt_error unload(rt_module module) {
  return hipModuleUnload(module);
}
static rt_error get_kernel(rt_kernel *kernel, rt_module module, const char *name) {
  return hipModuleGetFunction(kernel, module, name);
}
static rt_error resident(int *groups, rt_kernel kernel, uint32_t threads) {
  return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(groups, kernel, (int)threads, 0);
}
static rt_error allow_shared(rt_kernel kernel, int bytes) {
  (void)kernel; /* never called: no device has shared_bytes */
  (void)bytes;
  return hipSuccess;
}
static uint32_t shared_bytes(const rt_properties *p) {
  (void)p;
  return 0;
}
static rt_error start(rt_kernel kernel, const mxg_gpu_args *args, hipStream_t stream) {
  void *arguments[] = {(void *)(uintptr_t)args};
  return hipModuleLaunchKernel(kernel, args->groups, 1, 1, args->threads, 1, 1, 0, stream,
                               arguments, NULL);
}
#else
typedef struct cudaDeviceProp rt_properties;

static void arch_name(const rt_properties *p, char *text, size_t bytes) {
  (void)snprintf(text, bytes, "sm_%d%d", p->major, p->minor);
}
static rt_error load(rt_module *module, const void *image) {
  return cudaLibraryLoadData(module, image, NULL, NULL, 0, NULL, NULL, 0);
}
static rt_error unload(rt_module module) {
  return cudaLibraryUnload(module);
}
static rt_error get_kernel(rt_kernel *kernel, rt_module module, const char *name) {
  return cudaLibraryGetKernel(kernel, module, name);
}
static rt_error resident(int *groups, rt_kernel kernel, uint32_t threads) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(groups, (const void *)kernel, (int)threads,
                                                       0);
}
static rt_error allow_shared(rt_kernel kernel, int bytes) {
  return cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              bytes);
}
static uint32_t shared_bytes(const rt_properties *p) {
  return p->major >= 9 ? (uint32_t)p->sharedMemPerMultiprocessor : 0;
}
static rt_error start(rt_kernel kernel, const mxg_gpu_args *args, cudaStream_t stream) {
  void *arguments[] = {(void *)(uintptr_t)args};
  const dim3 grid = {args->groups, 1, 1}, group = {args->threads, 1, 1};
  cudaLaunchAttribute early; /* our kernels wait by themselves for the one before: MXG_BEGIN() */
  cudaLaunchConfig_t config;
  memset(&early, 0, sizeof early);
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  memset(&config, 0, sizeof config);
  config.gridDim = grid;
  config.blockDim = group;
  config.dynamicSmemBytes = args->shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  return cudaLaunchKernelExC(&config, (const void *)kernel, arguments);
}
#endif

/* ---- devices and kernels ---- */

mxg_status mxg_rt_device_at(int index, mxg_rt_device *device) {
  rt_properties p;
  int count = 0;
  rt_error error = RT(GetDeviceCount)(&count);
  if (error != RT(Success)) return fail(MXG_ERR_NO_DEVICE, index, "no device", error);
  if (index < 0 || index >= count) {
    mxg_gpu_say("device %d: there is none of that index, the runtime has %d", index, count);
    return MXG_ERR_NO_DEVICE;
  }
  memset(&p, 0, sizeof p);
  error = RT(GetDeviceProperties)(&p, index);
  if (error != RT(Success)) return fail(MXG_ERR_DEVICE, index, "GetDeviceProperties", error);
  memset(device, 0, sizeof *device);
  (void)snprintf(device->name, sizeof device->name, "%.*s", (int)sizeof device->name - 1, p.name);
  arch_name(&p, device->arch, sizeof device->arch);
  device->lanes = (uint32_t)p.warpSize;
  device->multiprocessors = (uint32_t)p.multiProcessorCount;
  device->shared_bytes = shared_bytes(&p);
  return MXG_OK;
}

mxg_status mxg_rt_module_load(int index, const char *arch, void **module) {
  const void *const image = mxg_gpu_code(arch);
  rt_module loaded = NULL;
  if (image == NULL) {
    mxg_gpu_say(
        "device %d is %s: this build has code for %s; build the library for it, or use the "
        "CPU",
        index, arch, mxg_gpu_code_archs[0] != 0 ? mxg_gpu_code_archs : "no chip");
    return MXG_ERR_ARCH;
  }
  ON_DEVICE(index, load(&loaded, image));
  *module = (void *)loaded;
  return MXG_OK;
}

void mxg_rt_module_unload(int index, void *module) {
  int before = 0;
  if (enter(index, &before) != RT(Success)) return;
  (void)unload((rt_module)module);
  leave(index, before);
}

mxg_status mxg_rt_kernel(int index, void *module, const char *name, void **kernel) {
  rt_kernel found = NULL;
  int before = 0;
  rt_error error = enter(index, &before);
  if (error == RT(Success)) {
    error = get_kernel(&found, (rt_module)module, name);
    leave(index, before);
  }
  if (error != RT(Success)) return fail(MXG_ERR_DEVICE, index, name, error);
  *kernel = (void *)found;
  return MXG_OK;
}

mxg_status mxg_rt_allow_shared(int index, void *kernel, uint32_t bytes) {
  ON_DEVICE(index, allow_shared((rt_kernel)kernel, (int)bytes));
  return MXG_OK;
}

mxg_status mxg_rt_resident(int index, void *kernel, uint32_t threads, uint32_t *groups) {
  int count = 0;
  ON_DEVICE(index, resident(&count, (rt_kernel)kernel, threads));
  *groups = count > 0 ? (uint32_t)count : 1;
  return MXG_OK;
}

mxg_status mxg_rt_launch(int index, void *kernel, const mxg_gpu_args *args, mxg_gpu_stream stream) {
  ON_DEVICE(index, start((rt_kernel)kernel, args, (RT(Stream_t))stream));
  return MXG_OK;
}

/* ---- memory, streams and time ---- */

mxg_status mxg_rt_alloc(int index, size_t bytes, void **memory) {
  ON_DEVICE(index, RT(Malloc)(memory, bytes != 0 ? bytes : 1));
  return MXG_OK;
}
mxg_status mxg_rt_free(int index, void *memory) {
  ON_DEVICE(index, RT(Free)(memory));
  return MXG_OK;
}
mxg_status mxg_rt_copy(int index, void *to, const void *from, size_t bytes,
                       mxg_rt_direction direction, mxg_gpu_stream stream) {
  switch (direction) {
    case MXG_RT_UPLOAD:
      ON_DEVICE(index, RT(Memcpy)(to, from, bytes, RT(MemcpyHostToDevice)));
      break;
    case MXG_RT_DOWNLOAD:
      ON_DEVICE(index, RT(Memcpy)(to, from, bytes, RT(MemcpyDeviceToHost)));
      break;
    case MXG_RT_COPY:
      ON_DEVICE(index,
                RT(MemcpyAsync)(to, from, bytes, RT(MemcpyDeviceToDevice), (RT(Stream_t))stream));
      break;
  }
  return MXG_OK;
}
mxg_status mxg_rt_fill(int index, void *memory, uint8_t value, size_t bytes,
                       mxg_gpu_stream stream) {
  ON_DEVICE(index, RT(MemsetAsync)(memory, value, bytes, (RT(Stream_t))stream));
  return MXG_OK;
}
mxg_status mxg_rt_stream_new(int index, mxg_gpu_stream *stream) {
  RT(Stream_t) made = NULL;
  ON_DEVICE(index, RT(StreamCreate)(&made));
  *stream = (mxg_gpu_stream)made;
  return MXG_OK;
}
mxg_status mxg_rt_stream_free(int index, mxg_gpu_stream stream) {
  ON_DEVICE(index, RT(StreamDestroy)((RT(Stream_t))stream));
  return MXG_OK;
}
mxg_status mxg_rt_synchronize(int index, mxg_gpu_stream stream) {
  ON_DEVICE(index, RT(StreamSynchronize)((RT(Stream_t))stream));
  return MXG_OK;
}
mxg_status mxg_rt_event_new(int index, mxg_gpu_event *event) {
  RT(Event_t) made = NULL;
  ON_DEVICE(index, RT(EventCreate)(&made));
  *event = (mxg_gpu_event)made;
  return MXG_OK;
}
mxg_status mxg_rt_event_free(int index, mxg_gpu_event event) {
  TRY(index, RT(EventDestroy)((RT(Event_t))event));
  return MXG_OK;
}
mxg_status mxg_rt_event_record(int index, mxg_gpu_event event, mxg_gpu_stream stream) {
  ON_DEVICE(index, RT(EventRecord)((RT(Event_t))event, (RT(Stream_t))stream));
  return MXG_OK;
}
mxg_status mxg_rt_event_elapsed(int index, mxg_gpu_event begin, mxg_gpu_event end, float *ms) {
  TRY(index, RT(EventSynchronize)((RT(Event_t))end));
  TRY(index, RT(EventElapsedTime)(ms, (RT(Event_t))begin, (RT(Event_t))end));
  return MXG_OK;
}

/* Relaxed: other threads go on allocating and copying. */
mxg_status mxg_rt_graph_begin(int index, mxg_gpu_stream stream) {
  ON_DEVICE(index, RT(StreamBeginCapture)((RT(Stream_t))stream, RT(StreamCaptureModeRelaxed)));
  return MXG_OK;
}
mxg_status mxg_rt_graph_end(int index, mxg_gpu_stream stream, mxg_gpu_graph *graph) {
  RT(Graph_t) recorded = NULL;
  RT(GraphExec_t) made = NULL;
  rt_error error;
  ON_DEVICE(index, RT(StreamEndCapture)((RT(Stream_t))stream, &recorded));
  error = RT(GraphInstantiateWithFlags)(&made, recorded, 0);
  (void)RT(GraphDestroy)(recorded);
  if (error != RT(Success)) return fail(MXG_ERR_DEVICE, index, "GraphInstantiate", error);
  *graph = (mxg_gpu_graph)made;
  return MXG_OK;
}
mxg_status mxg_rt_graph_launch(int index, mxg_gpu_graph graph, mxg_gpu_stream stream) {
  ON_DEVICE(index, RT(GraphLaunch)((RT(GraphExec_t))graph, (RT(Stream_t))stream));
  return MXG_OK;
}
mxg_status mxg_rt_graph_free(int index, mxg_gpu_graph graph) {
  TRY(index, RT(GraphExecDestroy)((RT(GraphExec_t))graph));
  return MXG_OK;
}
