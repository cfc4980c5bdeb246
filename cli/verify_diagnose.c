/* verify_diagnose.c: the answers of a stream as subjects of the diagnosis: those that differ, and
 * right ones among which a wrong model would stand out.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "verify.h"

enum { KEPT_ELEMENTS = 1 << 19 };

/* ---- wrong answers, kept as they come ---- */

static size_t elements_of(const mxg_pipe_case *one) {
  const size_t copies = one->top_k ? one->top_k : 1;
  return one->rows * one->cols * copies;
}

static void drop(mxg_kept_answer *answer) {
  free(answer->first);
  free(answer->second);
}

/* Every other one goes; from here on every other one is not kept. */
static void thin(mxg_kept *kept) {
  size_t count = 0;
  kept->elements = 0;
  for (size_t i = 0; i < kept->count; i++) {
    if (i % 2) {
      drop(&kept->answers[i]);
      continue;
    }
    kept->elements += kept->answers[i].elements;
    kept->answers[count++] = kept->answers[i];
  }
  kept->count = count;
  kept->one_in *= 2;
}

static unsigned char *copy_of(const mxg_part *part) {
  unsigned char *copy = mxg_alloc(part->bytes + 1);
  if (part->bytes) memcpy(copy, part->data, part->bytes);
  return copy;
}

void mxg_keep_answer(mxg_kept *kept, const mxg_pipe_case *one, const mxg_part *first,
                     const mxg_part *second) {
  if (kept->one_in == 0) kept->one_in = 1;
  if (kept->offered++ % kept->one_in != 0) return;
  if (kept->count == kept->capacity) {
    kept->capacity = 2 * kept->capacity + 16;
    mxg_kept_answer *larger = mxg_alloc(kept->capacity * sizeof *larger);
    if (kept->count) memcpy(larger, kept->answers, kept->count * sizeof *larger);
    free(kept->answers);
    kept->answers = larger;
  }
  const mxg_kept_answer answer = {.id = one->id,
                                  .elements = elements_of(one),
                                  .first = copy_of(first),
                                  .second = copy_of(second),
                                  .first_bytes = first->bytes,
                                  .second_bytes = second->bytes};
  kept->answers[kept->count++] = answer;
  kept->elements += answer.elements;
  if (kept->elements > KEPT_ELEMENTS && kept->count > 1) thin(kept);
}

void mxg_kept_end(mxg_kept *kept) {
  for (size_t i = 0; i < kept->count; i++) drop(&kept->answers[i]);
  free(kept->answers);
}

/* ---- subjects ---- */

/* A case and its answer, in memory of their own. */
typedef struct material {
  mxg_pipe_case one;
  mxg_part first, second; /* the answer */
  const void **slots;
} material;

static void material_free(material *m) {
  mxg_pipe_free(&m->one);
  free(m->first.data);
  free(m->second.data);
  free(m->slots);
}

static void fill_part(mxg_part *part, const unsigned char *data, size_t bytes) {
  mxg_part_reserve(part, bytes);
  if (bytes) memcpy(part->data, data, bytes);
}

static void describe(const mxg_plan *plan, material *m, mxg_subject *out) {
  const mxg_pipe_case *one = &m->one;
  memset(out, 0, sizeof *out);
  out->operation = plan->op;
  out->recipe = &plan->recipe;
  out->rows = one->rows;
  if (plan->op == MXG_OPERATION_QUANTIZE) {
    const mxg_matrix_view x = {one->first.data, one->dtype, one->rows, one->cols, 0};
    const mxg_packed_view got = {m->first.data, m->first.bytes, m->second.data, m->second.bytes,
                                 one->layout};
    out->x = x;
    out->got = got;
    if (plan->has_row_weights) out->row_weight = (const float *)(const void *)one->second.data;
    return;
  }
  out->value_dtype = one->dtype;
  out->value_cols = one->cols;
  out->got_values = m->first.data;
  if (plan->op == MXG_OPERATION_DEQUANTIZE) {
    const mxg_packed_view source = {one->first.data, one->first.bytes, one->second.data,
                                    one->second.bytes, one->layout};
    out->source = source;
    return;
  }
  const size_t count = one->rows * one->top_k;
  m->slots = mxg_alloc((count + 1) * sizeof *m->slots);
  for (size_t i = 0; i < count; i++)
    m->slots[i] = one->third.data[i] ? one->first.data + i * one->layout.slot_stride_bytes : NULL;
  out->slots = m->slots;
  out->top_k = one->top_k;
  out->slot_layout = one->layout;
  if (one->has_weights) out->weight = (const float *)(const void *)one->second.data;
}

/* The right answers that are looked at: one in so many, about as many elements as wrong ones. */
static uint64_t one_right_in(uint64_t elements) {
  return elements / KEPT_ELEMENTS + 1;
}

int mxg_verify_diagnose(mxg_answer_check *check, const mxg_pipe_index *index, const bool *is_right,
                        uint64_t elements, const mxg_kept *kept) {
  const mxg_plan *plan = check->plan;
  const uint64_t one_in = one_right_in(elements);
  size_t right = 0, count = 0;
  for (uint64_t id = 0; id < plan->cases; id += one_in) right += is_right[id];
  material *materials = mxg_alloc((kept->count + right + 1) * sizeof *materials);
  mxg_subject *subjects = mxg_alloc((kept->count + right + 1) * sizeof *subjects);
  int status = MXG_EXIT_OK;
  for (size_t i = 0; i < kept->count && !status; i++, count++) {
    const mxg_kept_answer *answer = &kept->answers[i];
    material *m = &materials[count];
    status = mxg_pipe_make(index, answer->id, &m->one);
    fill_part(&m->first, answer->first, answer->first_bytes);
    fill_part(&m->second, answer->second, answer->second_bytes);
    if (!status) describe(plan, m, &subjects[count]);
  }
  for (uint64_t id = 0; id < plan->cases && !status; id += one_in) {
    if (!is_right[id]) continue;
    material *m = &materials[count];
    status = mxg_pipe_make(index, id, &m->one);
    if (!status)
      status = mxg_pipe_answer(plan, &m->one, check->impl, &check->run, &m->first, &m->second);
    if (!status) describe(plan, m, &subjects[count]);
    count++;
  }
  if (!status) status = mxg_report_diagnose(check->report, subjects, count);
  for (size_t i = 0; i < count; i++) material_free(&materials[i]);
  free(materials);
  free(subjects);
  return status;
}
