/* round_trip.c: what the ranks do: dispatch, experts, combine.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "ep.h"

/* A dispatched token on the wire: its slot; behind all slots of a message one f32 a token, the
 * weight of the receiving rank's experts. */
static size_t message_rows(const ep_message *message, const ep_wire *dispatch) {
  return message->size / (dispatch->row_bytes + sizeof(float));
}

/* Rows of one rank's tokens for each other rank, in token order. */
static bool send_tokens(const ep_tokens *tokens, const ep_wire *dispatch, unsigned char *slots,
                        ep_message *out) {
  if (!ep_pack(dispatch, tokens->x, NULL, tokens->count, tokens->hidden, slots)) return false;
  for (int to = 0; to < EP_RANKS; to++) {
    size_t rows[EP_MAX_TOKENS], count = 0;
    for (size_t token = 0; token < tokens->count; token++)
      for (size_t k = 0; k < tokens->top_k; k++)
        if (ep_is_source(tokens, token, k) && ep_rank_of(tokens, token, k) == to)
          rows[count++] = token;
    out[to].size = count * (dispatch->row_bytes + sizeof(float));
    out[to].bytes = malloc(out[to].size + 1);
    if (!out[to].bytes) return false;
    for (size_t i = 0; i < count; i++) {
      const float weight = ep_rank_weight(tokens, rows[i], to);
      memcpy(out[to].bytes + i * dispatch->row_bytes, slots + rows[i] * dispatch->row_bytes,
             dispatch->row_bytes);
      memcpy(out[to].bytes + count * dispatch->row_bytes + i * sizeof weight, &weight,
             sizeof weight);
    }
  }
  return true;
}

/* Identity experts: each row comes back multiplied by the weight of this rank's experts, rounded to
 * bf16 as an expert's output is, or weighed by the quantiser. */
static bool run_experts(const ep_message *in, size_t hidden, const ep_wire *dispatch,
                        const ep_wire *combine, unsigned char *slots, uint16_t *x,
                        ep_message *back) {
  const size_t rows = message_rows(in, dispatch);
  float *const weight = malloc((rows + hidden) * sizeof *weight);
  float *const row = weight ? weight + rows : NULL;
  bool fine = weight && ep_unpack(dispatch, in->bytes, rows, hidden, x);
  if (fine && rows) memcpy(weight, in->bytes + rows * dispatch->row_bytes, rows * sizeof *weight);
  for (size_t r = 0; fine && !combine->weighs_rows && r < rows; r++) {
    fine = mxg_to_f32(MXG_DTYPE_BF16, x + r * hidden, hidden, row) == MXG_OK;
    for (size_t i = 0; fine && i < hidden; i++) row[i] *= weight[r];
    fine = fine && mxg_from_f32(MXG_DTYPE_BF16, row, hidden, x + r * hidden) == MXG_OK;
  }
  fine = fine && ep_pack(combine, x, combine->weighs_rows ? weight : NULL, rows, hidden, slots);
  back->size = rows * combine->row_bytes;
  back->bytes = malloc(back->size + 1);
  fine = fine && back->bytes;
  if (fine && rows) memcpy(back->bytes, slots, back->size);
  free(weight);
  return fine;
}

/* slots[token * top_k + k] of what came back; rows lie in the order in which they were sent. */
static void find_slots(const ep_tokens *tokens, const ep_wire *combine, const ep_message *in,
                       const void **slots) {
  size_t used[EP_RANKS] = {0};
  for (size_t token = 0; token < tokens->count; token++)
    for (size_t k = 0; k < tokens->top_k; k++) {
      const int rank = ep_rank_of(tokens, token, k);
      const bool source = ep_is_source(tokens, token, k);
      slots[token * tokens->top_k + k] =
          source ? in[rank].bytes + used[rank]++ * combine->row_bytes : NULL;
    }
}

static void free_messages(ep_message *messages, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(messages[i].bytes);
    messages[i] = (ep_message){NULL, 0};
  }
}

bool ep_round_trip(const ep_group *group, const ep_tokens *tokens, const ep_wire *dispatch,
                   const ep_wire *combine, ep_outcome *outcomes) {
  enum { MESSAGES = EP_RANKS * EP_RANKS };
  ep_message out[MESSAGES] = {{NULL, 0}}, in[MESSAGES] = {{NULL, 0}}, back[MESSAGES] = {{NULL, 0}};
  const size_t hidden = tokens[0].hidden, rows = EP_RANKS * EP_MAX_TOKENS;
  const size_t sent_bytes = rows * dispatch->row_bytes;
  unsigned char *const sent = malloc(group->count * sent_bytes);
  unsigned char *const slots = malloc(rows * combine->row_bytes);
  uint16_t *const x = malloc(rows * hidden * sizeof *x);
  const void **const returned = malloc(sizeof *returned * EP_MAX_TOKENS * EP_MAX_TOP_K);
  bool fine = sent && slots && x && returned;
  for (size_t i = 0; fine && i < group->count; i++)
    fine = send_tokens(&tokens[i], dispatch, sent + i * sent_bytes, out + i * EP_RANKS);
  fine = ep_everyone(fine) && ep_exchange(group, out, in);
  for (size_t i = 0; fine && i < group->count * EP_RANKS; i++)
    fine = run_experts(&in[i], hidden, dispatch, combine, slots, x, &back[i]);
  free_messages(in, MESSAGES);
  fine = ep_everyone(fine) && ep_exchange(group, back, in);
  for (size_t i = 0; fine && i < group->count; i++) {
    find_slots(&tokens[i], combine, in + i * EP_RANKS, returned);
    fine =
        ep_sum(combine, returned, tokens[i].top_k, tokens[i].count, hidden, x) &&
        ep_judge(&tokens[i], dispatch, sent + i * sent_bytes, combine, returned, x, &outcomes[i]);
  }
  free_messages(out, MESSAGES);
  free_messages(in, MESSAGES);
  free_messages(back, MESSAGES);
  free(sent);
  free(slots);
  free(x);
  free(returned);
  return ep_everyone(fine);
}
