//===- Report.cpp - What a launch found and counted -----------------------===//

#include "kvq/Emulator/Report.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace kvq::emu;

const char *kvq::emu::stringify(FindingKind kind) {
  switch (kind) {
  case FindingKind::OutOfBounds:
    return "out-of-bounds";
  case FindingKind::Misaligned:
    return "misaligned";
  case FindingKind::Uninitialized:
    return "uninitialized";
  case FindingKind::Race:
    return "race";
  case FindingKind::ProxyRace:
    return "proxy-race";
  case FindingKind::BarrierMisuse:
    return "barrier-misuse";
  case FindingKind::TensorMemory:
    return "tensor-memory";
  case FindingKind::IllegalOperand:
    return "illegal-operand";
  case FindingKind::Divergence:
    return "divergence";
  case FindingKind::Deadlock:
    return "deadlock";
  case FindingKind::Trap:
    return "trap";
  case FindingKind::AssertFailed:
    return "assert-failed";
  case FindingKind::Unsupported:
    return "unsupported";
  case FindingKind::StepLimit:
    return "step-limit";
  case FindingKind::Interrupted:
    return "interrupted";
  }
  return "unknown";
}

const char *kvq::emu::stringify(InstructionClass kind) {
  static const char *const names[numInstructionClasses] = {
      "conversion", "integer", "float",    "double", "special-function",
      "move",       "control", "barrier",  "warp",   "global",
      "shared",     "local",   "constant", "atomic", "async-copy",
      "tensor",     "other"};
  return names[static_cast<unsigned>(kind)];
}

template <typename Array>
static uint64_t sum(const Array &values) {
  uint64_t total = 0;
  for (uint64_t value : values)
    total += value;
  return total;
}

uint64_t Counters::totalWarpInstructions() const {
  return sum(warpInstructions);
}

uint64_t Counters::totalThreadInstructions() const {
  return sum(threadInstructions);
}

void Counters::add(const Counters &other) {
  for (unsigned i = 0; i < numInstructionClasses; ++i) {
    warpInstructions[i] += other.warpInstructions[i];
    threadInstructions[i] += other.threadInstructions[i];
  }
  warpInstructionsByWarp.resize(std::max(warpInstructionsByWarp.size(),
                                         other.warpInstructionsByWarp.size()));
  for (size_t i = 0; i < other.warpInstructionsByWarp.size(); ++i)
    warpInstructionsByWarp[i] += other.warpInstructionsByWarp[i];
  globalReadBytes += other.globalReadBytes;
  globalWriteBytes += other.globalWriteBytes;
  globalReadSectors += other.globalReadSectors;
  globalWriteSectors += other.globalWriteSectors;
  distinctReadSectors += other.distinctReadSectors;
  distinctWriteSectors += other.distinctWriteSectors;
  sharedWavefronts += other.sharedWavefronts;
  sharedReadBytes += other.sharedReadBytes;
  sharedWriteBytes += other.sharedWriteBytes;
  asyncCopyBytes += other.asyncCopyBytes;
  tensorMemoryReadBytes += other.tensorMemoryReadBytes;
  tensorMemoryWriteBytes += other.tensorMemoryWriteBytes;
  tensorMultiplyAdds += other.tensorMultiplyAdds;
  tensorOperandBytes += other.tensorOperandBytes;
}

namespace {
/// The counters that are one number each, under the names of the report.
struct NamedCounter {
  const char *name;
  uint64_t Counters::*field;
};
} // namespace

static const NamedCounter namedCounters[] = {
    {"globalReadBytes", &Counters::globalReadBytes},
    {"globalWriteBytes", &Counters::globalWriteBytes},
    {"globalReadSectors", &Counters::globalReadSectors},
    {"globalWriteSectors", &Counters::globalWriteSectors},
    {"distinctReadSectors", &Counters::distinctReadSectors},
    {"distinctWriteSectors", &Counters::distinctWriteSectors},
    {"sharedWavefronts", &Counters::sharedWavefronts},
    {"sharedReadBytes", &Counters::sharedReadBytes},
    {"sharedWriteBytes", &Counters::sharedWriteBytes},
    {"asyncCopyBytes", &Counters::asyncCopyBytes},
    {"tensorMemoryReadBytes", &Counters::tensorMemoryReadBytes},
    {"tensorMemoryWriteBytes", &Counters::tensorMemoryWriteBytes},
    {"tensorMultiplyAdds", &Counters::tensorMultiplyAdds},
    {"tensorOperandBytes", &Counters::tensorOperandBytes}};

static llvm::json::Array toJSON(const Dim3 &dim) {
  return llvm::json::Array{int64_t(dim.x), int64_t(dim.y), int64_t(dim.z)};
}

llvm::json::Value Report::toJSON() const {
  llvm::json::Array list;
  for (const Finding &finding : findings)
    list.push_back(
        llvm::json::Object{{"kind", stringify(finding.kind)},
                           {"fatal", finding.fatal},
                           {"kernel", finding.kernel},
                           {"file", finding.file},
                           {"line", int64_t(finding.line)},
                           {"instruction", finding.instruction},
                           {"cta", ::toJSON(finding.cta)},
                           {"thread", ::toJSON(finding.thread)},
                           {"address", int64_t(finding.address)},
                           {"message", finding.message},
                           {"occurrences", int64_t(finding.occurrences)}});
  llvm::json::Object warp, thread, counts;
  for (unsigned i = 0; i < numInstructionClasses; ++i) {
    const char *name = stringify(static_cast<InstructionClass>(i));
    warp[name] = int64_t(counters.warpInstructions[i]);
    thread[name] = int64_t(counters.threadInstructions[i]);
  }
  counts["warpInstructions"] = std::move(warp);
  counts["threadInstructions"] = std::move(thread);
  llvm::json::Array byWarp;
  for (uint64_t count : counters.warpInstructionsByWarp)
    byWarp.push_back(int64_t(count));
  counts["warpInstructionsByWarp"] = std::move(byWarp);
  for (const NamedCounter &counter : namedCounters)
    counts[counter.name] = int64_t(counters.*counter.field);
  return llvm::json::Object{{"completed", completed},
                            {"ctas", int64_t(ctas)},
                            {"findings", std::move(list)},
                            {"counters", std::move(counts)}};
}

void Report::printFindings(llvm::raw_ostream &os) const {
  for (const Finding &finding : findings) {
    if (!finding.file.empty())
      os << finding.file << ':' << finding.line << ": ";
    os << (finding.fatal ? "error: " : "warning: ") << stringify(finding.kind)
       << ": " << finding.message << '\n';
    if (!finding.instruction.empty())
      os << "    " << finding.instruction << '\n';
    os << "    in kernel " << finding.kernel << ", CTA (" << finding.cta.x
       << ", " << finding.cta.y << ", " << finding.cta.z << "), thread ("
       << finding.thread.x << ", " << finding.thread.y << ", "
       << finding.thread.z << ")";
    if (finding.address)
      os << ", address " << llvm::format_hex(finding.address, 0);
    if (finding.occurrences > 1)
      os << ", " << finding.occurrences << " times";
    os << '\n';
  }
}

void Report::printCounters(llvm::raw_ostream &os) const {
  auto row = [&](llvm::StringRef name, uint64_t value) {
    os << llvm::left_justify(name, 26) << llvm::format_decimal(value, 16)
       << '\n';
  };
  row("CTAs", ctas);
  row("warp instructions", counters.totalWarpInstructions());
  row("thread instructions", counters.totalThreadInstructions());
  for (unsigned i = 0; i < numInstructionClasses; ++i)
    if (counters.warpInstructions[i])
      row(std::string("  ") + stringify(static_cast<InstructionClass>(i)),
          counters.warpInstructions[i]);
  for (const NamedCounter &counter : namedCounters)
    if (counters.*counter.field)
      row(counter.name, counters.*counter.field);
}
