//===- ValueExpansion.cpp - FP4 values as bf16 or E4M3 in tensor memory ---===//
//
// The second product wants V^T in tensor memory: channels in lanes, two or four
// tokens in a word. The block-scaled instruction itself decodes and transposes
// V: of
//
//   D[c][t] = sum over k of I[c][k] * V[t][k]
//
// only V[t][c] is not zero, and f32 holds it. It has at most 6 significant
// bits, so that its upper half is the same number in bf16, and one permutation
// of bytes makes the words of two tokens. E4M3 has four bits and is rounded to,
// values times an eighth, which the scales of the identity are: none saturates.
// The end of the block multiplies by eight.
//
// Where V has 64 channels, lanes 64 to 127 have them again. The tokens then are
// in two groups: of the first lanes 0 to 63 have the words, of the second lanes
// 64 to 127, in the same columns. Weights of both groups are columns of the
// other operand, and of the output a lane's columns of the other group are
// ignored.
//
// A scale that is NaN makes all channels of its token NaN, not only those of
// its block: it is a term of each sum.
//
//===----------------------------------------------------------------------===//

#include "../PackedConversions.h"
#include "DecodeKernel.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// Stores the identity in E2M1, K-major without a swizzle, over zeros, and
/// block scales of the factor of values, with the first 128 threads.
void DecodeKernel::storeIdentity() {
  Ptr scales = shared(plan.shared.identityScales);
  bool isE8M0 = isa<Float8E8M0FNUType>(v.getFormat().getScaleType());
  // The exponent of one, and of E4M3 three bits of a mantissa.
  int64_t exponent = (isE8M0 ? 127 : 7) + std::ilogb(plan.valueFactor());
  I32 factors = b.i32((isE8M0 ? exponent : exponent << 3) * 0x01010101);
  b.when(b.thread() < kTileTokens, [&] {
    I32 row = b.thread(), channel = row % plan.partChannels();
    I32 one = (channel % 2 == 0).select(b.i32(0x02), b.i32(0x20));
    Ptr to =
        shared(plan.shared.identity) +
        (row * 16 + (channel / 32) * (16 * kTileTokens) + channel % 32 / 2);
    b.storeBits(one, to, 8);
    for (int64_t i = 0; i < plan.partScales(); i += 4)
      b.storeBits(factors, scales + (row * 4 + i * kTileTokens), 32);
  });
}

I32 kvq::kernel::joinUpperHalves(KernelBuilder &b, I32 low, I32 high) {
  return {b,
          NVVM::PermuteOp::create(b, b.getI32Type(), low, high, b.i32(0x7632),
                                  NVVM::PermuteMode::DEFAULT)};
}

/// Narrows a unit from f32, in its place: the thread's lane.
void DecodeKernel::narrowValues(I32 unit) {
  transposed.wait(unit);
  tcgen05::FenceOp::create(b, tcgen05::FenceKind::After);
  Value buffer = bufferOf(valueRegion, unit);
  Value decoded = tcgen05::CastOp::create(
      b,
      tcgen05::TMemType::get(b.getContext(), kTileTokens, kTileTokens,
                             b.getF32Type()),
      buffer);
  I32 warp = b.warp() % 4;
  I32 first =
      b.thread() % kTileTokens / plan.partChannels() * plan.groupTokens();
  // More parts leave fewer registers.
  int64_t count = plan.valueParts() > 1 ? 64 : plan.groupTokens();
  for (int64_t at = 0; at < plan.groupTokens(); at += count) {
    OpFoldResult column = b.getIndexAttr(at);
    if (plan.groups() > 1)
      column = Value(
          arith::IndexCastUIOp::create(b, b.getIndexType(), Value(first + at)));
    Value tokens = tcgen05::LoadOp::create(
        b, VectorType::get(count, b.getI32Type()),
        tcgen05::AccessShape::S32x32b, decoded, column, Value(warp));
    tcgen05::WaitOp::create(b, tcgen05::WaitKind::Load);
    SmallVector<Value> words;
    if (plan.weightBits() == 8)
      for (int64_t i = 0; i < count; i += 4) {
        SmallVector<F32> four;
        for (int64_t j = 0; j < 4; ++j)
          four.push_back(I32(b, b.extract(tokens, i + j)).asF32());
        words.push_back(packE4M3(b, four));
      }
    else
      for (int64_t i = 0; i < count; i += 2)
        words.push_back(joinUpperHalves(b, {b, b.extract(tokens, i)},
                                        {b, b.extract(tokens, i + 1)}));
    Value registers = vector::FromElementsOp::create(
        b, VectorType::get(words.size(), b.getI32Type()), words);
    tcgen05::StoreOp::create(b, tcgen05::AccessShape::S32x32b, registers,
                             buffer, OpFoldResult(b.getIndexAttr(at)),
                             Value(warp));
  }
  tcgen05::WaitOp::create(b, tcgen05::WaitKind::Store);
  tcgen05::FenceOp::create(b, tcgen05::FenceKind::Before);
  expanded.arrive(unit);
}

void DecodeKernel::expandValues(Work work) {
  forBuffers(work.count * plan.valueParts(), plan.buffers(),
             [&](I32 unit) { narrowValues(unit); });
}
