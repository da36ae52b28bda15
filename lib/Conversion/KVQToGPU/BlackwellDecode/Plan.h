//===- Plan.h - Tiles and memory of the Blackwell decode kernel -----------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_PLAN_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_PLAN_H

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "kvq/Support/Chip.h"
#include <optional>
#include <string>

namespace kvq::kernel {

/// Tokens of a tile: the rows of the products' first operand.
inline constexpr int64_t kTileTokens = 128;

/// Buffers of what the roles hand to each other within a tile: scores, expanded
/// values and weights.
inline constexpr int64_t kBuffers = 2;

/// Rows of one side of an FP4 cache in shared memory: the bytes as they are
/// stored, swizzled as the tensor cores want it.
struct PackedRows {
  /// Elements of a row, and of them those that share a scale.
  int64_t headDim, blockSize;

  int64_t rowBytes() const { return headDim / 2; }
  /// Pieces of 16 bytes of a row, 2, 4 or 8: the swizzle permutes them.
  int64_t pieces() const { return rowBytes() / 16; }
  int64_t bytes() const { return kTileTokens * rowBytes(); }
  /// Block scales of a row, which are a byte each.
  int64_t scales() const { return headDim / blockSize; }
  int64_t scaleBytes() const { return kTileTokens * scales(); }
  /// Rows that lie in 128 bytes; the number of the line says how it is
  /// swizzled.
  int64_t rowsOfLine() const { return 128 / rowBytes(); }
};

/// What the types of an operation decide about its kernel.
struct DecodePlan {
  /// Query rows of a block, a multiple of 8, and the terms that each is split
  /// into.
  int64_t rows, terms;
  PackedRows k, v;
  /// f16 or bf16, which holds the values exactly: the operands of the second
  /// product.
  mlir::FloatType weightType;

  /// Stages of the ring of cached rows, a power of two.
  int64_t stages;

  /// Rows of the second operand of the scores: terms of queries, padded.
  int64_t scoreColumns() const;

  /// Pairs of channels have 128 lanes of tensor memory: `groups` of tokens,
  /// each with all pairs. See ValueExpansion.cpp.
  int64_t groups() const { return kTileTokens / (v.headDim / 2); }
  int64_t groupTokens() const { return kTileTokens / groups(); }
  /// The contraction of the second product, and the rows of its weights.
  int64_t weightDepth() const { return 2 * groupTokens(); }
  int64_t weightColumns() const { return 2 * groups() * rows; }

  /// Offsets in shared memory, in bytes.
  struct Shared {
    /// The first stage; those of the parts in a stage; the size of a stage.
    int64_t stages, k, v, kScales, vScales, stageBytes;
    int64_t queries, queryScales, rowFactors;
    int64_t weights, weightBytes;
    /// What the warps that expand values keep scales in.
    int64_t valueScales, valueScalesOfWarp;
    /// Maxima of the softmax's warps.
    int64_t maxima;
    int64_t barriers, tensorMemory;
    int64_t bytes;
  } shared;

  /// Makes a plan. Where the kernel does not apply there is none, and `reason`
  /// says why: "head_dim is 80; 64, 128 and 256 are accepted".
  static std::optional<DecodePlan> make(DequantAttentionOp op, const Chip &chip,
                                        std::string &reason);

private:
  void placeShared();
};

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_PLAN_H
