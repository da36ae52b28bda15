//===- Elements.h - Elements of rows in memory and their decoding ---------===//
//
// Rows of f32, f16, bf16, E4M3 or E2M1 elements are loaded and stored as 32-bit
// words, in accesses of 16 bytes where addresses allow it. Words are decoded to
// and encoded from f32 with the conversions of the chip, or with exact integer
// arithmetic where it has none.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_ELEMENTS_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_ELEMENTS_H

#include "KernelBuilder.h"

namespace kvq::kernel {

/// A row of elements in global memory.
struct Row {
  /// The address of element 0.
  Ptr base;
  mlir::FloatType element;
  /// The distance in bytes of neighbours; empty if they lie side by side, as
  /// 4-bit elements always do.
  I64 step;
  /// Whether chunks of the row may be accessed by `getAccessBytes`: the
  /// address is a multiple of that and neighbours lie side by side.
  Pred isAligned;
  /// The number of elements, empty if chunks are always whole.
  I32 size;
};

/// The access width for `count` elements: the largest power of two that
/// divides their bytes, 16 at most.
int64_t getAccessBytes(mlir::FloatType element, int64_t count);

/// Loads elements `first` to `first` + count - 1; those past the end are zero
/// bits. `count` elements are a multiple of 32 bits, and `first` of `count`.
/// Elements are packed into the words from the low bits up.
llvm::SmallVector<I32> loadElements(KernelBuilder &b, const Row &row, I32 first,
                                    int64_t count);

/// Stores elements; those past the end are left out.
void storeElements(KernelBuilder &b, llvm::ArrayRef<I32> words, const Row &row,
                   I32 first);

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Decodes a word of eight E2M1 codes to four vector<2xf16> in the order of
/// the elements. Exact.
std::array<mlir::Value, 4> decodeE2M1(KernelBuilder &b, I32 word);

/// Decodes a word of four E4M3 codes to two vector<2xf16>. Exact.
std::array<mlir::Value, 2> decodeE4M3(KernelBuilder &b, I32 word);

/// Decodes words of elements of a type to f32, exactly. NaN of f16 and bf16
/// keep sign and payload and become quiet.
llvm::SmallVector<F32> decodeElements(KernelBuilder &b, mlir::FloatType element,
                                      llvm::ArrayRef<I32> words);

/// Decodes a block scale, the low bits of `code`, to f32: E4M3, E8M0 or a wider
/// float.
F32 decodeScale(KernelBuilder &b, mlir::FloatType type, I32 code);

/// Loads and decodes one element of f32, f16 or bf16.
F32 loadElement(KernelBuilder &b, const Row &row, I32 at);

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

/// Rounds f32 values to elements by the rules of kvq-lower-fp-conversions, to
/// f16 and bf16 to nearest even with NaN quiet, and packs them into words.
llvm::SmallVector<I32> encodeElements(KernelBuilder &b, mlir::FloatType element,
                                      llvm::ArrayRef<F32> values);

/// The same for values that are no NaN, with the conversions of the chip.
llvm::SmallVector<I32> encodeNumbers(KernelBuilder &b, mlir::FloatType element,
                                     llvm::ArrayRef<F32> values);

/// Rounds an f32 that is no NaN to the code of a block scale in E4M3.
I32 encodeE4M3(KernelBuilder &b, F32 value);

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_ELEMENTS_H
