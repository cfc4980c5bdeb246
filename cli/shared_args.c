/* shared_args.c: options that several commands have: --isa --threads --impl, the layout options,
 * and how to read an input.
 * SPDX-License-Identifier: MIT */
#include "tool.h"

#include <stdio.h>
#include <string.h>

/* ---- how to run ---- */

static const char *isa_text, *threads_text, *impl_text;

struct poptOption mxg_run_table[] = {
    {"isa", 0, POPT_ARG_STRING, &isa_text, 0, "use at most this instruction set",
     "portable|avx2|avx512|neon"},
    {"threads", 0, POPT_ARG_STRING, &threads_text, 0, "use at most T threads (0: all)", "T"},
    {"impl", 0, POPT_ARG_STRING, &impl_text, 0, "fast library, or the slow golden model",
     "codec|ref"},
    POPT_TABLEEND};

static const mxg_impl implementations[] = {
    {"codec", mxg_layout_for, mxg_quantize, mxg_dequantize, mxg_combine},
    {"ref", mxg_ref_layout_for, mxg_ref_quantize, mxg_ref_dequantize, mxg_ref_combine}};

static int isa_arg(const char *text, uint32_t *mask) {
  static const struct {
    const char *name;
    uint32_t bits; /* each includes what it builds on */
  } sets[] = {{"portable", MXG_ISA_PORTABLE},
              {"avx2", MXG_ISA_PORTABLE | MXG_ISA_AVX2},
              {"avx512", MXG_ISA_PORTABLE | MXG_ISA_AVX2 | MXG_ISA_AVX512},
              {"neon", MXG_ISA_PORTABLE | MXG_ISA_NEON}};
  char offered[64] = "";
  size_t length = 0;
  for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
    const bool is_offered = (sets[i].bits & ~mxg_cpu_features()) == 0;
    if (is_offered)
      length += (size_t)snprintf(offered + length, sizeof offered - length, " %s", sets[i].name);
    if (strcmp(text, sets[i].name) == 0 && is_offered) {
      *mask = sets[i].bits;
      return MXG_EXIT_OK;
    }
  }
  for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
    if (strcmp(text, sets[i].name) == 0)
      return mxg_fail(MXG_EXIT_USAGE, "--isa: this CPU has no %s; it offers:%s", text, offered);
  return mxg_fail(MXG_EXIT_USAGE, "--isa: unknown instruction set '%s': choose one of:%s", text,
                  offered);
}

int mxg_run_args(const mxg_impl **impl, mxg_run *run) {
  const mxg_run best = {0, 0, {0}};
  *run = best;
  if (mxg_device_given() && (isa_text || threads_text || impl_text))
    return mxg_fail(MXG_EXIT_USAGE,
                    "--device runs on the device: leave --isa, --threads and --impl "
                    "out");
  if (mxg_device_given()) return mxg_device_impl(impl);
  *impl = &implementations[0];
  if (impl_text && strcmp(impl_text, "ref") == 0)
    *impl = &implementations[1];
  else if (impl_text && strcmp(impl_text, "codec") != 0)
    return mxg_fail(MXG_EXIT_USAGE, "--impl: '%s' is not known: choose codec or ref", impl_text);
  if (threads_text) {
    size_t threads = 0;
    if (mxg_count_arg("--threads", threads_text, &threads) != 0) return MXG_EXIT_USAGE;
    if (threads > UINT32_MAX)
      return mxg_fail(MXG_EXIT_USAGE, "--threads: %zu is too many", threads);
    run->threads = (uint32_t)threads;
  }
  return isa_text ? isa_arg(isa_text, &run->isa_mask) : MXG_EXIT_OK;
}

/* ---- layouts ---- */

static const char *order_text, *pad_text, *scale_count_text, *slot_weights_text;

struct poptOption mxg_layout_table[] = {
    {"scale-order", 0, POPT_ARG_STRING, &order_text, 0,
     "row_major, transposed, aiter_shuffle or blocked_128x4", "NAME"},
    {"pad", 0, POPT_ARG_STRING, &pad_text, 0,
     "byte in the pads of the last two orders, two hex digits (default 00)", "HH"},
    {"scale-count", 0, POPT_ARG_STRING, &scale_count_text, 0,
     "scales stored per row, when more than are used", "N"},
    {"slot-weights", 0, POPT_ARG_STRING, &slot_weights_text, 0,
     "f32 weights at the end of each slot", "K"},
    POPT_TABLEEND};

static const char *const order_names[] = {"row_major", "transposed", "aiter_shuffle",
                                          "blocked_128x4", NULL};

const char *mxg_order_name(mxg_scale_order order) {
  return order_names[order];
}

bool mxg_parse_order(const char *text, mxg_scale_order *out) {
  for (int i = 0; order_names[i]; i++) {
    if (strcmp(text, order_names[i]) != 0) continue;
    *out = (mxg_scale_order)i;
    return true;
  }
  return false;
}

static int unknown_order(const char *text) {
  const char *nearest = mxg_nearest(text, order_names);
  if (nearest)
    return mxg_fail(MXG_EXIT_USAGE, "--scale-order: unknown order '%s'; did you mean '%s'?", text,
                    nearest);
  return mxg_fail(MXG_EXIT_USAGE,
                  "--scale-order: unknown order '%s': choose row_major, transposed, aiter_shuffle "
                  "or blocked_128x4",
                  text);
}

bool mxg_parse_hex_byte(const char *text, uint32_t *out) {
  static const char digits[] = "0123456789abcdef";
  if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) text += 2;
  uint32_t value = 0;
  size_t length = 0;
  for (; text[length]; length++) {
    const char c = text[length];
    const char *digit = strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
    if (!digit || length == 2) return false;
    value = value * 16 + (uint32_t)(digit - digits);
  }
  *out = value;
  return length > 0;
}

int mxg_layout_args(mxg_placement placement, mxg_layout_options *out) {
  memset(out, 0, sizeof *out);
  out->placement = placement;
  if (order_text && !mxg_parse_order(order_text, &out->order)) return unknown_order(order_text);
  if (pad_text && !mxg_parse_hex_byte(pad_text, &out->pad_byte))
    return mxg_fail(MXG_EXIT_USAGE, "--pad: '%s' is no byte: give two hex digits, such as 7F",
                    pad_text);
  if (scale_count_text && mxg_count_arg("--scale-count", scale_count_text, &out->scale_count) != 0)
    return MXG_EXIT_USAGE;
  if (scale_count_text && out->scale_count == 0)
    return mxg_fail(MXG_EXIT_USAGE, "--scale-count: 0 scales per row cannot be: leave it out");
  if (slot_weights_text) {
    size_t weights = 0;
    if (mxg_count_arg("--slot-weights", slot_weights_text, &weights) != 0) return MXG_EXIT_USAGE;
    if (weights > 64)
      return mxg_fail(MXG_EXIT_USAGE, "--slot-weights: %zu is more than 64", weights);
    out->slot_weights = (uint32_t)weights;
  }
  if (placement == MXG_PLACEMENT_SEPARATE && slot_weights_text)
    return mxg_fail(MXG_EXIT_USAGE, "--slot-weights belongs to slots: give --slots as well");
  if (placement == MXG_PLACEMENT_SLOT && (order_text || pad_text))
    return mxg_fail(MXG_EXIT_USAGE,
                    "%s does not apply to slots, where scales lie in their row: leave it out",
                    order_text ? "--scale-order" : "--pad");
  return MXG_EXIT_OK;
}

bool mxg_layout_args_given(void) {
  return order_text || pad_text || scale_count_text;
}

bool mxg_pad_given(void) {
  return pad_text != NULL;
}

int mxg_make_layout(const mxg_recipe *recipe, size_t rows, size_t cols,
                    const mxg_layout_options *options, mxg_layout *out) {
  if (options && options->pad_byte && options->order != MXG_ORDER_AITER_SHUFFLE &&
      options->order != MXG_ORDER_BLOCKED_128X4)
    return mxg_fail(MXG_EXIT_USAGE,
                    "--pad: the order %s has no pads: it goes with aiter_shuffle or blocked_128x4",
                    mxg_order_name(options->order));
  const mxg_status status = mxg_layout_for(recipe, rows, cols, options, out);
  if (status == MXG_OK) return MXG_EXIT_OK;
  const size_t used = mxg_scales_used(recipe, cols);
  if (status == MXG_ERR_SIZE)
    return mxg_fail(MXG_EXIT_USAGE, "shape %zux%zu: its codes or scales need more than %zu bytes",
                    rows, cols, (size_t)SIZE_MAX);
  /* NOLINTNEXTLINE(*-core.NullDereference): without options no layout is refused */
  if (status == MXG_ERR_LAYOUT && options->scale_count && recipe->scale == MXG_SCALE_NONE)
    return mxg_fail(MXG_EXIT_USAGE, "--scale-count: the recipe has no scales: leave it out");
  if (status == MXG_ERR_LAYOUT && options->scale_count && options->scale_count < used)
    return mxg_fail(MXG_EXIT_USAGE,
                    "--scale-count: %zu is less than the %zu scales that %zu "
                    "columns use",
                    options->scale_count, used, cols);
  if (status == MXG_ERR_LAYOUT && options->order != MXG_ORDER_ROW_MAJOR)
    return mxg_fail(
        MXG_EXIT_USAGE, "--scale-order: %s does not serve the scales of this recipe%s",
        mxg_order_name(options->order),
        recipe->scale == MXG_SCALE_F32 ? ": f32 scales go row_major or transposed" : "");
  return mxg_fail_status(status, "layout");
}

/* ---- inputs ---- */

mxg_input_options mxg_input_args;

struct poptOption mxg_input_table[] = {
    {"tensor", 0, POPT_ARG_STRING, &mxg_input_args.tensor, 0,
     "which tensor of a .safetensors file (default: the only one)", "NAME"},
    {"dtype", 0, POPT_ARG_STRING, &mxg_input_args.dtype, 0,
     "of a raw file; bf16 also reads uint16 in a .npy", "f32|f16|bf16|u8"},
    {"shape", 0, POPT_ARG_STRING, &mxg_input_args.shape, 0,
     "of a raw file: it is raw then, whatever its name", "RxC"},
    POPT_TABLEEND};
