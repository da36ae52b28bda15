//===- MmaDetail.h - Parts of mma.sync shared inside ----------------------===//

#ifndef KVQ_LIB_EMULATOR_NUMERICS_MMADETAIL_H
#define KVQ_LIB_EMULATOR_NUMERICS_MMADETAIL_H

#include "kvq/Emulator/Numerics/MatrixMultiply.h"
#include "llvm/ADT/StringRef.h"

namespace kvq::emu::num {

/// m8n8k4 of f16: four products, each by the eight lanes of a quad pair.
bool isQuadPair(const MmaSpec &spec);

/// Shapes of wmma that mma.sync does not have.
bool isWmmaOnly(const MmaSpec &spec);
unsigned wmmaRegisters(const MmaSpec &spec, MmaOperand operand);
MatrixCoord wmmaCoord(const MmaSpec &spec, MmaOperand operand, unsigned lane,
                      unsigned index);
/// Why wmma does not have these types and shapes; empty if it does.
llvm::StringRef findWmmaMistake(const MmaSpec &spec);

/// The type of an operand's elements.
MmaType operandType(const MmaSpec &spec, MmaOperand operand);

/// Bits from one element to the next in a register.
unsigned containerBits(const MmaSpec &spec, MmaType type);

} // namespace kvq::emu::num

#endif // KVQ_LIB_EMULATOR_NUMERICS_MMADETAIL_H
