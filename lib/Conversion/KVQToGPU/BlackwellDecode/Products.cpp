//===- Products.cpp - Issues the products of tiles ------------------------===//
//
// A warp waits, and one of its threads issues everything. The scores of the
// next tile come before the output of this one, so that the softmax never waits
// for both.
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

/// The swizzle whose pattern is as wide as a row.
static Swizzle getSwizzle(const PackedRows &side) {
  switch (side.rowBytes()) {
  case 32:
    return Swizzle::B32;
  case 64:
    return Swizzle::B64;
  default:
    return Swizzle::B128;
  }
}

static Value makeTile(KernelBuilder &b, Type type, Ptr at) {
  return tcgen05::MakeTileOp::create(b, type, Value(at), Value());
}

void DecodeKernel::issueScores(I32 tile, Pred isIssuer) {
  MLIRContext *context = b.getContext();
  Type element = k.getFormat().getElementType();
  auto scales = tcgen05::ScaleTileType::get(
      context, kTileTokens, plan.k.scales(), k.getFormat().getScaleType());
  tcgen05::MMAKind kind = isa<Float8E8M0FNUType>(k.getFormat().getScaleType())
                              ? tcgen05::MMAKind::MXF4
                              : tcgen05::MMAKind::MXF4NVF4;
  auto keys = tcgen05::TileType::get(
      context, kTileTokens, plan.k.headDim, element,
      LayoutAttr::get(context, Major::K, getSwizzle(plan.k)));
  auto queries = tcgen05::TileType::get(
      context, plan.scoreColumns(), plan.k.headDim, element,
      LayoutAttr::get(context, Major::K, Swizzle::None));

  filled.wait(tile);
  tcgen05::FenceOp::create(b, tcgen05::FenceKind::After);
  b.when(isIssuer, [&] {
    Ptr from = stage(tile);
    Value keyScales = bufferOf(keyScaleRegion, tile);
    tcgen05::CopyScalesOp::create(
        b, makeTile(b, scales, from + plan.shared.kScales), keyScales);
    tcgen05::MMABlockScaledOp::create(
        b, kind, makeTile(b, keys, from + plan.shared.k),
        makeTile(b, queries, shared(plan.shared.queries)), keyScales,
        queryScaleRegion, bufferOf(scoreRegion, tile), /*accumulate=*/Value(),
        k.getFormat().getBlockSize());
    scored.commit(tile);
    consumed.commit(tile);
  });
}

void DecodeKernel::issueOutput(I32 tile, Pred isIssuer) {
  MLIRContext *context = b.getContext();
  auto weights = tcgen05::TileType::get(
      context, plan.weightColumns(), plan.weightDepth(), plan.weightType,
      LayoutAttr::get(context, Major::MN, Swizzle::None, /*padded=*/false,
                      /*leading=*/128, /*stride=*/plan.weightDepth() * 16));

  expanded.wait(tile);
  weighted.wait(tile);
  tcgen05::FenceOp::create(b, tcgen05::FenceKind::After);
  b.when(isIssuer, [&] {
    Ptr at = shared(plan.shared.weights) +
             weighted.buffer(tile) * plan.shared.weightBytes;
    tcgen05::MMAOp::create(
        b, tcgen05::MMAKind::F16, bufferOf(valueRegion, tile),
        makeTile(b, weights, at), outputRegion, Value(tile > 0));
    accumulated.commit(tile);
  });
}

void DecodeKernel::issueProducts(Work work) {
  // The elected thread is the same each time.
  Pred isIssuer(b, NVVM::ElectSyncOp::create(b, b.getI1Type(), Value()));
  auto scales =
      tcgen05::ScaleTileType::get(b.getContext(), kTileTokens, plan.k.scales(),
                                  k.getFormat().getScaleType());
  b.when(isIssuer, [&] {
    tcgen05::CopyScalesOp::create(
        b, makeTile(b, scales, shared(plan.shared.queryScales)),
        queryScaleRegion);
  });
  forTiles(work.count + 1, [&](I32 tile) {
    b.when(tile < work.count, [&] { issueScores(tile, isIssuer); });
    b.when(tile > 0, [&] { issueOutput(tile - 1, isIssuer); });
  });
}
