//===- TCGen05Limits.cpp - What the instructions accept -------------------===//

#include "kvq/Dialect/TCGen05/IR/TCGen05Limits.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kvq::tcgen05;

bool kvq::tcgen05::isBlockScaled(MMAKind kind) {
  return kind == MMAKind::MXF8F6F4 || isDenseFP4(kind);
}

bool kvq::tcgen05::isDenseFP4(MMAKind kind) {
  return kind == MMAKind::MXF4 || kind == MMAKind::MXF4NVF4;
}

int64_t kvq::tcgen05::getStepElements(MMAKind kind) {
  switch (kind) {
  case MMAKind::F16:
    return 16;
  case MMAKind::TF32:
    return 8;
  case MMAKind::F8F6F4:
  case MMAKind::I8:
  case MMAKind::MXF8F6F4:
    return 32;
  case MMAKind::MXF4:
  case MMAKind::MXF4NVF4:
    return 64;
  }
  llvm_unreachable("all kinds are handled");
}

bool kvq::tcgen05::isNarrowFloat(Type type) {
  return isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType>(type);
}

std::optional<uint32_t> kvq::tcgen05::getOperandCode(MMAKind kind, Type type) {
  switch (kind) {
  case MMAKind::F16:
    if (type.isF16())
      return 0;
    if (type.isBF16())
      return 1;
    return std::nullopt;
  case MMAKind::TF32:
    if (isa<FloatTF32Type>(type))
      return 2;
    return std::nullopt;
  case MMAKind::I8:
    if (type.isUnsignedInteger(8))
      return 0;
    if (type.isSignedInteger(8))
      return 1;
    return std::nullopt;
  case MMAKind::F8F6F4:
  case MMAKind::MXF8F6F4:
    if (isa<Float8E4M3FNType>(type))
      return 0;
    if (isa<Float8E5M2Type>(type))
      return 1;
    if (isa<Float6E2M3FNType>(type))
      return 3;
    if (isa<Float6E3M2FNType>(type))
      return 4;
    if (isa<Float4E2M1FNType>(type))
      return 5;
    return std::nullopt;
  case MMAKind::MXF4:
  case MMAKind::MXF4NVF4:
    // Not the code of the same type in f8f6f4.
    if (isa<Float4E2M1FNType>(type))
      return 1;
    return std::nullopt;
  }
  llvm_unreachable("all kinds are handled");
}

std::optional<uint32_t> kvq::tcgen05::getAccumulatorCode(MMAKind kind,
                                                         Type type) {
  if (kind == MMAKind::I8)
    return type.isSignlessInteger(32) ? std::optional<uint32_t>(2)
                                      : std::nullopt;
  if (type.isF32())
    return 1;
  if (type.isF16() && (kind == MMAKind::F16 || kind == MMAKind::F8F6F4))
    return 0;
  return std::nullopt;
}

uint32_t InstructionFields::encode() const {
  uint32_t bits = *getOperandCode(kind, a) << 7 |
                  *getOperandCode(kind, b) << 10 | uint32_t(negateA) << 13 |
                  uint32_t(negateB) << 14 | uint32_t(transposeA) << 15 |
                  uint32_t(transposeB) << 16 | uint32_t(n / 8) << 17 |
                  uint32_t(m / 16) << 24;
  if (!isBlockScaled(kind))
    return bits | uint32_t(saturate) << 3 | *getAccumulatorCode(kind, d) << 4 |
           (maxShift ? llvm::Log2_64(maxShift / 4) << 30 : 0);
  // M / 128 is at bit 27, which is where M / 16 has it.
  bool exponent = isa<Float8E8M0FNUType>(scale);
  return bits | scaleIdB << 4 | uint32_t(exponent) << 23 | scaleIdA << 29;
}
