//===- MachineModel.cpp - Rates of a chip, and what they bound ------------===//

#include "kvq/Emulator/MachineModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>

using namespace kvq::emu;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Machine files
//===----------------------------------------------------------------------===//

// Definitions of b200Text and h200Text from the files of the tree.
#include "MachineFiles.inc"

std::vector<llvm::StringRef> MachineModel::builtins() {
  return {"b200", "h200"};
}

llvm::StringRef MachineModel::builtinText(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("b200", b200Text)
      .Case("h200", h200Text)
      .Default("");
}

/// Whether a number is one of a rate: positive and finite.
static bool isRate(double value) { return std::isfinite(value) && value > 0; }

// Found by json::ObjectMapper through the namespace of their types.
namespace kvq::emu {

static bool fromJSON(const json::Value &value, MachineModel::Resource &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map || !map.map("name", out.name) ||
      !map.map("perClock", out.perClock) || !map.map("source", out.source))
    return false;
  if (!isRate(out.perClock)) {
    path.field("perClock").report("expected a positive number");
    return false;
  }
  const json::Object *uses = value.getAsObject()->getObject("uses");
  if (!uses) {
    path.field("uses").report("expected an object of counters");
    return false;
  }
  for (const auto &entry : *uses) {
    std::optional<double> amount = entry.second.getAsNumber();
    if (!amount || !std::isfinite(*amount)) {
      path.field("uses").field(entry.first).report("expected a number");
      return false;
    }
    if (!Counters().find(entry.first)) {
      path.field("uses").field(entry.first).report("no counter of this name");
      return false;
    }
    out.uses.emplace_back(entry.first.str(), *amount);
  }
  llvm::sort(out.uses);
  return true;
}

static bool fromJSON(const json::Value &value, MachineModel::TensorRate &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map || !map.map("family", out.family) || !map.map("kind", out.kind) ||
      !map.map("multiplyAddsPerClock", out.multiplyAddsPerClock) ||
      !map.mapOptional("minimumClocks", out.minimumClocks) ||
      !map.mapOptional("minimumRows", out.minimumRows) ||
      !map.map("source", out.source))
    return false;
  if (!isRate(out.multiplyAddsPerClock)) {
    path.field("multiplyAddsPerClock").report("expected a positive number");
    return false;
  }
  return true;
}

static bool fromJSON(const json::Value &value, MachineModel &out,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map || !map.map("name", out.name) ||
      !map.map("processors", out.processors) ||
      !map.map("clockGHz", out.clockGHz) ||
      !map.map("memoryBytesPerSecond", out.memoryBytesPerSecond) ||
      !map.map("source", out.source) || !map.map("resources", out.resources) ||
      !map.map("tensor", out.tensor))
    return false;
  auto check = [&](const char *field, bool good) {
    if (!good)
      path.field(field).report("expected a positive number");
    return good;
  };
  return check("processors", out.processors > 0) &&
         check("clockGHz", isRate(out.clockGHz)) &&
         check("memoryBytesPerSecond", isRate(out.memoryBytesPerSecond));
}

} // namespace kvq::emu

llvm::Expected<MachineModel> MachineModel::parse(llvm::StringRef text,
                                                 llvm::StringRef name) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return llvm::createStringError("machine file " + name + ": " +
                                   llvm::toString(value.takeError()));
  MachineModel machine;
  // The root of the path refers to its name.
  std::string rootName = ("machine file " + name).str();
  json::Path::Root root(rootName);
  if (!fromJSON(*value, machine, root))
    return root.getError();
  return machine;
}

llvm::Expected<MachineModel> MachineModel::load(llvm::StringRef nameOrFile) {
  if (llvm::StringRef text = builtinText(nameOrFile); !text.empty())
    return parse(text, nameOrFile);
  auto buffer = llvm::MemoryBuffer::getFile(nameOrFile, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(
        "machine '" + nameOrFile + "' is none of " +
        llvm::join(builtins(), ", ") +
        ", and cannot be read as a file: " + buffer.getError().message());
  return parse((*buffer)->getBuffer(), nameOrFile);
}

//===----------------------------------------------------------------------===//
// Estimates
//===----------------------------------------------------------------------===//

/// Clocks of all tensor-core instructions on one multiprocessor.
static double tensorClocks(const MachineModel &machine,
                           const Counters &counters,
                           std::vector<std::string> &unknown) {
  double total = 0;
  for (const auto &entry : counters.tensor) {
    const TensorForm &form = entry.first;
    auto rate =
        llvm::find_if(machine.tensor, [&](const MachineModel::TensorRate &r) {
          return r.family == form.family && r.kind == form.kind;
        });
    if (rate == machine.tensor.end()) {
      unknown.push_back((form.family + " " + form.kind).str());
      continue;
    }
    double multiplyAdds =
        double(std::max(form.m, rate->minimumRows)) * form.n * form.k;
    total += double(entry.second.instructions) *
             std::max(rate->minimumClocks,
                      multiplyAdds / rate->multiplyAddsPerClock);
  }
  unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
  return total;
}

MachineEstimate kvq::emu::estimate(const MachineModel &machine,
                                   const Counters &counters) {
  MachineEstimate result;
  result.machine = machine.name;
  result.memoryClocks =
      double(counters.distinctReadBytes + counters.distinctWriteBytes) /
      machine.memoryBytesPerClock();
  auto add = [&](const std::string &name, double clocks) {
    clocks /= machine.processors;
    result.resources.push_back(
        {name, clocks,
         result.memoryClocks > 0 ? clocks / result.memoryClocks : 0});
  };
  for (const MachineModel::Resource &resource : machine.resources) {
    double units = 0;
    for (const auto &use : resource.uses)
      units += use.second * double(*counters.find(use.first));
    add(resource.name, units / resource.perClock);
  }
  add("tensor cores", tensorClocks(machine, counters, result.unknown));

  result.bound = "memory";
  result.boundClocks = result.memoryClocks;
  for (const MachineEstimate::Row &row : result.resources)
    if (row.clocks > result.boundClocks) {
      result.bound = row.name;
      result.boundClocks = row.clocks;
    }
  if (result.boundClocks > 0)
    result.memoryShare = result.memoryClocks / result.boundClocks;
  return result;
}

json::Object MachineEstimate::toJSON() const {
  json::Array rows;
  for (const Row &row : resources)
    rows.push_back(json::Object{{"name", row.name},
                                {"clocks", row.clocks},
                                {"ofMemory", row.ofMemory}});
  return json::Object{{"machine", machine},
                      {"memoryClocks", memoryClocks},
                      {"resources", std::move(rows)},
                      {"bound", bound},
                      {"boundClocks", boundClocks},
                      {"memoryShare", memoryShare},
                      {"unknown", json::Array(unknown)}};
}

void MachineEstimate::print(llvm::raw_ostream &os) const {
  os << llvm::formatv("{0,-22}{1,16}{2,12}\n", machine, "busy clocks",
                      "of memory");
  os << llvm::formatv("{0,-22}{1,16:f1}\n", "memory", memoryClocks);
  for (const Row &row : resources) {
    os << llvm::formatv("{0,-22}{1,16:f1}", row.name, row.clocks);
    if (memoryClocks > 0)
      os << llvm::formatv("{0,12:P1}", row.ofMemory);
    os << '\n';
  }
  os << llvm::formatv("bound: {0}, at most {1:P1} of the memory's rate\n",
                      bound, memoryShare);
  for (const std::string &work : unknown)
    os << "no rate is known for " << work << '\n';
}
