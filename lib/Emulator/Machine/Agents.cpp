//===- Agents.cpp - Whom an access is attributed to -----------------------===//

#include "kvq/Emulator/Machine/HappensBefore.h"
#include "kvq/Emulator/Machine/Warp.h"

using namespace kvq::emu;

static uint32_t rowOf(const Warp &warp, AgentKind kind) {
  return agentRow(warp.globalIndex, kind);
}

Stamp HappensBefore::threadStamp(Warp &warp, unsigned lane) {
  WarpClock &clock = warp.clock;
  if (clock.published) {
    ++clock.now;
    clock.published = false;
  }
  return {agentOf(rowOf(warp, AgentKind::Thread), lane), clock.now};
}

Stamp HappensBefore::copyStamp(const Warp &warp, unsigned lane) {
  return {agentOf(rowOf(warp, AgentKind::AsyncCopy), lane),
          warp.clock.copySegment[lane] + 1};
}

uint32_t HappensBefore::closeCopies(Warp &warp, unsigned lane) {
  return ++warp.clock.copySegment[lane];
}

Stamp HappensBefore::bulkStamp(const Warp &warp, unsigned lane, int64_t group,
                               bool write) {
  AgentKind kind = write ? AgentKind::BulkWrite : AgentKind::BulkRead;
  return {agentOf(rowOf(warp, kind), lane), static_cast<uint32_t>(group) + 1};
}

Stamp HappensBefore::signalledStamp(const Warp &warp, unsigned lane) {
  completions.emplace_back();
  return {agentOf(rowOf(warp, AgentKind::Signalled), lane),
          static_cast<uint32_t>(completions.size() - 1)};
}

Stamp HappensBefore::tensorCoreStamp(Warp &warp, unsigned lane) {
  return {agentOf(rowOf(warp, AgentKind::TensorCore), lane),
          ++warp.clock.tensorCore[lane]};
}

Stamp HappensBefore::tensorMoveStamp(Warp &warp, bool store) {
  return {agentOf(rowOf(warp,
                        store ? AgentKind::TensorStore : AgentKind::TensorLoad),
                  0),
          store ? ++warp.clock.tensorStore : ++warp.clock.tensorLoad};
}

bool HappensBefore::isKnown(const Warp &warp, unsigned viewer, Stamp stamp,
                            Visibility visibility) const {
  const WarpKnowledge &known = warp.clock[visibility];
  if (stamp.kind() == AgentKind::Signalled) {
    const Completion &completion = completions[stamp.clock];
    return completion.row &&
           known.knows(viewer, completion.row, 0, completion.phase);
  }
  if (stamp.kind() == AgentKind::Thread && stamp.lane() == viewer &&
      stamp.warp() == warp.globalIndex)
    return visibility == Visibility::Base || stamp.clock <= known.self[viewer];
  return known.knows(viewer, stamp.row(), stamp.lane(), stamp.clock);
}
