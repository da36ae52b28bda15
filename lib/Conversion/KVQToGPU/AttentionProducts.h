//===- AttentionProducts.h - Operands of the portable attention -----------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_ATTENTIONPRODUCTS_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_ATTENTIONPRODUCTS_H

#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "kvq/Support/Chip.h"

namespace kvq::kernel {

/// Query rows of a block, and tokens of a warp: m16n8k16, twice.
inline constexpr int64_t kQueryRowsOfBlock = 16, kTokensOfWarp = 16;

/// How the two products are computed: the 16-bit types of their operands, and
/// how many terms of it each operand has. Where 16 bits do not hold an operand
/// well enough it has two: f32 and f16 queries in bf16, f16 keys in bf16, and
/// the weights in bf16.
struct Products {
  mlir::FloatType qk, pv;
  int64_t qTerms, kTerms, pTerms;

  /// What `qk` and `pv` of the operation ask for if that is f16 or bf16; else
  /// f16 where the queries and the format's values fit it, bf16 otherwise.
  static Products get(DequantAttentionOp op);
};

/// The size of a block.
struct BlockSize {
  int64_t warps;
  /// Tiles whose stored bytes are in shared memory at a time: with two a tile
  /// is copied while all of the one before is computed with, with one while it
  /// is multiplied.
  int64_t buffers;
  /// How many blocks a multiprocessor has shared memory for.
  int64_t blocks = 0;

  int64_t tokensOfTile() const { return warps * kTokensOfWarp; }

  /// The largest for which the chip has shared memory: of 4, 2 or 1 warps, and
  /// with two buffers unless one lets two blocks share a multiprocessor.
  /// Nothing if there is not enough for one warp.
  static std::optional<BlockSize>
  get(DequantAttentionOp op, const Products &products, const Chip &chip);
};

/// Where the tile of K's operands and that of V's lie, one after the other.
int64_t getOperandBytes(DequantAttentionOp op, const Products &products,
                        BlockSize size);

/// The shared memory of a block, in bytes.
int64_t getSharedBytes(DequantAttentionOp op, const Products &products,
                       BlockSize size);

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_ATTENTIONPRODUCTS_H
