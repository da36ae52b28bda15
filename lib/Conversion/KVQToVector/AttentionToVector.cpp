//===- AttentionToVector.cpp - Lower both attention operations ------------===//

#include "AttentionEmitter.h"
#include "Patterns.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::detail;

namespace {

struct AttentionToVector : public ToVectorPattern<AttentionOp> {
  using ToVectorPattern::ToVectorPattern;

  void emit(AttentionOp op, VectorBuilder &b) const override {
    AttentionOperands operands{op.getQ(),
                               op.getScale(),
                               op.getSeqLens(),
                               op.getQoIndptr(),
                               op.getMask(),
                               op.getSinks(),
                               op.getOutput(),
                               op.getLse(),
                               op.getOptionsAttr(),
                               /*kvSplit=*/0,
                               /*sequences=*/b.size(op.getK(), 0),
                               /*length=*/b.size(op.getK(), 1),
                               /*kvHeads=*/b.size(op.getK(), 2),
                               op.getKvOffset(),
                               op.getQueryShift()};
    std::unique_ptr<RowReader> keys = createDenseRowReader(op.getK());
    std::unique_ptr<RowReader> values = createDenseRowReader(op.getV());
    AttentionEmitter(b, operands, *keys, *values).emit();
  }
};

struct DequantAttentionToVector : public ToVectorPattern<DequantAttentionOp> {
  using ToVectorPattern::ToVectorPattern;

  void emit(DequantAttentionOp op, VectorBuilder &b) const override {
    AttentionOperands operands{
        op.getQ(),
        op.getScale(),
        op.getSeqLens(),
        op.getQoIndptr(),
        /*mask=*/{},
        op.getSinks(),
        op.getOutput(),
        op.getLse(),
        op.getOptionsAttr(),
        /*kvSplit=*/static_cast<int64_t>(op.getKvSplit().value_or(0)),
        /*sequences=*/b.size(op.getSeqLens(), 0),
        /*length=*/{},
        /*kvHeads=*/b.index(op.getKCache().getType().getNumHeads())};
    std::unique_ptr<RowReader> keys =
        createCacheRowReader(b, op.getKCache(), op.getBlockTable());
    std::unique_ptr<RowReader> values =
        createCacheRowReader(b, op.getVCache(), op.getBlockTable());
    AttentionEmitter(b, operands, *keys, *values).emit();
  }
};

} // namespace

void kvq::detail::populateAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<AttentionToVector, DequantAttentionToVector>(
      patterns.getContext());
}
