//===- KVQTypes.td - Types of the kvq dialect -------------*- tablegen -*-===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQTYPES_TD
#define KVQ_DIALECT_KVQ_IR_KVQTYPES_TD

include "kvq/Dialect/KVQ/IR/KVQAttributes.td"
include "mlir/IR/AttrTypeBase.td"

def KVQ_CacheType : TypeDef<KVQDialect, "Cache"> {
  let mnemonic = "cache";
  let summary = "a handle to the keys or the values of a paged cache";
  let description = [{
    A handle to one side of a paged KV cache: `page` tokens of `heads` KV heads
    with `head_dim` elements each per page, in this order whatever the page's
    `kv_layout`. The number of pages is not part of the type. A contiguous
    cache is one whose page holds its full capacity. Keys and values have
    handles of their own, which may differ in everything but the number of
    heads.

    The format is a preset name, `fp4` for `#kvq.fp4`, or any attribute that
    implements `KVFormatInterface`. The scale layout is there if and only if the format
    has block scales.

    The parts of a cache, with `P` pages, are

    | part | shape for NHD | shape for HND | element type |
    |---|---|---|---|
    | data | [P, page, heads, head_dim] | [P, heads, page, head_dim] | the format's |
    | scales | [P, page, heads, S] | [P, heads, page, S] | the format's scale type |
    | global scale | [] | [] | f32 |

    where S = head_dim / block. With blocks along the tokens the scales have
    page / block rows of head_dim.

    Example:

    ```mlir
    !kvq.cache<key, 16x8x128, nvfp4, HND, linear>
    !kvq.cache<value, 64x4x128, fp8, NHD>
    ```
  }];
  let parameters = (ins
    "::kvq::Side":$side,
    "int64_t":$pageSize,
    "int64_t":$numHeads,
    "int64_t":$headDim,
    "::kvq::KVFormatInterface":$format,
    "::kvq::KVLayout":$kvLayout,
    "std::optional<::kvq::ScaleLayout>":$scaleLayout
  );
  let extraClassDeclaration = [{
    /// The shape of the data, [?, page, heads, head_dim] in the page's order.
    ::llvm::SmallVector<int64_t> getDataShape() const;

    /// The shape of the scales; only for formats with block scales.
    ::llvm::SmallVector<int64_t> getScalesShape() const;

    /// The type of the data part as the accessors return it: fully dynamic
    /// strides but the innermost, dynamic offset, logical element type.
    ::mlir::MemRefType getDataType() const;

    /// The type of the scales part, null for formats without block scales.
    ::mlir::MemRefType getScalesType() const;

    /// The type of the global scale, null for formats without one.
    ::mlir::MemRefType getGlobalScaleType() const;

    /// The number of scales along head_dim of a token and head (S), or with
    /// blocks along the tokens head_dim; 0 without block scales.
    int64_t getScaleColumns() const;

    /// The number of rows of scales of a page and head.
    int64_t getScaleRows() const;

    /// Bytes that one token occupies, data and scales of all heads, rounded
    /// up where a token shares a byte with another one.
    int64_t getBytesPerToken() const;

    /// Bytes that one page occupies, data and scales of all heads.
    int64_t getBytesPerPage() const;

    /// Positions of the dimensions of data and scales.
    unsigned getTokenDim() const {
      return getKvLayout() == KVLayout::NHD ? 1 : 2;
    }
    unsigned getHeadDimIndex() const {
      return getKvLayout() == KVLayout::NHD ? 2 : 1;
    }

    /// Whether kvq-assign-block-scales has still to choose the scale layout or
    /// the block scales.
    bool isUndecided() const;

    bool isKey() const { return getSide() == Side::Key; }
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // KVQ_DIALECT_KVQ_IR_KVQTYPES_TD
