/* cmd_vectors.c: mxgold vectors: the files of tests/vectors, and a check of codes by slices.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "slice_check.h"
#include "vectors.h"

static const char *codes_path, *recipe_text, *slice_text;

static struct poptOption table[] = {
    {"check-digests", 0, POPT_ARG_STRING, &codes_path, 0,
     "compare the codes of all f32 of --slice, or of all 2^32, one a byte", "CODES"},
    {"recipe", 'r', POPT_ARG_STRING, &recipe_text, 0,
     "its element, element_max, overflow and nan_element count", "RECIPE"},
    {"slice", 0, POPT_ARG_STRING, &slice_text, 0,
     "sign and exponent field of the f32 inputs, such as +87 or -00", "SLICE"},
    POPT_TABLEEND};

/* Recipes beside the presets, where a flag needs one; `only` are its flags. */
static const struct {
  const char *name, *text, *only;
} variants[] = {
    {"mxfp8-block128", "mxfp8,block=128", "BlockWidth,AllZeroBlock"},
    {"mxfp8-max240", "mxfp8,element_max=240",
     "SaturateAfterScale,Overflow,NanBlock,ScaleRule,ScaleBoundary"},
    {"mxfp8-te-max240", "mxfp8-te,element_max=240", "RceilMask,ScaleRule"},
    {"mxfp4-floor", "mxfp4,amax_floor=0.0000000001", "AmaxFloor"},
    {"mxfp4-block7", "mxfp4,block=7", "BlockWidth"},
    {"mxfp6-e2m3-block28", "mxfp6-e2m3,block=28", "BlockWidth"},
    {"aiter-mxfp4-floor0", "aiter-mxfp4,amax_floor=0", "AmaxFloor,AllZeroBlock"},
    {"aiter-fp8-128-block32", "aiter-fp8-128,block=32", "BlockWidth"},
    {"mori-fp8-block74", "mori-fp8,block=74", "BlockWidth"},
    {"mori-fp4-block28", "mori-fp4,block=28", "BlockWidth"},
    {"mori-fp4-block7", "mori-fp4,block=7", "BlockWidth"},
};

/* Makes the folder and those above it. */
static int make_folder(const char *path) {
  char *copy = mxg_copy_text(path);
  int error = 0;
  for (char *at = copy + 1; *copy && error == 0; at++) {
    if (*at != '/' && *at != 0) continue;
    const char end = *at;
    *at = 0;
    if (mkdir(copy, 0777) != 0 && errno != EEXIST) error = errno;
    if (end == 0) break;
    *at = end;
  }
  struct stat status;
  if (error == 0 && stat(path, &status) != 0) error = errno;
  if (error == 0 && !S_ISDIR(status.st_mode)) error = ENOTDIR;
  free(copy);
  return error == 0
             ? MXG_EXIT_OK
             : mxg_fail(MXG_EXIT_FILE, "%s: cannot make this folder: %s", path, strerror(error));
}

static int write_file(const char *folder, const char *name, const char *suffix, const char *data) {
  const size_t capacity = strlen(folder) + strlen(name) + strlen(suffix) + 2;
  char *path = mxg_alloc(capacity);
  snprintf(path, capacity, "%s/%s%s", folder, name, suffix);
  mxg_output *output = NULL;
  int exit_code = mxg_output_open("DIR", path, &output);
  if (exit_code == 0) exit_code = mxg_output_write(output, data, strlen(data));
  if (exit_code == 0)
    exit_code = mxg_output_commit(&output, 1);
  else
    mxg_output_abort(&output, 1);
  free(path);
  return exit_code;
}

static int write_vectors(const char *folder, size_t index, const char *name, const char *text,
                         const char *only, size_t counts[MXG_SECTIONS]) {
  mxg_vectors v;
  mxg_vectors_begin(&v, index, name, text, only);
  mxg_vectors_element_cases(&v);
  mxg_vectors_block_cases(&v);
  mxg_vectors_decode_cases(&v);
  mxg_vectors_scale_cases(&v);
  mxg_vectors_layout_cases(&v);
  for (size_t s = 0; s < MXG_SECTIONS; s++) counts[s] += json_array_size(v.sections[s]);
  char *file_text = mxg_vectors_text(&v);
  const int exit_code = write_file(folder, name, ".json", file_text);
  free(file_text);
  mxg_vectors_end(&v);
  return exit_code;
}

static void told(uint64_t done, uint64_t total) {
  static bool has_begun;
  if (!has_begun) mxg_progress_begin("vectors", total);
  has_begun = true;
  if (done == total)
    mxg_progress_end();
  else
    mxg_progress_step(done);
}

static int write_all(const char *folder) {
  size_t counts[MXG_SECTIONS] = {0}, files = 0;
  int exit_code = make_folder(folder);
  for (size_t i = 0; exit_code == 0 && mxg_preset_at(i) != NULL; i++, files++)
    exit_code =
        write_vectors(folder, i, mxg_preset_at(i)->name, mxg_preset_at(i)->name, NULL, counts);
  for (size_t i = 0; exit_code == 0 && i < sizeof variants / sizeof variants[0]; i++, files++)
    exit_code = write_vectors(folder, 100 + i, variants[i].name, variants[i].text, variants[i].only,
                              counts);
  if (exit_code != 0) return exit_code;
  char *digests = mxg_digests_text(told);
  exit_code = write_file(folder, "digests", ".txt", digests);
  free(digests);
  if (exit_code == 0)
    printf(
        "%s: digests.txt and %zu recipes: %zu quantise, %zu weighted, %zu decode, %zu scale, "
        "%zu layout cases\n",
        folder, files, counts[MXG_SECTION_TESTS], counts[MXG_SECTION_WEIGHTED],
        counts[MXG_SECTION_DECODE], counts[MXG_SECTION_SCALE], counts[MXG_SECTION_LAYOUT]);
  return exit_code;
}

int mxg_cmd_vectors(int argc, const char **argv) {
  mxg_arguments arguments;
  int exit_code = mxg_parse_options(
      argc, argv, table, "DIR | --check-digests CODES --recipe R [--slice +EE]",
      "mxgold vectors my-vectors        the files of tests/vectors: README.md there explains them\n"
      "  your_encoder --exponent 0x87 | mxgold vectors --check-digests - --recipe mxfp8 --slice "
      "+87",
      &arguments);
  if (exit_code != 0) return exit_code < 0 ? MXG_EXIT_OK : exit_code;
  if (codes_path) {
    mxg_recipe recipe;
    if (arguments.count != 0)
      return mxg_fail(MXG_EXIT_USAGE, "--check-digests writes nothing: '%s' is too many",
                      arguments.positional[0]);
    exit_code = mxg_require("--recipe", recipe_text);
    if (exit_code == 0) exit_code = mxg_recipe_arg(recipe_text, NULL, &recipe);
    return exit_code == 0 ? mxg_check_slices(codes_path, &recipe, slice_text) : exit_code;
  }
  if (recipe_text || slice_text)
    return mxg_fail(MXG_EXIT_USAGE, "%s goes with --check-digests",
                    recipe_text ? "--recipe" : "--slice");
  if (arguments.count != 1)
    return mxg_fail(MXG_EXIT_USAGE, "one folder is needed: --help shows an example");
  return write_all(arguments.positional[0]);
}
