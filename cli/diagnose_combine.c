/* diagnose_combine.c: the weighted sum of decoded slots with a chosen fault (section 6).
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "diagnose_internal.h"

enum { SOURCES_MAX = 64 };

/* One source of one output element. */
typedef struct term {
  bool is_there, is_scaled;
  float t, s, w;
} term;

typedef struct sum {
  const mxg_wrong *wrong;
  bool has_weights;
  size_t top_k;
  term terms[SOURCES_MAX];
} sum;

/* a * b + c with one rounding: the exact product, and a sum rounded to odd, which a second rounding
 * to f32 does not disturb. */
static float exact_fma(float a, float b, float c) {
  const double product = (double)a * (double)b, addend = (double)c;
  const double total = product + addend;
  if (!isfinite(total)) return (float)total;
  const double part = total - product;
  const double rest = (product - (total - part)) + (addend - part);
  uint64_t bits = 0;
  memcpy(&bits, &total, 8);
  if (rest < 0.0 || rest > 0.0) {
    if (!(bits & 1)) bits += (rest > 0.0) == (total > 0.0) ? 1 : (uint64_t)-1;
  }
  double odd = 0.0;
  memcpy(&odd, &bits, 8);
  return (float)odd;
}

static float via_sum(const mxg_wrong *wrong, float v) {
  if (!wrong->via || !(wrong->via_places & MXG_VIA_SUM)) return v;
  return (float)mxg_wrong_round((double)v, wrong->via, MXG_ROUND_EVEN);
}

/* The decoded element, before its weight. */
static float decoded(const sum *of, const term *at) {
  const mxg_wrong *wrong = of->wrong;
  float v = at->is_scaled ? at->t * at->s : at->t;
  if (wrong->via && (wrong->via_places & MXG_VIA_INPUT))
    v = (float)mxg_wrong_round((double)v, wrong->via, MXG_ROUND_EVEN);
  return mxg_wrong_flush(v, (wrong->flush & MXG_FLUSH_MIDDLE) != 0);
}

/* What a source adds, as a number of its own. */
static float product_of(const sum *of, const term *at) {
  if (!of->has_weights) return decoded(of, at);
  if (of->wrong->weights_last && at->is_scaled) {
    const float weighted = at->t * at->w;
    return weighted * at->s;
  }
  return decoded(of, at) * at->w;
}

static float add_term(const sum *of, float acc, const term *at) {
  const mxg_wrong *wrong = of->wrong;
  if (!at->is_there) return acc;
  const bool fuses = wrong->recipe.accumulate == MXG_ACCUMULATE_FMA;
  const bool rounds_first = wrong->via && (wrong->via_places & MXG_VIA_INPUT);
  float total = 0.0f;
  if (!fuses || (!of->has_weights && (!at->is_scaled || rounds_first)))
    total = acc + product_of(of, at);
  else if (!of->has_weights)
    total = exact_fma(at->t, at->s, acc);
  else if (wrong->weights_last && at->is_scaled)
    total = exact_fma(at->t * at->w, at->s, acc);
  else
    total = exact_fma(decoded(of, at), at->w, acc);
  return via_sum(wrong, mxg_wrong_flush(total, (wrong->flush & MXG_FLUSH_MIDDLE) != 0));
}

/* ---- orders ---- */

static float sum_lanes(const sum *of, size_t lanes) {
  float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (size_t k = 0; k < of->top_k; k++)
    acc[k % lanes] = add_term(of, acc[k % lanes], &of->terms[k]);
  if (lanes == 2) return via_sum(of->wrong, acc[0] + acc[1]);
  const float low = acc[0] + acc[1], high = acc[2] + acc[3];
  return via_sum(of->wrong, low + high);
}

static float sum_tree(const sum *of, bool halves) {
  float parts[SOURCES_MAX + 1];
  size_t count = of->top_k;
  for (size_t k = 0; k < count; k++)
    parts[k] = of->terms[k].is_there ? product_of(of, &of->terms[k]) : 0.0f;
  if (count == 0) return 0.0f;
  while (count > 1) {
    const size_t half = (count + 1) / 2;
    for (size_t k = 0; k < count / 2; k++) {
      const float a = halves ? parts[k] : parts[2 * k];
      const float b = halves ? parts[k + half] : parts[2 * k + 1];
      parts[k] = via_sum(of->wrong, a + b);
    }
    if (count % 2 && !halves) parts[half - 1] = parts[count - 1];
    count = half;
  }
  return 0.0f + parts[0];
}

static double sum_double(const sum *of) {
  double acc = 0.0;
  for (size_t k = 0; k < of->top_k; k++) {
    const term *at = &of->terms[k];
    if (!at->is_there) continue;
    const double exact = at->is_scaled ? (double)at->t * (double)at->s : (double)at->t;
    acc += of->has_weights ? exact * (double)at->w : exact;
  }
  return acc;
}

static double total_of(const sum *of) {
  const unsigned order = of->wrong->sum;
  float acc = 0.0f;
  switch (order) {
    case MXG_SUM_DESCENDING:
      for (size_t k = of->top_k; k-- > 0;) acc = add_term(of, acc, &of->terms[k]);
      return (double)acc;
    case MXG_SUM_PAIRS: return (double)sum_tree(of, false);
    case MXG_SUM_HALVES: return (double)sum_tree(of, true);
    case MXG_SUM_TWO: return (double)sum_lanes(of, 2);
    case MXG_SUM_FOUR: return (double)sum_lanes(of, 4);
    case MXG_SUM_DOUBLE: return (double)(float)sum_double(of);
    default: break;
  }
  const size_t first = order > MXG_SUM_ROTATED ? order - MXG_SUM_ROTATED : 0;
  for (size_t k = 0; k < of->top_k; k++)
    acc = add_term(of, acc, &of->terms[(first + k) % of->top_k]);
  return (double)acc;
}

/* ---- one element ---- */

static uint32_t word_of(const mxg_layout *layout, const unsigned char *slot, size_t index) {
  const unsigned char *at = slot + layout->scale_offset_bytes + index * layout->scale_bytes;
  return layout->scale_bytes == 1 ? *at
                                  : (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                                        (uint32_t)at[3] << 24;
}

static void read_term(const mxg_decoder *decoder, const mxg_layout *layout,
                      const unsigned char *slot, size_t col, term *out) {
  const mxg_wrong *wrong = decoder->wrong;
  out->is_there = slot != NULL;
  if (!slot) return;
  out->t = mxg_decoder_element(decoder, slot, col, layout->cols);
  out->s = 1.0f;
  out->is_scaled = false;
  if (wrong->recipe.scale == MXG_SCALE_NONE) return;
  const size_t own = col / wrong->recipe.block;
  size_t block = own < layout->scale_count ? own : layout->scale_count - 1;
  if (block < layout->scales_used) block = mxg_step_column(wrong, block, layout->scales_used);
  out->s = mxg_decoder_scale(decoder, word_of(layout, slot, block));
  out->is_scaled = true;
  if (wrong->recipe.scale == MXG_SCALE_F32)
    out->is_scaled = mxg_decoder_marker(decoder, word_of(layout, slot, 0), block, &out->s);
  if (!out->is_scaled) out->s = 1.0f;
}

void mxg_judge_combine(mxg_case *opened, const mxg_wrong *wrong, const mxg_units *units,
                       mxg_tally *tally) {
  const mxg_subject *subject = opened->subject;
  const mxg_recipe *right = subject->recipe;
  sum of = {.wrong = wrong, .has_weights = subject->weight != NULL, .top_k = subject->top_k};
  mxg_decoder decoder;
  mxg_decoder_open(&decoder, wrong);
  const bool fits = decoder.bits == (unsigned)mxg_element_traits(right->element).bits &&
                    wrong->recipe.scale == right->scale && of.top_k <= SOURCES_MAX;
  for (size_t i = 0; i < units->count; i++) {
    const mxg_unit *unit = &units->list[i];
    if (!fits) {
      mxg_tally_miss(unit, units, tally);
      continue;
    }
    const size_t row = unit->at / opened->cols, col = unit->at % opened->cols;
    for (size_t k = 0; k < of.top_k; k++) {
      const size_t source = row * of.top_k + k;
      read_term(&decoder, &subject->slot_layout, subject->slots[source], col, &of.terms[k]);
      of.terms[k].w = subject->weight != NULL ? subject->weight[source] : 1.0f;
    }
    mxg_tally_unit(opened, MXG_UNIT_VALUE, unit, units,
                   mxg_finish_value(wrong, total_of(&of), subject->value_dtype), tally);
  }
}
