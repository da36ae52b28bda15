//===- AttentionProducts.cpp - Operands of the portable attention ---------===//

#include "AttentionProducts.h"
#include "OperandTile.h"
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

int64_t kvq::kernel::getSharedBytes(DequantAttentionOp op,
                                    const Products &products, int64_t warps) {
  int64_t tokens = warps * kTokensOfWarp;
  int64_t d = op.getKCache().getType().getHeadDim();
  int64_t dv = op.getVCache().getType().getHeadDim();
  int64_t rowStatistics = 2 * warps * kQueryRowsOfBlock * 4;
  return OperandTile::getBytes(kQueryRowsOfBlock, d, products.qTerms) +
         OperandTile::getBytes(tokens, d, products.kTerms) +
         OperandTile::getBytes(tokens, dv, 1) +
         OperandTile::getBytes(kQueryRowsOfBlock, tokens, products.pTerms) +
         rowStatistics;
}

int64_t kvq::kernel::getWarps(DequantAttentionOp op, const Products &products,
                              const Chip &chip) {
  for (int64_t warps : {4, 2, 1})
    if (getSharedBytes(op, products, warps) <= int64_t(chip.sharedMemory))
      return warps;
  return 0;
}
