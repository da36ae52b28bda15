//===- TensorMemory.h - Data paths of tensor memory -----------------------===//
//
// Which lane and column of tensor memory holds what: registers of tcgen05.ld
// and st, accumulators, A operands, rows of tcgen05.cp, and scale factors.
// Lanes and columns are relative to the address that the instruction names.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_TENSORCORE_TENSORMEMORY_H
#define KVQ_EMULATOR_TENSORCORE_TENSORMEMORY_H

#include "kvq/Emulator/TensorCore/Descriptors.h"
#include "llvm/ADT/SmallVector.h"

namespace kvq::emu::tc {

constexpr unsigned tmemLanes = 128;
constexpr unsigned tmemColumns = 512;

/// A 32-bit cell.
struct TmemCell {
  uint16_t lane, column;
};

inline bool operator==(TmemCell a, TmemCell b) {
  return a.lane == b.lane && a.column == b.column;
}

/// The cell that a tensor-memory address names: lane in the upper half, column
/// in the lower one.
inline TmemCell cellAt(uint32_t address) {
  return {static_cast<uint16_t>(address >> 16), static_cast<uint16_t>(address)};
}

//===----------------------------------------------------------------------===//
// tcgen05.ld and tcgen05.st
//===----------------------------------------------------------------------===//

enum class TmemShape : uint8_t {
  S32x32b,
  S16x64b,
  S16x128b,
  S16x256b,
  S16x32bx2
};

/// Registers of each thread for `.xN`.
unsigned tmemRegisters(TmemShape shape, unsigned num);

/// Nothing if PTX has the combination, else what is wrong with it.
llvm::Error checkTmemAccess(TmemShape shape, unsigned num);

/// Lanes that a warp reaches: 32, or 16 for the 16x shapes except 16x32bx2,
/// whose upper 16 threads reach the same lanes at other columns.
unsigned tmemLanesOf(TmemShape shape);

/// The cell of register `reg` of thread `thread`. `split` is the immediate of
/// 16x32bx2.
TmemCell tmemCell(TmemShape shape, unsigned thread, unsigned reg,
                  unsigned split = 0);

/// With .pack::16b (ld) and .unpack::16b (st) a register is two cells: the cell
/// of column c without it becomes the low halves of columns 2c (bits 15:0 of
/// the register) and 2c + 1 (bits 31:16).
inline TmemCell packedCell(TmemCell cell, unsigned half) {
  return {cell.lane, static_cast<uint16_t>(2 * cell.column + half)};
}

//===----------------------------------------------------------------------===//
// Accumulators and A operands
//===----------------------------------------------------------------------===//

/// The layouts of PTX ISA 9.7.16.10.5 by their letters (C is sparse).
enum class DataPath : uint8_t { A, B, D, E, F, G };

/// The layout of a dense tcgen05.mma.
DataPath dataPathOf(const InstructionDescriptor &instruction, unsigned ctaGroup,
                    bool ws);

/// Where D[m][n] lies: the CTA of the pair, lane and column.
struct AccumulatorCell {
  uint8_t cta;
  TmemCell cell;
};
AccumulatorCell accumulatorCell(DataPath path, unsigned m, unsigned n,
                                unsigned N);

/// How many columns of a product of N columns lie side by side in one lane.
unsigned accumulatorRun(DataPath path, unsigned N);

/// Where element k of row m of an A operand in tensor memory lies: cell and bit
/// in it. `bits` is 32 (tf32), 16, 8 (fp8, fp6 and fp4 of the f8f6f4 kinds, one
/// to a byte, E2M1 in bits [5:2]) or 4 (mxf4 kinds).
struct OperandCell {
  uint8_t cta;
  TmemCell cell;
  uint8_t bit;
};
OperandCell operandCell(DataPath path, unsigned m, unsigned k, unsigned bits);

/// Bits between elements of A in tensor memory.
unsigned tmemElementBits(MmaKind kind, MmaType type);

//===----------------------------------------------------------------------===//
// tcgen05.cp
//===----------------------------------------------------------------------===//

/// Shapes of tcgen05.cp with the multicast that they need.
enum class CopyShape : uint8_t {
  S128x256b,
  S4x256b,
  S128x128b,
  S64x128bWarpx2_02_13,
  S64x128bWarpx2_01_23,
  S32x128bWarpx4,
};

/// Decompression of tcgen05.cp: none, .b8x16.b4x16_p64, .b8x16.b6x16_p32.
enum class CopyUnpack : uint8_t { None, B4x16P64, B6x16P32 };

/// Source rows, and columns that each fills. A row is columns / 4 chunks of 16
/// bytes, at chunkAddress(matrix, false, row, chunk).
unsigned copyRows(CopyShape shape);
unsigned copyColumns(CopyShape shape);

/// The lanes that source row `row` goes to.
llvm::SmallVector<uint16_t, 4> copyLanes(CopyShape shape, unsigned row);

/// The four columns that a 16-byte chunk fills. Unpacked elements sit in bytes:
/// E2M1 in bits [5:2], 6-bit types in the low bits.
void unpackChunk(CopyUnpack unpack, const uint8_t *chunk, uint32_t *columns);

//===----------------------------------------------------------------------===//
// Scale factors
//===----------------------------------------------------------------------===//

/// Where scale `j` (0 .. scaleVec - 1) of row m of A, or column n of B, lies:
/// a byte of a cell. The same byte is at lanes + 32, + 64 and + 96.
struct ScaleCell {
  TmemCell cell;
  uint8_t byte;
};
ScaleCell scaleCell(unsigned row, unsigned j, unsigned scaleVec,
                    unsigned dataId);

/// The scales of B under cta_group::2 with M = 128, where N is split: the lower
/// half of N is in lanes 0..63, the upper half in lanes 64..127, each
/// replicated twice.
ScaleCell splitScaleCell(unsigned n, unsigned N, unsigned j, unsigned scaleVec,
                         unsigned dataId);

} // namespace kvq::emu::tc

#endif // KVQ_EMULATOR_TENSORCORE_TENSORMEMORY_H
