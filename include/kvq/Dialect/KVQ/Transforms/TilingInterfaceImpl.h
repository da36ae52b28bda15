//===- TilingInterfaceImpl.h - Tiling of kvq operations -------------------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMS_TILINGINTERFACEIMPL_H
#define KVQ_DIALECT_KVQ_TRANSFORMS_TILINGINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace kvq {

/// Attaches TilingInterface to `quantize`, `dequantize` and `attention`, and
/// PartialReductionOpInterface to `attention` on tensors:
///
/// | operation | loops |
/// |---|---|
/// | `quantize`, `dequantize` | one per outer dimension, then one over the
///   blocks of a row (pairs of 4-bit elements, or elements, without blocks) |
/// | `attention` | sequences (not with `qo_indptr`), KV heads (if their number
///   is static), queries (not with `qo_indptr`), keys |
///
/// All loops are parallel but that over keys, a reduction: only the strategy
/// PartialReductionOuterParallel tiles it (`tile_reduction_using_forall`). The
/// partial results are output and lse in f32, two whether the operation has an
/// lse or not, and meet in `merge_states`; sinks are one part more.
///
/// Operations that read a handle are not tiled here: producer fusion upstream
/// ignores effects and would move a read past a write.
void registerTilingInterfaceExternalModels(mlir::DialectRegistry &registry);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_TILINGINTERFACEIMPL_H
