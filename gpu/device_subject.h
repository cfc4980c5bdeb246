/* device_subject.h: an open device as a subject of the self-test, and what only a device has.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_DEVICE_SUBJECT_H
#define MXGOLD_DEVICE_SUBJECT_H

#include "mxgold_gpu.h"
#include "selftest.h"

typedef struct mxg_device {
  const mxg_gpu *gpu;
  int is_exact; /* device buffers of exactly their bytes: for memory checkers */
} mxg_device;

/* device must outlive the subject. */
mxg_subject mxg_subject_device(const mxg_device *device, const char *name);

/* Calls on several streams at once, and chains on one stream that nobody waits in, against the golden
 * model. Writes one line. returns 0 equal; 1 a difference or a failure. */
int mxg_selftest_streams(const mxg_gpu *gpu, FILE *out);

/* Quantise and dequantise recorded once as a graph and replayed with other counts behind the live-row
 * pointer (device_graph.c). As above. */
int mxg_selftest_graph(const mxg_gpu *gpu, FILE *out);

/* What the device is: name, chip, lanes, and the elements that it converts natively. */
void mxg_device_describe(const mxg_gpu *gpu, FILE *out);

/* Opens device `index` twice, as it is and with MXG_GPU_PORTABLE, and runs everything on both.
 * options: subjects and subject_count are ignored.
 * returns 0 equal; 1 a difference; 2 the device cannot be opened, after a line on `out`. */
int mxg_selftest_device(int index, const mxg_selftest_options *options, int is_exact);

#endif
