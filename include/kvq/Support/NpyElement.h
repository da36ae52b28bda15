//===- NpyElement.h - What the elements of a .npy file mean -----*- C++ -*-===//
//
// A .npy header does not tell ml_dtypes' types apart: bfloat16 is "V2", and
// float8_e4m3fn, float4_e2m1fn and int4 are all "V1" (4-bit types take a byte
// each). So the reader states which element it expects, and asks whether what
// the file holds can be that.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_SUPPORT_NPYELEMENT_H
#define KVQ_SUPPORT_NPYELEMENT_H

#include "kvq/Support/Npy.h"

namespace kvq {

/// Elements of NumPy and ml_dtypes, by their names there.
enum class NpyElement : uint8_t {
  Bool,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float16,
  Float32,
  Float64,
  LongDouble,
  Complex64,
  Complex128,
  BFloat16,
  Float8E3M4,
  Float8E4M3,
  Float8E4M3B11FNUZ,
  Float8E4M3FN,
  Float8E4M3FNUZ,
  Float8E5M2,
  Float8E5M2FNUZ,
  Float8E8M0FNU,
  Float6E2M3FN,
  Float6E3M2FN,
  Float4E2M1FN,
  Int4,
  UInt4,
  Int2,
  UInt2,
  Int1,
  UInt1
};

/// Returns the dtype name in NumPy or ml_dtypes, for example "bfloat16".
llvm::StringRef getName(NpyElement element);

/// Returns the number of bits that carry the element's value. ml_dtypes
/// stores every element in whole bytes.
unsigned getBitWidth(NpyElement element);

/// Returns the type under which NumPy and ml_dtypes write this element.
NpyType getStoredType(NpyElement element);

/// Whether a file of this type can hold such elements, one per ceil(bits/8)
/// bytes: the type that NumPy or ml_dtypes writes, or for ml_dtypes' types of 8
/// and 16 bits also the unsigned integer of the same size.
bool canHold(NpyType stored, NpyElement element);

} // namespace kvq

#endif // KVQ_SUPPORT_NPYELEMENT_H
