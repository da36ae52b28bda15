//===- LowBitDecode.cpp - Decode vectors of low-bit floats ----------------===//

#include "LowBitDecode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kvq;

std::array<Value, 4> kvq::emitDecodeE2M1(VectorBuilder &b, Value words) {
  std::array<Value, 4> results;
  for (int j = 0; j < 4; ++j) {
    // The nibble at bit 4 * j: its sign goes to bit 15, its three bits of
    // magnitude to bits 11 to 9.
    auto moved = [&](int64_t to, int64_t from) {
      if (to == from)
        return words;
      return to > from ? b.shl(words, to - from) : b.shr(words, from - to);
    };
    Value sign = b.andI(moved(15, 4 * j + 3), -0x8000);
    Value magnitude = b.andI(moved(9, 4 * j), 0x0e00);
    results[j] = b.toF32(b.bitcast(b.orI(sign, magnitude), b.getF16Type()));
  }
  return results;
}

Value kvq::emitDecodeE4M3(VectorBuilder &b, Value elements) {
  int64_t lanes = cast<VectorType>(elements.getType()).getNumElements();
  Value bytes = b.bitcast(elements, b.getI8Type());
  Value wide = arith::ExtUIOp::create(b, b.vec(lanes, b.getI16Type()), bytes);
  Value code = b.andI(wide, 0x7f);
  Value sign = b.shl(b.andI(wide, 0x80), 8);
  Value isNaN = b.isEqual(code, 0x7f);
  Value magnitude = arith::SelectOp::create(
      b, isNaN, b.constantLike(wide.getType(), int64_t(0x7e00)),
      b.shl(code, 7));
  return b.toF32(b.bitcast(b.orI(sign, magnitude), b.getF16Type()));
}

Value kvq::emitDecodeE8M0(VectorBuilder &b, Value scales) {
  return b.toF32(scales);
}
