//===- DequantAttention.cpp - The portable kernel of attention ------------===//
//
// A block computes 16 query rows of one KV head of a sequence, over one chunk
// of its tokens. The rows are the sequence's queries times the heads that share
// the KV head, so that they read each cached token once. The block goes through
// the tokens in tiles: all warps decode keys and values into shared memory,
// each warp computes the logits of 16 tokens, and each warp accumulates its
// share of the output's columns over all tokens of the tile, under a running
// maximum of the logits that the warps agree on.
//
// A value that is NaN or infinite reaches every query row of a block that its
// token is loaded for, also those that do not see the token.
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "AttentionProducts.h"
#include "Kernels.h"
#include "OperandTile.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

static constexpr double kLog2E = 1.4426950408889634;
static constexpr double kLn2 = 0.6931471805599453;
static constexpr int64_t kRows = kQueryRowsOfBlock;

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {

/// Which query rows a block computes.
struct QueryRows {
  /// The sequence, the index of its first query, and how many it has.
  I32 sequence, start, count;
  /// The first row of the block among the sequence's rows.
  I32 first;
};

/// What the loop over tiles carries: for the two rows of a thread the largest
/// logit and the sum of weights over the tokens of the warp, and the thread's
/// part of the output tiles of the warp.
struct State {
  F32 max[2], sum[2];
  /// vector<2x2xf32>, two for each of the warp's tiles of 16 columns.
  SmallVector<Value> output;

  SmallVector<Value> pack() const {
    SmallVector<Value> values{max[0], max[1], sum[0], sum[1]};
    llvm::append_range(values, output);
    return values;
  }
  static State unpack(KernelBuilder &b, ValueRange values) {
    State state;
    for (int64_t half = 0; half < 2; ++half) {
      state.max[half] = {b, values[half]};
      state.sum[half] = {b, values[2 + half]};
    }
    llvm::append_range(state.output, values.drop_front(4));
    return state;
  }
};

/// Emits the kernel of one operation.
class AttentionKernel {
public:
  AttentionKernel(DequantAttentionOp op, OpBuilder &host, KernelTarget target,
                  int64_t warps);

  void emit();

private:
  Size queryTokens() const;
  void whenRows(function_ref<void(QueryRows)> body);
  void computeRows(QueryRows rows);
  void loadQueries(QueryRows rows);
  State initialState();
  State visitTile(QueryRows rows, I32 length, CachedTokens tokens, State state);
  /// The logits of the thread: by row half, operand tile and lane of the pair.
  void computeLogits(F32 (&logits)[2][2][2]);
  /// Turns logits into weights, with the largest logit of the row in the state
  /// and the sums that it had rescaled.
  void weigh(F32 (&logits)[2][2][2], State &state);
  void accumulate(State &state);
  /// value * factor of the row half.
  Value scaleRows(Value value, const F32 (&factor)[2]);
  void finish(QueryRows rows, State state);

  /// The row of this thread, of those of the block.
  I32 rowOfThread(int64_t half) { return b.lane() / 4 + 8 * half; }
  /// The column of this thread among 8 of a result of a product.
  I32 columnOfThread() { return (b.lane() % 4) * 2; }
  /// The first output column of tile `index` of this warp. Warps that have one
  /// tile less than others compute their last one twice.
  I32 outputColumn(int64_t index) {
    return (b.warp() + index * warps).min(outputTiles - 1) * 16;
  }
  SmallVector<I32> indexOf(QueryRows rows, I32 query, I32 head);

  DequantAttentionOp op;
  Products products;
  AttentionOptionsAttr options;
  int64_t warps, tokensOfTile, outputTiles, tilesOfWarp;
  int64_t heads;
  bool isRagged;

  KernelLaunch kernel;
  KernelBuilder &b;
  CachePointers k, v;
  BlockTable blockTable;
  Array q, seqLens, output;
  std::optional<Array> qoIndptr, sinks, lse;
  F32 scale;
  /// Heads that share a KV head.
  Size group;
  OperandTile qTile, kTile, vTile, pTile;
  SharedTile maxima, sums;
};

} // namespace

static std::string getKernelName(DequantAttentionOp op) {
  std::string name = "dequant_attention_" + getName(op.getKCache().getType());
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

AttentionKernel::AttentionKernel(DequantAttentionOp op, OpBuilder &host,
                                 KernelTarget target, int64_t warps)
    : op(op), products(Products::get(op)), options(op.getOptionsAttr()),
      warps(warps), tokensOfTile(warps * kTokensOfWarp),
      outputTiles(llvm::divideCeil(op.getVCache().getType().getHeadDim(), 16)),
      tilesOfWarp(llvm::divideCeil(outputTiles, warps)),
      heads(op.getKCache().getType().getNumHeads()),
      isRagged(bool(op.getQoIndptr())),
      kernel(host, target.module, target.chip, op, getKernelName(op)),
      b(kernel.body()), k(kernel, host, "k_", op.getKCache(), Access::Read,
                          getChunk(op.getKCache().getType().getFormat())),
      v(kernel, host, "v_", op.getVCache(), Access::Read,
        getChunk(op.getVCache().getType().getFormat())),
      blockTable(kernel, op.getBlockTable(),
                 op.getKCache().getType().getPageSize()),
      q(kernel, "q", op.getQ(), Access::Read, 16),
      seqLens(kernel, "seq_lens", op.getSeqLens(), Access::Read),
      output(kernel, "output", op.getOutput(), Access::Write, 2),
      qTile(b, kRows, k.getType().getHeadDim(), products.qk, products.qTerms),
      kTile(b, tokensOfTile, k.getType().getHeadDim(), products.qk,
            products.kTerms),
      vTile(b, tokensOfTile, v.getType().getHeadDim(), products.pv, 1),
      pTile(b, kRows, tokensOfTile, products.pv, products.pTerms),
      maxima(b.shared(warps, kRows, b.getF32Type())),
      sums(b.shared(warps, kRows, b.getF32Type())) {
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

Size AttentionKernel::queryTokens() const { return q.size(isRagged ? 0 : 1); }

SmallVector<I32> AttentionKernel::indexOf(QueryRows rows, I32 query, I32 head) {
  if (isRagged)
    return {rows.start + query, head};
  return {rows.sequence, query, head};
}

/// Emits `body` with the rows of this block, if it has any.
void AttentionKernel::whenRows(function_ref<void(QueryRows)> body) {
  I32 block = b.block();
  if (!isRagged) {
    I32 count = queryTokens().value;
    // At least 1: an empty grid launches a block as well.
    I32 tiles = ((count * group.value + (kRows - 1)) / kRows).max(1);
    I32 sequence = block / tiles;
    return b.when((sequence < seqLens.size(0).value) & (count > 0), [&] {
      body({sequence, b.i32(0), count, (block % tiles) * kRows});
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
                b.when(!isGood & isFirst, [&] {
                  b.fail(KVQ_RUNTIME_QO_INDPTR, (sequence + 1).extend(),
                         end.extend(), total.extend() + 1);
                });
                I32 count = isGood.select(end - begin, b.i32(0));
                I32 before(b, values[4]);
                I32 after =
                    before + (count * group.value + (kRows - 1)) / kRows;
                Pred isHere = (block >= before) & (block < after);
                auto update = [&](I32 value, int64_t at) -> Value {
                  return isHere.select(value, I32(b, values[at]));
                };
                return {update(sequence, 0), update(begin, 1), update(count, 2),
                        update((block - before) * kRows, 3), after};
              });
  QueryRows rows{{b, found[0]}, {b, found[1]}, {b, found[2]}, {b, found[3]}};
  b.when(rows.sequence >= 0, [&] { body(rows); });
}

void AttentionKernel::emit() {
  whenRows([&](QueryRows rows) { computeRows(rows); });

  AffineExpr x = queryTokens().formula * group.formula;
  if (isRagged)
    x = x.ceilDiv(kRows) + seqLens.size(0).formula;
  else
    x = x.ceilDiv(kRows) * seqLens.size(0).formula;
  AffineExpr z = op.getKvSplit() ? output.size(0).formula : AffineExpr();
  kernel.launch(32 * warps, x, kernel.constant(heads), z);
}

void AttentionKernel::computeRows(QueryRows rows) {
  I32 head = b.block(gpu::Dimension::y);
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
  I32 lastRow = (rows.first + (kRows - 1)).min(rows.count * group.value - 1);
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
    loadQueries(rows);
    // Tiles begin at multiples of their size, wherever the window begins.
    I32 from = begin - begin % tokensOfTile;
    SmallVector<Value> last = b.carry(
        from, end, tokensOfTile, initialState().pack(),
        [&](I32 first, ValueRange values) {
          CachedTokens tokens{rows.sequence, head, first, begin, end};
          return visitTile(rows, length, tokens, State::unpack(b, values))
              .pack();
        });
    finish(rows, State::unpack(b, last));
  });
}

/// The queries of the block in shared memory; rows past the last one are zeros.
void AttentionKernel::loadQueries(QueryRows rows) {
  I32 head = b.block(gpu::Dimension::y);
  int64_t chunks = qTile.getColumns() / 16;
  b.loop(b.thread(), b.i32(kRows * chunks), 32 * warps, [&](I32 item) {
    I32 row = item / chunks;
    I32 column = (item % chunks) * 16;
    I32 ofSequence = rows.first + row;
    b.when(
        ofSequence < rows.count * group.value,
        [&] {
          Row from =
              q.row(indexOf(rows, ofSequence / group.value,
                            head * group.value + ofSequence % group.value));
          qTile.store(b,
                      decodeElements(b, from.element,
                                     loadElements(b, from, column, 16)),
                      row, column);
        },
        [&] { qTile.store(b, SmallVector<F32>(16, b.f32(0.0)), row, column); });
  });
}

State AttentionKernel::initialState() {
  State state;
  F32 none = b.f32(-std::numeric_limits<double>::infinity());
  for (int64_t half = 0; half < 2; ++half) {
    state.max[half] = none;
    state.sum[half] = b.f32(0.0);
  }
  Value zeros = arith::ConstantOp::create(
      b, DenseElementsAttr::get(VectorType::get({2, 2}, b.getF32Type()), 0.0f));
  state.output.assign(2 * tilesOfWarp, zeros);
  return state;
}

void AttentionKernel::computeLogits(F32 (&logits)[2][2][2]) {
  Value zeros = arith::ConstantOp::create(
      b, DenseElementsAttr::get(VectorType::get({2, 2}, b.getF32Type()), 0.0f));
  I32 token = b.warp() * kTokensOfWarp;
  SmallVector<Value> sums = b.carry(
      b.i32(0), b.i32(qTile.getColumns()), 16, ValueRange{zeros, zeros},
      [&](I32 d, ValueRange carried) {
        SmallVector<Value> next(carried);
        for (size_t qTerm = 0; qTerm < qTile.terms().size(); ++qTerm) {
          Value a = qTile.loadA(b, qTerm, d);
          for (size_t kTerm = 0; kTerm < kTile.terms().size(); ++kTerm) {
            std::array<Value, 2> keys =
                kTile.loadBByColumns(b, kTerm, token, d);
            for (int64_t n = 0; n < 2; ++n)
              next[n] = b.multiply(a, keys[n], next[n]);
          }
        }
        return next;
      });
  // The soft-cap is on the scaled logit.
  F32 factor = scale;
  if (F32 globalScale = k.loadGlobalScale())
    factor = factor * globalScale;
  double softcap = options.getSoftcapValue();
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t lane = 0; lane < 2; ++lane) {
        F32 logit = b.extractF32(sums[n], {half, lane}) * factor;
        if (softcap != 0.0)
          logit = (logit * (1.0 / softcap)).tanh() * softcap;
        logits[half][n][lane] = logit;
      }
}

void AttentionKernel::weigh(F32 (&logits)[2][2][2], State &state) {
  F32 none = b.f32(-std::numeric_limits<double>::infinity());
  for (int64_t half = 0; half < 2; ++half) {
    auto &row = logits[half];
    F32 largest = row[0][0].max(row[0][1]).max(row[1][0].max(row[1][1]));
    largest = b.groupMax(largest, 4);
    b.when(b.lane() % 4 == 0,
           [&] { maxima.store(largest, b.warp(), rowOfThread(half)); });
  }
  b.barrier();
  F32 factor[2];
  for (int64_t half = 0; half < 2; ++half) {
    F32 largest = state.max[half];
    for (int64_t warp = 0; warp < warps; ++warp)
      largest =
          largest.max(F32(b, maxima.load(b.i32(warp), rowOfThread(half))));
    // Without a key so far there is nothing to shift by.
    F32 shift = (largest == none).select(b.f32(0.0), largest);
    factor[half] = ((state.max[half] - shift) * kLog2E).exp2();
    F32 sum = b.f32(0.0);
    for (auto &pair : logits[half])
      for (F32 &logit : pair) {
        logit = ((logit - shift) * kLog2E).exp2();
        sum = sum + logit;
      }
    state.max[half] = largest;
    state.sum[half] = state.sum[half] * factor[half] + b.groupSum(sum, 4);
  }
  for (Value &value : state.output)
    value = scaleRows(value, factor);
}

Value AttentionKernel::scaleRows(Value value, const F32 (&factor)[2]) {
  SmallVector<Value> factors{factor[0], factor[0], factor[1], factor[1]};
  Value all = vector::FromElementsOp::create(
      b, VectorType::get({2, 2}, b.getF32Type()), factors);
  return arith::MulFOp::create(b, value, all);
}

void AttentionKernel::accumulate(State &state) {
  for (int64_t tile = 0; tile < tilesOfWarp; ++tile) {
    I32 column = outputColumn(tile);
    ValueRange init = ArrayRef(state.output).slice(2 * tile, 2);
    SmallVector<Value> sums =
        b.carry(b.i32(0), b.i32(tokensOfTile), 16, init,
                [&](I32 token, ValueRange carried) {
                  SmallVector<Value> next(carried);
                  std::array<Value, 2> values =
                      vTile.loadBByRows(b, 0, token, column);
                  for (size_t term = 0; term < pTile.terms().size(); ++term) {
                    Value weights = pTile.loadA(b, term, token);
                    for (int64_t n = 0; n < 2; ++n)
                      next[n] = b.multiply(weights, values[n], next[n]);
                  }
                  return next;
                });
    llvm::copy(sums, state.output.begin() + 2 * tile);
  }
}

State AttentionKernel::visitTile(QueryRows rows, I32 length,
                                 CachedTokens tokens, State state) {
  loadCachedRows(b, k, blockTable, tokens, kTile, 32 * warps);
  loadCachedRows(b, v, blockTable, tokens, vTile, 32 * warps);
  b.barrier();

  F32 logits[2][2][2];
  computeLogits(logits);
  F32 none = b.f32(-std::numeric_limits<double>::infinity());
  I32 firstToken = tokens.first + b.warp() * kTokensOfWarp + columnOfThread();
  for (int64_t half = 0; half < 2; ++half) {
    I32 query = (rows.first + rowOfThread(half)) / group.value;
    I32 position = length - rows.count + query;
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t lane = 0; lane < 2; ++lane) {
        I32 token = firstToken + (n * 8 + lane);
        Pred isSeen = (token >= tokens.begin) & (token < tokens.end);
        if (options.getCausal())
          isSeen = isSeen & (token <= position);
        if (options.hasWindowLeft())
          isSeen = isSeen & (token >= position - options.getWindowLeft());
        if (options.hasWindowRight())
          isSeen = isSeen & (token <= position + options.getWindowRight());
        F32 &logit = logits[half][n][lane];
        logit = isSeen.select(logit, none);
      }
  }
  weigh(logits, state);
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t n = 0; n < 2; ++n)
      pTile.store(b, logits[half][n], rowOfThread(half),
                  b.warp() * kTokensOfWarp + columnOfThread() + n * 8);
  b.barrier();
  accumulate(state);
  b.barrier();
  return state;
}

void AttentionKernel::finish(QueryRows rows, State state) {
  F32 none = b.f32(-std::numeric_limits<double>::infinity());
  // Where no tile was visited, the barriers of the loop were not either; the
  // sums have memory of their own.
  for (int64_t half = 0; half < 2; ++half)
    b.when(b.lane() % 4 == 0,
           [&] { sums.store(state.sum[half], b.warp(), rowOfThread(half)); });
  b.barrier();

  F32 globalScale = v.loadGlobalScale();
  SmallVector<I32> chunk;
  if (op.getKvSplit())
    chunk.push_back(b.block(gpu::Dimension::z));
  for (int64_t half = 0; half < 2; ++half) {
    I32 row = rows.first + rowOfThread(half);
    b.when(row < rows.count * group.value, [&] {
      I32 query = row / group.value;
      I32 head = b.block(gpu::Dimension::y) * group.value + row % group.value;
      SmallVector<I32> at(chunk);
      llvm::append_range(at, indexOf(rows, query, head));

      F32 largest = state.max[half], denominator = b.f32(0.0);
      for (int64_t warp = 0; warp < warps; ++warp)
        denominator =
            denominator + F32(b, sums.load(b.i32(warp), rowOfThread(half)));
      F32 factor = b.f32(1.0);
      if (sinks) {
        // A logit without a token, that counts in the first chunk.
        F32 sink = b.loadF32(sinks->element(head));
        if (op.getKvSplit())
          sink = (chunk.front() == 0).select(sink, none);
        F32 both = largest.max(sink);
        F32 shift = (both == none).select(b.f32(0.0), both);
        factor = ((largest - shift) * kLog2E).exp2();
        denominator = denominator * factor + ((sink - shift) * kLog2E).exp2();
        largest = both;
      }
      Pred isEmpty = denominator == 0.0;
      factor = isEmpty.select(b.f32(0.0), factor / denominator);
      if (globalScale)
        factor = factor * globalScale;
      F32 factors[2] = {factor, factor};
      Row to = output.row(at);
      for (int64_t tile = 0; tile < tilesOfWarp; ++tile)
        for (int64_t n = 0; n < 2; ++n) {
          I32 column = outputColumn(tile) + (columnOfThread() + n * 8);
          Pred isOutput = b.warp() + tile * warps < outputTiles;
          isOutput = isOutput & (column < v.getType().getHeadDim());
          Value scaled = scaleRows(state.output[2 * tile + n], factors);
          b.when(isOutput, [&] {
            SmallVector<F32> pair{b.extractF32(scaled, {half, 0}),
                                  b.extractF32(scaled, {half, 1})};
            storeElements(b, encodeElements(b, to.element, pair), to, column);
          });
        }
      if (!lse)
        return;
      b.when((b.warp() == 0) & (b.lane() % 4 == 0), [&] {
        F32 value = largest + denominator.log2() * kLn2;
        b.store(isEmpty.select(none, value), lse->element(at));
      });
    });
  }
}

LogicalResult kvq::kernel::emitKernel(DequantAttentionOp op, OpBuilder &host,
                                      KernelTarget target) {
  for (CacheType cache : {op.getKCache().getType(), op.getVCache().getType()})
    if (int64_t chunk = getChunk(cache.getFormat()); chunk % 8 != 0)
      return op->emitOpError()
             << "has a cache with blocks of " << chunk
             << " elements; the attention kernel takes multiples of 8";
  Products products = Products::get(op);
  int64_t warps = getWarps(op, products, target.chip);
  if (warps == 0)
    return op->emitOpError()
           << "needs " << getSharedBytes(op, products, 1)
           << " bytes of shared memory for head_dim "
           << op.getKCache().getType().getHeadDim() << " and "
           << op.getVCache().getType().getHeadDim() << ", " << target.chip.name
           << " has " << target.chip.sharedMemory << " for a block";
  for (auto [name, kind] :
       {std::pair("qk", op.getQkAttr()), std::pair("pv", op.getPvAttr())})
    if (kind && kind.getUnit() != MMAUnit::F16 &&
        kind.getUnit() != MMAUnit::BF16)
      report<RemarkId::PortableAttention>(op, name, Attribute(kind),
                                          target.chip.name);
  AttentionKernel(op, host, target, warps).emit();
  return success();
}
