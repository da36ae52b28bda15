//===- DirectValues.cpp - Values multiplied as they lie -------------------===//
//
// Rows of V in shared memory are the first operand of O^T = V^T P^T, which lies
// along M: a panel of the rows is as many channels of all tokens.
//
// The product has 128 rows. With 256 channels there are two products, whose
// results lie side by side; with 64 the rows are the channels of two groups of
// tokens, and weights of the other group give columns of the output that are
// ignored.
//
//===----------------------------------------------------------------------===//

#include "../PackedConversions.h"
#include "DecodeKernel.h"
#include "Pairs.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

void DecodeKernel::multiplyValues(I32 tile, Value weights) {
  MLIRContext *context = b.getContext();
  // What follows the first panel along M: the next one, or the next group.
  int64_t leading = plan.groups() > 1 ? plan.groupTokens() * plan.v.panelBytes()
                                      : plan.v.panelSize();
  auto type = tcgen05::TileType::get(
      context, kTileTokens, plan.weightDepth(), plan.weightType,
      tcgen05::LayoutAttr::get(context, tcgen05::Major::MN, getSwizzle(plan.v),
                               /*padded=*/false, leading,
                               /*stride=*/8 * plan.v.panelBytes()));
  auto region = cast<tcgen05::TMemType>(outputRegion.getType());
  for (int64_t part = 0; part < plan.channelsOfLane(); ++part) {
    Ptr at = stage(tile) + plan.shared.v +
             part * (plan.v.bytes() / plan.channelsOfLane());
    Value output = tcgen05::SliceOp::create(
        b, region.withColumns(plan.weightColumns()), outputRegion,
        OpFoldResult(b.getIndexAttr(part * plan.weightColumns())));
    tcgen05::MMAOp::create(b, getOutputKind(), makeTile(type, at), weights,
                           output, Value(tile > 0));
  }
}

/// Words of 16-bit weights: of one term after the other. Of more terms none is
/// rounded, which takes fewer instructions.
static SmallVector<I32> splitWeights(KernelBuilder &b, ArrayRef<F32> weights,
                                     int64_t terms, FloatType type) {
  SmallVector<I32> words;
  if (terms == 1) {
    for (size_t row = 0; row < weights.size(); row += 2)
      words.push_back(
          b.asBits(b.roundPair(weights[row], weights[row + 1], type)));
    return words;
  }
  assert(type.isBF16() && "half of an f32");
  SmallVector<F32> rest(weights);
  for (int64_t term = 0; term < terms; ++term) {
    SmallVector<F32> cut;
    for (size_t row = 0; row < weights.size(); row += 2) {
      I32 word = joinUpperHalves(b, rest[row].bits(), rest[row + 1].bits());
      words.push_back(word);
      cut.push_back((word << 16).asF32());
      cut.push_back((word & int64_t(0xffff0000)).asF32());
    }
    if (term + 1 < terms)
      rest = combinePairs<arith::SubFOp>(b, rest, ArrayRef(cut));
  }
  return words;
}

/// Stores the weights of the thread's token, of all rows side by side, as row
/// `token of the group` of the contraction. Columns are those of the groups one
/// after the other, of each term in turn.
void DecodeKernel::storeDirectWeights(I32 tile, ArrayRef<F32> weights) {
  SmallVector<I32> words;
  if (plan.weightBits() == 8)
    for (size_t row = 0; row < weights.size(); row += 4)
      words.push_back(packE4M3(b, weights.slice(row, 4)));
  else
    words = splitWeights(b, weights, plan.weightTerms, plan.weightType);
  // MN-major without a swizzle: pieces of 16 bytes, eight tokens of which are
  // 128 bytes.
  int64_t stride = plan.weightDepth() * 16;
  int64_t bytes = 4 * words.size() / plan.weightTerms;
  I32 group = b.thread() / plan.groupTokens();
  I32 token = b.thread() % plan.groupTokens();
  Ptr to = shared(plan.shared.weights) +
           weighted.buffer(tile) * plan.shared.weightBytes + token * 16;
  for (int64_t term = 0; term < plan.weightTerms; ++term)
    for (int64_t at = 0; at < bytes; at += 16) {
      int64_t size = std::min<int64_t>(bytes, 16);
      I32 first = group * bytes + (term * plan.groups() * bytes + at);
      b.storeWords(ArrayRef(words).slice((term * bytes + at) / 4, size / 4),
                   to + ((first / 16) * stride + first % 16));
    }
}
