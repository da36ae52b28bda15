//===- RuntimeVerifiableOpInterfaceImpl.cpp - Checks for upstream's pass --===//

#include "kvq/Conversion/RuntimeChecks/RuntimeVerifiableOpInterfaceImpl.h"
#include "OperandChecks.h"
#include "kvq/Conversion/RuntimeChecks/RuntimeChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"

using namespace mlir;
using namespace kvq;

namespace {

template <typename OpTy>
struct RuntimeVerifiableModel
    : public RuntimeVerifiableOpInterface::ExternalModel<
          RuntimeVerifiableModel<OpTy>, OpTy> {
  void generateRuntimeVerification(
      Operation *op, OpBuilder &builder, Location loc,
      function_ref<std::string(Operation *, StringRef)>) const {
    if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>)) {
      op->emitWarning("has tensor operands and gets no run-time checks; they "
                      "are generated after bufferization");
      return;
    }
    OperandChecks checks(op->getParentOfType<ModuleOp>(), op);
    FailureOr<SmallVector<OperandChecks::Check>> list = checks.collect();
    if (failed(list) || list->empty())
      return;
    Value status = OperandChecks::emit(
        builder, loc, *list, arith::ConstantIntOp::create(builder, loc, 0, 32));
    if (op->getNumResults() == 0)
      OperandChecks::guard(builder, op, status);
  }
};

template <typename... OpTys>
void attach(MLIRContext &context) {
  (OpTys::template attachInterface<RuntimeVerifiableModel<OpTys>>(context),
   ...);
}

} // namespace

void kvq::registerRuntimeVerifiableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, KVQDialect *) {
    DialectRegistry needed;
    registerRuntimeCheckDialects(needed);
    context->appendDialectRegistry(needed);
    for (StringRef name : needed.getDialectNames())
      context->getOrLoadDialect(name);
    attach<AppendOp, AttentionOp, ConvertScaleLayoutOp, CopyPagesOp,
           DequantAttentionOp, DequantizeOp, GatherOp, MakeCacheOp,
           MergeStatesOp, QuantizeAppendOp, QuantizeOp>(*context);
  });
}
