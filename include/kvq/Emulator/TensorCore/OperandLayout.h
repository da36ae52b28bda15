//===- OperandLayout.h - Where operands lie in shared memory --------------===//
//
// The canonical layouts of A and B in shared memory (PTX ISA 9.7.16.3.3), as
// addresses of 16-byte chunks: every layout and swizzle keeps 16 aligned bytes
// together. One instruction consumes 32 bytes of K per row.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_TENSORCORE_OPERANDLAYOUT_H
#define KVQ_EMULATOR_TENSORCORE_OPERANDLAYOUT_H

#include "kvq/Emulator/TensorCore/Descriptors.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace kvq::emu::tc {

constexpr unsigned chunkBytes = 16;
/// Elements of a chunk: at most single bits.
constexpr unsigned maxPerChunk = 8 * chunkBytes;

/// How elements of an operand are packed in the 16 bytes of a chunk.
struct ElementPacking {
  MmaType type = MmaType::F16;
  /// E2M1 two to a byte without padding (kind::mxf4 and mxf4nvf4). Without it
  /// 4- and 6-bit elements are 16 to a chunk, in its first 8 or 12 bytes.
  bool dense = false;

  /// Elements in a chunk: 4, 8, 16, 32, or 128 single bits.
  unsigned perChunk() const;
};

/// The packing of kind `kind` for elements of `type` in shared memory.
ElementPacking sharedPacking(MmaKind kind, MmaType type);

/// Decodes the elements of a chunk, exactly; integers too.
void decodeChunk(const ElementPacking &packing, const uint8_t *chunk,
                 double *out);

/// Address of a chunk, swizzled.
///
/// K-major: bytes 16 * chunk .. + 15 along K (chunk 0 or 1 of an instruction's
/// slice) of row `line` of M or N.
/// MN-major: bytes 16 * chunk .. + 15 along M or N at K index `line`.
uint32_t chunkAddress(const MatrixDescriptor &matrix, bool mnMajor,
                      unsigned line, unsigned chunk);

/// Nothing if the operand's type, major-ness and swizzle go together (table
/// 54), else what is wrong. `name` is "A" or "B".
llvm::Error checkOperand(const InstructionDescriptor &instruction,
                         const MatrixDescriptor &matrix, bool isA);

/// Gives the 16 bytes at a shared-memory address, or null to stop (after the
/// caller noted an error).
using ReadChunk = llvm::function_ref<const uint8_t *(uint32_t address)>;

/// Reads and decodes an operand of `rows` rows of M or N (of this CTA) and
/// `k` elements: element (r, k) goes to out[r * rowStride + k * kStride].
/// Returns false where `read` stopped it.
bool readOperand(const MatrixDescriptor &matrix, bool mnMajor,
                 const ElementPacking &packing, unsigned rows, unsigned k,
                 ReadChunk read, double *out, unsigned rowStride,
                 unsigned kStride);

} // namespace kvq::emu::tc

#endif // KVQ_EMULATOR_TENSORCORE_OPERANDLAYOUT_H
