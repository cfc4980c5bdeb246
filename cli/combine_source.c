/* combine_source.c: see combine_source.h.
 * SPDX-License-Identifier: MIT */
#include "combine_source.h"

#include <string.h>

int mxg_summand_open(const char *path, const char *tensor, mxg_summand *out) {
  memset(out, 0, sizeof *out);
  if (strcmp(path, "-") == 0) return MXG_EXIT_OK;
  /* once: a FIFO can be read only once */
  const mxg_input_options options = {.raw_as_bytes = true};
  const int exit_code = mxg_tensor_file_open(path, &options, &out->file);
  if (exit_code != 0) return exit_code;
  out->kind = MXG_SUMMAND_SLOTS;
  if (out->file.kind != MXG_FILE_SAFETENSORS) return MXG_EXIT_OK;
  out->kind = MXG_SUMMAND_PACKED;
  return mxg_packed_find(&out->file, tensor, &out->packed);
}

void mxg_summand_close(mxg_summand *source) {
  mxg_tensor_file_close(&source->file);
}

int mxg_summand_shape(const mxg_summand *source, const mxg_recipe *recipe, size_t *rows,
                      size_t *cols) {
  const mxg_packed_file *const packed = &source->packed;
  if (packed->has_shape) {
    *rows = packed->rows;
    *cols = packed->cols;
    return MXG_EXIT_OK;
  }
  if (mxg_element_traits(recipe->element).bits != 8 && packed->codes_dtype != MXG_FILE_F4)
    return mxg_fail(MXG_EXIT_USAGE, "%s: does not say its shape: give --shape", packed->path);
  *rows = packed->codes_rows;
  *cols = packed->codes_cols;
  return MXG_EXIT_OK;
}

static int check_slots(const mxg_summand *source, const mxg_layout *slots) {
  const mxg_file *const file = &source->file.file;
  if (file->bytes == slots->codes_bytes) return MXG_EXIT_OK;
  return mxg_fail(MXG_EXIT_USAGE,
                  "%s: has %zu bytes, but %zu slots of %zu bytes are %zu: correct --shape, "
                  "--recipe, --scale-count or --slot-weights",
                  file->path, file->bytes, slots->rows, slots->slot_bytes, slots->codes_bytes);
}

/* A file that says what it holds is not read as something else. */
static int check_claims(const mxg_packed_file *packed, const mxg_recipe *recipe,
                        const mxg_layout *slots) {
  if (mxg_packed_is_of_other(packed, recipe))
    return mxg_fail(MXG_EXIT_USAGE,
                    "%s: was made with recipe %s, which is not the recipe of this sum: sources of "
                    "one sum have one recipe",
                    packed->path, packed->recipe_text);
  if (packed->has_shape && (packed->rows != slots->rows || packed->cols != slots->cols))
    return mxg_fail(MXG_EXIT_USAGE,
                    "%s: holds %zux%zu, not %zux%zu: sources of one sum have one shape",
                    packed->path, packed->rows, packed->cols, slots->rows, slots->cols);
  return MXG_EXIT_OK;
}

int mxg_summand_check(mxg_summand *source, const mxg_recipe *recipe, const mxg_layout *slots,
                      bool is_recipe_told) {
  const mxg_packed_file *const packed = &source->packed;
  if (source->kind == MXG_SUMMAND_MISSING) return MXG_EXIT_OK;
  if (source->kind == MXG_SUMMAND_SLOTS) return check_slots(source, slots);
  int exit_code = check_claims(packed, recipe, slots);
  if (exit_code == 0) exit_code = mxg_packed_check_types(packed, recipe, is_recipe_told);
  if (exit_code == 0)
    exit_code =
        mxg_make_layout(recipe, slots->rows, slots->cols, &packed->options, &source->layout);
  if (exit_code != 0) return exit_code;
  const size_t scales_bytes = packed->scales ? packed->scales_bytes : 0;
  if (packed->codes_bytes == source->layout.codes_bytes &&
      scales_bytes == source->layout.scales_bytes)
    return MXG_EXIT_OK;
  return mxg_fail(is_recipe_told ? MXG_EXIT_USAGE : MXG_EXIT_FILE,
                  "%s: has %zu bytes of codes and %zu of scales, but %zux%zu of this recipe have "
                  "%zu and %zu: correct --recipe or --shape, or write the file anew",
                  packed->path, packed->codes_bytes, scales_bytes, slots->rows, slots->cols,
                  source->layout.codes_bytes, source->layout.scales_bytes);
}

/* The scales of one row, in their order in a slot. A slot has room for all that are used. */
static void copy_scales(const mxg_summand *source, const mxg_layout *slots, size_t row,
                        unsigned char *to) {
  const mxg_layout *const from = &source->layout;
  for (size_t c = 0; c < slots->scales_used; c++)
    memcpy(to + c * from->scale_bytes,
           source->packed.scales + from->scale_bytes * mxg_scale_index(from->order, from->rows,
                                                                       from->scale_count, row, c),
           from->scale_bytes);
}

const unsigned char *mxg_summand_slots(const mxg_summand *source, const mxg_layout *slots,
                                       size_t first, size_t rows, unsigned char *buffer) {
  if (source->kind == MXG_SUMMAND_MISSING) return NULL;
  if (source->kind == MXG_SUMMAND_SLOTS) return source->file.file.data + first * slots->slot_bytes;
  for (size_t i = 0; i < rows; i++) {
    unsigned char *const slot = buffer + i * slots->slot_bytes;
    if (slots->payload_row_bytes > 0)
      memcpy(slot, source->packed.codes + (first + i) * slots->payload_row_bytes,
             slots->payload_row_bytes);
    copy_scales(source, slots, first + i, slot + slots->scale_offset_bytes);
  }
  return buffer;
}
