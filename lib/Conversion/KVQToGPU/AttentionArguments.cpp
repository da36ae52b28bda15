//===- AttentionArguments.cpp - What every attention kernel is given ------===//

#include "AttentionArguments.h"
#include <limits>

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

std::string kvq::kernel::getAttentionName(DequantAttentionOp op,
                                          StringRef prefix) {
  std::string name = (prefix + "_" + getName(op.getKCache().getType())).str();
  name += "_" + getName(op.getVCache().getType());
  if (AttentionOptionsAttr options = op.getOptionsAttr()) {
    if (options.getCausal())
      name += "_causal";
    if (options.hasWindowLeft() || options.hasWindowRight())
      name += "_window";
    if (options.getSoftcap())
      name += "_softcap";
  }
  if (op.getKvSplit())
    name += "_split" + std::to_string(*op.getKvSplit());
  return name;
}

AttentionArguments::AttentionArguments(DequantAttentionOp op, OpBuilder &host,
                                       KernelTarget target, StringRef name,
                                       int64_t rowsOfBlock)
    : op(op), options(op.getOptionsAttr()), rowsOfBlock(rowsOfBlock),
      heads(op.getKCache().getType().getNumHeads()),
      isRagged(bool(op.getQoIndptr())),
      kernel(host, target.module, target.chip, op, name), b(kernel.body()),
      k(kernel, host, "k_", op.getKCache(), Access::Read,
        getChunk(op.getKCache().getType().getFormat())),
      v(kernel, host, "v_", op.getVCache(), Access::Read,
        getChunk(op.getVCache().getType().getFormat())),
      blockTable(kernel, op.getBlockTable(),
                 op.getKCache().getType().getPageSize()),
      q(kernel, "q", op.getQ(), Access::Read, 16),
      seqLens(kernel, "seq_lens", op.getSeqLens(), Access::Read),
      output(kernel, "output", op.getOutput(), Access::Write, 2) {
  if (!options)
    options = AttentionOptionsAttr::get(op.getContext(), /*causal=*/false,
                                        /*windowLeft=*/-1, /*windowRight=*/-1,
                                        /*softcap=*/FloatAttr());
  if (isRagged)
    qoIndptr.emplace(kernel, "qo_indptr", op.getQoIndptr(), Access::Read);
  if (op.getSinks())
    sinks.emplace(kernel, "sinks", op.getSinks(), Access::Read);
  if (op.getLse())
    lse.emplace(kernel, "lse", op.getLse(), Access::Write);
  scale = kernel.scalar("scale", op.getScale());
  Size queryHeads = q.size(isRagged ? 1 : 2);
  group = {queryHeads.value / heads, queryHeads.formula.floorDiv(heads)};
}

//===----------------------------------------------------------------------===//
// Rows and tokens
//===----------------------------------------------------------------------===//

SmallVector<I32> AttentionArguments::indexOf(QueryRows rows, I32 query,
                                             I32 head) {
  if (isRagged)
    return {rows.start + query, head};
  return {rows.sequence, query, head};
}

I32 AttentionArguments::queryHeadOf(QueryRows rows, I32 row) {
  return b.block(gpu::Dimension::y) * group.value +
         (rows.first + row) % group.value;
}

SmallVector<I32> AttentionArguments::queryIndexOf(QueryRows rows, I32 row) {
  return indexOf(rows, (rows.first + row) / group.value,
                 queryHeadOf(rows, row));
}

SmallVector<I32> AttentionArguments::outputIndexOf(QueryRows rows, I32 row) {
  SmallVector<I32> at;
  if (op.getKvSplit())
    at.push_back(b.block(gpu::Dimension::z));
  llvm::append_range(at, queryIndexOf(rows, row));
  return at;
}

Pred AttentionArguments::isRow(QueryRows rows, I32 row) {
  return rows.first + row < rows.count * group.value;
}

void AttentionArguments::whenRows(function_ref<void(QueryRows)> body) {
  I32 block = b.block();
  if (!isRagged) {
    I32 count = queryTokens().value;
    // At least 1: an empty grid launches a block as well.
    I32 tiles =
        ((count * group.value + (rowsOfBlock - 1)) / rowsOfBlock).max(1);
    I32 sequence = block / tiles;
    return b.when((sequence < seqLens.size(0).value) & (count > 0), [&] {
      body({sequence, b.i32(0), count, (block % tiles) * rowsOfBlock});
    });
  }
  // The blocks of a sequence follow those of the sequences before it. The grid
  // has room for a partial tile of each.
  I32 total = queryTokens().value;
  I32 sequences = seqLens.size(0).value;
  auto loadStart = [&](I32 sequence) {
    return b.loadI32(qoIndptr->element(sequence));
  };
  Pred isFirst = (block == 0) & (b.block(gpu::Dimension::y) == 0);
  b.when(isFirst, [&] {
    I32 first = loadStart(b.i32(0)), last = loadStart(sequences);
    b.when(first != 0, [&] {
      b.fail(KVQ_RUNTIME_QO_INDPTR, b.i64(0), first.extend(),
             total.extend() + 1);
    });
    b.when(last != total, [&] {
      b.fail(KVQ_RUNTIME_QO_INDPTR, sequences.extend(), last.extend(),
             total.extend() + 1);
    });
  });
  SmallVector<Value> init{b.i32(-1), b.i32(0), b.i32(0), b.i32(0), b.i32(0)};
  SmallVector<Value> found =
      b.carry(b.i32(0), sequences, 1, init,
              [&](I32 sequence, ValueRange values) -> SmallVector<Value> {
                I32 begin = loadStart(sequence), end = loadStart(sequence + 1);
                Pred isGood = (begin >= 0) & (begin <= end) & (end <= total);
                b.when(isGood.negate() & isFirst, [&] {
                  b.fail(KVQ_RUNTIME_QO_INDPTR, (sequence + 1).extend(),
                         end.extend(), total.extend() + 1);
                });
                I32 count = isGood.select(end - begin, b.i32(0));
                I32 before(b, values[4]);
                I32 after = before + (count * group.value + (rowsOfBlock - 1)) /
                                         rowsOfBlock;
                Pred isHere = (block >= before) & (block < after);
                auto update = [&](I32 value, int64_t at) -> Value {
                  return isHere.select(value, I32(b, values[at]));
                };
                return {update(sequence, 0), update(begin, 1), update(count, 2),
                        update((block - before) * rowsOfBlock, 3), after};
              });
  QueryRows rows{{b, found[0]}, {b, found[1]}, {b, found[2]}, {b, found[3]}};
  b.when(rows.sequence >= 0, [&] { body(rows); });
}

void AttentionArguments::whenWork(
    function_ref<void(QueryRows, TokenRange)> body) {
  whenRows([&](QueryRows rows) {
    I32 length = b.loadI32(seqLens.element(rows.sequence));
    Pred good = b.checkRange(KVQ_RUNTIME_SEQ_LEN, rows.sequence.extend(),
                             length.extend(), blockTable.capacity() + 1);
    I32 begin = b.i32(0), end = length;
    if (std::optional<uint64_t> split = op.getKvSplit()) {
      I32 chunks = output.size(0).value;
      I32 needed = (length.max(0) + int64_t(*split - 1)) / int64_t(*split);
      good = good & b.checkRange(KVQ_RUNTIME_KV_CHUNKS, rows.sequence.extend(),
                                 needed.extend(), chunks.extend() + 1);
      begin = b.block(gpu::Dimension::z) * int64_t(*split);
      end = end.min(begin + int64_t(*split));
    }
    // Tokens that no row of the block sees are not read.
    I32 lastRow =
        (rows.first + (rowsOfBlock - 1)).min(rows.count * group.value - 1);
    I32 shift = length - rows.count;
    I32 firstPosition = shift + rows.first / group.value;
    I32 lastPosition = shift + lastRow / group.value;
    if (options.getCausal())
      end = end.min(lastPosition + 1);
    if (options.hasWindowRight())
      end = end.min(lastPosition + (options.getWindowRight() + 1));
    if (options.hasWindowLeft())
      begin = begin.max(firstPosition - options.getWindowLeft());
    b.when(good, [&] {
      body(rows, {length, begin, end, firstPosition, lastPosition});
    });
  });
}

Pred AttentionArguments::sees(I32 position, I32 token) {
  Pred all;
  auto require = [&](Pred condition) {
    all = all ? all & condition : condition;
  };
  if (options.getCausal())
    require(token <= position);
  if (options.hasWindowLeft())
    require(token >= position - options.getWindowLeft());
  if (options.hasWindowRight())
    require(token <= position + options.getWindowRight());
  return all;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

F32 AttentionArguments::loadLogitFactor() {
  // The soft-cap is on the scaled logit.
  if (F32 globalScale = k.loadGlobalScale())
    return scale * globalScale;
  return scale;
}

RowEnd AttentionArguments::endRow(F32 largest, F32 denominator, I32 head) {
  F32 none = b.f32(-std::numeric_limits<double>::infinity());
  F32 factor = b.f32(1.0);
  if (sinks) {
    // A logit without a token, that counts in the first chunk.
    F32 sink = b.loadF32(sinks->element(head));
    if (op.getKvSplit())
      sink = (b.block(gpu::Dimension::z) == 0).select(sink, none);
    F32 both = largest.max(sink);
    F32 shift = (both == none).select(b.f32(0.0), both);
    factor = ((largest - shift) * kLog2E).exp2();
    denominator = denominator * factor + ((sink - shift) * kLog2E).exp2();
    largest = both;
  }
  Pred isEmpty = denominator == 0.0;
  factor = isEmpty.select(b.f32(0.0), factor / denominator);
  if (F32 globalScale = v.loadGlobalScale())
    factor = factor * globalScale;
  F32 value = largest + denominator.log2() * kLn2;
  return {factor, isEmpty.select(none, value)};
}

void AttentionArguments::launch(int64_t threads) {
  AffineExpr x = queryTokens().formula * group.formula;
  if (isRagged)
    x = x.ceilDiv(rowsOfBlock) + seqLens.size(0).formula;
  else
    x = x.ceilDiv(rowsOfBlock) * seqLens.size(0).formula;
  AffineExpr z = op.getKvSplit() ? output.size(0).formula : AffineExpr();
  kernel.launch(threads, x, kernel.constant(heads), z);
}
