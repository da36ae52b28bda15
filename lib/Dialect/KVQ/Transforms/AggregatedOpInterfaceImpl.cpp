//===- AggregatedOpInterfaceImpl.cpp - kvq operations as linalg -----------===//

#include "kvq/Dialect/KVQ/Transforms/AggregatedOpInterfaceImpl.h"
#include "AggregateModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace kvq;

namespace {

template <typename OpTy>
struct AggregatedModel
    : public linalg::AggregatedOpInterface::ExternalModel<AggregatedModel<OpTy>,
                                                          OpTy> {
  FailureOr<SmallVector<Value>> decomposeOperation(Operation *op,
                                                   OpBuilder &builder) const {
    for (auto [number, operand] : llvm::enumerate(op->getOperands()))
      if (isa<MemRefType>(operand.getType()))
        return op->emitOpError()
               << "operand #" << number << " is of type " << operand.getType()
               << ", accepted are tensors; kvq-decompose takes memrefs";
    if (std::string undecided = describeUndecided(op); !undecided.empty())
      return op->emitOpError() << undecided;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(op);
    GenericBuilder b(op->getLoc(), builder);
    return aggregate::emit(b, cast<OpTy>(op));
  }
};

} // namespace

void kvq::registerAggregatedOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, KVQDialect *) {
    context->loadDialect<arith::ArithDialect, linalg::LinalgDialect,
                         math::MathDialect, scf::SCFDialect,
                         tensor::TensorDialect>();
    AttentionOp::attachInterface<AggregatedModel<AttentionOp>>(*context);
    DequantizeOp::attachInterface<AggregatedModel<DequantizeOp>>(*context);
    MergeStatesOp::attachInterface<AggregatedModel<MergeStatesOp>>(*context);
    QuantizeOp::attachInterface<AggregatedModel<QuantizeOp>>(*context);
  });
}
