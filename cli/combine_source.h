/* combine_source.h: one source of a sum: raw slots, a quantised .safetensors, or none.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_CLI_COMBINE_SOURCE_H
#define MXGOLD_CLI_COMBINE_SOURCE_H

#include "tool.h"

typedef enum mxg_summand_kind {
  MXG_SUMMAND_MISSING,
  MXG_SUMMAND_SLOTS,
  MXG_SUMMAND_PACKED
} mxg_summand_kind;

typedef struct mxg_summand {
  mxg_summand_kind kind;
  mxg_tensor_file file;
  mxg_packed_file packed; /* of a PACKED: parts of `file` */
  mxg_layout layout;      /* of a PACKED: as the file stores it */
} mxg_summand;

/* "-" is a missing source; a .safetensors a quantised one; anything else raw slots. */
int mxg_summand_open(const char *path, const char *tensor, mxg_summand *out);
void mxg_summand_close(mxg_summand *source);

/* What a PACKED says of its shape; both counts of elements. */
int mxg_summand_shape(const mxg_summand *source, const mxg_recipe *recipe, size_t *rows,
                      size_t *cols);

/* Does the source hold what `slots`, the layout of all slots, and the recipe say?
 * is_recipe_told: --recipe was given. */
int mxg_summand_check(mxg_summand *source, const mxg_recipe *recipe, const mxg_layout *slots,
                      bool is_recipe_told);

/* The slot of row first + i is at the result + i * slots->slot_bytes, for i < rows; NULL for a
 * missing source. `buffer` has room for rows slots, and is used by a PACKED only. */
const unsigned char *mxg_summand_slots(const mxg_summand *source, const mxg_layout *slots,
                                       size_t first, size_t rows, unsigned char *buffer);

#endif
