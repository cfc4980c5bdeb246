# SPDX-License-Identifier: MIT
# clang-22 where it is installed, else whatever clang is.
find_program(MXGOLD_CLANG NAMES clang-22 clang REQUIRED)
find_program(MXGOLD_CLANGXX NAMES clang++-22 clang++)
set(CMAKE_C_COMPILER ${MXGOLD_CLANG})
if(MXGOLD_CLANGXX)
  set(CMAKE_CXX_COMPILER ${MXGOLD_CLANGXX})
endif()
