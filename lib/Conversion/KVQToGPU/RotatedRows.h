//===- RotatedRows.h - The rows of an append, with RoPE -------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_ROTATEDROWS_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_ROTATEDROWS_H

#include "Arrays.h"
#include "BlockCodec.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"

namespace kvq::kernel {

/// The rows of a quantize_append, in f32 after their rotary position embedding
/// if there is one. Declares the parameters `PREFIXinput`, `PREFIXcos` and
/// `PREFIXsin`.
class RotatedRows {
public:
  /// Rows will be accessed in chunks of `chunk` elements, an even number.
  RotatedRows(KernelLaunch &kernel, llvm::StringRef prefix, QuantizeAppendOp op,
              int64_t chunk);

  Size rows() const { return input.size(0); }

  /// Channels `first` to `first` + chunk - 1 of a head of a row; those past
  /// the end are zero. `first` is a multiple of the chunk.
  PackedValues load(I32 row, I32 head, I32 first) const;

private:
  struct Tables {
    Array cos, sin;
  };

  /// What of a chunk the rotation pairs with it.
  enum class Pairing {
    /// A chunk with one half of the channels away.
    Chunks,
    /// Neighbours, all of which rotate or none.
    Neighbours,
    /// None of these.
    Elements,
  };
  Pairing getPairing() const;

  llvm::SmallVector<F32> loadPlain(const Row &row, I32 first) const;
  llvm::SmallVector<F32> rotateChunk(I32 row, const Row &from, I32 first) const;
  llvm::SmallVector<F32> rotateElements(I32 row, const Row &from,
                                        I32 first) const;
  llvm::SmallVector<F32> rotateChunks(I32 row, const Row &from,
                                      I32 first) const;
  llvm::SmallVector<F32> rotateNeighbours(I32 row, const Row &from,
                                          I32 first) const;
  F32 loadRotated(I32 row, const Row &from, I32 channel) const;

  KernelBuilder &b;
  int64_t chunk, headDim, numRotated;
  bool isInterleaved;
  Array input;
  std::optional<Tables> tables;
};

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_ROTATEDROWS_H
