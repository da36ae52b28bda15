//===- LowBitDecode.h - Decode vectors of low-bit floats ------------------===//
//
// Conversions to f32 through f16: the bits of E2M1 and E4M3 fit into the bits
// of an f16, subnormals included, and then only the exponent's bias is wrong,
// which is a power of two that the caller multiplies by. It costs a fraction of
// the integer arithmetic that a general conversion needs, and conversions from
// f16 know no mode that flushes subnormals.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_LOWBITDECODE_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_LOWBITDECODE_H

#include "VectorBuilder.h"

namespace kvq {

/// What the results below lack: 2^(15 - 1) and 2^(15 - 7), from the biases.
inline constexpr double kE2M1Factor = 0x1p14;
inline constexpr double kE4M3Factor = 0x1p8;

/// Decodes the four E2M1 of each i16 of `words`. Result j holds in lane i
/// element 4 * i + j.
std::array<mlir::Value, 4> emitDecodeE2M1(VectorBuilder &b, mlir::Value words);

/// Decodes a vector of E4M3. NaN stays NaN.
mlir::Value emitDecodeE4M3(VectorBuilder &b, mlir::Value elements);

/// Decodes a vector of E8M0, exactly and with no factor missing.
mlir::Value emitDecodeE8M0(VectorBuilder &b, mlir::Value scales);

} // namespace kvq

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_LOWBITDECODE_H
