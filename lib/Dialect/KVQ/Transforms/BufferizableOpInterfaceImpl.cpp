//===- BufferizableOpInterfaceImpl.cpp - Bufferization of kvq ops ---------===//

#include "kvq/Dialect/KVQ/Transforms/BufferizableOpInterfaceImpl.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace kvq;

/// Replaces `op` by the same operation on buffers. Tensor results become the
/// buffers of the inits they are tied to.
static LogicalResult bufferizeInPlace(Operation *op, RewriterBase &rewriter,
                                      const BufferizationOptions &options,
                                      BufferizationState &state) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);

  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (!isa<TensorType>(operand.getType())) {
      operands.push_back(operand);
      continue;
    }
    FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    operands.push_back(*buffer);
  }

  SmallVector<Value> results;
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    for (OpResult result : op->getResults())
      results.push_back(
          operands[destination.getTiedOpOperand(result)->getOperandNumber()]);

  rewriter.insert(Operation::create(
      op->getLoc(), op->getName(), /*resultTypes=*/TypeRange(), operands,
      op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
      /*successors=*/BlockRange(), /*numRegions=*/0));
  replaceOpWithBufferizedValues(rewriter, op, results);
  return success();
}

namespace {

/// Operations whose outs are written whole, whatever they held.
template <typename OpTy>
struct DestinationModel
    : public DstBufferizableOpInterfaceExternalModel<DestinationModel<OpTy>,
                                                     OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    return bufferizeInPlace(op, rewriter, options, state);
  }
};

/// Operations that read tensors and write a handle.
template <typename OpTy>
struct WriterModel
    : public BufferizableOpInterface::ExternalModel<WriterModel<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }

  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }

  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    return bufferizeInPlace(op, rewriter, options, state);
  }
};

} // namespace

void kvq::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, KVQDialect *) {
    AttentionOp::attachInterface<DestinationModel<AttentionOp>>(*context);
    ConvertScaleLayoutOp::attachInterface<
        DestinationModel<ConvertScaleLayoutOp>>(*context);
    DequantAttentionOp::attachInterface<DestinationModel<DequantAttentionOp>>(
        *context);
    DequantizeOp::attachInterface<DestinationModel<DequantizeOp>>(*context);
    GatherOp::attachInterface<DestinationModel<GatherOp>>(*context);
    MergeStatesOp::attachInterface<DestinationModel<MergeStatesOp>>(*context);
    QuantizeOp::attachInterface<DestinationModel<QuantizeOp>>(*context);
    AppendOp::attachInterface<WriterModel<AppendOp>>(*context);
    CopyPagesOp::attachInterface<WriterModel<CopyPagesOp>>(*context);
    QuantizeAppendOp::attachInterface<WriterModel<QuantizeAppendOp>>(*context);
  });
}
