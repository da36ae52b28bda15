//===- Output.cpp - The output in tensor memory ---------------------------===//
//
// What the lanes and columns of the second product's result are. Lanes are
// channels, of each group of tokens apart; a lane of a group has results that
// count in the columns of the weights of that group only.
//
//===----------------------------------------------------------------------===//

#include "DecodeKernel.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

std::pair<I32, I32> DecodeKernel::placeOf(I32 channel) {
  if (plan.pairsChannels())
    return {channel / 2, channel % 2};
  return {channel % kTileTokens, channel / kTileTokens};
}

/// Of more parts, and all terms of each, fewer rows fit the registers.
int64_t DecodeKernel::rowsOfOutputLoad() const {
  return plan.valueParts() > 1 && plan.rows > 8 ? 4 : 8;
}

/// The channels of a pair have neighbouring columns.
int64_t DecodeKernel::widthOfOutputLoad() const {
  return plan.pairsChannels() ? 2 * rowsOfOutputLoad() : rowsOfOutputLoad();
}

SmallVector<OpFoldResult> DecodeKernel::outputColumns(int64_t row) {
  SmallVector<OpFoldResult> columns;
  I32 group = b.thread() / plan.groupTokens();
  auto add = [&](I32 column) {
    columns.push_back(Value(
        arith::IndexCastUIOp::create(b, b.getIndexType(), Value(column))));
  };
  if (plan.pairsChannels()) {
    add(group * 16 + row / 8 * 16 * plan.groups());
    return columns;
  }
  for (int64_t i = 0; i < plan.channelsOfLane(); ++i)
    for (int64_t term = 0; term < plan.weightTerms; ++term)
      add(group * plan.rows +
          (i * plan.weightColumns() + term * plan.groups() * plan.rows + row));
  return columns;
}

SmallVector<F32> DecodeKernel::loadOutput(int64_t row) {
  int64_t width = widthOfOutputLoad();
  SmallVector<F32> values;
  for (OpFoldResult column : outputColumns(row)) {
    Value loaded = tcgen05::LoadOp::create(
        b, VectorType::get(width, b.getF32Type()),
        tcgen05::AccessShape::S32x32b, outputRegion, column, Value(b.warp()));
    for (int64_t i = 0; i < width; ++i)
      values.push_back(b.extractF32(loaded, i));
  }
  return values;
}

void DecodeKernel::storeOutput(int64_t row, ArrayRef<F32> values) {
  int64_t width = widthOfOutputLoad();
  auto type = VectorType::get(width, b.getF32Type());
  for (OpFoldResult column : outputColumns(row)) {
    Value vector = vector::FromElementsOp::create(
        b, type, llvm::to_vector_of<Value>(values.take_front(width)));
    values = values.drop_front(width);
    tcgen05::StoreOp::create(b, tcgen05::AccessShape::S32x32b, vector,
                             outputRegion, column, Value(b.warp()));
  }
}

/// Multiplies the rows of the output so far.
void DecodeKernel::scaleOutput(ArrayRef<F32> factors) {
  int64_t rows = rowsOfOutputLoad();
  for (int64_t row = 0; row < plan.rows; row += rows) {
    SmallVector<F32> values = loadOutput(row);
    tcgen05::WaitOp::create(b, tcgen05::WaitKind::Load);
    for (auto [i, value] : llvm::enumerate(values))
      value = value * factors[row + i % rows];
    storeOutput(row, values);
  }
  tcgen05::WaitOp::create(b, tcgen05::WaitKind::Store);
}
