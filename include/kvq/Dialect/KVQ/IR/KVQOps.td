//===- KVQOps.td - Operations of the kvq dialect ----------*- tablegen -*-===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQOPS_TD
#define KVQ_DIALECT_KVQ_IR_KVQOPS_TD

include "kvq/Dialect/KVQ/IR/KVQTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/Properties.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

//===----------------------------------------------------------------------===//
// Operand types
//===----------------------------------------------------------------------===//

class KVQ_ShapedOf<list<Type> elements, string elementNames, string rankName,
                   code rankCheck>
    : Type<And<[CPred<"::mlir::isa<::mlir::RankedTensorType, "
                      "::mlir::MemRefType>($_self)">,
                CPred<"::kvq::detail::hasRank($_self, " # rankCheck # ")">,
                SubstLeaves<"$_self",
                            "::mlir::cast<::mlir::ShapedType>($_self)"
                            ".getElementType()",
                            Or<!foreach(t, elements, t.predicate)>>]>,
           rankName # " tensor or memref of " # elementNames>;

defvar KVQ_FloatTypes = [F32, F16, BF16];

def KVQ_Values : KVQ_ShapedOf<KVQ_FloatTypes, "f32, f16 or bf16",
                              "ranked", "1, 64">;
def KVQ_Rows : KVQ_ShapedOf<KVQ_FloatTypes, "f32, f16 or bf16",
                            "rank-3", "3, 3">;
def KVQ_Queries : KVQ_ShapedOf<KVQ_FloatTypes, "f32, f16 or bf16",
                               "rank-3 or rank-4", "3, 4">;
def KVQ_Keys : KVQ_ShapedOf<KVQ_FloatTypes, "f32, f16 or bf16",
                            "rank-4", "4, 4">;
def KVQ_Outputs : KVQ_ShapedOf<KVQ_FloatTypes, "f32, f16 or bf16",
                               "rank-3 to rank-5", "3, 5">;
def KVQ_Lse : KVQ_ShapedOf<[F32], "f32", "rank-2 to rank-4", "2, 4">;
def KVQ_Sinks : KVQ_ShapedOf<[F32], "f32", "rank-1", "1, 1">;
def KVQ_RopeTable : KVQ_ShapedOf<[F32], "f32", "rank-2", "2, 2">;
def KVQ_Mask : KVQ_ShapedOf<[I1, F32, F16, BF16], "i1, f32, f16 or bf16",
                            "rank-4", "4, 4">;
def KVQ_Elements : KVQ_ShapedOf<[AnyFloat], "a format's elements",
                                "ranked", "1, 64">;
def KVQ_Scales : KVQ_ShapedOf<[AnyFloat], "a format's scales",
                              "ranked", "1, 64">;
def KVQ_BlockTable : KVQ_ShapedOf<[I32], "i32", "rank-2", "2, 2">;
def KVQ_Index1D : KVQ_ShapedOf<[I32], "i32", "rank-1", "1, 1">;
def KVQ_SlotMapping : KVQ_ShapedOf<[I32, I64], "i32 or i64", "rank-1",
                                   "1, 1">;

//===----------------------------------------------------------------------===//
// Base classes
//===----------------------------------------------------------------------===//

class KVQOp<string mnemonic, list<Trait> traits = []>
    : Op<KVQDialect, mnemonic, traits>;

/// An operation that writes its outs: tensors become results, memrefs are
/// written in place. Handles among the operands are read.
class KVQDestinationStyleOp<string mnemonic, list<Trait> traits = []>
    : KVQOp<mnemonic, !listconcat(traits, [
        DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
}

//===----------------------------------------------------------------------===//
// Quantization of plain arrays
//===----------------------------------------------------------------------===//

def KVQ_QuantizeOp : KVQDestinationStyleOp<"quantize",
    [AttrSizedOperandSegments]> {
  let summary = "values to data and block scales";
  let description = [{
    Quantizes the innermost axis of `input` `[..., D]` into elements of the
    same shape and, for a format with block scales, scales `[..., D / block]`.
    The blocks of the format lie along head_dim. `global_scale` is given if and
    only if the format has one; it must be finite and positive.

    The numbers are those of the numeric contract. `four_over_six` (nvfp4 only)
    chooses for each block between mapping its largest magnitude to 6 and to 4,
    whichever has the smaller sum of squared errors.

    Example:

    ```mlir
    %d, %s = kvq.quantize ins(%x : tensor<?x8x128xbf16>) global_scale(%g)
        outs(%d0, %s0 : tensor<?x8x128xf4E2M1FN>, tensor<?x8x8xf8E4M3FN>)
        {format = #kvq.format<nvfp4>}
        -> tensor<?x8x128xf4E2M1FN>, tensor<?x8x8xf8E4M3FN>
    ```
  }];
  let arguments = (ins
    KVQ_Values:$input,
    Optional<F32>:$globalScale,
    KVQ_Elements:$data,
    Optional<KVQ_Scales>:$scales,
    KVFormatInterface:$format,
    DefaultValuedAttr<KVQ_RoundingAttr, "::kvq::Rounding::Exact">:$rounding,
    UnitAttr:$four_over_six
  );
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
    (`global_scale` `(` $globalScale^ `)`)?
    `outs` `(` $data (`,` $scales^)? `:` type($data) (`,` type($scales)^)? `)`
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable();
  }];
  let hasVerifier = 1;
}

def KVQ_DequantizeOp : KVQDestinationStyleOp<"dequantize",
    [AttrSizedOperandSegments]> {
  let summary = "data and block scales to values";
  let description = [{
    The inverse of `kvq.quantize`: value = element x block scale x global
    scale, in f32, then rounded to the type of the output.

    Example:

    ```mlir
    %y = kvq.dequantize ins(%d, %s : tensor<4x128xf4E2M1FN>, tensor<4x4xf8E8M0FNU>)
        outs(%y0 : tensor<4x128xf32>) {format = #kvq.format<mxfp4>}
        -> tensor<4x128xf32>
    ```
  }];
  let arguments = (ins
    KVQ_Elements:$data,
    Optional<KVQ_Scales>:$scales,
    Optional<F32>:$globalScale,
    KVQ_Values:$output,
    KVFormatInterface:$format
  );
  let assemblyFormat = [{
    `ins` `(` $data (`,` $scales^)? `:` type($data) (`,` type($scales)^)? `)`
    (`global_scale` `(` $globalScale^ `)`)?
    `outs` `(` $output `:` type($output) `)`
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputMutable();
    }
  }];
  let hasVerifier = 1;
}

def KVQ_ConvertScaleLayoutOp : KVQDestinationStyleOp<"convert_scale_layout"> {
  let summary = "block scales from one layout to another";
  let description = [{
    Copies the scales of whole pages, `[pages, page, heads, S]` (`NHD`) or
    `[pages, heads, page, S]` (`HND`), from one scale layout to another. It is
    the only way to change a layout. Input and output do not overlap.

    Example:

    ```mlir
    kvq.convert_scale_layout ins(%s : memref<?x16x8x8xf8E4M3FN>)
        outs(%t : memref<?x16x8x8xf8E4M3FN>)
        from linear to interleaved_4 NHD
    ```
  }];
  let arguments = (ins
    KVQ_Scales:$input,
    KVQ_Scales:$output,
    EnumProp<KVQ_ScaleLayout>:$from,
    EnumProp<KVQ_ScaleLayout>:$to,
    EnumProp<KVQ_KVLayout>:$kv_layout
  );
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
    `outs` `(` $output `:` type($output) `)`
    `from` $from `to` $to $kv_layout attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutputMutable();
    }
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

def KVQ_MakeCacheOp : KVQOp<"make_cache", [
    Pure, AttrSizedOperandSegments, ViewLikeOpInterface]> {
  let summary = "bundle the parts of a cache into a handle";
  let description = [{
    Makes a handle from memrefs with the logical element types. `scales` is
    given if and only if the format has block scales, `global_scale` if and
    only if it has a global scale. The innermost stride of data and scales is
    1; the other strides and the offset of 4-bit data are even. A layer of a
    pool `[layers, ...]` is a subview.

    That the bytes lie as the type says is an assertion that nothing can check.

    Example:

    ```mlir
    %k = kvq.make_cache data(%d : memref<?x16x8x128xf4E2M1FN>)
        scales(%s : memref<?x16x8x8xf8E4M3FN>) global_scale(%g : memref<f32>)
        : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
    ```
  }];
  let arguments = (ins
    AnyMemRef:$data,
    Optional<AnyMemRef>:$scales,
    Optional<MemRefRankOf<[F32], [0]>>:$globalScale
  );
  let results = (outs KVQ_CacheType:$cache);
  let assemblyFormat = [{
    `data` `(` $data `:` type($data) `)`
    (`scales` `(` $scales^ `:` type($scales) `)`)?
    (`global_scale` `(` $globalScale^ `:` type($globalScale) `)`)?
    attr-dict `:` qualified(type($cache))
  }];
  let extraClassDeclaration = [{
    ::mlir::Value getViewSource() { return getData(); }
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

class KVQCacheAccessorOp<string mnemonic>
    : KVQOp<mnemonic, [Pure, ViewLikeOpInterface]> {
  let arguments = (ins KVQ_CacheType:$cache);
  let results = (outs AnyMemRef:$part);
  let assemblyFormat = "$cache attr-dict `:` qualified(type($cache)) `->` type($part)";
  let extraClassDeclaration = [{
    ::mlir::Value getViewSource() { return getCache(); }
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def KVQ_CacheDataOp : KVQCacheAccessorOp<"cache_data"> {
  let summary = "the data of a cache";
  let description = [{
    Returns the data of a handle as a memref of the logical element type with
    dynamic strides. It is a view: it shares the bytes of the cache.

    Example:

    ```mlir
    %d = kvq.cache_data %k : !kvq.cache<key, 16x8x128, fp8, NHD>
        -> memref<?x16x8x128xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
    ```
  }];
}

def KVQ_CacheScalesOp : KVQCacheAccessorOp<"cache_scales"> {
  let summary = "the block scales of a cache";
  let description = [{
    Returns the scales of a handle, in the scale layout of its type.

    Example:

    ```mlir
    %s = kvq.cache_scales %k : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
        -> memref<?x16x8x8xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
    ```
  }];
}

def KVQ_CacheGlobalScaleOp : KVQCacheAccessorOp<"cache_global_scale"> {
  let summary = "the global scale of a cache";
  let description = [{
    Returns the memref of the global scale (the decode scale) of a handle.

    Example:

    ```mlir
    %g = kvq.cache_global_scale %k : !kvq.cache<key, 16x8x128, fp8, NHD>
        -> memref<f32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Writing a cache
//===----------------------------------------------------------------------===//

def KVQ_AppendOp : KVQOp<"append", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<PagedBatchOpInterface, [
      "getBlockTable", "getSlotMapping", "getPositions", "getBatchIndices",
      "getWrittenCaches"]>]> {
  let summary = "write quantized rows to a cache";
  let description = [{
    Writes rows `data` `[N, heads, head_dim]` and, for a format with block
    scales, `scales` `[N, heads, S]` (row n is a token; the scales in linear
    order). Where row n goes is given

    - by `slot_mapping[n]` = page * page_size + offset; a negative slot is
      padding and skipped; or
    - by `positions[n]` in sequence `batch_indices[n]` (n itself without
      `batch_indices`) whose pages `block_table` lists; a negative position is
      padding.

    The rows hold values of the handle's own global scale. At run time a page
    or slot out of range, or one that is named twice, is an error, and nothing
    is written.

    Example:

    ```mlir
    kvq.append ins(%d, %s : tensor<?x8x128xf4E2M1FN>, tensor<?x8x8xf8E4M3FN>)
        into(%k : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>)
        slot_mapping(%slots : tensor<?xi64>)
    ```
  }];
  let arguments = (ins
    KVQ_Elements:$data,
    Optional<KVQ_Scales>:$scales,
    KVQ_CacheType:$cache,
    Optional<KVQ_SlotMapping>:$slotMapping,
    Optional<KVQ_BlockTable>:$blockTable,
    Optional<KVQ_Index1D>:$positions,
    Optional<KVQ_Index1D>:$batchIndices
  );
  let assemblyFormat = [{
    `ins` `(` $data (`,` $scales^)? `:` type($data) (`,` type($scales)^)? `)`
    `into` `(` $cache `:` qualified(type($cache)) `)`
    (`slot_mapping` `(` $slotMapping^ `:` type($slotMapping) `)`)?
    (`block_table` `(` $blockTable^ `:` type($blockTable) `)`)?
    (`positions` `(` $positions^ `:` type($positions) `)`)?
    (`batch_indices` `(` $batchIndices^ `:` type($batchIndices) `)`)?
    attr-dict
  }];
  let hasVerifier = 1;
}

def KVQ_QuantizeAppendOp : KVQOp<"quantize_append", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<PagedBatchOpInterface, [
      "getBlockTable", "getSlotMapping", "getPositions", "getBatchIndices",
      "getWrittenCaches"]>]> {
  let summary = "quantize rows and write them to a cache";
  let description = [{
    `kvq.quantize` with the format and the global scale of the handle followed
    by `kvq.append`, without the rows in between.

    `rope`, for keys only, applies a rotary position embedding first: `cos` and
    `sin` `[N, R/2]` hold a row for each row of the input. The first R channels
    of every head rotate, the others pass. A pair of channels (x0, x1), chosen
    by `rope_style`, becomes

    y0 = x0 * cos - x1 * sin, y1 = x1 * cos + x0 * sin,

    on inputs converted to f32, each product and each sum rounded to f32 by
    itself; a NaN among the results is the positive quiet one (0x7FC00000). The
    results are quantized as they are, in f32.

    Example:

    ```mlir
    kvq.quantize_append ins(%x : tensor<?x8x128xbf16>)
        into(%k : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>)
        slot_mapping(%slots : tensor<?xi32>)
        rope(%cos, %sin : tensor<?x64xf32>, tensor<?x64xf32>)
    ```
  }];
  let arguments = (ins
    KVQ_Rows:$input,
    KVQ_CacheType:$cache,
    Optional<KVQ_SlotMapping>:$slotMapping,
    Optional<KVQ_BlockTable>:$blockTable,
    Optional<KVQ_Index1D>:$positions,
    Optional<KVQ_Index1D>:$batchIndices,
    Optional<KVQ_RopeTable>:$cos,
    Optional<KVQ_RopeTable>:$sin,
    DefaultValuedAttr<KVQ_RoundingAttr, "::kvq::Rounding::Exact">:$rounding,
    UnitAttr:$four_over_six,
    DefaultValuedAttr<KVQ_RopeStyleAttr,
                      "::kvq::RopeStyle::RotateHalf">:$rope_style
  );
  let builders = [
    // Without a rotary position embedding.
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$cache,
                   "::mlir::Value":$slotMapping, "::mlir::Value":$blockTable,
                   "::mlir::Value":$positions, "::mlir::Value":$batchIndices,
                   "::kvq::Rounding":$rounding, "bool":$four_over_six),
    [{
      build($_builder, $_state, input, cache, slotMapping, blockTable,
            positions, batchIndices, /*cos=*/::mlir::Value(),
            /*sin=*/::mlir::Value(), rounding, four_over_six,
            RopeStyle::RotateHalf);
    }]>
  ];
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
    `into` `(` $cache `:` qualified(type($cache)) `)`
    (`slot_mapping` `(` $slotMapping^ `:` type($slotMapping) `)`)?
    (`block_table` `(` $blockTable^ `:` type($blockTable) `)`)?
    (`positions` `(` $positions^ `:` type($positions) `)`)?
    (`batch_indices` `(` $batchIndices^ `:` type($batchIndices) `)`)?
    (`rope` `(` $cos^ `,` $sin `:` type($cos) `,` type($sin) `)`)?
    attr-dict
  }];
  // Version 1.0 had no rope_style.
  let useCustomPropertiesEncoding = 1;
  let extraClassDeclaration = [{
    /// The number of channels that rotate, 0 without a rotary embedding.
    int64_t getNumRotated();
  }];
  let hasVerifier = 1;
}

def KVQ_CopyPagesOp : KVQOp<"copy_pages", [
    AllTypesMatch<["source", "dest"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<PagedBatchOpInterface, [
      "getReadCaches", "getWrittenCaches"]>]> {
  let summary = "copy whole pages";
  let description = [{
    Copies page `src_pages[i]` of `source` to page `dst_pages[i]` of `dest`,
    data and scales, for forks of a sequence, copy on write and staging. Source
    and destination have one type and may be one handle.

    At run time it is an error, and nothing is written, if a page is out of
    range, if `dst_pages` names a page twice or, where both handles are views
    of the same bytes, a page that `src_pages` names too, or if the global
    scales differ.

    Example:

    ```mlir
    kvq.copy_pages from(%k) to(%k) src_pages(%i : tensor<?xi32>)
        dst_pages(%j : tensor<?xi32>)
        : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
    ```
  }];
  let arguments = (ins
    KVQ_CacheType:$source,
    KVQ_CacheType:$dest,
    KVQ_Index1D:$srcPages,
    KVQ_Index1D:$dstPages
  );
  let assemblyFormat = [{
    `from` `(` $source `)` `to` `(` $dest `)`
    `src_pages` `(` $srcPages `:` type($srcPages) `)`
    `dst_pages` `(` $dstPages `:` type($dstPages) `)`
    attr-dict `:` qualified(type($source))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reading a cache
//===----------------------------------------------------------------------===//

def KVQ_GatherOp : KVQDestinationStyleOp<"gather", [
    DeclareOpInterfaceMethods<PagedBatchOpInterface, [
      "getBlockTable", "getSeqLens", "getReadCaches"]>]> {
  let summary = "stored rows of sequences, as dense arrays";
  let description = [{
    Copies the stored rows of each sequence to `data` `[B, L, heads, head_dim]`
    and, for a format with block scales, to `scales` `[B, L, heads, S]` in
    linear order. L is that of the outs. Rows at or past `seq_lens[b]` are zero
    bytes; `seq_lens[b] > L` is a run-time error.

    Example:

    ```mlir
    %d, %s = kvq.gather cache(%k : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>)
        block_table(%bt : tensor<?x?xi32>) seq_lens(%len : tensor<?xi32>)
        outs(%d0, %s0 : tensor<?x?x8x128xf4E2M1FN>, tensor<?x?x8x8xf8E4M3FN>)
        -> tensor<?x?x8x128xf4E2M1FN>, tensor<?x?x8x8xf8E4M3FN>
    ```
  }];
  let arguments = (ins
    KVQ_CacheType:$cache,
    KVQ_BlockTable:$blockTable,
    KVQ_Index1D:$seqLens,
    KVQ_Elements:$data,
    Optional<KVQ_Scales>:$scales
  );
  let assemblyFormat = [{
    `cache` `(` $cache `:` qualified(type($cache)) `)`
    `block_table` `(` $blockTable `:` type($blockTable) `)`
    `seq_lens` `(` $seqLens `:` type($seqLens) `)`
    `outs` `(` $data (`,` $scales^)? `:` type($data) (`,` type($scales)^)? `)`
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable();
  }];
  let hasVerifier = 1;
}

def KVQ_AttentionOp : KVQDestinationStyleOp<"attention", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<PagedBatchOpInterface, [
      "getSeqLens", "getQoIndptr"]>]> {
  let summary = "attention over dense float arrays";
  let description = [{
    Attention of queries `q` to keys `k` `[B, L, Hkv, D]` and values `v`
    `[B, L, Hkv, Dv]`. The queries and the output are `[B, Lq, Hq, D]` and
    `[B, Lq, Hq, Dv]`, or with `qo_indptr` `[total_q, Hq, D]` and `[total_q,
    Hq, Dv]`, where the rows of sequence b are `qo_indptr[b]` to `qo_indptr[b +
    1] - 1`. Query head h reads KV head h div (Hq / Hkv).

    The logit of a query and a key is `scale * q.k` in f32, then soft-capped,
    then masked: by `options`, by `seq_lens` (without them a sequence has all L
    keys), and by `mask` `[B, Hq, Lq, L]`, each of B, Hq and Lq possibly 1 for
    all: additive in floats, or i1 where true admits. A key that is masked out
    never reaches the result, whatever its bytes hold.

    `sinks` `[Hq]` is one logit per query head that joins the denominator only.
    `lse`, `[B, Lq, Hq]` or `[total_q, Hq]` in f32, is the natural logarithm of
    the denominator. A row without keys gives 0, and -inf (or the sink) as lse.

    An operation may be a part of a larger one, as tiling makes them. With
    `kv_offset` = o, k and v begin at key o of each sequence: the lengths are
    `seq_lens[b] - o`, and of a length that is not in 0 to L the part admits no
    key or all L. `query_shift` = s moves the queries: query i of the n of a
    sequence of length len is at position len - n + i + s.

    Example:

    ```mlir
    %o, %lse = kvq.attention ins(%q, %k, %v : tensor<2x1x8x64xf16>,
            tensor<2x?x2x64xf32>, tensor<2x?x2x64xf32>)
        seq_lens(%len : tensor<2xi32>) scale(%scale)
        outs(%o0, %lse0 : tensor<2x1x8x64xf16>, tensor<2x1x8xf32>)
        {options = #kvq.attention<causal>}
        -> tensor<2x1x8x64xf16>, tensor<2x1x8xf32>
    ```
  }];
  let arguments = (ins
    KVQ_Queries:$q,
    KVQ_Keys:$k,
    KVQ_Keys:$v,
    Optional<KVQ_Index1D>:$seqLens,
    Optional<KVQ_Index1D>:$qoIndptr,
    F32:$scale,
    Optional<KVQ_Mask>:$mask,
    Optional<KVQ_Sinks>:$sinks,
    KVQ_Outputs:$output,
    Optional<KVQ_Lse>:$lse,
    Optional<Index>:$kvOffset,
    Optional<Index>:$queryShift,
    OptionalAttr<KVQ_AttentionAttr>:$options
  );
  let builders = [
    // An operation that is no part of another.
    OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::Value":$q,
                   "::mlir::Value":$k, "::mlir::Value":$v,
                   "::mlir::Value":$seqLens, "::mlir::Value":$qoIndptr,
                   "::mlir::Value":$scale, "::mlir::Value":$mask,
                   "::mlir::Value":$sinks, "::mlir::Value":$output,
                   "::mlir::Value":$lse, "::kvq::AttentionOptionsAttr":$options),
    [{
      build($_builder, $_state, results, q, k, v, seqLens, qoIndptr, scale,
            mask, sinks, output, lse, /*kvOffset=*/::mlir::Value(),
            /*queryShift=*/::mlir::Value(), options);
    }]>
  ];
  let assemblyFormat = [{
    `ins` `(` $q `,` $k `,` $v `:` type($q) `,` type($k) `,` type($v) `)`
    (`seq_lens` `(` $seqLens^ `:` type($seqLens) `)`)?
    (`qo_indptr` `(` $qoIndptr^ `:` type($qoIndptr) `)`)?
    `scale` `(` $scale `)`
    (`kv_offset` `(` $kvOffset^ `)`)?
    (`query_shift` `(` $queryShift^ `)`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)`
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable();
  }];
  let hasVerifier = 1;
}

def KVQ_DequantAttentionOp : KVQDestinationStyleOp<"dequant_attention", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<PagedBatchOpInterface, [
      "getBlockTable", "getSeqLens", "getQoIndptr", "getReadCaches"]>]> {
  let summary = "attention over a quantized, paged cache";
  let description = [{
    `kvq.attention` over the rows that the page table lists, decoded as they
    are read. Sequence b has `seq_lens[b]` tokens, those of this step included;
    token t lies in page `block_table[b, t div page]` at `t mod page`. Entries
    past the last page are never read, and bytes that no sequence covers never
    reach a result.

    Queries are `[B, Lq, Hq, D]`, or with `qo_indptr` `[total_q, Hq, D]`; a
    ragged batch mixes prefill, decode and sequences without queries.

    With `kv_split = N` the outs gain a leading dimension of chunks: chunk c
    holds the result over tokens c*N to (c+1)*N - 1 alone, to be combined by
    `kvq.merge_states`; chunks past the end of a sequence hold 0 and -inf. A
    sequence with more chunks than the outs is a run-time error. Sinks join the
    first chunk.

    `qk` and `pv` say how the products are computed on the target.

    Example:

    ```mlir
    %o = kvq.dequant_attention ins(%q : tensor<?x32x128xbf16>)
        caches(%k, %v : !kvq.cache<key, 16x8x128, nvfp4, HND, linear>,
                        !kvq.cache<value, 16x8x128, nvfp4, HND, interleaved_4>)
        block_table(%bt : tensor<?x?xi32>) seq_lens(%len : tensor<?xi32>)
        qo_indptr(%qo : tensor<?xi32>) scale(%scale)
        outs(%o0 : tensor<?x32x128xbf16>)
        {options = #kvq.attention<causal>} -> tensor<?x32x128xbf16>
    ```
  }];
  let arguments = (ins
    KVQ_Queries:$q,
    KVQ_CacheType:$kCache,
    KVQ_CacheType:$vCache,
    KVQ_BlockTable:$blockTable,
    KVQ_Index1D:$seqLens,
    Optional<KVQ_Index1D>:$qoIndptr,
    F32:$scale,
    Optional<KVQ_Sinks>:$sinks,
    KVQ_Outputs:$output,
    Optional<KVQ_Lse>:$lse,
    OptionalAttr<KVQ_AttentionAttr>:$options,
    OptionalAttr<KVQ_MMAKindAttr>:$qk,
    OptionalAttr<KVQ_MMAKindAttr>:$pv,
    OptionalAttr<I64Attr>:$kv_split
  );
  let assemblyFormat = [{
    `ins` `(` $q `:` type($q) `)`
    `caches` `(` $kCache `,` $vCache `:` qualified(type($kCache)) `,` qualified(type($vCache)) `)`
    `block_table` `(` $blockTable `:` type($blockTable) `)`
    `seq_lens` `(` $seqLens `:` type($seqLens) `)`
    (`qo_indptr` `(` $qoIndptr^ `:` type($qoIndptr) `)`)?
    `scale` `(` $scale `)`
    (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)`
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable();
  }];
  let hasVerifier = 1;
}

def KVQ_MergeStatesOp : KVQDestinationStyleOp<"merge_states"> {
  let summary = "combine partial attention results";
  let description = [{
    Combines the results of attention over disjoint sets of keys: `o`
    `[C, ..., Hq, Dv]` and `lse` `[C, ..., Hq]` of C parts, f32, become
    `[..., Hq, Dv]` and `[..., Hq]`:

    lse = log(sum over c of exp(lse[c])), o = sum over c of o[c] * exp(lse[c] - lse).

    A row whose parts are all empty gives 0 and -inf.

    Example:

    ```mlir
    %o = kvq.merge_states ins(%po, %plse : tensor<4x?x32x128xf32>, tensor<4x?x32xf32>)
        outs(%o0 : tensor<?x32x128xbf16>) -> tensor<?x32x128xbf16>
    ```
  }];
  let arguments = (ins
    KVQ_Outputs:$partialOutput,
    KVQ_Lse:$partialLse,
    KVQ_Outputs:$output,
    Optional<KVQ_Lse>:$lse
  );
  let assemblyFormat = [{
    `ins` `(` $partialOutput `,` $partialLse `:`
              type($partialOutput) `,` type($partialLse) `)`
    `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)`
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable();
  }];
  let hasVerifier = 1;
}

#endif // KVQ_DIALECT_KVQ_IR_KVQOPS_TD
