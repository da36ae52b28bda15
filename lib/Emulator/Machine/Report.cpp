//===- Report.cpp - What a launch found and counted -----------------------===//

#include "kvq/Emulator/Report.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

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
  return llvm::json::Object{{"completed", completed},
                            {"ctas", int64_t(ctas)},
                            {"findings", std::move(list)},
                            {"counters", counters.toJSON(roles)}};
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
  os << llvm::left_justify("CTAs", 26) << llvm::format_decimal(ctas, 16)
     << '\n';
  counters.print(os, roles);
}
