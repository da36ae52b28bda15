//===- ClusterControlOps.cpp - Taking over clusters not yet launched ------===//

#include "kvq/Emulator/Machine/BulkCopy.h"
#include "kvq/Emulator/Machine/Lanes.h"
#include "kvq/Emulator/Machine/MBarrier.h"

using namespace kvq::emu;
using ptx::Mod;
using ptx::Opcode;

namespace {

/// The 16 bytes that a request answers with; PTX leaves their form open.
struct Response {
  uint32_t x = 0, y = 0, z = 0, canceled = 0;
};
static_assert(sizeof(Response) == 16);

struct CancelExtra : OpExtra {
  ExtraAddress to, barrier;
  bool multicast = false;
};

/// Asks for the next cluster of the grid: it will not run then.
Response takeCluster(Launch &launch) {
  Response response;
  std::optional<uint64_t> cluster = launch.grid.takeCluster();
  if (!cluster)
    return response;
  launch.grid.finish(*cluster, ClusterResult(), 0);
  Dim3 id = launch.grid.clusterId(*cluster);
  const Dim3 &shape = launch.clusterShape;
  return {id.x * shape.x, id.y * shape.y, id.z * shape.z, 1};
}

void tryCancel(Warp &warp, const Op &op, LaneMask lanes) {
  const auto &extra = *static_cast<const CancelExtra *>(op.extra);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    uint64_t address = stripWindow(extra.to.value(warp, lane)),
             barrier = stripWindow(extra.barrier.value(warp, lane));
    llvm::SmallVector<std::pair<uint64_t, uint64_t>, 16> targets;
    if (extra.multicast)
      for (unsigned rank = 0; rank < warp.cta.cluster.ctas.size(); ++rank)
        targets.push_back({inRank(address, rank), inRank(barrier, rank)});
    else
      targets.push_back({address, barrier});
    struct Target {
      Location to, signal;
      CopyStamps stamps;
    };
    std::vector<Target> located;
    for (auto [place, signal] : targets) {
      Target target;
      if (!locate(warp, op, lane, Space::SharedCluster, place, sizeof(Response),
                  sizeof(Response), target.to) ||
          !locateMBarrier(warp, op, lane, Space::SharedCluster, signal,
                          target.signal))
        return;
      target.stamps = signalledStamps(warp, lane);
      noteAsync(warp, op, lane, target.to, sizeof(Response), AccessKind::Write,
                target.stamps.write);
      located.push_back(target);
    }
    Warp *self = &warp;
    const Op *where = &op;
    startWork(warp, lane, -1, [=] {
      Response response = takeCluster(self->launch);
      for (const Target &target : located) {
        noteWritten(*self, *where, lane, target.to, sizeof(Response),
                    AccessKind::Write);
        memcpy(target.to.host, &response, sizeof(Response));
        completeWork(*self, target.signal.host, sizeof(Response),
                     target.stamps.write);
      }
      self->launch.progress();
    });
  }
}

/// A response in a 128-bit register.
Response responseOf(const Warp &warp, const Op &op, unsigned lane) {
  const uint64_t *words = warp.values(op.src(0));
  Response response;
  memcpy(&response, &words[lane], 8);
  memcpy(&response.z, &words[lane + warpSize], 8);
  return response;
}

void isCanceled(Warp &warp, const Op &op, LaneMask lanes) {
  warp.setPredicate(op.dst(), lanes, lanesWhere(lanes, [&](unsigned lane) {
                      return responseOf(warp, op, lane).canceled;
                    }));
}

/// Op: a the first coordinate, count how many.
void firstCta(Warp &warp, const Op &op, LaneMask lanes) {
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    Response response = responseOf(warp, op, lane);
    if (!response.canceled) {
      warp.report(FindingKind::IllegalOperand, op, lane, 0,
                  "asks for the first CTA of a request that canceled nothing",
                  true);
      return;
    }
    const uint32_t coordinates[4] = {response.x, response.y, response.z, 0};
    for (unsigned i = 0; i < op.count; ++i)
      warp.destination(op.dst(i))[lane] = coordinates[op.a + i];
  }
}

} // namespace

llvm::Error kvq::emu::decodeClusterLaunchControl(Decoder &decoder,
                                                 const ptx::Instruction &inst) {
  const ptx::Modifiers &mods = inst.mods;
  const auto &operands = inst.operands;
  if (operands.size() != 2)
    return decoder.unsupported(inst);
  if (inst.opcode == Opcode::ClusterLaunchControlTryCancel) {
    auto to = decodeAddress(decoder, inst, operands[0], Space::SharedCluster);
    if (!to)
      return to.takeError();
    auto barrier =
        decodeAddress(decoder, inst, operands[1], Space::SharedCluster);
    if (!barrier)
      return barrier.takeError();
    auto *extra = decoder.newExtra<CancelExtra>();
    extra->to = ExtraAddress::from(*to);
    extra->barrier = ExtraAddress::from(*barrier);
    extra->multicast = mods.has(Mod::MulticastClusterAll);
    decoder.emit(inst, tryCancel, InstructionClass::AsyncCopy, {}, {}).extra =
        extra;
    return llvm::Error::success();
  }
  if (!operands[1].isRegister())
    return decoder.unsupported(inst);
  Operand response = decoder.source(operands[1], 128);
  if (response.bits != 128)
    return decoder.error(inst, "the response is in a 128-bit register");
  if (mods.has(Mod::IsCanceled)) {
    decoder.emit(inst, isCanceled, InstructionClass::Other,
                 decoder.destination(operands[0], 1), response);
    return llvm::Error::success();
  }
  llvm::SmallVector<Operand, 4> dst;
  if (operands[0].kind == ptx::OperandKind::Vector)
    for (const ptx::Operand &element : decoder.elements(operands[0]))
      dst.push_back(decoder.destination(element, 32));
  else
    dst.push_back(decoder.destination(operands[0], 32));
  bool all = mods.has(Mod::GetFirstCtaid);
  bool x = mods.has(Mod::GetFirstCtaidX), y = mods.has(Mod::GetFirstCtaidY);
  if (!all && !x && !y && !mods.has(Mod::GetFirstCtaidZ))
    return decoder.unsupported(inst);
  if (dst.size() != (all ? 4u : 1u))
    return decoder.unsupported(inst);
  Op &op = decoder.emit(inst, firstCta, InstructionClass::Other, dst, response);
  op.a = all || x ? 0 : y ? 1 : 2;
  op.count = static_cast<uint8_t>(dst.size());
  return llvm::Error::success();
}
