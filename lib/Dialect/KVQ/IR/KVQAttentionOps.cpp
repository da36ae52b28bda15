//===- KVQAttentionOps.cpp - Verifiers of the operations of attention -----===//

#include "OpChecks.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace kvq;

//===----------------------------------------------------------------------===//
// AttentionOp, DequantAttentionOp
//===----------------------------------------------------------------------===//

namespace {

/// What the checks of both attention operations need of them.
struct AttentionShape {
  Value q, seqLens, qoIndptr, sinks, output, lse;
  int64_t kvHeads, headDim, valueHeadDim;
  bool split;
  Value handle;
};

} // namespace

static LogicalResult checkAttention(Operation *op, const AttentionShape &a) {
  ShapedType q = getShaped(a.q);
  int64_t rank = a.qoIndptr ? 3 : 4;
  if (q.getRank() != rank)
    return op->emitOpError()
           << "q has rank " << q.getRank() << ", expected " << rank
           << (a.qoIndptr ? ": [total_q, heads, head_dim] with qo_indptr"
                          : ": [B, Lq, heads, head_dim] without qo_indptr");
  SmallVector<int64_t> expected(q.getShape());
  expected.back() = a.headDim;
  if (!a.qoIndptr && a.seqLens)
    expected[0] = getShaped(a.seqLens).getDimSize(0);
  if (failed(checkShape(op, "q", a.q, expected,
                        a.qoIndptr ? "the head_dim of the keys"
                                   : "sequences, and the head_dim of the keys",
                        a.handle)))
    return failure();

  int64_t queryHeads = q.getDimSize(rank - 2);
  if (ShapedType::isDynamic(queryHeads))
    return op->emitOpError("q has a dynamic number of heads, expected a "
                           "static one");
  if (!ShapedType::isDynamic(a.kvHeads) && queryHeads % a.kvHeads != 0)
    return op->emitOpError()
           << "q has " << queryHeads << " heads, expected a multiple of the "
           << a.kvHeads << " KV heads";

  SmallVector<int64_t> output;
  if (a.split)
    output.push_back(ShapedType::kDynamic);
  llvm::append_range(output, q.getShape().drop_back());
  SmallVector<int64_t> lse(output);
  output.push_back(a.valueHeadDim);
  if (failed(checkShape(op, "output", a.output, output,
                        a.split ? "chunks, then q's shape with the value's "
                                  "head_dim"
                                : "q's shape with the value's head_dim")))
    return failure();
  if (a.lse) {
    if (a.split)
      lse[0] = getShaped(a.output).getDimSize(0);
    if (failed(checkShape(op, "lse", a.lse, lse, "output's without head_dim")))
      return failure();
  }
  if (a.sinks &&
      failed(checkShape(op, "sinks", a.sinks, {queryHeads}, "one per head")))
    return failure();
  return checkResults(cast<DestinationStyleOpInterface>(op));
}

MutableOperandRange AttentionOp::getDpsInitsMutable() {
  unsigned first = getOutputMutable().getOperandNumber();
  return MutableOperandRange(getOperation(), first, getLse() ? 2 : 1);
}

LogicalResult AttentionOp::verify() {
  ShapedType k = getShaped(getK()), v = getShaped(getV());
  SmallVector<int64_t> expected(k.getShape());
  expected.back() = ShapedType::kDynamic;
  if (failed(checkShape(*this, "v", getV(), expected,
                        "the keys' but for head_dim")))
    return failure();
  int64_t kvHeads = k.getDimSize(2);
  if (ShapedType::isDynamic(kvHeads))
    kvHeads = v.getDimSize(2);
  if (kvHeads == 0)
    return emitOpError("k has 0 heads, expected at least 1");
  if (getSeqLens() &&
      failed(checkShape(*this, "seq_lens", getSeqLens(), {k.getDimSize(0)},
                        "one per sequence of k")))
    return failure();
  if (getKvOffset() && !getSeqLens())
    return emitOpError("has kv_offset without seq_lens, which it counts from");
  if (getQoIndptr()) {
    int64_t batch = k.getDimSize(0);
    if (failed(checkShape(*this, "qo_indptr", getQoIndptr(),
                          {ShapedType::isDynamic(batch) ? batch : batch + 1},
                          "one more than sequences of k")))
      return failure();
  } else if (getShaped(getQ()).getRank() == 4 &&
             failed(checkShape(*this, "k", getK(),
                               {getShaped(getQ()).getDimSize(0),
                                ShapedType::kDynamic, ShapedType::kDynamic,
                                ShapedType::kDynamic},
                               "as many sequences as q"))) {
    return failure();
  }
  if (getMask()) {
    if (getQoIndptr())
      return emitOpError("has a mask with qo_indptr, accepted is a mask with "
                         "q of shape [B, Lq, heads, head_dim]");
    ShapedType q = getShaped(getQ());
    if (q.getRank() == 4) {
      SmallVector<int64_t> shape{q.getDimSize(0), q.getDimSize(2),
                                 q.getDimSize(1), k.getDimSize(1)};
      ArrayRef<int64_t> found = getShaped(getMask()).getShape();
      for (unsigned dim = 0; dim < 3; ++dim)
        if (found[dim] == 1)
          shape[dim] = 1;
      if (failed(checkShape(*this, "mask", getMask(), shape,
                            "[B or 1, heads or 1, Lq or 1, L]")))
        return failure();
    }
  }
  return checkAttention(*this, {getQ(), getSeqLens(), getQoIndptr(), getSinks(),
                                getOutput(), getLse(), kvHeads, k.getDimSize(3),
                                v.getDimSize(3),
                                /*split=*/false, /*handle=*/{}});
}

MutableOperandRange DequantAttentionOp::getDpsInitsMutable() {
  unsigned first = getOutputMutable().getOperandNumber();
  return MutableOperandRange(getOperation(), first, getLse() ? 2 : 1);
}

SmallVector<Value> DequantAttentionOp::getReadCaches() {
  return {getKCache(), getVCache()};
}

/// Checks one of the two products against the format of the cache it reads.
static LogicalResult checkMMAKind(Operation *op, StringRef name,
                                  MMAKindAttr kind, CacheType cache,
                                  BlockAxis contraction) {
  if (!kind || kind.getUnit() != MMAUnit::BlockScaled)
    return success();
  KVFormatInterface format = cache.getFormat();
  if (!format.hasBlockScale() || format.getElementType().getWidth() != 4)
    return op->emitOpError() << name
                             << " is block_scaled, which needs 4-bit elements "
                                "with block scales, found the format "
                             << format;
  if (format.getBlockAxis() != contraction)
    return op->emitOpError()
           << name << " is block_scaled, which needs blocks with axis = "
           << stringifyBlockAxis(contraction)
           << ", found axis = " << stringifyBlockAxis(format.getBlockAxis());
  return success();
}

LogicalResult DequantAttentionOp::verify() {
  CacheType k = getKCache().getType(), v = getVCache().getType();
  auto noteHandles = [&](InFlightDiagnostic diag) {
    diag.attachNote(getKCache().getLoc())
        << "the key handle of type " << k << " is defined here";
    diag.attachNote(getVCache().getLoc())
        << "the value handle of type " << v << " is defined here";
    return failure();
  };
  if (k.getSide() != Side::Key || v.getSide() != Side::Value)
    return noteHandles(emitOpError() << "caches are of the sides "
                                     << stringifySide(k.getSide()) << " and "
                                     << stringifySide(v.getSide())
                                     << ", expected key and value");
  if (k.getNumHeads() != v.getNumHeads())
    return noteHandles(emitOpError()
                       << "caches have " << k.getNumHeads() << " and "
                       << v.getNumHeads() << " heads, expected one number");
  if (k.getPageSize() != v.getPageSize())
    return noteHandles(emitOpError()
                       << "caches have pages of " << k.getPageSize() << " and "
                       << v.getPageSize()
                       << " tokens, expected one size, as they share a "
                          "block_table");
  if (failed(checkMMAKind(*this, "qk", getQkAttr(), k, BlockAxis::HeadDim)) ||
      failed(checkMMAKind(*this, "pv", getPvAttr(), v, BlockAxis::Token)))
    return failure();
  bool split = getKvSplit().has_value();
  if (split && static_cast<int64_t>(*getKvSplit()) < 1)
    return emitOpError() << "kv_split is "
                         << static_cast<int64_t>(*getKvSplit())
                         << ", expected at least 1";
  if (split && !getLse())
    return emitOpError("has kv_split without lse in outs, which merge_states "
                       "needs");
  return checkAttention(*this,
                        {getQ(), getSeqLens(), getQoIndptr(), getSinks(),
                         getOutput(), getLse(), k.getNumHeads(), k.getHeadDim(),
                         v.getHeadDim(), split, getKCache()});
}

//===----------------------------------------------------------------------===//
// MergeStatesOp
//===----------------------------------------------------------------------===//

MutableOperandRange MergeStatesOp::getDpsInitsMutable() {
  unsigned first = getOutputMutable().getOperandNumber();
  return MutableOperandRange(getOperation(), first, getLse() ? 2 : 1);
}

LogicalResult MergeStatesOp::verify() {
  ShapedType partial = getShaped(getPartialOutput());
  if (partial.getRank() < 4)
    return emitOpError() << "partial output has rank " << partial.getRank()
                         << ", expected 4 or 5: [C, ..., heads, head_dim]";
  if (!partial.getElementType().isF32())
    return emitOpError() << "partial output has element type "
                         << partial.getElementType() << ", expected f32";
  ArrayRef<int64_t> merged = partial.getShape().drop_front();
  if (failed(checkShape(*this, "partial lse", getPartialLse(),
                        partial.getShape().drop_back(),
                        "the partial output's without head_dim")) ||
      failed(checkShape(*this, "output", getOutput(), merged,
                        "the partial output's without chunks")))
    return failure();
  if (getLse() && failed(checkShape(*this, "lse", getLse(), merged.drop_back(),
                                    "the output's without head_dim")))
    return failure();
  return checkResults(*this);
}
