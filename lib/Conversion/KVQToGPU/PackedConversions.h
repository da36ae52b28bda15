//===- PackedConversions.h - Conversions of a word of elements ------------===//
//
// The conversions of chips that have them, of all elements of a 32-bit word at
// once. LLVM has them for two elements and takes words apart by shifts and
// masks around them; PTX splits and joins words by one move.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_PACKEDCONVERSIONS_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_PACKEDCONVERSIONS_H

#include "KernelBuilder.h"

namespace kvq::kernel {

/// Eight E2M1 codes to four vector<2xf16>, in the order of the elements. For
/// chips with FP4 conversions.
std::array<mlir::Value, 4> unpackE2M1(KernelBuilder &b, I32 word);

/// Four E4M3 codes to two vector<2xf16>. For chips with FP8 conversions.
std::array<mlir::Value, 2> unpackE4M3(KernelBuilder &b, I32 word);

/// Eight f32 to E2M1, or four to E4M3: rounded to nearest even after clamping.
/// What a NaN becomes is not said.
I32 packE2M1(KernelBuilder &b, llvm::ArrayRef<F32> values);
I32 packE4M3(KernelBuilder &b, llvm::ArrayRef<F32> values);

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_PACKEDCONVERSIONS_H
