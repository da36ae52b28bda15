//===- Wmma.cpp - Shapes and fragments of wmma ----------------------------===//
//
// PTX leaves open which lane holds which element of a fragment, and kernels may
// only treat all elements alike. Here elements lie in row-major order, lane
// after lane; a fragment with room for more starts over.
//
//===----------------------------------------------------------------------===//

#include "MmaDetail.h"

using namespace kvq::emu::num;

bool kvq::emu::num::isWmmaOnly(const MmaSpec &s) {
  return s.wmma && s.m * s.n == 256;
}

static MatrixCoord matrixShape(const MmaSpec &s, MmaOperand o) {
  switch (o) {
  case MmaOperand::A:
    return {s.m, s.k};
  case MmaOperand::B:
    return {s.k, s.n};
  default:
    return {s.m, s.n};
  }
}

unsigned kvq::emu::num::wmmaRegisters(const MmaSpec &s, MmaOperand o) {
  MmaType type = operandType(s, o);
  bool isFactor = o == MmaOperand::A || o == MmaOperand::B;
  if (isFactor && type == MmaType::F16)
    return 8;
  MatrixCoord shape = matrixShape(s, o);
  return shape.row * shape.col * containerBits(s, type) / (32 * 32);
}

MatrixCoord kvq::emu::num::wmmaCoord(const MmaSpec &s, MmaOperand o,
                                     unsigned lane, unsigned index) {
  MatrixCoord shape = matrixShape(s, o);
  unsigned perLane =
      wmmaRegisters(s, o) * 32 / containerBits(s, operandType(s, o));
  unsigned element = (lane * perLane + index) % (shape.row * shape.col);
  return {static_cast<uint16_t>(element / shape.col),
          static_cast<uint16_t>(element % shape.col)};
}

llvm::StringRef kvq::emu::num::findWmmaMistake(const MmaSpec &s) {
  auto shape = [&](unsigned m, unsigned n, unsigned k) {
    return s.m == m && s.n == n && s.k == k;
  };
  bool isCommon = shape(16, 16, 16) || shape(8, 32, 16) || shape(32, 8, 16);
  auto accumulates = [&](MmaType type) { return s.c == type && s.d == type; };
  if (s.a != s.b)
    return "needs one type for A and B";
  if (s.satfinite && s.d != MmaType::S32)
    return ".satfinite needs integers";
  switch (s.a) {
  case MmaType::F16:
    if ((s.c != MmaType::F16 && s.c != MmaType::F32) ||
        (s.d != MmaType::F16 && s.d != MmaType::F32))
      return "needs f16 or f32 accumulators";
    break;
  case MmaType::BF16:
    if (!accumulates(MmaType::F32))
      return "needs f32 accumulators";
    break;
  case MmaType::S8:
  case MmaType::U8:
    if (!accumulates(MmaType::S32))
      return "needs s32 accumulators";
    break;
  case MmaType::TF32:
    return shape(16, 16, 8) && accumulates(MmaType::F32)
               ? ""
               : "needs m16n16k8 and f32 accumulators";
  case MmaType::F64:
    return shape(8, 8, 4) && accumulates(MmaType::F64)
               ? ""
               : "needs m8n8k4 and f64 everywhere";
  case MmaType::S4:
  case MmaType::U4:
    return shape(8, 8, 32) && accumulates(MmaType::S32)
               ? ""
               : "needs m8n8k32 and s32 accumulators";
  case MmaType::B1:
    return shape(8, 8, 128) && accumulates(MmaType::S32) && !s.satfinite
               ? ""
               : "needs m8n8k128 and s32 accumulators";
  default:
    return "no such type of A";
  }
  return isCommon ? "" : "needs m16n16k16, m8n32k16 or m32n8k16";
}
