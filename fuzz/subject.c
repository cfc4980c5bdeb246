/* subject.c: the codec under test is ours.
 * SPDX-License-Identifier: MIT */
#include "subject.h"

const fuzz_subject fuzz_subject_under_test = {NULL,         (mxg_dtype)0,   0,          0,
                                              mxg_quantize, mxg_dequantize, mxg_combine};
