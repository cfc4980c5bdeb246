/* planted_static.c: a fault that a checker of sources must see, or it sees nothing. Never built.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

int mxg_planted(int which);

int mxg_planted(int which) {
  char *bytes = malloc(16);
  if (bytes == NULL) return 2;
  bytes[0] = 1;
  if (which > 2) return 1; /* leaks */
  free(bytes);
  return 0;
}
