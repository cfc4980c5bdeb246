/* code.c: the code objects, taken in by the assembler. The build defines MXG_CODE_GFX942 and so on as
 * the path of the object, for each arch that it has compiled.
 * SPDX-License-Identifier: MIT */
#include "code.h"

#include "table.h"

#include <stddef.h>

/* Names are local to this file; runtimes want an aligned image. */
/* NOLINTBEGIN(bugprone-macro-parentheses): literals that are joined, and a name */
#define EMBED(name, path)                      \
  __asm__(                                     \
      ".pushsection .rodata,\"a\",@progbits\n" \
      ".balign 4096\n" #name                   \
      ":\n"                                    \
      ".incbin \"" path                        \
      "\"\n"                                   \
      ".byte 0\n"                              \
      ".popsection\n");                        \
  extern const unsigned char name[] __attribute__((visibility("hidden")));
/* NOLINTEND(bugprone-macro-parentheses) */

#ifdef MXG_CODE_GFX942
EMBED(mxg_code_gfx942, MXG_CODE_GFX942)
#define HAS_GFX942 "gfx942 "
#else
#define HAS_GFX942 ""
#endif
#ifdef MXG_CODE_GFX950
EMBED(mxg_code_gfx950, MXG_CODE_GFX950)
#define HAS_GFX950 "gfx950 "
#else
#define HAS_GFX950 ""
#endif
#ifdef MXG_CODE_GFX1250
EMBED(mxg_code_gfx1250, MXG_CODE_GFX1250)
#define HAS_GFX1250 "gfx1250 "
#else
#define HAS_GFX1250 ""
#endif
#ifdef MXG_CODE_SM_90
EMBED(mxg_code_sm_90, MXG_CODE_SM_90)
#define HAS_SM_90 "sm_90 "
#else
#define HAS_SM_90 ""
#endif

const char mxg_gpu_code_archs[] = HAS_GFX942 HAS_GFX950 HAS_GFX1250 HAS_SM_90;

const void *mxg_gpu_code(const char *arch) {
  switch (mxg_arch_of(arch)) {
#ifdef MXG_CODE_GFX942
    case MXG_ARCH_GFX942: return mxg_code_gfx942;
#endif
#ifdef MXG_CODE_GFX950
    case MXG_ARCH_GFX950: return mxg_code_gfx950;
#endif
#ifdef MXG_CODE_GFX1250
    case MXG_ARCH_GFX1250: return mxg_code_gfx1250;
#endif
#ifdef MXG_CODE_SM_90
    case MXG_ARCH_SM_90: return mxg_code_sm_90;
#endif
    default: return NULL;
  }
}
