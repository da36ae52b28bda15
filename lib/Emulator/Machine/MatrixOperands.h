//===- MatrixOperands.h - Fragments as operands -----------------*- C++ -*-===//

#ifndef KVQ_LIB_EMULATOR_MACHINE_MATRIXOPERANDS_H
#define KVQ_LIB_EMULATOR_MACHINE_MATRIXOPERANDS_H

#include "kvq/Emulator/Machine/Decoder.h"
#include "kvq/Emulator/Numerics/MatrixMultiply.h"

namespace kvq::emu {

std::optional<num::MmaType> toMmaType(ptx::Type type);

/// The elements of a vector operand, or the operand itself.
llvm::SmallVector<ptx::Operand, 8> listOf(Decoder &decoder,
                                          const ptx::Operand &operand);

} // namespace kvq::emu

#endif // KVQ_LIB_EMULATOR_MACHINE_MATRIXOPERANDS_H
