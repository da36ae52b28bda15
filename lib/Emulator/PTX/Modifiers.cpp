//===- Modifiers.cpp - Decode the words after an opcode -------------------===//

#include "Names.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq::emu::ptx;
using llvm::StringRef;

namespace {

/// Reads a number of at most three digits off the front.
bool consumeNumber(StringRef &text, uint16_t &value) {
  size_t digits = 0;
  while (digits < text.size() && llvm::isDigit(text[digits]))
    ++digits;
  if (digits == 0 || digits > 3)
    return false;
  value = 0;
  for (char c : text.take_front(digits))
    value = value * 10 + (c - '0');
  text = text.drop_front(digits);
  return true;
}

/// `mMnN` with an optional `kK`.
bool decodeShape(StringRef word, Modifiers &mods) {
  uint16_t m, n, k = 0;
  if (!word.consume_front("m") || !consumeNumber(word, m) ||
      !word.consume_front("n") || !consumeNumber(word, n))
    return false;
  if (word.consume_front("k") && !consumeNumber(word, k))
    return false;
  if (!word.empty())
    return false;
  mods.m = m;
  mods.n = n;
  mods.k = k;
  return true;
}

/// Hints that change no result.
bool isCacheHint(StringRef word) {
  if (word == "L1" || word == "L2")
    return true;
  StringRef rest = word;
  if (!rest.consume_front("L1::") && !rest.consume_front("L2::"))
    return false;
  return llvm::StringSwitch<bool>(rest)
      .Cases({"evict_normal", "evict_unchanged", "evict_first", "evict_last"},
             true)
      .Cases({"no_allocate", "64B", "128B", "256B"}, true)
      .Default(false);
}

/// `collector::b0::fill` and the like: how operands may be kept, no result.
bool isCollectorHint(StringRef word) {
  if (!word.consume_front("collector::b"))
    return false;
  uint16_t buffer;
  return consumeNumber(word, buffer) && buffer < 4 &&
         llvm::StringSwitch<bool>(word)
             .Cases({"::fill", "::use", "::lastuse", "::discard"}, true)
             .Default(false);
}

std::optional<Space> getSpace(Mod word) {
  switch (word) {
  case Mod::Global:
    return Space::Global;
  case Mod::Shared:
  case Mod::SharedCta:
    return Space::Shared;
  case Mod::SharedCluster:
    return Space::SharedCluster;
  case Mod::Local:
    return Space::Local;
  case Mod::Const:
    return Space::Const;
  case Mod::Param:
  case Mod::ParamEntry:
  case Mod::ParamFunc:
    return Space::Param;
  default:
    return std::nullopt;
  }
}

std::optional<Rounding> getRounding(Mod word) {
  switch (word) {
  case Mod::Rn:
    return Rounding::RN;
  case Mod::Rz:
    return Rounding::RZ;
  case Mod::Rm:
    return Rounding::RM;
  case Mod::Rp:
    return Rounding::RP;
  case Mod::Rna:
    return Rounding::RNA;
  case Mod::Rni:
    return Rounding::RNI;
  case Mod::Rzi:
    return Rounding::RZI;
  case Mod::Rmi:
    return Rounding::RMI;
  case Mod::Rpi:
    return Rounding::RPI;
  case Mod::Rs:
    return Rounding::RS;
  default:
    return std::nullopt;
  }
}

std::optional<CompareOp> getCompare(Mod word) {
  switch (word) {
  case Mod::Eq:
    return CompareOp::EQ;
  case Mod::Ne:
    return CompareOp::NE;
  case Mod::Lt:
    return CompareOp::LT;
  case Mod::Le:
    return CompareOp::LE;
  case Mod::Gt:
    return CompareOp::GT;
  case Mod::Ge:
    return CompareOp::GE;
  case Mod::Lo:
    return CompareOp::LO;
  case Mod::Ls:
    return CompareOp::LS;
  case Mod::Hi:
    return CompareOp::HI;
  case Mod::Hs:
    return CompareOp::HS;
  case Mod::Equ:
    return CompareOp::EQU;
  case Mod::Neu:
    return CompareOp::NEU;
  case Mod::Ltu:
    return CompareOp::LTU;
  case Mod::Leu:
    return CompareOp::LEU;
  case Mod::Gtu:
    return CompareOp::GTU;
  case Mod::Geu:
    return CompareOp::GEU;
  case Mod::CompareNum:
    return CompareOp::NUM;
  case Mod::CompareNan:
    return CompareOp::NAN_;
  default:
    return std::nullopt;
  }
}

std::optional<Order> getOrder(Mod word) {
  switch (word) {
  case Mod::Weak:
    return Order::Weak;
  case Mod::Relaxed:
    return Order::Relaxed;
  case Mod::Acquire:
    return Order::Acquire;
  case Mod::Release:
    return Order::Release;
  case Mod::AcqRel:
    return Order::AcqRel;
  case Mod::Sc:
    return Order::SC;
  case Mod::Volatile:
    return Order::Volatile;
  case Mod::Mmio:
    return Order::MMIO;
  default:
    return std::nullopt;
  }
}

std::optional<Scope> getScope(Mod word) {
  switch (word) {
  case Mod::Cta:
    return Scope::CTA;
  case Mod::Cluster:
    return Scope::Cluster;
  case Mod::Gpu:
  case Mod::Gl:
    return Scope::GPU;
  case Mod::Sys:
    return Scope::Sys;
  default:
    return std::nullopt;
  }
}

unsigned getCount(Mod word) {
  switch (word) {
  case Mod::X1:
    return 1;
  case Mod::X2:
    return 2;
  case Mod::X4:
    return 4;
  case Mod::X8:
    return 8;
  case Mod::X16:
    return 16;
  case Mod::X32:
    return 32;
  case Mod::X64:
    return 64;
  case Mod::X128:
    return 128;
  default:
    return 0;
  }
}

void decodeWord(Mod word, bool isComparison, Modifiers &mods) {
  mods.words.set(static_cast<size_t>(word));
  mods.list.push_back(word);
  if (std::optional<Space> space = getSpace(word))
    mods.spaces.push_back(*space);
  else if (std::optional<Rounding> rounding = getRounding(word))
    mods.rounding = *rounding;
  else if (std::optional<Order> order = getOrder(word))
    mods.order = *order;
  else if (std::optional<Scope> scope = getScope(word))
    mods.scope = *scope;
  else if (unsigned count = getCount(word))
    mods.count = count;
  if (isComparison)
    if (std::optional<CompareOp> compare = getCompare(word))
      mods.compare = *compare;
  switch (word) {
  case Mod::Ftz:
    mods.ftz = true;
    break;
  case Mod::Sat:
    mods.sat = true;
    break;
  case Mod::Satfinite:
    mods.satfinite = true;
    break;
  case Mod::Relu:
    mods.relu = true;
    break;
  case Mod::Approx:
    mods.approx = true;
    break;
  case Mod::Aligned:
    mods.aligned = true;
    break;
  case Mod::L2CacheHint:
    mods.cacheHint = true;
    break;
  case Mod::CtaGroup1:
    mods.ctaGroup = 1;
    break;
  case Mod::CtaGroup2:
    mods.ctaGroup = 2;
    break;
  case Mod::Dim1D:
    mods.dims = 1;
    break;
  case Mod::Dim2D:
    mods.dims = 2;
    break;
  case Mod::Dim3D:
    mods.dims = 3;
    break;
  case Mod::Dim4D:
    mods.dims = 4;
    break;
  case Mod::Dim5D:
    mods.dims = 5;
    break;
  default:
    break;
  }
}

} // namespace

std::string kvq::emu::ptx::decodeModifiers(Opcode opcode,
                                           llvm::ArrayRef<StringRef> words,
                                           Modifiers &mods) {
  bool isComparison = opcode == Opcode::Set || opcode == Opcode::Setp;
  if (words.size() > 32)
    return "an instruction has at most 32 dotted words";
  for (StringRef word : words) {
    if (std::optional<Type> type = findType(word)) {
      mods.types.push_back(*type);
      continue;
    }
    if (std::optional<Mod> modifier = findModifier(word)) {
      decodeWord(*modifier, isComparison, mods);
      continue;
    }
    if (word == "v2" || word == "v4" || word == "v8") {
      mods.vector = word[1] - '0';
      continue;
    }
    if (isCacheHint(word) || isCollectorHint(word) || decodeShape(word, mods))
      continue;
    if (word.empty())
      return "a '.' must be followed by a word";
    return llvm::formatv("unknown modifier '.{0}' of '{1}'{2}", word,
                         stringify(opcode), suggestModifier(word));
  }
  return "";
}
