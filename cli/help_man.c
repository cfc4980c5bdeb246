/* help_man.c: what stands before and after the commands in the manual page.
 * SPDX-License-Identifier: MIT */
#include "help.h"

#include <stdio.h>

void mxg_print_man_begin(void) {
  printf(
      ".\\\" Written by `mxgold help --man` of version %s: change the tool, not this file.\n"
      ".\\\" SPDX-License-Identifier: MIT\n",
      mxg_version());
  fputs(
      ".Dd November 29, 2026\n"
      ".Dt MXGOLD 1\n"
      ".Os\n"
      ".Sh NAME\n"
      ".Nm mxgold\n"
      ".Nd the exact bytes of low-precision conventions\n"
      ".Sh SYNOPSIS\n"
      ".Nm\n"
      ".Ar command\n"
      ".Op Ar options\n"
      ".Nm\n"
      ".Ar command\n"
      ".Fl \\-help\n"
      ".Nm\n"
      ".Fl \\-version\n"
      ".Sh DESCRIPTION\n"
      ".Nm\n"
      "turns values into the exact bytes of a named low\\-precision convention, a\n"
      "recipe, and back, and says which byte of another program's output is wrong.\n"
      "The formats are FP8, FP6 and FP4 elements under E8M0 or f32 block scales, and\n"
      "the weighted sum of such rows.\n"
      ".Pp\n"
      "A recipe is a preset, a preset with changes\n"
      ".Pq Ql mori\\-fp8,block=256 ,\n"
      "or every field spelled out;\n"
      ".Ql mxgold recipes\n"
      "lists them.\n"
      ".Pp\n"
      "Files are\n"
      ".Pa .npy ,\n"
      ".Pa .safetensors\n"
      "or raw with\n"
      ".Fl \\-dtype\n"
      "and\n"
      ".Fl \\-shape ;\n"
      ".Ql \\-\n"
      "is standard input or output.\n"
      "Output to a file appears whole or not at all.\n"
      "Each command has\n"
      ".Fl \\-help .\n"
      ".Sh COMMANDS\n",
      stdout);
}

void mxg_print_man_end(void) {
  fputs(
      ".Sh EXIT STATUS\n"
      ".Bl -tag -width Ds\n"
      ".It 0\n"
      "Done, or the same.\n"
      ".It 1\n"
      "Something differs.\n"
      ".It 2\n"
      "Options or recipe, also a raw file whose size does not fit\n"
      ".Fl \\-shape .\n"
      ".It 3\n"
      "Anything in a file, and every failure to read or write one.\n"
      ".El\n"
      ".Pp\n"
      "Messages go to standard error and name the file, field and offset.\n"
      ".Sh EXAMPLES\n"
      "Quantise a tensor, and check another program's answer byte by byte:\n"
      ".Bd -literal -offset indent\n"
      "mxgold quantize weights.npy \\-\\-recipe mxfp4 \\-o weights.mxfp4.safetensors\n"
      "mxgold compare theirs.safetensors \\-\\-input weights.npy \\-\\-recipe mxfp4\n"
      ".Ed\n"
      ".Sh STANDARDS\n"
      "The numerics are written down in\n"
      ".Pa NUMERICS.md ,\n"
      "the orders of scales and sizes of buffers in\n"
      ".Pa LAYOUT.md ,\n"
      "both installed with the documentation.\n",
      stdout);
}
