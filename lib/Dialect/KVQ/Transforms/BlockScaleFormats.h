//===- BlockScaleFormats.h - Choose the block scales of 4-bit caches ------===//
//
// A cache in fp4 has E2M1 elements and leaves open what their block scales are.
// The candidates are a table. What some writer cannot produce or some reader
// cannot consume is out; of the rest a chip's table of matrix products says
// what costs least.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_BLOCKSCALEFORMATS_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_BLOCKSCALEFORMATS_H

#include "ScalePools.h"
#include "ValueReaders.h"

namespace kvq {

/// What block scales are chosen for.
struct BlockScaleTarget {
  /// A chip of the table of MMA kinds, or "cpu".
  llvm::StringRef chip;
  const ValueReader *valueReader;
  /// The relative error that an MMA kind may add to a product.
  double maxError;
  /// The relative error that storing values may add, where there is a choice.
  double maxStoredError;
};

/// A choice, and why it is none of the others: "rather than mxfp4 (...)".
struct BlockScaleChoice {
  KVFormatInterface format;
  std::string reason;
};

/// Chooses one format for the caches of a pool that are in fp4. Without a
/// candidate that everyone can write and read fails with an error that names
/// who rejects each.
mlir::FailureOr<BlockScaleChoice>
chooseBlockScales(const ScalePool &pool, const BlockScaleTarget &target);

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_BLOCKSCALEFORMATS_H
