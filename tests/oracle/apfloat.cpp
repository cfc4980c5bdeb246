// apfloat.cpp: the oracle's questions put to LLVM's APFloat.
// FP4 and FP6 are never given NaN or Inf, E8M0 never zero or a negative value: APFloat asserts there.
// SPDX-License-Identifier: MIT
#include "oracle.h"

#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/APInt.h>

extern "C" {
#include "number.h"
}

using llvm::APFloat;
using llvm::APInt;

namespace {

const llvm::fltSemantics &semantics(oracle_format format) {
  switch (format) {
    case ORACLE_E4M3FN: return APFloat::Float8E4M3FN();
    case ORACLE_E4M3FNUZ: return APFloat::Float8E4M3FNUZ();
    case ORACLE_E5M2: return APFloat::Float8E5M2();
    case ORACLE_E5M2FNUZ: return APFloat::Float8E5M2FNUZ();
    case ORACLE_E2M1: return APFloat::Float4E2M1FN();
    case ORACLE_E2M3: return APFloat::Float6E2M3FN();
    default: return APFloat::Float6E3M2FN();
  }
}

unsigned code_bits(oracle_format format) {
  return format == ORACLE_E2M1 ? 4 : format == ORACLE_E2M3 || format == ORACLE_E3M2 ? 6 : 8;
}

APFloat single(uint32_t bits) {
  return APFloat(APFloat::IEEEsingle(), APInt(32, bits));
}

uint32_t bits_of(const APFloat &value) {
  if (value.isNaN()) return ORACLE_NAN;
  return static_cast<uint32_t>(value.bitcastToAPInt().getZExtValue());
}

// value * 2^exponent in a format where that is exact.
APFloat wide(const APFloat &value, int exponent) {
  bool loses = false;
  APFloat result = value;
  result.convert(APFloat::IEEEquad(), APFloat::rmNearestTiesToEven, &loses);
  return llvm::scalbn(result, exponent, APFloat::rmNearestTiesToEven);
}

uint32_t to_single(APFloat value) {
  bool loses = false;
  value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &loses);
  return bits_of(value);
}

// FP4 and FP6 have nothing past their maximum, and saturation is the caller's policy: this stays
// inside the range by construction because the caller clamps first.
int apfloat_nearest(oracle_format format, uint32_t value, int exponent) {
  bool loses = false;
  APFloat number =
      exponent == 0 ? single(value & 0x7FFFFFFF) : wide(single(value & 0x7FFFFFFF), exponent);
  number.convert(semantics(format), APFloat::rmNearestTiesToEven, &loses);
  if (!number.isFinite()) return -1;
  return static_cast<int>(number.bitcastToAPInt().getZExtValue());
}

const llvm::fltSemantics &semantics(oracle_half kind) {
  return kind == ORACLE_F16 ? APFloat::IEEEhalf() : APFloat::BFloat();
}

}  // namespace

extern "C" {

uint8_t oracle_apfloat_encode(const oracle_encoding *how, uint32_t value, int exponent,
                              int nan_negative) {
  return oracle_encode_by(apfloat_nearest, how, value, exponent, nan_negative);
}

uint32_t oracle_apfloat_decode(oracle_format format, uint8_t code) {
  const unsigned bits = code_bits(format);
  return to_single(APFloat(semantics(format), APInt(bits, code & ((1u << bits) - 1))));
}

uint32_t oracle_apfloat_decode_scaled(oracle_format format, uint8_t code, int exponent) {
  const unsigned bits = code_bits(format);
  return to_single(
      wide(APFloat(semantics(format), APInt(bits, code & ((1u << bits) - 1))), exponent));
}

uint32_t oracle_apfloat_widen(oracle_half kind, uint16_t bits) {
  return to_single(APFloat(semantics(kind), APInt(16, bits)));
}

uint16_t oracle_apfloat_narrow(oracle_half kind, uint32_t bits) {
  bool loses = false;
  APFloat value = single(bits);
  value.convert(semantics(kind), APFloat::rmNearestTiesToEven, &loses);
  if (value.isNaN()) return kind == ORACLE_F16 ? 0x7E00 : 0x7FC0;
  return static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue());
}

uint32_t oracle_apfloat_mul(uint32_t a, uint32_t b) {
  APFloat result = single(a);
  result.multiply(single(b), APFloat::rmNearestTiesToEven);
  return bits_of(result);
}

uint32_t oracle_apfloat_div(uint32_t a, uint32_t b) {
  APFloat result = single(a);
  result.divide(single(b), APFloat::rmNearestTiesToEven);
  return bits_of(result);
}

uint32_t oracle_apfloat_fma(uint32_t a, uint32_t b, uint32_t c) {
  APFloat result = single(a);
  result.fusedMultiplyAdd(single(b), single(c), APFloat::rmNearestTiesToEven);
  return bits_of(result);
}

uint8_t oracle_apfloat_e8m0(uint32_t value, int up) {
  bool loses = false;
  APFloat result = single(value);
  result.convert(APFloat::Float8E8M0FNU(), up ? APFloat::rmTowardPositive : APFloat::rmTowardZero,
                 &loses);
  return static_cast<uint8_t>(result.bitcastToAPInt().getZExtValue());
}

uint32_t oracle_apfloat_e8m0_value(uint8_t byte) {
  return to_single(APFloat(APFloat::Float8E8M0FNU(), APInt(8, byte)));
}

}  // extern "C"
