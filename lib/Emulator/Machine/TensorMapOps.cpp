//===- TensorMapOps.cpp - tensormap.replace and cp_fenceproxy -------------===//

#include "kvq/Emulator/Machine/BulkCopy.h"
#include "kvq/Emulator/Machine/TensorMapLayout.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;

namespace {

struct ReplaceExtra : OpExtra {
  ExtraAddress map;
  TensorMapField field;
  Operand ordinal, value;
};

void replaceField(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &extra = *static_cast<const ReplaceExtra *>(op.extra);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    Location location;
    if (!locate(warp, op, lane, extra.map.space, extra.map.value(warp, lane),
                128, 64, location))
      return;
    noteAccess(warp, op, lane, location, 128, AccessKind::Write);
    uint64_t value = warp.values(extra.value)[lane];
    unsigned ordinal = static_cast<unsigned>(warp.values(extra.ordinal)[lane]);
    if (!replaceTensorMapField(location.host, extra.field, ordinal, value)) {
      warp.report(
          FindingKind::IllegalOperand, op, lane, location.shown,
          llvm::formatv("{0} is not a value of this field", value).str(), true);
      return;
    }
  }
  warp.launch.progress();
}

struct CopyMapExtra : OpExtra {
  ExtraAddress to, from;
};

void copyMap(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &extra = *static_cast<const CopyMapExtra *>(op.extra);
  if (!warp.convergeAligned(op, lanes))
    return;
  unsigned lane = llvm::countr_zero(lanes);
  Location to, from;
  if (!locate(warp, op, lane, extra.to.space, extra.to.value(warp, lane), 128,
              128, to) ||
      !locate(warp, op, lane, extra.from.space, extra.from.value(warp, lane),
              128, 128, from))
    return;
  noteAccess(warp, op, lane, from, 128, AccessKind::Read);
  noteAccess(warp, op, lane, to, 128, AccessKind::Write);
  memcpy(to.host, from.host, 128);
  // It is the releasing half of a proxy fence, too.
  if (warp.launch.checkRaces) {
    warp.launch.races.fence(warp, lanes, MemoryOrder::Release,
                            MemoryScope::Gpu);
    warp.launch.races.cover(warp, lanes, Visibility::Base,
                            Visibility::MapReleased);
  }
  warp.launch.progress();
}

} // namespace

static llvm::Error decodeReplace(Decoder &decoder,
                                 const ptx::Instruction &inst) {
  static const std::pair<Mod, TensorMapField> fields[] = {
      {Mod::GlobalAddress, TensorMapField::GlobalAddress},
      {Mod::Rank, TensorMapField::Rank},
      {Mod::BoxDim, TensorMapField::BoxDim},
      {Mod::GlobalDim, TensorMapField::GlobalDim},
      {Mod::GlobalStride, TensorMapField::GlobalStride},
      {Mod::ElementStride, TensorMapField::ElementStride},
      {Mod::Elemtype, TensorMapField::Elemtype},
      {Mod::InterleaveLayout, TensorMapField::InterleaveLayout},
      {Mod::SwizzleMode, TensorMapField::SwizzleMode},
      {Mod::SwizzleAtomicity, TensorMapField::SwizzleAtomicity},
      {Mod::FillMode, TensorMapField::FillMode}};
  auto *extra = decoder.newExtra<ReplaceExtra>();
  bool found = false;
  for (auto [word, field] : fields)
    if (inst.mods.has(word)) {
      extra->field = field;
      found = true;
    }
  const auto &operands = inst.operands;
  if (!found || operands.size() < 2 || operands.size() > 3)
    return decoder.unsupported(inst);
  auto map =
      decodeAddress(decoder, inst, operands[0], toSpace(inst.mods.space()));
  if (!map)
    return map.takeError();
  extra->map = ExtraAddress::from(*map);
  extra->ordinal = operands.size() == 3 ? decoder.source(operands[1], 32)
                                        : decoder.constant(0);
  extra->value =
      decoder.source(operands.back(), ptx::getBits(inst.mods.type(1)));
  decoder.emit(inst, replaceField, InstructionClass::AsyncCopy, {}, {}).extra =
      extra;
  return llvm::Error::success();
}

llvm::Error kvq::emu::decodeTensorMapOp(Decoder &decoder,
                                        const ptx::Instruction &inst) {
  if (inst.opcode == Opcode::TensormapReplace)
    return decodeReplace(decoder, inst);
  const auto &operands = inst.operands;
  auto *extra = decoder.newExtra<CopyMapExtra>();
  auto to = decodeAddress(decoder, inst, operands[0], Space::Global);
  if (!to)
    return to.takeError();
  auto from = decodeAddress(decoder, inst, operands[1], Space::Shared);
  if (!from)
    return from.takeError();
  extra->to = ExtraAddress::from(*to);
  extra->from = ExtraAddress::from(*from);
  decoder.emit(inst, copyMap, InstructionClass::AsyncCopy, {}, {}).extra =
      extra;
  return llvm::Error::success();
}
