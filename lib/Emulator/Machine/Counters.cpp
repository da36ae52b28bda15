//===- Counters.cpp - What a launch counts --------------------------------===//

#include "kvq/Emulator/Counters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <numeric>

using namespace kvq::emu;

const char *kvq::emu::stringify(InstructionClass kind) {
  static const char *const names[numInstructionClasses] = {
      "conversion", "integer", "float",    "double", "special-function",
      "move",       "control", "barrier",  "warp",   "global",
      "shared",     "local",   "constant", "atomic", "async-copy",
      "tensor",     "other"};
  return names[static_cast<unsigned>(kind)];
}

const char *kvq::emu::stringify(Pipe pipe) {
  static const char *const names[numPipes] = {
      "alu",    "alu-pack", "fma",    "fma-wide", "special", "double",
      "memory", "bulk",     "tensor", "move",     "control"};
  return names[static_cast<unsigned>(pipe)];
}

template <typename Array>
static uint64_t sum(const Array &values) {
  return std::accumulate(values.begin(), values.end(), uint64_t(0));
}

template <typename Array>
static void addAll(Array &to, const Array &from) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] += from[i];
}

//===----------------------------------------------------------------------===//
// Instructions and roles
//===----------------------------------------------------------------------===//

uint64_t InstructionCounts::totalWarp() const { return sum(warp); }
uint64_t InstructionCounts::totalThread() const { return sum(thread); }

void InstructionCounts::add(const InstructionCounts &other) {
  addAll(warp, other.warp);
  addAll(thread, other.thread);
  addAll(pipes, other.pipes);
}

llvm::json::Object InstructionCounts::toJSON() const {
  llvm::json::Object warpByClass, threadByClass, byPipe;
  for (unsigned i = 0; i < numInstructionClasses; ++i) {
    const char *name = stringify(static_cast<InstructionClass>(i));
    warpByClass[name] = int64_t(warp[i]);
    threadByClass[name] = int64_t(thread[i]);
  }
  for (unsigned i = 0; i < numPipes; ++i)
    byPipe[stringify(static_cast<Pipe>(i))] = int64_t(pipes[i]);
  return llvm::json::Object{{"warpInstructions", std::move(warpByClass)},
                            {"threadInstructions", std::move(threadByClass)},
                            {"pipes", std::move(byPipe)}};
}

llvm::Expected<std::vector<WarpRole>> WarpRole::parse(llvm::StringRef text) {
  std::vector<WarpRole> roles;
  std::vector<bool> taken;
  for (llvm::StringRef part : llvm::split(text, ',')) {
    llvm::StringRef range, name;
    std::tie(range, name) = part.split(':');
    auto [firstText, lastText] = range.split('-');
    unsigned first = 0, last = 0;
    bool wrong = name.empty() || firstText.getAsInteger(10, first);
    if (range.contains('-'))
      wrong |= lastText.getAsInteger(10, last);
    else
      last = first;
    if (wrong || last < first || last >= 32)
      return llvm::createStringError("roles '" + text + "': '" + part +
                                     "' is not WARP:NAME or FIRST-LAST:NAME "
                                     "with warps from 0 to 31");
    auto role = llvm::find_if(
        roles, [&](const WarpRole &other) { return other.name == name; });
    if (role == roles.end())
      role = roles.insert(role, WarpRole{name.str(), {}});
    taken.resize(32);
    for (unsigned warp = first; warp <= last; ++warp) {
      if (taken[warp])
        return llvm::createStringError(
            llvm::formatv("roles '{0}': warp {1} has two roles", text, warp)
                .str());
      taken[warp] = true;
      role->warps.push_back(warp);
    }
  }
  return roles;
}

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

namespace {
/// The counters that are one number each, under the names of the report.
struct NamedCounter {
  const char *name;
  uint64_t Counters::*field;
};
struct NamedTensorCount {
  const char *name;
  uint64_t TensorCounts::*field;
};
} // namespace

static const NamedCounter namedCounters[] = {
    {"globalReadBytes", &Counters::globalReadBytes},
    {"globalWriteBytes", &Counters::globalWriteBytes},
    {"globalReadSectors", &Counters::globalReadSectors},
    {"globalWriteSectors", &Counters::globalWriteSectors},
    {"distinctReadBytes", &Counters::distinctReadBytes},
    {"distinctWriteBytes", &Counters::distinctWriteBytes},
    {"distinctReadSectors", &Counters::distinctReadSectors},
    {"distinctWriteSectors", &Counters::distinctWriteSectors},
    {"sharedWavefronts", &Counters::sharedWavefronts},
    {"sharedReadBytes", &Counters::sharedReadBytes},
    {"sharedWriteBytes", &Counters::sharedWriteBytes},
    {"asyncCopyBytes", &Counters::asyncCopyBytes},
    {"tensorMemoryReadBytes", &Counters::tensorMemoryReadBytes},
    {"tensorMemoryWriteBytes", &Counters::tensorMemoryWriteBytes}};

static const NamedTensorCount tensorCounts[] = {
    {"tensorInstructions", &TensorCounts::instructions},
    {"tensorMultiplyAdds", &TensorCounts::multiplyAdds},
    {"tensorRegisterBytes", &TensorCounts::registerBytes},
    {"tensorSharedBytes", &TensorCounts::sharedBytes},
    {"tensorMemoryOperandBytes", &TensorCounts::tensorMemoryBytes}};

InstructionCounts Counters::instructions() const {
  InstructionCounts total;
  for (const InstructionCounts &counts : warps)
    total.add(counts);
  return total;
}

static void add(TensorCounts &to, const TensorCounts &from) {
  for (const NamedTensorCount &count : tensorCounts)
    to.*count.field += from.*count.field;
}

TensorCounts Counters::tensorTotal() const {
  TensorCounts total;
  for (const auto &entry : tensor)
    ::add(total, entry.second);
  return total;
}

void Counters::addTensor(const TensorForm &form, const TensorCounts &operands) {
  TensorCounts &counts = tensor[form];
  ::add(counts, operands);
  ++counts.instructions;
  counts.multiplyAdds += uint64_t(form.m) * form.n * form.k;
}

void Counters::add(const Counters &other) {
  warps.resize(std::max(warps.size(), other.warps.size()));
  for (size_t i = 0; i < other.warps.size(); ++i)
    warps[i].add(other.warps[i]);
  for (const NamedCounter &counter : namedCounters)
    this->*counter.field += other.*counter.field;
  for (const auto &entry : other.tensor)
    ::add(tensor[entry.first], entry.second);
}

std::optional<uint64_t> Counters::find(llvm::StringRef name) const {
  for (const NamedCounter &counter : namedCounters)
    if (name == counter.name)
      return this->*counter.field;
  TensorCounts total = tensorTotal();
  for (const NamedTensorCount &count : tensorCounts)
    if (name == count.name)
      return total.*count.field;
  InstructionCounts counts = instructions();
  if (name == "warpInstructions")
    return counts.totalWarp();
  for (unsigned i = 0; i < numPipes; ++i)
    if (name == stringify(static_cast<Pipe>(i)))
      return counts.pipes[i];
  return std::nullopt;
}

/// The sum over the warps of a role that exist.
static InstructionCounts roleCounts(const Counters &counters,
                                    const WarpRole &role) {
  InstructionCounts total;
  for (unsigned warp : role.warps)
    if (warp < counters.warps.size())
      total.add(counters.warps[warp]);
  return total;
}

llvm::json::Object Counters::toJSON(const std::vector<WarpRole> &roles) const {
  llvm::json::Object result = instructions().toJSON();
  llvm::json::Array byWarp, rows, roleRows, forms;
  for (const InstructionCounts &counts : warps) {
    byWarp.push_back(int64_t(counts.totalWarp()));
    rows.push_back(counts.toJSON());
  }
  result["warpInstructionsByWarp"] = std::move(byWarp);
  result["warps"] = std::move(rows);
  for (const WarpRole &role : roles) {
    llvm::json::Object row = roleCounts(*this, role).toJSON();
    row["name"] = role.name;
    row["warps"] = llvm::json::Array(role.warps);
    roleRows.push_back(std::move(row));
  }
  result["roles"] = std::move(roleRows);
  for (const NamedCounter &counter : namedCounters)
    result[counter.name] = int64_t(this->*counter.field);
  TensorCounts total = tensorTotal();
  for (const NamedTensorCount &count : tensorCounts)
    result[count.name] = int64_t(total.*count.field);
  for (const auto &entry : tensor) {
    const TensorForm &form = entry.first;
    llvm::json::Object row{{"family", form.family},
                           {"kind", form.kind},
                           {"m", int64_t(form.m)},
                           {"n", int64_t(form.n)},
                           {"k", int64_t(form.k)}};
    for (const NamedTensorCount &count : tensorCounts)
      row[count.name] = int64_t(entry.second.*count.field);
    forms.push_back(std::move(row));
  }
  result["tensor"] = std::move(forms);
  return result;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void printRow(llvm::raw_ostream &os, llvm::StringRef name,
                     uint64_t value) {
  os << llvm::left_justify(name, 26) << llvm::format_decimal(value, 16) << '\n';
}

/// Warps by the roles that were named, else runs of warps that count the same.
static std::vector<WarpRole> rolesToPrint(const Counters &counters,
                                          const std::vector<WarpRole> &named) {
  if (!named.empty())
    return named;
  std::vector<WarpRole> roles;
  for (unsigned i = 0; i < counters.warps.size(); ++i) {
    if (!i || !(counters.warps[i] == counters.warps[i - 1]))
      roles.emplace_back();
    roles.back().warps.push_back(i);
  }
  for (WarpRole &role : roles)
    role.name = role.warps.size() == 1
                    ? llvm::formatv("warp {0}", role.warps[0]).str()
                    : llvm::formatv("warps {0}-{1}", role.warps.front(),
                                    role.warps.back())
                          .str();
  return roles;
}

void Counters::print(llvm::raw_ostream &os,
                     const std::vector<WarpRole> &named) const {
  InstructionCounts total = instructions();
  printRow(os, "warp instructions", total.totalWarp());
  printRow(os, "thread instructions", total.totalThread());
  for (const NamedCounter &counter : namedCounters)
    if (this->*counter.field)
      printRow(os, counter.name, this->*counter.field);
  for (const auto &entry : tensor) {
    const TensorForm &form = entry.first;
    printRow(os,
             llvm::formatv("{0} {1} {2}x{3}x{4}", form.family, form.kind,
                           form.m, form.n, form.k)
                 .str(),
             entry.second.instructions);
  }
  TensorCounts tensorSum = tensorTotal();
  for (const NamedTensorCount &count : tensorCounts)
    if (tensorSum.*count.field)
      printRow(os, count.name, tensorSum.*count.field);

  // One column per role, one row per class and pipe that occurs.
  std::vector<WarpRole> roles = rolesToPrint(*this, named);
  llvm::SmallVector<InstructionCounts, 8> columns;
  for (const WarpRole &role : roles)
    columns.push_back(roleCounts(*this, role));
  auto printColumns = [&](llvm::StringRef name, uint64_t all, auto &&value) {
    if (!all)
      return;
    os << llvm::left_justify(name, 18) << llvm::format_decimal(all, 12);
    for (const InstructionCounts &column : columns)
      os << ' ' << llvm::format_decimal(value(column), 12);
    os << '\n';
  };
  os << llvm::left_justify("by class", 18)
     << llvm::right_justify("all warps", 12);
  for (const WarpRole &role : roles)
    os << ' ' << llvm::right_justify(role.name, 12);
  os << '\n';
  for (unsigned i = 0; i < numInstructionClasses; ++i)
    printColumns(
        stringify(static_cast<InstructionClass>(i)), total.warp[i],
        [&](const InstructionCounts &counts) { return counts.warp[i]; });
  os << "by pipe\n";
  for (unsigned i = 0; i < numPipes; ++i)
    printColumns(
        stringify(static_cast<Pipe>(i)), total.pipes[i],
        [&](const InstructionCounts &counts) { return counts.pipes[i]; });
}
