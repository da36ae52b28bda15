//===- Deadlock.cpp - Say who waits for what ------------------------------===//

#include "kvq/Emulator/Machine/Launch.h"
#include "kvq/Emulator/Machine/MBarrier.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace kvq::emu;

/// The mbarrier, its phase and what the phase lacks.
static void describeMBarrier(llvm::raw_ostream &os, const Cluster &cluster,
                             const Group &group) {
  const auto *host = reinterpret_cast<const uint8_t *>(group.key);
  os << "for phase " << group.value << " of the mbarrier at ";
  for (const auto &owner : cluster.ctas) {
    const std::vector<uint8_t> &shared = owner->shared;
    if (host < shared.data() || host >= shared.data() + shared.size())
      continue;
    auto offset = static_cast<uint32_t>(host - shared.data());
    os << llvm::format_hex(owner->sharedAddress(offset), 10);
    if (owner->cluster.ctas.size() > 1)
      os << " in CTA " << owner->linear;
  }
  MBarrierState state = MBarrierState::decode(readBytes(host, 8));
  os << ", which lacks " << state.pending << " of " << state.expected
     << " arrivals and " << state.transactions << " bytes";
}

static void describeWait(llvm::raw_ostream &os, const Cta &cta,
                         const Group &group) {
  switch (group.wait) {
  case Wait::None:
  case Wait::Running:
    if (group.timedOut || group.polls) {
      os << "poll ";
      describeMBarrier(os, cta.cluster, group);
    } else if (group.watch && group.watch->read) {
      os << "repeat themselves, reading "
         << llvm::format_hex(group.watch->address, 10);
    } else {
      os << "repeat themselves";
    }
    break;
  case Wait::WarpSync:
    os << "wait for member mask " << llvm::format_hex(group.key, 10);
    break;
  case Wait::CtaBarrier:
    os << "wait at barrier " << group.key << " ("
       << cta.barriers[group.key].arrived << " warps arrived)";
    break;
  case Wait::ClusterBarrier:
    os << "wait at the cluster barrier";
    break;
  case Wait::MBarrier:
    os << "wait ";
    describeMBarrier(os, cta.cluster, group);
    break;
  case Wait::TensorAlloc:
    os << "wait for " << group.key << " columns of tensor memory";
    break;
  }
}

/// The instruction that says where a group is.
static const Op &placeOf(const Program &program, const Group &group) {
  if (group.op)
    return *group.op;
  if (group.watch && group.watch->read)
    return *group.watch->read;
  return program.ops[std::min<size_t>(group.pc, program.ops.size() - 1)];
}

void Launch::reportDeadlock(Cluster &cluster) {
  std::string text = "nothing can run any more:";
  llvm::raw_string_ostream os(text);
  Warp *first = nullptr;
  const Group *firstGroup = nullptr;
  unsigned listed = 0;
  for (const auto &cta : cluster.ctas)
    for (const auto &warp : cta->warps)
      for (const Group &group : warp->getGroups()) {
        if (!first) {
          first = warp.get();
          firstGroup = &group;
        }
        if (++listed > 64)
          continue;
        os << "\n    CTA " << cta->linear << " warp " << warp->index
           << " threads " << llvm::format_hex(group.lanes, 10) << ' ';
        describeWait(os, *cta, group);
        const Op &place = placeOf(program, group);
        os << " at line " << place.line << " ('" << place.oneLine() << "')";
      }
  if (listed > 64)
    os << "\n    and " << listed - 64 << " more";
  if (first) {
    first->report(FindingKind::Deadlock, placeOf(program, *firstGroup),
                  llvm::countr_zero(firstGroup->lanes), 0, text, true);
    return;
  }
  Finding finding;
  finding.kind = FindingKind::Deadlock;
  finding.fatal = true;
  finding.kernel = program.name;
  finding.message = text;
  report(cluster, std::move(finding));
}
