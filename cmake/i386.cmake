# SPDX-License-Identifier: MIT
# 32-bit x86 with SSE2 arithmetic (x87 rounds twice). Runs natively.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_C_COMPILER gcc)
set(CMAKE_C_FLAGS_INIT "-m32 -msse2 -mfpmath=sse")
