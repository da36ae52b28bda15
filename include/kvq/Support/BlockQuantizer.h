//===- BlockQuantizer.h - Quantized rows of a cache -----------------------===//
//
// Quantizes and dequantizes rows as caches store them: packed elements, one
// scale byte for each block of elements, and one global scale for the tensor.
// It is the numeric contract of the project, on the host: what a kernel writes
// with `rounding = exact` equals what this writes, byte for byte.
//
// Arithmetic is that of StrictFloat.h: no mode of the processor matters.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_SUPPORT_BLOCKQUANTIZER_H
#define KVQ_SUPPORT_BLOCKQUANTIZER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>
#include <optional>

namespace kvq {

/// How an element is stored.
enum class ElementKind : uint8_t { E2M1, E4M3, BF16, F16 };

/// How the scale of a block is stored.
enum class BlockScaleKind : uint8_t { None, E4M3, E8M0 };

/// How the values of a row are stored. A value is
/// element x block scale x global scale, without the factors that a format
/// lacks.
struct BlockFormat {
  ElementKind element = ElementKind::BF16;
  BlockScaleKind scale = BlockScaleKind::None;
  /// Number of consecutive elements that share a scale; 0 without block scales.
  unsigned blockSize = 0;
  bool hasGlobalScale = false;

  static constexpr BlockFormat nvfp4() {
    return {ElementKind::E2M1, BlockScaleKind::E4M3, 16, true};
  }
  static constexpr BlockFormat mxfp4() {
    return {ElementKind::E2M1, BlockScaleKind::E8M0, 32, false};
  }
  static constexpr BlockFormat mxfp8() {
    return {ElementKind::E4M3, BlockScaleKind::E8M0, 32, false};
  }
  static constexpr BlockFormat fp8() {
    return {ElementKind::E4M3, BlockScaleKind::None, 0, true};
  }
  static constexpr BlockFormat bf16() {
    return {ElementKind::BF16, BlockScaleKind::None, 0, false};
  }
  static constexpr BlockFormat f16() {
    return {ElementKind::F16, BlockScaleKind::None, 0, false};
  }

  /// Returns the format of a name ("nvfp4", "mxfp4", "mxfp8", "fp8", "bf16",
  /// "f16"), or nothing for any other name.
  static std::optional<BlockFormat> getPreset(llvm::StringRef name);

  /// Whether the contract defines the format. Beside the presets these are
  /// E2M1 and E4M3 elements with E4M3 block scales of any block size, with or
  /// without a global scale; with E8M0 block scales of any block size and no
  /// global scale; and without block scales, with a global scale or not.
  /// BF16 and F16 elements have no scales.
  llvm::Error verify() const;

  unsigned getElementBits() const;

  /// Bytes of the packed elements of a row, and its number of block scales,
  /// which are bytes too.
  size_t getDataBytes(size_t elements) const {
    return elements * getElementBits() / 8;
  }
  size_t getScaleBytes(size_t elements) const {
    return scale == BlockScaleKind::None ? 0 : elements / blockSize;
  }

  friend bool operator==(const BlockFormat &a, const BlockFormat &b) {
    return a.element == b.element && a.scale == b.scale &&
           a.blockSize == b.blockSize && a.hasGlobalScale == b.hasGlobalScale;
  }
  friend bool operator!=(const BlockFormat &a, const BlockFormat &b) {
    return !(a == b);
  }
};

struct QuantizeOptions {
  /// For E2M1 elements with E4M3 scales: choose, for each block, between the
  /// scales that map its largest magnitude to 6 and to 4, by the smaller sum of
  /// squared errors (f32, in the order of the elements); 6 where both are
  /// equal.
  bool fourOverSix = false;
};

/// Quantizes `x` to `data` and `scales`.
///
/// Elements are packed in order, the even one of two 4-bit elements in the low
/// nibble, 16-bit elements in little endian. Sizes must be exactly
/// `getDataBytes` and `getScaleBytes` of `x.size()`, which is a multiple of the
/// block size and fills whole bytes. `globalScale` is the decode scale: finite
/// and positive, and 1 for a format without one. Anything else is an error, and
/// then nothing is written.
llvm::Error quantizeRow(const BlockFormat &format, llvm::ArrayRef<float> x,
                        float globalScale, llvm::MutableArrayRef<uint8_t> data,
                        llvm::MutableArrayRef<uint8_t> scales,
                        const QuantizeOptions &options = {});

/// Dequantizes to `x`: the product of element, block scale and global scale,
/// rounded once to f32. Requirements are those of `quantizeRow`. Any byte is
/// allowed; a scale that is NaN gives NaN for the whole block.
llvm::Error dequantizeRow(const BlockFormat &format,
                          llvm::ArrayRef<uint8_t> data,
                          llvm::ArrayRef<uint8_t> scales, float globalScale,
                          llvm::MutableArrayRef<float> x);

} // namespace kvq

#endif // KVQ_SUPPORT_BLOCKQUANTIZER_H
