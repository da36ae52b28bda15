//===- Plan.h - Tiles and memory of the Blackwell decode kernel -----------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_PLAN_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_PLAN_H

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "kvq/Support/Chip.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <optional>
#include <string>

namespace kvq::kernel {

/// Tokens of a tile: the rows of the products' first operand.
inline constexpr int64_t kTileTokens = 128;

/// Buffers of what the roles hand to each other within a tile: scores, expanded
/// values and weights.
inline constexpr int64_t kBuffers = 2;

/// Rows of one side of a cache in shared memory: the bytes as they are stored,
/// in panels of up to 128 bytes of each row, swizzled as the tensor cores want
/// it.
struct PackedRows {
  /// Elements of a row, and of them those that share a scale; 0 without scales.
  int64_t headDim, blockSize;
  int64_t elementBits;

  int64_t rowBytes() const { return headDim * elementBits / 8; }
  int64_t panelBytes() const { return std::min<int64_t>(rowBytes(), 128); }
  int64_t panels() const { return rowBytes() / panelBytes(); }
  /// Pieces of 16 bytes of a panel's row, 2, 4 or 8: the swizzle permutes them.
  int64_t pieces() const { return panelBytes() / 16; }
  int64_t bytes() const { return kTileTokens * rowBytes(); }
  /// The distance of panels.
  int64_t panelSize() const { return kTileTokens * panelBytes(); }
  /// Block scales of a row, which are a byte each.
  int64_t scales() const { return blockSize ? headDim / blockSize : 0; }
  /// Those that the tensor cores get of a row: whole words. Only of a row of 64
  /// elements with two scales the word is not full.
  int64_t scaleColumns() const { return llvm::alignTo(scales(), 4); }
  bool hasScalePairs() const { return scales() == 2; }
  int64_t scaleBytes() const { return kTileTokens * scaleColumns(); }
  /// Rows of a panel that lie in 128 bytes; the number of the line says how it
  /// is swizzled.
  int64_t rowsOfLine() const { return 128 / panelBytes(); }
};

/// How keys become the first operand of the scores.
enum class KeyRoute {
  /// As they lie, with their block scales; queries are split into terms of
  /// their format.
  BlockScaled,
  /// As they lie; queries are split into terms of their type.
  Direct
};

/// How values become the first operand of the output.
enum class ValueRoute {
  /// Transposed by a product with the identity and narrowed in tensor memory,
  /// exactly to bf16, or to E4M3, which rounds.
  TransposedFP4,
  /// Expanded exactly to 16 bits in tensor memory.
  ExpandedFP8,
  /// As they lie.
  Direct
};

/// What the types of an operation decide about its kernel.
struct DecodePlan {
  /// Query rows of a block, a multiple of 8, and the terms that each is split
  /// into.
  int64_t rows, terms;
  PackedRows k, v;
  KeyRoute keys;
  ValueRoute values;
  /// The operands of the second product: a type that holds the values exactly,
  /// or E4M3.
  mlir::FloatType weightType;
  /// Terms of that type that each weight is split into.
  int64_t weightTerms;

  /// Whether block scales of V are interleaved: of four neighbouring tokens
  /// those of a block lie together.
  bool hasQuads;

  /// Stages of the ring of cached rows, a power of two.
  int64_t stages;

  /// Whether there are warps that expand values.
  bool expandsValues() const { return values != ValueRoute::Direct; }
  /// Whether a product transposes values first.
  bool transposesValues() const { return values == ValueRoute::TransposedFP4; }
  /// What values are multiplied by before they become operands: those of nvfp4
  /// are up to 6 * 448, and E4M3 holds 448.
  double valueFactor() const {
    return transposesValues() && weightBits() == 8 ? 0.125 : 1.0;
  }
  /// Whether the contraction runs over pairs of a token and a parity of the
  /// channel. See ByteExpansion.cpp.
  bool pairsChannels() const { return values == ValueRoute::ExpandedFP8; }

  /// Whether the output of a tile comes before the scores of the next one: of
  /// two stages that hold values until then, one is free for a tile to load. A
  /// single one has to be.
  bool isOutputFirst() const { return !expandsValues() && stages <= 2; }

  /// Buffers of scores and weights, and of all that is made of values. Scores
  /// that come behind the output of the tile before find all of that tile read.
  int64_t buffers() const { return isOutputFirst() ? 1 : kBuffers; }

  /// Rows of the second operand of the scores: terms of queries, padded.
  int64_t scoreColumns() const;

  /// Channels of a lane of the output: two that share a word of 16 bits of the
  /// cache, or as many as there are lanes too few.
  int64_t channelsOfLane() const {
    return pairsChannels() ? 2 : std::max<int64_t>(v.headDim / 128, 1);
  }
  /// Parts of transposed values, which have the tensor cores one after the
  /// other, and their channels and columns of block scales.
  int64_t valueParts() const {
    return transposesValues() ? channelsOfLane() : 1;
  }
  int64_t partChannels() const { return v.headDim / valueParts(); }
  int64_t partScales() const { return v.scaleColumns() / valueParts(); }
  /// All channels of a token have 128 lanes or a part of them: `groups` of
  /// tokens then lie side by side.
  int64_t groups() const {
    return kTileTokens / (v.headDim / channelsOfLane());
  }
  int64_t groupTokens() const { return kTileTokens / groups(); }
  /// The contraction of the second product, and the rows of its weights.
  int64_t weightDepth() const {
    return groupTokens() * (pairsChannels() ? 2 : 1);
  }
  int64_t weightColumns() const;
  int64_t weightBits() const { return weightType.getIntOrFloatBitWidth(); }
  /// Columns of the output in tensor memory.
  int64_t outputColumns() const {
    return weightColumns() * (pairsChannels() ? 1 : channelsOfLane());
  }

  /// Offsets in shared memory, in bytes.
  struct Shared {
    /// The first stage; those of the parts in a stage, of which `vQuads` are
    /// interleaved scales as they are stored; the size of a stage.
    int64_t stages, k, v, kScales, vScales, vQuads, stageBytes;
    int64_t queries, queryScales, rowFactors;
    int64_t weights, weightBytes;
    /// The identity that transposes values, and its block scales.
    int64_t identity, identityBytes, identityScales;
    /// Maxima of the softmax's warps.
    int64_t maxima;
    int64_t barriers, tensorMemory;
    int64_t bytes;
  } shared;

  /// Makes a plan for an operation whose `qk` is decided. Where the kernel does
  /// not apply there is none, and `reason` says why: "head_dim is 80; 64, 128
  /// and 256 are accepted".
  static std::optional<DecodePlan> make(DequantAttentionOp op, const Chip &chip,
                                        std::string &reason);

private:
  void placeShared();
};

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_PLAN_H
