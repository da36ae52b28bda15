//===- Names.cpp - Spellings of opcodes, types, modifiers -----------------===//

#include "Names.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu::ptx;
using llvm::StringRef;

namespace {

struct TypeName {
  StringRef spelling;
  unsigned bits;
};

constexpr TypeName typeNames[] = {
#define KVQ_PTX_TYPE(enumerator, spelling, bits) {spelling, bits},
#include "kvq/Emulator/PTX/Types.def"
#undef KVQ_PTX_TYPE
};

constexpr StringRef modifierNames[] = {
#define KVQ_PTX_MODIFIER(enumerator, spelling) spelling,
#include "kvq/Emulator/PTX/Modifiers.def"
#undef KVQ_PTX_MODIFIER
};

constexpr StringRef opcodeNames[] = {
#define KVQ_PTX_OPCODE(enumerator, spelling, operands) spelling,
#include "kvq/Emulator/PTX/Opcodes.def"
#undef KVQ_PTX_OPCODE
};

constexpr uint8_t minimumOperands[] = {
#define KVQ_PTX_OPCODE(enumerator, spelling, operands) operands,
#include "kvq/Emulator/PTX/Opcodes.def"
#undef KVQ_PTX_OPCODE
};

struct SpecialName {
  StringRef spelling;
  SpecialRegister value;
};

using SR = SpecialRegister;
constexpr SpecialName specialNames[] = {
    {"%tid.x", SR::TidX},
    {"%tid.y", SR::TidY},
    {"%tid.z", SR::TidZ},
    {"%ntid.x", SR::NtidX},
    {"%ntid.y", SR::NtidY},
    {"%ntid.z", SR::NtidZ},
    {"%ctaid.x", SR::CtaidX},
    {"%ctaid.y", SR::CtaidY},
    {"%ctaid.z", SR::CtaidZ},
    {"%nctaid.x", SR::NctaidX},
    {"%nctaid.y", SR::NctaidY},
    {"%nctaid.z", SR::NctaidZ},
    {"%laneid", SR::LaneId},
    {"%warpid", SR::WarpId},
    {"%nwarpid", SR::NwarpId},
    {"%smid", SR::SmId},
    {"%nsmid", SR::NsmId},
    {"%gridid", SR::GridId},
    {"%is_explicit_cluster", SR::IsExplicitCluster},
    {"%clusterid.x", SR::ClusterIdX},
    {"%clusterid.y", SR::ClusterIdY},
    {"%clusterid.z", SR::ClusterIdZ},
    {"%nclusterid.x", SR::NclusterIdX},
    {"%nclusterid.y", SR::NclusterIdY},
    {"%nclusterid.z", SR::NclusterIdZ},
    {"%cluster_ctaid.x", SR::ClusterCtaidX},
    {"%cluster_ctaid.y", SR::ClusterCtaidY},
    {"%cluster_ctaid.z", SR::ClusterCtaidZ},
    {"%cluster_nctaid.x", SR::ClusterNctaidX},
    {"%cluster_nctaid.y", SR::ClusterNctaidY},
    {"%cluster_nctaid.z", SR::ClusterNctaidZ},
    {"%cluster_ctarank", SR::ClusterCtarank},
    {"%cluster_nctarank", SR::ClusterNctarank},
    {"%lanemask_eq", SR::LanemaskEq},
    {"%lanemask_le", SR::LanemaskLe},
    {"%lanemask_lt", SR::LanemaskLt},
    {"%lanemask_ge", SR::LanemaskGe},
    {"%lanemask_gt", SR::LanemaskGt},
    {"%clock", SR::Clock},
    {"%clock_hi", SR::ClockHi},
    {"%clock64", SR::Clock64},
    {"%globaltimer", SR::GlobalTimer},
    {"%globaltimer_lo", SR::GlobalTimerLo},
    {"%globaltimer_hi", SR::GlobalTimerHi},
    {"%total_smem_size", SR::TotalSmemSize},
    {"%aggr_smem_size", SR::AggrSmemSize},
    {"%dynamic_smem_size", SR::DynamicSmemSize},
    {"%reserved_smem_offset_begin", SR::ReservedSmemOffsetBegin},
    {"%reserved_smem_offset_end", SR::ReservedSmemOffsetEnd},
    {"%reserved_smem_offset_cap", SR::ReservedSmemOffsetCap},
    {"%current_graph_exec", SR::CurrentGraphExec},
    {"WARP_SZ", SR::WarpSize},
};

template <typename T>
const llvm::StringMap<T> &makeMap(llvm::ArrayRef<StringRef> names) {
  static const llvm::StringMap<T> map = [&] {
    llvm::StringMap<T> result;
    for (auto [index, name] : llvm::enumerate(names))
      if (!name.empty())
        result.try_emplace(name, static_cast<T>(index));
    return result;
  }();
  return map;
}

const llvm::StringMap<Opcode> &getOpcodes() {
  static const llvm::StringMap<Opcode> map = [] {
    llvm::StringMap<Opcode> result;
#define KVQ_PTX_OPCODE_ALIAS(enumerator, spelling)                             \
  result.try_emplace(spelling, Opcode::enumerator);
#define KVQ_PTX_OPCODE(enumerator, spelling, operands)                         \
  KVQ_PTX_OPCODE_ALIAS(enumerator, spelling)
#include "kvq/Emulator/PTX/Opcodes.def"
#undef KVQ_PTX_OPCODE
    return result;
  }();
  return map;
}

const llvm::StringMap<Mod> &getModifiers() {
  return makeMap<Mod>(modifierNames);
}

template <typename Map>
std::string suggest(const Map &map, StringRef spelling, StringRef prefix) {
  // Long garbage is near to nothing, and the distance is quadratic.
  if (spelling.size() > 64)
    return "";
  unsigned best = spelling.size() / 3 + 1;
  StringRef found;
  for (const auto &entry : map) {
    unsigned distance = spelling.edit_distance(
        entry.getKey(), /*AllowReplacements=*/true, best);
    if (distance < best ||
        (distance == best && !found.empty() && entry.getKey() < found)) {
      best = distance;
      found = entry.getKey();
    }
  }
  if (found.empty())
    return "";
  return llvm::formatv(" (did you mean '{0}{1}'?)", prefix, found);
}

} // namespace

StringRef kvq::emu::ptx::stringify(Opcode opcode) {
  return opcode == Opcode::Invalid ? "invalid"
                                   : opcodeNames[static_cast<size_t>(opcode)];
}

unsigned kvq::emu::ptx::getMinimumOperands(Opcode opcode) {
  return opcode == Opcode::Invalid
             ? 0
             : minimumOperands[static_cast<size_t>(opcode)];
}

StringRef kvq::emu::ptx::stringify(Type type) {
  return typeNames[static_cast<size_t>(type)].spelling;
}

StringRef kvq::emu::ptx::stringify(Mod modifier) {
  return modifier == Mod::Count ? ""
                                : modifierNames[static_cast<size_t>(modifier)];
}

StringRef kvq::emu::ptx::stringify(SpecialRegister reg) {
  for (const SpecialName &entry : specialNames)
    if (entry.value == reg)
      return entry.spelling;
  return "%envreg";
}

unsigned kvq::emu::ptx::getBits(Type type) {
  return typeNames[static_cast<size_t>(type)].bits;
}

bool kvq::emu::ptx::isSignedInteger(Type type) {
  return type >= Type::S4 && type <= Type::S64;
}

bool kvq::emu::ptx::isUnsignedInteger(Type type) {
  return type >= Type::U4 && type <= Type::U64;
}

bool kvq::emu::ptx::isUntyped(Type type) {
  return type >= Type::B8 && type <= Type::B128;
}

bool kvq::emu::ptx::isFloat(Type type) {
  return type >= Type::F16 && type <= Type::F64;
}

std::optional<std::pair<Opcode, unsigned>>
kvq::emu::ptx::findOpcode(llvm::ArrayRef<StringRef> words) {
  // No spelling has more than five words.
  std::string spelling;
  std::optional<std::pair<Opcode, unsigned>> best;
  for (auto [index, word] : llvm::enumerate(words.take_front(5))) {
    if (index)
      spelling += '.';
    spelling += word;
    auto it = getOpcodes().find(spelling);
    if (it != getOpcodes().end())
      best = {it->second, static_cast<unsigned>(index) + 1};
  }
  return best;
}

std::optional<Type> kvq::emu::ptx::findType(StringRef spelling) {
  static const llvm::StringMap<Type> map = [] {
    llvm::StringMap<Type> result;
    for (auto [index, entry] : llvm::enumerate(typeNames))
      if (!entry.spelling.empty())
        result.try_emplace(entry.spelling, static_cast<Type>(index));
    return result;
  }();
  auto it = map.find(spelling);
  if (it == map.end())
    return std::nullopt;
  return it->second;
}

std::optional<Mod> kvq::emu::ptx::findModifier(StringRef spelling) {
  auto it = getModifiers().find(spelling);
  if (it == getModifiers().end())
    return std::nullopt;
  return it->second;
}

std::optional<SpecialRegister>
kvq::emu::ptx::findSpecialRegister(StringRef spelling) {
  static const llvm::StringMap<SpecialRegister> map = [] {
    llvm::StringMap<SpecialRegister> result;
    for (const SpecialName &entry : specialNames)
      result.try_emplace(entry.spelling, entry.value);
    return result;
  }();
  auto it = map.find(spelling);
  if (it != map.end())
    return it->second;
  // Performance counters, environment registers and what the driver reserves
  // have no meaning here.
  for (StringRef prefix : {"%pm", "%envreg", "%reserved_smem_offset_"}) {
    StringRef rest = spelling;
    unsigned number;
    if (rest.consume_front(prefix)) {
      rest.consume_back("_64");
      if (!rest.getAsInteger(10, number))
        return SpecialRegister::Zero;
    }
  }
  return std::nullopt;
}

std::string kvq::emu::ptx::suggestOpcode(StringRef spelling) {
  return suggest(getOpcodes(), spelling, "");
}

std::string kvq::emu::ptx::suggestModifier(StringRef spelling) {
  return suggest(getModifiers(), spelling, ".");
}
