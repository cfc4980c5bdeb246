/* io_npy.c: .npy versions 1 to 3, read strictly: a header that this does not understand is refused.
 * SPDX-License-Identifier: MIT */
#include "io_internal.h"

#include <stdio.h>
#include <string.h>

/* The header is a Python dict literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 */
typedef struct header {
  const char *at, *end, *begin;
  const char *problem; /* the first thing that was wrong */
  char descr[16];
  bool has_descr, has_order, has_shape;
  bool is_fortran;
  size_t rank, dims[MXG_MAX_DIMS];
} header;

static bool wrong(header *h, const char *problem) {
  if (!h->problem) h->problem = problem;
  return false;
}

static void skip_blanks(header *h) {
  while (h->at < h->end && (*h->at == ' ' || *h->at == '\t' || *h->at == '\n' || *h->at == '\r'))
    h->at++;
}

/* Skips blanks, then the character if it is there. */
static bool accept(header *h, char c) {
  skip_blanks(h);
  if (h->at == h->end || *h->at != c) return false;
  h->at++;
  return true;
}

static bool parse_string(header *h, char *out, size_t cap) {
  skip_blanks(h);
  if (h->at == h->end || (*h->at != '\'' && *h->at != '"')) return wrong(h, "expected a string");
  const char quote = *h->at++;
  size_t length = 0;
  for (; h->at < h->end && *h->at != quote; h->at++) {
    if (*h->at == '\\' || length + 1 == cap) return wrong(h, "a string that no key or type has");
    out[length++] = *h->at;
  }
  out[length] = 0;
  return accept(h, quote) || wrong(h, "a string without its closing quote");
}

static bool parse_dim(header *h) {
  size_t value = 0;
  const char *begin = h->at;
  for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
    const size_t digit = (size_t)(*h->at - '0');
    if (value > (SIZE_MAX - digit) / 10) return wrong(h, "a dimension that does not fit size_t");
    value = value * 10 + digit;
  }
  if (h->at == begin) return wrong(h, "expected a dimension (decimal digits)");
  if (h->at < h->end && *h->at == 'L') h->at++; /* Python 2 wrote 10L */
  if (h->rank == MXG_MAX_DIMS) return wrong(h, "more than 32 dimensions");
  h->dims[h->rank++] = value;
  return true;
}

static bool parse_shape(header *h) {
  if (!accept(h, '(')) return wrong(h, "expected the tuple of 'shape'");
  if (accept(h, ')')) return true;
  for (;;) {
    skip_blanks(h);
    if (!parse_dim(h)) return false;
    const bool has_comma = accept(h, ',');
    if (accept(h, ')')) {
      /* (3) is a number in Python, not a tuple */
      return has_comma || h->rank > 1 || wrong(h, "'shape' is no tuple");
    }
    if (!has_comma) return wrong(h, "expected ',' or ')' in 'shape'");
  }
}

static bool parse_bool(header *h, bool *out) {
  skip_blanks(h);
  const size_t left = (size_t)(h->end - h->at);
  *out = left >= 4 && memcmp(h->at, "True", 4) == 0;
  if (!*out && !(left >= 5 && memcmp(h->at, "False", 5) == 0))
    return wrong(h, "'fortran_order' is neither True nor False");
  h->at += *out ? 4 : 5;
  return true;
}

static bool parse_descr(header *h) {
  skip_blanks(h);
  if (h->at < h->end && *h->at == '[')
    return wrong(h, "a structured dtype: save one field of it as a plain array");
  return parse_string(h, h->descr, sizeof h->descr);
}

static bool parse_entry(header *h) {
  char key[16];
  if (!parse_string(h, key, sizeof key)) return false;
  bool *seen = strcmp(key, "descr") == 0           ? &h->has_descr
               : strcmp(key, "fortran_order") == 0 ? &h->has_order
               : strcmp(key, "shape") == 0         ? &h->has_shape
                                                   : NULL;
  if (!seen) return wrong(h, "a key other than 'descr', 'fortran_order' and 'shape'");
  if (*seen) return wrong(h, "a key that comes twice");
  *seen = true;
  if (!accept(h, ':')) return wrong(h, "expected ':' behind a key");
  if (seen == &h->has_descr) return parse_descr(h);
  return seen == &h->has_order ? parse_bool(h, &h->is_fortran) : parse_shape(h);
}

static bool parse_dict(header *h) {
  if (!accept(h, '{')) return wrong(h, "expected '{'");
  for (;;) {
    if (accept(h, '}')) break;
    if (!parse_entry(h)) return false;
    if (accept(h, ',')) continue;
    if (!accept(h, '}')) return wrong(h, "expected ',' or '}'");
    break;
  }
  skip_blanks(h);
  if (h->at != h->end) return wrong(h, "text behind the closing '}'");
  if (!h->has_descr || !h->has_order || !h->has_shape)
    return wrong(h, "one of 'descr', 'fortran_order' and 'shape' is missing");
  return true;
}

/* descr and --dtype to a type. */
static int choose_dtype(const char *path, const char *descr, const mxg_input_options *options,
                        mxg_tensor *tensor) {
  const char *wanted = options ? options->dtype : NULL;
  const char *type = descr[0] && strchr("<>=|", descr[0]) ? descr + 1 : descr;
  const bool wants_bf16 =
      wanted ? strcmp(wanted, "bf16") == 0 : options && options->npy_uint16_as_bf16;
  const char *advice = NULL;
  tensor->is_big_endian = descr[0] == '>';
  if (strcmp(type, "f4") == 0)
    tensor->dtype = MXG_FILE_F32;
  else if (strcmp(type, "f2") == 0)
    tensor->dtype = MXG_FILE_F16;
  else if (strcmp(type, "u1") == 0 || (strcmp(type, "V1") == 0 && wanted))
    tensor->dtype = MXG_FILE_U8;
  else if ((strcmp(type, "u2") == 0 || strcmp(type, "V2") == 0) && wants_bf16)
    tensor->dtype = MXG_FILE_BF16;
  else if (strcmp(type, "u2") == 0 || strcmp(type, "V2") == 0)
    advice = "if these are bf16, say --dtype bf16";
  else if (type[0] == 'O')
    advice = "pickled Python objects are not read: save a numeric array, arr.astype(np.float32)";
  else
    advice = "save it as float32: np.save(path, arr.astype(np.float32))";
  if (advice)
    return mxg_fail(MXG_EXIT_FILE, "%s: dtype '%s' in the npy header: %s", path, descr, advice);
  static const char *const names[] = {"", "f32", "f16", "bf16", "u8"};
  if (wanted && !options->raw_if_fits && strcmp(wanted, names[tensor->dtype]) != 0)
    return mxg_fail(MXG_EXIT_USAGE,
                    "%s: --dtype %s, but the npy header says '%s': leave --dtype "
                    "out",
                    path, wanted, descr);
  return MXG_EXIT_OK;
}

/* Where the header text begins and ends. */
static int find_header(const mxg_file *file, header *h) {
  const unsigned char *bytes = file->data;
  const char *problem = "npy: the file ends inside its header: it is truncated, copy it again";
  if (file->bytes < 10) return mxg_fail(MXG_EXIT_FILE, "%s: %s", file->path, problem);
  const unsigned version = bytes[6];
  if (version < 1 || version > 3 || bytes[7] != 0)
    return mxg_fail(MXG_EXIT_FILE, "%s: npy: version %u.%u (offset 6): 1.0, 2.0 and 3.0 are read",
                    file->path, version, (unsigned)bytes[7]);
  const size_t start = version == 1 ? 10 : 12;
  if (file->bytes < start) return mxg_fail(MXG_EXIT_FILE, "%s: %s", file->path, problem);
  size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (version > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (length > file->bytes - start)
    return mxg_fail(MXG_EXIT_FILE,
                    "%s: npy: header length %zu (offset 8) is more than the %zu bytes that follow: "
                    "the file is truncated, copy it again",
                    file->path, length, file->bytes - start);
  h->begin = (const char *)bytes;
  h->at = h->begin + start;
  h->end = h->at + length;
  return MXG_EXIT_OK;
}

int mxg_npy_parse(const mxg_input_options *options, mxg_tensor_file *file) {
  const char *path = file->file.path;
  header h;
  memset(&h, 0, sizeof h);
  int exit_code = find_header(&file->file, &h);
  if (exit_code != 0) return exit_code;
  const char *data = h.end;
  if (!parse_dict(&h))
    return mxg_fail(MXG_EXIT_FILE, "%s: npy header (offset %zu): %s", path,
                    (size_t)(h.at - h.begin), h.problem);
  if (h.is_fortran)
    return mxg_fail(MXG_EXIT_FILE,
                    "%s: the array is in Fortran order and rows would be columns: "
                    "save it with np.save(path, np.ascontiguousarray(arr))",
                    path);
  mxg_tensor *tensor = mxg_single_tensor(file);
  exit_code = choose_dtype(path, h.descr, options, tensor);
  if (exit_code != 0) return exit_code;
  tensor->rank = h.rank;
  memcpy(tensor->dims, h.dims, sizeof h.dims);
  const unsigned bits = tensor->dtype == MXG_FILE_F32 ? 32 : tensor->dtype == MXG_FILE_U8 ? 8 : 16;
  size_t elements = 0;
  if (!mxg_tensor_shape(tensor, &elements) || !mxg_elements_bytes(bits, elements, &tensor->bytes))
    return mxg_fail(MXG_EXIT_FILE, "%s: npy header: 'shape' has more elements than memory", path);
  const size_t found = file->file.bytes - (size_t)(data - h.begin);
  if (found != tensor->bytes)
    return mxg_fail(
        MXG_EXIT_FILE,
        "%s: npy: the header promises %zu bytes of data, the file has %zu behind offset "
        "%zu: %s",
        path, tensor->bytes, found, (size_t)(data - h.begin),
        found < tensor->bytes ? "it is truncated, copy it again" : "save one array per file");
  tensor->data = (const unsigned char *)data;
  return MXG_EXIT_OK;
}
