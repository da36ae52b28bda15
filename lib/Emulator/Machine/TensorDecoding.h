//===- TensorDecoding.h - What decoding of tcgen05 shares -------*- C++ -*-===//

#ifndef KVQ_LIB_EMULATOR_MACHINE_TENSORDECODING_H
#define KVQ_LIB_EMULATOR_MACHINE_TENSORDECODING_H

#include "kvq/Emulator/Machine/Decoder.h"

namespace kvq::emu {

/// Appends an operation on tensor memory without destinations. Op: b the
/// cta_group.
inline Op &emitTensorOp(Decoder &decoder, const ptx::Instruction &inst,
                        Handler handler, llvm::ArrayRef<Operand> src) {
  Op &op = decoder.emit(inst, handler, InstructionClass::Tensor, {}, src);
  op.b = inst.mods.ctaGroup;
  return op;
}

} // namespace kvq::emu

#endif // KVQ_LIB_EMULATOR_MACHINE_TENSORDECODING_H
