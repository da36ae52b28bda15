//===- Pairs.h - Arithmetic of f32 by twos --------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_PAIRS_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_PAIRS_H

#include "../KernelBuilder.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kvq::kernel {

/// Vectors of two of values, an even number of them.
inline llvm::SmallVector<mlir::Value> packPairs(KernelBuilder &b,
                                                llvm::ArrayRef<F32> values) {
  auto type = mlir::VectorType::get(2, b.getF32Type());
  llvm::SmallVector<mlir::Value> pairs;
  for (size_t i = 0; i < values.size(); i += 2)
    pairs.push_back(mlir::vector::FromElementsOp::create(
        b, type, mlir::ValueRange{values[i], values[i + 1]}));
  return pairs;
}

inline llvm::SmallVector<F32> unpackPairs(KernelBuilder &b,
                                          mlir::ValueRange pairs) {
  llvm::SmallVector<F32> values;
  for (mlir::Value pair : pairs)
    for (int64_t lane = 0; lane < 2; ++lane)
      values.push_back(b.extractF32(pair, lane));
  return values;
}

/// Combines values, an even number of them, by twos, for which Blackwell has
/// instructions: `Op` is an operation of vectors.
template <typename Op, typename... Operands>
llvm::SmallVector<F32> combinePairs(KernelBuilder &b, llvm::ArrayRef<F32> first,
                                    Operands... operands) {
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> inputs = {
      packPairs(b, first), packPairs(b, operands)...};
  llvm::SmallVector<mlir::Value> results;
  for (size_t i = 0; i < first.size() / 2; ++i) {
    llvm::SmallVector<mlir::Value> pairs;
    for (const llvm::SmallVector<mlir::Value> &input : inputs)
      pairs.push_back(input[i]);
    auto type = pairs.front().getType();
    results.push_back(Op::create(b, mlir::TypeRange(type), pairs));
  }
  return unpackPairs(b, results);
}

} // namespace kvq::kernel

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_BLACKWELLDECODE_PAIRS_H
