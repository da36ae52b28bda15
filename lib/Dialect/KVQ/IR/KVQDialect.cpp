//===- KVQDialect.cpp - The kvq dialect -----------------------------------===//

#include "kvq/Dialect/KVQ/IR/KVQDialect.h"
#include "KVQBytecode.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
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
  addBytecodeInterface(*this);
}

LogicalResult KVQDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  if (attribute.getName() == getRuntimeCheckAttrName() &&
      isa<FunctionOpInterface>(op))
    return success();
  return op->emitError("attribute '")
         << attribute.getName().getValue()
         << "' is not an attribute of an operation; the kvq dialect has '"
         << getMayAliasAttrName() << "' for function arguments";
}

LogicalResult KVQDialect::verifyRegionArgAttribute(Operation *op,
                                                   unsigned regionIndex,
                                                   unsigned argIndex,
                                                   NamedAttribute attribute) {
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
