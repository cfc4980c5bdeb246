/* message.c: the words for the last failure of a thread.
 * SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

#include "runtime.h"

static _Thread_local char message[1024];

void mxg_gpu_say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
}

const char *mxg_gpu_message(void) {
  return message;
}
