//===- Explain.cpp - Why an operation has no byte storage -----------------===//

#include "Patterns.h"
#include "kvq/Conversion/LegalizeStorage/LegalizeStorage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using kvq::detail::isPackedMemRef;

namespace {

std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << '\'' << type << '\'';
  return text;
}

bool isLowBitMemRef(Type type) {
  auto memref = dyn_cast<BaseMemRefType>(type);
  return memref && kvq::isLowBitStorage(memref.getElementType());
}

/// The types that `op` defines: of results, block arguments, globals,
/// functions.
SmallVector<Type> definedTypes(Operation *op) {
  SmallVector<Type> types(op->getResultTypes());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::append_range(types, block.getArgumentTypes());
  if (auto function = dyn_cast<FunctionOpInterface>(op)) {
    llvm::append_range(types, function.getArgumentTypes());
    llvm::append_range(types, function.getResultTypes());
  }
  if (auto global = dyn_cast<memref::GlobalOp>(op))
    types.push_back(global.getType());
  return types;
}

/// Why `type` has no byte storage; empty if it has or needs none.
std::string explainType(Type type) {
  if (auto function = dyn_cast<FunctionType>(type)) {
    for (Type part :
         llvm::concat<const Type>(function.getInputs(), function.getResults()))
      if (std::string why = explainType(part); !why.empty())
        return why;
    return "";
  }
  if (auto unranked = dyn_cast<UnrankedMemRefType>(type)) {
    if (isPackedMemRef(type))
      return print(type) + " has no packed storage: its innermost size is "
                           "unknown; a ranked memref is accepted";
    return "";
  }
  auto memref = dyn_cast<MemRefType>(type);
  if (memref && kvq::isLowBitStorage(memref.getElementType())) {
    std::string why;
    if (succeeded(kvq::getByteStorageType(memref, &why)))
      return "";
    return print(type) + " has no packed storage: " + why;
  }
  bool nested = false;
  type.walk([&](Type inner) { nested |= isLowBitMemRef(inner); });
  if (nested)
    return print(type) + " has a low-bit memref inside; only memrefs and "
                         "function types over them are accepted";
  return "";
}

bool isKnownOdd(OpFoldResult value) {
  std::optional<int64_t> constant = getConstantIntValue(value);
  return constant && *constant % 2 != 0;
}

std::string explainSubView(memref::SubViewOp op) {
  int64_t rank = op.getSourceType().getRank();
  if (rank == 0)
    return "";
  if (op.getDroppedDims().test(rank - 1))
    return "drops the innermost dimension of " + print(op.getSourceType()) +
           ", which is packed; it must be kept";
  if (isKnownOdd(op.getMixedOffsets().back()))
    return "starts at an odd innermost offset on 4-bit elements; only even "
           "ones are accepted";
  if (isKnownOdd(op.getMixedSizes().back()))
    return "has an odd innermost size on 4-bit elements; only even ones are "
           "accepted";
  return "";
}

std::string explainReinterpretCast(memref::ReinterpretCastOp op) {
  bool odd = llvm::any_of(op.getMixedOffsets(), isKnownOdd);
  SmallVector<OpFoldResult> sizes = op.getMixedSizes();
  SmallVector<OpFoldResult> strides = op.getMixedStrides();
  if (!sizes.empty())
    odd |=
        isKnownOdd(sizes.back()) ||
        llvm::any_of(ArrayRef<OpFoldResult>(strides).drop_back(), isKnownOdd);
  if (odd)
    return "has an odd offset, innermost size or outer stride on 4-bit "
           "elements; only even ones are accepted";
  // A cast from another element type would need other units on one side.
  if (!isPackedMemRef(op.getSource().getType()))
    return "makes 4-bit elements of " + print(op.getSource().getType());
  return "";
}

template <typename OpT>
std::string explainVectorAccess(OpT op) {
  VectorType type = op.getVectorType();
  if (kvq::detail::coversWholeBytes(type, op.getIndices()))
    return "";
  if (type.getRank() == 1 && !type.isScalable() && !op.getIndices().empty())
    return "";
  return "accesses " + print(type) +
         " at an index that is not known to be even, or with an odd innermost "
         "size; beyond fixed-size vectors of one dimension both must be even";
}

template <typename OpT>
std::string explainTransfer(OpT op) {
  if (op.getMask())
    return "has a mask on 4-bit elements; only unmasked transfers are "
           "accepted";
  if (!op.getPermutationMap().isMinorIdentity())
    return "permutes or broadcasts 4-bit elements; only a minor identity map "
           "is accepted";
  if (!kvq::detail::coversWholeBytes(op.getVectorType(), op.getIndices()))
    return "transfers " + print(op.getVectorType()) +
           " at an index that is not known to be even, or with an odd "
           "innermost size; both must be even";
  return "";
}

template <typename OpT>
std::string explainAllocation(OpT op) {
  if (!op.getSymbolOperands().empty())
    return "has layout symbols on 4-bit elements; an allocation without "
           "symbols is accepted";
  return "";
}

std::string explainGlobal(memref::GlobalOp op) {
  Attribute value = op.getInitialValueAttr();
  if (!value || isa<UnitAttr, DenseElementsAttr>(value))
    return "";
  return "has an initial value that is not a dense constant";
}

bool isStructural(Operation *op) {
  return isa<FunctionOpInterface, func::CallOp, func::ReturnOp, cf::BranchOp,
             cf::CondBranchOp, cf::SwitchOp, scf::ForOp, scf::WhileOp,
             scf::IfOp, scf::ConditionOp, scf::YieldOp>(op);
}

} // namespace

std::string kvq::explainIllegalStorage(Operation *op) {
  SmallVector<Type> defined = definedTypes(op);
  for (Type type : defined)
    if (std::string why = explainType(type); !why.empty())
      return why;

  // An operation that holds a region touches only what it passes into it.
  auto touched = llvm::to_vector(
      llvm::concat<Type>(SmallVector<Type>(op->getOperandTypes()), defined));
  if (auto constant = dyn_cast<func::ConstantOp>(op))
    return "";
  Type *low = llvm::find_if(touched, isLowBitMemRef);
  if (low == touched.end() || isStructural(op))
    return "";
  bool packed = llvm::any_of(touched, isPackedMemRef);
  if (detail::needsTypesOnly(op, packed))
    return "";
  if (!packed) {
    if (detail::accessesElements(op) || detail::hasViewPattern(op))
      return isa<memref::GlobalOp>(op)
                 ? explainGlobal(cast<memref::GlobalOp>(op))
                 : "";
  } else {
    std::optional<std::string> why =
        llvm::TypeSwitch<Operation *, std::optional<std::string>>(op)
            .Case([](memref::SubViewOp op) { return explainSubView(op); })
            .Case([](memref::ReinterpretCastOp op) {
              return explainReinterpretCast(op);
            })
            .Case([](vector::LoadOp op) { return explainVectorAccess(op); })
            .Case([](vector::StoreOp op) { return explainVectorAccess(op); })
            .Case([](vector::TransferReadOp op) { return explainTransfer(op); })
            .Case(
                [](vector::TransferWriteOp op) { return explainTransfer(op); })
            .Case([](memref::AllocOp op) { return explainAllocation(op); })
            .Case([](memref::AllocaOp op) { return explainAllocation(op); })
            .Case([](memref::GlobalOp op) { return explainGlobal(op); })
            .Case<memref::LoadOp, memref::StoreOp, memref::DimOp,
                  memref::ExpandShapeOp, memref::ExtractStridedMetadataOp,
                  memref::PrefetchOp, memref::ViewOp>(
                [](auto) { return std::string(); })
            .Default([](Operation *) { return std::nullopt; });
    if (why)
      return *why;
  }
  return "cannot take " + print(*low) +
         " in byte storage; accepted are functions, calls, branches, scf "
         "loops and conditionals, and the operations of memref and vector "
         "that the documentation of kvq-legalize-storage allows";
}
