/* cmd_info.c: which library this is, what the machine offers and which kernel would run.
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "info_device.h"
#include "recipe_text.h"
#include "tool.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

static const struct {
  mxg_isa bit;
  const char *name;
} features[] = {{MXG_ISA_PORTABLE, "portable"},
                {MXG_ISA_AVX2, "avx2"},
                {MXG_ISA_AVX512, "avx512"},
                {MXG_ISA_NEON, "neon"}};

static const struct {
  mxg_operation operation;
  const char *name;
} operations[] = {{MXG_OPERATION_QUANTIZE, "quantize"},
                  {MXG_OPERATION_DEQUANTIZE, "dequantize"},
                  {MXG_OPERATION_COMBINE, "combine"}};

static const char *kernel_of(const mxg_recipe *recipe, mxg_operation operation) {
  const char *name = NULL;
  const mxg_status status = mxg_kernel_name(recipe, operation, MXG_DTYPE_BF16, NULL, &name);
  return status == MXG_OK ? name : mxg_strerror(status);
}

static const char *byte_order(void) {
  const uint16_t one = 1;
  unsigned char first = 0;
  memcpy(&first, &one, 1);
  return first == 1 ? "little" : "big";
}

/* The library may have been built with OpenMP or not, apart from the tool: its runtime is then
 * loaded or not. */
static bool openmp_is_loaded(void) {
  void *program = dlopen(NULL, RTLD_LAZY);
  if (program == NULL) return false;
  const bool is_loaded = dlsym(program, "omp_get_max_threads") != NULL;
  dlclose(program);
  return is_loaded;
}

static void print_text(bool has_openmp) {
  printf("mxgold       %s\n", mxg_version());
  printf("compiler     %s\n", COMPILER);
  printf("openmp       %s\n", has_openmp ? "yes" : "no");
  printf("machine      %zu-bit, %s-endian\n", sizeof(void *) * 8, byte_order());
  printf("cpu         ");
  for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
    if (mxg_cpu_features() & (uint32_t)features[i].bit) printf(" %s", features[i].name);
  printf("\n\nkernels for bf16\n%-24s %-32s %-32s %s\n", "preset", "quantize", "dequantize",
         "combine");
  for (size_t i = 0; mxg_preset_at(i) != NULL; i++) {
    const mxg_preset *preset = mxg_preset_at(i);
    printf("%-24s %-32s %-32s %s\n", preset->name,
           kernel_of(&preset->recipe, MXG_OPERATION_QUANTIZE),
           kernel_of(&preset->recipe, MXG_OPERATION_DEQUANTIZE),
           kernel_of(&preset->recipe, MXG_OPERATION_COMBINE));
  }
  mxg_info_device_text();
}

static void print_json(bool has_openmp) {
  json_t *object = json_object(), *cpu = json_array(), *kernels = json_object();
  json_object_set_new(object, "version", json_string(mxg_version()));
  json_object_set_new(object, "compiler", json_string(COMPILER));
  json_object_set_new(object, "openmp", json_boolean(has_openmp));
  json_object_set_new(object, "pointer_bits", json_integer(8 * (json_int_t)sizeof(void *)));
  json_object_set_new(object, "byte_order", json_string(byte_order()));
  for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
    if (mxg_cpu_features() & (uint32_t)features[i].bit)
      json_array_append_new(cpu, json_string(features[i].name));
  json_object_set_new(object, "cpu_features", cpu);
  for (size_t i = 0; mxg_preset_at(i) != NULL; i++) {
    const mxg_preset *preset = mxg_preset_at(i);
    json_t *row = json_object();
    for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++)
      json_object_set_new(row, operations[k].name,
                          json_string(kernel_of(&preset->recipe, operations[k].operation)));
    json_object_set_new(kernels, preset->name, row);
  }
  json_object_set_new(object, "kernels_bf16", kernels);
  json_object_set_new(object, "gpu", mxg_info_device_json());
  mxg_json_print(object);
  json_decref(object);
}

int mxg_cmd_info(int argc, const char **argv) {
  int as_json = 0;
  struct poptOption table[] = {
      {"json", 0, POPT_ARG_NONE, &as_json, 0,
       "one object: version, compiler, openmp, pointer_bits, byte_order, cpu_features, "
       "kernels_bf16 (preset -> operation -> kernel), gpu (null, or what device 0 would run)",
       NULL},
      POPT_TABLEEND};
  mxg_arguments arguments;
  const int status = mxg_parse_options(argc, argv, table, "[--json]",
                                       "mxgold info\n"
                                       "mxgold info --json | jq .cpu_features",
                                       &arguments);
  if (status != 0) return status < 0 ? MXG_EXIT_OK : status;
  if (arguments.count != 0)
    return mxg_fail(MXG_EXIT_USAGE, "takes no file: '%s'", arguments.positional[0]);
  const bool has_openmp = openmp_is_loaded();
  if (as_json)
    print_json(has_openmp);
  else
    print_text(has_openmp);
  return MXG_EXIT_OK;
}
