/* ep.h: expert parallelism over 8 ranks, played with mxgold's bytes: dispatch, identity experts,
 * combine. See docs/EP.md.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_EXAMPLES_EP_H
#define MXGOLD_EXAMPLES_EP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mxgold.h"

enum {
  EP_RANKS = 8,
  EP_EXPERTS = 256,    /* routed; expert e lives on rank e / 32 */
  EP_MAX_TOKENS = 128, /* of one rank: what buffers are sized by */
  EP_MAX_TOP_K = 9,
  EP_MORI_SCALES = 56 /* scales that MoRI stores for every row of a combine slot */
};

/* How values travel one way: a recipe and its slots, or bf16 as it is. */
typedef struct ep_wire {
  const char *name;
  bool bf16;        /* no recipe: 2 bytes an element */
  bool weighs_rows; /* the quantiser multiplies by the row weight, not the expert */
  double gate;      /* relL2 that the serving systems accept: 0.25 with FP4, else 0.10 */
  mxg_recipe recipe;
  mxg_layout layout; /* slots of EP_RANKS * EP_MAX_TOKENS rows */
  size_t row_bytes;  /* of one token's slot */
} ep_wire;

enum { EP_DISPATCHES = 4, EP_COMBINES = 5 };

/* Number `index` of the dispatch or combine types for a hidden size; false if its bytes are not
 * those of docs/LAYOUT.md (which it prints). */
bool ep_dispatch_wire(size_t index, size_t hidden, ep_wire *wire);
bool ep_combine_wire(size_t index, size_t hidden, size_t top_k, ep_wire *wire);

/* n rows of bf16 into slots, and back. row_weight may be NULL. */
bool ep_pack(const ep_wire *wire, const uint16_t *x, const float *row_weight, size_t rows,
             size_t hidden, unsigned char *slots);
bool ep_unpack(const ep_wire *wire, const unsigned char *slots, size_t rows, size_t hidden,
               uint16_t *y);

/* The sum of a token's slots, in ascending top-k order, NULL where there is none. */
bool ep_sum(const ep_wire *wire, const void *const *slots, size_t top_k, size_t tokens,
            size_t hidden, uint16_t *y);

/* The tokens of one rank and where they go. */
typedef struct ep_tokens {
  size_t count, hidden, top_k;
  uint16_t *x;     /* count x hidden, bf16 */
  int32_t *expert; /* count x top_k; -1 = none; EP_EXPERTS + r = the shared expert on rank r */
  float *weight;   /* count x top_k; those of one token sum to about 1 */
} ep_tokens;

bool ep_tokens_make(ep_tokens *tokens, size_t rank, size_t hidden, size_t top_k);
void ep_tokens_free(ep_tokens *tokens);

/* Rank of the expert at (token, k), or -1 for none. */
int ep_rank_of(const ep_tokens *tokens, size_t token, size_t k);

/* Does k come first among the token's experts of its rank? Only then is a row sent for it. */
bool ep_is_source(const ep_tokens *tokens, size_t token, size_t k);

/* Sum of the token's weights of experts on `rank`, in top-k order. */
float ep_rank_weight(const ep_tokens *tokens, size_t token, int rank);

/* Bytes that one rank sends another. */
typedef struct ep_message {
  unsigned char *bytes;
  size_t size;
} ep_message;

/* The ranks that this process plays: all of them, or one per MPI process. */
typedef struct ep_group {
  size_t first, count;
} ep_group;

/* What a rank found out about its own tokens. */
typedef struct ep_outcome {
  double error2, reference2; /* sums of squares, of out - expected and of expected */
  double worst;              /* largest |out - expected| / bound */
  double rows;               /* rows sent, one per token and distinct rank */
  double nans;     /* outputs lost to an overflow that the combine type does not saturate */
  uint64_t digest; /* of the output's bytes */
} ep_outcome;

/* The transport (memory or MPI). out and in: group->count x EP_RANKS messages, in[i][r] is what
 * rank r sent to the i-th rank of the group. The caller frees in[].bytes. */
bool ep_start(int *argc, char ***argv, ep_group *group);
bool ep_exchange(const ep_group *group, const ep_message *out, ep_message *in);
/* All ranks' outcomes, in rank order, to the process that has rank 0; others get false in *is_root. */
bool ep_gather(const ep_group *group, const ep_outcome *mine, ep_outcome *all, bool *is_root);
/* Does anybody's differ from `fine`? */
bool ep_everyone(bool fine);
void ep_stop(bool fine);

/* One round trip of every rank of the group. */
bool ep_round_trip(const ep_group *group, const ep_tokens *tokens, const ep_wire *dispatch,
                   const ep_wire *combine, ep_outcome *outcomes);

/* Compares what came out with what should have, element by element (docs/EP.md, "The bound").
 * sent      the rank's own dispatch slots.
 * returned  slots[token * top_k + k] as they were summed.
 * y         the output. */
bool ep_judge(const ep_tokens *tokens, const ep_wire *dispatch, const unsigned char *sent,
              const ep_wire *combine, const void *const *returned, const uint16_t *y,
              ep_outcome *outcome);

#endif
