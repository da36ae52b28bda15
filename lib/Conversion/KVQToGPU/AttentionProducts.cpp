//===- AttentionProducts.cpp - Operands of the portable attention ---------===//

#include "AttentionProducts.h"
#include "StoredTile.h"
#include "kvq/Dialect/KVQ/Analysis/MMARules.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// Whether f16 holds every stored value of a format times its block scale.
static bool fitsF16(KVFormatInterface format) {
  return (classifyFormat(format) & StoredValues::FitsF16) != StoredValues::None;
}

Products Products::get(DequantAttentionOp op) {
  Builder b(op.getContext());
  auto choose = [&](MMAKindAttr kind, bool preferF16) -> FloatType {
    if (kind && kind.getUnit() == MMAUnit::F16)
      return b.getF16Type();
    if (kind && kind.getUnit() == MMAUnit::BF16)
      return b.getBF16Type();
    return preferF16 ? FloatType(b.getF16Type()) : FloatType(b.getBF16Type());
  };
  Type query = getElementTypeOrSelf(op.getQ().getType());
  KVFormatInterface k = op.getKCache().getType().getFormat();
  KVFormatInterface v = op.getVCache().getType().getFormat();
  Products products;
  products.qk = choose(op.getQkAttr(), query.isF16() && fitsF16(k));
  products.pv = choose(op.getPvAttr(), fitsF16(v));
  products.qTerms = query == products.qk ? 1 : 2;
  products.kTerms = k.getElementType().isF16() && products.qk.isBF16() ? 2 : 1;
  products.pTerms = products.pv.isBF16() ? 2 : 1;
  return products;
}

int64_t kvq::kernel::getOperandBytes(DequantAttentionOp op,
                                     const Products &products, BlockSize size) {
  int64_t tokens = size.tokensOfTile();
  int64_t d = op.getKCache().getType().getHeadDim();
  int64_t dv = op.getVCache().getType().getHeadDim();
  return std::max(OperandTile::getBytes(tokens, d, products.kTerms),
                  OperandTile::getBytes(tokens, dv, 1));
}

int64_t kvq::kernel::getSharedBytes(DequantAttentionOp op,
                                    const Products &products, BlockSize size) {
  int64_t tokens = size.tokensOfTile();
  CacheType k = op.getKCache().getType(), v = op.getVCache().getType();
  int64_t rowStatistics = 2 * size.warps * kQueryRowsOfBlock * 4;
  return OperandTile::getBytes(kQueryRowsOfBlock, k.getHeadDim(),
                               products.qTerms) +
         getOperandBytes(op, products, size) +
         OperandTile::getBytes(kQueryRowsOfBlock, tokens, products.pTerms) +
         rowStatistics + TilePages::getBytes(tokens) +
         StoredTile::getBytes(k, tokens, size.buffers) +
         StoredTile::getBytes(v, tokens, size.buffers);
}

/// Blocks that a multiprocessor has shared memory for. It has, and each block
/// takes, 1 KiB more than a block may ask for.
static int64_t getBlocksOfProcessor(int64_t sharedBytes, const Chip &chip) {
  return (chip.sharedMemory + 1024) / (sharedBytes + 1024);
}

std::optional<BlockSize> BlockSize::get(DequantAttentionOp op,
                                        const Products &products,
                                        const Chip &chip) {
  auto countBlocks = [&](BlockSize size) {
    return getBlocksOfProcessor(getSharedBytes(op, products, size), chip);
  };
  for (int64_t warps : {4, 2, 1}) {
    int64_t withOne = countBlocks({warps, 1});
    if (withOne == 0)
      continue;
    int64_t withTwo = countBlocks({warps, 2});
    if (withTwo >= std::min<int64_t>(withOne, 2))
      return BlockSize{warps, 2, withTwo};
    return BlockSize{warps, 1, withOne};
  }
  return std::nullopt;
}
