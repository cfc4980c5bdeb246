/* kernel_list.h: the kernels of codec/kernels.def by name, and how often tests ran each.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_KERNEL_LIST_H
#define TESTS_SUPPORT_KERNEL_LIST_H

#include <stdbool.h>

#include "mxgold.h"

/* Operations beyond mxg_operation: arrays of elements. */
enum { KERNEL_ENCODE = 101, KERNEL_DECODE = 102 };

typedef struct kernel_entry {
  const char *name;
  int operation; /* mxg_operation, KERNEL_ENCODE or KERNEL_DECODE */
  mxg_isa isa;
  uint32_t dtypes; /* bit 1 << dtype */
} kernel_entry;

/* Kernel number `index` in the order of kernels.def; NULL past the last. */
const kernel_entry *kernel_at(size_t index);

/* The instruction sets, portable first; 0 past the last. */
mxg_isa isa_at(size_t index);
const char *isa_name(mxg_isa isa); /* "avx512" */

/* Name of the kernel that serves a call limited to one isa of this CPU, or to any with isa 0. */
const char *kernel_of(const mxg_recipe *recipe, mxg_operation operation, mxg_dtype dtype,
                      uint32_t isa);

/* Name of the kernel of mxg_encode_f32 (KERNEL_ENCODE) or mxg_decode_f32 on this CPU: those calls
 * take no isa mask. */
const char *array_kernel(int operation);

/* Is the call served by more than the portable kernel on this CPU? */
bool is_served(const mxg_recipe *recipe, mxg_operation operation, mxg_dtype dtype);

/* Counts live in memory that child processes share: call kernel_counts_start before the first
 * fork. */
void kernel_counts_start(void);
void kernel_count(const char *name, mxg_dtype dtype);

/* Prints a line per instruction set ("avx512: 5 kernels, 1234 cases", or "skipped: ...").
 * Returns how many kernels that this CPU can run had fewer than `least` cases with one of their
 * data types, and names them. */
int kernel_counts_report(uint64_t least);

#endif
