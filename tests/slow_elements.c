/* slow_elements.c: all 2^32 floats through the element encoders.
 *
 *   slow_elements [--step N] [--every N] [--jobs N] [--overflow saturate|saturate_finite|nonfinite] [FORMAT...]
 *
 * FORMAT: E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, E2M1, E2M3, E3M2, all; E4M3FN E5M2 E2M1 when none is
 * named. Library and golden model are compared on every float, with an oracle on every N-th (--step, 16;
 * 0 = never): APFloat, or the table where APFloat is missing. --every N takes one chunk of 65,536
 * floats in N, for a sample. Exit 0 same, 1 different, 2 usage.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "element_inputs.h"
#include "oracle_map.h"
#include "sweep.h"

#ifdef MXGOLD_HAVE_APFLOAT
#define SECOND_OPINION oracle_apfloat_encode
#else
#define SECOND_OPINION oracle_encode
#endif

typedef struct job {
  mxg_recipe recipe;
  uint32_t step;
  uint32_t every;
} job;

static void work(const void *what, uint64_t chunk, sweep_result *result) {
  static float x[SWEEP_CHUNK];
  static uint8_t codec[SWEEP_CHUNK], ref[SWEEP_CHUNK];
  const job *j = what;
  const oracle_encoding how = oracle_encoding_of(&j->recipe);
  const uint32_t first = (uint32_t)(chunk * j->every * SWEEP_CHUNK);
  for (uint32_t i = 0; i < SWEEP_CHUNK; i++) x[i] = float_of(first + i);
  if (mxg_encode_f32(&j->recipe, x, SWEEP_CHUNK, codec) != MXG_OK ||
      mxg_ref_encode_f32(&j->recipe, x, SWEEP_CHUNK, ref) != MXG_OK) {
    fprintf(stderr, "slow_elements: an encoder returned an error\n");
    exit(EXIT_FAILURE);
  }
  result->count += SWEEP_CHUNK;
  if (memcmp(codec, ref, SWEEP_CHUNK) != 0) {
    for (uint32_t i = 0; i < SWEEP_CHUNK; i++) {
      if (codec[i] == ref[i]) continue;
      result->mismatches++;
      sweep_complain("codec against ref", first + i, codec[i], ref[i]);
    }
  }
  if (j->step != 0) {
    /* Steps count from 0 over the whole range, so that a step may be larger than a chunk. */
    const uint32_t skip = (j->step - first % j->step) % j->step;
    for (uint32_t i = skip; i < SWEEP_CHUNK; i += j->step) {
      const uint8_t want = SECOND_OPINION(&how, first + i, 0, (first + i) >> 31 != 0);
      result->count++;
      if (codec[i] == want) continue;
      result->mismatches++;
      sweep_complain("codec against the oracle", first + i, codec[i], want);
    }
  }
  result->digest = sweep_digest(0, codec, SWEEP_CHUNK);
}

static int sweep(mxg_element element, mxg_overflow overflow, job j, int jobs) {
  char name[64];
  sweep_result total;
  j.recipe = cast_recipe(element);
  if (overflow != MXG_OVERFLOW_SATURATE && mxg_element_traits(element).bits == 8)
    j.recipe.overflow = overflow;
  snprintf(name, sizeof name, "%s, 2^32 / %u floats", element_name(element), (unsigned)j.every);
  return sweep_run(name, 65536 / j.every, jobs, work, &j, &total);
}

static int usage(const char *word) {
  fprintf(stderr,
          "slow_elements: '%s'?\nusage: slow_elements [--step N] [--every N] [--jobs N] "
          "[--overflow saturate|saturate_finite|nonfinite] [FORMAT...|all]\n",
          word);
  return 2;
}

int main(int argc, char **argv) {
  int wanted[ELEMENTS] = {0}, any = 0, differ = 0, jobs = sweep_processors();
  job j = {.step = 16, .every = 1};
  mxg_overflow overflow = MXG_OVERFLOW_SATURATE;
  for (int a = 1; a < argc; a++) {
    const char *value = a + 1 < argc ? argv[a + 1] : "";
    int known = 0;
    if (strcmp(argv[a], "--step") == 0 && *value != 0) {
      j.step = (uint32_t)strtoul(argv[++a], NULL, 10);
      continue;
    }
    if (strcmp(argv[a], "--every") == 0 && atoi(value) > 0) {
      j.every = (uint32_t)atoi(argv[++a]);
      continue;
    }
    if (strcmp(argv[a], "--jobs") == 0 && atoi(value) > 0) {
      jobs = atoi(argv[++a]);
      continue;
    }
    if (strcmp(argv[a], "--overflow") == 0) {
      if (strcmp(value, "saturate_finite") == 0) {
        overflow = MXG_OVERFLOW_SATURATE_FINITE;
      } else if (strcmp(value, "nonfinite") == 0) {
        overflow = MXG_OVERFLOW_NONFINITE;
      } else if (strcmp(value, "saturate") != 0) {
        return usage(value);
      }
      a++;
      continue;
    }
    for (int e = 0; e < ELEMENTS; e++) {
      if (strcmp(argv[a], "all") != 0 && strcmp(argv[a], element_name(element_at(e))) != 0)
        continue;
      wanted[e] = known = any = 1;
    }
    if (!known) return usage(argv[a]);
  }
  oracle_init();
  oracle_print_skipped();
  for (int e = 0; e < ELEMENTS; e++) {
    const mxg_element element = element_at(e);
    const int is_default =
        element == MXG_ELEMENT_E4M3FN || element == MXG_ELEMENT_E5M2 || element == MXG_ELEMENT_E2M1;
    if (any ? wanted[e] : is_default) differ |= sweep(element, overflow, j, jobs);
  }
  return differ;
}
