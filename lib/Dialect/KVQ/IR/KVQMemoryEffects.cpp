//===- KVQMemoryEffects.cpp - Memory effects of the operations ------------===//
//
// Effects sit on operands: on a handle for the bytes of its cache, and on the
// memrefs among the other operands. An operation that writes a memref says
// so, as one with reads only and no results is erased as dead.
//
//===----------------------------------------------------------------------===//

#include "kvq/Dialect/KVQ/IR/KVQOps.h"

using namespace mlir;
using namespace kvq;

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

static void addRead(OpOperand &operand, Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &operand,
                       SideEffects::DefaultResource::get());
}

static void addWrite(OpOperand &operand, Effects &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &operand,
                       SideEffects::DefaultResource::get());
}

/// The effects of an operation whose handles `written` are written and all
/// others read, with memref operands read and, where they are inits, written.
static void addEffects(Operation *op, ValueRange written, Effects &effects) {
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    Type type = operand.get().getType();
    if (isa<CacheType>(type)) {
      if (llvm::is_contained(written, operand.get()))
        addWrite(operand, effects);
      else
        addRead(operand, effects);
    } else if (isa<BaseMemRefType>(type)) {
      if (destination && destination.isDpsInit(&operand))
        addWrite(operand, effects);
      else
        addRead(operand, effects);
    }
  }
  // A handle that is read and written by one operation.
  if (auto copy = dyn_cast<CopyPagesOp>(op))
    if (copy.getSource() == copy.getDest())
      addRead(copy.getSourceMutable(), effects);
  // Quantization reads the global scale, which is part of the handle.
  if (auto append = dyn_cast<QuantizeAppendOp>(op))
    addRead(append.getCacheMutable(), effects);
}

#define KVQ_DEFINE_EFFECTS(OP)                                                 \
  void OP::getEffects(Effects &effects) {                                      \
    addEffects(getOperation(), {}, effects);                                   \
  }
#define KVQ_DEFINE_WRITER_EFFECTS(OP, HANDLE)                                  \
  void OP::getEffects(Effects &effects) {                                      \
    addEffects(getOperation(), HANDLE(), effects);                             \
  }

KVQ_DEFINE_EFFECTS(AttentionOp)
KVQ_DEFINE_EFFECTS(ConvertScaleLayoutOp)
KVQ_DEFINE_EFFECTS(DequantAttentionOp)
KVQ_DEFINE_EFFECTS(DequantizeOp)
KVQ_DEFINE_EFFECTS(GatherOp)
KVQ_DEFINE_EFFECTS(MergeStatesOp)
KVQ_DEFINE_EFFECTS(QuantizeOp)
KVQ_DEFINE_WRITER_EFFECTS(AppendOp, getCache)
KVQ_DEFINE_WRITER_EFFECTS(CopyPagesOp, getDest)
KVQ_DEFINE_WRITER_EFFECTS(QuantizeAppendOp, getCache)
