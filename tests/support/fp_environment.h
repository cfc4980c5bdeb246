/* fp_environment.h: floating-point environments other than the default, for the calling thread.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_FP_ENVIRONMENT_H
#define TESTS_SUPPORT_FP_ENVIRONMENT_H

#include <stdbool.h>

typedef enum fp_environment {
  FPENV_DEFAULT,
  FPENV_FTZ, /* results below the smallest normal number become 0 */
  FPENV_DAZ, /* and operands; where the machine has one switch for both, the same as FPENV_FTZ */
  FPENV_FTZ_DAZ, /* what torch.set_flush_denormal(True) sets */
  FPENV_DOWN,
  FPENV_UP,
  FPENV_ZERO,
  FPENV_FTZ_DAZ_UP,
  FPENV_ENVIRONMENTS
} fp_environment;

/* false, and nothing changed, on a machine that this file does not know. Put FPENV_DEFAULT back before
 * anything else computes. */
bool fp_environment_set(fp_environment environment);

/* Exceptions that trap (SIGFPE), all but that of subnormal operands; kept by fp_environment_set(). false,
 * and nothing changed, where they cannot. */
bool fp_traps_set(bool on);

/* Conversions from and to binary16 without Inf and NaN (FPCR.AHP), kept by fp_environment_set();
 * false on machines that have no such thing. */
bool fp_alternative_half_set(bool on);

const char *fp_environment_name(fp_environment environment);

#endif
