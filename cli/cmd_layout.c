/* cmd_layout.c: how many bytes a recipe needs per row, per slot and per buffer.
 * SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdio.h>

#include "recipe_text.h"
#include "tool.h"

static json_t *json_size(size_t bytes) {
  return json_integer((json_int_t)bytes);
}

/* Both placements of one matrix: the slot is also told with separate codes and scales. */
typedef struct layouts {
  mxg_layout separate, slot;
} layouts;

static void print_text(const mxg_recipe *recipe, const layouts *both, size_t bf16_bytes) {
  const mxg_layout *separate = &both->separate, *slot = &both->slot;
  const size_t weight_bytes = (size_t)slot->slot_weights * 4;
  printf("recipe               %s\n", mxg_recipe_short_text(recipe));
  printf("rows x cols          %zu x %zu\n", separate->rows, separate->cols);
  printf("scale order          %s\n", mxg_order_name(separate->order));
  printf("one row\n");
  printf("  payload bytes      %zu\n", separate->payload_row_bytes);
  printf("  scale bytes        %zu   (%zu stored, %zu used, %u bytes each)\n",
         separate->scale_row_bytes, separate->scale_count, separate->scales_used,
         separate->scale_bytes);
  if (weight_bytes != 0)
    printf("  weight bytes       %zu   (%u f32)\n", weight_bytes, slot->slot_weights);
  printf("  slot bytes         %zu   (scales at %zu", slot->slot_bytes, slot->scale_offset_bytes);
  if (weight_bytes != 0) printf(", weights at %zu", slot->weight_offset_bytes);
  printf(")\n");
  printf("  bf16 bytes         %zu\n", separate->cols * 2);
  printf("all rows\n");
  printf("  payload bytes      %zu\n", separate->codes_bytes);
  printf("  scale bytes        %zu\n", separate->scales_bytes);
  printf("  slot bytes         %zu\n", slot->codes_bytes);
  printf("  bf16 bytes         %zu\n", bf16_bytes);
}

static void print_json(const mxg_recipe *recipe, const layouts *both, size_t bf16_bytes) {
  const mxg_layout *separate = &both->separate, *slot = &both->slot;
  json_t *object = json_object();
  json_object_set_new(object, "recipe", json_string(mxg_recipe_short_text(recipe)));
  json_object_set_new(object, "rows", json_size(separate->rows));
  json_object_set_new(object, "cols", json_size(separate->cols));
  json_object_set_new(object, "scale_order", json_string(mxg_order_name(separate->order)));
  json_object_set_new(object, "payload_row_bytes", json_size(separate->payload_row_bytes));
  json_object_set_new(object, "scale_row_bytes", json_size(separate->scale_row_bytes));
  json_object_set_new(object, "slot_bytes", json_size(slot->slot_bytes));
  json_object_set_new(object, "scales_used", json_size(separate->scales_used));
  json_object_set_new(object, "scale_count", json_size(separate->scale_count));
  json_object_set_new(object, "scale_bytes", json_size(separate->scale_bytes));
  json_object_set_new(object, "slot_weights", json_size(slot->slot_weights));
  json_object_set_new(object, "slot_scale_offset_bytes", json_size(slot->scale_offset_bytes));
  json_object_set_new(object, "slot_weight_offset_bytes", json_size(slot->weight_offset_bytes));
  json_object_set_new(object, "payload_total_bytes", json_size(separate->codes_bytes));
  json_object_set_new(object, "scale_total_bytes", json_size(separate->scales_bytes));
  json_object_set_new(object, "slot_total_bytes", json_size(slot->codes_bytes));
  json_object_set_new(object, "bf16_total_bytes", json_size(bf16_bytes));
  mxg_json_print(object);
  json_decref(object);
}

static const char *recipe_text, *rows_text, *cols_text, *top_k_text, *order_text, *count_text;

int mxg_cmd_layout(int argc, const char **argv) {
  int as_json = 0;
  struct poptOption table[] = {
      {"recipe", 'r', POPT_ARG_STRING, &recipe_text, 0, "the convention (mxgold recipes)", "R"},
      {"rows", 0, POPT_ARG_STRING, &rows_text, 0, "rows that the buffers are sized by", "T"},
      {"cols", 0, POPT_ARG_STRING, &cols_text, 0, "elements of one row", "H"},
      {"top-k", 0, POPT_ARG_STRING, &top_k_text, 0, "f32 weights at the end of each slot", "K"},
      {"slot-weights", 0, POPT_ARG_STRING, &top_k_text, 0, "the same as --top-k", "K"},
      {"scale-order", 0, POPT_ARG_STRING, &order_text, 0,
       "of the separate scale matrix: row_major, transposed, aiter_shuffle or blocked_128x4",
       "NAME"},
      {"scale-count", 0, POPT_ARG_STRING, &count_text, 0,
       "scales stored per row, when more than are used", "N"},
      {"json", 0, POPT_ARG_NONE, &as_json, 0,
       "one object: payload_row_bytes, scale_row_bytes, slot_bytes (of one row), then counts, "
       "offsets and ..._total_bytes",
       NULL},
      POPT_TABLEEND};
  mxg_arguments arguments;
  int status =
      mxg_parse_options(argc, argv, table, "--recipe R --rows T --cols H [--top-k K]",
                        "mxgold layout --recipe mori-fp8 --rows 4096 --cols 7168 --top-k 8\n"
                        "mxgold layout --recipe mori-fp8 --rows 1 --cols 1536 --scale-count 56",
                        &arguments);
  if (status != 0) return status < 0 ? MXG_EXIT_OK : status;
  if (arguments.count != 0)
    return mxg_fail(MXG_EXIT_USAGE, "takes no file: '%s'", arguments.positional[0]);
  if ((status = mxg_require("--recipe", recipe_text)) != 0) return status;
  if ((status = mxg_require("--rows", rows_text)) != 0) return status;
  if ((status = mxg_require("--cols", cols_text)) != 0) return status;

  mxg_recipe recipe;
  size_t rows = 0, cols = 0, top_k = 0;
  if ((status = mxg_recipe_arg(recipe_text, NULL, &recipe)) != 0) return status;
  if ((status = mxg_count_arg("--rows", rows_text, &rows)) != 0) return status;
  if ((status = mxg_count_arg("--cols", cols_text, &cols)) != 0) return status;
  if (top_k_text != NULL && (status = mxg_count_arg("--top-k", top_k_text, &top_k)) != 0)
    return status;
  if (top_k > 64) return mxg_fail(MXG_EXIT_USAGE, "--top-k: 64 at most, not %zu", top_k);

  mxg_layout_options options = {.placement = MXG_PLACEMENT_SEPARATE};
  if (order_text != NULL && !mxg_parse_order(order_text, &options.order))
    return mxg_fail(MXG_EXIT_USAGE,
                    "--scale-order: unknown order '%s': choose row_major, transposed, "
                    "aiter_shuffle or blocked_128x4",
                    order_text);
  if (count_text != NULL &&
      (status = mxg_count_arg("--scale-count", count_text, &options.scale_count)) != 0)
    return status;
  const mxg_layout_options slot_options = {.placement = MXG_PLACEMENT_SLOT,
                                           .scale_count = options.scale_count,
                                           .slot_weights = (uint32_t)top_k};
  layouts both;
  size_t bf16_bytes = 0;
  if ((status = mxg_make_layout(&recipe, rows, cols, &options, &both.separate)) != 0) return status;
  if ((status = mxg_make_layout(&recipe, rows, cols, &slot_options, &both.slot)) != 0)
    return status;
  if (mxg_size_mul(cols, 2, &bf16_bytes) != MXG_OK ||
      mxg_size_mul(rows, bf16_bytes, &bf16_bytes) != MXG_OK)
    return mxg_fail_status(MXG_ERR_SIZE, "bf16 bytes of --rows x --cols");
  if (as_json)
    print_json(&recipe, &both, bf16_bytes);
  else
    print_text(&recipe, &both, bf16_bytes);
  return MXG_EXIT_OK;
}
