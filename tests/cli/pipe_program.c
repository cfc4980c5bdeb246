/* pipe_program.c: the program in the middle of gen | program | verify, for every operation and both
 * formats, by way of the library; with a recipe of its own it is a program that follows a wrong one.
 *
 *   pipe_program [RECIPE]
 *
 * It reads the stream from docs/PIPE.md alone and shares nothing with the tool.
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mxgold.h"

static void die(const char *why) {
  fprintf(stderr, "pipe_program: %s\n", why);
  exit(1);
}

static void *room(size_t bytes) {
  void *memory = calloc(bytes + 1, 1);
  if (!memory) die("out of memory");
  return memory;
}

typedef struct bytes {
  unsigned char *data;
  size_t count;
} bytes;

/* One case; little-endian, as the stream has it. */
typedef struct one_case {
  unsigned long id;
  mxg_dtype dtype;
  size_t rows, cols, top_k;
  bytes first, second, present;
} one_case;

static mxg_recipe recipe;
static mxg_operation op;
static int is_binary;

/* Values of `width` bytes between the stream's order and the host's. */
static void swap_on_big_endian(bytes *b, size_t width) {
  const uint16_t probe = 1;
  unsigned char lowest = 0;
  memcpy(&lowest, &probe, 1);
  for (size_t at = 0; lowest == 0 && at + width <= b->count; at += width)
    for (size_t i = 0; i < width / 2; i++) {
      const unsigned char other = b->data[at + i];
      b->data[at + i] = b->data[at + width - 1 - i];
      b->data[at + width - 1 - i] = other;
    }
}

/* ---- the answer ---- */

static void must(mxg_status status) {
  if (status != MXG_OK) die(mxg_strerror(status));
}

static mxg_layout layout_of(const one_case *c, mxg_placement placement) {
  mxg_layout layout;
  mxg_layout_options options;
  memset(&options, 0, sizeof options);
  options.placement = placement;
  must(mxg_layout_for(&recipe, c->rows, c->cols, &options, &layout));
  return layout;
}

static void quantize(one_case *c, bytes *codes, bytes *scales) {
  const mxg_layout layout = layout_of(c, MXG_PLACEMENT_SEPARATE);
  swap_on_big_endian(&c->first, mxg_dtype_bytes(c->dtype));
  swap_on_big_endian(&c->second, 4);
  codes->data = room(codes->count = layout.codes_bytes);
  scales->data = room(scales->count = layout.scales_bytes);
  const mxg_matrix_view x = {c->first.data, c->dtype, c->rows, c->cols, 0};
  const mxg_packed out = {codes->data, codes->count, scales->data, scales->count, layout};
  const float *weights = c->second.count ? (const float *)(const void *)c->second.data : NULL;
  must(mxg_quantize(&recipe, &x, weights, &out, NULL));
}

static void decode(one_case *c, bytes *values) {
  values->data = room(values->count = c->rows * c->cols * mxg_dtype_bytes(c->dtype));
  const mxg_matrix y = {values->data, c->dtype, c->rows, c->cols, 0};
  if (op == MXG_OPERATION_DEQUANTIZE) {
    const mxg_packed_view in = {c->first.data, c->first.count, c->second.data, c->second.count,
                                layout_of(c, MXG_PLACEMENT_SEPARATE)};
    must(mxg_dequantize(&recipe, &in, &y, NULL));
  } else {
    const mxg_layout layout = layout_of(c, MXG_PLACEMENT_SLOT);
    const size_t count = c->rows * c->top_k;
    const void **slots = room(count * sizeof *slots);
    swap_on_big_endian(&c->second, 4);
    for (size_t i = 0; i < count; i++)
      slots[i] = c->present.data[i] ? c->first.data + i * layout.slot_bytes : NULL;
    const float *weights = c->second.count ? (const float *)(const void *)c->second.data : NULL;
    must(mxg_combine(&recipe, slots, c->top_k, weights, &layout, 0, c->cols, &y, NULL));
    free(slots);
  }
  swap_on_big_endian(values, mxg_dtype_bytes(c->dtype));
}

/* ---- text ---- */

static bytes from_hex(const char *text) {
  bytes out = {NULL, strcmp(text, "-") == 0 ? 0 : strlen(text) / 2};
  out.data = room(out.count);
  for (size_t i = 0; i < out.count; i++) {
    const char two[3] = {text[2 * i], text[2 * i + 1], 0};
    out.data[i] = (unsigned char)strtoul(two, NULL, 16);
  }
  return out;
}

static void print_hex(const bytes *b) {
  if (b->count == 0) putchar('-');
  for (size_t i = 0; i < b->count; i++) printf("%02x", b->data[i]);
}

static const char *field(void) {
  const char *text = strtok(NULL, " \n");
  if (!text) die("a field is missing");
  return text;
}

/* "HEX,-,HEX" into slots side by side. */
static void read_slots(one_case *c, char *text) {
  const size_t stride = layout_of(c, MXG_PLACEMENT_SLOT).slot_bytes, count = c->rows * c->top_k;
  c->first.data = room(c->first.count = count * stride);
  c->present.data = room(c->present.count = count);
  for (size_t i = 0; i < count; i++) {
    char *comma = strchr(text, ',');
    if (comma) *comma = 0;
    const bytes slot = from_hex(text);
    c->present.data[i] = slot.count != 0;
    if (slot.count) memcpy(c->first.data + i * stride, slot.data, slot.count);
    free(slot.data);
    text = comma ? comma + 1 : text + strlen(text);
  }
}

static int read_text(one_case *c) {
  static char *line;
  static size_t capacity;
  for (;;) {
    if (getline(&line, &capacity, stdin) <= 0) return 0;
    if (line[0] != '#') break;
    fputs(line, stdout);
  }
  c->id = strtoul(strtok(line, " \n"), NULL, 10);
  const char *dtype = field();
  c->dtype = strcmp(dtype, "f32") == 0   ? MXG_DTYPE_F32
             : strcmp(dtype, "f16") == 0 ? MXG_DTYPE_F16
                                         : MXG_DTYPE_BF16;
  c->rows = strtoul(field(), NULL, 10);
  c->cols = strtoul(field(), NULL, 10);
  if (op == MXG_OPERATION_COMBINE) {
    c->top_k = strtoul(field(), NULL, 10);
    char *slots = strtok(NULL, " \n");
    if (!slots) die("a field is missing");
    read_slots(c, slots);
  } else {
    c->first = from_hex(field());
  }
  const char *second = strtok(NULL, " \n");
  c->second = from_hex(second ? second : "-");
  return 1;
}

/* ---- binary ---- */

static bytes read_part(uint32_t count) {
  bytes out = {room(count), count};
  if (fread(out.data, 1, count, stdin) != count) die("the stream ends inside a case");
  return out;
}

static int read_binary(one_case *c) {
  unsigned char head[40];
  uint32_t words[10] = {0};
  if (fread(head, 1, sizeof head, stdin) != sizeof head) return 0;
  for (size_t i = 0; i < sizeof head; i++) words[i / 4] |= (uint32_t)head[i] << i % 4 * 8;
  if (memcmp(head, "MXGC", 4) != 0) die("no case where one begins");
  c->id = words[1];
  c->dtype = (mxg_dtype)words[2];
  c->rows = words[3];
  c->cols = words[4];
  c->top_k = words[5];
  c->first = read_part(words[6]);
  c->second = read_part(words[7]);
  c->present = read_part(words[8]);
  return 1;
}

static void put_word(uint32_t word) {
  for (int i = 0; i < 4; i++) putchar((int)(word >> 8 * i & 255));
}

/* ---- the program ---- */

static void read_header(const char *own_recipe) {
  static char line[4096];
  char text[1024] = "", name[16] = "";
  if (!fgets(line, sizeof line, stdin) || line[0] != '#') die("no header");
  fputs(line, stdout);
  const char *at = strstr(line, " recipe="), *operation = strstr(line, " op=");
  if (!at || sscanf(at, " recipe=%1023s", text) != 1) die("no recipe");
  if (!operation || sscanf(operation, " op=%15s", name) != 1) die("no op");
  must(mxg_recipe_parse(own_recipe ? own_recipe : text, &recipe, NULL));
  op = strcmp(name, "combine") == 0      ? MXG_OPERATION_COMBINE
       : strcmp(name, "dequantize") == 0 ? MXG_OPERATION_DEQUANTIZE
                                         : MXG_OPERATION_QUANTIZE;
  is_binary = strstr(line, " format=binary") != NULL;
}

int main(int argc, char **argv) {
  read_header(argc > 1 ? argv[1] : NULL);
  for (;;) {
    one_case c;
    bytes first = {NULL, 0}, second = {NULL, 0};
    memset(&c, 0, sizeof c);
    if (!(is_binary ? read_binary(&c) : read_text(&c))) break;
    if (op == MXG_OPERATION_QUANTIZE)
      quantize(&c, &first, &second);
    else
      decode(&c, &first);
    if (is_binary) {
      fputs("MXGA", stdout);
      put_word((uint32_t)c.id);
      put_word((uint32_t)first.count);
      put_word((uint32_t)second.count);
      fwrite(first.data, 1, first.count, stdout);
      fwrite(second.data, 1, second.count, stdout);
    } else {
      printf("%lu ", c.id);
      print_hex(&first);
      if (op == MXG_OPERATION_QUANTIZE) putchar(' ');
      if (op == MXG_OPERATION_QUANTIZE) print_hex(&second);
      putchar('\n');
    }
    free(first.data);
    free(second.data);
    free(c.first.data);
    free(c.second.data);
    free(c.present.data);
  }
  return fflush(stdout) == 0 ? 0 : 1;
}
