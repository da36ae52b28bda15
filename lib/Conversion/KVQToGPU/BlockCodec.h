//===- BlockCodec.h - Quantize and dequantize a block in registers --------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_BLOCKCODEC_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_BLOCKCODEC_H

#include "Elements.h"
#include "kvq/Dialect/KVQ/IR/KVQInterfaces.h"

namespace kvq::kernel {

/// A block as it is stored.
struct StoredBlock {
  llvm::SmallVector<I32> words;
  /// The code of the block scale in the low bits; empty without block scales.
  I32 scale;
};

/// Values in registers: f32, f16 or bf16, packed into words from the low bits
/// up.
struct PackedValues {
  mlir::FloatType type;
  llvm::SmallVector<I32> words;
};

/// Quantizes the values of one block, or any number of values of a format
/// without block scales, by the numeric contract: f32 arithmetic with true
/// division. `globalScale` is empty for a format without one.
StoredBlock quantizeBlock(KernelBuilder &b, KVFormatInterface format,
                          bool fourOverSix, const PackedValues &values,
                          F32 globalScale);

/// The values of stored elements that share a scale.
llvm::SmallVector<F32> dequantizeBlock(KernelBuilder &b,
                                       KVFormatInterface format,
                                       const StoredBlock &block,
                                       F32 globalScale);

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_BLOCKCODEC_H
