/* tokens.c: the tokens of a rank and their routing, the same on every machine.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "ep.h"

/* Live tokens of the 8 ranks: none, one, a decode batch, a full one. */
static const size_t live_tokens[EP_RANKS] = {0, 1, 112, 128, 128, 112, 1, 0};

/* splitmix64. */
static uint64_t next(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* About N(0, 1): the sum of four 16-bit uniforms, exact in f32. */
static float bell(uint64_t *state) {
  const uint64_t bits = next(state);
  const int32_t sum =
      (int32_t)((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48)) -
      131070;
  return (float)sum / 37837.0f; /* the deviation of the sum */
}

static void route(ep_tokens *tokens, size_t rank, size_t token, uint64_t *state) {
  int32_t *const expert = tokens->expert + token * tokens->top_k;
  float *const weight = tokens->weight + token * tokens->top_k;
  float total = 0.0f;
  for (size_t k = 0; k < tokens->top_k; k++) {
    bool drawn = false;
    if (k == 8) { /* the ninth is the shared expert, which every rank has */
      expert[k] = EP_EXPERTS + (int32_t)rank;
      drawn = true;
    }
    while (!drawn) {
      expert[k] = (int32_t)(next(state) % EP_EXPERTS);
      drawn = true;
      for (size_t j = 0; j < k; j++) drawn = drawn && expert[j] != expert[k];
    }
    weight[k] = 0.25f + (float)(next(state) >> 40) / 16777216.0f;
    total += weight[k];
  }
  for (size_t k = 0; k < tokens->top_k; k++) {
    weight[k] /= total;
    /* masked experts: one in sixteen; every expert of the last token of a large batch */
    if (next(state) % 16 == 0 || (token > 1 && token + 1 == tokens->count)) expert[k] = -1;
  }
}

bool ep_tokens_make(ep_tokens *tokens, size_t rank, size_t hidden, size_t top_k) {
  const size_t count = live_tokens[rank];
  uint64_t state = 1000 * hidden + 10 * top_k + rank;
  *tokens = (ep_tokens){count, hidden, top_k, NULL, NULL, NULL};
  float *const row = malloc(hidden * sizeof *row);
  tokens->x = malloc((count * hidden + 1) * sizeof *tokens->x);
  tokens->expert = malloc((count * top_k + 1) * sizeof *tokens->expert);
  tokens->weight = malloc((count * top_k + 1) * sizeof *tokens->weight);
  bool fine = row && tokens->x && tokens->expert && tokens->weight;
  for (size_t token = 0; fine && token < count; token++) {
    /* tokens differ in size by powers of two, one is all zero, one in 32 is so large that its FP8
     * blocks need a scale, and each has a few outliers */
    const float usual = token == 5 ? 0.0f : (float)(1u << token % 8) / 16.0f;
    const float size = token % 32 == 7 ? 256.0f : usual;
    for (size_t i = 0; i < hidden; i++) row[i] = size * bell(&state);
    for (int i = 0; i < 4; i++) row[next(&state) % hidden] = 16.0f * size;
    fine = mxg_from_f32(MXG_DTYPE_BF16, row, hidden, tokens->x + token * hidden) == MXG_OK;
    route(tokens, rank, token, &state);
  }
  free(row);
  if (!fine) ep_tokens_free(tokens);
  return fine;
}

void ep_tokens_free(ep_tokens *tokens) {
  free(tokens->x);
  free(tokens->expert);
  free(tokens->weight);
  *tokens = (ep_tokens){0, 0, 0, NULL, NULL, NULL};
}

int ep_rank_of(const ep_tokens *tokens, size_t token, size_t k) {
  const int32_t expert = tokens->expert[token * tokens->top_k + k];
  if (expert < 0) return -1;
  return expert < EP_EXPERTS ? expert / (EP_EXPERTS / EP_RANKS) : expert - EP_EXPERTS;
}

bool ep_is_source(const ep_tokens *tokens, size_t token, size_t k) {
  const int rank = ep_rank_of(tokens, token, k);
  for (size_t j = 0; j < k; j++)
    if (ep_rank_of(tokens, token, j) == rank) return false;
  return rank >= 0;
}

float ep_rank_weight(const ep_tokens *tokens, size_t token, int rank) {
  float sum = 0.0f;
  for (size_t k = 0; k < tokens->top_k; k++)
    if (ep_rank_of(tokens, token, k) == rank) sum += tokens->weight[token * tokens->top_k + k];
  return sum;
}
