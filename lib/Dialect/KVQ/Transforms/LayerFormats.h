//===- LayerFormats.h - Which format each layer's cache shall have --------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_LAYERFORMATS_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_LAYERFORMATS_H

#include "CacheClasses.h"

namespace kvq {

/// The formats that caches are converted to: by attributes where handles come
/// from, else by a file for some layers, else by options.
class LayerFormats {
public:
  /// Reads options and, unless its name is empty, the file. Fails with an error
  /// at `module`.
  mlir::LogicalResult parse(mlir::ModuleOp module, llvm::StringRef key,
                            llvm::StringRef value, llvm::StringRef file);

  /// Numbers the layers of each side: by the attribute `kvq.layer` of where
  /// handles come from, else in order.
  void number(llvm::ArrayRef<CacheClass> classes);

  /// Returns the format of a class, or null if nothing says one. Fails with an
  /// error where the origins of its handles ask for different ones.
  mlir::FailureOr<KVFormatInterface> get(const CacheClass &cacheClass) const;

private:
  struct Sides {
    KVFormatInterface key, value;
    KVFormatInterface get(Side side) const {
      return side == Side::Key ? key : value;
    }
  };
  /// Layers `first` to `last`, counted from the end where negative.
  struct Range {
    int64_t first, last;
    Sides formats;
  };

  mlir::LogicalResult parseFile(mlir::ModuleOp module, llvm::StringRef file);
  KVFormatInterface getOfLayer(mlir::Value origin, Side side) const;

  Sides defaults;
  llvm::SmallVector<Range> ranges;
  /// The layer of each origin, and how many layers a side has.
  llvm::DenseMap<mlir::Value, int64_t> layers;
  int64_t numLayers[2] = {0, 0};
};

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_LAYERFORMATS_H
