//===- Queries.cpp - Queries as sums of terms of the keys' format ---------===//
//
// Both operands of the scores have one type, and of a block-scaled product both
// have block scales, so queries are quantized to the keys' format: a term, then
// the residual of it, and so on. Terms are further rows of the operand, and the
// scores their sums.
//
// A row is scaled by a power of two first, so that its largest magnitude is in
// the upper part of what the format has, far from the smallest: in [1024, 2048)
// where E4M3 scales of E2M1 then are close to the largest, and for 16 bits, and
// in [128, 256) in E4M3.
//
//===----------------------------------------------------------------------===//

#include "DecodeKernel.h"
#include <limits>

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

namespace {
/// A block of a row as the product reads it.
struct QuantizedBlock {
  SmallVector<I32> words;
  /// Empty without block scales.
  I32 scale;
  /// What it stands for.
  SmallVector<F32> values;
};
} // namespace

/// Quantizes a block to E2M1. An E4M3 scale is a sixth of the largest
/// magnitude, rounded; an E8M0 one its power of two less that of 4, E2M1's
/// largest.
static QuantizedBlock quantize(KernelBuilder &b, FloatType scaleType,
                               ArrayRef<F32> values) {
  I32 largest = b.i32(0);
  for (F32 value : values)
    largest = largest.max(value.bits() & 0x7fffffff);
  QuantizedBlock block;
  if (isa<Float8E8M0FNUType>(scaleType))
    block.scale = ((largest >> 23) - 2).max(0);
  else
    block.scale = encodeE4M3(b, largest.asF32() / 6.0);
  F32 scale = decodeScale(b, scaleType, block.scale);
  // Under a scale of zero every element is zero.
  Pred isZero = scale == 0.0;
  SmallVector<F32> quotients;
  for (F32 value : values)
    quotients.push_back(isZero.select(b.f32(0.0), value / scale));
  auto element = b.getType<Float4E2M1FNType>();
  block.words = encodeElements(b, element, quotients);
  for (F32 value : decodeElements(b, element, block.words))
    block.values.push_back(value * scale);
  return block;
}

/// Rounds a block to elements without a scale.
static QuantizedBlock round(KernelBuilder &b, FloatType element,
                            ArrayRef<F32> values) {
  QuantizedBlock block;
  block.words = encodeElements(b, element, values);
  block.values = decodeElements(b, element, block.words);
  return block;
}

/// Stores a block of quantized values of row `n`, and its scale. The tile is
/// K-major without a swizzle: pieces of 16 bytes in groups of 8 rows.
static void storeBlock(KernelBuilder &b, const DecodePlan &plan, Ptr tile,
                       Ptr scales, const QuantizedBlock &stored, I32 n,
                       I32 block) {
  int64_t panel = plan.scoreColumns() * 16;
  ArrayRef<I32> words = stored.words;
  int64_t bytes = 4 * words.size();
  for (int64_t at = 0; at < bytes; at += 16) {
    I32 byte = block * bytes + at;
    b.storeWords(words.slice(at / 4, std::min<int64_t>(bytes, 16) / 4),
                 tile + (n * 16 + (byte / 16) * panel + byte % 16));
  }
  if (!stored.scale)
    return;
  // The order of the tensor cores, see `kvq_tcgen05.scale_tile`.
  b.storeBits(
      stored.scale,
      scales + ((block / 4) * 512 + (n % 32) * 16 + (n / 32) * 4 + block % 4),
      8);
}

void DecodeKernel::splitQueries(QueryRows rows) {
  int64_t size = plan.k.scales() ? plan.k.blockSize : 16;
  int64_t blocks = plan.k.headDim / size;
  FloatType element = k.getFormat().getElementType();
  // The exponent of the largest magnitude of a row.
  int64_t target =
      plan.keys == KeyRoute::Direct && plan.k.elementBits == 8 ? 7 : 10;
  F32 factor = loadLogitFactor();
  // Of whole warps, in which a row's blocks are neighbours, all lanes take
  // part.
  int64_t items = plan.rows * blocks, lanes = llvm::alignTo(items, 32);
  b.loop(b.thread(), b.i32(lanes), threads(), [&](I32 item) {
    I32 row = item / blocks, block = item % blocks;
    auto zeros = [&] { return SmallVector<Value>(size, b.f32(0.0)); };
    auto loadRow = [&] {
      Row from = q.row(queryIndexOf(rows, row));
      SmallVector<F32> loaded = decodeElements(
          b, from.element, loadElements(b, from, block * size, size));
      return llvm::to_vector_of<Value>(loaded);
    };
    SmallVector<F32> values;
    for (Value value :
         b.choose(isRow(rows, row), SmallVector<Type>(size, b.getF32Type()),
                  loadRow, zeros))
      values.push_back({b, value});

    I32 largest = b.i32(0);
    for (F32 value : values)
      largest = largest.max(value.bits() & 0x7fffffff);
    for (int64_t mask = 1; mask < blocks; mask *= 2)
      largest = largest.max(b.shuffleXor(largest, mask));
    // The exponents of the largest magnitude and of the factor's inverse. A row
    // of subnormals is scaled as one of the smallest normal numbers.
    I32 exponent = (largest >> 23).max(11).min(254);
    F32 shift = ((b.i32(127 + target + 127) - exponent) << 23).asF32();
    F32 unshift = ((exponent - target) << 23).asF32();
    // A row with NaN or infinity has no numbers as its logits.
    F32 rowFactor = (largest >= 0x7f800000)
                        .select(b.f32(std::numeric_limits<double>::quiet_NaN()),
                                factor * unshift);
    auto split = [&] {
      b.when(block == 0, [&] {
        b.store(rowFactor, shared(plan.shared.rowFactors) + row * 4);
      });
      for (F32 &value : values)
        value = value * shift;
      for (int64_t term = 0; term < plan.terms; ++term) {
        QuantizedBlock stored =
            plan.keys == KeyRoute::BlockScaled
                ? quantize(b, k.getFormat().getScaleType(), values)
                : round(b, element, values);
        storeBlock(b, plan, shared(plan.shared.queries),
                   shared(plan.shared.queryScales), stored,
                   row + term * plan.rows, block);
        if (term + 1 == plan.terms)
          break;
        for (auto [value, stand] : llvm::zip_equal(values, stored.values))
          value = value - stand;
      }
    };
    if (lanes == items)
      split();
    else
      b.when(item < items, split);
  });
}
