//===- TCGen05Limits.h - What the instructions accept ---------------------===//
//
// The tables of the PTX ISA about kinds of products, as functions. The
// verifiers and the lowering share them.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_DIALECT_TCGEN05_IR_TCGEN05LIMITS_H
#define KVQ_DIALECT_TCGEN05_IR_TCGEN05LIMITS_H

#include "kvq/Dialect/TCGen05/IR/TCGen05Types.h"
#include <optional>

namespace kvq::tcgen05 {

/// Bytes of K per row that an instruction of any kind takes.
inline constexpr int64_t kStepBytes = 32;

/// Whether a kind has block scales.
bool isBlockScaled(MMAKind kind);

/// Whether a kind reads 4-bit elements two to a byte.
bool isDenseFP4(MMAKind kind);

/// Elements along K of one instruction.
int64_t getStepElements(MMAKind kind);

/// The code of an element type of A or B in the instruction descriptor, or
/// nothing where the kind does not have the type.
std::optional<uint32_t> getOperandCode(MMAKind kind, mlir::Type type);

/// The code of the type of D, or nothing where the kind does not have it.
std::optional<uint32_t> getAccumulatorCode(MMAKind kind, mlir::Type type);

/// Whether a type is a float of 4 or 6 bits.
bool isNarrowFloat(mlir::Type type);

/// The part of the instruction descriptor that does not change along K.
/// M and N are those of the CTAs of the group together.
struct InstructionFields {
  MMAKind kind;
  mlir::Type a, b, d;
  int64_t m = 0, n = 0;
  bool transposeA = false, transposeB = false;
  bool negateA = false, negateB = false;
  bool saturate = false;
  /// Of columns of B, in weight-stationary products: 0, 8, 16 or 32.
  int64_t maxShift = 0;
  /// Type of the scales, and the first byte of each word that is used.
  mlir::Type scale;
  uint32_t scaleIdA = 0, scaleIdB = 0;

  /// The 32-bit instruction descriptor (PTX ISA 9.7.16.4.2).
  uint32_t encode() const;
};

} // namespace kvq::tcgen05

#endif // KVQ_DIALECT_TCGEN05_IR_TCGEN05LIMITS_H
