//===- KVQDialect.cpp - The kvq dialect -----------------------------------===//

#include "kvq/Dialect/KVQ/IR/KVQDialect.h"
#include "KVQBytecode.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kvq;

#include "kvq/Dialect/KVQ/IR/KVQDialect.cpp.inc"
#include "kvq/Dialect/KVQ/IR/KVQEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "kvq/Dialect/KVQ/IR/KVQAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "kvq/Dialect/KVQ/IR/KVQTypes.cpp.inc"

void KVQDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kvq/Dialect/KVQ/IR/KVQAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "kvq/Dialect/KVQ/IR/KVQTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kvq/Dialect/KVQ/IR/KVQOps.cpp.inc"
      >();
  declarePromisedInterfaces<bufferization::BufferizableOpInterface, AppendOp,
                            AttentionOp, ConvertScaleLayoutOp, CopyPagesOp,
                            DequantAttentionOp, DequantizeOp, GatherOp,
                            MergeStatesOp, QuantizeAppendOp, QuantizeOp>();
  declarePromisedInterfaces<
      RuntimeVerifiableOpInterface, AppendOp, AttentionOp, ConvertScaleLayoutOp,
      CopyPagesOp, DequantAttentionOp, DequantizeOp, GatherOp, MakeCacheOp,
      MergeStatesOp, QuantizeAppendOp, QuantizeOp>();
  declarePromisedInterfaces<linalg::AggregatedOpInterface, AttentionOp,
                            DequantizeOp, MergeStatesOp, QuantizeOp>();
  declarePromisedInterfaces<TilingInterface, AttentionOp, DequantizeOp,
                            QuantizeOp>();
  declarePromisedInterface<PartialReductionOpInterface, AttentionOp>();
  addBytecodeInterface(*this);
}

/// Checks the value of an attribute that steers the conversion of a cache.
static LogicalResult verifyCacheAttribute(Operation *op,
                                          NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  auto fail = [&](StringRef expected) {
    return op->emitError("attribute '")
           << name << "' is " << value << ", expected " << expected;
  };
  if (name == KVQDialect::getCacheFormatAttrName()) {
    auto name = dyn_cast<StringAttr>(value);
    if (!isa<KVFormatInterface>(value) &&
        !(name && getNamedFormat(op->getContext(), name)))
      return fail("a format, or the name of one");
  } else if (name == KVQDialect::getGlobalScaleAttrName()) {
    auto scale = dyn_cast<FloatAttr>(value);
    if (!scale || !scale.getType().isF32() || !scale.getValue().isFinite() ||
        scale.getValue().isNegative() || scale.getValue().isZero())
      return fail("a finite and positive f32");
  } else {
    auto layer = dyn_cast<IntegerAttr>(value);
    if (!layer || layer.getValue().isNegative())
      return fail("an integer that is not negative");
  }
  return success();
}

/// Whether an attribute steers the conversion of a cache.
static bool isCacheAttribute(NamedAttribute attribute, bool onMakeCache) {
  StringRef name = attribute.getName();
  return name == KVQDialect::getCacheFormatAttrName() ||
         name == KVQDialect::getLayerAttrName() ||
         (onMakeCache && name == KVQDialect::getGlobalScaleAttrName());
}

LogicalResult KVQDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  if (attribute.getName() == getRuntimeCheckAttrName() &&
      isa<FunctionOpInterface>(op))
    return success();
  // What the lowering to a GPU leaves on a kernel and on its error word.
  StringRef name = attribute.getName();
  if ((name == "kvq.kernel" && isa<FunctionOpInterface>(op)) ||
      (name == "kvq.error_word" && isa<UnitAttr>(attribute.getValue())))
    return success();
  if (isa<MakeCacheOp>(op) && isCacheAttribute(attribute, true))
    return verifyCacheAttribute(op, attribute);
  return op->emitError("attribute '")
         << attribute.getName().getValue()
         << "' is not an attribute of an operation; the kvq dialect has '"
         << getMayAliasAttrName() << "' for function arguments";
}

LogicalResult KVQDialect::verifyRegionArgAttribute(Operation *op,
                                                   unsigned regionIndex,
                                                   unsigned argIndex,
                                                   NamedAttribute attribute) {
  if (auto function = dyn_cast<FunctionOpInterface>(op);
      function && isCacheAttribute(attribute, false) &&
      isa<CacheType>(function.getArgumentTypes()[argIndex]))
    return verifyCacheAttribute(op, attribute);
  if (attribute.getName() != getMayAliasAttrName())
    return op->emitError("argument attribute '")
           << attribute.getName().getValue()
           << "' is not one of the kvq dialect; it has '"
           << getMayAliasAttrName() << "'";
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitError("'")
           << getMayAliasAttrName() << "' is a unit attribute, found "
           << attribute.getValue();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitError("'")
           << getMayAliasAttrName() << "' belongs on an argument of a function";
  Type type = function.getArgumentTypes()[argIndex];
  if (!isa<CacheType, BaseMemRefType>(type))
    return op->emitError("'")
           << getMayAliasAttrName()
           << "' belongs on a cache handle or a memref, argument #" << argIndex
           << " is of type " << type;
  return success();
}
