/* memory.c: the transport of one process that plays every rank.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "ep.h"

bool ep_start(int *argc, char ***argv, ep_group *group) {
  (void)argc;
  (void)argv;
  *group = (ep_group){0, EP_RANKS};
  return true;
}

bool ep_exchange(const ep_group *group, const ep_message *out, ep_message *in) {
  for (size_t to = 0; to < group->count; to++)
    for (size_t from = 0; from < EP_RANKS; from++) {
      const ep_message *const message = &out[from * EP_RANKS + to];
      unsigned char *const copy = malloc(message->size + 1);
      in[to * EP_RANKS + from] = (ep_message){copy, message->size};
      if (!copy) return false;
      if (message->size) memcpy(copy, message->bytes, message->size);
    }
  return true;
}

bool ep_gather(const ep_group *group, const ep_outcome *mine, ep_outcome *all, bool *is_root) {
  memcpy(all, mine, group->count * sizeof *all);
  *is_root = true;
  return true;
}

bool ep_everyone(bool fine) {
  return fine;
}

void ep_stop(bool fine) {
  (void)fine;
}
