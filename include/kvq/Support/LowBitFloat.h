//===- LowBitFloat.h - Codecs of 4, 8 and 16-bit floats -------------------===//
//
// Conversions between binary32 and the formats in which caches store values.
// All use integers only, so no mode of the processor changes a result. Every
// encoder rounds to nearest even. Decoders are exact.
//
// The formats are those of the OCP Microscaling specification 1.0 (E2M1, E8M0)
// and of the OCP 8-bit floating point specification (E4M3, the variant without
// infinities that MLIR calls f8E4M3FN).
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_SUPPORT_LOWBITFLOAT_H
#define KVQ_SUPPORT_LOWBITFLOAT_H

#include <cstdint>

namespace kvq {

/// The largest magnitudes, and the exponents of the largest binades, which
/// the shared exponent of an MX block is relative to.
inline constexpr float E2M1Max = 6.0f;
inline constexpr float E4M3Max = 448.0f;
inline constexpr int E2M1MaxExponent = 2;
inline constexpr int E4M3MaxExponent = 8;

/// E4M3 bytes with a meaning of their own.
inline constexpr uint8_t E4M3NaN = 0x7F;
inline constexpr uint8_t E4M3MaxByte = 0x7E;
/// The only E8M0 byte that is no power of two.
inline constexpr uint8_t E8M0NaN = 0xFF;

/// Encodes into the low four bits: sign, two exponent bits, one fraction bit.
/// Magnitudes above 6 and infinities become 6. NaN, which the format lacks,
/// becomes zero. The sign bit is kept in every case.
uint8_t encodeE2M1(float value);

/// Decodes the low four bits of `code`; the others are ignored.
float decodeE2M1(uint8_t code);

/// Encodes with magnitudes above 448 and infinities clamped to 448. NaN becomes
/// 0x7F. The sign bit is kept in every case.
uint8_t encodeE4M3(float value);

/// Decodes a byte; 0x7F and 0xFF are NaN.
float decodeE4M3(uint8_t byte);

/// Returns the byte of 2^(floor(log2(magnitude)) - maxExponent), the shared
/// exponent of the OCP MX specification for a block whose largest magnitude is
/// given, clamped to the bytes 0 to 254. `magnitude` is not negative and not
/// NaN. Zero gives 0, the smallest scale; infinity counts as 2^128.
uint8_t encodeSharedExponent(float magnitude, int maxExponent);

/// Returns 2^(byte - 127), a subnormal for byte 0, or NaN for byte 255.
float decodeE8M0(uint8_t byte);

/// Encodes as IEEE binary16. Overflow gives infinity. NaN becomes quiet and
/// keeps its sign and the high bits of its payload.
uint16_t encodeF16(float value);
float decodeF16(uint16_t bits);

/// Encodes as bfloat16, with overflow and NaN as for `encodeF16`.
uint16_t encodeBF16(float value);
float decodeBF16(uint16_t bits);

} // namespace kvq

#endif // KVQ_SUPPORT_LOWBITFLOAT_H
