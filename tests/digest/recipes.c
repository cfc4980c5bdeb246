/* recipes.c: recipe text, parsed and printed.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "digest.h"

void digest_recipes(void) {
  static const char *const changes[] = {"",
                                        ",block=64",
                                        ",rule=ceil",
                                        ",amax_floor=1e-10",
                                        ",element_max=5.5",
                                        ",rulee=x",
                                        ",block=0",
                                        ",marker=always",
                                        ",element=e2m1",
                                        ",accumulate=mul_add",
                                        ",,",
                                        ",scale=none",
                                        ",block=7,block=7",
                                        ",nan_amax=ignore",
                                        ",apply=div",
                                        ",edges=ocp",
                                        ",amax_floor=0x1p-30",
                                        ",block=4294967296"};
  const mxg_preset *preset;
  digest_begin("recipe parse and print");
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++)
    for (size_t c = 0; c < sizeof changes / sizeof changes[0]; c++) {
      char text[128], printed[512];
      mxg_recipe recipe;
      size_t error_at = 0;
      (void)snprintf(text, sizeof text, "%s%s", preset->name, changes[c]);
      const mxg_status status = mxg_recipe_parse(text, &recipe, &error_at);
      digest_size((size_t)status);
      digest_size(status == MXG_OK ? 0 : error_at);
      if (status == MXG_OK) hash_bytes(printed, mxg_recipe_print(&recipe, printed, sizeof printed));
    }
  digest_finish();
}
