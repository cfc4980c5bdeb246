/* diagnose_search.c: tries single models, then pairs, first on a sample and at last on everything.
 *
 * A sample takes a share of the differing things and a share of the equal ones, and counts each for
 * as many as it stands for. Pairs are tried on what the best single models leave wrong and on a
 * small sample of everything. Whatever looks best is then counted in full.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "diagnose_internal.h"

enum {
  SINGLE_UNITS = 20000,  /* of a sample, differing and equal each, for all single models */
  TINY_UNITS = 80,       /* the same for all pairs, */
  PAIR_UNITS = 700,      /* and for those that look good */
  RESIDUAL_UNITS = 1500, /* of what a single model leaves wrong */
  FULL_CHUNK = 1 << 18,
  FINALISTS = 10,
  PARTNERS = 5, /* pairs kept for each of the best single models */
  PARTNERED = 3 /* those */
};
/* Things beyond so many are sampled by rows even for the last count. */
static const size_t FULL_UNITS = (size_t)24 << 20;

/* ---- lists of units ---- */

typedef struct sample {
  mxg_units *units; /* of case c and kind k: [c * KINDS + k] */
  size_t lists;
} sample;

typedef struct search {
  mxg_case *cases;
  size_t count;
  mxg_models models;
  uint64_t differing[MXG_UNIT_KINDS], equal[MXG_UNIT_KINDS];
  size_t stride; /* of all things, one in so many runs of RUN is looked at */
} search;

enum { RUN = 4096 };

static void sample_close(sample *taken) {
  for (size_t i = 0; i < taken->lists; i++) free(taken->units[i].list);
  free(taken->units);
  memset(taken, 0, sizeof *taken);
}

static void sample_open(sample *taken, const search *s) {
  taken->lists = s->count * MXG_UNIT_KINDS;
  taken->units = mxg_alloc((taken->lists + 1) * sizeof *taken->units);
  memset(taken->units, 0, (taken->lists + 1) * sizeof *taken->units);
  for (size_t i = 0; i < taken->lists; i++)
    taken->units[i].differing_weight = taken->units[i].equal_weight = 1.0;
}

/* Is thing number `index` looked at at all? */
static bool is_looked_at(const search *s, size_t index) {
  return s->stride == 1 || index / RUN % s->stride == 0;
}

/* Evenly spread but without a period: one of each `share` in a row, chosen by a hash. */
static bool is_chosen(uint64_t number, uint64_t share) {
  if (share <= 1) return true;
  const uint64_t window = number / share;
  return number % share == (window * 0x9E3779B97F4A7C15u >> 20) % share;
}

static uint64_t share_of(uint64_t all, uint64_t budget) {
  return all <= budget ? 1 : (all + budget - 1) / budget;
}

/* A sample of `budget` differing and as many equal things of each kind. */
static void take(search *s, uint64_t budget, sample *out) {
  uint64_t number[2] = {0, 0};
  sample_open(out, s);
  for (int kind = 0; kind < MXG_UNIT_KINDS; kind++) {
    const uint64_t share[2] = {share_of(s->equal[kind], budget),
                               share_of(s->differing[kind], budget)};
    number[0] = number[1] = 0;
    for (size_t c = 0; c < s->count; c++) {
      mxg_units *units = &out->units[c * MXG_UNIT_KINDS + (size_t)kind];
      units->equal_weight = (double)share[0];
      units->differing_weight = (double)share[1];
      const size_t all = mxg_case_unit_count(&s->cases[c], (mxg_unit_kind)kind);
      for (size_t i = 0; i < all; i++) {
        mxg_unit unit;
        if (!is_looked_at(s, i) || !mxg_case_unit(&s->cases[c], (mxg_unit_kind)kind, i, &unit))
          continue;
        if (is_chosen(number[unit.differs]++, share[unit.differs])) mxg_units_add(units, &unit);
      }
    }
  }
}

static void judge(mxg_case *at, const mxg_wrong *wrong, mxg_unit_kind kind, const mxg_units *units,
                  mxg_tally *tally) {
  if (units->count == 0) return;
  if (at->subject->operation != MXG_OPERATION_QUANTIZE)
    mxg_judge_decode(at, wrong, units, tally);
  else if (at->subject->x.data)
    mxg_judge_quantize(at, wrong, kind, units, tally);
  else
    mxg_judge_recode(at, wrong, kind, units, tally);
}

static mxg_tally judge_sample(search *s, const mxg_wrong *wrong, const sample *taken) {
  mxg_tally tally = {0.0, 0.0, NULL};
  for (size_t c = 0; c < s->count; c++)
    for (int kind = 0; kind < MXG_UNIT_KINDS; kind++)
      judge(&s->cases[c], wrong, (mxg_unit_kind)kind,
            &taken->units[c * MXG_UNIT_KINDS + (size_t)kind], &tally);
  return tally;
}

/* ---- candidates ---- */

typedef struct candidate {
  const mxg_model *a, *b; /* b NULL: single */
  mxg_wrong wrong;
  double score;    /* by a sample, then in full */
  mxg_tally tally; /* in full */
} candidate;

/* Named, field, far-fetched variant of a named one, preset. */
static int class_rank(const mxg_model *model) {
  return model->class_of == MXG_MODEL_PRESET ? 3 : model->is_late ? 2 : (int)model->class_of;
}

static int compare_models(const mxg_model *a, const mxg_model *b) {
  const int rank_a = class_rank(a), rank_b = class_rank(b);
  if (rank_a != rank_b) return rank_a < rank_b ? -1 : 1;
  return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* A model that is named first ranks first. */
static int compare_names(const candidate *x, const candidate *y) {
  if (!x->b != !y->b) return x->b ? 1 : -1;
  if (!x->b) return compare_models(x->a, y->a);
  if (class_rank(x->b) != class_rank(y->b)) return class_rank(x->b) < class_rank(y->b) ? -1 : 1;
  const int first = compare_models(x->a, y->a);
  return first ? first : compare_models(x->b, y->b);
}

static int compare_candidates(const void *x, const void *y) {
  const candidate *a = x, *b = y;
  if (a->score > b->score) return -1;
  if (a->score < b->score) return 1;
  return compare_names(a, b);
}

static bool same_id(const candidate *x, const candidate *y) {
  return strcmp(x->a->id, y->a->id) == 0 && !x->b == !y->b &&
         (!x->b || strcmp(x->b->id, y->b->id) == 0);
}

typedef struct ranking {
  candidate *list;
  size_t count, capacity;
} ranking;

static void ranking_open(ranking *best, size_t capacity) {
  best->list = mxg_alloc((capacity + 1) * sizeof *best->list);
  best->capacity = capacity;
  best->count = 0;
}

/* Keeps the best `capacity`, each id once by its best variant. */
static void ranking_offer(ranking *best, const candidate *offered) {
  size_t at = 0;
  while (at < best->count && !same_id(&best->list[at], offered)) at++;
  if (at < best->count) {
    if (offered->score <= best->list[at].score) return;
    best->count--;
    memmove(&best->list[at], &best->list[at + 1], (best->count - at) * sizeof *best->list);
  }
  for (at = best->count; at > 0 && compare_candidates(offered, &best->list[at - 1]) < 0; at--)
    ;
  if (at == best->capacity) return;
  const size_t last = best->count < best->capacity ? best->count++ : best->count - 1;
  memmove(&best->list[at + 1], &best->list[at], (last - at) * sizeof *best->list);
  best->list[at] = *offered;
}

/* ---- the full count ---- */

/* Counts the candidates on everything. One that falls far behind after a few chunks, and did so in
 * the sample too, is no longer counted: its score becomes 0. */
static void count_in_full(search *s, candidate *list, size_t count) {
  double best_sample = 0.0;
  for (size_t i = 0; i < count; i++)
    if (list[i].score > best_sample) best_sample = list[i].score;
  bool *is_dropped = mxg_alloc(count + 1);
  for (size_t i = 0; i < count; i++) {
    list[i].tally = (mxg_tally){0.0, 0.0, NULL};
    is_dropped[i] = false;
  }
  mxg_units units = {NULL, 0, 0, 1.0, 1.0};
  for (size_t c = 0; c < s->count; c++)
    for (int kind = 0; kind < MXG_UNIT_KINDS; kind++) {
      const size_t all = mxg_case_unit_count(&s->cases[c], (mxg_unit_kind)kind);
      for (size_t i = 0; i < all; i++) {
        mxg_unit unit;
        if (is_looked_at(s, i) && mxg_case_unit(&s->cases[c], (mxg_unit_kind)kind, i, &unit))
          mxg_units_add(&units, &unit);
        if (units.count < FULL_CHUNK && i + 1 < all) continue;
        const bool is_chunk = units.count == FULL_CHUNK;
        double best = 0.0;
        for (size_t k = 0; k < count; k++) {
          if (is_dropped[k]) continue;
          judge(&s->cases[c], &list[k].wrong, (mxg_unit_kind)kind, &units, &list[k].tally);
          const double score = list[k].tally.explains - list[k].tally.broken;
          if (score > best) best = score;
        }
        for (size_t k = 0; k < count && is_chunk; k++)
          if (list[k].tally.explains - list[k].tally.broken < 0.7 * best &&
              list[k].score < 0.8 * best_sample)
            is_dropped[k] = true;
        units.count = 0;
      }
    }
  free(units.list);
  for (size_t i = 0; i < count; i++) {
    if (is_dropped[i]) list[i].tally = (mxg_tally){0.0, 0.0, NULL};
    list[i].score = list[i].tally.explains - list[i].tally.broken;
  }
  free(is_dropped);
}

/* Of a list of things: those that a model gets wrong go into `out`, later ones thinned out so that
 * it stays short without a first pass. */
static void keep_wrong(search *s, size_t c, mxg_unit_kind kind, const candidate *of,
                       const mxg_units *all, uint64_t *number, mxg_units *out) {
  static bool is_wrong[FULL_CHUNK];
  memset(is_wrong, 0, sizeof is_wrong);
  mxg_tally tally = {0.0, 0.0, is_wrong};
  judge(&s->cases[c], &of->wrong, kind, all, &tally);
  for (size_t i = 0; i < all->count; i++) {
    if (!is_wrong[i]) continue;
    const uint64_t share = ++*number / RESIDUAL_UNITS + 1;
    if (is_chosen(*number, share * share)) mxg_units_add(out, &all->list[i]);
  }
}

/* Differing things that a model does not reproduce and equal ones that it breaks. */
static void take_residual(search *s, const candidate *of, sample *out) {
  sample_open(out, s);
  mxg_units chunk = {NULL, 0, 0, 1.0, 1.0};
  uint64_t number = 0;
  for (size_t c = 0; c < s->count; c++)
    for (int kind = 0; kind < MXG_UNIT_KINDS; kind++) {
      const size_t all = mxg_case_unit_count(&s->cases[c], (mxg_unit_kind)kind);
      for (size_t i = 0; i < all; i++) {
        mxg_unit unit;
        if (is_looked_at(s, i) && mxg_case_unit(&s->cases[c], (mxg_unit_kind)kind, i, &unit))
          mxg_units_add(&chunk, &unit);
        if (chunk.count < FULL_CHUNK && i + 1 < all) continue;
        keep_wrong(s, c, (mxg_unit_kind)kind, of, &chunk, &number,
                   &out->units[c * MXG_UNIT_KINDS + (size_t)kind]);
        chunk.count = 0;
      }
    }
  free(chunk.list);
  size_t taken = 0;
  for (size_t i = 0; i < out->lists; i++) taken += out->units[i].count;
  for (size_t i = 0; i < out->lists && taken; i++)
    out->units[i].differing_weight = out->units[i].equal_weight = (double)number / (double)taken;
}

/* ---- the search ---- */

static void offer_singles(search *s, const sample *taken, ranking *best) {
  for (size_t i = 0; i < s->models.count; i++) {
    candidate one = {.a = &s->models.list[i], .wrong = s->models.list[i].wrong};
    const mxg_tally tally = judge_sample(s, &one.wrong, taken);
    one.score = tally.explains - tally.broken;
    ranking_offer(best, &one);
  }
}

static bool make_pair(const search *s, const mxg_model *a, const mxg_model *b, candidate *out) {
  const bool in_order = compare_models(a, b) <= 0;
  out->a = in_order ? a : b;
  out->b = in_order ? b : a;
  return mxg_models_join(&s->models, out->a, out->b, &out->wrong);
}

/* Any two models, first on a tiny sample, then on a small one. Presets go with named faults only. */
static void offer_pairs(search *s, const sample *tiny, const sample *small, ranking *best) {
  double best_tiny = 0.0;
  for (size_t i = 0; i < s->models.count; i++)
    for (size_t k = i + 1; k < s->models.count; k++) {
      const mxg_model *a = &s->models.list[i], *b = &s->models.list[k];
      candidate pair;
      if (b->class_of == MXG_MODEL_PRESET && a->class_of != MXG_MODEL_NAMED) continue;
      if (!make_pair(s, a, b, &pair)) continue;
      const mxg_tally first = judge_sample(s, &pair.wrong, tiny);
      const double score = first.explains - first.broken;
      if (score <= 0.0 || score < 0.8 * best_tiny) continue;
      if (score > best_tiny) best_tiny = score;
      const mxg_tally tally = judge_sample(s, &pair.wrong, small);
      pair.score = tally.explains - tally.broken;
      ranking_offer(best, &pair);
    }
}

/* Partners of one single model, judged by what it leaves wrong and by a small sample of all. */
static void offer_partners(search *s, const candidate *single, const sample *small, ranking *best) {
  sample residual;
  take_residual(s, single, &residual);
  const mxg_tally before = judge_sample(s, &single->wrong, small);
  for (size_t i = 0; i < s->models.count; i++) {
    candidate pair;
    if (!make_pair(s, single->a, &s->models.list[i], &pair)) continue;
    const mxg_tally left = judge_sample(s, &pair.wrong, &residual);
    const mxg_tally after = judge_sample(s, &pair.wrong, small);
    /* what the residual gains; what the rest loses, as far as the sample shows */
    const double gain = left.explains - left.broken;
    const double change = (after.explains - after.broken) - (before.explains - before.broken);
    pair.score = change < 0.0 ? change + gain : gain;
    ranking_offer(best, &pair);
  }
  sample_close(&residual);
}

/* Chance alone also explains a little: a model counts when it explains more than a handful of all,
 * and clearly more than it breaks. */
static bool is_clear(const mxg_tally *tally, double of) {
  const double score = tally->explains - tally->broken;
  if (tally->broken < 0.5 && tally->explains > 15.5) return true;
  if (score <= 0.0 || tally->explains * 20.0 < of) return false;
  return tally->broken * 8.0 <= tally->explains ||
         score * score >= 25.0 * (tally->explains + tally->broken);
}

/* A second fault must take a clear part of what the better one of the two leaves. */
static bool is_clear_gain(double gain, double left) {
  return gain >= 0.5 && (gain * 4.0 >= left || gain * gain >= 25.0 * left);
}

static double score_of(const ranking *singles, const mxg_model *model) {
  double score = 0.0;
  for (size_t i = 0; i < singles->count; i++)
    if (strcmp(singles->list[i].a->id, model->id) == 0 && singles->list[i].score > score)
      score = singles->list[i].score;
  return score;
}

static void search_pairs(search *s, const ranking *singles, double of, ranking *out) {
  sample tiny, small;
  ranking best;
  take(s, TINY_UNITS, &tiny);
  take(s, PAIR_UNITS, &small);
  ranking_open(&best, FINALISTS);
  offer_pairs(s, &tiny, &small, &best);
  sample_close(&tiny);
  ranking all;
  ranking_open(&all, FINALISTS + PARTNERED * PARTNERS);
  for (size_t i = 0; i < best.count; i++) ranking_offer(&all, &best.list[i]);
  free(best.list);
  for (size_t i = 0; i < singles->count && i < PARTNERED; i++) {
    ranking_open(&best, PARTNERS);
    offer_partners(s, &singles->list[i], &small, &best);
    for (size_t k = 0; k < best.count; k++) {
      best.list[k].score += singles->list[i].score;
      ranking_offer(&all, &best.list[k]);
    }
    free(best.list);
  }
  sample_close(&small);
  count_in_full(s, all.list, all.count);
  double best_single = singles->count ? singles->list[0].score : 0.0;
  if (best_single < 0.0) best_single = 0.0;
  for (size_t i = 0; i < all.count; i++) {
    const candidate *pair = &all.list[i];
    const double a = score_of(singles, pair->a), b = score_of(singles, pair->b);
    const double either = a > b ? a : b;
    const double to_beat = either > best_single ? either : best_single;
    if (pair->score > either && is_clear(&pair->tally, of) &&
        is_clear_gain(pair->score - to_beat, of - to_beat))
      ranking_offer(out, pair);
  }
  free(all.list);
}

static void count_units(search *s, mxg_diagnosis *out) {
  size_t in_all = 0;
  for (size_t c = 0; c < s->count; c++)
    for (int kind = 0; kind < MXG_UNIT_KINDS; kind++)
      in_all += mxg_case_unit_count(&s->cases[c], (mxg_unit_kind)kind);
  s->stride = in_all / FULL_UNITS + 1;
  for (size_t c = 0; c < s->count; c++)
    for (int kind = 0; kind < MXG_UNIT_KINDS; kind++) {
      const size_t all = mxg_case_unit_count(&s->cases[c], (mxg_unit_kind)kind);
      for (size_t i = 0; i < all; i++) {
        mxg_unit unit;
        if (!is_looked_at(s, i) || !mxg_case_unit(&s->cases[c], (mxg_unit_kind)kind, i, &unit))
          continue;
        (unit.differs ? s->differing : s->equal)[kind]++;
      }
    }
  out->in_all = in_all;
  out->codes = s->differing[MXG_UNIT_CODE];
  out->scales = s->differing[MXG_UNIT_SCALE];
  out->values = s->differing[MXG_UNIT_VALUE];
  out->of = out->codes + out->scales + out->values;
  out->looked_at = s->stride == 1 ? in_all : out->of;
  for (int kind = 0; kind < MXG_UNIT_KINDS && s->stride > 1; kind++)
    out->looked_at += s->equal[kind];
}

static void write_list(const ranking *best, mxg_diagnosis *out) {
  for (size_t i = 0; i < best->count && out->count < MXG_DIAGNOSIS_CAP; i++) {
    const candidate *at = &best->list[i];
    mxg_explanation *line = &out->list[out->count++];
    snprintf(line->id, sizeof line->id, "%s%s%s", at->a->id, at->b ? "+" : "",
             at->b ? at->b->id : "");
    line->explains = (uint64_t)(at->tally.explains + 0.5);
    line->broken = (uint64_t)(at->tally.broken + 0.5);
  }
}

/* A model without a fault is the library; where it is not, the others are not to be trusted. */
static void check_right_model(search *s, const sample *taken) {
  const mxg_tally tally = judge_sample(s, &s->models.right, taken);
  if (tally.broken > 0.5 || tally.explains > 0.5)
    mxg_fail(MXG_EXIT_OK, "diagnosis: the model without a fault is not the library: report this");
}

static void search_all(search *s, const mxg_subject *subjects, mxg_diagnosis *out) {
  const double of = (double)out->of;
  mxg_models_open(&s->models, subjects, s->count);
  sample wide;
  take(s, SINGLE_UNITS, &wide);
  check_right_model(s, &wide);
  ranking singles, found;
  ranking_open(&singles, FINALISTS);
  ranking_open(&found, MXG_DIAGNOSIS_CAP);
  offer_singles(s, &wide, &singles);
  sample_close(&wide);
  count_in_full(s, singles.list, singles.count);
  qsort(singles.list, singles.count, sizeof *singles.list, compare_candidates);
  for (size_t i = 0; i < singles.count; i++)
    if (is_clear(&singles.list[i].tally, of)) ranking_offer(&found, &singles.list[i]);
  if (!(singles.count && singles.list[0].score > of - 0.5)) search_pairs(s, &singles, of, &found);
  write_list(&found, out);
  free(singles.list);
  free(found.list);
  mxg_models_close(&s->models);
}

int mxg_diagnose(const mxg_subject *subjects, size_t count, const mxg_diagnose_options *options,
                 mxg_diagnosis *out) {
  static const mxg_diagnose_options none;
  memset(out, 0, sizeof *out);
  search s;
  memset(&s, 0, sizeof s);
  s.cases = mxg_alloc((count + 1) * sizeof *s.cases);
  int status = MXG_EXIT_OK;
  for (; s.count < count && !status; s.count++)
    status = mxg_case_open(&s.cases[s.count], &subjects[s.count], options ? options : &none);
  if (!status) count_units(&s, out);
  if (!status && out->of) search_all(&s, subjects, out);
  for (size_t c = 0; c < s.count; c++) mxg_case_close(&s.cases[c]);
  free(s.cases);
  return status;
}
