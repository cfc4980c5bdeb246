/* slow_scales.c: all 2^31 amax through the E8M0 rules, and the counts that section 4 and 5 state.
 *
 *   slow_scales [--step N] [--every N] [--jobs N] [PART...]
 *
 * PART, all of them when none is named:
 *   rules      library = golden model on every positive float, NaN included, for E2M1 and E4M3FN and
 *              every rule and inf_scale; the rational oracle on every N-th (--step, 256; 0 =
 *              never)
 *   exception  rceil differs from the exact ceil(log2(amax / max)) in one float per format
 *   log2       for how many floats floor(log2f(x)) is wrong where the floor rule is right
 *   apply      in how many codes the three apply modes differ over all bf16 pairs 0 <= x <= amax
 * --every N takes one chunk of 65,536 floats in N of `rules`, for a sample.
 * Exit 0 as stated, 1 different, 2 usage.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "element_inputs.h"
#include "oracle_map.h"
#include "sweep.h"

/* Codes that differ, of 532 million pairs. */
#define APPLY_DIV_RCP 34157
#define APPLY_DIV_MAX 23401
#define APPLY_RCP_MAX 16476

typedef struct job {
  mxg_recipe recipe;
  uint32_t step;
  uint32_t every;
  uint64_t first_chunk;
} job;

static float amax[SWEEP_CHUNK];

static uint32_t fill(uint64_t chunk) {
  const uint32_t first = (uint32_t)(chunk * SWEEP_CHUNK);
  for (uint32_t i = 0; i < SWEEP_CHUNK; i++) amax[i] = float_of(first + i);
  return first;
}

static void require(mxg_status status) {
  if (status == MXG_OK) return;
  fprintf(stderr, "slow_scales: status %d\n", (int)status);
  exit(EXIT_FAILURE);
}

static void rules_work(const void *what, uint64_t chunk, sweep_result *result) {
  static uint8_t codec[SWEEP_CHUNK], ref[SWEEP_CHUNK];
  const job *j = what;
  const uint32_t first = fill(j->first_chunk + chunk * j->every);
  require(mxg_e8m0_from_amax(&j->recipe, amax, SWEEP_CHUNK, codec));
  require(mxg_ref_e8m0_from_amax(&j->recipe, amax, SWEEP_CHUNK, ref));
  result->count += SWEEP_CHUNK;
  if (memcmp(codec, ref, SWEEP_CHUNK) != 0) {
    for (uint32_t i = 0; i < SWEEP_CHUNK; i++) {
      if (codec[i] == ref[i]) continue;
      result->mismatches++;
      sweep_complain("codec against ref", first + i, codec[i], ref[i]);
    }
  }
  if (j->step != 0) {
    for (uint32_t i = (j->step - first % j->step) % j->step; i < SWEEP_CHUNK; i += j->step) {
      const uint8_t want = oracle_e8m0_of(&j->recipe, first + i);
      result->count++;
      if (codec[i] == want) continue;
      result->mismatches++;
      sweep_complain("codec against the oracle", first + i, codec[i], want);
    }
  }
  result->digest = sweep_digest(0, codec, SWEEP_CHUNK);
}

static int rules(uint32_t step, uint32_t every, int jobs) {
  static const char *const rule_names[] = {"",     "floor", "even",  "even21",
                                           "half", "ceil",  "rceil", "rceil_bump"};
  static const char *const inf_names[] = {"", "nan", "max", "field"};
  const mxg_element elements[2] = {MXG_ELEMENT_E2M1, MXG_ELEMENT_E4M3FN};
  int differ = 0;
  for (int e = 0; e < 2; e++) {
    for (int rule = 1; rule <= 7; rule++) {
      const int infs = rule == MXG_RULE_RCEIL || rule == MXG_RULE_RCEIL_BUMP ? 2 : 3;
      for (int inf = 1; inf <= infs; inf++) {
        char name[64];
        sweep_result total;
        job j = {e8m0_recipe(elements[e], (mxg_rule)rule, 32), step, every, 0};
        j.recipe.inf_scale = (mxg_inf_scale)inf;
        snprintf(name, sizeof name, "%s %s, inf_scale %s", element_name(elements[e]),
                 rule_names[rule], inf_names[inf]);
        /* inf_scale decides nothing but bytes of 255 and more: the top eighth has them all. */
        if (inf > 1) j.first_chunk = 32768 - 32768 / 8;
        differ |= sweep_run(name, (32768 - j.first_chunk) / every, jobs, rules_work, &j, &total);
      }
    }
  }
  return differ;
}

static void exception_work(const void *what, uint64_t chunk, sweep_result *result) {
  static uint8_t codec[SWEEP_CHUNK];
  const job *j = what;
  const oracle_format format = oracle_format_of(j->recipe.element);
  const uint32_t first = fill(chunk);
  require(mxg_e8m0_from_amax(&j->recipe, amax, SWEEP_CHUNK, codec));
  if (first >= ORACLE_INF) return;
  /* The exact byte grows with amax: where both ends of a chunk agree, all between them do. */
  const int low = first == 0 ? 0 : oracle_e8m0_exact_ceil(format, first);
  const int high = oracle_e8m0_exact_ceil(format, first + SWEEP_CHUNK - 1);
  for (uint32_t i = first == 0; i < SWEEP_CHUNK; i++) {
    const int exact = low == high ? low : oracle_e8m0_exact_ceil(format, first + i);
    result->count++;
    /* The differences are what is counted: their sum of bits goes into the digest. */
    if (codec[i] != exact) result->digest += ((uint64_t)1 << 32) + first + i;
  }
}

typedef struct exception_job {
  job base;
  uint32_t float_bits;
} exception_job;

static void exception_check(const void *what, uint64_t chunk, sweep_result *result) {
  const exception_job *j = what;
  exception_work(&j->base, chunk, result);
  const uint64_t here =
      j->float_bits / SWEEP_CHUNK == chunk ? ((uint64_t)1 << 32) + j->float_bits : 0;
  if (result->digest == here) return;
  result->mismatches++;
  sweep_complain("rceil against the exact ceil, differences", (uint32_t)chunk * SWEEP_CHUNK,
                 (uint32_t)(result->digest >> 32), (uint32_t)(here >> 32));
}

static int exceptions(int jobs) {
  static const uint32_t known[ELEMENTS] = {0x04600001, 0x03F00001, 0x07E00001, 0x07E00001,
                                           0x01400001, 0x01700001, 0x02600001};
  int differ = 0;
  for (int e = 0; e < ELEMENTS; e++) {
    char name[64];
    sweep_result total;
    const exception_job j = {{e8m0_recipe(element_at(e), MXG_RULE_RCEIL, 32), 0, 1, 0}, known[e]};
    snprintf(name, sizeof name, "%s rceil exact but for %08X", element_name(element_at(e)),
             (unsigned)known[e]);
    differ |= sweep_run(name, 32768, jobs, exception_check, &j, &total);
  }
  return differ;
}

/* log2f is the C library's: its errors are counted and printed, and only have to be there. The floor
 * rule must be right at each of them. */
static int log2_errors(void) {
  const mxg_recipe recipe = e8m0_recipe(MXG_ELEMENT_E2M1, MXG_RULE_FLOOR, 32);
  unsigned wrong = 0, rule_wrong = 0;
  for (uint32_t bits = 1; bits < ORACLE_INF; bits++) {
    const float x = float_of(bits);
    int exponent = (int)(bits >> 23) - 127;
    if (bits < 0x00800000)
      for (exponent = -149; bits >> (exponent + 150) != 0;) exponent++;
    if (floorf(log2f(x)) == (float)exponent) continue;
    uint8_t byte = 0;
    wrong++;
    require(mxg_e8m0_from_amax(&recipe, &x, 1, &byte));
    rule_wrong += byte != (exponent + 127 > 2 ? exponent + 127 - 2 : 0);
  }
  printf(
      "floor(log2f(x)) is wrong for %u floats (7456 with the C library of Debian 12), "
      "the floor rule for %u of them\n",
      wrong, rule_wrong);
  return rule_wrong != 0 || wrong == 0;
}

/* One row for each amax: every bf16 from 0 to amax in one block, scale = amax / 448. Blocks whose
 * fl(1 / s) is Inf are left out: there mul_rcp and mul_max are another thing altogether. */
static int apply_differences(void) {
  static const uint64_t want[3] = {APPLY_DIV_RCP, APPLY_DIV_MAX, APPLY_RCP_MAX};
  static uint16_t x[32768];
  static uint8_t codes[3][32768], scale[4];
  uint64_t pairs = 0, differ[3] = {0, 0, 0};
  for (uint32_t i = 0; i < 32768; i++) x[i] = (uint16_t)i;
  for (uint32_t top = 0; top < 0x7F80; top++) {
    const size_t count = (size_t)top + 1;
    for (int apply = 0; apply < 3; apply++) {
      const mxg_recipe recipe = f32_recipe(MXG_ELEMENT_E4M3FN, MXG_SCALE_MATH_DIV,
                                           (mxg_apply)(apply + 1), (uint32_t)count);
      const mxg_matrix_view view = {x, MXG_DTYPE_BF16, 1, count, 0};
      mxg_packed out = {codes[apply], sizeof codes[apply], scale, sizeof scale, {0}};
      require(mxg_layout_for(&recipe, 1, count, NULL, &out.layout));
      require(mxg_quantize(&recipe, &view, NULL, &out, NULL));
    }
    const uint32_t s = (uint32_t)scale[0] | (uint32_t)scale[1] << 8 | (uint32_t)scale[2] << 16 |
                       (uint32_t)scale[3] << 24;
    if (oracle_div(bits_of(1.0f), s) == ORACLE_INF) continue;
    for (size_t i = 0; i < count; i++) {
      differ[0] += codes[0][i] != codes[1][i];
      differ[1] += codes[0][i] != codes[2][i];
      differ[2] += codes[1][i] != codes[2][i];
    }
    pairs += count;
  }
  printf(
      "apply over %llu bf16 pairs: div and mul_rcp differ in %llu codes, div and mul_max in "
      "%llu, mul_rcp and mul_max in %llu\n",
      (unsigned long long)pairs, (unsigned long long)differ[0], (unsigned long long)differ[1],
      (unsigned long long)differ[2]);
  return memcmp(differ, want, sizeof want) != 0;
}

int main(int argc, char **argv) {
  static const char *const parts[] = {"rules", "exception", "log2", "apply"};
  int wanted[4] = {0}, any = 0, differ = 0, jobs = sweep_processors();
  uint32_t step = 256, every = 1;
  for (int a = 1; a < argc; a++) {
    int known = 0;
    if (strcmp(argv[a], "--step") == 0 && a + 1 < argc) {
      step = (uint32_t)strtoul(argv[++a], NULL, 10);
      continue;
    }
    if (strcmp(argv[a], "--every") == 0 && a + 1 < argc && atoi(argv[a + 1]) > 0) {
      every = (uint32_t)atoi(argv[++a]);
      continue;
    }
    if (strcmp(argv[a], "--jobs") == 0 && a + 1 < argc && atoi(argv[a + 1]) > 0) {
      jobs = atoi(argv[++a]);
      continue;
    }
    for (int p = 0; p < 4; p++)
      if (strcmp(argv[a], parts[p]) == 0) wanted[p] = known = any = 1;
    if (known) continue;
    fprintf(stderr,
            "slow_scales: '%s'?\nusage: slow_scales [--step N] [--every N] [--jobs N] "
            "[rules|exception|log2|apply...]\n",
            argv[a]);
    return 2;
  }
  oracle_init();
  if (!any || wanted[0]) differ |= rules(step, every, jobs);
  if (!any || wanted[1]) differ |= exceptions(jobs);
  if (!any || wanted[2]) differ |= log2_errors();
  if (!any || wanted[3]) differ |= apply_differences();
  return differ;
}
