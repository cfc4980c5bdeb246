/* diagnose_models.c: every fault that the diagnosis tries, as a list.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "diagnose_internal.h"
#include "recipe_text.h"

/* What a named fault changes; keys follow from KEYS on. */
enum {
  PART_ROUNDING,
  PART_VIA,
  PART_FLUSH,
  PART_BIAS,
  PART_RECIPROCAL,
  PART_STEP,
  PART_NIBBLES,
  PART_STORAGE,
  PART_MARKER,
  PART_SUM,
  PART_KEYS
};

typedef struct builder {
  mxg_models *models;
  const char *id; /* of the named fault being listed */
  unsigned rank;
  unsigned part;
  bool decodes; /* dequantise or combine */
} builder;

static mxg_model *add(mxg_models *models) {
  if (models->count == models->capacity) {
    const size_t capacity = models->capacity ? 2 * models->capacity : 256;
    mxg_model *larger = mxg_alloc(capacity * sizeof *larger);
    if (models->count) memcpy(larger, models->list, models->count * sizeof *larger);
    free(models->list);
    models->list = larger;
    models->capacity = capacity;
  }
  mxg_model *model = &models->list[models->count++];
  memset(model, 0, sizeof *model);
  model->wrong = models->right;
  return model;
}

static void begin(builder *at, const char *id, unsigned part) {
  at->id = id;
  at->part = part;
  at->rank++;
}

/* A variant of the fault; the caller sets what it changes. */
static mxg_wrong *variant(builder *at) {
  mxg_model *model = add(at->models);
  snprintf(model->id, sizeof model->id, "%s", at->id);
  model->class_of = MXG_MODEL_NAMED;
  model->rank = at->rank;
  model->parts = (uint64_t)1 << at->part;
  return &model->wrong;
}

static mxg_wrong *late_variant(builder *at) {
  mxg_wrong *wrong = variant(at);
  at->models->list[at->models->count - 1].is_late = true;
  return wrong;
}

/* ---- named faults, in the order in which they rank ---- */

static void add_roundings(builder *at) {
  begin(at, "ties-away", PART_ROUNDING);
  variant(at)->rounding = MXG_ROUND_TIES_AWAY;
  begin(at, "ties-to-zero", PART_ROUNDING);
  variant(at)->rounding = MXG_ROUND_TIES_TO_ZERO;
  begin(at, "truncate", PART_ROUNDING);
  variant(at)->rounding = MXG_ROUND_TRUNCATE;
}

/* FNUZ has a bias of one more, so that OCP codes come out one exponent up, and their values one
 * down. */
static void add_biases(builder *at) {
  const mxg_traits traits = mxg_element_traits(at->models->right.recipe.element);
  begin(at, "fnuz-bias", PART_BIAS);
  if (traits.bits != 8) return;
  const bool ups = at->decodes == (traits.fnuz != 0);
  variant(at)->bias = MXG_BIAS_OTHER;
  variant(at)->bias = ups ? MXG_BIAS_DOUBLE : MXG_BIAS_HALF;
  variant(at)->bias = ups ? MXG_BIAS_RELABEL_UP : MXG_BIAS_RELABEL_DOWN;
  late_variant(at)->bias = ups ? MXG_BIAS_HALF : MXG_BIAS_DOUBLE;
  late_variant(at)->bias = ups ? MXG_BIAS_RELABEL_DOWN : MXG_BIAS_RELABEL_UP;
}

static void add_vias(builder *at, const char *id, mxg_dtype via) {
  static const unsigned places[] = {MXG_VIA_VALUE,
                                    MXG_VIA_INPUT,
                                    MXG_VIA_INPUT | MXG_VIA_VALUE,
                                    MXG_VIA_SCALE,
                                    MXG_VIA_SCALE | MXG_VIA_VALUE,
                                    MXG_VIA_INPUT | MXG_VIA_SCALE | MXG_VIA_VALUE,
                                    MXG_VIA_SUM,
                                    MXG_VIA_SUM | MXG_VIA_INPUT};
  begin(at, id, PART_VIA);
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    mxg_wrong *wrong = variant(at);
    wrong->via = via;
    wrong->via_places = places[i];
  }
}

static void add_flushes(builder *at) {
  static const unsigned flushes[] = {
      MXG_FLUSH_CODE,
      MXG_FLUSH_BELOW_NORMAL,
      MXG_FLUSH_CODE | MXG_FLUSH_SIGN,
      MXG_FLUSH_BELOW_NORMAL | MXG_FLUSH_SIGN,
      MXG_FLUSH_INPUT,
      MXG_FLUSH_INPUT | MXG_FLUSH_SIGN,
      MXG_FLUSH_MIDDLE,
      MXG_FLUSH_FACTOR,
      MXG_FLUSH_RESULT,
      MXG_FLUSH_RESULT | MXG_FLUSH_SIGN,
      MXG_FLUSH_INPUT | MXG_FLUSH_MIDDLE,
      MXG_FLUSH_INPUT | MXG_FLUSH_MIDDLE | MXG_FLUSH_FACTOR | MXG_FLUSH_RESULT,
      MXG_FLUSH_INPUT | MXG_FLUSH_MIDDLE | MXG_FLUSH_CODE,
      MXG_FLUSH_INPUT | MXG_FLUSH_MIDDLE | MXG_FLUSH_FACTOR | MXG_FLUSH_RESULT | MXG_FLUSH_CODE};
  begin(at, "ftz", PART_FLUSH);
  for (size_t i = 0; i < sizeof flushes / sizeof flushes[0]; i++) {
    /* a scale of 2^-127 that decodes to 0 is better called edges=float */
    const bool is_late = at->decodes && (flushes[i] & MXG_FLUSH_FACTOR);
    (is_late ? late_variant(at) : variant(at))->flush = flushes[i];
  }
}

static void add_reciprocal(builder *at, mxg_reciprocal_kind kind, int amount) {
  for (int of = MXG_OF_SCALE; of <= MXG_OF_BOTH; of++) {
    /* of E8M0 it only moves the thresholds of rceil, as other rules do */
    const bool is_late = at->models->right.recipe.scale == MXG_SCALE_E8M0;
    mxg_wrong *wrong = is_late ? late_variant(at) : variant(at);
    wrong->reciprocal = kind;
    wrong->reciprocal_of = (mxg_reciprocal_of)of;
    wrong->reciprocal_amount = amount;
  }
}

static void add_reciprocals(builder *at) {
  begin(at, "reciprocal-approx", PART_RECIPROCAL);
  const mxg_recipe *recipe = &at->models->right.recipe;
  const bool has_rceil = recipe->scale == MXG_SCALE_E8M0;
  if (recipe->scale == MXG_SCALE_NONE) return;
  static const int ulps[] = {1, -1, 2, -2};
  for (size_t i = 0; i < sizeof ulps / sizeof ulps[0]; i++)
    add_reciprocal(at, MXG_RECIPROCAL_ULPS, ulps[i]);
  static const int fractions[] = {22, 21, 20, 19, 18, 16, 15, 14, 13, 12, 11, 10, 8, 7};
  for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++)
    add_reciprocal(at, MXG_RECIPROCAL_TRUNCATED, fractions[i]);
  static const int rounded[] = {22, 16, 15, 14, 12, 11, 10, 8, 7};
  for (size_t i = 0; i < sizeof rounded / sizeof rounded[0]; i++)
    add_reciprocal(at, MXG_RECIPROCAL_ROUNDED, rounded[i]);
  for (int steps = 0; steps <= 3; steps++) add_reciprocal(at, MXG_RECIPROCAL_NEWTON, steps);
  add_reciprocal(at, MXG_RECIPROCAL_REFINED, 1);
  if (has_rceil) late_variant(at)->reciprocal = MXG_RECIPROCAL_DIVIDES;
}

static void add_step(builder *at, int step, mxg_step_unit unit, mxg_step_where where) {
  mxg_wrong *wrong = variant(at);
  wrong->step = step;
  wrong->step_unit = unit;
  wrong->step_where = where;
}

static void add_steps(builder *at) {
  const mxg_scale scale = at->models->right.recipe.scale;
  begin(at, "scale-off-by-one", PART_STEP);
  if (scale == MXG_SCALE_NONE) return;
  for (int step = 1; step >= -1; step -= 2) {
    add_step(at, step, MXG_STEP_EXPONENT, MXG_STEP_BOTH);
    add_step(at, step, MXG_STEP_EXPONENT, MXG_STEP_STORED);
    add_step(at, step, MXG_STEP_EXPONENT, MXG_STEP_PAYLOAD);
    if (scale == MXG_SCALE_E8M0) add_step(at, step, MXG_STEP_EXPONENT, MXG_STEP_STORED_WRAPS);
    if (scale == MXG_SCALE_F32) add_step(at, step, MXG_STEP_ULP, MXG_STEP_STORED);
    add_step(at, step, MXG_STEP_COLUMN, MXG_STEP_STORED);
    add_step(at, step, MXG_STEP_COLUMN_WRAPS, MXG_STEP_STORED);
  }
}

static void add_storage(builder *at, mxg_storage storage, mxg_scale_order order) {
  mxg_wrong *wrong = storage == MXG_STORED_ANYHOW ? late_variant(at) : variant(at);
  wrong->storage = storage;
  wrong->order = order;
}

/* `order`: what is expected. */
static void add_storages(builder *at, mxg_scale_order order) {
  const mxg_scale scale = at->models->right.recipe.scale;
  begin(at, "scale-shuffled", PART_STORAGE);
  if (scale != MXG_SCALE_NONE) {
    for (int other = MXG_ORDER_AITER_SHUFFLE; other <= MXG_ORDER_BLOCKED_128X4; other++) {
      if ((mxg_scale_order)other != order) add_storage(at, MXG_STORED_AS, (mxg_scale_order)other);
      if (order == MXG_ORDER_ROW_MAJOR) add_storage(at, MXG_STORED_INVERSE, (mxg_scale_order)other);
    }
    if (order == MXG_ORDER_AITER_SHUFFLE || order == MXG_ORDER_BLOCKED_128X4)
      add_storage(at, MXG_STORED_AS, MXG_ORDER_ROW_MAJOR);
  }
  begin(at, "scale-transposed", PART_STORAGE);
  if (scale == MXG_SCALE_NONE) return;
  if (order != MXG_ORDER_TRANSPOSED) add_storage(at, MXG_STORED_AS, MXG_ORDER_TRANSPOSED);
  if (order == MXG_ORDER_ROW_MAJOR) add_storage(at, MXG_STORED_INVERSE, MXG_ORDER_TRANSPOSED);
  if (order == MXG_ORDER_TRANSPOSED) add_storage(at, MXG_STORED_AS, MXG_ORDER_ROW_MAJOR);
}

static void add_markers(builder *at) {
  begin(at, "marker-ignored", PART_MARKER);
  const mxg_marker marker = at->models->right.recipe.marker;
  if (marker != MXG_MARKER_IF_SCALED && marker != MXG_MARKER_ALWAYS) return;
  for (int fault = MXG_MARKER_NOT_WRITTEN; fault <= MXG_MARKER_NONE_SCALED; fault++)
    variant(at)->marker = (mxg_marker_fault)fault;
}

static void add_sums(builder *at, size_t top_k) {
  begin(at, "sum-order", PART_SUM);
  if (top_k < 2) return;
  for (unsigned sum = MXG_SUM_DESCENDING; sum < MXG_SUM_ROTATED + top_k; sum++)
    if (sum != MXG_SUM_ROTATED && sum != MXG_SUM_DOUBLE) variant(at)->sum = sum;
  late_variant(at)->sum = MXG_SUM_DOUBLE;
  late_variant(at)->weights_last = true;
}

/* ---- recipe fields ---- */

typedef struct field {
  const char *name;
  size_t offset;
  bool is_real;
} field;

#define FIELD(name, is_real) \
  { #name, offsetof(mxg_recipe, name), is_real }
static const field fields[] = {
    FIELD(element, false),    FIELD(scale, false),       FIELD(block, false),
    FIELD(rule, false),       FIELD(element_max, true),  FIELD(amax_floor, true),
    FIELD(nan_amax, false),   FIELD(nan_element, false), FIELD(overflow, false),
    FIELD(edges, false),      FIELD(inf_scale, false),   FIELD(scale_math, false),
    FIELD(scale_when, false), FIELD(apply, false),       FIELD(zero_block, false),
    FIELD(marker, false),     FIELD(accumulate, false)};
#undef FIELD
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static const field *field_of(size_t key) {
  const char *name = mxg_recipe_key_at(key);
  for (size_t i = 0; i < FIELD_COUNT; i++)
    if (name && strcmp(fields[i].name, name) == 0) return &fields[i];
  return NULL;
}

static void copy_field(const field *at, const mxg_recipe *from, mxg_recipe *to) {
  memcpy((char *)to + at->offset, (const char *)from + at->offset, 4);
}

/* The recipe with one field set; real or word, whichever the field is. */
static void try_field(mxg_models *models, size_t key, uint32_t word, float real) {
  const field *at = field_of(key);
  mxg_recipe recipe = models->right.recipe;
  if (at->is_real)
    memcpy((char *)&recipe + at->offset, &real, 4);
  else
    memcpy((char *)&recipe + at->offset, &word, 4);
  if (mxg_recipe_check(&recipe, NULL) != MXG_OK || mxg_recipe_equal(&recipe, &models->right.recipe))
    return;
  char text[48];
  double number = 0.0;
  if (mxg_recipe_field(&recipe, key, text, sizeof text, &number) == MXG_FIELD_ABSENT) return;
  mxg_model *model = add(models);
  snprintf(model->id, sizeof model->id, "%s=%s", at->name, text);
  for (size_t i = 0; i + 1 < models->count; i++)
    if (strcmp(models->list[i].id, model->id) == 0) { /* tried already */
      models->count--;
      return;
    }
  model->class_of = MXG_MODEL_KEY;
  model->rank = (unsigned)models->count; /* fields are listed in their order */
  model->parts = (uint64_t)1 << (PART_KEYS + key);
  model->wrong.recipe = recipe;
  model->key = key;
}

static void try_blocks(mxg_models *models, size_t key, const mxg_subject *subjects, size_t count) {
  static const uint32_t blocks[] = {8, 16, 32, 64, 128, 256, 512, 1024, 28, 48, 74, 96};
  if (models->right.recipe.scale == MXG_SCALE_NONE) return;
  for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
    try_field(models, key, blocks[i], 0.0f);
  for (size_t i = 0; i < count && i < 16; i++) {
    const size_t cols = subjects[i].operation == MXG_OPERATION_QUANTIZE
                            ? subjects[i].got.layout.cols
                            : subjects[i].value_cols;
    const size_t rows = subjects[i].got.layout.rows;
    if (cols > 0 && cols <= UINT32_MAX) try_field(models, key, (uint32_t)cols, 0.0f);
    /* what the number of scales found says */
    const size_t width = mxg_scale_bytes(models->right.recipe.scale);
    if (subjects[i].operation != MXG_OPERATION_QUANTIZE || rows == 0) continue;
    const size_t found = subjects[i].got.scales_capacity / rows / width;
    if (found > 0 && found <= cols && cols / found <= UINT32_MAX)
      try_field(models, key, (uint32_t)mxg_size_ceil_div(cols, found), 0.0f);
  }
}

static void try_maxima(mxg_models *models, size_t key) {
  static const float maxima[] = {57344, 49152, 32768, 28672, 448, 416, 400, 384, 256,
                                 240,   224,   127,   120,   112, 28,  24,  16,  7.5f,
                                 7,     6,     5,     4,     3,   2,   1};
  const float format_max = mxg_element_traits(models->right.recipe.element).max;
  for (size_t i = 0; i < sizeof maxima / sizeof maxima[0]; i++)
    try_field(models, key, 0, maxima[i] < format_max || maxima[i] > format_max ? maxima[i] : 0.0f);
}

static void try_floors(mxg_models *models, size_t key) {
  static const float floors[] = {0.0f,     0x1p-126f, 1e-38f, 1e-37f, 1e-30f, 1e-20f,
                                 1e-15f,   1e-12f,    1e-10f, 1e-9f,  1e-8f,  1e-7f,
                                 0x1p-23f, 1e-6f,     1e-5f,  1e-4f,  1e-3f,  1e-2f};
  for (size_t i = 0; i < sizeof floors / sizeof floors[0]; i++)
    try_field(models, key, 0, floors[i]);
}

static void add_fields(mxg_models *models, const mxg_subject *subjects, size_t count) {
  for (size_t key = 0; mxg_recipe_key_at(key); key++) {
    const field *at = field_of(key);
    if (!at) continue;
    if (strcmp(at->name, "block") == 0)
      try_blocks(models, key, subjects, count);
    else if (strcmp(at->name, "element_max") == 0)
      try_maxima(models, key);
    else if (strcmp(at->name, "amax_floor") == 0)
      try_floors(models, key);
    else
      for (uint32_t value = 1; mxg_recipe_value_at(key, value - 1); value++)
        try_field(models, key, value, 0.0f);
  }
}

static void add_presets(mxg_models *models) {
  for (size_t i = 0; mxg_preset_at(i); i++) {
    const mxg_preset *preset = mxg_preset_at(i);
    if (mxg_recipe_equal(&preset->recipe, &models->right.recipe)) continue;
    mxg_model *model = add(models);
    snprintf(model->id, sizeof model->id, "preset=%s", preset->name);
    model->class_of = MXG_MODEL_PRESET;
    model->rank = (unsigned)i;
    model->parts = ~(uint64_t)0 << PART_KEYS;
    model->wrong.recipe = preset->recipe;
  }
}

/* ---- the list ---- */

void mxg_models_open(mxg_models *models, const mxg_subject *subjects, size_t count) {
  memset(models, 0, sizeof *models);
  models->right.recipe = *subjects[0].recipe;
  size_t top_k = 0;
  mxg_scale_order order = MXG_ORDER_ROW_MAJOR;
  bool is_combine = false;
  for (size_t i = 0; i < count; i++) {
    const mxg_subject *subject = &subjects[i];
    if (subject->operation == MXG_OPERATION_QUANTIZE) order = subject->got.layout.order;
    if (subject->operation == MXG_OPERATION_DEQUANTIZE) order = subject->source.layout.order;
    if (subject->operation != MXG_OPERATION_COMBINE) continue;
    is_combine = true;
    if (subject->top_k > top_k) top_k = subject->top_k;
  }
  builder at = {.models = models, .decodes = subjects[0].operation != MXG_OPERATION_QUANTIZE};
  add_roundings(&at);
  add_biases(&at);
  add_vias(&at, "double-round-f16", MXG_DTYPE_F16);
  add_vias(&at, "double-round-bf16", MXG_DTYPE_BF16);
  add_flushes(&at);
  add_reciprocals(&at);
  begin(&at, "nibble-swap", PART_NIBBLES);
  if (mxg_element_traits(models->right.recipe.element).bits == 4)
    variant(&at)->swaps_nibbles = true;
  add_steps(&at);
  add_storages(&at, order);
  add_markers(&at);
  if (is_combine) add_sums(&at, top_k);
  /* last: any fault that says where each scale went is a better name */
  begin(&at, "scale-shuffled", PART_STORAGE);
  if (models->right.recipe.scale != MXG_SCALE_NONE)
    add_storage(&at, MXG_STORED_ANYHOW, MXG_ORDER_ROW_MAJOR);
  add_fields(models, subjects, count);
  add_presets(models);
}

void mxg_models_close(mxg_models *models) {
  free(models->list);
}

static void join_named(const mxg_wrong *from, uint64_t parts, mxg_wrong *out) {
  const mxg_recipe recipe = out->recipe;
  mxg_wrong joined = *from;
  if (parts != (uint64_t)1 << PART_ROUNDING) joined.rounding = out->rounding;
  if (parts != (uint64_t)1 << PART_VIA) {
    joined.via = out->via;
    joined.via_places = out->via_places;
  }
  if (parts != (uint64_t)1 << PART_FLUSH) joined.flush = out->flush;
  if (parts != (uint64_t)1 << PART_BIAS) joined.bias = out->bias;
  if (parts != (uint64_t)1 << PART_RECIPROCAL) {
    joined.reciprocal = out->reciprocal;
    joined.reciprocal_of = out->reciprocal_of;
    joined.reciprocal_amount = out->reciprocal_amount;
  }
  if (parts != (uint64_t)1 << PART_STEP) {
    joined.step = out->step;
    joined.step_where = out->step_where;
    joined.step_unit = out->step_unit;
  }
  if (parts != (uint64_t)1 << PART_NIBBLES) joined.swaps_nibbles = out->swaps_nibbles;
  if (parts != (uint64_t)1 << PART_STORAGE) {
    joined.storage = out->storage;
    joined.order = out->order;
  }
  if (parts != (uint64_t)1 << PART_MARKER) joined.marker = out->marker;
  if (parts != (uint64_t)1 << PART_SUM) {
    joined.sum = out->sum;
    joined.weights_last = out->weights_last;
  }
  joined.recipe = recipe;
  *out = joined;
}

bool mxg_models_join(const mxg_models *models, const mxg_model *a, const mxg_model *b,
                     mxg_wrong *out) {
  if (a->parts & b->parts) return false;
  const mxg_model *both[2] = {a, b};
  *out = models->right;
  for (int i = 0; i < 2; i++)
    if (both[i]->class_of == MXG_MODEL_PRESET) out->recipe = both[i]->wrong.recipe;
  for (int i = 0; i < 2; i++) {
    if (both[i]->class_of == MXG_MODEL_NAMED) join_named(&both[i]->wrong, both[i]->parts, out);
    if (both[i]->class_of == MXG_MODEL_KEY)
      copy_field(field_of(both[i]->key), &both[i]->wrong.recipe, &out->recipe);
  }
  return mxg_recipe_check(&out->recipe, NULL) == MXG_OK;
}
