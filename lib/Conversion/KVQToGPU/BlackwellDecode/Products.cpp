//===- Products.cpp - Issues the products of tiles ------------------------===//
//
// A warp waits, and one of its threads issues everything. The scores of the
// next tile, and the first part of its values where they are transposed, come
// before the last output of this one, so that neither the softmax nor those who
// narrow values wait for both, but where that would keep both of two stages.
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

/// The kind of a block-scaled product.
static tcgen05::MMAKind getKind(Type scaleType) {
  return isa<Float8E8M0FNUType>(scaleType) ? tcgen05::MMAKind::MXF4
                                           : tcgen05::MMAKind::MXF4NVF4;
}

static Type getScalesType(Type scaleType, int64_t columns) {
  return tcgen05::ScaleTileType::get(scaleType.getContext(), kTileTokens,
                                     columns, scaleType);
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
  Ptr atKeys = stage(tile) + plan.shared.k,
      atQueries = shared(plan.shared.queries);
  // Of wide rows the descriptors of all steps would be kept through the loop.
  if (plan.k.panels() > 2) {
    I32 zero = b.computeAnew(b.i32(0));
    atKeys = atKeys + zero;
    atQueries = atQueries + zero;
  }
  return {makeTile(keys, atKeys), makeTile(queries, atQueries)};
}

void DecodeKernel::multiplyScaledKeys(I32 tile) {
  Type scaleType = k.getFormat().getScaleType();
  Value keyScales = bufferOf(keyScaleRegion, tile);
  tcgen05::CopyScalesOp::create(
      b,
      makeTile(getScalesType(scaleType, plan.k.scaleColumns()),
               stage(tile) + plan.shared.kScales),
      keyScales);
  auto [keys, queries] = makeScoreOperands(tile);
  tcgen05::MMABlockScaledOp::create(b, getKind(scaleType), keys, queries,
                                    keyScales, queryScaleRegion,
                                    bufferOf(scoreRegion, tile),
                                    /*accumulate=*/Value(), plan.k.blockSize);
}

void DecodeKernel::multiplyKeys(I32 tile) {
  tcgen05::MMAKind kind = plan.k.elementBits == 8 ? tcgen05::MMAKind::F8F6F4
                                                  : tcgen05::MMAKind::F16;
  auto [keys, queries] = makeScoreOperands(tile);
  tcgen05::MMAOp::create(b, kind, keys, queries, bufferOf(scoreRegion, tile));
}

/// Elects the same thread each time. What is elected once and used often makes
/// LLVM give each side its own waits.
void DecodeKernel::issue(function_ref<void()> body) {
  b.when(Pred(b, NVVM::ElectSyncOp::create(b, b.getI1Type(), Value())), body);
}

void DecodeKernel::issueScores(I32 tile) {
  // Of tensor memory nothing new: what the buffers had was handed on before.
  filled.wait(tile);
  issue([&] {
    if (plan.keys == KeyRoute::BlockScaled)
      multiplyScaledKeys(tile);
    else
      multiplyKeys(tile);
    scored.commit(tile);
    if (plan.pairsChannels())
      consumed.commit(tile);
  });
}

/// Transposes a part of the values. See ValueExpansion.cpp.
void DecodeKernel::issueValues(I32 tile, int64_t part) {
  MLIRContext *context = b.getContext();
  Type element = v.getFormat().getElementType();
  Type scaleType = v.getFormat().getScaleType();
  auto getType = [&](int64_t columns, Swizzle swizzle) {
    return tcgen05::TileType::get(context, kTileTokens, columns, element,
                                  LayoutAttr::get(context, Major::K, swizzle));
  };
  I32 unit = unitOf(tile, part);

  // The buffer was read by the output of an earlier unit.
  accumulated.waitBefore(unit);
  tcgen05::FenceOp::create(b, tcgen05::FenceKind::After);
  issue([&] {
    Ptr from = stage(tile);
    Value scales = bufferOf(valueScaleRegion, unit);
    tcgen05::CopyScalesOp::create(
        b,
        makeTile(getScalesType(scaleType, plan.partScales()),
                 from + plan.shared.vScales +
                     part * kTileTokens * plan.partScales()),
        scales);
    Value values = tcgen05::SliceTileOp::create(
        b, getType(plan.partChannels(), getSwizzle(plan.v)),
        makeTile(getType(plan.v.headDim, getSwizzle(plan.v)),
                 from + plan.shared.v),
        /*row=*/0, part * plan.partChannels());
    auto decoded = tcgen05::TMemType::get(context, kTileTokens, kTileTokens,
                                          b.getF32Type());
    tcgen05::MMABlockScaledOp::create(
        b, getKind(scaleType),
        makeTile(getType(plan.partChannels(), Swizzle::None),
                 shared(plan.shared.identity)),
        values, identityScaleRegion, scales,
        tcgen05::CastOp::create(b, decoded, bufferOf(valueRegion, unit)),
        /*accumulate=*/Value(), plan.v.blockSize);
    transposed.commit(unit);
    if (part + 1 == plan.valueParts())
      consumed.commit(tile);
  });
}

/// The kind of the second product.
tcgen05::MMAKind DecodeKernel::getOutputKind() const {
  return plan.weightBits() == 8 ? tcgen05::MMAKind::F8F6F4
                                : tcgen05::MMAKind::F16;
}

/// Multiplies a part of the values, or all of those that have no parts.
void DecodeKernel::issueOutput(I32 tile, int64_t part) {
  MLIRContext *context = b.getContext();
  auto type = tcgen05::TileType::get(
      context, plan.weightColumns(), plan.weightDepth(), plan.weightType,
      LayoutAttr::get(context, Major::MN, Swizzle::None, /*padded=*/false,
                      /*leading=*/128, /*stride=*/plan.weightDepth() * 16));

  I32 unit = unitOf(tile, part);
  if (plan.expandsValues())
    expanded.wait(unit);
  if (part == 0)
    weighted.wait(tile);
  tcgen05::FenceOp::create(b, tcgen05::FenceKind::After);
  issue([&] {
    Ptr at = shared(plan.shared.weights) +
             weighted.buffer(tile) * plan.shared.weightBytes;
    Value weights = makeTile(type, at);
    if (plan.expandsValues()) {
      auto values = tcgen05::TMemType::get(context, kTileTokens,
                                           plan.weightDepth(), plan.weightType);
      auto output = cast<tcgen05::TMemType>(outputRegion.getType())
                        .withColumns(plan.weightColumns());
      OpFoldResult first(b.getIndexAttr(0)),
          column(b.getIndexAttr(part * plan.weightColumns()));
      tcgen05::MMAOp::create(
          b, getOutputKind(),
          tcgen05::SliceOp::create(b, values, bufferOf(valueRegion, unit),
                                   first),
          weights, tcgen05::SliceOp::create(b, output, outputRegion, column),
          Value(tile > 0));
    } else {
      multiplyValues(tile, weights);
      consumed.commit(tile);
    }
    if (!plan.isOutputFirst())
      accumulated.commit(unit);
  });
}

void DecodeKernel::issueProducts(Work work) {
  auto copyScales = [&](Type scaleType, int64_t columns, int64_t from,
                        Value to) {
    issue([&] {
      tcgen05::CopyScalesOp::create(
          b, makeTile(getScalesType(scaleType, columns), shared(from)), to);
    });
  };
  if (plan.keys == KeyRoute::BlockScaled)
    copyScales(k.getFormat().getScaleType(), plan.k.scaleColumns(),
               plan.shared.queryScales, queryScaleRegion);
  if (plan.transposesValues())
    copyScales(v.getFormat().getScaleType(), plan.partScales(),
               plan.shared.identityScales, identityScaleRegion);

  int64_t last = plan.valueParts() - 1;
  // Constant addresses of the operands of all stages are too many for the
  // registers where there is more than one part.
  int64_t buffers =
      last > 0 ? plan.buffers() : std::max(plan.stages, plan.buffers());
  forBuffers(work.count + 1, buffers, [&](I32 tile) {
    auto issueBefore = [&] {
      b.when(tile > 0, [&] { issueOutput(tile - 1, last); });
    };
    if (plan.isOutputFirst())
      issueBefore();
    b.when(tile < work.count, [&] {
      issueScores(tile);
      if (plan.transposesValues())
        issueValues(tile, 0);
    });
    if (!plan.isOutputFirst())
      issueBefore();
    if (last > 0)
      b.when(tile < work.count, [&] {
        issueValues(tile, last);
        issueOutput(tile, 0);
      });
  });
  issue([&] { finished.commit(b.i32(0)); });
}
