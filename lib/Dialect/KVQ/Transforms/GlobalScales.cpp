//===- GlobalScales.cpp - Where global scales of caches come from ---------===//

#include "GlobalScales.h"
#include "kvq/Dialect/KVQ/Transforms/Remark.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace kvq;

/// Takes casts off a memref.
static Value getUncast(Value memref) {
  while (auto cast = memref.getDefiningOp<memref::CastOp>())
    memref = cast.getSource();
  return memref;
}

/// The number that a memref holds, if it is a constant of the module.
static std::optional<float> getConstantScale(Value memref) {
  auto get = memref.getDefiningOp<memref::GetGlobalOp>();
  if (!get)
    return std::nullopt;
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      get, get.getNameAttr());
  if (!global || !global.getConstant())
    return std::nullopt;
  auto elements =
      dyn_cast_or_null<DenseFPElementsAttr>(global.getConstantInitValue());
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<float>();
}

/// What a report calls a memref with a global scale.
static std::string describeScale(Value memref) {
  memref = getUncast(memref);
  if (std::optional<float> constant = getConstantScale(memref)) {
    SmallString<16> digits;
    APFloat(*constant).toString(digits);
    return ("the constant " + digits).str();
  }
  if (auto argument = dyn_cast<BlockArgument>(memref))
    return "argument #" + std::to_string(argument.getArgNumber());
  return ("the result of " + memref.getDefiningOp()->getName().getStringRef())
      .str();
}

std::string kvq::describeGlobalScale(const CacheClass &cacheClass) {
  if (cacheClass.made.empty())
    return "what callers give it";
  return describeScale(MakeCacheOp(cacheClass.made.front()).getGlobalScale());
}

LogicalResult kvq::verifyGlobalScales(ArrayRef<CacheClass> classes) {
  // The first cache that is made of each memref.
  llvm::DenseMap<std::pair<Value, unsigned>, MakeCacheOp> firsts;
  bool failedAny = false;
  for (const CacheClass &cacheClass : classes)
    for (MakeCacheOp make : cacheClass.made) {
      if (!make.getGlobalScale())
        continue;
      unsigned side = unsigned(make.getCache().getType().getSide());
      auto [it, inserted] =
          firsts.insert({{getUncast(make.getData()), side}, make});
      MakeCacheOp first = it->second;
      Value scale = getUncast(make.getGlobalScale());
      Value firstScale = getUncast(first.getGlobalScale());
      if (inserted || scale == firstScale)
        continue;
      std::optional<float> number = getConstantScale(scale);
      std::optional<float> firstNumber = getConstantScale(firstScale);
      if (number && firstNumber) {
        if (*number == *firstNumber)
          continue;
        reportError<RemarkId::GlobalScalesDisagree>(make, describeScale(scale),
                                                    describeScale(firstScale))
                .attachNote(first.getLoc())
            << "the other cache is made here";
        failedAny = true;
        continue;
      }
      (void)Report::get<RemarkId::GlobalScalesMayDiffer>(
          describeScale(scale), describeScale(firstScale))
          .at(first)
          .emit(make);
    }
  return failure(failedAny);
}
