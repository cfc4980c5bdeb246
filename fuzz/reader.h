/* reader.h: the file layer of the tool, on files that are bytes of an input.
 *
 * The linker's --wrap puts the functions of reader.c in place of mxg_file_open and mxg_file_close
 * (the bytes lie in a buffer that ends at a page that traps) and of mxg_fail (the message is kept
 * and looked at, not printed). Everything between is the tool's own.
 * SPDX-License-Identifier: MIT */
#ifndef FUZZ_READER_H
#define FUZZ_READER_H

#include "../cli/tool.h"
#include "support/input.h"

#define FUZZ_FILE_NAME "input.bin"

/* The file that mxg_file_open gives from now on, whatever the name; at most FUZZ_BUFFER_MAX bytes. */
void fuzz_file_set(const void *data, size_t bytes);
/* Has it been opened and not closed again? Was it written to, or beside it? */
bool fuzz_file_is_open(void);
void fuzz_file_check(void);

/* The message of the last mxg_fail since fuzz_message_reset, or "". */
void fuzz_message_reset(void);
const char *fuzz_message(void);
/* An exit code and the messages since the reset: 0 without one, 2 or 3 with exactly one. */
void fuzz_message_check(int exit_code, const char *what);

/* Every tensor lies inside the file, has the bytes that type and shape say, and can be read. */
void fuzz_check_tensors(const mxg_tensor_file *file);

/* Values of a tensor through codec and golden model: the same bytes. */
void fuzz_check_use(const mxg_tensor *tensor);

/* For fuzz_about: the file and the last message. */
void fuzz_describe_file(FILE *to, const void *subject);

#endif
