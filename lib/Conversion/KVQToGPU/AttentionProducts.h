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

/// The shared memory of a block of `warps` warps, in bytes.
int64_t getSharedBytes(DequantAttentionOp op, const Products &products,
                       int64_t warps);

/// The number of warps of a block: as many of 4, 2 and 1 as a chip has shared
/// memory for; 0 if there is not enough for one.
int64_t getWarps(DequantAttentionOp op, const Products &products,
                 const Chip &chip);

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_ATTENTIONPRODUCTS_H
