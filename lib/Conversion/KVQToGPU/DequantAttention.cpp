//===- DequantAttention.cpp - The portable kernel of attention ------------===//
//
// A block computes 16 query rows of one KV head of a sequence, over one chunk
// of its tokens. The rows are the sequence's queries times the heads that share
// the KV head, so that they read each cached token once. The block goes through
// the tokens in tiles: while the bytes of the next tile are copied to shared
// memory, all warps decode the keys to operands, each warp computes the logits
// of 16 tokens, all decode the values in place of the keys, and each warp
// accumulates its share of the output's columns over all tokens of the tile,
// under a running maximum of the logits that the warps agree on.
//
// A product of a weight 0 and a value that is NaN or infinite is NaN, so that
// such a value reaches rows that do not see its token. Where that may be and a
// result is not finite, the block goes through the tokens again and leaves out
// the products that are not seen.
//
//===----------------------------------------------------------------------===//

#include "AttentionArguments.h"
#include "AttentionProducts.h"
#include "StoredTile.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

static constexpr int64_t kRows = kQueryRowsOfBlock;

/// Whether a thread decodes 16 elements of one scale at a time.
static bool decodesFew(KVFormatInterface format) {
  return getChunk(format) <= 16 &&
         (!format.hasBlockScale() ||
          format.getBlockAxis() == BlockAxis::HeadDim);
}

/// Warps on a multiprocessor that registers are to suffice for, if shared
/// memory does: 12 with 168 for a thread, or 8 with 255 where it has more than
/// 32 sums of the output.
static int64_t getWarpsOfProcessor(int64_t tilesOfWarp) {
  return tilesOfWarp > 4 ? 8 : 12;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {

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
class AttentionKernel : AttentionArguments {
public:
  AttentionKernel(DequantAttentionOp op, OpBuilder &host, KernelTarget target,
                  BlockSize size);

  void emit();

private:
  void computeRows(QueryRows rows, TokenRange range);
  void loadQueries(QueryRows rows);
  State initialState();
  State visitTiles(QueryRows rows, TokenRange range, I32 end, Pred isSecond,
                   State state);
  /// Computes with a tile, and copies the next ones.
  State visitTile(QueryRows rows, I32 length, CachedTokens tokens,
                  Pred isSecond, State state);
  /// Makes a tile the next one to visit.
  void prepareTile(CachedTokens tokens);
  /// Begins the copies of a tile of K or V, if there is the tile. They are done
  /// in the order in which they began.
  void copyTile(const StoredTile &stored, CachedTokens tokens);
  I32 loadPages(CachedTokens tokens) {
    return pages.load(tokens, k.pages().min(v.pages()));
  }
  /// Whether rows of a block may differ in the tokens that they see.
  bool canRowsDiffer();
  /// Whether a result of some thread of the block is not finite.
  Pred isAnyNotFinite(const State &state);
  /// The logits of the thread: by row half, operand tile and lane of the pair.
  void computeLogits(F32 (&logits)[2][2][2]);
  /// Turns logits into weights, with the largest logit of the row in the state
  /// and the sums that it had rescaled. Passes a barrier.
  void weigh(F32 (&logits)[2][2][2], State &state);
  void accumulate(State &state);
  /// accumulate() by products of one weight and one value each, of those that
  /// the row sees.
  void accumulateSeen(QueryRows rows, I32 length, CachedTokens tokens,
                      State &state);
  Pred isSeen(QueryRows rows, I32 length, CachedTokens tokens, I32 row,
              I32 token);
  /// A 16-bit operand as f32.
  F32 widen(Value operand) {
    return {b, arith::ExtFOp::create(b, b.getF32Type(), operand)};
  }
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

  Products products;
  int64_t warps, buffers, blocks, tokensOfTile, outputTiles, tilesOfWarp;
  OperandTile qTile;
  /// Where K's operands of a tile are, and then V's.
  int64_t operands;
  OperandTile kTile, vTile, pTile;
  SharedTile maxima, sums;
  TilePages pages;
  StoredTile kStored, vStored;
};

} // namespace

/// A tile with shared memory of its own.
static OperandTile allocateTile(KernelBuilder &b, int64_t rows, int64_t columns,
                                FloatType unit, int64_t terms) {
  int64_t bytes = OperandTile::getBytes(rows, columns, terms);
  return {b, b.allocateShared(bytes), rows, columns, unit, terms};
}

AttentionKernel::AttentionKernel(DequantAttentionOp op, OpBuilder &host,
                                 KernelTarget target, BlockSize size)
    : AttentionArguments(op, host, target,
                         getAttentionName(op, "dequant_attention"), kRows),
      products(Products::get(op)), warps(size.warps), buffers(size.buffers),
      blocks(size.blocks), tokensOfTile(size.tokensOfTile()),
      outputTiles(llvm::divideCeil(v.getType().getHeadDim(), 16)),
      tilesOfWarp(llvm::divideCeil(outputTiles, warps)),
      qTile(allocateTile(b, kRows, k.getType().getHeadDim(), products.qk,
                         products.qTerms)),
      operands(b.allocateShared(getOperandBytes(op, products, size))),
      kTile(b, operands, tokensOfTile, k.getType().getHeadDim(), products.qk,
            products.kTerms),
      vTile(b, operands, tokensOfTile, v.getType().getHeadDim(), products.pv,
            1),
      pTile(allocateTile(b, kRows, tokensOfTile, products.pv, products.pTerms)),
      maxima(b.shared(warps, kRows, b.getF32Type())),
      sums(b.shared(warps, kRows, b.getF32Type())),
      pages(b, blockTable, tokensOfTile),
      kStored(b, k, pages, tokensOfTile, buffers, 32 * warps),
      vStored(b, v, pages, tokensOfTile, buffers, 32 * warps) {
  assert(b.getSharedBytes() == kvq::kernel::getSharedBytes(op, products, size));
}

void AttentionKernel::emit() {
  whenWork([&](QueryRows rows, TokenRange range) { computeRows(rows, range); });
  // Where a thread decodes more at a time, or keys to two terms, or accumulates
  // for more than 256 channels, ptxas spills with any number that it is given,
  // 255 included.
  if (decodesFew(k.getFormat()) && decodesFew(v.getFormat()) &&
      products.kTerms == 1 && v.getType().getHeadDim() <= 256)
    kernel.setBlocksPerProcessor(
        std::min(getWarpsOfProcessor(tilesOfWarp) / warps, blocks));
  launch(32 * warps);
}

void AttentionKernel::computeRows(QueryRows rows, TokenRange range) {
  loadQueries(rows);
  if (!canRowsDiffer())
    return finish(rows, visitTiles(rows, range, range.end, b.pred(false),
                                   initialState()));
  State none = initialState();
  SmallVector<Value> first = none.pack();
  first.push_back(b.pred(true));
  SmallVector<Value> last =
      b.carry(b.i32(0), b.i32(2), 1, first, [&](I32 pass, ValueRange values) {
        Pred isNeeded(b, values.back()), isSecond = pass == 1;
        State state = State::unpack(b, values.drop_back());
        SmallVector<Value> begin;
        for (auto [empty, value] : llvm::zip_equal(none.pack(), state.pack()))
          begin.push_back(arith::SelectOp::create(b, isNeeded, empty, value));
        I32 end = isNeeded.select(range.end, b.i32(0));
        state = visitTiles(rows, range, end, isSecond, State::unpack(b, begin));
        SmallVector<Value> next = state.pack();
        next.push_back(isAnyNotFinite(state));
        return next;
      });
  last.pop_back();
  finish(rows, State::unpack(b, last));
}

State AttentionKernel::visitTiles(QueryRows rows, TokenRange range, I32 end,
                                  Pred isSecond, State state) {
  // Tiles begin at multiples of their size, wherever the window begins.
  I32 from = range.begin - range.begin % tokensOfTile;
  CachedTokens tokens{rows.sequence, b.block(gpu::Dimension::y), from,
                      range.begin, range.end};
  b.when(from < end, [&] { prepareTile(tokens); });
  SmallVector<Value> last = b.carry(
      from, end, tokensOfTile, state.pack(), [&](I32 first, ValueRange values) {
        State state = State::unpack(b, values);
        return visitTile(rows, range.length, tokens.at(first), isSecond, state)
            .pack();
      });
  return State::unpack(b, last);
}

bool AttentionKernel::canRowsDiffer() {
  bool isOneQuery =
      !isRagged && cast<ShapedType>(op.getQ().getType()).getDimSize(1) == 1;
  return !isOneQuery && bool(sees(b.i32(0), b.i32(0)));
}

Pred AttentionKernel::isAnyNotFinite(const State &state) {
  // A sum of zeros but for what is not finite.
  F32 sum = b.f32(0.0);
  for (Value value : state.output)
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t lane = 0; lane < 2; ++lane)
        sum = sum + b.extractF32(value, {half, lane}) * 0.0;
  F32 bad = b.groupMax(sum.isNaN().select(b.f32(1.0), b.f32(0.0)), 32);
  b.when(b.lane() == 0, [&] { maxima.store(bad, b.warp(), b.i32(0)); });
  b.barrier();
  for (int64_t warp = 0; warp < warps; ++warp)
    bad = bad.max(F32(b, maxima.load(b.i32(warp), b.i32(0))));
  b.barrier();
  return bad > 0.0;
}

/// The queries of the block in shared memory; rows past the last one are zeros.
void AttentionKernel::loadQueries(QueryRows rows) {
  int64_t chunks = qTile.getColumns() / 16;
  b.loop(b.thread(), b.i32(kRows * chunks), 32 * warps, [&](I32 item) {
    I32 row = item / chunks;
    I32 column = (item % chunks) * 16;
    b.when(
        isRow(rows, row),
        [&] {
          Row from = q.row(queryIndexOf(rows, row));
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
  F32 factor = loadLogitFactor();
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

void AttentionKernel::accumulateSeen(QueryRows rows, I32 length,
                                     CachedTokens tokens, State &state) {
  state.output = b.carry(
      b.i32(0), b.i32(tokensOfTile), 1, state.output,
      [&](I32 token, ValueRange carried) {
        F32 weights[2];
        Pred seen[2];
        for (int64_t half = 0; half < 2; ++half) {
          I32 row = rowOfThread(half);
          seen[half] = isSeen(rows, length, tokens, row, tokens.first + token);
          weights[half] = b.f32(0.0);
          for (const SharedTile &term : pTile.terms())
            weights[half] = weights[half] + widen(term.load(row, token));
        }
        SmallVector<Value> next;
        for (auto [i, sums] : llvm::enumerate(carried)) {
          I32 column = outputColumn(i / 2) + (columnOfThread() + i % 2 * 8);
          SmallVector<Value> results;
          for (int64_t half = 0; half < 2; ++half)
            for (int64_t lane = 0; lane < 2; ++lane) {
              F32 value = widen(vTile.terms()[0].load(token, column + lane));
              F32 sum = b.extractF32(sums, {half, lane});
              results.push_back(
                  seen[half].select(weights[half].fma(value, sum), sum));
            }
          next.push_back(
              vector::FromElementsOp::create(b, sums.getType(), results));
        }
        return next;
      });
}

Pred AttentionKernel::isSeen(QueryRows rows, I32 length, CachedTokens tokens,
                             I32 row, I32 token) {
  I32 query = (rows.first + row) / group.value;
  Pred isSeen = (token >= tokens.begin) & (token < tokens.end);
  if (Pred byOptions = sees(length - rows.count + query, token))
    isSeen = isSeen & byOptions;
  return isSeen;
}

void AttentionKernel::copyTile(const StoredTile &stored, CachedTokens tokens) {
  b.when(tokens.first < tokens.end, [&] { stored.copy(tokens); });
  b.commitCopies();
}

void AttentionKernel::prepareTile(CachedTokens tokens) {
  b.loop(b.i32(0), b.i32(2 * tokensOfTile), tokensOfTile, [&](I32 tile) {
    CachedTokens at = tokens.at(tokens.first + tile);
    pages.store(at, loadPages(at));
  });
  b.barrier();
  copyTile(kStored, tokens);
  copyTile(vStored, tokens);
  b.waitCopies(1);
  b.barrier();
}

State AttentionKernel::visitTile(QueryRows rows, I32 length,
                                 CachedTokens tokens, Pred isSecond,
                                 State state) {
  // The keys of this tile are there and the copies of its values have begun.
  CachedTokens next = tokens.at(tokens.first + tokensOfTile);
  CachedTokens second = tokens.at(tokens.first + 2 * tokensOfTile);
  I32 secondPage = loadPages(second);
  if (buffers == 2) {
    copyTile(kStored, next);
    copyTile(vStored, next);
  }
  kStored.decode(tokens, kTile);
  b.barrier();
  if (buffers == 1)
    copyTile(kStored, next);

  F32 logits[2][2][2];
  computeLogits(logits);
  F32 none = b.f32(-std::numeric_limits<double>::infinity());
  I32 firstToken = tokens.first + b.warp() * kTokensOfWarp + columnOfThread();
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t lane = 0; lane < 2; ++lane) {
        F32 &logit = logits[half][n][lane];
        logit = isSeen(rows, length, tokens, rowOfThread(half),
                       firstToken + (n * 8 + lane))
                    .select(logit, none);
      }
  // All but the copies of the next tile.
  b.waitCopies(buffers);
  weigh(logits, state);
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t n = 0; n < 2; ++n)
      pTile.store(b, logits[half][n], rowOfThread(half),
                  b.warp() * kTokensOfWarp + columnOfThread() + n * 8);
  vStored.decode(tokens, vTile);
  b.barrier();
  if (buffers == 1)
    copyTile(vStored, next);
  pages.store(second, secondPage);

  SmallVector<Type> types(state.output.size(), state.output[0].getType());
  state.output = b.choose(
      isSecond, types,
      [&] {
        State seen = state;
        accumulateSeen(rows, length, tokens, seen);
        return seen.output;
      },
      [&] {
        State all = state;
        accumulate(all);
        return all.output;
      });
  b.waitCopies(1);
  b.barrier();
  return state;
}

void AttentionKernel::finish(QueryRows rows, State state) {
  // Where no tile was visited, the barriers of the loop were not either; the
  // sums have memory of their own.
  for (int64_t half = 0; half < 2; ++half)
    b.when(b.lane() % 4 == 0,
           [&] { sums.store(state.sum[half], b.warp(), rowOfThread(half)); });
  b.barrier();

  for (int64_t half = 0; half < 2; ++half) {
    I32 row = rowOfThread(half);
    b.when(isRow(rows, row), [&] {
      F32 denominator = b.f32(0.0);
      for (int64_t warp = 0; warp < warps; ++warp)
        denominator = denominator + F32(b, sums.load(b.i32(warp), row));
      RowEnd end = endRow(state.max[half], denominator, queryHeadOf(rows, row));
      SmallVector<I32> at = outputIndexOf(rows, row);
      F32 factors[2] = {end.factor, end.factor};
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
      if (lse)
        b.when((b.warp() == 0) & (b.lane() % 4 == 0),
               [&] { b.store(end.lse, lse->element(at)); });
    });
  }
}

LogicalResult kvq::kernel::emitPortableAttention(DequantAttentionOp op,
                                                 OpBuilder &host,
                                                 KernelTarget target) {
  for (CacheType cache : {op.getKCache().getType(), op.getVCache().getType()})
    if (int64_t chunk = getChunk(cache.getFormat()); chunk % 8 != 0)
      return op->emitOpError()
             << "has a cache with blocks of " << chunk
             << " elements; the attention kernel takes multiples of 8";
  Products products = Products::get(op);
  std::optional<BlockSize> size = BlockSize::get(op, products, target.chip);
  if (!size)
    return op->emitOpError()
           << "needs " << getSharedBytes(op, products, {1, 1})
           << " bytes of shared memory for head_dim "
           << op.getKCache().getType().getHeadDim() << " and "
           << op.getVCache().getType().getHeadDim() << ", " << target.chip.name
           << " has " << target.chip.sharedMemory << " for a block";
  AttentionKernel(op, host, target, *size).emit();
  return success();
}
