/* diagnose_text.c: a diagnosis in words and as JSON.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "diagnose.h"

static const struct {
  const char *id, *phrase;
} phrases[] = {{"ties-away", "ties away from zero"},
               {"ties-to-zero", "ties toward zero"},
               {"truncate", "truncation in place of rounding"},
               {"fnuz-bias", "the exponent bias of the other family (OCP against FNUZ)"},
               {"double-round-f16", "a first rounding to f16"},
               {"double-round-bf16", "a first rounding to bf16"},
               {"ftz", "subnormals flushed to zero"},
               {"reciprocal-approx", "a reciprocal that is not the nearest f32"},
               {"nibble-swap", "the two codes of a byte swapped"},
               {"scale-off-by-one", "scales off by one"},
               {"scale-shuffled", "scales in another tiled order"},
               {"scale-transposed", "rows and columns of the scales swapped"},
               {"marker-ignored", "the marker of scaled rows ignored"},
               {"sum-order", "another order of summation"}};

/* Appends the words for one id of `length` bytes. */
static size_t put_phrase(char *text, size_t cap, const char *id, size_t length) {
  for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++)
    if (strlen(phrases[i].id) == length && memcmp(phrases[i].id, id, length) == 0)
      return (size_t)snprintf(text, cap, "%s (%s)", phrases[i].phrase, phrases[i].id);
  return (size_t)snprintf(text, cap, "%.*s", (int)length, id);
}

const char *mxg_diagnosis_phrase(const char *id) {
  static char text[512];
  size_t used = 0;
  const char *at = id;
  while (*at && used < sizeof text) {
    /* a number may have a sign behind its exponent: 1e+10 */
    size_t length = strcspn(at, "+");
    while (at[length] == '+' && length && at[length - 1] == 'e')
      length += 1 + strcspn(at + length + 1, "+");
    if (at != id) used += (size_t)snprintf(text + used, sizeof text - used, " with ");
    if (used < sizeof text) used += put_phrase(text + used, sizeof text - used, at, length);
    at += length + (at[length] == '+');
  }
  return text;
}

/* 1204 as "1,204"; static storage of four turns. */
static const char *grouped(uint64_t number) {
  static char texts[4][32];
  static unsigned turn;
  char digits[24];
  turn = (turn + 1) % 4;
  const size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number);
  size_t used = 0;
  for (size_t i = 0; i < length; i++) {
    if (i && (length - i) % 3 == 0) texts[turn][used++] = ',';
    texts[turn][used++] = digits[i];
  }
  texts[turn][used] = 0;
  return texts[turn];
}

static const char *noun(const mxg_diagnosis *diagnosis) {
  if (diagnosis->values) return "values";
  if (!diagnosis->scales) return "codes";
  return diagnosis->codes ? "codes and scales" : "scales";
}

void mxg_diagnosis_print(FILE *to, const mxg_diagnosis *diagnosis) {
  if (!diagnosis->of) return;
  if (diagnosis->looked_at < diagnosis->in_all)
    fprintf(to, "diagnosis: of a sample of %s of %s codes, scales and values\n",
            grouped(diagnosis->looked_at), grouped(diagnosis->in_all));
  if (!diagnosis->count) {
    fprintf(to, "diagnosis: unexplained: no known fault gives these %s differing %s\n",
            grouped(diagnosis->of), noun(diagnosis));
    return;
  }
  const mxg_explanation *best = &diagnosis->list[0];
  fprintf(to, "diagnosis: %s of %s differing %s are explained by: %s", grouped(best->explains),
          grouped(diagnosis->of), noun(diagnosis), mxg_diagnosis_phrase(best->id));
  if (best->broken) fprintf(to, ", which breaks %s equal ones", grouped(best->broken));
  fputc('\n', to);
  if (best->explains < diagnosis->of)
    fprintf(to, "diagnosis: the other %s are unexplained by it\n",
            grouped(diagnosis->of - best->explains));
  for (size_t i = 1; i < diagnosis->count && i < 4; i++) {
    const mxg_explanation *next = &diagnosis->list[i];
    fprintf(to, "  or %s: %s", next->id, grouped(next->explains));
    if (next->broken) fprintf(to, ", breaks %s", grouped(next->broken));
    fputc('\n', to);
  }
}

json_t *mxg_diagnosis_json(const mxg_diagnosis *diagnosis) {
  json_t *list = json_array();
  for (size_t i = 0; i < diagnosis->count; i++) {
    const mxg_explanation *at = &diagnosis->list[i];
    json_t *entry = json_object();
    json_object_set_new(entry, "model", json_string(at->id));
    json_object_set_new(entry, "explains", json_integer((json_int_t)at->explains));
    json_object_set_new(entry, "of", json_integer((json_int_t)diagnosis->of));
    json_object_set_new(entry, "broken", json_integer((json_int_t)at->broken));
    json_array_append_new(list, entry);
  }
  return list;
}
