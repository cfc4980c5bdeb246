/* throw_rest.c: quantised pairs, recipe text, options, and things that are no files.
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

static blob b;

/* ---- quantised pairs ---- */

#define CODES "\"x\":{\"dtype\":\"U8\",\"shape\":[4,32],\"data_offsets\":[0,128]}"
#define SCALES "\"x_scale\":{\"dtype\":\"U8\",\"shape\":[4,2],\"data_offsets\":[128,136]}"
#define PAIR(metadata) "{\"__metadata__\":{" metadata "}," CODES "," SCALES "}"
#define OURS "\"mxgold_version\":\"0.1.0\","

static const struct {
  const char *kind, *header;
  verdict expected;
} pairs[] = {
    {"a right pair", PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"4x64\""), MAY_PASS},
    {"recipe in __metadata__", PAIR(OURS "\"recipe\":\"mxfp9\",\"shape\":\"4x64\""), MUST_REFUSE_3},
    {"recipe in __metadata__", PAIR(OURS "\"recipe\":\"\",\"shape\":\"4x64\""), MUST_REFUSE_3},
    {"recipe in __metadata__", PAIR(OURS "\"recipe\":\"mxfp4,rule=\\u0000\",\"shape\":\"4x64\""),
     MUST_REFUSE_3},
    {"recipe in __metadata__", PAIR(OURS "\"recipe\":\"mxfp8\",\"shape\":\"4x64\""), MUST_REFUSE},
    {"recipe in __metadata__", PAIR(OURS "\"recipe\":\"mori-fp8\",\"shape\":\"4x64\""),
     MUST_REFUSE},
    {"recipe in __metadata__", PAIR(OURS "\"shape\":\"4x64\""), MUST_REFUSE},
    {"shape in __metadata__", PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"4x65\""), MUST_REFUSE},
    {"shape in __metadata__", PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"4294967296x4294967296\""),
     MUST_REFUSE},
    {"shape in __metadata__", PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"25600x1048576\""),
     MUST_REFUSE},
    {"shape in __metadata__",
     PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"18446744073709551615x64\""), MUST_REFUSE},
    {"shape in __metadata__", PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"-4x64\""), MUST_REFUSE},
    {"shape in __metadata__", PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"\""), MUST_REFUSE},
    {"counts in __metadata__",
     PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"4x64\",\"live_rows\":\"5\""), MUST_REFUSE},
    {"counts in __metadata__",
     PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"4x64\",\"live_rows\":\"-1\""), MUST_REFUSE},
    {"counts in __metadata__",
     PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"4x64\",\"scale_count\":\"1\""), MUST_REFUSE},
    {"counts in __metadata__",
     PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"4x64\",\"scale_count\":\"18446744073709551615\""),
     MUST_REFUSE},
    {"order in __metadata__",
     PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"4x64\",\"scale_order\":\"row\""), MUST_REFUSE},
    {"order in __metadata__",
     PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"4x64\",\"scale_order\":\"aiter_shuffle\""),
     MUST_REFUSE},
    {"order in __metadata__", PAIR(OURS "\"recipe\":\"mxfp4\",\"shape\":\"4x64\",\"pad\":\"100\""),
     MUST_REFUSE},
    {"no pair, or two",
     "{" CODES ",\"y\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[128,136]}}", MUST_REFUSE},
    {"no pair, or two",
     "{\"a\":{\"dtype\":\"U8\",\"shape\":[32],\"data_offsets\":[0,32]},\"a_scale\":{\"dtype\":"
     "\"U8\",\"shape\":[32],"
     "\"data_offsets\":[32,64]},\"b\":{\"dtype\":\"U8\",\"shape\":[32],\"data_offsets\":[64,96]},"
     "\"b_scale\":{\"dtype\":"
     "\"U8\",\"shape\":[40],\"data_offsets\":[96,136]}}",
     MUST_REFUSE},
    {"types of a pair",
     "{\"__metadata__\":{" OURS
     "\"recipe\":\"mxfp4\",\"shape\":\"4x64\"},\"x\":{\"dtype\":\"F32\",\"shape\":[32],"
     "\"data_offsets\":[0,128]}," SCALES "}",
     MUST_REFUSE},
    {"types of a pair",
     "{\"__metadata__\":{" OURS "\"recipe\":\"mxfp4\",\"shape\":\"4x64\"}," CODES
     ",\"x_scale\":{\"dtype\":\"F32\","
     "\"shape\":[2],\"data_offsets\":[128,136]}}",
     MUST_REFUSE}};

static const char *const dequantize[] = {"mxgold", "dequantize", "in.bin", "-o", "out.bin", NULL};
static const char *const compare[] = {"mxgold", "compare", "in.bin", "--input", "good.npy", NULL};

void throw_pairs(size_t times) {
  const char *right = pairs[0].header;
  make_npy(&b, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 64), }\n", 1024);
  blob_save(&b, "good.npy");
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    make_safetensors(&b, pairs[i].header, 136);
    blob_save(&b, "in.bin");
    throw_at("quantised pair", pairs[i].kind, pairs[i].expected, dequantize);
    throw_at("quantised pair", pairs[i].kind, MAY_PASS, compare);
  }
  for (size_t i = 0; i < times; i++) {
    make_safetensors(&b, right, 136);
    mutate_truncate(&b);
    blob_save(&b, "in.bin");
    throw_at("quantised pair", "truncated", MUST_REFUSE, dequantize);
    make_safetensors(&b, right, 136);
    mutate_flip(&b, 8, 8 + strlen(right));
    blob_save(&b, "in.bin");
    throw_at("quantised pair", "bits flipped in the header", MAY_PASS, dequantize);
    throw_at("quantised pair", "bits flipped, compare", MAY_PASS, compare);
    make_safetensors(&b, right, 136);
    mutate_flip(&b, 8 + strlen(right), b.bytes);
    blob_save(&b, "in.bin");
    throw_at("quantised pair", "bits flipped in codes and scales", MAY_PASS, dequantize);
  }
}

/* ---- the stream that verify reads ---- */

static void throw_format(const char *format, size_t times) {
  const char *const make[] = {"mxgold",   "gen",    "--recipe", "mxfp4",     "--rows",
                              "2",        "--cols", "64",       "--dtype",   "f32",
                              "--format", format,   "-o",       "cases.bin", NULL};
  const char *const verify[] = {"mxgold",   "verify", "--recipe", "mxfp4",   "--rows",
                                "2",        "--cols", "64",       "--dtype", "f32",
                                "--format", format,   "in.bin",   NULL};
  static blob cases;
  throw_at("answer stream", "nothing wrong: makes cases", MAY_PASS, make);
  blob_load(&cases, "cases.bin"); /* not answers, but a header and lines of the right form */
  for (size_t i = 0; i < 5 * times; i++) {
    static const char *const kinds[] = {"truncated", "bits flipped in the header", "bits flipped",
                                        "a part over another", "random bytes"};
    blob_clear(&b);
    blob_put(&b, cases.data, cases.bytes);
    switch (i % 5) {
      case 0: mutate_truncate(&b); break;
      case 1: mutate_flip(&b, 0, 100); break;
      case 2: mutate_flip(&b, 0, b.bytes); break;
      case 3: mutate_move(&b); break;
      default: make_garbage(&b); break;
    }
    blob_save(&b, "in.bin");
    throw_at("answer stream", kinds[i % 5], MAY_PASS, verify);
  }
}

void throw_stream(size_t times) {
  throw_format("text", times / 2);
  throw_format("binary", times / 2);
}

/* ---- recipe text ---- */

static void throw_recipe(const char *kind, verdict expected, const char *text) {
  const char *const arguments[] = {"mxgold", "layout", "--recipe", text, "--rows",
                                   "4",      "--cols", "64",       NULL};
  throw_at("recipe text", kind, expected, arguments);
}

void throw_text(size_t times) {
  static const char *const wrong[] = {"",
                                      ",",
                                      "=",
                                      "mxfp4,",
                                      ",mxfp4",
                                      "mxfp4,,",
                                      "mxfp4,rule",
                                      "mxfp4,rule=",
                                      "mxfp4,=even",
                                      "mxfp4,rule=even,rule=even",
                                      "mxfp4,rulee=even",
                                      "MXFP4",
                                      "mxfp4 ",
                                      " mxfp4",
                                      "mxfp4,rule=EVEN",
                                      "mxfp4,block=0",
                                      "mxfp4,block=-1",
                                      "mxfp4,block=4294967296",
                                      "mxfp4,block=1e1",
                                      "mxfp4,block=0x10",
                                      "mxfp4,amax_floor=inf",
                                      "mxfp4,amax_floor=nan",
                                      "mxfp4,amax_floor=-1",
                                      "mxfp4,amax_floor=1e999",
                                      "mxfp4,amax_floor=0x1p999",
                                      "mxfp4,amax_floor=1e",
                                      "mxfp4,amax_floor=1,5",
                                      "mxfp4,element_max=7",
                                      "mxfp4,element_max=0",
                                      "mxfp4,overflow=nonfinite",
                                      "mxfp4,nan_element=code",
                                      "mxfp4,marker=always",
                                      "mxfp4,scale=f32",
                                      "mxfp4,scale=none,block=32",
                                      "mxfp8,rule=rceil,inf_scale=field",
                                      "element=e2m1",
                                      "element=e2m1,scale=none",
                                      "mxfp4,rule=even\n",
                                      "mxfp4\x1b[2J",
                                      "mxfp4,\xE2\x80\xAE",
                                      "mxfp4,rule=\xFF\xFE"};
  static const char *const numbers[] = {"1e-10", "0x1.fffffep127", "0x1p-149", "3.4028235e38",
                                        "0.00000000000000000000000000000000000000000000000000001"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    throw_recipe("wrong in one way", MUST_REFUSE, wrong[i]);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    blob_clear(&b);
    blob_print(&b, "mxfp8,amax_floor=%s", numbers[i]);
    throw_recipe("numbers at the edges", MAY_PASS, (const char *)b.data);
  }
  static const size_t lengths[] = {200, 201, 4096, 100000};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    blob_clear(&b);
    blob_print(&b, "mxfp8,amax_floor=");
    for (size_t n = 0; n < lengths[i]; n++) blob_put(&b, "1", 1);
    throw_recipe("very long", MUST_REFUSE, (const char *)b.data);
    memset(b.data, ',', b.bytes);
    throw_recipe("very long", MUST_REFUSE, (const char *)b.data);
    memset(b.data, 'a', b.bytes);
    throw_recipe("very long", MUST_REFUSE, (const char *)b.data);
  }
  for (size_t i = 0; i < 3 * times; i++) {
    blob_clear(&b);
    blob_print(&b, "aiter-mxfp4,rule=even,element_max=5,amax_floor=0x1p-20,edges=ocp");
    const size_t how = i % 3;
    if (how == 0) mutate_truncate(&b);
    if (how == 1) mutate_move(&b);
    if (how == 2) mutate_flip(&b, 0, b.bytes);
    throw_recipe(how == 0   ? "truncated"
                 : how == 1 ? "a part over another"
                            : "bits flipped",
                 MAY_PASS, (const char *)b.data);
  }
}

/* ---- options ---- */

void throw_options(size_t times) {
  static const char *const commands[] = {"quantize", "dequantize", "combine", "compare",
                                         "error",    "layout",     "recipes", "info",
                                         "gen",      "verify",     "vectors"};
  static const char *const names[] = {
      "--recipe", "--shape",       "--dtype",        "--tensor",  "--live-rows", "--scale-order",
      "--pad",    "--scale-count", "--slot-weights", "--isa",     "--threads",   "--impl",
      "--to",     "--limit",       "--rows",         "--cols",    "--top-k",     "--codes",
      "--scales", "--slots",       "--row-weights",  "--weights", "--input",     "--json",
      "--bits",   "--skip-nan",    "--seed",         "--level",   "--nonsense",  "--device"};
  static const char *const values[] = {"mxfp4",
                                       "4x64",
                                       "f32",
                                       "x",
                                       "0",
                                       "1",
                                       "4",
                                       "-1",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "4294967296",
                                       "1e9",
                                       "0x10",
                                       "",
                                       " ",
                                       "aiter_shuffle",
                                       "7F",
                                       "100",
                                       "ref",
                                       "portable",
                                       "bf16",
                                       "good.npy",
                                       "in.bin",
                                       "/dev/null",
                                       "absent",
                                       ".",
                                       "%n%s%s",
                                       "\x1b[2J",
                                       "gpu",
                                       "25600x1048576",
                                       "--",
                                       "-"};
  make_npy(&b, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 64), }\n", 1024);
  blob_save(&b, "good.npy");
  blob_save(&b, "in.bin");
  for (size_t i = 0; i < 8 * times; i++) {
    const char *arguments[ARGUMENTS_MAX];
    size_t count = 0;
    arguments[count++] = "mxgold";
    arguments[count++] = commands[random_below(sizeof commands / sizeof commands[0])];
    if (random_below(3) != 0) arguments[count++] = random_below(2) ? "good.npy" : "in.bin";
    if (random_below(2) != 0) {
      arguments[count++] = "--recipe";
      arguments[count++] = "mxfp4";
    }
    if (random_below(2) != 0) {
      arguments[count++] = "-o";
      arguments[count++] = "out.bin";
    }
    for (size_t n = random_below(4) == 0 ? 3 : 1; n > 0; n--) {
      arguments[count++] = names[random_below(sizeof names / sizeof names[0])];
      if (random_below(8) != 0)
        arguments[count++] = values[random_below(sizeof values / sizeof values[0])];
    }
    arguments[count] = NULL;
    throw_at("options", "one or three at random", MAY_PASS, arguments);
    unlink("1"); /* outputs that an option may have named */
    unlink("x");
  }
}

/* ---- what is no regular file ---- */

/* A child that writes the blob into a FIFO when somebody reads it. */
static pid_t feed(const char *path) {
  const pid_t child = fork();
  if (child != 0) return child;
  const int to = open(path, O_WRONLY);
  if (to >= 0 && write(to, b.data, b.bytes) < 0) _exit(1);
  _exit(0);
}

static void throw_path(const char *kind, verdict expected, const char *path) {
  const char *const values[] = {"mxgold", "quantize", path,      "--recipe",
                                "mxfp4",  "-o",       "out.bin", NULL};
  const char *const pair[] = {"mxgold", "dequantize", path, "-o", "out.bin", NULL};
  const char *const weights[] = {"mxgold",   "quantize", "good.npy", "--row-weights", path,
                                 "--recipe", "mxfp4",    "-o",       "out.bin",       NULL};
  const bool is_fifo = strcmp(path, "fifo") == 0;
  const char *const *const all[] = {values, pair, weights};
  for (size_t i = 0; i < 3; i++) {
    const pid_t writer = is_fifo ? feed(path) : 0;
    /* the content is an array of values: no pair, no weights */
    throw_at("special files", kind, i == 0 ? expected : MUST_REFUSE, all[i]);
    if (writer > 0) {
      kill(writer, SIGTERM);
      waitpid(writer, NULL, 0);
    }
  }
}

void throw_special_files(void) {
  make_npy(&b, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 64), }\n", 1024);
  blob_save(&b, "good.npy");
  unlink("in.bin");
  if (mkdir("folder", 0700) != 0 || mkfifo("fifo", 0600) != 0 || symlink("good.npy", "link") != 0 ||
      symlink("loop", "loop") != 0 || symlink("absent", "dangling") != 0) {
    perror("special files");
    exit(2);
  }
  throw_path("a symbolic link to a right file", MAY_PASS, "link");
  throw_path("a FIFO with a right file", MAY_PASS, "fifo");
  b.bytes = 500;
  throw_path("a FIFO with a truncated file", MUST_REFUSE, "fifo");
  throw_path("a symbolic link to itself", MUST_REFUSE_3, "loop");
  throw_path("a symbolic link to nothing", MUST_REFUSE_3, "dangling");
  throw_path("a folder", MUST_REFUSE_3, "folder");
  throw_path("a folder", MUST_REFUSE_3, "folder/");
  throw_path("a file as a folder", MUST_REFUSE_3, "good.npy/x");
  throw_path("an empty device", MUST_REFUSE, "/dev/null");
  throw_path("a name of 5000 bytes", MUST_REFUSE_3,
             (memset(b.data, 'n', 5000), b.data[5000] = 0, (const char *)b.data));
}
