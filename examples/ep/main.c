/* main.c: expert parallelism over 8 ranks: each dispatch type with each combine type, its bytes and
 * its accuracy, in one table. docs/EP.md explains the columns.
 *
 * usage: mxgold_ep [--hidden H] [--top-k K]
 *        mpirun -np 8 mxgold_ep_mpi [--hidden H] [--top-k K]
 * exit: 0 all inside bound and gate, 1 something is not, 2 usage
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ep.h"

static const size_t hidden_sizes[] = {7168, 4096}, top_ks[] = {8, 9};

typedef struct choice {
  size_t hidden, top_k; /* 0 = all */
} choice;

static bool read_number(const char *text, const size_t *allowed, size_t count, size_t *value) {
  char *end = NULL;
  const unsigned long number = text ? strtoul(text, &end, 10) : 0;
  for (size_t i = 0; text && *text && !*end && i < count; i++)
    if (allowed[i] == number) {
      *value = number;
      return true;
    }
  return false;
}

static bool read_options(int argc, char **argv, choice *only) {
  for (int i = 1; i < argc; i += 2) {
    const char *const value = i + 1 < argc ? argv[i + 1] : NULL;
    if (!(strcmp(argv[i], "--hidden") == 0 && read_number(value, hidden_sizes, 2, &only->hidden)) &&
        !(strcmp(argv[i], "--top-k") == 0 && read_number(value, top_ks, 2, &only->top_k))) {
      (void)fprintf(stderr, "usage: %s [--hidden 7168|4096] [--top-k 8|9]\n", argv[0]);
      return false;
    }
  }
  return true;
}

/* One line of the table. */
static bool print(const ep_wire *dispatch, const ep_wire *combine, size_t hidden, size_t top_k,
                  const ep_outcome *outcomes) {
  ep_outcome sum = {0.0, 0.0, 0.0, 0.0, 0.0, 0xCBF29CE484222325u};
  for (size_t r = 0; r < EP_RANKS; r++) { /* in rank order, whoever played them */
    sum.error2 += outcomes[r].error2;
    sum.reference2 += outcomes[r].reference2;
    sum.rows += outcomes[r].rows;
    sum.nans += outcomes[r].nans;
    if (!(outcomes[r].worst <= sum.worst)) sum.worst = outcomes[r].worst;
    for (int i = 0; i < 64; i += 8)
      sum.digest = (sum.digest ^ (outcomes[r].digest >> i & 255)) * 0x100000001B3u;
  }
  const double gate = dispatch->gate > combine->gate ? dispatch->gate : combine->gate;
  const double relative = sqrt(sum.error2 / sum.reference2);
  const double row_bytes = (double)(dispatch->row_bytes + combine->row_bytes);
  const double bits = -log2(relative);
  const bool inside = sum.worst <= 1.0, accepted = relative < gate;
  (void)printf("%6zu %5zu  %-8s %-15s %8zu %8zu %7.2f %9.5f %5.2f %7.3f %10.2f %5.0f  %016" PRIx64
               "%s%s\n",
               hidden, top_k, dispatch->name, combine->name, dispatch->row_bytes,
               combine->row_bytes, sum.rows * row_bytes / 1e6, relative, gate, sum.worst,
               bits * 2.0 * (double)hidden / row_bytes, sum.nans, sum.digest,
               inside ? "" : "  OUTSIDE THE BOUND", accepted ? "" : "  OUTSIDE THE GATE");
  return inside && accepted;
}

static bool shape(const ep_group *group, size_t hidden, size_t top_k) {
  ep_tokens tokens[EP_RANKS];
  memset(tokens, 0, sizeof tokens);
  bool fine = true, good = true;
  for (size_t i = 0; fine && i < group->count; i++)
    fine = ep_tokens_make(&tokens[i], group->first + i, hidden, top_k);
  fine = ep_everyone(fine);
  for (size_t i = 0; fine && i < (size_t)EP_DISPATCHES * EP_COMBINES; i++) {
    ep_wire dispatch, combine;
    ep_outcome mine[EP_RANKS], all[EP_RANKS];
    bool is_root = false;
    fine = ep_everyone(ep_dispatch_wire(i / EP_COMBINES, hidden, &dispatch) &&
                       ep_combine_wire(i % EP_COMBINES, hidden, top_k, &combine)) &&
           ep_round_trip(group, tokens, &dispatch, &combine, mine) &&
           ep_gather(group, mine, all, &is_root);
    if (fine && is_root) good = print(&dispatch, &combine, hidden, top_k, all) && good;
  }
  for (size_t i = 0; i < group->count; i++) ep_tokens_free(&tokens[i]);
  return fine && good;
}

int main(int argc, char **argv) {
  ep_group group = {0, 0};
  choice only = {0, 0};
  bool fine = ep_start(&argc, &argv, &group);
  const bool usage = !fine || !read_options(argc, argv, &only);
  if (!usage && group.first == 0)
    (void)printf(
        "hidden top_k  dispatch combine         dispatch  combine      MB     relL2  gate"
        "   worst  bits/byte  lost  output\n");
  for (size_t i = 0; !usage && i < 4; i++) {
    const size_t hidden = hidden_sizes[i / 2], top_k = top_ks[i % 2];
    if ((only.hidden == 0 || only.hidden == hidden) && (only.top_k == 0 || only.top_k == top_k))
      fine = shape(&group, hidden, top_k) && fine;
  }
  ep_stop(fine && !usage);
  return usage ? 2 : fine ? 0 : 1;
}
