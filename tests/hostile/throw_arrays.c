/* throw_arrays.c: .npy and .safetensors files with values, raw files, weights.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "hostile.h"

enum { DATA = 1024 }; /* bytes of the right files */

static blob b;

static const char *const quantize[] = {"mxgold", "quantize", "in.bin",  "--recipe",
                                       "mxfp4",  "-o",       "out.bin", NULL};
static const char *const quantize_x[] = {"mxgold",   "quantize", "in.bin", "--tensor", "x",
                                         "--recipe", "mxfp4",    "-o",     "out.bin",  NULL};

typedef struct header {
  const char *kind, *text;
  verdict expected;
} header;

/* ---- npy ---- */

#define NPY(descr, shape) "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }\n"

static const header npy_headers[] = {
    {"wrong type", NPY("<f8", "(4, 32)"), MUST_REFUSE_3},
    {"wrong type", NPY("<i4", "(4, 64)"), MUST_REFUSE_3},
    {"wrong type", NPY("|O", "(4, 64)"), MUST_REFUSE_3},
    {"wrong type", NPY("|V4", "(4, 64)"), MUST_REFUSE_3},
    {"wrong type", NPY("", "(4, 64)"), MUST_REFUSE_3},
    {"wrong type", "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (256,)}",
     MUST_REFUSE_3},
    {"wrong type", "{'descr': None, 'fortran_order': False, 'shape': (256,)}", MUST_REFUSE_3},
    {"100 GiB in 1 KiB", NPY("<f4", "(25600, 1048576)"), MUST_REFUSE_3},
    {"100 GiB in 1 KiB", NPY("<f4", "(26843545600,)"), MUST_REFUSE_3},
    {"100 GiB in 1 KiB", NPY("|u1", "(107374182400,)"), MUST_REFUSE_3},
    {"overflowing shape", NPY("<f4", "(4294967296, 4294967296)"), MUST_REFUSE_3},
    {"overflowing shape", NPY("<f4", "(18446744073709551615,)"), MUST_REFUSE_3},
    {"overflowing shape", NPY("<f4", "(18446744073709551616,)"), MUST_REFUSE_3},
    {"overflowing shape", NPY("<f4", "(4611686018427387905,)"), MUST_REFUSE_3},
    {"overflowing shape", NPY("<f4", "(99999999999999999999999999999999, 4)"), MUST_REFUSE_3},
    {"overflowing shape",
     NPY("<f4", "(2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2)"),
     MUST_REFUSE_3},
    {"negative or no number in shape", NPY("<f4", "(-4, 64)"), MUST_REFUSE_3},
    {"negative or no number in shape", NPY("<f4", "(4.0, 64)"), MUST_REFUSE_3},
    {"negative or no number in shape", NPY("<f4", "(4 64)"), MUST_REFUSE_3},
    {"negative or no number in shape", NPY("<f4", "(0x4, 64)"), MUST_REFUSE_3},
    {"negative or no number in shape", NPY("<f4", "(256)"), MUST_REFUSE_3},
    {"negative or no number in shape", NPY("<f4", "[4, 64]"), MUST_REFUSE_3},
    {"negative or no number in shape", NPY("<f4", "(,)"), MUST_REFUSE_3},
    {"negative or no number in shape", NPY("<f4", "(4, 64"), MUST_REFUSE_3},
    {"duplicate, missing or unknown key", "{'descr': '<f4', 'shape': (4, 64)}", MUST_REFUSE_3},
    {"duplicate, missing or unknown key", "{'fortran_order': False, 'shape': (4, 64)}",
     MUST_REFUSE_3},
    {"duplicate, missing or unknown key", "{'descr': '<f4', 'fortran_order': False}",
     MUST_REFUSE_3},
    {"duplicate, missing or unknown key",
     "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4, 64)}", MUST_REFUSE_3},
    {"duplicate, missing or unknown key",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 64), 'shape': (4, 64)}", MUST_REFUSE_3},
    {"duplicate, missing or unknown key",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 64), 'x': 1}", MUST_REFUSE_3},
    {"duplicate, missing or unknown key", "{}", MUST_REFUSE_3},
    {"duplicate, missing or unknown key", "", MUST_REFUSE_3},
    {"no dict", "[1, 2]", MUST_REFUSE_3},
    {"no dict", "__import__('os').system('true')", MUST_REFUSE_3},
    {"no dict", "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 64)} + {}", MUST_REFUSE_3},
    {"no dict", "{'descr': '<f4', 'fortran_order': not True, 'shape': (4, 64)}", MUST_REFUSE_3},
    {"no dict", "{'descr': '<f4, 'fortran_order': False, 'shape': (4, 64)}", MUST_REFUSE_3},
    {"control and UTF-8 bytes", NPY("\x1b[2J", "(4, 64)"), MUST_REFUSE_3},
    {"control and UTF-8 bytes", NPY("\xE2\x80\xAE", "(4, 64)"), MUST_REFUSE_3},
    {"control and UTF-8 bytes", "{'\x07escr': '<f4', 'fortran_order': False, 'shape': (4, 64)}",
     MUST_REFUSE_3},
    {"Fortran order", "{'descr': '<f4', 'fortran_order': True, 'shape': (4, 64)}", MUST_REFUSE_3},
    {"rows or columns of nothing", NPY("<f4", "(0, 64)"), MUST_REFUSE_3}, /* with 1 KiB behind */
    {"rows or columns of nothing", NPY("<f4", "(0, 18446744073709551615)"), MUST_REFUSE_3},
    {"rows or columns of nothing", NPY("<f4", "(18446744073709551615, 0)"), MUST_REFUSE_3}};

/* The same with no data behind: shapes that are right and enormous in one direction. */
static const char *const empty_shapes[] = {"(0,)",
                                           "(0, 64)",
                                           "(64, 0)",
                                           "(0, 18446744073709551615)",
                                           "(18446744073709551615, 0)",
                                           "(4611686018427387904, 0)",
                                           "(0, 4294967296, 4294967296)",
                                           "(4294967296, 4294967296, 0)"};

static void right_npy(void) {
  make_npy(&b, NPY("<f4", "(4, 64)"), DATA);
}

static void throw_blob(const char *reader, const char *kind, verdict expected,
                       const char *const *arguments) {
  blob_save(&b, "in.bin");
  throw_at(reader, kind, expected, arguments);
}

void throw_npy(size_t times) {
  for (size_t i = 0; i < times; i++) {
    right_npy();
    mutate_truncate(&b);
    throw_blob("npy", "truncated", MUST_REFUSE, quantize);
    right_npy();
    mutate_extend(&b);
    throw_blob("npy", "bytes behind", MUST_REFUSE_3, quantize);
    right_npy();
    mutate_flip(&b, 0, 80);
    throw_blob("npy", "bits flipped in the header", MAY_PASS, quantize);
    right_npy();
    mutate_move(&b);
    throw_blob("npy", "a part over another", MAY_PASS, quantize);
    right_npy();
    b.data[8] = (uint8_t)random_next();
    b.data[9] = (uint8_t)random_next();
    b.data[6] = (uint8_t)(random_below(4) == 0 ? random_next() : 1 + random_below(3));
    throw_blob("npy", "false header length or version", MAY_PASS, quantize);
  }
  for (size_t i = 0; i < sizeof npy_headers / sizeof npy_headers[0]; i++) {
    make_npy(&b, npy_headers[i].text, DATA - strlen(npy_headers[i].text));
    throw_blob("npy", npy_headers[i].kind, npy_headers[i].expected, quantize);
  }
  for (size_t i = 0; i < sizeof empty_shapes / sizeof empty_shapes[0]; i++) {
    static blob text;
    blob_clear(&text);
    blob_print(&text, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\n", empty_shapes[i]);
    make_npy(&b, (const char *)text.data, 0);
    throw_blob("npy", "rows or columns of nothing", MAY_PASS, quantize);
  }
  make_npy(&b, NPY("<f4", "(4, 64)"), DATA); /* a 0 byte in the header */
  b.data[20] = 0;
  throw_blob("npy", "control and UTF-8 bytes", MUST_REFUSE_3, quantize);
}

/* ---- safetensors ---- */

#define F32(shape, begin, end) \
  "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"
#define X_IS(entry) "{\"x\":" entry "}"

static const header safetensors_headers[] = {
    {"100 GiB in 1 KiB", X_IS(F32("[25600,1048576]", "0", "107374182400")), MUST_REFUSE_3},
    {"100 GiB in 1 KiB", X_IS(F32("[25600,1048576]", "0", "1024")), MUST_REFUSE_3},
    {"100 GiB in 1 KiB", X_IS(F32("[26843545600]", "0", "107374182400")), MUST_REFUSE_3},
    {"overflowing shape", X_IS(F32("[4294967296,4294967296]", "0", "1024")), MUST_REFUSE_3},
    {"overflowing shape", X_IS(F32("[9223372036854775807]", "0", "1024")), MUST_REFUSE_3},
    {"overflowing shape", X_IS(F32("[18446744073709551615]", "0", "1024")), MUST_REFUSE_3},
    {"overflowing shape", X_IS(F32("[4611686018427387905]", "0", "4")), MUST_REFUSE_3},
    {"overflowing shape",
     X_IS(
         F32("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,256]", "0", "1024")),
     MUST_REFUSE_3},
    {"negative or no number", X_IS(F32("[-4,64]", "0", "1024")), MUST_REFUSE_3},
    {"negative or no number", X_IS(F32("[4.0,64]", "0", "1024")), MUST_REFUSE_3},
    {"negative or no number", X_IS(F32("[\"4\",64]", "0", "1024")), MUST_REFUSE_3},
    {"negative or no number", X_IS(F32("[null,64]", "0", "1024")), MUST_REFUSE_3},
    {"negative or no number", X_IS(F32("256", "0", "1024")), MUST_REFUSE_3},
    {"negative or no number", X_IS(F32("[4,64]", "-1024", "0")), MUST_REFUSE_3},
    {"negative or no number", X_IS(F32("[4,64]", "-1", "1023")), MUST_REFUSE_3},
    {"negative or no number", X_IS(F32("[4,64]", "0", "1e3")), MUST_REFUSE_3},
    {"negative or no number", X_IS(F32("[4,64]", "0", "1024,2048")), MUST_REFUSE_3},
    {"offsets outside or reversed", X_IS(F32("[4,64]", "1024", "0")), MUST_REFUSE_3},
    {"offsets outside or reversed", X_IS(F32("[4,64]", "1", "1025")), MUST_REFUSE_3},
    {"offsets outside or reversed", X_IS(F32("[4,64]", "0", "18446744073709551615")),
     MUST_REFUSE_3},
    {"offsets outside or reversed",
     X_IS(F32("[4,64]", "9223372036854774784", "9223372036854775807")), MUST_REFUSE_3},
    {"offsets outside or reversed", X_IS(F32("[4,64]", "0", "1020")), MUST_REFUSE_3},
    {"overlapping tensors or holes",
     "{\"x\":" F32("[2,64]", "0", "512") ",\"y\":" F32("[2,64]", "256", "768") "}", MUST_REFUSE_3},
    {"overlapping tensors or holes",
     "{\"x\":" F32("[4,64]", "0", "1024") ",\"y\":" F32("[4,64]", "0", "1024") "}", MUST_REFUSE_3},
    {"overlapping tensors or holes",
     "{\"x\":" F32("[2,64]", "0", "512") ",\"y\":" F32("[1,64]", "768", "1024") "}", MUST_REFUSE_3},
    {"overlapping tensors or holes", X_IS(F32("[2,64]", "512", "1024")), MUST_REFUSE_3},
    {"overlapping tensors or holes", X_IS(F32("[2,64]", "0", "512")), MUST_REFUSE_3},
    {"wrong or missing field",
     X_IS("{\"dtype\":\"F31\",\"shape\":[4,64],\"data_offsets\":[0,1024]}"), MUST_REFUSE_3},
    {"wrong or missing field",
     X_IS("{\"dtype\":\"I32\",\"shape\":[4,64],\"data_offsets\":[0,1024]}"), MUST_REFUSE_3},
    {"wrong or missing field",
     X_IS("{\"dtype\":\"F6_E2M3\",\"shape\":[3],\"data_offsets\":[0,1024]}"), MUST_REFUSE_3},
    {"wrong or missing field",
     X_IS("{\"dtype\":\"F4\",\"shape\":[2047],\"data_offsets\":[0,1024]}"), MUST_REFUSE_3},
    {"wrong or missing field", X_IS("{\"dtype\":7,\"shape\":[4,64],\"data_offsets\":[0,1024]}"),
     MUST_REFUSE_3},
    {"wrong or missing field", X_IS("{\"shape\":[4,64],\"data_offsets\":[0,1024]}"), MUST_REFUSE_3},
    {"wrong or missing field", X_IS("{\"dtype\":\"F32\",\"data_offsets\":[0,1024]}"),
     MUST_REFUSE_3},
    {"wrong or missing field", X_IS("{\"dtype\":\"F32\",\"shape\":[4,64]}"), MUST_REFUSE_3},
    {"wrong or missing field", X_IS("[]"), MUST_REFUSE_3},
    {"wrong or missing field", X_IS("null"), MUST_REFUSE_3},
    {"wrong or missing field", "{}", MUST_REFUSE},
    {"duplicate key",
     "{\"x\":" F32("[2,64]", "0", "512") ",\"x\":" F32("[2,64]", "512", "1024") "}", MUST_REFUSE_3},
    {"duplicate key",
     X_IS("{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[4,64],\"data_offsets\":[0,1024]}"),
     MUST_REFUSE_3},
    {"wrong __metadata__", "{\"__metadata__\":7,\"x\":" F32("[4,64]", "0", "1024") "}",
     MUST_REFUSE_3},
    {"wrong __metadata__", "{\"__metadata__\":{\"a\":[]},\"x\":" F32("[4,64]", "0", "1024") "}",
     MUST_REFUSE_3},
    {"no JSON object", "[1,2]", MUST_REFUSE},
    {"no JSON object", "{", MUST_REFUSE_3},
    {"no JSON object", "{\"x\"", MUST_REFUSE_3},
    {"no JSON object", "{]", MUST_REFUSE_3},
    {"no JSON object", "{'x':1}", MUST_REFUSE_3},
    {"no JSON object", "{\"x\":NaN}", MUST_REFUSE_3},
    {"no JSON object", "{\"x\":1e999999}", MUST_REFUSE_3},
    {"NUL, control and UTF-8 names", "{\"x\\u0000y\":" F32("[4,64]", "0", "1024") "}", MUST_REFUSE},
    {"NUL, control and UTF-8 names", "{\"\\u001b[2J\":" F32("[4,64]", "0", "1020") "}",
     MUST_REFUSE_3},
    {"NUL, control and UTF-8 names", "{\"\xC3\x28\":" F32("[4,64]", "0", "1024") "}",
     MUST_REFUSE_3},
    {"NUL, control and UTF-8 names", "{\"\xED\xA0\x80\":" F32("[4,64]", "0", "1024") "}",
     MUST_REFUSE_3},
    {"NUL, control and UTF-8 names", "{\"\\ud800\":" F32("[4,64]", "0", "1024") "}", MUST_REFUSE_3},
    {"NUL, control and UTF-8 names", "{\"\xE2\x80\xAE\":" F32("[4,64]", "0", "1020") "}",
     MUST_REFUSE_3},
    {"NUL, control and UTF-8 names", "{\"\":" F32("[4,64]", "0", "1020") "}", MUST_REFUSE_3}};

static void right_safetensors(void) {
  make_safetensors(
      &b, "{\"x\":" F32("[2,64]", "0", "512") ",\"y\":" F32("[2,64]", "512", "1024") "}", DATA);
}

/* Brackets far deeper than a recursion should follow. */
static void throw_deep(char open, const char *before) {
  static const size_t depths[] = {100, 2048, 2049, 30000, 200000};
  for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
    blob_clear(&b);
    const uint64_t length = strlen(before) + depths[i];
    for (int byte = 0; byte < 8; byte++) {
      const uint8_t one = (uint8_t)(length >> 8 * byte);
      blob_put(&b, &one, 1);
    }
    blob_print(&b, "%s", before);
    for (size_t n = 0; n < depths[i]; n++) blob_put(&b, &open, 1);
    throw_blob("safetensors", "deep JSON", MUST_REFUSE_3, quantize);
  }
}

void throw_safetensors(size_t times) {
  for (size_t i = 0; i < times; i++) {
    right_safetensors();
    mutate_truncate(&b);
    throw_blob("safetensors", "truncated", MUST_REFUSE, quantize_x);
    right_safetensors();
    mutate_extend(&b);
    throw_blob("safetensors", "bytes behind", MUST_REFUSE_3, quantize_x);
    right_safetensors();
    mutate_flip(&b, 8, 150);
    throw_blob("safetensors", "bits flipped in the header", MAY_PASS, quantize_x);
    right_safetensors();
    mutate_flip(&b, 0, 8);
    throw_blob("safetensors", "false header length", MAY_PASS, quantize_x);
    right_safetensors();
    mutate_move(&b);
    throw_blob("safetensors", "a part over another", MAY_PASS, quantize_x);
  }
  for (size_t i = 0; i < sizeof safetensors_headers / sizeof safetensors_headers[0]; i++) {
    const header *h = &safetensors_headers[i];
    make_safetensors(&b, h->text, DATA);
    throw_blob("safetensors", h->kind, h->expected,
               strstr(h->text, "\"x\":") != NULL ? quantize_x : quantize);
  }
  throw_deep('[', "{\"x\":");
  throw_deep('{', "");
  blob_clear(&b); /* very many tensors of nothing */
  blob_print(&b, "12345678{");
  for (int i = 0; i < 3000; i++)
    blob_print(&b, "%s\"t%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
               i ? "," : "", i);
  blob_print(&b, "}");
  for (int byte = 0; byte < 8; byte++)
    b.data[byte] = (uint8_t)((uint64_t)(b.bytes - 8) >> 8 * byte);
  throw_blob("safetensors", "thousands of tensors", MUST_REFUSE, quantize);
}

/* ---- raw files and weights ---- */

void throw_raw(size_t times) {
  static const char *const shapes[] = {"4x65",
                                       "0x0",
                                       "1",
                                       "4294967296x4294967296",
                                       "18446744073709551615x1",
                                       "25600x1048576",
                                       "2x2x2",
                                       "x",
                                       "4x",
                                       "-4x-64",
                                       "4x64x",
                                       "0x18446744073709551615",
                                       "18446744073709551616x0",
                                       " 4x64",
                                       "4X64",
                                       "1e2x1"};
  static const char *const weighted[] = {
      "mxgold",        "quantize", "good.npy", "--recipe", "mxfp8",
      "--row-weights", "in.bin",   "-o",       "out.bin",  NULL};
  static const char *const combined[] = {
      "mxgold", "combine", "--recipe", "mori-fp8",  "--shape", "4x64", "--weights",
      "in.bin", "-o",      "out.bin",  "slots.bin", "-",       NULL};
  static const char *const slots[] = {"mxgold",  "combine", "--recipe", "mori-fp8",
                                      "--shape", "4x64",    "-o",       "out.bin",
                                      "in.bin",  "in.bin",  NULL};
  static const char *const codes[] = {"mxgold",     "dequantize", "--codes", "in.bin",   "--scales",
                                      "scales.bin", "--shape",    "4x64",    "--recipe", "mxfp4",
                                      "-o",         "out.bin",    NULL};
  static const char *const no_file[] = {"mxgold",   "quantize", "good.npy",  "--recipe",
                                        "mori-fp8", "--slots",  "slots.bin", NULL};
  right_npy();
  blob_save(&b, "good.npy");
  make_garbage(&b);
  throw_at("raw", "nothing wrong: makes slots", MAY_PASS, no_file);
  blob_clear(&b);
  blob_print(&b, "12345678");
  blob_save(&b, "scales.bin");
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const char *const raw[] = {"mxgold",  "quantize", "in.bin", "--dtype", "f32",     "--shape",
                               shapes[i], "--recipe", "mxfp4",  "-o",      "out.bin", NULL};
    right_npy();
    b.bytes = 1024;
    throw_blob("raw", "a shape that the size is not", MUST_REFUSE, raw);
  }
  for (size_t i = 0; i < times; i++) {
    const char *const raw[] = {"mxgold", "quantize", "in.bin",   "--dtype", "f32",     "--shape",
                               "4x64",   "--recipe", "mori-fp8", "-o",      "out.bin", NULL};
    make_garbage(&b);
    throw_blob("raw", "random bytes, wrong size", b.bytes == 1024 ? MAY_PASS : MUST_REFUSE, raw);
    make_garbage(&b);
    while (b.bytes < 1024) {
      const uint64_t word = random_next();
      blob_put(&b, &word, sizeof word);
    }
    b.bytes = 1024;
    throw_blob("raw", "random bytes, right size", MAY_PASS, raw);
    make_garbage(&b);
    throw_blob("weights", "random bytes as --row-weights", b.bytes == 16 ? MAY_PASS : MUST_REFUSE,
               weighted);
    make_garbage(&b);
    throw_blob("weights", "random bytes as --weights", b.bytes == 32 ? MAY_PASS : MUST_REFUSE,
               combined);
    make_garbage(&b);
    throw_blob("slots", "random bytes, wrong size", b.bytes == 272 ? MAY_PASS : MUST_REFUSE, slots);
    make_garbage(&b);
    while (b.bytes < 272) {
      const uint64_t word = random_next();
      blob_put(&b, &word, sizeof word);
    }
    b.bytes = 272;
    throw_blob("slots", "random bytes, right size", MAY_PASS, slots);
    make_garbage(&b);
    throw_blob("codes and scales", "random bytes, wrong size",
               b.bytes == 128 ? MAY_PASS : MUST_REFUSE, codes);
    make_garbage(&b);
    while (b.bytes < 128) {
      const uint64_t word = random_next();
      blob_put(&b, &word, sizeof word);
    }
    b.bytes = 128;
    throw_blob("codes and scales", "random bytes, right size", MAY_PASS, codes);
  }
}
