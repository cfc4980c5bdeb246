/* io_file.c: whole inputs in memory that is not ours: mapped, or spilled to an unlinked temporary.
 * SPDX-License-Identifier: MIT */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  HEAP_MAX = 32 << 20, /* bytes: more goes to a temporary file */
  READ_STEP = 1 << 20
};

/* An open, unlinked temporary, or -1 after a message. */
static int open_temporary(void) {
  const char *named = getenv("TMPDIR");
  const char *folders[] = {named ? named : "", "/var/tmp", "/tmp"};
  int error = ENOENT;
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    char path[4096];
    if (folders[i][0] == 0) continue;
    const int length = snprintf(path, sizeof path, "%s/mxgold-XXXXXX", folders[i]);
    if (length < 0 || length >= (int)sizeof path) continue;
    const int descriptor = mkstemp(path);
    if (descriptor >= 0) {
      unlink(path);
      return descriptor;
    }
    error = errno;
  }
  mxg_fail(MXG_EXIT_FILE, "temporary file: %s: set TMPDIR to a folder with space", strerror(error));
  return -1;
}

static int fail_temporary(int descriptor, int error) {
  close(descriptor);
  return mxg_fail(MXG_EXIT_FILE, "temporary file: %s: set TMPDIR to a folder with space",
                  strerror(error));
}

int mxg_scratch_open(size_t bytes, mxg_scratch *out) {
  out->bytes = bytes;
  out->is_mapped = bytes > HEAP_MAX;
  if (!out->is_mapped) {
    out->data = mxg_alloc(bytes);
    return MXG_EXIT_OK;
  }
  const int descriptor = open_temporary();
  if (descriptor < 0) return MXG_EXIT_FILE;
  /* Space is taken now: a full disk under a mapping would be a SIGBUS later. */
  const int error = posix_fallocate(descriptor, 0, (off_t)bytes);
  if (error != 0) return fail_temporary(descriptor, error);
  void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (map == MAP_FAILED) return fail_temporary(descriptor, errno);
  close(descriptor);
  out->data = map;
  return MXG_EXIT_OK;
}

void mxg_scratch_close(mxg_scratch *scratch) {
  if (scratch->is_mapped)
    munmap(scratch->data, scratch->bytes);
  else
    free(scratch->data);
  memset(scratch, 0, sizeof *scratch);
}

static int fail_file(const mxg_file *file, const char *what) {
  return mxg_fail(MXG_EXIT_FILE, "%s: %s", file->path, what);
}

static int write_all(int descriptor, const unsigned char *data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = write(descriptor, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    data += written;
    bytes -= (size_t)written;
  }
  return 0;
}

/* read() that is not interrupted; -1 with errno. */
static ssize_t read_some(int descriptor, unsigned char *into, size_t bytes) {
  ssize_t got;
  do got = read(descriptor, into, bytes);
  while (got < 0 && errno == EINTR);
  return got;
}

static int map_descriptor(mxg_file *file, int descriptor, uint64_t bytes) {
  if (bytes > SIZE_MAX) return fail_file(file, "too large for this machine's address space");
  /* NOLINTNEXTLINE(*-unix.StdCLibraryFunctions): of no bytes mmap says EINVAL, told below */
  void *map = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (map == MAP_FAILED) return fail_file(file, strerror(errno));
  posix_madvise(map, (size_t)bytes, POSIX_MADV_SEQUENTIAL);
  file->data = map;
  file->bytes = file->map_bytes = (size_t)bytes;
  return MXG_EXIT_OK;
}

/* What did not fit the heap goes to a temporary, which is mapped in the end. */
static int spill(mxg_file *file, int from, unsigned char *buffer, size_t bytes) {
  const int descriptor = open_temporary();
  if (descriptor < 0) return MXG_EXIT_FILE;
  uint64_t total = 0;
  ssize_t got = (ssize_t)bytes;
  while (got > 0) {
    const int error = write_all(descriptor, buffer, (size_t)got);
    if (error != 0) return fail_temporary(descriptor, error);
    total += (uint64_t)got;
    got = read_some(from, buffer, READ_STEP);
  }
  const int exit_code =
      got < 0 ? fail_file(file, strerror(errno)) : map_descriptor(file, descriptor, total);
  close(descriptor);
  return exit_code;
}

static int read_stream(mxg_file *file, int descriptor) {
  size_t capacity = READ_STEP, bytes = 0;
  unsigned char *buffer = mxg_alloc(capacity);
  for (;;) {
    const ssize_t got = read_some(descriptor, buffer + bytes, capacity - bytes);
    if (got < 0) {
      const int error = errno;
      free(buffer);
      return fail_file(file, strerror(error));
    }
    if (got == 0) break;
    bytes += (size_t)got;
    if (bytes < capacity) continue;
    if (capacity >= HEAP_MAX) {
      const int exit_code = spill(file, descriptor, buffer, bytes);
      free(buffer);
      return exit_code;
    }
    unsigned char *larger = mxg_alloc(2 * capacity);
    memcpy(larger, buffer, bytes);
    free(buffer);
    buffer = larger;
    capacity *= 2;
  }
  file->data = buffer;
  file->bytes = bytes;
  return MXG_EXIT_OK;
}

static int open_descriptor(mxg_file *file, int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return fail_file(file, strerror(errno));
  if (S_ISDIR(status.st_mode)) return fail_file(file, "is a directory: name a file in it");
  file->is_regular = S_ISREG(status.st_mode);
  file->device = status.st_dev;
  file->inode = status.st_ino;
  /* Files of size 0 are read: those of /proc say 0 and have content. */
  if (file->is_regular && status.st_size > 0 && lseek(descriptor, 0, SEEK_CUR) == 0)
    return map_descriptor(file, descriptor, (uint64_t)status.st_size);
  return read_stream(file, descriptor);
}

int mxg_file_open(const char *path, mxg_file *out) {
  memset(out, 0, sizeof *out);
  const bool is_stdin = strcmp(path, "-") == 0;
  out->path = mxg_copy_text(is_stdin ? "standard input" : path);
  const int descriptor = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  const int exit_code =
      descriptor < 0 ? fail_file(out, strerror(errno)) : open_descriptor(out, descriptor);
  if (descriptor >= 0 && !is_stdin) close(descriptor);
  if (exit_code != 0) mxg_file_close(out);
  return exit_code;
}

void mxg_file_close(mxg_file *file) {
  if (file->map_bytes > 0)
    munmap((void *)(uintptr_t)file->data, file->map_bytes);
  else
    free((void *)(uintptr_t)file->data);
  free(file->path);
  memset(file, 0, sizeof *file);
}
