/* test_values.c: f16 and bf16 to f32 and back: library = golden model = oracle.
 * SPDX-License-Identifier: MIT */
#include "check_main.h"
#include "element_inputs.h"
#include "impl.h"
#include "oracle_map.h"

enum { HALVES = 65536 };

static uint16_t halves[STRESS_COUNT];
static float singles[STRESS_COUNT];

static mxg_dtype dtype_of(oracle_half kind) {
  return kind == ORACLE_F16 ? MXG_DTYPE_F16 : MXG_DTYPE_BF16;
}

START_TEST(every_half_to_f32) {
  oracle_init();
  oracle_print_skipped();
  for (int k = 0; k < 2; k++) {
    const oracle_half kind = k ? ORACLE_BF16 : ORACLE_F16;
    for (uint32_t n = 0; n < HALVES; n++) halves[n] = (uint16_t)n;
    for (int i = 0; i < IMPLS; i++) {
      ck_assert_int_eq(impls[i].to_f32(dtype_of(kind), halves, HALVES, singles), MXG_OK);
      for (uint32_t n = 0; n < HALVES; n++) {
        const uint32_t want = oracle_widen(kind, (uint16_t)n);
#ifdef MXGOLD_HAVE_APFLOAT
        ck_assert_uint_eq(want, oracle_apfloat_widen(kind, (uint16_t)n));
#endif
        if (bits_of(singles[n]) != want)
          ck_abort_msg("%s kind %d: %04X is %08X, oracle %08X", impls[i].name, k, (unsigned)n,
                       (unsigned)bits_of(singles[n]), (unsigned)want);
      }
    }
  }
}
END_TEST

static void check_narrow(oracle_half kind, size_t count) {
  for (int i = 0; i < IMPLS; i++) {
    ck_assert_int_eq(impls[i].from_f32(dtype_of(kind), singles, count, halves), MXG_OK);
    for (size_t n = 0; n < count; n++) {
      const uint32_t bits = bits_of(singles[n]);
      const uint16_t want = oracle_narrow(kind, bits);
#ifdef MXGOLD_HAVE_APFLOAT
      ck_assert_uint_eq(want, oracle_apfloat_narrow(kind, bits));
#endif
      if (halves[n] != want)
        ck_abort_msg("%s kind %d: %08X gives %04X, oracle %04X", impls[i].name, (int)kind,
                     (unsigned)bits, (unsigned)halves[n], (unsigned)want);
    }
  }
}

START_TEST(stress_list_from_f32) {
  oracle_init();
  for (size_t n = 0; n < STRESS_COUNT; n++) singles[n] = float_of(stress_bits(n));
  check_narrow(ORACLE_F16, STRESS_COUNT);
  check_narrow(ORACLE_BF16, STRESS_COUNT);
}
END_TEST

/* Half way between every two neighbours, and one ulp to either side; both signs. */
START_TEST(midpoints_from_f32) {
  oracle_init();
  for (int k = 0; k < 2; k++) {
    const oracle_half kind = k ? ORACLE_BF16 : ORACLE_F16;
    const uint16_t inf = k ? 0x7F80 : 0x7C00;
    size_t count = 0;
    for (uint32_t n = 0; n < inf; n++) {
      const double low = float_of(oracle_widen(kind, (uint16_t)n));
      /* Past the largest value: where the next one would be. */
      const double high = n + 1u < inf ? (double)float_of(oracle_widen(kind, (uint16_t)(n + 1)))
                                       : (k ? 0x1p128 : 0x1p16);
      const uint32_t tie = bits_of((float)((low + high) / 2)) | (n % 2 ? 0x80000000u : 0u);
      singles[count++] = float_of(tie - 1);
      singles[count++] = float_of(tie);
      singles[count++] = float_of(tie + 1);
    }
    check_narrow(kind, count);
  }
}
END_TEST

/* MXG_DTYPE_F32 copies every bit but those of a NaN. */
START_TEST(f32_copies) {
  static float in[4096], out[4096];
  oracle_init();
  for (uint32_t n = 0; n < 4096; n++) in[n] = float_of(n << 20 | (n * 2654435761u >> 12));
  for (int i = 0; i < IMPLS; i++) {
    for (int from = 0; from < 2; from++) {
      memset(out, 0, sizeof out);
      const mxg_status status = from ? impls[i].from_f32(MXG_DTYPE_F32, in, 4096, out)
                                     : impls[i].to_f32(MXG_DTYPE_F32, in, 4096, out);
      ck_assert_int_eq(status, MXG_OK);
      for (uint32_t n = 0; n < 4096; n++) {
        const uint32_t bits = bits_of(in[n]);
        const uint32_t want = (bits & 0x7FFFFFFF) > ORACLE_INF ? ORACLE_NAN : bits;
        ck_assert_uint_eq(bits_of(out[n]), want);
      }
    }
  }
}
END_TEST

CHECK_MAIN("values", every_half_to_f32, stress_list_from_f32, midpoints_from_f32, f32_copies)
