//===- ValueReaders.h - Kernels that attention reads values with ----------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_VALUEREADERS_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_VALUEREADERS_H

#include "kvq/Dialect/KVQ/IR/KVQAttributes.h"

namespace kvq {

/// Kernels that attention reads values with: a choice of the option
/// `value-reader`.
struct ValueReader {
  llvm::StringLiteral name;
  /// The scale layout that it needs; none where it reads every one.
  std::optional<ScaleLayout> layout;
  /// The chip and the preset that it exists for; empty for all.
  llvm::StringLiteral chip, format;
};

inline constexpr ValueReader valueReaders[] = {
    {"kvq", std::nullopt, "", ""},
    // FlashInfer and TensorRT-LLM write values of NVFP4 for these kernels in
    // groups of four tokens, for SM100 alone.
    {"trtllm-gen", ScaleLayout::Interleaved4, "sm_100a", "nvfp4"},
};

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_VALUEREADERS_H
