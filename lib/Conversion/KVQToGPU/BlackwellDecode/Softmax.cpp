//===- Softmax.cpp - Weights of the tokens of tiles -----------------------===//
//
// Four warps; a thread has one token of the tile and all rows. The weight of a
// logit x, in powers of two, is 2^(x - shift). A row's shift need not be its
// largest logit, only close enough that weights fit their type and nothing of
// consequence vanishes. So it is looked at whether the weights of any token of
// the tile, of all rows together, exceed kMostWeight, and only then shifts are
// chosen by the largest logits, and the sums and the output that there are so
// far are rescaled. Shifts are integers, so that weights are rounded alike
// under all.
//
//===----------------------------------------------------------------------===//

#include "DecodeKernel.h"
#include "Pairs.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// f16 holds up to 2^15, E4M3 448.
static constexpr double kMostWeight = 256;

/// The exponent of the largest weight under a shift that was just chosen. f16
/// has 14 exponents below 1, E4M3 only 6 before it loses bits.
static double getFirstExponent(FloatType weightType) {
  return weightType.getIntOrFloatBitWidth() == 8 ? 6 : 0;
}

/// The shift of a row without tokens: the least number, so that any logit is
/// larger, and -infinity less it is -infinity.
static constexpr double kNoShift = -std::numeric_limits<float>::max();

/// The barrier of these warps.
static constexpr int64_t kBarrier = 1;

/// The sum of an even number of values.
static F32 addUp(KernelBuilder &b, ArrayRef<F32> values) {
  SmallVector<F32> sums(values);
  for (; sums.size() > 2 && sums.size() % 4 == 0;) {
    ArrayRef<F32> all(sums);
    size_t half = all.size() / 2;
    sums = combinePairs<arith::AddFOp>(b, all.take_front(half),
                                       all.drop_front(half));
  }
  F32 sum = sums.front();
  for (F32 other : ArrayRef(sums).drop_front())
    sum = sum + other;
  return sum;
}

/// A state as branches and loops pass it on: shifts, and sums by twos. With
/// shifts by twos, too, ptxas spills some where threads have the most to hold.
static SmallVector<Value>
packState(KernelBuilder &b, ArrayRef<F32> negatedShifts, ArrayRef<F32> sums) {
  auto values = llvm::to_vector_of<Value>(negatedShifts);
  llvm::append_range(values, packPairs(b, sums));
  return values;
}

static void unpackState(KernelBuilder &b, ValueRange values,
                        SmallVectorImpl<F32> &negatedShifts,
                        SmallVectorImpl<F32> &sums) {
  size_t rows = values.size() / 3 * 2;
  negatedShifts.clear();
  for (Value value : values.take_front(rows))
    negatedShifts.push_back({b, value});
  sums = unpackPairs(b, values.drop_front(rows));
}

DecodeKernel::RowState DecodeKernel::initialState() {
  RowState state;
  state.negatedShifts.assign(plan.rows, b.f32(-kNoShift));
  state.sums.assign(plan.rows, b.f32(0.0));
  return state;
}

//===----------------------------------------------------------------------===//
// Logits
//===----------------------------------------------------------------------===//

/// Loads scores, the sums of those of all terms.
SmallVector<F32> DecodeKernel::loadScores(I32 tile) {
  scored.wait(tile);
  tcgen05::FenceOp::create(b, tcgen05::FenceKind::After);
  Value region = bufferOf(scoreRegion, tile);
  int64_t columns = plan.rows * plan.terms;
  SmallVector<F32> scores;
  while (int64_t(scores.size()) < columns) {
    int64_t at = scores.size();
    int64_t width = llvm::bit_floor(uint64_t(columns - at));
    Value loaded = tcgen05::LoadOp::create(
        b, VectorType::get(width, b.getF32Type()),
        tcgen05::AccessShape::S32x32b, region, OpFoldResult(b.getIndexAttr(at)),
        Value(b.warp()));
    for (int64_t i = 0; i < width; ++i)
      scores.push_back(b.extractF32(loaded, i));
  }
  tcgen05::WaitOp::create(b, tcgen05::WaitKind::Load);

  SmallVector<F32> sums(ArrayRef(scores).take_front(plan.rows));
  for (int64_t term = 1; term < plan.terms; ++term)
    sums = combinePairs<arith::AddFOp>(
        b, sums, ArrayRef(scores).slice(term * plan.rows, plan.rows));
  return sums;
}

SmallVector<F32> DecodeKernel::scaleScores(ArrayRef<F32> scores,
                                           ArrayRef<F32> factors) {
  SmallVector<F32> logits = combinePairs<arith::MulFOp>(b, scores, factors);
  if (double softcap = options.getSoftcapValue())
    for (F32 &logit : logits)
      logit = (logit * (1.0 / softcap)).tanh() * (softcap * kLog2E);
  return logits;
}

SmallVector<F32> DecodeKernel::subtractShifts(ArrayRef<F32> scores,
                                              ArrayRef<F32> factors,
                                              const RowState &state) {
  if (options.getSoftcapValue() != 0.0)
    return combinePairs<arith::AddFOp>(b, scaleScores(scores, factors),
                                       ArrayRef(state.negatedShifts));
  return combinePairs<LLVM::FMAOp>(b, scores, factors,
                                   ArrayRef(state.negatedShifts));
}

/// Makes logits of tokens that rows do not see -infinity.
void DecodeKernel::maskLogits(Work work, I32 tile,
                              SmallVectorImpl<F32> &logits) {
  const TokenRange &tokens = work.tokens;
  I32 allBegin = tokens.begin, allEnd = tokens.end;
  if (options.getCausal())
    allEnd = allEnd.min(tokens.firstPosition + 1);
  if (options.hasWindowRight())
    allEnd = allEnd.min(tokens.firstPosition + (options.getWindowRight() + 1));
  if (options.hasWindowLeft())
    allBegin = allBegin.max(tokens.lastPosition - options.getWindowLeft());
  I32 first = work.first + tile * kTileTokens;
  Pred isSeenByAll = (first >= allBegin) & (first + kTileTokens <= allEnd);
  auto keep = [&] { return llvm::to_vector_of<Value>(logits); };
  auto mask = [&] {
    F32 none = b.f32(-std::numeric_limits<double>::infinity());
    I32 token = first + b.thread();
    // Few tiles come here, but the bounds of all rows would be kept for them.
    I32 firstRow = b.computeAnew(work.rows.first);
    Pred isThere = (token >= tokens.begin) & (token < tokens.end);
    SmallVector<Value> masked;
    for (auto [row, logit] : llvm::enumerate(logits)) {
      I32 query = (firstRow + int64_t(row)) / group.value;
      I32 position = tokens.length - work.rows.count + query;
      Pred isSeen = isThere;
      if (Pred byOptions = sees(position, token))
        isSeen = isSeen & byOptions;
      masked.push_back(isSeen.select(logit, none));
    }
    return masked;
  };
  SmallVector<Value> kept =
      b.choose(isSeenByAll, SmallVector<Type>(logits.size(), b.getF32Type()),
               keep, mask);
  for (auto [logit, value] : llvm::zip_equal(logits, kept))
    logit = {b, value};
}

//===----------------------------------------------------------------------===//
// Shifts
//===----------------------------------------------------------------------===//

/// Chooses the shifts by the largest logits so far.
void DecodeKernel::raiseShifts(I32 tile, ArrayRef<F32> logits,
                               RowState &state) {
  Ptr maxima = shared(plan.shared.maxima);
  for (auto [row, logit] : llvm::enumerate(logits)) {
    Value largest =
        NVVM::ReduxOp::create(b, b.getF32Type(), Value(logit),
                              NVVM::ReduxKind::FMAX, Value(b.i32(-1)));
    b.when(b.lane() == 0, [&] {
      b.store(largest,
              maxima + (b.warp() * (plan.rows * 4) + int64_t(4 * row)));
    });
  }
  syncThreads(b, kBarrier, kSoftmaxThreads);
  SmallVector<F32> factors;
  for (int64_t row = 0; row < plan.rows; ++row) {
    F32 largest = b.loadF32(maxima + 4 * row);
    for (int64_t warp = 1; warp < 4; ++warp)
      largest = largest.max(b.loadF32(maxima + 4 * (warp * plan.rows + row)));
    F32 before = state.negatedShifts[row] * -1.0;
    F32 shift = before.max(largest.ceil() - getFirstExponent(plan.weightType));
    F32 factor = (before - shift).exp2();
    state.negatedShifts[row] = shift * -1.0;
    state.sums[row] = state.sums[row] * factor;
    factors.push_back(factor);
  }
  b.when(tile > 0, [&] {
    // Where scores come behind it, who has those need not wait for the output.
    if (!plan.isOutputFirst()) {
      accumulated.wait(unitOf(tile - 1, plan.valueParts() - 1));
      tcgen05::FenceOp::create(b, tcgen05::FenceKind::After);
    }
    scaleOutput(factors);
  });
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Stores the weights of the thread's token as rows 2t and 2t + 1 of the
/// contraction, in the columns of the token's group that have the same parity.
void DecodeKernel::storeWeights(I32 tile, ArrayRef<F32> weights) {
  if (!plan.pairsChannels())
    return storeDirectWeights(tile, weights);
  SmallVector<I32> words;
  for (size_t row = 0; row < weights.size(); row += 2)
    words.push_back(
        b.asBits(b.roundPair(weights[row], weights[row + 1], plan.weightType)));
  // MN-major without a swizzle: 16 bytes are eight rows of one k, 128 bytes
  // eight k.
  int64_t stride = plan.weightDepth() * 16;
  I32 group = b.thread() / plan.groupTokens();
  I32 token = b.thread() % plan.groupTokens();
  Ptr to = shared(plan.shared.weights) +
           weighted.buffer(tile) * plan.shared.weightBytes;
  // Lanes that would meet in a bank begin with different parities.
  I32 parity = (token / 4) % 2;
  for (int64_t turn = 0; turn < 2; ++turn) {
    I32 at =
        group * (2 * stride) + token * 32 + (parity ^ turn) * (stride + 16);
    for (int64_t row = 0; row < plan.rows; row += 8)
      b.storeWords(ArrayRef(words).slice(row / 2, 4),
                   to + at + row / 8 * 2 * plan.groups() * stride);
  }
}

DecodeKernel::RowState DecodeKernel::weighTile(Work work, I32 tile,
                                               ArrayRef<F32> factors,
                                               RowState state) {
  SmallVector<F32> scores = loadScores(tile);
  auto weigh = [&](const RowState &state) {
    SmallVector<F32> weights = subtractShifts(scores, factors, state);
    maskLogits(work, tile, weights);
    for (F32 &weight : weights)
      weight = weight.exp2();
    return weights;
  };
  SmallVector<F32> weights = weigh(state);
  // Sums take fewer instructions of the pipe that is the busiest, but of many
  // weights as large as those in E4M3 are they exceed the bound.
  F32 most = weights.front();
  if (plan.weightBits() == 8)
    for (F32 weight : weights)
      most = most.max(weight);
  else
    most = addUp(b, weights);
  // Not <= holds of NaN.
  Pred isAbove = anyOfThreads(b, kBarrier, kSoftmaxThreads,
                              (most <= kMostWeight).negate());
  auto pack = [&](const RowState &state, ArrayRef<F32> weights) {
    SmallVector<Value> values = packState(b, state.negatedShifts, state.sums);
    llvm::append_range(values, packPairs(b, weights));
    return values;
  };
  auto raise = [&] {
    SmallVector<F32> logits = scaleScores(scores, factors);
    maskLogits(work, tile, logits);
    RowState raised = state;
    raiseShifts(tile, logits, raised);
    return pack(raised, weigh(raised));
  };
  SmallVector<Value> kept = pack(state, weights);
  SmallVector<Value> chosen = b.choose(isAbove, TypeRange(ValueRange(kept)),
                                       raise, [&] { return kept; });
  ValueRange values(chosen);
  int64_t pairs = plan.rows / 2;
  unpackState(b, values.drop_back(pairs), state.negatedShifts, state.sums);
  weights = unpackPairs(b, values.take_back(pairs));
  state.sums = combinePairs<arith::AddFOp>(b, state.sums, ArrayRef(weights));
  storeWeights(tile, weights);
  tcgen05::FenceOp::create(b, tcgen05::FenceKind::Before);
  fenceForAsyncProxy(b);
  weighted.arrive(tile);
  return state;
}

void DecodeKernel::weighAndFinish(Work work) {
  // Exponents are of two; a soft-cap is on the logit as it is.
  bool isCapped = options.getSoftcapValue() != 0.0;
  SmallVector<F32> factors;
  for (int64_t row = 0; row < plan.rows; ++row) {
    F32 factor = b.loadF32(shared(plan.shared.rowFactors) + 4 * row);
    factors.push_back(isCapped ? factor : factor * kLog2E);
  }
  auto pack = [&](const RowState &state) {
    return packState(b, state.negatedShifts, state.sums);
  };
  auto unpack = [&](ValueRange values) {
    RowState state;
    unpackState(b, values, state.negatedShifts, state.sums);
    return state;
  };
  // All buffers in turn, so that a tile's buffer is a constant.
  auto visitTiles = [&](I32 tile, ValueRange values) {
    SmallVector<Value> after =
        pack(weighTile(work, tile, factors, unpack(values)));
    if (plan.buffers() == 1)
      return after;
    static_assert(kBuffers == 2);
    auto visitNext = [&] {
      return pack(weighTile(work, tile + 1, factors, unpack(after)));
    };
    return b.choose(tile + 1 < work.count, TypeRange(ValueRange(after)),
                    visitNext, [&] { return after; });
  };
  RowState state = unpack(b.carry(b.i32(0), work.count, plan.buffers(),
                                  pack(initialState()), visitTiles));
  finish(work, state);
}
