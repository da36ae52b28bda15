//===- TilingInterfaceImpl.h - Tiling of kvq operations -------------------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMS_TILINGINTERFACEIMPL_H
#define KVQ_DIALECT_KVQ_TRANSFORMS_TILINGINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace kvq {

/// Attaches TilingInterface to `quantize`, `dequantize` and `attention`. All of
/// their loops are parallel:
///
/// | operation | loops |
/// |---|---|
/// | `quantize`, `dequantize` | one per outer dimension, then one over the
///   blocks of a row (pairs of 4-bit elements, or elements, without blocks) |
/// | `attention` | sequences (not with `qo_indptr`), then KV heads (if their
///   number is static) |
///
/// Operations that read a handle are not tiled here: producer fusion upstream
/// ignores effects and would move a read past a write.
void registerTilingInterfaceExternalModels(mlir::DialectRegistry &registry);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_TILINGINTERFACEIMPL_H
