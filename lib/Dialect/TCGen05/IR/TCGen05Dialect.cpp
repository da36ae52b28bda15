//===- TCGen05Dialect.cpp - The kvq_tcgen05 dialect -----------------------===//

#include "kvq/Dialect/TCGen05/IR/TCGen05Dialect.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kvq::tcgen05;

#include "kvq/Dialect/TCGen05/IR/TCGen05Dialect.cpp.inc"
#include "kvq/Dialect/TCGen05/IR/TCGen05Enums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "kvq/Dialect/TCGen05/IR/TCGen05Attributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "kvq/Dialect/TCGen05/IR/TCGen05Types.cpp.inc"

void TCGen05Dialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kvq/Dialect/TCGen05/IR/TCGen05Attributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "kvq/Dialect/TCGen05/IR/TCGen05Types.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.cpp.inc"
      >();
  declarePromisedInterface<ConvertToLLVMPatternInterface, TCGen05Dialect>();
}
