//===- ByteExpansion.cpp - FP8 values as exact f16 in tensor memory -------===//
//
// The second product wants V^T with two tokens of a channel in a word. Two
// neighbouring bytes of the cache are two channels of one token and convert to
// a word of two f16. They are left so: the contraction runs over pairs (token,
// parity of the channel), and the weights are zero where parities differ, so
// that
//
//   O[2c + parity][q] = sum over tokens of A[c][token, parity] * P[q][token]
//
// with A[c][token, parity] = V[token][2c + parity]. The 128 lanes of tensor
// memory hold the `headDim / 2` pairs c of `groups` parts of the tile's tokens.
// Weights of other groups give columns of the output that are ignored.
//
// A warp expands 32 lanes: 64 bytes of the rows of its group of tokens.
// `ldmatrix.trans.b16` hands thread 4a + i bytes (2a, 2a + 1) of tokens 2i and
// 2i + 1, and `tcgen05.st.16x256b` takes them to lane a: pairs of channels keep
// their order.
//
//===----------------------------------------------------------------------===//

#include "../Elements.h"
#include "DecodeKernel.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// Tokens that one ldmatrix reads.
static constexpr int64_t kTokensOfLoad = 16;

/// Tokens that one store takes. Those of bf16 are fewer: they come from f32,
/// which take registers, too.
static int64_t getTokensOfStore(const DecodePlan &plan) {
  return std::min<int64_t>(plan.weightType.isBF16() ? 32 : 64,
                           plan.groupTokens());
}

/// Converts a word of four E4M3 to two words of f16 or bf16, which hold all of
/// them.
static std::array<I32, 2> convert(KernelBuilder &b, FloatType type, I32 word) {
  std::array<I32, 2> converted;
  for (auto [to, pair] : llvm::zip_equal(converted, decodeE4M3(b, word))) {
    if (type.isBF16()) {
      Value wide =
          arith::ExtFOp::create(b, VectorType::get(2, b.getF32Type()), pair);
      pair = b.roundPair(b.extractF32(wide, 0), b.extractF32(wide, 1), type);
    }
    to = b.asBits(pair);
  }
  return converted;
}

/// Expands so many tokens of the warp's group as a store takes, from `first`
/// on.
void DecodeKernel::expandByteTokens(I32 tile, I32 warp, int64_t first) {
  int64_t tokens = getTokensOfStore(plan);
  int64_t warpsOfGroup = 4 / plan.groups();
  I32 firstRow = (warp / warpsOfGroup) * plan.groupTokens() + first;
  I32 bytes = (warp % warpsOfGroup) * 64;
  I32 lane = b.lane(), matrix = lane / 8;
  Value to = bufferOf(valueRegion, tile);
  // One half of the lanes after the other: registers hold the words of one.
  for (int64_t half = 0; half < 2; ++half) {
    SmallVector<Value> words;
    for (int64_t at = 0; at < tokens; at += kTokensOfLoad) {
      I32 row = firstRow + (matrix % 2) * 8 + lane % 8 + at;
      I32 line = row / plan.v.rowsOfLine();
      I32 piece = bytes / 16 + matrix / 2 + 2 * half;
      I32 inPanel = (piece ^ line) % plan.v.pieces();
      Ptr from = stage(tile) + plan.shared.v +
                 ((piece / plan.v.pieces()) * plan.v.panelSize() +
                  row * plan.v.panelBytes() + inPanel * 16);
      Type i32 = b.getI32Type();
      Value loaded = NVVM::LdMatrixOp::create(
          b,
          LLVM::LLVMStructType::getLiteral(b.getContext(),
                                           SmallVector<Type>(4, i32)),
          Value(from), 4, NVVM::MMALayout::col,
          NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
          NVVM::LdStMatrixEltType::B16);
      // Matrix 2 * piece + x has eight tokens from 8 * x on.
      for (int64_t x = 0; x < 2; ++x)
        for (int64_t j = 0; j < 2; ++j) {
          I32 word(b, LLVM::ExtractValueOp::create(
                          b, loaded, ArrayRef<int64_t>{2 * j + x}));
          for (I32 pair : convert(b, plan.weightType, word))
            words.push_back(pair);
        }
    }
    if (half == 1 && first + tokens == plan.groupTokens())
      consumed.arrive(tile);
    // The buffer was read by the output of an earlier tile.
    if (half == 0 && first == 0) {
      accumulated.waitBefore(tile);
      tcgen05::FenceOp::create(b, tcgen05::FenceKind::After);
    }
    auto type = VectorType::get(words.size(), b.getI32Type());
    Value registers = vector::FromElementsOp::create(b, type, words);
    tcgen05::StoreOp::create(b, tcgen05::AccessShape::S16x256b, registers, to,
                             OpFoldResult(b.getIndexAttr(2 * first)),
                             Value(warp), 16 * half);
  }
}

void DecodeKernel::expandByteValues(Work work) {
  I32 warp = b.warp() - 4;
  forBuffers(work.count, plan.stages, [&](I32 tile) {
    filled.wait(tile);
    for (int64_t first = 0; first < plan.groupTokens();
         first += getTokensOfStore(plan))
      expandByteTokens(tile, warp, first);
    tcgen05::WaitOp::create(b, tcgen05::WaitKind::Store);
    tcgen05::FenceOp::create(b, tcgen05::FenceKind::Before);
    expanded.arrive(tile);
  });
}
