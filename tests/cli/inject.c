/* inject.c: a preloaded library that makes the Nth allocation or output call of a program fail.
 *
 * MXGOLD_INJECT=KIND:N  KIND malloc (malloc, calloc, realloc, strdup and what calls them: NULL),
 *                       write (ENOSPC), short (every write takes one byte of what it is given, from
 *                       the Nth on), rename, close, open, mmap (each with EIO; open: writing only)
 * MXGOLD_INJECT_LOG=F   a byte is appended to F when the failure happened: none = N was past the end
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc's own, so that no allocation is needed to find them */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);

static const char *kind;
static long remaining;

static void note(void) {
  const char *const path = getenv("MXGOLD_INJECT_LOG");
  int (*const real_open)(const char *, int, ...) =
      (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  ssize_t (*const real_write)(int, const void *, size_t) =
      (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  kind = "";
  if (!path) return;
  const int descriptor = real_open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (descriptor >= 0 && real_write(descriptor, "x", 1) < 0) abort();
  /* left open: close() may be the call that is counted */
}

/* Is this call of the kind the one to fail? */
static bool fails(const char *name) {
  if (!kind || strcmp(kind, name) != 0 || --remaining != 0) return false;
  note();
  return true;
}

/* Counting begins with main's own calls, behind those of the loader. */
__attribute__((constructor)) static void begin(void) {
  static char text[64];
  const char *const inject = getenv("MXGOLD_INJECT");
  if (!inject || strlen(inject) >= sizeof text) return;
  strcpy(text, inject);
  char *const colon = strchr(text, ':');
  if (!colon) return;
  *colon = 0;
  remaining = strtol(colon + 1, NULL, 10);
  kind = text;
}

void *malloc(size_t bytes) {
  if (fails("malloc")) return errno = ENOMEM, NULL;
  return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
  if (fails("malloc")) return errno = ENOMEM, NULL;
  return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
  if (fails("malloc")) return errno = ENOMEM, NULL;
  return __libc_realloc(memory, bytes);
}

ssize_t write(int descriptor, const void *data, size_t bytes) {
  static ssize_t (*real)(int, const void *, size_t);
  static bool is_short;
  if (!real) real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  if (descriptor != STDERR_FILENO && fails("write")) return errno = ENOSPC, -1;
  if (descriptor != STDERR_FILENO && fails("short")) is_short = true;
  /* large writes are halved, so that a test ends before the year does */
  if (is_short && bytes > 1) bytes = bytes > 64 ? bytes / 2 : 1;
  return real(descriptor, data, bytes);
}

int rename(const char *from, const char *to) {
  static int (*real)(const char *, const char *);
  if (!real) real = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
  if (fails("rename")) return errno = EIO, -1;
  return real(from, to);
}

int close(int descriptor) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "close");
  const int result = real(descriptor);
  if (fails("close")) return errno = EIO, -1;
  return result;
}

static int open_by(const char *name, const char *path, int flags, mode_t mode) {
  int (*const real)(const char *, int, ...) =
      (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
  if ((flags & O_ACCMODE) != O_RDONLY && fails("open")) return errno = EIO, -1;
  return real(path, flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open_by("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open_by("open64", path, flags, mode);
}

static void *map_by(const char *name, void *at, size_t bytes, int protection, int flags,
                    int descriptor, off64_t offset) {
  void *(*const real)(void *, size_t, int, int, int, off64_t) =
      (void *(*)(void *, size_t, int, int, int, off64_t))dlsym(RTLD_NEXT, name);
  if (descriptor >= 0 && fails("mmap")) return errno = EIO, MAP_FAILED;
  return real(at, bytes, protection, flags, descriptor, offset);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  return map_by("mmap", at, bytes, protection, flags, descriptor, offset);
}

void *mmap64(void *at, size_t bytes, int protection, int flags, int descriptor, off64_t offset) {
  return map_by("mmap64", at, bytes, protection, flags, descriptor, offset);
}
