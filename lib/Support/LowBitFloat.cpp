//===- LowBitFloat.cpp - Codecs of 4, 8 and 16-bit floats -----------------===//

#include "kvq/Support/LowBitFloat.h"
#include "kvq/Support/StrictFloat.h"

using namespace kvq;
using namespace kvq::strict;

/// Rounds a finite magnitude, given as binary32 bits, to a format with
/// `manBits` fraction bits, an exponent bias of `bias` and subnormals. The
/// exponent of the result is unbounded above: the caller handles overflow.
static uint32_t roundMagnitude(uint32_t magnitude, unsigned manBits, int bias) {
  unsigned drop = 23 - manBits;
  uint32_t exponent = magnitude >> 23;
  uint32_t minNormal = 128 - bias;
  if (exponent >= minNormal)
    return shiftRoundEven(magnitude - (uint32_t(127 - bias) << 23), drop);
  // What is subnormal in binary32 is far below half of the smallest value.
  uint32_t significand = (magnitude & 0x007FFFFFu) | 0x00800000u;
  uint32_t shift = drop + minNormal - exponent;
  if (exponent == 0 || shift > 25)
    return 0;
  return shiftRoundEven(significand, shift);
}

/// Expands a finite magnitude of such a format to binary32 bits.
static uint32_t expandMagnitude(uint32_t code, unsigned manBits, int bias) {
  uint32_t exponent = code >> manBits;
  if (exponent)
    return (code << (23 - manBits)) + (uint32_t(127 - bias) << 23);
  if (!code)
    return 0;
  // Normalize: code * 2^(1 - bias - manBits).
  unsigned top = 31 - llvm::countl_zero(code);
  uint32_t fraction = (code << (23 - top)) & 0x007FFFFFu;
  return (uint32_t(127 + 1 - bias - int(manBits) + int(top)) << 23) | fraction;
}

uint8_t kvq::encodeE2M1(float value) {
  uint32_t magnitude = magnitudeBits(value);
  uint8_t sign = (toBits(value) >> 28) & 0x8;
  if (magnitude > InfinityBits)
    return sign;
  // Midpoints of neighbouring values; a tie goes to the even code.
  unsigned code = (magnitude > 0x3E800000u)    // 0.25
                  + (magnitude >= 0x3F400000u) // 0.75
                  + (magnitude > 0x3FA00000u)  // 1.25
                  + (magnitude >= 0x3FE00000u) // 1.75
                  + (magnitude > 0x40200000u)  // 2.5
                  + (magnitude >= 0x40600000u) // 3.5
                  + (magnitude > 0x40A00000u); // 5
  return sign | code;
}

float kvq::decodeE2M1(uint8_t code) {
  static constexpr float magnitudes[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  float magnitude = magnitudes[code & 0x7];
  return code & 0x8 ? -magnitude : magnitude;
}

uint8_t kvq::encodeE4M3(float value) {
  uint32_t magnitude = magnitudeBits(value);
  uint8_t sign = (toBits(value) >> 24) & 0x80;
  if (magnitude > InfinityBits)
    return sign | E4M3NaN;
  if (magnitude >= toBits(E4M3Max))
    return sign | E4M3MaxByte;
  return sign | roundMagnitude(magnitude, /*manBits=*/3, /*bias=*/7);
}

float kvq::decodeE4M3(uint8_t byte) {
  uint32_t sign = uint32_t(byte & 0x80) << 24;
  uint32_t magnitude = byte & 0x7F;
  if (magnitude == E4M3NaN)
    return fromBits(sign | 0x7FC00000u);
  return fromBits(sign | expandMagnitude(magnitude, /*manBits=*/3,
                                         /*bias=*/7));
}

uint8_t kvq::encodeSharedExponent(float magnitude, int maxExponent) {
  // The exponent field is floor(log2) + 127 of a normal number. Subnormals
  // have an even smaller logarithm, which the clamp hides.
  int exponent = static_cast<int>(magnitudeBits(magnitude) >> 23) - maxExponent;
  return exponent < 0 ? 0 : exponent > 254 ? 254 : exponent;
}

float kvq::decodeE8M0(uint8_t byte) {
  if (byte == E8M0NaN)
    return fromBits(0x7FC00000u);
  return fromBits(byte ? uint32_t(byte) << 23 : 0x00400000u);
}

uint16_t kvq::encodeF16(float value) {
  uint32_t magnitude = magnitudeBits(value);
  uint16_t sign = (toBits(value) >> 16) & 0x8000;
  if (magnitude > InfinityBits)
    return sign | 0x7E00 | ((magnitude >> 13) & 0x01FF);
  if (magnitude == InfinityBits)
    return sign | 0x7C00;
  uint32_t code = roundMagnitude(magnitude, /*manBits=*/10, /*bias=*/15);
  return sign | (code > 0x7C00 ? 0x7C00 : code);
}

float kvq::decodeF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t magnitude = bits & 0x7FFF;
  if (magnitude >= 0x7C00)
    return fromBits(sign | InfinityBits | ((magnitude & 0x03FF) << 13));
  return fromBits(sign | expandMagnitude(magnitude, /*manBits=*/10,
                                         /*bias=*/15));
}

uint16_t kvq::encodeBF16(float value) {
  uint32_t bits = toBits(value);
  if (isNaN(value))
    return (bits >> 16) | 0x0040;
  return shiftRoundEven(bits, 16);
}

float kvq::decodeBF16(uint16_t bits) { return fromBits(uint32_t(bits) << 16); }
