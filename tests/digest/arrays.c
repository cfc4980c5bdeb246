/* arrays.c: elements, E8M0 scales and 16-bit values.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "digest.h"

enum { MAX_VALUES = 1 << 16 };

static float list[MAX_VALUES], decoded[2][MAX_VALUES];
static uint8_t bytes_out[2][MAX_VALUES];
static const char *const element_names[] = {"",         "e4m3fn", "e4m3fnuz", "e5m2",
                                            "e5m2fnuz", "e2m1",   "e2m3",     "e3m2"};
static const char *const overflow_names[] = {"", "saturate", "saturate_finite", "nonfinite"};
static const char *const nan_names[] = {"", "code", "neg_max", "sign_max", "pos_max", "zero"};
static const char *const rule_names[] = {"",     "floor", "even",  "even21",
                                         "half", "ceil",  "rceil", "rceil_bump"};
static const char *const edges_names[] = {"", "ocp", "float"};

/* Every `step`th upper half with a lower half from the stress list. */
static size_t stress_list(size_t step) {
  static const uint32_t lower[] = {0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
  size_t count = 0;
  for (uint32_t upper = 0; upper <= 0xFFFF; upper += (uint32_t)step) {
    const uint32_t bits = upper << 16 | lower[count % 6];
    memcpy(&list[count++], &bits, 4);
  }
  return count;
}

static void encode_both(const mxg_recipe *recipe, size_t count) {
  digest_expect(mxg_encode_f32(recipe, list, count, bytes_out[0]) == MXG_OK &&
                    mxg_ref_encode_f32(recipe, list, count, bytes_out[1]) == MXG_OK,
                "status of encode");
  digest_expect(memcmp(bytes_out[0], bytes_out[1], count) == 0, "codes");
  hash_bytes(bytes_out[0], count);
}

static void digest_elements(void) {
  for (int element = MXG_ELEMENT_E4M3FN; element <= MXG_ELEMENT_E3M2; element++) {
    const bool byte = element <= MXG_ELEMENT_E5M2FNUZ;
    for (int overflow = 1; overflow <= (byte ? 3 : 1); overflow++)
      for (int nan = byte ? 1 : 2; nan <= 5; nan++) {
        const mxg_recipe recipe = {.element = (mxg_element)element,
                                   .scale = MXG_SCALE_NONE,
                                   .nan_element = (mxg_nan_element)nan,
                                   .overflow = (mxg_overflow)overflow,
                                   .accumulate = MXG_ACCUMULATE_FMA};
        digest_begin("%s encode overflow=%s nan_element=%s", element_names[element],
                     overflow_names[overflow], nan_names[nan]);
        encode_both(&recipe, stress_list(overflow == 1 && nan == 3 ? 3 : 17));
        digest_finish();
      }
    digest_begin("%s decode", element_names[element]);
    for (int code = 0; code < 256; code++) bytes_out[0][code] = (uint8_t)code;
    digest_expect(
        mxg_decode_f32((mxg_element)element, bytes_out[0], 256, decoded[0]) == MXG_OK &&
            mxg_ref_decode_f32((mxg_element)element, bytes_out[0], 256, decoded[1]) == MXG_OK,
        "status of decode");
    digest_expect(memcmp(decoded[0], decoded[1], 256 * sizeof(float)) == 0, "values");
    digest_values(decoded[0], MXG_DTYPE_F32, 256);
    digest_finish();
  }
}

static void digest_scales(void) {
  for (int element = MXG_ELEMENT_E4M3FN; element <= MXG_ELEMENT_E3M2; element++)
    for (int rule = MXG_RULE_FLOOR; rule <= MXG_RULE_RCEIL_BUMP; rule++) {
      digest_begin("%s e8m0 rule=%s", element_names[element], rule_names[rule]);
      for (int inf = MXG_INF_SCALE_NAN; inf <= MXG_INF_SCALE_FIELD; inf++) {
        if (inf == MXG_INF_SCALE_FIELD && rule > MXG_RULE_CEIL) continue;
        const mxg_recipe recipe = {.element = (mxg_element)element,
                                   .scale = MXG_SCALE_E8M0,
                                   .block = 32,
                                   .rule = (mxg_rule)rule,
                                   .nan_amax = MXG_NAN_AMAX_PROPAGATE,
                                   .nan_element = MXG_NAN_ELEMENT_SIGN_MAX,
                                   .overflow = MXG_OVERFLOW_SATURATE,
                                   .edges = MXG_EDGES_OCP,
                                   .inf_scale = (mxg_inf_scale)inf,
                                   .accumulate = MXG_ACCUMULATE_FMA};
        size_t count = stress_list(19);
        memcpy(list + count, input_specials, input_special_count * sizeof input_specials[0]);
        count += input_special_count;
        for (int from_scale = 0; from_scale < 2; from_scale++) {
          for (int which = 0; which < 2; which++) {
            const mxg_status status = from_scale
                                          ? (which ? mxg_ref_e8m0_from_scale : mxg_e8m0_from_scale)(
                                                &recipe, list, count, bytes_out[which])
                                          : (which ? mxg_ref_e8m0_from_amax : mxg_e8m0_from_amax)(
                                                &recipe, list, count, bytes_out[which]);
            digest_expect(status == MXG_OK, "status of e8m0");
          }
          digest_expect(memcmp(bytes_out[0], bytes_out[1], count) == 0, "E8M0 bytes");
          hash_bytes(bytes_out[0], count);
        }
      }
      digest_finish();
    }
  for (int edges = MXG_EDGES_OCP; edges <= MXG_EDGES_FLOAT; edges++) {
    digest_begin("e8m0 to f32 edges=%s", edges_names[edges]);
    for (int code = 0; code < 256; code++) bytes_out[0][code] = (uint8_t)code;
    digest_expect(
        mxg_e8m0_to_f32((mxg_edges)edges, bytes_out[0], 256, decoded[0]) == MXG_OK &&
            mxg_ref_e8m0_to_f32((mxg_edges)edges, bytes_out[0], 256, decoded[1]) == MXG_OK,
        "status of e8m0");
    digest_expect(memcmp(decoded[0], decoded[1], 256 * sizeof(float)) == 0, "values");
    digest_values(decoded[0], MXG_DTYPE_F32, 256);
    digest_finish();
  }
}

static void digest_conversions(void) {
  static uint16_t halves[2][MAX_VALUES];
  for (size_t d = 1; d < 3; d++) {
    digest_begin("%s to f32", input_dtype_names[d]);
    for (size_t i = 0; i < MAX_VALUES; i++) halves[0][i] = (uint16_t)i;
    digest_expect(mxg_to_f32(input_dtypes[d], halves[0], MAX_VALUES, decoded[0]) == MXG_OK &&
                      mxg_ref_to_f32(input_dtypes[d], halves[0], MAX_VALUES, decoded[1]) == MXG_OK,
                  "status of to_f32");
    digest_expect(memcmp(decoded[0], decoded[1], sizeof decoded[0]) == 0, "values");
    digest_values(decoded[0], MXG_DTYPE_F32, MAX_VALUES);
    digest_finish();

    digest_begin("%s from f32", input_dtype_names[d]);
    const size_t count = stress_list(5);
    digest_expect(mxg_from_f32(input_dtypes[d], list, count, halves[0]) == MXG_OK &&
                      mxg_ref_from_f32(input_dtypes[d], list, count, halves[1]) == MXG_OK,
                  "status of from_f32");
    digest_expect(memcmp(halves[0], halves[1], count * sizeof halves[0][0]) == 0, "values");
    digest_values(halves[0], input_dtypes[d], count);
    digest_finish();
  }
}

void digest_arrays(void) {
  digest_conversions();
  digest_elements();
  digest_scales();
}
