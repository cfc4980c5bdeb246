/* compare_side.c: a quantised matrix that lies in memory in any layout, and one that is made tile
 * by tile from values.
 * SPDX-License-Identifier: MIT */
#include "compare.h"

#include <string.h>

/* ---- bytes of a file ---- */

/* Rows of row_bytes that are there, at most `rows`. 0 when the bytes divide into `rows` rows of
 * another width: then no byte is where the layout has it. */
static size_t rows_present(size_t bytes, size_t row_bytes, size_t rows) {
  if (row_bytes == 0) return rows;
  if (rows && bytes % rows == 0 && bytes / rows != row_bytes) return 0;
  return bytes / row_bytes < rows ? bytes / row_bytes : rows;
}

static void note_rows(mxg_report *report, const char *what, size_t present, size_t rows) {
  if (present == 0)
    mxg_report_note(report, "size", "no row of the %s is compared", what);
  else if (present < rows)
    mxg_report_note(report, "size", "only the first %zu of %zu rows of the %s are compared",
                    present, rows, what);
}

static void check_scales(mxg_side *side, mxg_report *report, const char *path, size_t bytes) {
  const mxg_layout *layout = &side->layout;
  const size_t expected = layout->scales_bytes;
  side->scale_rows = layout->rows;
  if (bytes == expected) return;
  const size_t per_row = layout->scale_bytes * layout->rows;
  if (layout->order == MXG_ORDER_ROW_MAJOR && per_row && bytes % per_row == 0 && bytes > 0)
    mxg_report_note(report, "size",
                    "%s: scales have %zu bytes, %zu expected: %zu scales per row where %zu are "
                    "expected (--scale-count says how many are stored)",
                    path, bytes, expected, bytes / per_row, layout->scale_count);
  else
    mxg_report_note(report, "size", "%s: scales have %zu bytes, %zu expected (%zu x %zu, %s)", path,
                    bytes, expected, layout->rows, layout->scale_count,
                    mxg_order_name(layout->order));
  side->scale_rows = layout->order == MXG_ORDER_ROW_MAJOR
                         ? rows_present(bytes, layout->scale_row_bytes, layout->rows)
                         : 0;
  note_rows(report, "scales", side->scale_rows, layout->rows);
}

int mxg_side_open(mxg_side *side, mxg_report *report, const mxg_packed_file *file,
                  const mxg_recipe *recipe, size_t rows, size_t cols,
                  const mxg_layout_options *options) {
  memset(side, 0, sizeof *side);
  const char *scales_path = file->scales_file.file.path; /* NULL: in the same file */
  side->recipe = *recipe;
  static const unsigned char empty[1];
  side->codes = file->codes ? file->codes : empty;
  side->scales = file->scales ? file->scales : empty;
  const int status = mxg_make_layout(recipe, rows, cols, options, &side->layout);
  if (status) return status;
  const mxg_layout *layout = &side->layout;
  const bool is_slot = layout->placement == MXG_PLACEMENT_SLOT;
  const size_t row_bytes = is_slot ? layout->slot_bytes : layout->payload_row_bytes;
  side->code_rows = rows;
  if (file->codes_bytes != layout->codes_bytes) {
    mxg_report_note(report, "size", "%s: %s have %zu bytes, %zu expected (%zu x %zu)", file->path,
                    is_slot ? "slots" : "codes", file->codes_bytes, layout->codes_bytes, rows,
                    row_bytes);
    side->code_rows = rows_present(file->codes_bytes, row_bytes, rows);
    note_rows(report, is_slot ? "slots" : "codes", side->code_rows, rows);
  }
  if (is_slot)
    side->scale_rows = side->code_rows;
  else
    check_scales(side, report, scales_path ? scales_path : file->path, file->scales_bytes);
  return MXG_EXIT_OK;
}

const unsigned char *mxg_side_codes(const mxg_side *side, size_t row, size_t col) {
  const mxg_layout *layout = &side->layout;
  const size_t stride = layout->placement == MXG_PLACEMENT_SLOT ? layout->slot_stride_bytes
                                                                : layout->payload_stride_bytes;
  const size_t bits = (size_t)mxg_element_traits(side->recipe.element).bits;
  /* col - first_col is a multiple of 8 wherever it is not 0 */
  return side->codes + (row - side->first_row) * stride + (col - side->first_col) / 8 * bits;
}

void mxg_side_scales(const mxg_side *side, size_t row, size_t first, size_t count,
                     unsigned char *out) {
  const mxg_layout *layout = &side->layout;
  const size_t width = layout->scale_bytes;
  if (width == 0 || count == 0) return;
  row -= side->first_row;
  first -= side->first_col / side->recipe.block;
  if (layout->placement == MXG_PLACEMENT_SLOT) {
    memcpy(
        out,
        side->codes + row * layout->slot_stride_bytes + layout->scale_offset_bytes + first * width,
        count * width);
    return;
  }
  if (layout->order == MXG_ORDER_ROW_MAJOR) {
    memcpy(out, side->scales + row * layout->scale_stride_bytes + first * width, count * width);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    const size_t index =
        mxg_scale_index(layout->order, layout->rows, layout->scale_count, row, first + i);
    memcpy(out + i * width, side->scales + index * width, width);
  }
}

/* ---- tiles ---- */

enum { LONG_ROW_ELEMENTS = 1 << 22, TILE_ELEMENTS = 1 << 20 };

size_t mxg_tile_cols(const mxg_recipe *recipe, size_t cols) {
  /* a marker is decided by every block of its row */
  const bool needs_whole_row = recipe->scale == MXG_SCALE_F32 && recipe->marker != MXG_MARKER_NONE;
  if (cols <= LONG_ROW_ELEMENTS || needs_whole_row) return cols;
  size_t unit = 8; /* codes of 8 columns end on a byte in every format */
  if (recipe->scale != MXG_SCALE_NONE) {
    unit = recipe->block;
    while (unit % 8 != 0)
      if (mxg_size_mul(unit, 2, &unit) != MXG_OK) return cols;
  }
  const size_t part = LONG_ROW_ELEMENTS / unit * unit;
  return part ? part : unit < cols ? unit : cols;
}

size_t mxg_tile_rows(size_t rows, size_t cols) {
  size_t tile_rows = TILE_ELEMENTS / (cols ? cols : 1);
  if (tile_rows > 65536) tile_rows = 65536;
  if (tile_rows < 1) tile_rows = 1;
  return tile_rows < rows ? tile_rows : rows;
}

/* ---- a source of values ---- */

int mxg_source_open(mxg_source *source, const mxg_tensor *tensor, const mxg_recipe *recipe,
                    size_t scale_count) {
  memset(source, 0, sizeof *source);
  source->tensor = tensor;
  source->recipe = *recipe;
  source->scale_count = scale_count;
  return mxg_run_args(&source->impl, &source->run);
}

void mxg_source_close(mxg_source *source) {
  mxg_scratch_close(&source->codes);
  mxg_scratch_close(&source->scales);
}

/* Room for a tile; a row that cannot be divided may need more than memory should hold. */
static int reserve(mxg_scratch *buffer, size_t bytes) {
  if (bytes <= buffer->bytes && buffer->data) return MXG_EXIT_OK;
  mxg_scratch_close(buffer);
  return mxg_scratch_open(bytes, buffer);
}

int mxg_source_tile(mxg_source *source, size_t row, size_t rows, size_t col, size_t cols,
                    mxg_side *out) {
  const mxg_tensor *tensor = source->tensor;
  memset(out, 0, sizeof *out);
  /* scales that are stored but not used belong to the last tile of a row */
  mxg_layout_options options = {.placement = MXG_PLACEMENT_SEPARATE};
  const size_t used = mxg_scales_used(&source->recipe, cols);
  if (col + cols == tensor->cols && source->scale_count) {
    const size_t before = source->recipe.block ? col / source->recipe.block : 0;
    options.scale_count = source->scale_count - before;
  }
  if (options.scale_count == used) options.scale_count = 0;
  out->recipe = source->recipe;
  out->first_row = row;
  out->first_col = col;
  int status = mxg_make_layout(&source->recipe, rows, cols, &options, &out->layout);
  if (!status) status = reserve(&source->codes, out->layout.codes_bytes);
  if (!status) status = reserve(&source->scales, out->layout.scales_bytes);
  if (status) return status;
  mxg_matrix_view view = mxg_tensor_rows(tensor, row, rows);
  if (col) view.data = (const unsigned char *)view.data + col * mxg_dtype_bytes(view.dtype);
  view.cols = cols;
  view.stride_elems = tensor->cols;
  const mxg_packed packed = {source->codes.data, out->layout.codes_bytes, source->scales.data,
                             out->layout.scales_bytes, out->layout};
  const mxg_status result = source->impl->quantize(
      &source->recipe, &view, source->row_weight ? source->row_weight + row : NULL, &packed,
      &source->run);
  if (result != MXG_OK) return mxg_fail_status(result, "quantize");
  out->codes = source->codes.data;
  out->scales = source->scales.data;
  out->code_rows = out->scale_rows = rows;
  return MXG_EXIT_OK;
}

float mxg_source_value(const mxg_source *source, size_t row, size_t col) {
  const mxg_tensor *tensor = source->tensor;
  const mxg_dtype dtype = (mxg_dtype)tensor->dtype;
  const unsigned char *at = tensor->data + (row * tensor->cols + col) * mxg_dtype_bytes(dtype);
  float value = 0.0f;
  mxg_to_f32(dtype, at, 1, &value);
  return source->row_weight ? value * source->row_weight[row] : value;
}
