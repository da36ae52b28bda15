//===- CachePools.cpp - The memrefs that caches are made of ---------------===//

#include "CachePools.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace kvq;

/// The layout of scales next to data of a layout: contiguous where the data
/// are, otherwise any strides, as those of the data do not carry over.
static MemRefLayoutAttrInterface getScalesLayout(MemRefType data) {
  if (data.getLayout().isIdentity())
    return {};
  SmallVector<int64_t> strides(data.getRank(), ShapedType::kDynamic);
  strides.back() = 1;
  return StridedLayoutAttr::get(data.getContext(), ShapedType::kDynamic,
                                strides);
}

/// The dimension of a memref of rows that blocks of a format lie along, counted
/// from the last one, with its size for data and for scales.
struct BlockDim {
  unsigned fromEnd;
  int64_t dataSize, scalesSize;
};

static BlockDim getBlockDim(CacheType cache) {
  if (cache.getFormat().getBlockAxis() == BlockAxis::HeadDim)
    return {1, cache.getHeadDim(), cache.getScaleColumns()};
  return {cache.getKvLayout() == KVLayout::NHD ? 3u : 2u, cache.getPageSize(),
          cache.getScaleRows()};
}

/// The type of the scales of data: one for each block.
static MemRefType getScalesType(MemRefType data, CacheType cache) {
  SmallVector<int64_t> shape(data.getShape());
  BlockDim dim = getBlockDim(cache);
  shape[shape.size() - dim.fromEnd] = dim.scalesSize;
  return MemRefType::get(shape, cache.getFormat().getScaleType(),
                         getScalesLayout(data), data.getMemorySpace());
}

/// Whether a memref has rows of head_dim, and all elements along blocks.
static bool hasWholeRows(Type type, CacheType cache) {
  auto memref = dyn_cast<MemRefType>(type);
  BlockDim dim = getBlockDim(cache);
  return memref && memref.getRank() >= dim.fromEnd &&
         memref.getShape().back() == cache.getHeadDim() &&
         memref.getDimSize(memref.getRank() - dim.fromEnd) == dim.dataSize;
}

/// Whether an operation shows a part of a pool, with whole rows.
static bool isPoolView(Operation *op, CacheType cache) {
  if (op->getNumResults() != 1 ||
      !hasWholeRows(op->getResult(0).getType(), cache))
    return false;
  if (isa<memref::CastOp>(op))
    return isa<MemRefType>(op->getOperand(0).getType());
  auto subview = dyn_cast<memref::SubViewOp>(op);
  if (!subview || !hasWholeRows(subview.getSourceType(), cache))
    return false;
  // Sizes that are those of the source start at its first element.
  auto isWhole = [&](unsigned fromEnd, int64_t size) {
    unsigned dim = subview.getSourceType().getRank() - fromEnd;
    return isZeroInteger(subview.getMixedOffsets()[dim]) &&
           isOneInteger(subview.getMixedStrides()[dim]) &&
           isConstantIntValue(subview.getMixedSizes()[dim], size);
  };
  BlockDim dim = getBlockDim(cache);
  return isWhole(1, cache.getHeadDim()) && isWhole(dim.fromEnd, dim.dataSize);
}

BlockArgument CachePools::getPassedTo(OpOperand &use) {
  auto call = dyn_cast<func::CallOp>(use.getOwner());
  auto callee = call ? symbols.lookupNearestSymbolFrom<func::FuncOp>(
                           call, call.getCalleeAttr())
                     : func::FuncOp();
  if (!callee || callee.isExternal())
    return {};
  return callee.getArgument(use.getOperandNumber());
}

LogicalResult CachePools::addValue(Value memref, const Pool &pool) {
  // Memrefs, and whether the cache gets its global scale through them.
  SmallVector<std::pair<Value, bool>> pending{{memref, pool.needsGlobalScale}};
  while (!pending.empty()) {
    auto [value, needsGlobalScale] = pending.pop_back_val();
    auto [it, inserted] = pools.insert({value, pool});
    if (inserted)
      it->second.needsGlobalScale = needsGlobalScale;
    if (!inserted) {
      Pool &known = it->second;
      if (known.type.getFormat() != pool.type.getFormat()) {
        InFlightDiagnostic diag = reportError<RemarkId::CachePoolOfTwoFormats>(
            pool.make, Attribute(known.type.getFormat()),
            Attribute(pool.type.getFormat()));
        diag.attachNote(known.make.getLoc()) << "the other cache is made here";
        return diag;
      }
      // The way up was followed before, but not with a need of a global scale.
      if (known.needsGlobalScale || !needsGlobalScale)
        continue;
      known.needsGlobalScale = true;
    }
    // Views and functions that make no cache of it hold the same bytes.
    for (OpOperand &use : value.getUses())
      if (BlockArgument argument = getPassedTo(use))
        pending.push_back({argument, false});
      else if (isPoolView(use.getOwner(), pool.type))
        pending.push_back({use.getOwner()->getResult(0), false});
    auto fail = [&](Location loc) {
      InFlightDiagnostic diag =
          reportError<RemarkId::CachePoolUnknown>(pool.make);
      diag.attachNote(loc) << "the memref comes from here";
      return diag;
    };
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto function =
          dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
      if (!function || !argument.getOwner()->isEntryBlock() ||
          !hasWholeRows(value.getType(), pool.type))
        return fail(value.getLoc());
      for (Operation *user : users.getUsers(function)) {
        auto call = dyn_cast<func::CallOp>(user);
        if (!call)
          return fail(user->getLoc());
        pending.push_back(
            {call.getOperand(argument.getArgNumber()), needsGlobalScale});
      }
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (isa<memref::AllocOp, memref::AllocaOp>(op)) {
      if (!hasWholeRows(value.getType(), pool.type) ||
          !cast<MemRefType>(value.getType()).getLayout().isIdentity())
        return fail(op->getLoc());
      continue;
    }
    if (!isPoolView(op, pool.type))
      return fail(op->getLoc());
    pending.push_back({op->getOperand(0), needsGlobalScale});
  }
  return success();
}

LogicalResult CachePools::add(MakeCacheOp make, CacheType type) {
  added[make] = type;
  Pool pool{make, type};
  pool.needsGlobalScale = type.getFormat().getHasGlobalScale() &&
                          !make.getGlobalScale() &&
                          !make->hasAttr(KVQDialect::getGlobalScaleAttrName());
  return addValue(make.getData(), pool);
}

LogicalResult CachePools::verifyUses(Value memref, const Pool &pool) {
  for (OpOperand &use : memref.getUses()) {
    Operation *user = use.getOwner();
    bool known = isa<memref::DeallocOp, memref::DimOp>(user);
    if (auto make = dyn_cast<MakeCacheOp>(user))
      known = added.contains(make) && use.get() == make.getData();
    else if (isPoolView(user, pool.type))
      known = pools.contains(user->getResult(0));
    else if (BlockArgument argument = getPassedTo(use))
      known = pools.contains(argument);
    if (known)
      continue;
    InFlightDiagnostic diag = reportError<RemarkId::CachePoolShared>(pool.make);
    diag.attachNote(user->getLoc()) << user->getName() << " uses it here";
    return diag;
  }
  return success();
}

LogicalResult CachePools::verify() {
  for (auto &[memref, pool] : pools)
    if (failed(verifyUses(memref, pool)))
      return failure();
  return success();
}

Value CachePools::makeConstant(OpBuilder &builder, Location loc, float value) {
  auto type = MemRefType::get({}, builder.getF32Type());
  std::string &name = constants[value];
  if (name.empty()) {
    // Made outside of the module, as the name may have to change.
    OpBuilder detached(module.getContext());
    auto elements = DenseElementsAttr::get(
        RankedTensorType::get({}, builder.getF32Type()), value);
    auto global = memref::GlobalOp::create(
        detached, loc, "kvq_global_scale", builder.getStringAttr("private"),
        type, elements, /*constant=*/true, /*alignment=*/IntegerAttr());
    name = SymbolTable(module).insert(global, module.getBody()->begin()).str();
  }
  return memref::GetGlobalOp::create(builder, loc, type, name);
}

CachePools::Companions CachePools::makeAllocation(Operation *op,
                                                  const Pool &pool) {
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  Companions result;
  if (pool.type.getFormat().hasBlockScale()) {
    MemRefType type =
        getScalesType(cast<MemRefType>(op->getResult(0).getType()), pool.type);
    Operation *scales = builder.clone(*op);
    scales->getResult(0).setType(type);
    result.scales = scales->getResult(0);
    for (Operation *user :
         llvm::make_early_inc_range(op->getResult(0).getUsers()))
      if (isa<memref::DeallocOp>(user)) {
        builder.setInsertionPointAfter(user);
        memref::DeallocOp::create(builder, user->getLoc(), result.scales);
      }
  }
  if (pool.needsGlobalScale) {
    builder.setInsertionPointAfter(op);
    result.globalScale = makeConstant(builder, op->getLoc(), 1.0f);
  }
  return result;
}

Value CachePools::makeView(Operation *op, Value scales, const Pool &pool) {
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  Location loc = op->getLoc();
  auto dataType = cast<MemRefType>(op->getResult(0).getType());
  if (isa<memref::CastOp>(op))
    return memref::CastOp::create(builder, loc,
                                  getScalesType(dataType, pool.type), scales);
  auto subview = cast<memref::SubViewOp>(op);
  SmallVector<OpFoldResult> sizes = subview.getMixedSizes();
  BlockDim dim = getBlockDim(pool.type);
  sizes[sizes.size() - dim.fromEnd] = builder.getIndexAttr(dim.scalesSize);
  MemRefType type = memref::SubViewOp::inferRankReducedResultType(
      getScalesType(dataType, pool.type).getShape(),
      cast<MemRefType>(scales.getType()), subview.getMixedOffsets(), sizes,
      subview.getMixedStrides());
  return memref::SubViewOp::create(builder, loc, type, scales,
                                   subview.getMixedOffsets(), sizes,
                                   subview.getMixedStrides());
}

CachePools::Companions CachePools::getCompanions(Value memref) {
  auto it = companions.find(memref);
  if (it != companions.end())
    return it->second;
  const Pool &pool = pools.find(memref)->second;
  Operation *op = memref.getDefiningOp();
  Companions result;
  if (isa<memref::AllocOp, memref::AllocaOp>(op)) {
    result = makeAllocation(op, pool);
  } else {
    result = getCompanions(op->getOperand(0));
    if (result.scales)
      result.scales = makeView(op, result.scales, pool);
  }
  companions[memref] = result;
  return result;
}

/// Adds arguments for scales and global scales at the end of a signature.
void CachePools::addArguments(func::FuncOp function) {
  Builder builder(module.getContext());
  SmallVector<Type> types;
  SmallVector<Location> locations;
  // Where each added argument belongs; its value is not there yet.
  SmallVector<std::pair<Value, Value Companions::*>> places;
  for (BlockArgument argument : function.getArguments()) {
    auto it = pools.find(argument);
    if (it == pools.end())
      continue;
    const Pool &pool = it->second;
    companions[argument] = {};
    auto append = [&](Type type, Value Companions::*place) {
      types.push_back(type);
      locations.push_back(argument.getLoc());
      places.push_back({argument, place});
    };
    if (pool.type.getFormat().hasBlockScale())
      append(getScalesType(cast<MemRefType>(argument.getType()), pool.type),
             &Companions::scales);
    if (pool.needsGlobalScale && addGlobalScaleArguments)
      append(MemRefType::get({}, builder.getF32Type()),
             &Companions::globalScale);
  }
  unsigned first = function.getNumArguments();
  SmallVector<unsigned> indices(types.size(), first);
  SmallVector<DictionaryAttr> attributes(types.size(),
                                         builder.getDictionaryAttr({}));
  (void)function.insertArguments(indices, types, attributes, locations);
  for (auto [index, place] : llvm::enumerate(places))
    companions[place.first].*place.second = function.getArgument(first + index);
}

void CachePools::convert() {
  // The element type is all that changes: sizes are those of the elements.
  for (auto &[memref, pool] : pools) {
    auto type = cast<MemRefType>(memref.getType());
    Value(memref).setType(
        MemRefType::get(type.getShape(), pool.type.getFormat().getElementType(),
                        type.getLayout(), type.getMemorySpace()));
  }
  SmallVector<func::FuncOp> functions;
  module->walk([&](func::FuncOp function) {
    if (function.isExternal() ||
        llvm::none_of(function.getArguments(), [&](BlockArgument argument) {
          return pools.contains(argument);
        }))
      return;
    functions.push_back(function);
    addArguments(function);
  });

  // Callers pass what goes with what they passed before, in the same order.
  for (func::FuncOp function : functions) {
    for (Operation *user : users.getUsers(function)) {
      auto call = cast<func::CallOp>(user);
      SmallVector<Value> operands(call.getOperands());
      unsigned before = operands.size();
      for (unsigned index = 0; index != before; ++index) {
        BlockArgument argument = function.getArgument(index);
        auto it = companions.find(argument);
        if (it == companions.end() || !pools.contains(argument))
          continue;
        Companions wanted = it->second;
        Companions given = getCompanions(operands[index]);
        OpBuilder builder(call);
        if (wanted.scales && wanted.scales.getType() != given.scales.getType())
          given.scales = memref::CastOp::create(
              builder, call.getLoc(), wanted.scales.getType(), given.scales);
        if (wanted.scales)
          operands.push_back(given.scales);
        if (!wanted.globalScale)
          continue;
        if (!given.globalScale)
          given.globalScale = makeConstant(builder, call.getLoc(), 1.0f);
        operands.push_back(given.globalScale);
      }
      call->setOperands(operands);
    }
  }

  for (auto &[makeOp, type] : added) {
    auto make = cast<MakeCacheOp>(makeOp);
    Companions parts = getCompanions(make.getData());
    if (type.getFormat().hasBlockScale())
      make.getScalesMutable().assign(parts.scales);
    if (!type.getFormat().getHasGlobalScale()) {
      make.getGlobalScaleMutable().clear();
      continue;
    }
    if (make.getGlobalScale())
      continue;
    OpBuilder builder(make);
    Value globalScale = parts.globalScale;
    if (auto calibrated = make->getAttrOfType<FloatAttr>(
            KVQDialect::getGlobalScaleAttrName()))
      globalScale =
          makeConstant(builder, make.getLoc(),
                       static_cast<float>(calibrated.getValueAsDouble()));
    else if (!globalScale)
      globalScale = makeConstant(builder, make.getLoc(), 1.0f);
    make.getGlobalScaleMutable().assign(globalScale);
  }
}
