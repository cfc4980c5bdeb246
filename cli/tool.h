/* tool.h: what the files of the mxgold tool share: exit codes, messages, options, tensors in files,
 * outputs that appear whole or not at all, and row chunks that keep memory small.
 *
 * Every function that can fail prints its own message on stderr and returns the exit code that the
 * command should end with; 0 (MXG_EXIT_OK) means go on. The tool runs one command a process, so
 * parsed options live in file-scope variables.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_TOOL_H
#define MXGOLD_TOOL_H

/* Include this header first: it asks for POSIX and for 64-bit file offsets. */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include <popt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "../codec/mxgold.h"

enum {
  MXG_EXIT_OK = 0,
  MXG_EXIT_DIFFERS = 1,
  MXG_EXIT_USAGE = 2, /* options or recipe; a raw file whose size does not fit the options */
  MXG_EXIT_FILE = 3   /* anything in a file, and every failure to read or write one */
};

/* ---- commands (main.c) ---- */

typedef struct mxg_command {
  const char *name;
  int (*run)(int argc, const char **argv); /* argv[0] is the command's name; returns an exit code */
  const char *summary;                     /* one line for `mxgold --help` */
} mxg_command;
const mxg_command *mxg_command_at(size_t index);        /* NULL past the last */
const mxg_command *mxg_command_named(const char *word); /* NULL after a message */
void mxg_print_commands(FILE *to);                      /* `mxgold --help` (cmd_help.c) */

int mxg_cmd_recipes(int argc, const char **argv);
int mxg_cmd_layout(int argc, const char **argv);
int mxg_cmd_quantize(int argc, const char **argv);
int mxg_cmd_dequantize(int argc, const char **argv);
int mxg_cmd_combine(int argc, const char **argv);
int mxg_cmd_compare(int argc, const char **argv);
int mxg_cmd_error(int argc, const char **argv);
int mxg_cmd_selftest(int argc, const char **argv);
int mxg_cmd_info(int argc, const char **argv);
int mxg_cmd_bench(int argc, const char **argv);
int mxg_cmd_help(int argc, const char **argv);
int mxg_cmd_identify(int argc, const char **argv);
int mxg_cmd_gen(int argc, const char **argv);
int mxg_cmd_verify(int argc, const char **argv);
int mxg_cmd_vectors(int argc, const char **argv);

/* ---- messages (message.c) ---- */

/* Names the command in every message that follows; NULL = just "mxgold". */
void mxg_set_command(const char *name);

/* "mxgold COMMAND: <text>" and a newline on stderr; returns exit_code. Control characters in the
 * text come out as \xHH. */
__attribute__((format(printf, 2, 3))) int mxg_fail(int exit_code, const char *format, ...);

/* Text in which control characters are \xHH. */
void mxg_put_escaped(FILE *to, const char *text);

/* The library's sentence for a status as a failure of `what`; USAGE for RECIPE, LAYOUT, ISA, SHAPE,
 * SIZE and those of devices, FILE otherwise. */
int mxg_fail_status(mxg_status status, const char *what);

/* The nearest of `names` (NULL-terminated) to `word` within a small edit distance, or NULL. */
const char *mxg_nearest(const char *word, const char *const *names);

/* malloc / calloc / strdup that print a message and exit(3) when memory is out. */
void *mxg_alloc(size_t bytes);
char *mxg_copy_text(const char *text);

/* ---- options (options.c) ---- */

/* Parses argv by a popt table (ending in POPT_TABLEEND, without a help entry: --help and -h are
 * added). usage is what follows "mxgold NAME "; example has a command a line, and may have a line
 * "Exit codes: ...". --help, the manual page and docs/TOOL.md are made of these (help.h): call it
 * before anything else, and return on -1.
 * Returns 0 and the positional arguments; -1 after printing the help (the command then returns 0);
 * else MXG_EXIT_USAGE after a message. Strings stay valid until the process ends. */
typedef struct mxg_arguments {
  const char **positional; /* NULL-terminated */
  size_t count;
} mxg_arguments;
int mxg_parse_options(int argc, const char **argv, struct poptOption *table, const char *usage,
                      const char *example, mxg_arguments *out);

/* "RxC" (also one number: 1xC, and AxBxC: rows = A*B). `option` names it in messages. */
int mxg_shape_arg(const char *option, const char *text, size_t *rows, size_t *cols);
bool mxg_parse_shape(const char *text, size_t *rows, size_t *cols); /* the same, no message */
/* A decimal count, 0 .. SIZE_MAX. */
int mxg_count_arg(const char *option, const char *text, size_t *out);
/* "f32", "f16", "bf16" for a result. */
int mxg_result_dtype_arg(const char *option, const char *text, mxg_dtype *out);
/* Required options: a message when text is NULL. */
int mxg_require(const char *option, const char *text);

/* --recipe (recipe_arg.c): parses, and on an error says which column and what was meant. `where` is
 * NULL for --recipe, else the file whose metadata held the text (then the exit code is FILE). */
int mxg_recipe_arg(const char *text, const char *where, mxg_recipe *out);

/* --isa, --threads, --impl: a table to include with POPT_ARG_INCLUDE_TABLE, and its result. */
extern struct poptOption mxg_run_table[];
typedef struct mxg_impl { /* one of the two implementations */
  const char *name;       /* "codec" or "ref" */
  mxg_status (*layout_for)(const mxg_recipe *, size_t, size_t, const mxg_layout_options *,
                           mxg_layout *);
  mxg_status (*quantize)(const mxg_recipe *, const mxg_matrix_view *, const float *,
                         const mxg_packed *, const mxg_run *);
  mxg_status (*dequantize)(const mxg_recipe *, const mxg_packed_view *, const mxg_matrix *,
                           const mxg_run *);
  mxg_status (*combine)(const mxg_recipe *, const void *const *, size_t, const float *,
                        const mxg_layout *, size_t, size_t, const mxg_matrix *, const mxg_run *);
} mxg_impl;
int mxg_run_args(const mxg_impl **impl, mxg_run *run);

/* --device (device.c): a table to include; mxg_run_args() then gives the device as the
 * implementation. A tool that was built without a GPU library says so. */
extern struct poptOption mxg_device_table[];
bool mxg_device_given(void);
/* Opens what --device names: USAGE, with the reason and the ways out, when that cannot be. */
int mxg_device_impl(const mxg_impl **impl);
/* What the device library said of the last failure; "" when that was not its. */
const char *mxg_device_message(void);

/* --scale-order, --pad, --scale-count, --slot-weights: the same; the placement is the caller's. */
extern struct poptOption mxg_layout_table[];
int mxg_layout_args(mxg_placement placement, mxg_layout_options *out);
bool mxg_layout_args_given(void); /* any of the first three */
bool mxg_pad_given(void);
bool mxg_parse_order(const char *text, mxg_scale_order *out);
bool mxg_parse_hex_byte(const char *text, uint32_t *out);
/* Name of an order as --scale-order spells it: row_major transposed aiter_shuffle blocked_128x4. */
const char *mxg_order_name(mxg_scale_order order);
/* layout_for with a message; where as in mxg_recipe_arg. */
int mxg_make_layout(const mxg_recipe *recipe, size_t rows, size_t cols,
                    const mxg_layout_options *options, mxg_layout *out);

/* ---- files (io_file.c) ---- */

/* A whole input: mapped read-only; standard input ("-"), FIFOs and devices are read to their end
 * into memory or, when large, an unlinked temporary. */
typedef struct mxg_file {
  char *path; /* as messages name it: "standard input" for "-" */
  const unsigned char *data;
  size_t bytes;
  size_t map_bytes; /* of a mapping; 0: data is heap memory */
  bool is_regular;
  dev_t device;
  ino_t inode;
} mxg_file;
int mxg_file_open(const char *path, mxg_file *out);
void mxg_file_close(mxg_file *file);

typedef enum mxg_file_kind { MXG_FILE_RAW, MXG_FILE_NPY, MXG_FILE_SAFETENSORS } mxg_file_kind;
/* By magic and structure, never by name. */
mxg_file_kind mxg_file_kind_of(const mxg_file *file);

/* Zeroed memory: heap when small, else an unlinked temporary mapped, so that it does not count as
 * anonymous memory. The caller exits on NULL after the message that was printed. */
typedef struct mxg_scratch {
  unsigned char *data;
  size_t bytes;
  bool is_mapped;
} mxg_scratch;
int mxg_scratch_open(size_t bytes, mxg_scratch *out);
void mxg_scratch_close(mxg_scratch *scratch);

/* ---- tensors in files (io_tensor.c, io_npy.c, io_safetensors.c) ---- */

typedef enum mxg_file_dtype { /* the first three equal mxg_dtype */
                              MXG_FILE_F32 = 1,
                              MXG_FILE_F16 = 2,
                              MXG_FILE_BF16 = 3,
                              MXG_FILE_U8 = 4,
                              MXG_FILE_F8_E4M3 = 5,
                              MXG_FILE_F8_E5M2 = 6,
                              MXG_FILE_F8_E8M0 = 7,
                              MXG_FILE_F4 = 8, /* two elements a byte */
                              MXG_FILE_OTHER =
                                  9 /* a type that safetensors has and this tool does not use */
} mxg_file_dtype;
/* Name as safetensors spells it ("BF16"); "other" for OTHER. */
const char *mxg_file_dtype_name(mxg_file_dtype dtype);
/* Is it f32, f16 or bf16, so that it can be an mxg_matrix_view? */
bool mxg_file_dtype_is_value(mxg_file_dtype dtype);

enum { MXG_MAX_DIMS = 32 };
typedef struct mxg_tensor {
  const char *path; /* of the file, for messages */
  char *name;       /* safetensors: its name; otherwise "x" */
  mxg_file_dtype dtype;
  size_t rank, dims[MXG_MAX_DIMS]; /* F4 dims count elements */
  size_t rows, cols;               /* rows = product of the leading dims; rank 0 and 1: one row */
  const unsigned char *data;       /* dense, as stored: mxg_values_open() makes it host order */
  size_t bytes;
  bool is_big_endian; /* data has the other order than safetensors; npy only */
} mxg_tensor;

/* An opened file with its tensors: npy and raw have one. */
typedef struct mxg_tensor_file {
  mxg_file file;
  mxg_file_kind kind;
  size_t count;
  mxg_tensor *tensors;
  struct json_t *metadata; /* safetensors: the object __metadata__ or NULL */
  mxg_scratch swapped;     /* values in host order where the file had the other one */
} mxg_tensor_file;

/* --tensor, --dtype, --shape: a table to include and its result. NULL = not given. */
typedef struct mxg_input_options {
  const char *tensor;
  const char *dtype; /* with shape: the file is raw, whatever its name; with npy: uint16 as bf16 */
  const char *shape;
  bool raw_as_bytes; /* a raw file without dtype and shape is one row of u8 */
  bool raw_if_fits;  /* dtype and shape may belong to another file: they make this one raw only when
                        its size is theirs or nothing else is known of it, and a .npy may be of
                        another dtype */
  bool npy_uint16_as_bf16; /* uint16 of a .npy is bf16 without a dtype that says so */
} mxg_input_options;
extern mxg_input_options mxg_input_args;
extern struct poptOption mxg_input_table[];

/* Opens any of the three kinds. `options` may be NULL. */
int mxg_tensor_file_open(const char *path, const mxg_input_options *options, mxg_tensor_file *out);
void mxg_tensor_file_close(mxg_tensor_file *file);
/* The tensor called `name`, or with NULL the only one; else a message that lists the names. */
int mxg_tensor_pick(const mxg_tensor_file *file, const char *name, const mxg_tensor **out);
/* By name, no message, NULL when absent. */
const mxg_tensor *mxg_tensor_find(const mxg_tensor_file *file, const char *name);
/* All names for a message, comma-separated; static storage. */
const char *mxg_tensor_names(const mxg_tensor_file *file);
/* String value of a __metadata__ key, or NULL. */
const char *mxg_tensor_metadata(const mxg_tensor_file *file, const char *key);
/* Open + pick + "must be f32, f16 or bf16" + host byte order: the way to read values. tensor points
 * into file. */
int mxg_values_open(const char *path, const mxg_input_options *options, mxg_tensor_file *file,
                    const mxg_tensor **tensor);
/* The same in an open file; one tensor of a file. */
int mxg_values_pick(mxg_tensor_file *file, const char *name, const mxg_tensor **tensor);
/* A tensor of values as a view of rows [first, first + rows). */
mxg_matrix_view mxg_tensor_rows(const mxg_tensor *tensor, size_t first, size_t rows);

/* A raw file of exactly `count` little-endian f32, in host order: --row-weights, --weights.
 * `why` says in the message what count it was compared with ("rows x top_k = 24 x 8"). */
int mxg_f32_file_open(const char *path, size_t count, const char *why, mxg_tensor_file *out,
                      const float **values);

/* ---- codes and scales in files (io_packed.c) ---- */

/* A quantised matrix: from a safetensors NAME / NAME_scale pair or from raw --codes and --scales.
 * Sizes are as found: nothing is checked against a layout here (`compare` reports a wrong size as a
 * difference). */
typedef struct mxg_packed_file {
  mxg_tensor_file codes_file, scales_file; /* scales_file is unused for a safetensors pair */
  const char *path;                        /* for messages */
  const char *name;                        /* NAME, or "x" */
  const unsigned char *codes, *scales;     /* scales NULL when there are none */
  size_t codes_bytes, scales_bytes;
  mxg_file_dtype codes_dtype, scales_dtype; /* U8 for raw */
  size_t codes_rows, codes_cols;            /* of the stored tensor; raw: 0 */
  const char *recipe_text;                  /* from __metadata__, or NULL: see mxg_packed_recipe */
  bool has_shape;                           /* from __metadata__ */
  size_t rows, cols;
  mxg_layout_options options; /* from __metadata__, else all zero */
  size_t live_rows;           /* from __metadata__, else rows */
} mxg_packed_file;
/* `tensor` names NAME, or NULL for the only pair. */
int mxg_packed_open(const char *path, const char *tensor, mxg_packed_file *out);
/* The same in an open file, which stays the caller's: `out` is not to be closed. */
int mxg_packed_find(const mxg_tensor_file *file, const char *tensor, mxg_packed_file *out);
/* scales_path may be NULL. */
int mxg_packed_open_raw(const char *codes_path, const char *scales_path, mxg_packed_file *out);
void mxg_packed_close(mxg_packed_file *file);
/* Do the types of the tensors go with the recipe? USAGE when --recipe gave it, else FILE. */
int mxg_packed_check_types(const mxg_packed_file *file, const mxg_recipe *recipe,
                           bool is_recipe_told);
/* The recipe: --recipe's text where given (not NULL), else that of the file, else a message. */
int mxg_packed_recipe(const mxg_packed_file *file, const char *text, mxg_recipe *out);
/* Does the file say that it was made by a recipe of other bytes: another element, kind of scale or
 * block? What a recipe says of scale rules or NaN does not matter for reading. */
bool mxg_packed_is_of_other(const mxg_packed_file *file, const mxg_recipe *recipe);

/* ---- row chunks (chunk.c) ---- */

/* Rows to hand to the library at a time: about 8 MiB, a multiple of what the order needs. */
size_t mxg_chunk_rows(const mxg_layout *whole, size_t source_row_bytes);
/* The layout of rows [first, first + rows) alone; first is a multiple of mxg_chunk_rows(). */
int mxg_chunk_layout(const mxg_recipe *recipe, const mxg_layout *whole, size_t rows,
                     mxg_layout *out);
/* Scales of a chunk out of (gather) or into (scatter) the whole matrix. Gather returns a pointer
 * into `scales` where the order allows it, else fills and returns `buffer` (chunk->scales_bytes). */
const unsigned char *mxg_scales_gather(const mxg_layout *whole, const unsigned char *scales,
                                       size_t first, const mxg_layout *chunk,
                                       unsigned char *buffer);
void mxg_scales_scatter(const mxg_layout *whole, unsigned char *scales, size_t first,
                        const mxg_layout *chunk, const unsigned char *from);

/* ---- outputs (io_output.c) ---- */

/* A regular or absent target is written as a temporary beside it and renamed by commit; devices,
 * FIFOs and "-" (standard output) are written directly. On SIGINT, SIGTERM and SIGHUP temporaries
 * are removed. */
typedef struct mxg_output mxg_output;
void mxg_output_signals(void); /* main calls it first */
/* Refuses directories and any of `inputs` (NULL-terminated, may be NULL). Nothing is created. */
int mxg_output_check(const char *option, const char *path, const mxg_file *const *inputs);
/* Refuses two outputs that are one regular file or both standard output; NULL entries are skipped. */
int mxg_output_distinct(const char *const *paths, size_t count);
int mxg_output_open(const char *option, const char *path, mxg_output **out);
int mxg_output_write(mxg_output *output, const void *data, size_t bytes);
int mxg_output_zeros(mxg_output *output, size_t bytes);
/* Flush, close and rename all, or remove all; frees them either way. NULL entries are skipped. */
int mxg_output_commit(mxg_output **outputs, size_t count);
/* Remove what was not committed. */
void mxg_output_abort(mxg_output **outputs, size_t count);

/* What files hold (io_write.c). Values are in host order and become little-endian on the way;
 * `data` is overwritten on big-endian hosts. */
int mxg_output_values(mxg_output *output, mxg_dtype dtype, void *data, size_t count);
/* The header of a .npy of rows x cols; bf16 goes as uint16. */
int mxg_output_npy_header(mxg_output *output, mxg_dtype dtype, size_t rows, size_t cols);
/* check + open + header of a result: .npy when `path` ends so, else raw; -o is its option. */
int mxg_values_output_open(const char *path, const mxg_file *const *inputs, mxg_dtype dtype,
                           size_t rows, size_t cols, mxg_output **out);
/* The header of a .safetensors of a NAME / NAME_scale pair with its __metadata__. live_rows as
 * layout->rows when all live. *scales_first: whether the scales come before the codes. */
int mxg_output_packed_header(mxg_output *output, const char *name, const mxg_recipe *recipe,
                             const mxg_layout *layout, size_t live_rows, bool *scales_first);

/* ---- progress (progress.c) ---- */

/* A bar on stderr when that is a terminal and the work takes over a second. Begin and end may nest:
 * the outermost has the bar. */
void mxg_progress_begin(const char *what, uint64_t total);
void mxg_progress_step(uint64_t done);
void mxg_progress_end(void);
/* No bar from here on, so that a message stands alone. */
void mxg_progress_hide(void);

#endif
