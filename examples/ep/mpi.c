/* mpi.c: the transport of one process per rank. The bytes that a rank packed cross processes by
 * all-to-all; nothing else does.
 * SPDX-License-Identifier: MIT */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ep.h"

bool ep_start(int *argc, char ***argv, ep_group *group) {
  int rank = 0, ranks = 0;
  if (MPI_Init(argc, argv) != MPI_SUCCESS || MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
      MPI_Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS)
    return false;
  *group = (ep_group){(size_t)rank, 1};
  if (ranks == EP_RANKS) return true;
  if (rank == 0)
    (void)fprintf(stderr, "ep: %d processes, need %d: mpirun -np 8\n", ranks, EP_RANKS);
  return false;
}

bool ep_exchange(const ep_group *group, const ep_message *out, ep_message *in) {
  int send[EP_RANKS], receive[EP_RANKS], send_at[EP_RANKS], receive_at[EP_RANKS];
  int send_total = 0, receive_total = 0;
  (void)group;
  for (int r = 0; r < EP_RANKS; r++) {
    send[r] = (int)out[r].size; /* at most 128 rows of 14,336 bytes */
    send_at[r] = send_total;
    send_total += send[r];
  }
  if (MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS)
    return false;
  for (int r = 0; r < EP_RANKS; r++) {
    receive_at[r] = receive_total;
    receive_total += receive[r];
  }
  unsigned char *const outbox = malloc((size_t)send_total + 1);
  unsigned char *const inbox = malloc((size_t)receive_total + 1);
  bool fine = outbox && inbox;
  for (int r = 0; fine && r < EP_RANKS; r++)
    if (send[r]) memcpy(outbox + send_at[r], out[r].bytes, (size_t)send[r]);
  /* a process that is out of memory takes part with nothing, and all of them fail together */
  fine = ep_everyone(fine) && MPI_Alltoallv(outbox, send, send_at, MPI_BYTE, inbox, receive,
                                            receive_at, MPI_BYTE, MPI_COMM_WORLD) == MPI_SUCCESS;
  for (int r = 0; fine && r < EP_RANKS; r++) {
    in[r] = (ep_message){malloc((size_t)receive[r] + 1), (size_t)receive[r]};
    fine = in[r].bytes != NULL;
    if (fine && receive[r]) memcpy(in[r].bytes, inbox + receive_at[r], (size_t)receive[r]);
  }
  free(outbox);
  free(inbox);
  return fine;
}

bool ep_gather(const ep_group *group, const ep_outcome *mine, ep_outcome *all, bool *is_root) {
  *is_root = group->first == 0;
  return MPI_Gather(mine, sizeof *mine, MPI_BYTE, all, sizeof *mine, MPI_BYTE, 0, MPI_COMM_WORLD) ==
         MPI_SUCCESS;
}

bool ep_everyone(bool fine) {
  const int mine = fine;
  int all = 0;
  return MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && all;
}

void ep_stop(bool fine) {
  if (fine)
    (void)MPI_Finalize();
  else
    (void)MPI_Abort(MPI_COMM_WORLD, 1);
}
