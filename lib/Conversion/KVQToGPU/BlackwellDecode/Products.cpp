//===- Products.cpp - Issues the products of tiles ------------------------===//
//
// A warp waits, and one of its threads issues everything. The scores of the
// next tile come before the output of this one, so that the softmax never waits
// for both, but where that would keep both of two stages.
//
//===----------------------------------------------------------------------===//

#include "DecodeKernel.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;
using tcgen05::LayoutAttr;
using tcgen05::Major;
using tcgen05::Swizzle;

Swizzle kvq::kernel::getSwizzle(const PackedRows &side) {
  switch (side.panelBytes()) {
  case 32:
    return Swizzle::B32;
  case 64:
    return Swizzle::B64;
  default:
    return Swizzle::B128;
  }
}

Value DecodeKernel::makeTile(Type type, Ptr at) {
  return tcgen05::MakeTileOp::create(b, type, Value(at), Value());
}

/// The keys of a tile and the queries, which lie along the contraction.
std::pair<Value, Value> DecodeKernel::makeScoreOperands(I32 tile) {
  MLIRContext *context = b.getContext();
  Type element = k.getFormat().getElementType();
  auto keys = tcgen05::TileType::get(
      context, kTileTokens, plan.k.headDim, element,
      LayoutAttr::get(context, Major::K, getSwizzle(plan.k)));
  auto queries = tcgen05::TileType::get(
      context, plan.scoreColumns(), plan.k.headDim, element,
      LayoutAttr::get(context, Major::K, Swizzle::None));
  return {makeTile(keys, stage(tile) + plan.shared.k),
          makeTile(queries, shared(plan.shared.queries))};
}

void DecodeKernel::multiplyScaledKeys(I32 tile) {
  Type scaleType = k.getFormat().getScaleType();
  auto scales = tcgen05::ScaleTileType::get(b.getContext(), kTileTokens,
                                            plan.k.scales(), scaleType);
  tcgen05::MMAKind kind = isa<Float8E8M0FNUType>(scaleType)
                              ? tcgen05::MMAKind::MXF4
                              : tcgen05::MMAKind::MXF4NVF4;
  Value keyScales = bufferOf(keyScaleRegion, tile);
  tcgen05::CopyScalesOp::create(
      b, makeTile(scales, stage(tile) + plan.shared.kScales), keyScales);
  auto [keys, queries] = makeScoreOperands(tile);
  tcgen05::MMABlockScaledOp::create(b, kind, keys, queries, keyScales,
                                    queryScaleRegion,
                                    bufferOf(scoreRegion, tile),
                                    /*accumulate=*/Value(), plan.k.blockSize);
}

void DecodeKernel::multiplyKeys(I32 tile) {
  tcgen05::MMAKind kind = plan.k.elementBits == 8 ? tcgen05::MMAKind::F8F6F4
                                                  : tcgen05::MMAKind::F16;
  auto [keys, queries] = makeScoreOperands(tile);
  tcgen05::MMAOp::create(b, kind, keys, queries, bufferOf(scoreRegion, tile));
}

void DecodeKernel::issueScores(I32 tile, Pred isIssuer) {
  filled.wait(tile);
  tcgen05::FenceOp::create(b, tcgen05::FenceKind::After);
  b.when(isIssuer, [&] {
    if (plan.keys == KeyRoute::BlockScaled)
      multiplyScaledKeys(tile);
    else
      multiplyKeys(tile);
    scored.commit(tile);
    if (plan.expandsValues())
      consumed.commit(tile);
  });
}

void DecodeKernel::issueOutput(I32 tile, Pred isIssuer) {
  MLIRContext *context = b.getContext();
  auto type = tcgen05::TileType::get(
      context, plan.weightColumns(), plan.weightDepth(), plan.weightType,
      LayoutAttr::get(context, Major::MN, Swizzle::None, /*padded=*/false,
                      /*leading=*/128, /*stride=*/plan.weightDepth() * 16));

  if (plan.expandsValues())
    expanded.wait(tile);
  weighted.wait(tile);
  tcgen05::FenceOp::create(b, tcgen05::FenceKind::After);
  b.when(isIssuer, [&] {
    Ptr at = shared(plan.shared.weights) +
             weighted.buffer(tile) * plan.shared.weightBytes;
    Value weights = makeTile(type, at);
    if (plan.expandsValues()) {
      tcgen05::MMAOp::create(b, tcgen05::MMAKind::F16,
                             bufferOf(valueRegion, tile), weights, outputRegion,
                             Value(tile > 0));
    } else {
      multiplyValues(tile, weights);
      consumed.commit(tile);
    }
    accumulated.commit(tile);
  });
}

void DecodeKernel::issueProducts(Work work) {
  // The elected thread is the same each time.
  Pred isIssuer(b, NVVM::ElectSyncOp::create(b, b.getI1Type(), Value()));
  if (plan.keys == KeyRoute::BlockScaled)
    b.when(isIssuer, [&] {
      auto scales = tcgen05::ScaleTileType::get(b.getContext(), kTileTokens,
                                                plan.k.scales(),
                                                k.getFormat().getScaleType());
      tcgen05::CopyScalesOp::create(
          b, makeTile(scales, shared(plan.shared.queryScales)),
          queryScaleRegion);
    });
  forTiles(work.count + 1, [&](I32 tile) {
    auto issueBefore = [&] {
      b.when(tile > 0, [&] { issueOutput(tile - 1, isIssuer); });
    };
    if (plan.isOutputFirst())
      issueBefore();
    b.when(tile < work.count, [&] { issueScores(tile, isIssuer); });
    if (!plan.isOutputFirst())
      issueBefore();
  });
}
