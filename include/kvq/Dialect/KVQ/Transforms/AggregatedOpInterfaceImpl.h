//===- AggregatedOpInterfaceImpl.h - kvq operations as linalg -------------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMS_AGGREGATEDOPINTERFACEIMPL_H
#define KVQ_DIALECT_KVQ_TRANSFORMS_AGGREGATEDOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace kvq {

/// Attaches linalg's AggregatedOpInterface to `attention`, `merge_states`,
/// `quantize` and `dequantize` on tensors: their decomposition into
/// `linalg.generic`, which `transform.structured.decompose_interface` applies.
/// Attention forms all logits, [B, Lq, heads, L] in f32: a reference, and a
/// way into compilers that have a lowering of their own for linalg.
void registerAggregatedOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_AGGREGATEDOPINTERFACEIMPL_H
