//===- TensorMultiply.cpp - tcgen05 mma, cp and commit --------------------===//

#include "kvq/Emulator/Machine/BulkCopy.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/MBarrier.h"
#include "kvq/Emulator/TensorCore/Multiply.h"
#include "kvq/Emulator/TensorCore/OperandLayout.h"
#include "llvm/Support/FormatVariadic.h"
#include <bitset>

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;
using tc::InstructionDescriptor;
using tc::MatrixDescriptor;
using tc::MmaKind;
using tc::MmaType;

namespace {

struct MmaExtra : OpExtra {
  MmaKind kind = MmaKind::F16;
  unsigned ctaGroup = 1, scaleVec = 0, inputShift = 0;
  bool ws = false, aInTensor = false;
  ExtraAddress d, a, sfa, sfb;
  Operand aDescriptor, bDescriptor, instruction, enable, zeroColumns;
  llvm::SmallVector<Operand, 8> mask;
};

/// Cells of tensor memory as runs of columns of 16 lanes each.
struct TensorFootprint {
  std::array<std::array<std::bitset<tc::tmemColumns>, 8>, 2> cells;

  void add(unsigned cta, unsigned lane, unsigned column) {
    if (lane < tc::tmemLanes && column < tc::tmemColumns)
      cells[cta][lane / 16].set(column);
  }
};

/// One tcgen05.mma with the values that its thread gave.
struct MmaWork {
  Warp *warp;
  const Op *op;
  unsigned lane;
  const MmaExtra *extra;
  InstructionDescriptor instruction;
  uint32_t d = 0, a = 0, sfa = 0, sfb = 0;
  MatrixDescriptor aMatrix, bMatrix;
  bool accumulate = false;
  std::array<uint32_t, 8> mask{};
  Stamp stamp;

  void perform() const;
  /// Tells the race check what the product will read and write.
  void noteAccesses() const;

private:
  /// The CTA of the group with this index.
  Cta &cta(unsigned index) const {
    Cta &own = warp->cta;
    return extra->ctaGroup == 1 ? own
                                : *own.cluster.ctas[(own.rank & ~1u) + index];
  }
  /// Checks the cells, and forgets them.
  void report(TensorFootprint &cells, bool write, TensorRole role) const;
  bool fail(FindingKind kind, uint64_t address, const std::string &text) const {
    warp->report(kind, *op, lane, address, text, true);
    return false;
  }
  bool readShared(const MatrixDescriptor &matrix, bool mnMajor,
                  tc::MmaType type, unsigned rows, unsigned ctaIndex,
                  double *out, unsigned rowStride, unsigned kStride) const;
  bool readTensor(Cta &from, unsigned lane, unsigned column,
                  uint32_t &word) const;
  bool readA(double *out) const;
  bool readScales(bool isA, std::vector<double> &scales) const;
};

bool MmaWork::readShared(const MatrixDescriptor &matrix, bool mnMajor,
                         tc::MmaType type, unsigned rows, unsigned ctaIndex,
                         double *out, unsigned rowStride,
                         unsigned kStride) const {
  Cta &from = cta(ctaIndex);
  auto read = [&](uint32_t address) -> const uint8_t * {
    Location location;
    uint64_t full = inRank(address, from.rank);
    if (!locate(*warp, *op, lane, Space::SharedCluster, full, tc::chunkBytes,
                tc::chunkBytes, location))
      return nullptr;
    tc::ElementPacking packing = tc::sharedPacking(instruction.kind, type);
    // Padded chunks hold data in their first bytes only.
    unsigned used = packing.dense || packing.perChunk() != 16        ? 16
                    : type == MmaType::E2M1                          ? 8
                    : type == MmaType::E2M3 || type == MmaType::E3M2 ? 12
                                                                     : 16;
    noteWritten(*warp, *op, lane, location, used, AccessKind::Read);
    return location.host;
  };
  return tc::readOperand(matrix, mnMajor,
                         tc::sharedPacking(instruction.kind, type), rows,
                         instruction.k, read, out, rowStride, kStride);
}

bool MmaWork::readTensor(Cta &from, unsigned row, unsigned column,
                         uint32_t &word) const {
  if (row >= tc::tmemLanes || !from.tensor.isAllocated(column))
    return fail(FindingKind::TensorMemory, column,
                llvm::formatv("lane {0}, column {1} of tensor memory is not "
                              "allocated",
                              row, column));
  if (warp->launch.checkWritten && !from.tensor.isWritten(row, column))
    warp->report(FindingKind::Uninitialized, *op, lane, column,
                 llvm::formatv("reads lane {0}, column {1} of tensor memory, "
                               "which nothing has written",
                               row, column)
                     .str(),
                 false);
  word = from.tensor.read(row, column);
  return true;
}

double decodeElement(MmaType type, uint32_t bits, unsigned width) {
  switch (type) {
  case MmaType::S8:
    return int8_t(bits);
  case MmaType::U8:
    return uint8_t(bits);
  case MmaType::F16:
    return num::toDouble(num::Format::F16, bits & 0xffff);
  case MmaType::BF16:
    return num::toDouble(num::Format::BF16, bits & 0xffff);
  case MmaType::TF32:
    return num::toDouble(num::Format::TF32, bits);
  case MmaType::E4M3:
    return num::toDouble(num::Format::E4M3, bits & 0xff);
  case MmaType::E5M2:
    return num::toDouble(num::Format::E5M2, bits & 0xff);
  case MmaType::E2M3:
    return num::toDouble(num::Format::E2M3, bits & 0x3f);
  case MmaType::E3M2:
    return num::toDouble(num::Format::E3M2, bits & 0x3f);
  default:
    // E2M1 sits in the middle of a byte, or is packed two to a byte.
    return num::toDouble(num::Format::E2M1,
                         width == 8 ? bits >> 2 & 0xf : bits & 0xf);
  }
}

bool MmaWork::readA(double *out) const {
  unsigned m = instruction.m, k = instruction.k, groups = extra->ctaGroup;
  if (!extra->aInTensor) {
    unsigned rows = m / groups;
    for (unsigned index = 0; index < groups; ++index)
      if (!readShared(aMatrix, instruction.transposeA, instruction.a, rows,
                      index, out + size_t(index) * rows * k, k, 1))
        return false;
    return true;
  }
  tc::DataPath path = tc::dataPathOf(instruction, groups, extra->ws);
  unsigned width = tc::tmemElementBits(instruction.kind, instruction.a);
  tc::TmemCell base = tc::cellAt(a);
  for (unsigned row = 0; row < m; ++row)
    for (unsigned col = 0; col < k; ++col) {
      tc::OperandCell at = tc::operandCell(path, row, col, width);
      uint32_t word;
      if (!readTensor(cta(at.cta), base.lane + at.cell.lane,
                      base.column + at.cell.column, word))
        return false;
      out[row * k + col] = decodeElement(instruction.a, word >> at.bit, width);
    }
  return true;
}

bool MmaWork::readScales(bool isA, std::vector<double> &scales) const {
  unsigned lines = isA ? instruction.m : instruction.n;
  unsigned vec = extra->scaleVec, groups = extra->ctaGroup;
  unsigned id = isA ? instruction.sfaId : instruction.sfbId;
  tc::TmemCell base = tc::cellAt(isA ? sfa : sfb);
  scales.resize(size_t(lines) * vec);
  for (unsigned line = 0; line < lines; ++line)
    for (unsigned j = 0; j < vec; ++j) {
      unsigned index = 0, row = line;
      if (isA && groups == 2) {
        index = line / (lines / 2);
        row = line % (lines / 2);
      }
      tc::ScaleCell at = !isA && groups == 2 && instruction.m == 128
                             ? tc::splitScaleCell(line, lines, j, vec, id)
                             : tc::scaleCell(row, j, vec, id);
      uint32_t word;
      if (!readTensor(cta(index), base.lane + at.cell.lane,
                      base.column + at.cell.column, word))
        return false;
      scales[size_t(line) * vec + j] =
          num::toDouble(instruction.scaleFormat, word >> 8 * at.byte & 0xff);
    }
  return true;
}

void MmaWork::perform() const {
  if (warp->launch.stopped())
    return;
  unsigned m = instruction.m, n = instruction.n, k = instruction.k;
  unsigned groups = extra->ctaGroup;
  std::vector<double> aValues(size_t(m) * k), bValues(size_t(k) * n),
      acc(size_t(m) * n);
  if (!readA(aValues.data()))
    return;
  for (unsigned index = 0; index < groups; ++index)
    if (!readShared(bMatrix, instruction.transposeB, instruction.b, n / groups,
                    index, bValues.data() + index * (n / groups), 1, n))
      return;
  if (extra->scaleVec) {
    std::vector<double> scales;
    if (!readScales(true, scales))
      return;
    tc::applyScales(aValues.data(), m, k, k, 1, scales.data(), extra->scaleVec);
    if (!readScales(false, scales))
      return;
    tc::applyScales(bValues.data(), n, k, 1, n, scales.data(), extra->scaleVec);
  }
  tc::DataPath path = tc::dataPathOf(instruction, groups, extra->ws);
  tc::TmemCell base = tc::cellAt(d);
  auto place = [&](unsigned row, unsigned col) {
    tc::AccumulatorCell at = tc::accumulatorCell(path, row, col, n);
    at.cell.lane = static_cast<uint16_t>(at.cell.lane + base.lane);
    at.cell.column = static_cast<uint16_t>(at.cell.column + base.column);
    return at;
  };
  for (unsigned row = 0; row < m; ++row)
    for (unsigned col = 0; col < n; ++col) {
      tc::AccumulatorCell at = place(row, col);
      uint32_t word = 0;
      if (accumulate) {
        if (!readTensor(cta(at.cta), at.cell.lane, at.cell.column, word))
          return;
        acc[size_t(row) * n + col] = tc::decodeAccumulator(instruction.d, word);
      } else if (at.cell.lane >= tc::tmemLanes ||
                 !cta(at.cta).tensor.isAllocated(at.cell.column)) {
        fail(FindingKind::TensorMemory, d,
             llvm::formatv("lane {0}, column {1} of the accumulator is not "
                           "allocated",
                           at.cell.lane, at.cell.column));
        return;
      }
    }
  tc::multiply(instruction, m, n, aValues.data(), bValues.data(), acc.data(),
               accumulate, extra->inputShift);
  for (unsigned row = 0; row < m; ++row)
    for (unsigned col = 0; col < n; ++col) {
      tc::AccumulatorCell at = place(row, col);
      unsigned maskBit = at.cell.lane + 128u * at.cta;
      if (mask[maskBit / 32] >> maskBit % 32 & 1)
        continue;
      cta(at.cta).tensor.write(at.cell.lane, at.cell.column,
                               tc::encodeAccumulator(instruction.d,
                                                     acc[size_t(row) * n + col],
                                                     instruction.saturate));
    }
  TensorCounts operands;
  // Every kind takes 32 bytes of K per row.
  (extra->aInTensor ? operands.tensorMemoryBytes : operands.sharedBytes) +=
      32 * m;
  operands.sharedBytes += 32 * n;
  operands.tensorMemoryBytes += extra->scaleVec * (m + n);
  llvm::StringRef kind = tc::kindName(instruction.kind);
  warp->launch.counters.addTensor(
      {"tcgen05", kind.drop_front(strlen("kind::")), m, n, k}, operands);
  warp->launch.progress();
}

void MmaWork::report(TensorFootprint &footprint, bool write,
                     TensorRole role) const {
  // Products into one accumulator of one shape keep their order.
  uint32_t shape =
      d ^ instruction.m << 9 ^ instruction.n << 20 ^ uint32_t(extra->ws) << 31;
  for (unsigned index = 0; index < extra->ctaGroup; ++index)
    for (unsigned half = 0; half < 8; ++half) {
      auto &columns = footprint.cells[index][half];
      for (unsigned c = 0; c < tc::tmemColumns; ++c) {
        if (!columns[c])
          continue;
        unsigned end = c;
        while (end < tc::tmemColumns && columns[end])
          ++end;
        warp->launch.races.accessTensor(*warp, *op, lane, cta(index), half, c,
                                        end - c, write, role, shape, stamp);
        c = end;
      }
      columns.reset();
    }
}

void MmaWork::noteAccesses() const {
  unsigned groups = extra->ctaGroup;
  auto shared = [&](const MatrixDescriptor &matrix, bool mnMajor,
                    tc::MmaType type, unsigned rows, unsigned index) {
    unsigned per = tc::sharedPacking(instruction.kind, type).perChunk();
    unsigned lines = mnMajor ? instruction.k : rows;
    unsigned length = mnMajor ? rows : instruction.k;
    Cta &from = cta(index);
    for (unsigned line = 0; line < lines; ++line)
      for (unsigned first = 0; first < length; first += per) {
        Location location;
        uint64_t address = inRank(
            tc::chunkAddress(matrix, mnMajor, line, first / per), from.rank);
        if (warp->launch.stopped() ||
            !locate(*warp, *op, lane, Space::SharedCluster, address,
                    tc::chunkBytes, tc::chunkBytes, location))
          return;
        noteAsync(*warp, *op, lane, location, tc::chunkBytes, AccessKind::Read,
                  stamp);
      }
  };
  /// Cells of tensor memory: runs of columns in 16 lanes.
  TensorFootprint cells;
  for (unsigned index = 0; index < groups; ++index) {
    if (!extra->aInTensor)
      shared(aMatrix, instruction.transposeA, instruction.a,
             instruction.m / groups, index);
    shared(bMatrix, instruction.transposeB, instruction.b,
           instruction.n / groups, index);
  }
  tc::DataPath path = tc::dataPathOf(instruction, groups, extra->ws);
  if (extra->aInTensor) {
    unsigned width = tc::tmemElementBits(instruction.kind, instruction.a);
    tc::TmemCell base = tc::cellAt(a);
    for (unsigned row = 0; row < instruction.m; row += 16)
      for (unsigned col = 0; col < instruction.k; ++col) {
        tc::OperandCell at = tc::operandCell(path, row, col, width);
        cells.add(at.cta, base.lane + at.cell.lane,
                  base.column + at.cell.column);
      }
    report(cells, /*write=*/false, TensorRole::Operand);
  }
  if (extra->scaleVec)
    for (bool isA : {true, false}) {
      tc::TmemCell base = tc::cellAt(isA ? sfa : sfb);
      unsigned lines = isA ? instruction.m : instruction.n;
      for (unsigned index = 0; index < groups; ++index)
        for (unsigned line = 0; line < lines; line += 16)
          // The bytes are replicated in each quarter of the lanes.
          for (unsigned quarter = 0; quarter < 4; ++quarter) {
            unsigned row = isA ? line % (lines / groups) : line;
            tc::ScaleCell at =
                tc::scaleCell(row, 0, extra->scaleVec,
                              isA ? instruction.sfaId : instruction.sfbId);
            cells.add(index, 32 * quarter + (base.lane + at.cell.lane) % 32,
                      base.column + at.cell.column);
          }
      report(cells, /*write=*/false, TensorRole::Operand);
    }
  tc::TmemCell base = tc::cellAt(d);
  for (unsigned row = 0; row < instruction.m; row += 16)
    for (unsigned col = 0; col < instruction.n; ++col) {
      tc::AccumulatorCell at =
          tc::accumulatorCell(path, row, col, instruction.n);
      cells.add(at.cta, base.lane + at.cell.lane, base.column + at.cell.column);
    }
  report(cells, /*write=*/true, TensorRole::Accumulator);
}

bool hasPair(Warp &warp, const Op &op, unsigned lane, unsigned ctaGroup) {
  if (ctaGroup == 1 || (warp.cta.rank | 1u) < warp.cta.cluster.ctas.size())
    return true;
  warp.report(FindingKind::IllegalOperand, op, lane, 0,
              "cta_group::2 in a cluster without a pair of CTAs", true);
  return false;
}

void multiply(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &extra = *static_cast<const MmaExtra *>(op.extra);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    auto value = [&](const Operand &operand) {
      return warp.values(operand)[lane];
    };
    auto illegal = [&](llvm::Error error) {
      warp.report(FindingKind::IllegalOperand, op, lane, 0,
                  llvm::toString(std::move(error)), true);
    };
    if (!hasPair(warp, op, lane, extra.ctaGroup))
      return;
    llvm::Expected<InstructionDescriptor> instruction = tc::decodeInstruction(
        static_cast<uint32_t>(value(extra.instruction)), extra.kind,
        extra.ctaGroup, extra.ws, extra.scaleVec);
    if (!instruction)
      return illegal(instruction.takeError());
    MmaWork work;
    work.warp = &warp;
    work.op = &op;
    work.lane = lane;
    work.extra = &extra;
    work.instruction = *instruction;
    work.d = static_cast<uint32_t>(extra.d.value(warp, lane));
    if (extra.aInTensor) {
      work.a = static_cast<uint32_t>(extra.a.value(warp, lane));
    } else {
      llvm::Expected<MatrixDescriptor> matrix =
          tc::decodeMatrix(value(extra.aDescriptor));
      if (!matrix)
        return illegal(matrix.takeError());
      work.aMatrix = *matrix;
      if (llvm::Error error = tc::checkOperand(*instruction, *matrix, true))
        return illegal(std::move(error));
    }
    llvm::Expected<MatrixDescriptor> matrix =
        tc::decodeMatrix(value(extra.bDescriptor));
    if (!matrix)
      return illegal(matrix.takeError());
    work.bMatrix = *matrix;
    if (llvm::Error error = tc::checkOperand(*instruction, *matrix, false))
      return illegal(std::move(error));
    if (extra.scaleVec) {
      work.sfa = static_cast<uint32_t>(extra.sfa.value(warp, lane));
      work.sfb = static_cast<uint32_t>(extra.sfb.value(warp, lane));
    }
    for (size_t i = 0; i < extra.mask.size(); ++i)
      work.mask[i] = static_cast<uint32_t>(value(extra.mask[i]));
    work.accumulate = warp.predicate(extra.enable) >> lane & 1;
    if (warp.launch.checkRaces) {
      work.stamp = HappensBefore::tensorCoreStamp(warp, lane);
      work.noteAccesses();
    }
    startOrderedWork(warp, lane, [work] { work.perform(); });
  }
}

//===----------------------------------------------------------------------===//
// cp and commit
//===----------------------------------------------------------------------===//

/// Tells the race check of the cells that a copy fills.
void noteCopy(Warp &warp, const Op &op, unsigned lane, Cta &cta,
              tc::TmemCell base, tc::CopyShape shape, Stamp stamp) {
  std::array<bool, 8> halves{};
  for (unsigned row = 0; row < tc::copyRows(shape); ++row)
    for (uint16_t target : tc::copyLanes(shape, row))
      if (unsigned to = base.lane + target; to < tc::tmemLanes)
        halves[to / 16] = true;
  for (unsigned half = 0; half < halves.size(); ++half)
    if (halves[half])
      warp.launch.races.accessTensor(warp, op, lane, cta, half, base.column,
                                     tc::copyColumns(shape), /*write=*/true,
                                     TensorRole::Copy, 0, stamp);
}

struct CopyExtra : OpExtra {
  tc::CopyShape shape = tc::CopyShape::S128x256b;
  tc::CopyUnpack unpack = tc::CopyUnpack::None;
  unsigned ctaGroup = 1;
  ExtraAddress to;
  Operand descriptor;
};

void copyToTensor(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &extra = *static_cast<const CopyExtra *>(op.extra);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    if (!hasPair(warp, op, lane, extra.ctaGroup))
      return;
    llvm::Expected<MatrixDescriptor> decoded =
        tc::decodeMatrix(warp.values(extra.descriptor)[lane]);
    if (!decoded) {
      warp.report(FindingKind::IllegalOperand, op, lane, 0,
                  llvm::toString(decoded.takeError()), true);
      return;
    }
    MatrixDescriptor matrix = *decoded;
    uint32_t address = static_cast<uint32_t>(extra.to.value(warp, lane));
    Warp *self = &warp;
    const Op *where = &op;
    const CopyExtra *what = &extra;
    unsigned used = extra.unpack == tc::CopyUnpack::None       ? 16
                    : extra.unpack == tc::CopyUnpack::B4x16P64 ? 8
                                                               : 12;
    if (warp.launch.checkRaces) {
      Stamp stamp = HappensBefore::tensorCoreStamp(warp, lane);
      for (unsigned index = 0; index < extra.ctaGroup; ++index) {
        Cta &cta = extra.ctaGroup == 1
                       ? warp.cta
                       : *warp.cta.cluster.ctas[(warp.cta.rank & ~1u) + index];
        for (unsigned row = 0; row < tc::copyRows(extra.shape); ++row)
          for (unsigned chunk = 0; chunk < tc::copyColumns(extra.shape) / 4;
               ++chunk) {
            Location location;
            if (!locate(warp, op, lane, Space::SharedCluster,
                        inRank(tc::chunkAddress(matrix, false, row, chunk),
                               cta.rank),
                        16, 16, location))
              return;
            noteAsync(warp, op, lane, location, used, AccessKind::Read, stamp);
          }
        noteCopy(warp, op, lane, cta, tc::cellAt(address), extra.shape, stamp);
      }
    }
    startOrderedWork(warp, lane, [=] {
      tc::TmemCell base = tc::cellAt(address);
      Cta &own = self->cta;
      for (unsigned index = 0; index < what->ctaGroup; ++index) {
        Cta &cta = what->ctaGroup == 1
                       ? own
                       : *own.cluster.ctas[(own.rank & ~1u) + index];
        for (unsigned row = 0; row < tc::copyRows(what->shape); ++row)
          for (unsigned chunk = 0; chunk < tc::copyColumns(what->shape) / 4;
               ++chunk) {
            uint64_t from = tc::chunkAddress(matrix, false, row, chunk);
            from = inRank(from, cta.rank);
            Location location;
            if (self->launch.stopped() ||
                !locate(*self, *where, lane, Space::SharedCluster, from, 16, 16,
                        location))
              return;
            noteWritten(*self, *where, lane, location, used, AccessKind::Read);
            countTransfer(*self, location, used, /*write=*/false);
            self->launch.counters.tensorMemoryWriteBytes +=
                16 * tc::copyLanes(what->shape, row).size();
            uint32_t columns[4];
            tc::unpackChunk(what->unpack, location.host, columns);
            for (uint16_t target : tc::copyLanes(what->shape, row))
              for (unsigned c = 0; c < 4; ++c) {
                unsigned column = base.column + 4 * chunk + c;
                unsigned to = base.lane + target;
                if (to >= tc::tmemLanes || !cta.tensor.isAllocated(column)) {
                  self->report(FindingKind::TensorMemory, *where, lane, address,
                               llvm::formatv("lane {0}, column {1} of tensor "
                                             "memory is not allocated",
                                             to, column)
                                   .str(),
                               true);
                  return;
                }
                cta.tensor.write(to, column, columns[c]);
              }
          }
      }
      self->launch.progress();
    });
  }
}

struct CommitExtra : OpExtra {
  ExtraAddress barrier;
  Operand mask;
  bool multicast = false;
};

void commit(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &extra = *static_cast<const CommitExtra *>(op.extra);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    uint64_t address = extra.barrier.value(warp, lane);
    if ((address & windowMask) == sharedWindow)
      address &= ~windowMask;
    llvm::SmallVector<uint64_t, 16> targets;
    if (extra.multicast) {
      uint64_t mask = warp.values(extra.mask)[lane] & 0xffff;
      for (unsigned rank = 0; rank < 16; ++rank)
        if (mask >> rank & 1)
          targets.push_back(inRank(address, rank));
    } else {
      targets.push_back(address);
    }
    for (uint64_t target : targets) {
      Location signal;
      if (!locateMBarrier(warp, op, lane, Space::SharedCluster, target, signal))
        return;
      Warp *self = &warp;
      Stamp upTo;
      std::shared_ptr<Knowledge> carried;
      if (warp.launch.checkRaces) {
        // What came before the work comes before its completion.
        upTo = HappensBefore::tensorCoreStamp(warp, lane);
        carried = std::make_shared<Knowledge>();
        warp.launch.races.publish(warp, LaneMask(1) << lane, *carried);
      }
      startOrderedWork(warp, lane, [=] {
        if (self->launch.checkRaces)
          self->launch.races.arriveWork(*self, upTo,
                                        reinterpret_cast<uint64_t>(signal.host),
                                        carried.get());
        arriveOnMBarrier(*self, self->cta, signal.host, 1);
      });
    }
  }
}

std::optional<MmaKind> kindOf(const ptx::Modifiers &mods) {
  static const std::pair<Mod, MmaKind> kinds[] = {
      {Mod::KindF16, MmaKind::F16},           {Mod::KindTf32, MmaKind::TF32},
      {Mod::KindF8f6f4, MmaKind::F8F6F4},     {Mod::KindI8, MmaKind::I8},
      {Mod::KindMxf8f6f4, MmaKind::MXF8F6F4}, {Mod::KindMxf4, MmaKind::MXF4},
      {Mod::KindMxf4nvf4, MmaKind::MXF4NVF4}};
  for (auto [word, kind] : kinds)
    if (mods.has(word))
      return kind;
  return std::nullopt;
}

} // namespace

void kvq::emu::startOrderedWork(Warp &warp, unsigned lane,
                                std::function<void()> perform) {
  if (warp.launch.isEager()) {
    perform();
    return;
  }
  AsyncWork work;
  work.lane = static_cast<uint8_t>(lane);
  work.ordered = true;
  work.perform = std::move(perform);
  warp.asyncCopies.work.push_back(std::move(work));
}

static llvm::Error decodeMma(Decoder &decoder, const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  auto *extra = decoder.newExtra<MmaExtra>();
  std::optional<MmaKind> kind = kindOf(mods);
  bool scaled = mods.has(Mod::BlockScale);
  if (!kind || mods.has(Mod::Ashift) || operands.size() < 5 ||
      scaled != tc::isBlockScaled(*kind))
    return decoder.unsupported(inst);
  extra->kind = *kind;
  extra->ctaGroup = mods.ctaGroup ? mods.ctaGroup : 1;
  extra->ws = inst.opcode == Opcode::Tcgen05MmaWs;
  auto address = [&](const ptx::Operand &operand,
                     ExtraAddress &result) -> llvm::Error {
    auto decoded = decodeAddress(decoder, inst, operand, Space::Tensor);
    if (!decoded)
      return decoded.takeError();
    result = ExtraAddress::from(*decoded);
    return llvm::Error::success();
  };
  if (llvm::Error error = address(operands[0], extra->d))
    return error;
  extra->aInTensor = operands[1].isAddress();
  if (extra->aInTensor) {
    if (llvm::Error error = address(operands[1], extra->a))
      return error;
  } else {
    extra->aDescriptor = decoder.source(operands[1], 64);
  }
  extra->bDescriptor = decoder.source(operands[2], 64);
  extra->instruction = decoder.source(operands[3], 32);
  size_t next = 4;
  if (scaled) {
    bool mx8 = *kind == MmaKind::MXF8F6F4;
    extra->scaleVec = mods.has(Mod::ScaleVec4X) || mods.has(Mod::Block16) ? 4
                      : mods.has(Mod::ScaleVec2X)                         ? 2
                      : mods.has(Mod::ScaleVec1X)                         ? 1
                      : mx8                                               ? 1
                                                                          : 2;
    if (operands.size() < 7)
      return decoder.unsupported(inst);
    if (llvm::Error error = address(operands[4], extra->sfa))
      return error;
    if (llvm::Error error = address(operands[5], extra->sfb))
      return error;
    next = 6;
  } else if (operands[next].kind == ptx::OperandKind::Vector) {
    for (const ptx::Operand &element : decoder.elements(operands[next]))
      extra->mask.push_back(decoder.source(element, 32));
    if (extra->mask.size() != 4 * extra->ctaGroup)
      return decoder.error(inst, "the lane mask has " +
                                     llvm::Twine(4 * extra->ctaGroup) +
                                     " words");
    ++next;
  }
  if (next >= operands.size())
    return decoder.unsupported(inst);
  extra->enable = decoder.predicateSource(operands[next++]);
  if (next < operands.size()) {
    if (extra->ws)
      return decoder.error(inst, "a zero-column mask is not supported");
    auto shift = Decoder::immediate(operands[next]);
    if (!shift || *shift > 15)
      return decoder.error(inst, "scale-input-d must be 0 to 15");
    extra->inputShift = static_cast<unsigned>(*shift);
  }
  decoder.emit(inst, multiply, InstructionClass::Tensor, {}, {}).extra = extra;
  return llvm::Error::success();
}

llvm::Error kvq::emu::decodeTensorMultiply(Decoder &decoder,
                                           const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  decoder.program.usesTensorMemory = true;
  switch (inst.opcode) {
  case Opcode::Tcgen05Mma:
  case Opcode::Tcgen05MmaWs:
    return decodeMma(decoder, inst);
  case Opcode::Tcgen05Cp: {
    auto *extra = decoder.newExtra<CopyExtra>();
    extra->ctaGroup = mods.ctaGroup ? mods.ctaGroup : 1;
    if (mods.has(Mod::S128x256b))
      extra->shape = tc::CopyShape::S128x256b;
    else if (mods.has(Mod::S4x256b))
      extra->shape = tc::CopyShape::S4x256b;
    else if (mods.has(Mod::S128x128b))
      extra->shape = tc::CopyShape::S128x128b;
    else if (mods.has(Mod::S64x128b) && mods.has(Mod::Warpx2x02x13))
      extra->shape = tc::CopyShape::S64x128bWarpx2_02_13;
    else if (mods.has(Mod::S64x128b) && mods.has(Mod::Warpx2x01x23))
      extra->shape = tc::CopyShape::S64x128bWarpx2_01_23;
    else if (mods.has(Mod::S32x128b) && mods.has(Mod::Warpx4))
      extra->shape = tc::CopyShape::S32x128bWarpx4;
    else
      return decoder.unsupported(inst);
    for (ptx::Type type : mods.types)
      extra->unpack = type == ptx::Type::B4x16P64   ? tc::CopyUnpack::B4x16P64
                      : type == ptx::Type::B6x16P32 ? tc::CopyUnpack::B6x16P32
                                                    : extra->unpack;
    auto to = decodeAddress(decoder, inst, operands[0], Space::Tensor);
    if (!to)
      return to.takeError();
    extra->to = ExtraAddress::from(*to);
    extra->descriptor = decoder.source(operands[1], 64);
    decoder.emit(inst, copyToTensor, InstructionClass::Tensor, {}, {}).extra =
        extra;
    return llvm::Error::success();
  }
  case Opcode::Tcgen05Commit: {
    auto *extra = decoder.newExtra<CommitExtra>();
    auto barrier =
        decodeAddress(decoder, inst, operands[0], toSpace(mods.space()));
    if (!barrier)
      return barrier.takeError();
    extra->barrier = ExtraAddress::from(*barrier);
    extra->multicast = mods.has(Mod::MulticastCluster);
    if (extra->multicast)
      extra->mask = decoder.source(operands[1], 16);
    decoder.emit(inst, commit, InstructionClass::Tensor, {}, {}).extra = extra;
    return llvm::Error::success();
  }
  default:
    return decoder.unsupported(inst);
  }
}
