//===- TensorMultiply.cpp - tcgen05 mma, cp and commit --------------------===//

#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/MBarrier.h"
#include "kvq/Emulator/Machine/TensorProduct.h"
#include "kvq/Emulator/TensorCore/OperandLayout.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;
using tc::InstructionDescriptor;
using tc::MatrixDescriptor;
using tc::MmaKind;

namespace {

bool hasPair(Warp &warp, const Op &op, unsigned lane, unsigned ctaGroup) {
  if (ctaGroup == 1 || (warp.cta.rank | 1u) < warp.cta.cluster.ctas.size())
    return true;
  warp.report(FindingKind::IllegalOperand, op, lane, 0,
              "cta_group::2 in a cluster without a pair of CTAs", true);
  return false;
}

void multiply(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &extra = *static_cast<const TensorProductExtra *>(op.extra);
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
    TensorProduct work;
    work.warp = &warp;
    work.op = &op;
    work.lane = lane;
    work.extra = &extra;
    work.instruction = *instruction;
    work.d = static_cast<uint32_t>(extra.d.value(warp, lane));
    if (!checkTensorColumn(warp, op, lane, work.d, 2, "the accumulator"))
      return;
    if (extra.shiftA && instruction->m < 128)
      return illegal(llvm::createStringError(
          ".ashift needs M = 128 or 256, and M is %u", instruction->m));
    if (extra.aInTensor) {
      work.a = static_cast<uint32_t>(extra.a.value(warp, lane));
      if (extra.kind == MmaKind::F16 &&
          !checkTensorColumn(warp, op, lane, work.a, 4, "operand A"))
        return;
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
      if (!checkTensorColumn(warp, op, lane, work.sfa, 2, "scales of A") ||
          !checkTensorColumn(warp, op, lane, work.sfb, 2, "scales of B"))
        return;
    }
    if (!extra.zeroColumns.isNone()) {
      llvm::Expected<tc::ZeroColumns> zero = tc::decodeZeroColumns(
          value(extra.zeroColumns), instruction->m, instruction->n);
      if (!zero)
        return illegal(zero.takeError());
      work.zero = std::move(*zero);
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
    if (extra.shape == tc::CopyShape::S128x256b &&
        !checkTensorColumn(warp, op, lane, address, 4, "the copy's target"))
      return;
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
        noteTensorCopy(warp, op, lane, cta, tc::cellAt(address), extra.shape,
                       stamp);
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

/// tcgen05.shift.down: of 8 columns (32 bytes) each of 32 lanes but the last
/// goes to the next lane. The PTX document does not say more, and no use of it
/// is known, so that the direction is a reading of "downwards".
struct ShiftExtra : OpExtra {
  unsigned ctaGroup = 1;
  ExtraAddress address;
};

void shiftDown(Warp &warp, const Op &op, LaneMask lanes) {
  constexpr unsigned columns = 8, rows = 32;
  const auto &extra = *static_cast<const ShiftExtra *>(op.extra);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    if (!hasPair(warp, op, lane, extra.ctaGroup))
      return;
    uint32_t address = static_cast<uint32_t>(extra.address.value(warp, lane));
    tc::TmemCell base = tc::cellAt(address);
    if (base.lane % rows) {
      warp.report(
          FindingKind::TensorMemory, op, lane, address,
          llvm::formatv("lane {0} is no multiple of 32", base.lane).str(),
          true);
      return;
    }
    llvm::SmallVector<Cta *, 2> ctas;
    for (unsigned index = 0; index < extra.ctaGroup; ++index) {
      Cta &own = warp.cta;
      ctas.push_back(extra.ctaGroup == 1
                         ? &own
                         : own.cluster.ctas[(own.rank & ~1u) + index].get());
      if (!ctas.back()->tensor.areAllocated(base.lane, base.column, columns)) {
        warp.report(FindingKind::TensorMemory, op, lane, address,
                    llvm::formatv("columns {0} to {1} of tensor memory are not "
                                  "all allocated",
                                  base.column, base.column + columns - 1)
                        .str(),
                    true);
        return;
      }
    }
    if (warp.launch.checkRaces) {
      Stamp stamp = HappensBefore::tensorCoreStamp(warp, lane);
      for (Cta *cta : ctas)
        for (unsigned half = base.lane / 16; half < (base.lane + rows) / 16;
             ++half)
          warp.launch.races.accessTensor(warp, op, lane, *cta, half,
                                         base.column, columns, /*write=*/true,
                                         TensorRole::Shift, 0, stamp);
    }
    Warp *self = &warp;
    startOrderedWork(warp, lane, [=] {
      for (Cta *cta : ctas) {
        TensorMemoryState &tensor = cta->tensor;
        for (unsigned row = base.lane + rows - 1; row > base.lane; --row)
          for (unsigned c = base.column; c < base.column + columns; ++c)
            if (tensor.isWritten(row - 1, c))
              tensor.write(row, c, tensor.read(row - 1, c));
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

static llvm::Error decodeProduct(Decoder &decoder,
                                 const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  auto *extra = decoder.newExtra<TensorProductExtra>();
  std::optional<MmaKind> kind = kindOf(mods);
  bool scaled = mods.has(Mod::BlockScale);
  if (!kind || scaled != tc::isBlockScaled(*kind))
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
  extra->shiftA = mods.has(Mod::Ashift);
  if (extra->shiftA && (!extra->aInTensor || mods.has(Mod::CollectorAUse) ||
                        mods.has(Mod::CollectorAFill)))
    return decoder.error(inst, ".ashift needs A in tensor memory and does not "
                               "go with .collector::a::use or ::fill");
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
    if (extra->ws) {
      extra->zeroColumns = decoder.source(operands[next], 64);
      decoder.emit(inst, multiply, InstructionClass::Tensor, {}, {}).extra =
          extra;
      return llvm::Error::success();
    }
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
    return decodeProduct(decoder, inst);
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
  case Opcode::Tcgen05Shift: {
    auto *extra = decoder.newExtra<ShiftExtra>();
    extra->ctaGroup = mods.ctaGroup ? mods.ctaGroup : 1;
    auto address = decodeAddress(decoder, inst, operands[0], Space::Tensor);
    if (!address)
      return address.takeError();
    extra->address = ExtraAddress::from(*address);
    decoder.emit(inst, shiftDown, InstructionClass::Tensor, {}, {}).extra =
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
