/* io_output.c: outputs that appear whole or not at all.
 * SPDX-License-Identifier: MIT */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20, TEMPORARIES_MAX = 8 };

struct mxg_output {
  char *path;      /* as messages name it */
  char *target;    /* what the temporary becomes; NULL: written directly */
  char *temporary; /* NULL: written directly */
  int descriptor;
  unsigned char *buffer;
  size_t filled;
  bool has_failed; /* a message was given */
};

/* ---- signals: an interrupted command leaves no temporary behind ---- */

static char *volatile temporaries[TEMPORARIES_MAX];
static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP};

static void remove_temporaries(void) {
  for (size_t i = 0; i < TEMPORARIES_MAX; i++)
    if (temporaries[i]) unlink(temporaries[i]);
}

static void on_fatal_signal(int signal_number) {
  remove_temporaries();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

/* A mapped input that became shorter while it was read. */
static void on_bus_error(int signal_number) {
  static const char message[] =
      "mxgold: a mapped file was made shorter while it was read: run again\n";
  (void)signal_number;
  remove_temporaries();
  if (write(STDERR_FILENO, message, sizeof message - 1) < 0) _exit(MXG_EXIT_FILE);
  _exit(MXG_EXIT_FILE);
}

void mxg_output_signals(void) {
  struct sigaction action;
  atexit(remove_temporaries); /* where an exit comes from within, such as out of memory */
  memset(&action, 0, sizeof action);
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof fatal_signals / sizeof fatal_signals[0]; i++) {
    struct sigaction old;
    /* nohup's ignored SIGHUP stays ignored */
    if (sigaction(fatal_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    action.sa_handler = on_fatal_signal;
    sigaction(fatal_signals[i], &action, NULL);
  }
  action.sa_handler = on_bus_error;
  sigaction(SIGBUS, &action, NULL);
  /* A closed pipe and a file size limit become errors of write(), with a message. */
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, NULL);
  sigaction(SIGXFSZ, &action, NULL);
}

static void block_signals(sigset_t *old) {
  sigset_t set;
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof fatal_signals / sizeof fatal_signals[0]; i++)
    sigaddset(&set, fatal_signals[i]);
  sigprocmask(SIG_BLOCK, &set, old);
}

/* ---- checks ---- */

int mxg_output_check(const char *option, const char *path, const mxg_file *const *inputs) {
  struct stat status;
  if (strcmp(path, "-") == 0) {
    if (fstat(STDOUT_FILENO, &status) != 0)
      return mxg_fail(MXG_EXIT_FILE, "standard output: %s", strerror(errno));
  } else if (path[0] == 0) {
    return mxg_fail(MXG_EXIT_USAGE, "%s: the file name is empty", option);
  } else if (stat(path, &status) != 0) {
    return errno == ENOENT ? MXG_EXIT_OK : mxg_fail(MXG_EXIT_FILE, "%s: %s", path, strerror(errno));
  }
  if (S_ISDIR(status.st_mode))
    return mxg_fail(MXG_EXIT_FILE, "%s: is a directory: %s needs the name of a file", path, option);
  if (!S_ISREG(status.st_mode)) return MXG_EXIT_OK;
  for (; inputs && *inputs; inputs++)
    if ((*inputs)->is_regular && (*inputs)->device == status.st_dev &&
        (*inputs)->inode == status.st_ino)
      return mxg_fail(MXG_EXIT_USAGE, "%s: %s is the input file %s: choose another name", path,
                      option, (*inputs)->path);
  return MXG_EXIT_OK;
}

int mxg_output_distinct(const char *const *paths, size_t count) {
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < i; j++) {
      struct stat a, b;
      if (!paths[i] || !paths[j]) continue;
      const bool is_same_name = strcmp(paths[i], paths[j]) == 0;
      const bool are_there = stat(paths[i], &a) == 0 && stat(paths[j], &b) == 0;
      if (are_there && !S_ISREG(a.st_mode) && strcmp(paths[i], "-") != 0) continue;
      if (is_same_name || (are_there && a.st_dev == b.st_dev && a.st_ino == b.st_ino))
        return mxg_fail(MXG_EXIT_USAGE, "%s: two outputs cannot go to one file", paths[i]);
    }
  }
  return MXG_EXIT_OK;
}

/* ---- opening ---- */

static int fail_output(mxg_output *output, int error) {
  output->has_failed = true;
  const char *advice = error == ENOSPC || error == EFBIG ? ": make room and run again" : "";
  return mxg_fail(MXG_EXIT_FILE, "%s: cannot write: %s%s", output->path, strerror(error), advice);
}

static void remember(mxg_output *output, bool is_new) {
  for (size_t i = 0; i < TEMPORARIES_MAX; i++) {
    if (is_new ? temporaries[i] != NULL : temporaries[i] != output->temporary) continue;
    temporaries[i] = is_new ? output->temporary : NULL;
    return;
  }
}

/* A new file beside the target, with the target's mode, or the umask's. */
static int create_temporary(mxg_output *output, const struct stat *existing) {
  const char *slash = strrchr(output->target, '/');
  const size_t folder = slash ? (size_t)(slash - output->target) + 1 : 0;
  const size_t capacity = folder + 64;
  output->temporary = mxg_alloc(capacity);
  sigset_t old;
  block_signals(&old);
  int error = 0;
  for (unsigned attempt = 0; attempt < 1000; attempt++) {
    memcpy(output->temporary, output->target, folder);
    snprintf(output->temporary + folder, capacity - folder, ".mxgold-%ld-%u.tmp", (long)getpid(),
             attempt);
    output->descriptor =
        open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)0666);
    error = output->descriptor < 0 ? errno : 0;
    if (error != EEXIST) break;
  }
  if (error == 0) remember(output, true);
  sigprocmask(SIG_SETMASK, &old, NULL);
  if (error != 0) {
    free(output->temporary);
    output->temporary = NULL;
    return fail_output(output, error);
  }
  if (existing && fchmod(output->descriptor, existing->st_mode & (mode_t)07777) != 0)
    return fail_output(output, errno);
  return MXG_EXIT_OK;
}

/* The file behind symbolic links, so that rename replaces the file and not the link. */
static char *resolve(const char *path) {
  char *resolved = realpath(path, NULL);
  return resolved ? resolved : mxg_copy_text(path);
}

static int open_path(mxg_output *output, const char *path) {
  struct stat status;
  const bool exists = stat(path, &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    output->descriptor = open(path, O_WRONLY | O_CLOEXEC);
    return output->descriptor < 0 ? fail_output(output, errno) : MXG_EXIT_OK;
  }
  if (exists && access(path, W_OK) != 0) return fail_output(output, errno);
  output->target = resolve(path);
  return create_temporary(output, exists ? &status : NULL);
}

int mxg_output_open(const char *option, const char *path, mxg_output **out) {
  int exit_code = mxg_output_check(option, path, NULL);
  if (exit_code != 0) return exit_code;
  const bool is_stdout = strcmp(path, "-") == 0;
  mxg_output *output = mxg_alloc(sizeof *output);
  output->path = mxg_copy_text(is_stdout ? "standard output" : path);
  output->buffer = mxg_alloc(BUFFER_BYTES);
  output->descriptor = STDOUT_FILENO;
  if (!is_stdout) exit_code = open_path(output, path);
  if (exit_code != 0)
    mxg_output_abort(&output, 1);
  else
    *out = output;
  return exit_code;
}

/* ---- writing ---- */

static int write_through(mxg_output *output, const unsigned char *data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t written = write(output->descriptor, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_output(output, errno);
    data += written;
    bytes -= (size_t)written;
  }
  return MXG_EXIT_OK;
}

static int flush(mxg_output *output) {
  const size_t bytes = output->filled;
  output->filled = 0;
  return write_through(output, output->buffer, bytes);
}

int mxg_output_write(mxg_output *output, const void *data, size_t bytes) {
  if (bytes > BUFFER_BYTES - output->filled) {
    const int exit_code = flush(output);
    if (exit_code != 0) return exit_code;
    if (bytes >= BUFFER_BYTES) return write_through(output, data, bytes);
  }
  if (bytes) memcpy(output->buffer + output->filled, data, bytes);
  output->filled += bytes;
  return MXG_EXIT_OK;
}

int mxg_output_zeros(mxg_output *output, size_t bytes) {
  static const unsigned char zeros[4096];
  int exit_code = MXG_EXIT_OK;
  while (bytes > 0 && exit_code == 0) {
    const size_t step = bytes < sizeof zeros ? bytes : sizeof zeros;
    exit_code = mxg_output_write(output, zeros, step);
    bytes -= step;
  }
  return exit_code;
}

/* ---- the end ---- */

static void free_output(mxg_output *output) {
  if (output->descriptor > STDERR_FILENO) close(output->descriptor);
  if (output->temporary) {
    unlink(output->temporary);
    remember(output, false);
  }
  free(output->temporary);
  free(output->target);
  free(output->buffer);
  free(output->path);
  free(output);
}

void mxg_output_abort(mxg_output **outputs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (outputs[i]) free_output(outputs[i]);
    outputs[i] = NULL;
  }
}

static int finish(mxg_output *output) {
  const int exit_code = flush(output);
  if (exit_code != 0 || output->descriptor == STDOUT_FILENO) return exit_code;
  const int closed = close(output->descriptor);
  output->descriptor = -1;
  return closed == 0 ? MXG_EXIT_OK : fail_output(output, errno);
}

static int put_in_place(mxg_output *output) {
  if (!output->temporary) return MXG_EXIT_OK;
  sigset_t old;
  block_signals(&old);
  int exit_code = MXG_EXIT_OK;
  if (rename(output->temporary, output->target) != 0) {
    exit_code = fail_output(output, errno);
  } else {
    remember(output, false);
    free(output->temporary);
    output->temporary = NULL;
  }
  sigprocmask(SIG_SETMASK, &old, NULL);
  return exit_code;
}

int mxg_output_commit(mxg_output **outputs, size_t count) {
  int exit_code = MXG_EXIT_OK;
  for (size_t i = 0; i < count && exit_code == 0; i++)
    if (outputs[i]) exit_code = finish(outputs[i]);
  for (size_t i = 0; i < count && exit_code == 0; i++)
    if (outputs[i]) exit_code = put_in_place(outputs[i]);
  mxg_output_abort(outputs, count);
  return exit_code;
}
