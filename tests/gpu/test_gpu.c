/* test_gpu.c: the kernels' own source, run by the simulator as each chip runs it, against the golden
 * model: every preset and random recipes, edge shapes, layouts, live counts, weights and segments.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "guard.h"
#include "mxgold_gpu.h"
#include "packed.h"
#include "recipes.h"
#include "sim.h"
#include "table.h"
#include "values.h"

enum { GFX942, GFX950, GFX1250, SM_90, UNKNOWN_CHIP, NO_DEVICE, CHIPS = 4 };

static const mxg_dtype dtypes[] = {MXG_DTYPE_F32, MXG_DTYPE_BF16, MXG_DTYPE_F16};

static mxg_gpu *open_chip(int chip, uint32_t flags) {
  mxg_gpu *gpu = NULL;
  const mxg_status status = mxg_gpu_open(chip, flags, &gpu);
  if (status != MXG_OK) ck_abort_msg("open %d: %d: %s", chip, (int)status, mxg_gpu_message());
  return gpu;
}

static const char *arch_of(const mxg_gpu *gpu) {
  mxg_gpu_info info;
  ck_assert_int_eq(mxg_gpu_info_of(gpu, &info), MXG_OK);
  return info.arch;
}

/* FP4 without its converters, and nobody asked for portable kernels. */
static bool is_refused(const mxg_gpu *gpu, const mxg_recipe *recipe) {
  mxg_gpu_info info;
  ck_assert_int_eq(mxg_gpu_info_of(gpu, &info), MXG_OK);
  return recipe->element == MXG_ELEMENT_E2M1 && (info.flags & MXG_GPU_PORTABLE) == 0 &&
         (info.native_elements >> MXG_ELEMENT_E2M1 & 1u) == 0;
}

/* ---- quantise and dequantise ---- */

typedef struct shape {
  mxg_recipe recipe;
  mxg_dtype dtype;
  values_kind kind;
  size_t rows, cols, stride_elems; /* of the matrix */
  size_t layout_rows;
  size_t misalign;
  uint32_t live; /* UINT32_MAX: no live pointer */
  bool weighted;
  mxg_layout_options options;
} shape;

static const char *words(const mxg_gpu *gpu, const shape *s) {
  static char text[1200];
  snprintf(text, sizeof text,
           "%s: %s %s rows %zu of %zu live %u cols %zu stride %zu misalign %zu%s | %s | %s",
           arch_of(gpu), mxg_sim_last_kernel != NULL ? mxg_sim_last_kernel : "-",
           dtype_name(s->dtype), s->rows, s->layout_rows, (unsigned)s->live, s->cols,
           s->stride_elems, s->misalign, s->weighted ? " weighted" : "", recipe_text(&s->recipe),
           options_text(&s->options));
  return text;
}

static mxg_packed packed_of(const mxg_layout *layout, const guard *codes, const guard *scales) {
  mxg_packed p = {codes->data, codes->bytes, scales->bytes != 0 ? scales->data : NULL,
                  scales->bytes, *layout};
  if (codes->bytes == 0) p.codes = NULL;
  return p;
}

static void poison(generator *g, guard *a, guard *b) {
  if (a->bytes == 0) return;
  generator_bytes(g, a->data, a->bytes);
  memcpy(b->data, a->data, a->bytes);
}

static void check_dequantize(generator *g, const mxg_gpu *gpu, const shape *s,
                             const mxg_packed *packed, size_t live, const uint32_t *live_rows) {
  const mxg_dtype dtype = dtypes[generator_below(g, 3)];
  const size_t width = mxg_dtype_bytes(dtype);
  const size_t bytes = s->rows == 0 ? 0 : ((s->rows - 1) * s->stride_elems + s->cols) * width;
  const mxg_packed_view in = {packed->codes, packed->codes_capacity, packed->scales,
                              packed->scales_capacity, packed->layout};
  guard got = guard_new(bytes, s->misalign), want = guard_new(bytes, 0);
  poison(g, &got, &want);
  const mxg_matrix y = {got.data, dtype, s->rows, s->cols, s->stride_elems};
  const mxg_matrix ref = {want.data, dtype, live, s->cols, s->stride_elems};
  ck_assert_int_eq(mxg_ref_dequantize(&s->recipe, &in, &ref, NULL), MXG_OK);
  const mxg_status status = mxg_gpu_dequantize(gpu, &s->recipe, &in, &y, live_rows, NULL);
  if (status != MXG_OK) ck_abort_msg("%s: %s", words(gpu, s), mxg_gpu_message());
  expect_bytes(got.data, want.data, bytes, "%s: dequantize to %s", words(gpu, s),
               dtype_name(dtype));
  guard_free(&got, words(gpu, s));
  guard_free(&want, "ref");
}

static void check_shape(generator *g, const mxg_gpu *gpu, const shape *s) {
  const size_t width = mxg_dtype_bytes(s->dtype);
  const size_t elems = s->rows == 0 ? 0 : (s->rows - 1) * s->stride_elems + s->cols;
  const size_t live = s->live < s->rows ? s->live : s->rows;
  const uint32_t *live_rows = s->live == UINT32_MAX ? NULL : &s->live;
  mxg_layout layout;
  mxg_status status = mxg_layout_for(&s->recipe, s->layout_rows, s->cols, &s->options, &layout);
  if (status != MXG_OK) ck_abort_msg("%s: layout: %d", words(gpu, s), (int)status);
  guard x = guard_new(elems * width, s->misalign);
  guard weights = guard_new(s->rows * sizeof(float), s->misalign);
  values_fill(g, s->kind, s->dtype, s->rows, s->cols, s->stride_elems, recipe_block(&s->recipe),
              x.data);
  values_fill(g, s->kind == VALUES_BITS ? VALUES_SPECIAL : VALUES_RANDOM, MXG_DTYPE_F32, 1, s->rows,
              s->rows, 1, weights.data);
  guard_read_only(&x);
  guard_read_only(&weights);
  guard codes[2], scales[2];
  for (int i = 0; i < 2; i++) {
    codes[i] = guard_new(layout.codes_bytes, s->misalign);
    scales[i] = guard_new(layout.scales_bytes, s->misalign);
  }
  poison(g, &codes[0], &codes[1]);
  poison(g, &scales[0], &scales[1]);
  const float *w = s->weighted ? (const float *)(const void *)weights.data : NULL;
  const mxg_matrix_view view = {x.data, s->dtype, s->rows, s->cols, s->stride_elems};
  const mxg_matrix_view live_view = {x.data, s->dtype, live, s->cols, s->stride_elems};
  const mxg_packed got = packed_of(&layout, &codes[0], &scales[0]);
  const mxg_packed want = packed_of(&layout, &codes[1], &scales[1]);
  status = mxg_gpu_quantize(gpu, &s->recipe, &view, w, &got, live_rows, NULL);
  if (is_refused(gpu, &s->recipe)) {
    ck_assert_int_eq(status, MXG_ERR_ARCH);
    ck_assert_ptr_nonnull(strstr(mxg_gpu_message(), "MXG_GPU_PORTABLE"));
    ck_assert_ptr_nonnull(strstr(mxg_gpu_message(), arch_of(gpu)));
  } else {
    if (status != MXG_OK) ck_abort_msg("%s: %s", words(gpu, s), mxg_gpu_message());
    status = mxg_ref_quantize(&s->recipe, &live_view, w, &want, NULL);
    if (status != MXG_OK) ck_abort_msg("%s: ref: %d", words(gpu, s), (int)status);
    expect_bytes(scales[0].data, scales[1].data, scales[0].bytes, "%s: scales", words(gpu, s));
    expect_bytes(codes[0].data, codes[1].data, codes[0].bytes, "%s: codes", words(gpu, s));
    guard_read_only(&codes[0]);
    guard_read_only(&scales[0]);
    check_dequantize(g, gpu, s, &got, live, live_rows);
    if (generator_chance(g, 2)) { /* any bytes have a meaning */
      generator_bytes(g, codes[1].data, codes[1].bytes);
      generator_bytes(g, scales[1].data, scales[1].bytes);
      check_dequantize(g, gpu, s, &want, live, live_rows);
    }
  }
  for (int i = 0; i < 2; i++) {
    guard_free(&codes[i], words(gpu, s));
    guard_free(&scales[i], words(gpu, s));
  }
  guard_free(&x, "x");
  guard_free(&weights, "row_weight");
}

/* What a shape leaves open, at random. `regular`: what the vector kernels take. */
static void complete(generator *g, shape *s, bool regular) {
  const size_t width = mxg_dtype_bytes(s->dtype);
  s->stride_elems = s->cols + generator_below(g, 4) * generator_below(g, 5);
  s->layout_rows = s->rows + generator_below(g, 3);
  s->misalign = generator_below(g, 64);
  s->live = UINT32_MAX;
  if (generator_chance(g, 2)) s->live = generator_below(g, (uint32_t)s->rows + 3);
  s->weighted = generator_chance(g, 3);
  s->options = options_random(g, &s->recipe, s->cols);
  if (regular) {
    s->cols = s->cols / 8 * 8;
    s->stride_elems = (s->cols + 15) / (16 / width) * (16 / width);
    s->misalign = generator_below(g, 4) * 16;
    s->options.scale_count = 0;
    s->options.payload_stride_bytes = 0;
    s->options.slot_stride_bytes = 0;
    if (generator_chance(g, 2)) {
      size_t row = 0;
      (void)mxg_payload_row_bytes(s->recipe.element, s->cols, &row);
      if (s->options.placement == MXG_PLACEMENT_SEPARATE)
        s->options.payload_stride_bytes = (row + 15) / 16 * 16;
    }
    if (s->options.placement == MXG_PLACEMENT_SLOT) {
      size_t slot = 0;
      (void)mxg_slot_bytes(&s->recipe, s->cols, mxg_scales_used(&s->recipe, s->cols),
                           s->options.slot_weights, &slot);
      s->options.slot_stride_bytes = (slot + 15) / 16 * 16;
    }
    if (s->options.scale_stride_bytes != 0) s->options.scale_stride_bytes = 0;
  }
}

static size_t edge_length(generator *g, size_t block) {
  const size_t lengths[] = {0,    1,   block - 1, block, block + 1, 2 * block - 1, 2 * block,
                            8,    31,  33,        127,   129,       3 * block + 8, 264,
                            1024, 1032};
  const size_t length = lengths[generator_below(g, sizeof lengths / sizeof lengths[0])];
  return length > 2100 ? 77 : length;
}

static void run_shapes(generator *g, const mxg_gpu *gpu, const mxg_recipe *recipe, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    shape s;
    memset(&s, 0, sizeof s);
    s.recipe = *recipe;
    s.dtype = dtypes[generator_below(g, 3)];
    s.kind = (values_kind)generator_below(g, VALUES_KINDS);
    s.rows = generator_below(g, 6);
    s.cols = edge_length(g, recipe_block(recipe));
    complete(g, &s, generator_chance(g, 2));
    mxg_sim_reversed = (int)generator_below(g, 2);
    check_shape(g, gpu, &s);
  }
}

START_TEST(presets_on_every_chip) {
  generator g = generator_start("gpu presets");
  for (int chip = 0; chip < CHIPS; chip++) {
    for (uint32_t flags = 0; flags <= MXG_GPU_PORTABLE; flags++) {
      mxg_gpu *gpu = open_chip(chip, flags);
      for (size_t i = 0; mxg_preset_at(i) != NULL; i++)
        run_shapes(&g, gpu, &mxg_preset_at(i)->recipe, 8);
      mxg_gpu_close(gpu);
    }
  }
}
END_TEST

START_TEST(random_recipes) {
  generator g = generator_start("gpu random recipes");
  for (int chip = 0; chip < CHIPS; chip++) {
    for (uint32_t flags = 0; flags <= MXG_GPU_PORTABLE; flags++) {
      mxg_gpu *gpu = open_chip(chip, flags);
      for (int i = 0; i < 150; i++) {
        const mxg_recipe recipe = recipe_random(&g);
        run_shapes(&g, gpu, &recipe, 2);
      }
      mxg_gpu_close(gpu);
    }
  }
}
END_TEST

/* Tiles are 1024 columns: rows of several, with a wave that has none and one that has two; and
 * groups with several such rows, whose waves may run ahead of each other. */
START_TEST(long_rows) {
  generator g = generator_start("gpu long rows");
  static const char *const recipes[] = {"mxfp8", "mori-fp8", "mori-fp8-epv2", "aiter-mxfp4",
                                        "mxfp6-e2m3"};
  static const size_t lengths[] = {2 * 1024 + 8, 4 * 1024 + 8, 9 * 1024 + 40};
  for (int chip = 0; chip < CHIPS; chip++) {
    mxg_gpu *gpu = open_chip(chip, MXG_GPU_PORTABLE);
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
      for (size_t n = 0; n < 6; n++) {
        shape s;
        memset(&s, 0, sizeof s);
        s.recipe = recipe_of(recipes[i]);
        s.dtype = dtypes[generator_below(&g, 3)];
        s.kind = n % 2 == 0 ? VALUES_RANDOM : VALUES_SPECIAL;
        s.cols = lengths[n % 3];
        s.rows = n < 3 ? 7 : 2;
        complete(&g, &s, true);
        if (n < 3) s.live = UINT32_MAX;
        mxg_sim_reversed = n % 3 != 1;
        check_shape(&g, gpu, &s);
      }
    }
    mxg_gpu_close(gpu);
  }
}
END_TEST

/* ---- combine ---- */

static void check_combine(generator *g, const mxg_gpu *gpu, const mxg_recipe *recipe, size_t top_k,
                          size_t rows, size_t cols) {
  mxg_layout_options options;
  mxg_layout layout;
  const mxg_dtype dtype = dtypes[generator_below(g, 3)];
  const size_t width = mxg_dtype_bytes(dtype), count = rows * top_k;
  const size_t stride = cols + generator_below(g, 2) * generator_below(g, 9);
  const size_t misalign = generator_chance(g, 2) ? 0 : generator_below(g, 64);
  const size_t gap = generator_chance(g, 2) ? generator_below(g, 17) : 0;
  do {
    options = options_random(g, recipe, cols);
  } while (options.placement != MXG_PLACEMENT_SLOT);
  ck_assert_int_eq(mxg_layout_for(recipe, 1, cols, &options, &layout), MXG_OK);
  size_t step = layout.slot_bytes + gap;
  if (generator_chance(g, 2)) step = (step + 15) / 16 * 16;
  guard pool = guard_new(count * step, misalign);
  guard weights = guard_new(count * sizeof(float), misalign / 4 * 4);
  guard pointers = guard_new(count * sizeof(void *), generator_chance(g, 4) ? 3 : 0);
  generator_bytes(g, pool.data, pool.bytes);
  values_fill(g, generator_chance(g, 2) ? VALUES_RANDOM : VALUES_SPECIAL, MXG_DTYPE_F32, 1, count,
              count, 1, weights.data);
  for (size_t i = 0; i < count; i++) {
    uint8_t *slot = pool.data + i * step;
    for (size_t s = 0; s < layout.scale_count && !generator_chance(g, 6); s++)
      scale_put(recipe, slot + layout.scale_offset_bytes, s,
                recipe->scale == MXG_SCALE_E8M0
                    ? 116 + generator_below(g, 20)
                    : (s == 0 ? generator_below(g, 2) << 31 : 0) |
                          (116 + generator_below(g, 20)) << 23 | (generator_bits(g) & 0x7FFFFFu));
    const void *pointer = generator_chance(g, 5) ? NULL : slot;
    memcpy(pointers.data + i * sizeof pointer, &pointer, sizeof pointer);
  }
  const size_t bytes = rows == 0 ? 0 : ((rows - 1) * stride + cols) * width;
  guard got = guard_new(bytes, misalign), want = guard_new(bytes, 0);
  poison(g, &got, &want);
  size_t begin = 0, end = cols;
  if (generator_chance(g, 2)) {
    begin = generator_below(g, (uint32_t)cols + 1);
    end = begin + generator_below(g, (uint32_t)(cols - begin) + 1);
  }
  const uint32_t live_count = generator_below(g, (uint32_t)rows + 2);
  const uint32_t *live_rows = generator_chance(g, 2) ? &live_count : NULL;
  const size_t live = live_rows != NULL && live_count < rows ? live_count : rows;
  const void *const *slots = (const void *const *)(const void *)pointers.data;
  const float *w = generator_chance(g, 2) ? (const float *)(const void *)weights.data : NULL;
  const mxg_matrix y = {got.data, dtype, rows, cols, stride};
  const mxg_matrix ref = {want.data, dtype, live, cols, stride};
  mxg_sim_reversed = (int)generator_below(g, 2);
  const mxg_status status =
      mxg_gpu_combine(gpu, recipe, slots, top_k, w, &layout, begin, end, &y, live_rows, NULL);
  if (is_refused(gpu, recipe)) {
    ck_assert_int_eq(status, MXG_ERR_ARCH);
  } else {
    if (status != MXG_OK) ck_abort_msg("combine: %s", mxg_gpu_message());
    ck_assert_int_eq(mxg_ref_combine(recipe, slots, top_k, w, &layout, begin, end, &ref, NULL),
                     MXG_OK);
    expect_bytes(
        got.data, want.data, bytes,
        "%s: %s to %s rows %zu live %zu top_k %zu cols %zu..%zu of %zu misalign %zu%s | %s",
        arch_of(gpu), mxg_sim_last_kernel, dtype_name(dtype), rows, live, top_k, begin, end, cols,
        misalign, w != NULL ? " weighted" : "", recipe_text(recipe));
  }
  guard_free(&pool, "slots");
  guard_free(&weights, "weight");
  guard_free(&pointers, "pointers");
  guard_free(&got, "y");
  guard_free(&want, "ref");
}

START_TEST(combine_on_every_chip) {
  generator g = generator_start("gpu combine");
  static const size_t top_ks[] = {0, 1, 2, 3, 4, 5, 8, 9, 64};
  for (int chip = 0; chip < CHIPS; chip++) {
    for (uint32_t flags = 0; flags <= MXG_GPU_PORTABLE; flags++) {
      mxg_gpu *gpu = open_chip(chip, flags);
      for (size_t i = 0; mxg_preset_at(i) != NULL; i++) {
        for (unsigned n = 0; n < 8; n++) {
          mxg_recipe recipe = mxg_preset_at(i)->recipe;
          recipe.accumulate = (mxg_accumulate)(1 + generator_below(&g, 2));
          check_combine(
              &g, gpu, &recipe, top_ks[generator_below(&g, 9)], generator_below(&g, 5),
              generator_chance(&g, 2) ? 16 * generator_below(&g, 40) : generator_below(&g, 300));
        }
      }
      for (unsigned n = 0; n < 100; n++) {
        const mxg_recipe recipe = recipe_random(&g);
        check_combine(&g, gpu, &recipe, top_ks[generator_below(&g, 9)], generator_below(&g, 4),
                      generator_below(&g, 300));
      }
      mxg_gpu_close(gpu);
    }
  }
}
END_TEST

/* ---- opening, and the table ---- */

START_TEST(opening) {
  mxg_gpu *gpu = NULL;
  ck_assert_int_eq(mxg_gpu_open(UNKNOWN_CHIP, 0, &gpu), MXG_ERR_ARCH);
  ck_assert_ptr_nonnull(strstr(mxg_gpu_message(), "gfx90a"));
  ck_assert_int_eq(mxg_gpu_open(NO_DEVICE, 0, &gpu), MXG_ERR_NO_DEVICE);
  ck_assert_int_eq(mxg_gpu_open(-1, 0, &gpu), MXG_ERR_NO_DEVICE);
  ck_assert_int_eq(mxg_gpu_open(0, 2, &gpu), MXG_ERR_RESERVED);
  ck_assert_int_eq(mxg_gpu_open(0, 0, NULL), MXG_ERR_NULL);
  ck_assert_ptr_null(gpu);
  mxg_gpu_close(NULL);
}
END_TEST

START_TEST(names) {
  static const struct {
    int chip;
    uint32_t flags;
    const char *recipe;
    mxg_operation operation;
    const char *name; /* NULL: MXG_ERR_ARCH */
  } cases[] = {
      {GFX950, 0, "mxfp4", MXG_OPERATION_QUANTIZE, "mxg_gpu_quantize_bf16_e2m1__native"},
      {GFX950, 0, "mxfp8", MXG_OPERATION_QUANTIZE, "mxg_gpu_quantize_bf16_e4m3fn__native"},
      {GFX950, 1, "mxfp4", MXG_OPERATION_QUANTIZE, "mxg_gpu_quantize_bf16_e2m1__portable"},
      {GFX950, 0, "mori-fp8-direct", MXG_OPERATION_QUANTIZE,
       "mxg_gpu_quantize_bf16_e4m3fn__portable"},
      {GFX950, 0, "mori-fp8-epv2", MXG_OPERATION_QUANTIZE,
       "mxg_gpu_quantize_bf16_e4m3fn__portable"},
      {GFX950, 0, "mori-fp4", MXG_OPERATION_COMBINE, "mxg_gpu_combine_e2m1_fma__native"},
      {GFX942, 0, "mori-fp8-fnuz", MXG_OPERATION_QUANTIZE,
       "mxg_gpu_quantize_bf16_e4m3fnuz__portable"},
      {GFX942, 0, "mxfp4", MXG_OPERATION_QUANTIZE, NULL},
      {GFX942, 1, "mxfp4", MXG_OPERATION_DEQUANTIZE, "mxg_gpu_dequantize_e2m1__portable"},
      {GFX1250, 0, "mori-fp4", MXG_OPERATION_COMBINE, NULL},
      {SM_90, 0, "mxfp8", MXG_OPERATION_QUANTIZE, "mxg_gpu_quantize_bf16_e4m3fn__native"},
      {SM_90, 0, "mxfp4", MXG_OPERATION_DEQUANTIZE, NULL},
      {SM_90, 1, "mxfp4", MXG_OPERATION_QUANTIZE, "mxg_gpu_quantize_bf16_e2m1__portable"},
      {SM_90, 0, "mxfp6-e2m3", MXG_OPERATION_QUANTIZE, "mxg_gpu_quantize__slow"},
      {SM_90, 0, "mori-fp8-epv2", MXG_OPERATION_COMBINE, "mxg_gpu_combine_e4m3fn_mul_add__native"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    mxg_gpu *gpu = open_chip(cases[i].chip, cases[i].flags);
    const mxg_recipe recipe = recipe_of(cases[i].recipe);
    const char *name = NULL;
    const mxg_status status =
        mxg_gpu_kernel_name(gpu, &recipe, cases[i].operation, MXG_DTYPE_BF16, &name);
    ck_assert_int_eq(status, cases[i].name == NULL ? MXG_ERR_ARCH : MXG_OK);
    if (cases[i].name != NULL) ck_assert_str_eq(name, cases[i].name);
    mxg_gpu_close(gpu);
  }
}
END_TEST

/* FP4 slots that fit go through shared memory where the chip copies by itself, others do not. */
START_TEST(staged_sums) {
  generator g = generator_start("gpu staged");
  const mxg_recipe recipe = recipe_of("mxfp4");
  for (int chip = 0; chip < CHIPS; chip++) {
    mxg_gpu *gpu = open_chip(chip, MXG_GPU_PORTABLE);
    bool seen = false;
    (void)mxg_sim_ran(NULL);
    for (int tries = 0; tries < 60; tries++) {
      check_combine(&g, gpu, &recipe, 1 + (size_t)tries % 8, 9, tries % 2 == 0 ? 512 : 1056);
      seen |= mxg_sim_ran(MXG_SIM_STAGED) != 0;
    }
    ck_assert_int_eq(seen, strcmp(arch_of(gpu), "sm_90") == 0);
    mxg_gpu_close(gpu);
  }
}
END_TEST

/* Every line of the table is run on every chip that has it, or the other tests prove nothing. */
START_TEST(every_kernel_runs) {
  static const mxg_sim_kernel *const chips[CHIPS] = {mxg_sim_gfx942, mxg_sim_gfx950,
                                                     mxg_sim_gfx1250, mxg_sim_sm_90};
  generator g = generator_start("gpu every kernel");
  for (int chip = 0; chip < CHIPS; chip++) {
    for (const mxg_sim_kernel *k = chips[chip]; k->name != NULL; k++) {
      const mxg_gpu_kernel *line = NULL;
      for (size_t i = 0; mxg_gpu_kernel_at(i) != NULL; i++)
        if (strcmp(mxg_gpu_kernel_at(i)->name, k->name) == 0) line = mxg_gpu_kernel_at(i);
      ck_assert_ptr_nonnull(line);
      mxg_gpu *gpu = open_chip(chip, line->native ? 0 : MXG_GPU_PORTABLE);
      shape s;
      memset(&s, 0, sizeof s);
      s.recipe = recipe_of(line->element == MXG_ELEMENT_E2M1 ? "mxfp4" : "mxfp8");
      if (line->element != 0) s.recipe.element = line->element;
      s.dtype = line->dtype != 0 ? line->dtype : MXG_DTYPE_BF16;
      s.rows = s.layout_rows = 3;
      s.cols = s.stride_elems = 512;
      s.live = UINT32_MAX;
      if (line->vector == 0) s.misalign = 1;
      if (line->accumulate != 0) s.recipe.accumulate = line->accumulate;
      if (line->operation == MXG_OPERATION_COMBINE && line->vector == 0) s.recipe.block = 30;
      bool seen = false;
      for (int tries = 0; tries < 40 && !seen; tries++) {
        s.kind = (values_kind)generator_below(&g, VALUES_KINDS);
        (void)mxg_sim_ran(NULL);
        if (line->operation == MXG_OPERATION_COMBINE) {
          check_combine(&g, gpu, &s.recipe, 3, 2, 64);
        } else {
          check_shape(&g, gpu, &s);
        }
        seen = mxg_sim_ran(k->name);
      }
      if (!seen) ck_abort_msg("%s: %s never ran", arch_of(gpu), k->name);
      mxg_gpu_close(gpu);
    }
  }
}
END_TEST

CHECK_MAIN("gpu", opening, names, staged_sums, every_kernel_runs, presets_on_every_chip,
           random_recipes, long_rows, combine_on_every_chip)
