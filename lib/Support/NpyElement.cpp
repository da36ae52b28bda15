//===- NpyElement.cpp - What the elements of a .npy file mean -------------===//

#include "kvq/Support/NpyElement.h"

using namespace kvq;

namespace {
struct ElementInfo {
  llvm::StringLiteral name;
  unsigned bits;
  NpyType stored;
  /// Whether the type comes from ml_dtypes, so that NumPy alone cannot name it
  /// and callers may pass its bits as unsigned integers.
  bool extended;
};
} // namespace

/// What ml_dtypes 0.2 to 0.6 hand to numpy.save was observed, not documented:
/// a dtype of kind 'V', but for float8_e5m2, whose kind is 'f' (NumPy cannot
/// load that file itself).
static const ElementInfo &getInfo(NpyElement element) {
  constexpr NpyType raw1{NpyKind::Raw, 1};
  static const ElementInfo infos[] = {
      {"bool", 8, {NpyKind::Bool, 1}, false},
      {"int8", 8, {NpyKind::Int, 1}, false},
      {"int16", 16, {NpyKind::Int, 2}, false},
      {"int32", 32, {NpyKind::Int, 4}, false},
      {"int64", 64, {NpyKind::Int, 8}, false},
      {"uint8", 8, {NpyKind::UInt, 1}, false},
      {"uint16", 16, {NpyKind::UInt, 2}, false},
      {"uint32", 32, {NpyKind::UInt, 4}, false},
      {"uint64", 64, {NpyKind::UInt, 8}, false},
      {"float16", 16, {NpyKind::Float, 2}, false},
      {"float32", 32, {NpyKind::Float, 4}, false},
      {"float64", 64, {NpyKind::Float, 8}, false},
      {"longdouble", 128, {NpyKind::Float, 16}, false},
      {"complex64", 64, {NpyKind::Complex, 8}, false},
      {"complex128", 128, {NpyKind::Complex, 16}, false},
      {"bfloat16", 16, {NpyKind::Raw, 2}, true},
      {"float8_e3m4", 8, raw1, true},
      {"float8_e4m3", 8, raw1, true},
      {"float8_e4m3b11fnuz", 8, raw1, true},
      {"float8_e4m3fn", 8, raw1, true},
      {"float8_e4m3fnuz", 8, raw1, true},
      {"float8_e5m2", 8, {NpyKind::Float, 1}, true},
      {"float8_e5m2fnuz", 8, raw1, true},
      {"float8_e8m0fnu", 8, raw1, true},
      {"float6_e2m3fn", 6, raw1, true},
      {"float6_e3m2fn", 6, raw1, true},
      {"float4_e2m1fn", 4, raw1, true},
      {"int4", 4, raw1, true},
      {"uint4", 4, raw1, true},
      {"int2", 2, raw1, true},
      {"uint2", 2, raw1, true},
      {"int1", 1, raw1, true},
      {"uint1", 1, raw1, true},
  };
  static_assert(std::size(infos) == static_cast<size_t>(NpyElement::UInt1) + 1,
                "one row for each element");
  return infos[static_cast<size_t>(element)];
}

llvm::StringRef kvq::getName(NpyElement element) {
  return getInfo(element).name;
}

unsigned kvq::getBitWidth(NpyElement element) { return getInfo(element).bits; }

NpyType kvq::getStoredType(NpyElement element) {
  return getInfo(element).stored;
}

bool kvq::canHold(NpyType stored, NpyElement element) {
  const ElementInfo &info = getInfo(element);
  if (stored == info.stored)
    return true;
  if (!info.extended || stored.size != info.stored.size)
    return false;
  if (stored.kind == NpyKind::Raw)
    return true;
  return stored.kind == NpyKind::UInt && info.bits == stored.size * 8;
}
