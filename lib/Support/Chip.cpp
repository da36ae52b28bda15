//===- Chip.cpp - The GPUs that kernels are made for ----------------------===//

#include "kvq/Support/Chip.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kvq;
using llvm::StringRef;

// clang-format off
static constexpr Chip chips[] = {
    // name, number, PTX, least, shared, fp8 cvt, fp4 cvt, fp8 mma, bulk, wgmma, tcgen05, scaled mma
    {"sm_80",   80, 78, 70, 166912, false, false, false, false, false, false, false},
    {"sm_86",   86, 78, 71, 101376, false, false, false, false, false, false, false},
    {"sm_89",   89, 84, 81, 101376, true,  false, true,  false, false, false, false},
    {"sm_90",   90, 84, 81, 232448, true,  false, true,  true,  false, false, false},
    {"sm_90a",  90, 84, 81, 232448, true,  false, true,  true,  true,  false, false},
    {"sm_100a", 100, 88, 88, 232448, true, true,  true,  true,  false, true,  false},
    {"sm_120a", 120, 88, 87, 101376, true, true,  true,  true,  false, false, true},
};
// clang-format on

/// The PTX versions that LLVM knows from 7.0 on.
static constexpr unsigned ptxVersions[] = {
    70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90};

std::string Chip::getFeatures() const {
  return "+ptx" + std::to_string(ptxVersion);
}

llvm::ArrayRef<Chip> kvq::getChips() { return chips; }

std::string kvq::getChipNames() {
  return llvm::join(
      llvm::map_range(chips, [](const Chip &chip) { return chip.name; }), ", ");
}

llvm::Expected<const Chip &> kvq::getChip(StringRef name) {
  for (const Chip &chip : chips)
    if (chip.name == name)
      return chip;
  return llvm::createStringError("unknown chip '" + name +
                                 "', expected one of " + getChipNames());
}

llvm::Expected<std::string> kvq::getChipFeatures(const Chip &chip,
                                                 StringRef features) {
  if (features.empty())
    return chip.getFeatures();
  std::string accepted;
  for (unsigned version : ptxVersions) {
    if (version < chip.leastPtxVersion)
      continue;
    std::string feature = "+ptx" + std::to_string(version);
    if (features == feature)
      return feature;
    accepted += (accepted.empty() ? "" : ", ") + feature;
  }
  return llvm::createStringError("features '" + features + "' do not go with " +
                                 chip.name + ", expected one of " + accepted);
}
