//===- Pairs.h - Arithmetic of f32 by twos --------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_PAIRS_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_PAIRS_H

#include "../KernelBuilder.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kvq::kernel {

/// Combines values, an even number of them, by twos, for which Blackwell has
/// instructions: `Op` is an operation of vectors.
template <typename Op, typename... Operands>
llvm::SmallVector<F32> combinePairs(KernelBuilder &b, llvm::ArrayRef<F32> first,
                                    Operands... operands) {
  auto type = mlir::VectorType::get(2, b.getF32Type());
  llvm::SmallVector<F32> results;
  for (size_t i = 0; i < first.size(); i += 2) {
    auto pair = [&](llvm::ArrayRef<F32> values) -> mlir::Value {
      return mlir::vector::FromElementsOp::create(
          b, type, mlir::ValueRange{values[i], values[i + 1]});
    };
    mlir::Value result = Op::create(b, pair(first), pair(operands)...);
    for (int64_t lane = 0; lane < 2; ++lane)
      results.push_back(b.extractF32(result, lane));
  }
  return results;
}

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_PAIRS_H
