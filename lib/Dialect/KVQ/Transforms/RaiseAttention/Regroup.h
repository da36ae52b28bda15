//===- Regroup.h - Views from one grouping of digits to another -----------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_REGROUP_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_REGROUP_H

#include "IndexSpace.h"

namespace kvq::raise {

/// For each dimension of a tensor its digits, none for a size of 1.
using Grouping = llvm::SmallVector<Digits, 4>;

/// Makes a tensor of grouping `to` out of one of grouping `from`, which has the
/// same digits, by expand_shape, transpose and collapse_shape, as far as these
/// are necessary.
mlir::Value regroup(mlir::OpBuilder &builder, mlir::Location loc,
                    const IndexSpace &space, mlir::Value tensor,
                    llvm::ArrayRef<Digits> from, llvm::ArrayRef<Digits> to);

} // namespace kvq::raise

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_RAISEATTENTION_REGROUP_H
