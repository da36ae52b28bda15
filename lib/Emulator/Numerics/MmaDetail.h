//===- MmaDetail.h - Parts of mma.sync shared inside ----------------------===//

#ifndef KVQ_LIB_EMULATOR_NUMERICS_MMADETAIL_H
#define KVQ_LIB_EMULATOR_NUMERICS_MMADETAIL_H

#include "kvq/Emulator/Numerics/MatrixMultiply.h"

namespace kvq::emu::num {

/// m8n8k4 of f16: four products, each by the eight lanes of a quad pair.
bool isQuadPair(const MmaSpec &spec);

/// Bits from one element to the next in a register.
unsigned containerBits(const MmaSpec &spec, MmaType type);

} // namespace kvq::emu::num

#endif // KVQ_LIB_EMULATOR_NUMERICS_MMADETAIL_H
