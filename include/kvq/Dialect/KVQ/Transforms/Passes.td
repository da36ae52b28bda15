//===- Passes.td - Passes over the kvq dialect -------------*- tablegen -*-===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMS_PASSES
#define KVQ_DIALECT_KVQ_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def Decompose : InterfacePass<"kvq-decompose", "mlir::FunctionOpInterface"> {
  let summary = "Lower kvq operations to scalar loops: their meaning";
  let description = [{
    Replaces the operations on memrefs and handles by loops of scalar `arith`,
    `math` and `memref` operations. This is the executable definition of the
    dialect, plain and slow by intent; the fast lowerings are compared with it.

    - Memrefs keep their logical element types. Encoding and decoding are what
      the format's `KVFormatInterface` emits; `kvq-lower-fp-conversions` and
      `kvq-legalize-storage` run later.
    - `kvq.make_cache` and the accessors stay. The parts of a handle are read
      through accessors.
    - Attention makes two passes over the admitted keys, one for the largest
      logit and one for the sums, with accumulators in f64. Keys that are not
      admitted are not loaded. It allocates head_dim f64 of scratch memory and
      frees it, so run the pass after buffer deallocation.
    - Indices are assumed to be valid; `kvq-insert-runtime-checks` sees to it.

    Operands that are tensors, and caches whose scale layout is not decided, are
    errors.
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::math::MathDialect",
    "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect"
  ];
}

def ExpandHandles : Pass<"kvq-expand-handles", "mlir::ModuleOp"> {
  let summary = "Replace cache handles by their parts";
  let description = [{
    Replaces each handle, 1:N, by its data, scales and global scale; parts that
    its format lacks are absent. Data and scales are memrefs of the logical
    element type with dynamic outer strides and offset. Covers functions and
    calls, `scf`, `cf`, `arith.select`, `kvq.make_cache` and the accessors. A
    function that returns a handle is an error.

    Example:

    ```mlir
    func.func private @f(!kvq.cache<key, 16x8x128, fp8, NHD>)
    // becomes
    func.func private @f(memref<?x16x8x128xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>,
                         memref<f32>)
    ```
  }];
  let dependentDialects = ["mlir::memref::MemRefDialect"];
}

def VerifyHandles : Pass<"kvq-verify-handles"> {
  let summary = "Check the lifetimes of cache handles";
  let description = [{
    Handles are arguments, block arguments and loop values. It is an error if
    one is returned from a function, held by a value of another type, passed to
    an operation that is neither of the dialect nor a call, loop, branch or
    select, or if the scale layout of one is undecided on the signature of a
    public function.

    Example:

    ```mlir
    func.func @f(%k: !kvq.cache<key, 16x8x128, nvfp4, NHD, ?>) {
      return
    }
    // error: argument #0 of a public function has an undecided scale layout
    ```

    The caller could not know the layout.
  }];
}

def ConvertCacheFormat
    : Pass<"kvq-convert-cache-format", "mlir::ModuleOp"> {
  let summary = "Retarget the caches of a module to another format";
  let description = [{
    Changes the format of the caches of a module to `key-format` and
    `value-format`. Handles keep one type through functions and calls, loops,
    branches and selects. Quantization is inserted before appends and
    dequantization after gathers; rows that are quantized to the old format are
    quantized to the new one instead. Rows that are gathered into a memref are
    read into a `memref.alloc` first; buffer deallocation frees it.

    For single layers the attribute `kvq.cache_format` of `kvq.make_cache` or of
    a handle among the arguments comes first, then the JSON object of
    `formats-file`, for example

    ```json
    {"0": "fp8", "-1": {"key": "fp8", "value": "bf16"}, "2-5": {"key": "mxfp8"}}
    ```

    where layers count the caches of a side in the order of the module, unless
    the attribute `kvq.layer` gives the number, and -1 is the last one.

    The memrefs behind a `kvq.make_cache` are converted back to the arguments
    and allocations that they are views of. A function with such an argument
    gains the memrefs of block scales and of a global scale at the end of its
    signature, and its callers in the module pass them. The attribute
    `kvq.global_scale` of `kvq.make_cache` is a calibrated global scale; without
    it the scale is such an argument (`global-scale=argument`, one for each
    memref), or 1 (`global-scale=one`, and for allocations). What was a memref of
    another format must be used in no other way.

    With `fp4` for a format caches get 4-bit elements, and
    `kvq-assign-block-scales` decides what their block scales are. They are
    added there: arguments too. A cache that has block scales on 4-bit elements
    already stays as it is.

    A handle that reaches a function without a body is not converted, with a
    remark, or an error with `strict`.

    Example:

    ```mlir
    func.func @f(%x: tensor<4x8x128xbf16>, %slots: tensor<4xi64>,
                 %k: !kvq.cache<key, 16x8x128, bf16, NHD>) {
      kvq.append ins(%x : tensor<4x8x128xbf16>)
          into(%k : !kvq.cache<key, 16x8x128, bf16, NHD>)
          slot_mapping(%slots : tensor<4xi64>)
      return
    }
    // becomes
    func.func @f(%x: tensor<4x8x128xbf16>, %slots: tensor<4xi64>,
                 %k: !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>) {
      %d = tensor.empty() : tensor<4x8x128xf4E2M1FN>
      %s = tensor.empty() : tensor<4x8x8xf8E4M3FN>
      %m = kvq.cache_global_scale %k
          : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear> -> memref<f32>
      %g = memref.load %m[] : memref<f32>
      %0:2 = kvq.quantize ins(%x : tensor<4x8x128xbf16>) global_scale(%g)
          outs(%d, %s : tensor<4x8x128xf4E2M1FN>, tensor<4x8x8xf8E4M3FN>)
          {format = #kvq.format<nvfp4>}
          -> tensor<4x8x128xf4E2M1FN>, tensor<4x8x8xf8E4M3FN>
      kvq.append ins(%0#0, %0#1 : tensor<4x8x128xf4E2M1FN>,
              tensor<4x8x8xf8E4M3FN>)
          into(%k : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>)
          slot_mapping(%slots : tensor<4xi64>)
      return
    }
    ```
  }];
  let options = [
    Option<"keyFormat", "key-format", "std::string", /*default=*/"\"nvfp4\"",
           "The format of keys: the name of a preset, fp4, or nothing to keep "
           "what they have">,
    Option<"valueFormat", "value-format", "std::string",
           /*default=*/"\"nvfp4\"",
           "The format of values: the name of a preset, fp4, or nothing to keep "
           "what they have">,
    Option<"formatsFile", "formats-file", "std::string", /*default=*/"",
           "A JSON file with formats of single layers">,
    Option<"globalScale", "global-scale", "std::string",
           /*default=*/"\"argument\"",
           "Where global scales without an attribute come from: argument, or "
           "one">,
    Option<"scaleLayout", "scale-layout", "std::string",
           /*default=*/"\"linear\"",
           "The layout of block scales: linear, or undecided for "
           "kvq-assign-block-scales to choose where no public function takes "
           "the handle">,
    Option<"strict", "strict", "bool", /*default=*/"false",
           "A cache that cannot be converted is an error">
  ];
  let dependentDialects = [
    "::kvq::KVQDialect",
    "mlir::memref::MemRefDialect", "mlir::tensor::TensorDialect"
  ];
}

def FuseQuantizeAppend : Pass<"kvq-fuse-quantize-append"> {
  let summary = "Fuse kvq.quantize and kvq.append";
  let description = [{
    Replaces a `kvq.append` of rows that a `kvq.quantize` makes by a
    `kvq.quantize_append`, which writes the same bytes. Between the two there
    may be transposes, reshapes, casts and slices that leave rows of head_dim
    whole: they are done on the values instead. The `kvq.quantize` is erased if
    nothing else uses it.

    The global scale of `kvq.quantize` must be known to be that of the handle: a
    `memref.load` of `kvq.cache_global_scale` or of the memref that the handle
    is made with, with no write in between.

    Keys that a rotary position embedding was applied to are rotated by the
    `kvq.quantize_append` itself (`rope`), whether the embedding pairs halves or
    neighbours, of all channels or the first ones. The bytes stay the same (but
    for the sign of a NaN, which arithmetic leaves open), so this is only done
    where the rotation is in f32 and nothing is rounded after it.

    What is not fused says why in a remark.

    Example:

    ```mlir
    func.func @f(%x: tensor<2x4x8x128xbf16>, %d: tensor<2x4x8x128xf4E2M1FN>,
                 %s: tensor<2x4x8x4xf8E8M0FNU>, %slots: tensor<8xi64>,
                 %k: !kvq.cache<key, 16x8x128, mxfp4, NHD, linear>) {
      %0:2 = kvq.quantize ins(%x : tensor<2x4x8x128xbf16>)
          outs(%d, %s : tensor<2x4x8x128xf4E2M1FN>, tensor<2x4x8x4xf8E8M0FNU>)
          {format = #kvq.format<mxfp4>}
          -> tensor<2x4x8x128xf4E2M1FN>, tensor<2x4x8x4xf8E8M0FNU>
      %1 = tensor.collapse_shape %0#0 [[0, 1], [2], [3]]
          : tensor<2x4x8x128xf4E2M1FN> into tensor<8x8x128xf4E2M1FN>
      %2 = tensor.collapse_shape %0#1 [[0, 1], [2], [3]]
          : tensor<2x4x8x4xf8E8M0FNU> into tensor<8x8x4xf8E8M0FNU>
      kvq.append ins(%1, %2 : tensor<8x8x128xf4E2M1FN>, tensor<8x8x4xf8E8M0FNU>)
          into(%k : !kvq.cache<key, 16x8x128, mxfp4, NHD, linear>)
          slot_mapping(%slots : tensor<8xi64>)
      return
    }
    // becomes
    func.func @f(%x: tensor<2x4x8x128xbf16>, %d: tensor<2x4x8x128xf4E2M1FN>,
                 %s: tensor<2x4x8x4xf8E8M0FNU>, %slots: tensor<8xi64>,
                 %k: !kvq.cache<key, 16x8x128, mxfp4, NHD, linear>) {
      %0 = tensor.collapse_shape %x [[0, 1], [2], [3]]
          : tensor<2x4x8x128xbf16> into tensor<8x8x128xbf16>
      kvq.quantize_append ins(%0 : tensor<8x8x128xbf16>)
          into(%k : !kvq.cache<key, 16x8x128, mxfp4, NHD, linear>)
          slot_mapping(%slots : tensor<8xi64>)
      return
    }
    ```
  }];
  let options = [
    Option<"require", "require", "bool", /*default=*/"false",
           "A kvq.append of quantized rows that cannot be fused is an error">
  ];
  let dependentDialects = [
    "mlir::linalg::LinalgDialect", "mlir::tensor::TensorDialect"
  ];
}

def FuseDequantAttention : Pass<"kvq-fuse-dequant-attention"> {
  let summary = "Fuse kvq.gather, kvq.dequantize and kvq.attention";
  let description = [{
    Replaces a `kvq.attention` whose keys and values a `kvq.gather` reads, with
    or without a `kvq.dequantize`, by a `kvq.dequant_attention` on the handles.
    What may stand in between:

    - transposes and reshapes that end in `[B, L, heads, head_dim]`, casts, and
      operations that repeat each head for its group of query heads;
    - slices of the batch, and slices of the length that keep its first rows;
    - multiplications and divisions by one number, by operations on tensors or
      in `linalg`. Those of the keys become part of `scale`, those of the values
      are done on the output, as is the ratio of the global scale of
      `kvq.dequantize` to that of the handle where they are not known to be one.

    Attention must mask the rows past the lengths that `kvq.gather` was given,
    and nothing may write the caches or the tables between `kvq.gather` and
    attention. Several attentions may read one `kvq.gather`.

    Values are no longer rounded to the type of the decoded array: the result
    may differ from before by these roundings.

    What is not fused says why in a remark.

    Example:

    ```mlir
    func.func @f(%q: tensor<2x1x32x128xf32>, %o: tensor<2x1x32x128xf32>,
                 %kv: tensor<2x64x8x128xf16>, %bt: tensor<2x4xi32>,
                 %len: tensor<2xi32>, %scale: f32,
                 %k: !kvq.cache<key, 16x8x128, f16, NHD>,
                 %v: !kvq.cache<value, 16x8x128, f16, NHD>)
        -> tensor<2x1x32x128xf32> {
      %0 = kvq.gather cache(%k : !kvq.cache<key, 16x8x128, f16, NHD>)
          block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>)
          outs(%kv : tensor<2x64x8x128xf16>) -> tensor<2x64x8x128xf16>
      %1 = kvq.gather cache(%v : !kvq.cache<value, 16x8x128, f16, NHD>)
          block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>)
          outs(%kv : tensor<2x64x8x128xf16>) -> tensor<2x64x8x128xf16>
      %2 = arith.extf %0 : tensor<2x64x8x128xf16> to tensor<2x64x8x128xf32>
      %3 = kvq.attention ins(%q, %2, %1 : tensor<2x1x32x128xf32>,
              tensor<2x64x8x128xf32>, tensor<2x64x8x128xf16>)
          seq_lens(%len : tensor<2xi32>) scale(%scale)
          outs(%o : tensor<2x1x32x128xf32>) -> tensor<2x1x32x128xf32>
      return %3 : tensor<2x1x32x128xf32>
    }
    // becomes
    func.func @f(%q: tensor<2x1x32x128xf32>, %o: tensor<2x1x32x128xf32>,
                 %kv: tensor<2x64x8x128xf16>, %bt: tensor<2x4xi32>,
                 %len: tensor<2xi32>, %scale: f32,
                 %k: !kvq.cache<key, 16x8x128, f16, NHD>,
                 %v: !kvq.cache<value, 16x8x128, f16, NHD>)
        -> tensor<2x1x32x128xf32> {
      %0 = kvq.dequant_attention ins(%q : tensor<2x1x32x128xf32>)
          caches(%k, %v : !kvq.cache<key, 16x8x128, f16, NHD>,
                          !kvq.cache<value, 16x8x128, f16, NHD>)
          block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>)
          scale(%scale) outs(%o : tensor<2x1x32x128xf32>)
          -> tensor<2x1x32x128xf32>
      return %0 : tensor<2x1x32x128xf32>
    }
    ```
  }];
  let options = [
    Option<"require", "require", "bool", /*default=*/"false",
           "A kvq.attention over a cache that cannot be fused is an error">
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect",
    "mlir::memref::MemRefDialect", "mlir::tensor::TensorDialect"
  ];
}

def AssignBlockScales : Pass<"kvq-assign-block-scales", "mlir::ModuleOp"> {
  let summary = "Choose block scales and their layouts";
  let description = [{
    Gives caches in the format `fp4` block scales, and then each cache whose
    scale layout is `?` a layout. Decisions, with their reasons, are reported as
    remarks.

    *Block scales.* For all `fp4` caches over the same memory, seen through
    views and calls, the candidates are

    | candidate | scale | block | global scale | error of stored values |
    |---|---|---|---|---|
    | `nvfp4` | f8E4M3FN | 16 of head_dim | yes | 10% |
    | `mxfp4` | f8E8M0FNU | 32 of head_dim | no | 12% |
    | `nvfp4` along tokens | f8E4M3FN | 16 tokens | yes | 10% |
    | `mxfp4` along tokens | f8E8M0FNU | 32 tokens | no | 12% |

    One is out if a size is no multiple of its block, if an operation handles
    single rows of blocks along tokens, or if `value-reader` reads another
    format. Of the rest, those with an error of at most `max-stored-error` are
    preferred, then the ones that attention takes the fewest clocks for, by the
    chip's MMA kinds that add at most `max-error` to a product, then the
    smallest. Where all are out, an error names who rejects each. The memrefs of
    scales and global scales are made as `kvq-convert-cache-format` makes them,
    and `global-scale` is its option. Handles of such caches may not be arguments
    of public functions or functions without a body, and their stored rows may
    only be made and decoded by `kvq.quantize` and `kvq.dequantize` on tensors.

    Attention applies the global scale of keys with the softmax scale, and that
    of values on its output.

    *Layouts.* Each cache whose scale layout is `?` gets one, for all handles that
    have one type (through functions and calls, loops, branches and selects) and
    for all caches over the same memory, seen through views and calls:

    - that of a cache over the same memory whose layout is given;
    - `linear` where scales are used as a memref (`kvq.cache_scales`);
    - for values, what the kernels that read them need: with
      `value-reader=trtllm-gen` that is `interleaved_4`;
    - else `linear`. The operations of the dialect write and read every layout.

    Where the layout of values is given and attention cannot read it, attention
    reads a copy of the scales that `kvq.convert_scale_layout` makes, before the
    outermost loop that does not write the cache. Readers share a copy up to the
    next write. The copy is a `memref.alloc`; buffer deallocation frees it.

    Two caches over the same memory with different layouts are an error, and so
    is an undecided layout on the signature of a public function, whose callers
    could not know the layout, or of a function without a body.

    The global scale of a cache is the memref that it is made with (a
    constant where it was calibrated, an argument, or anything that the program
    computes). Two constants for the same data are an error, and two memrefs
    that are not known to hold one number a remark.

    Example:

    ```mlir
    func.func @f(%q: tensor<2x1x8x128xf16>, %k: !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>,
                 %vd: memref<?x16x8x128xf4E2M1FN>, %vs: memref<?x16x8x8xf8E4M3FN>,
                 %vg: memref<f32>, %bt: tensor<2x64xi32>, %len: tensor<2xi32>,
                 %scale: f32, %o: tensor<2x1x8x128xf16>) -> tensor<2x1x8x128xf16> {
      %v = kvq.make_cache data(%vd : memref<?x16x8x128xf4E2M1FN>)
          scales(%vs : memref<?x16x8x8xf8E4M3FN>) global_scale(%vg : memref<f32>)
          : !kvq.cache<value, 16x8x128, nvfp4, NHD, ?>
      %0 = kvq.dequant_attention ins(%q : tensor<2x1x8x128xf16>)
          caches(%k, %v : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>,
                          !kvq.cache<value, 16x8x128, nvfp4, NHD, ?>)
          block_table(%bt : tensor<2x64xi32>) seq_lens(%len : tensor<2xi32>)
          scale(%scale) outs(%o : tensor<2x1x8x128xf16>) -> tensor<2x1x8x128xf16>
      return %0 : tensor<2x1x8x128xf16>
    }
    // becomes
    func.func @f(%q: tensor<2x1x8x128xf16>, %k: !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>,
                 %vd: memref<?x16x8x128xf4E2M1FN>, %vs: memref<?x16x8x8xf8E4M3FN>,
                 %vg: memref<f32>, %bt: tensor<2x64xi32>, %len: tensor<2xi32>,
                 %scale: f32, %o: tensor<2x1x8x128xf16>) -> tensor<2x1x8x128xf16> {
      %v = kvq.make_cache data(%vd : memref<?x16x8x128xf4E2M1FN>)
          scales(%vs : memref<?x16x8x8xf8E4M3FN>) global_scale(%vg : memref<f32>)
          : !kvq.cache<value, 16x8x128, nvfp4, NHD, linear>
      %0 = kvq.dequant_attention ins(%q : tensor<2x1x8x128xf16>)
          caches(%k, %v : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>,
                          !kvq.cache<value, 16x8x128, nvfp4, NHD, linear>)
          block_table(%bt : tensor<2x64xi32>) seq_lens(%len : tensor<2xi32>)
          scale(%scale) outs(%o : tensor<2x1x8x128xf16>) -> tensor<2x1x8x128xf16>
      return %0 : tensor<2x1x8x128xf16>
    }
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "The chip that code is made for, or cpu">,
    Option<"valueReader", "value-reader", "std::string", /*default=*/"\"kvq\"",
           "The kernels that attention reads values with: kvq, or trtllm-gen">,
    Option<"globalScale", "global-scale", "std::string",
           /*default=*/"\"argument\"",
           "Where global scales of fp4 caches without an attribute come from: "
           "argument, or one">,
    Option<"maxError", "max-error", "double", /*default=*/"0.011",
           "The relative error of a product that an MMA kind may add">,
    Option<"maxStoredError", "max-stored-error", "double", /*default=*/"0.11",
           "The relative error of values stored in fp4 to stay within, if a "
           "candidate does">
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::memref::MemRefDialect",
    "mlir::tensor::TensorDialect"
  ];
}

def SelectMMA : InterfacePass<"kvq-select-mma", "mlir::FunctionOpInterface"> {
  let summary = "Choose the tensor-core kinds of attention for a chip";
  let description = [{
    Fills `qk` and `pv` of `kvq.dequant_attention` from a table of what each
    chip's tensor cores can do with each format, at what rate and with what
    error: the kind of least cost that has a kernel and adds at most `max-error`
    to the product. A kind that is there already, or that an option gives, is
    checked: one that the chip does not have is an error that names the rule and
    its source. Choices, and faster kinds that have no kernel yet, are reported
    as remarks.

    Example:

    ```mlir
    func.func @f(%q: tensor<2x1x8x128xf16>, %k: !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>,
                 %v: !kvq.cache<value, 16x8x128, mxfp4, NHD, linear>,
                 %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32,
                 %o: tensor<2x1x8x128xf16>) -> tensor<2x1x8x128xf16> {
      %0 = kvq.dequant_attention ins(%q : tensor<2x1x8x128xf16>)
          caches(%k, %v : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>,
                          !kvq.cache<value, 16x8x128, mxfp4, NHD, linear>)
          block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>)
          scale(%scale) outs(%o : tensor<2x1x8x128xf16>) -> tensor<2x1x8x128xf16>
      return %0 : tensor<2x1x8x128xf16>
    }
    // becomes
    func.func @f(%q: tensor<2x1x8x128xf16>, %k: !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>,
                 %v: !kvq.cache<value, 16x8x128, mxfp4, NHD, linear>,
                 %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32,
                 %o: tensor<2x1x8x128xf16>) -> tensor<2x1x8x128xf16> {
      %0 = kvq.dequant_attention ins(%q : tensor<2x1x8x128xf16>)
          caches(%k, %v : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>,
                          !kvq.cache<value, 16x8x128, mxfp4, NHD, linear>)
          block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>)
          scale(%scale) outs(%o : tensor<2x1x8x128xf16>)
          {pv = #kvq.mma_kind<bf16>, qk = #kvq.mma_kind<block_scaled, terms = 2>}
          -> tensor<2x1x8x128xf16>
      return %0 : tensor<2x1x8x128xf16>
    }
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "The chip to choose for">,
    Option<"qk", "qk", "std::string", /*default=*/"\"\"",
           "The kind of Q K^T where none is given: f16, bf16, f8, or "
           "block_scaled:TERMS">,
    Option<"pv", "pv", "std::string", /*default=*/"\"\"",
           "The kind of P V where none is given">,
    Option<"maxError", "max-error", "double", /*default=*/"0.011",
           "The relative error of a product that a kind may add">
  ];
}

def SplitKV : InterfacePass<"kvq-split-kv", "mlir::FunctionOpInterface"> {
  let summary = "Split attention along the cached tokens";
  let description = [{
    Splits a `kvq.dequant_attention` into chunks of a fixed number of cached
    tokens, computed independently, and a `kvq.merge_states`. One sequence then
    keeps many processors busy. The length is `split-length`, rounded up to
    whole pages where pages are shorter, and the number of chunks follows from
    the shape of the block table: neither depends on run-time lengths, so
    results do not depend on the other sequences of a batch.

    Example:

    ```mlir
    func.func @f(%q: tensor<2x1x8x128xf16>, %k: !kvq.cache<key, 16x8x128, fp8, NHD>,
                 %v: !kvq.cache<value, 16x8x128, fp8, NHD>,
                 %bt: tensor<2x64xi32>, %len: tensor<2xi32>, %scale: f32,
                 %o: tensor<2x1x8x128xf16>) -> tensor<2x1x8x128xf16> {
      %0 = kvq.dequant_attention ins(%q : tensor<2x1x8x128xf16>)
          caches(%k, %v : !kvq.cache<key, 16x8x128, fp8, NHD>,
                          !kvq.cache<value, 16x8x128, fp8, NHD>)
          block_table(%bt : tensor<2x64xi32>) seq_lens(%len : tensor<2xi32>)
          scale(%scale) outs(%o : tensor<2x1x8x128xf16>) -> tensor<2x1x8x128xf16>
      return %0 : tensor<2x1x8x128xf16>
    }
    // becomes
    func.func @f(%q: tensor<2x1x8x128xf16>, %k: !kvq.cache<key, 16x8x128, fp8, NHD>,
                 %v: !kvq.cache<value, 16x8x128, fp8, NHD>,
                 %bt: tensor<2x64xi32>, %len: tensor<2xi32>, %scale: f32,
                 %o: tensor<2x1x8x128xf16>) -> tensor<2x1x8x128xf16> {
      %po = tensor.empty() : tensor<2x2x1x8x128xf32>
      %pl = tensor.empty() : tensor<2x2x1x8xf32>
      %0:2 = kvq.dequant_attention ins(%q : tensor<2x1x8x128xf16>)
          caches(%k, %v : !kvq.cache<key, 16x8x128, fp8, NHD>,
                          !kvq.cache<value, 16x8x128, fp8, NHD>)
          block_table(%bt : tensor<2x64xi32>) seq_lens(%len : tensor<2xi32>)
          scale(%scale)
          outs(%po, %pl : tensor<2x2x1x8x128xf32>, tensor<2x2x1x8xf32>)
          {kv_split = 512 : i64} -> tensor<2x2x1x8x128xf32>, tensor<2x2x1x8xf32>
      %1 = kvq.merge_states
          ins(%0#0, %0#1 : tensor<2x2x1x8x128xf32>, tensor<2x2x1x8xf32>)
          outs(%o : tensor<2x1x8x128xf16>) -> tensor<2x1x8x128xf16>
      return %1 : tensor<2x1x8x128xf16>
    }
    ```
  }];
  let options = [
    Option<"splitLength", "split-length", "int64_t", /*default=*/"512",
           "Tokens of a chunk">,
    Option<"maxQueries", "max-queries", "int64_t", /*default=*/"16",
           "Leave operations with more queries per sequence whole">,
    Option<"splitDynamic", "split-dynamic", "bool", /*default=*/"true",
           "Split operations whose queries per sequence are not known">
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::tensor::TensorDialect"
  ];
}

def VerifyTarget
    : InterfacePass<"kvq-verify-target", "mlir::FunctionOpInterface"> {
  let summary = "Check that a chip can do what is asked of it";
  let description = [{
    Everything that cannot be compiled for the chip is an error here, before
    code generation: scale layouts that are not decided, and MMA kinds that the
    chip does not have for the format.

    Example:

    ```mlir
    func.func @f(%q: tensor<2x1x8x128xf16>, %k: !kvq.cache<key, 16x8x128, bf16, NHD>,
                 %v: !kvq.cache<value, 16x8x128, bf16, NHD>,
                 %bt: tensor<2x64xi32>, %len: tensor<2xi32>, %scale: f32,
                 %o: tensor<2x1x8x128xf16>) -> tensor<2x1x8x128xf16> {
      %0 = kvq.dequant_attention ins(%q : tensor<2x1x8x128xf16>)
          caches(%k, %v : !kvq.cache<key, 16x8x128, bf16, NHD>,
                          !kvq.cache<value, 16x8x128, bf16, NHD>)
          block_table(%bt : tensor<2x64xi32>) seq_lens(%len : tensor<2xi32>)
          scale(%scale) outs(%o : tensor<2x1x8x128xf16>)
          {qk = #kvq.mma_kind<f8>} -> tensor<2x1x8x128xf16>
      return %0 : tensor<2x1x8x128xf16>
    }
    // error: has qk = f8, which sm_100a does not have for the format
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "The chip that code is made for, or cpu">
  ];
}

def RaiseAttention
    : InterfacePass<"kvq-raise-attention", "mlir::FunctionOpInterface"> {
  let summary = "Recognize attention in linalg as kvq.attention";
  let description = [{
    Replaces attention that is written in `linalg` on tensors by
    `kvq.attention`. What is recognized is what is computed, not how it is
    written: elements are followed through generics, named operations,
    transposes, broadcasts and reshapes, and compared as expressions over
    indices. So products may be named or generic, of any rank, order of
    dimensions and operands; there may be

    - a scale on queries, keys or scores, by multiplication or division, a
      constant or a value;
    - a soft-cap: `a * tanh(b * s)`;
    - softmax as `linalg.softmax`, or as exponential, to any base, and division
      by the sum, before or after the product with the values, with or without
      the maximum;
    - masks: added, or selected with -inf or a number below -9000 for a score
      that is masked. Masks by position that keep a band of keys become
      causality and a window, where a query's position is counted from the end
      of the keys. Masks of keys past a length that each sequence has become
      seq_lens, and a query's position is counted from there; the lengths are
      taken to be at most the number of keys. Others become the mask operand;
    - grouped queries: by broadcast, by expanded and collapsed dimensions, or by
      repeated heads;
    - sinks: a score for each query head that joins the sum, as one more column
      of the scores whose weight is cut off (`tensor.concat` or insertions, and
      a slice of static size) or as a term of the sum;
    - the logarithm of the sum, plus the maximum, where it is used after the
      attention: it becomes lse.

    Transposes, reshapes and copies are looked through, and those that
    `kvq.attention` needs are made anew. Dimensions of size 1 may be there or
    not; attention to a single key is left as it is.

    What may change:

    - Roundings between the steps go away: of scores, weights and partial sums
      that are stored as f16 or bf16, and of a scale that is multiplied into
      queries or keys.
    - A row whose keys are all masked by -inf gives 0 rather than NaN. Where the
      masked score is a finite number such a row gives the mean of the values,
      so attention is not raised if there may be one, unless `zero-masked-rows`
      allows that it gives 0.
    - Scores are assumed to be far from a number that masks: exp(s - m) is 0 for
      a masked score s and the largest score m.

    What has a softmax between two products and yet is not attention says why in
    a remark, and stays as it is.

    Example:

    ```mlir
    func.func @f(%q: tensor<8x4x64xf32>, %k: tensor<8x64x16xf32>, %v: tensor<8x16x64xf32>,
                 %s0: tensor<8x4x16xf32>, %o0: tensor<8x4x64xf32>) -> tensor<8x4x64xf32> {
      %zero = arith.constant 0.0 : f32
      %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<8x4x16xf32>) -> tensor<8x4x16xf32>
      %s = linalg.batch_matmul ins(%q, %k : tensor<8x4x64xf32>, tensor<8x64x16xf32>)
          outs(%s1 : tensor<8x4x16xf32>) -> tensor<8x4x16xf32>
      %p = linalg.softmax dimension(2) ins(%s : tensor<8x4x16xf32>)
          outs(%s0 : tensor<8x4x16xf32>) -> tensor<8x4x16xf32>
      %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<8x4x64xf32>) -> tensor<8x4x64xf32>
      %o = linalg.batch_matmul ins(%p, %v : tensor<8x4x16xf32>, tensor<8x16x64xf32>)
          outs(%o1 : tensor<8x4x64xf32>) -> tensor<8x4x64xf32>
      return %o : tensor<8x4x64xf32>
    }
    // becomes
    func.func @f(%arg0: tensor<8x4x64xf32>, %arg1: tensor<8x64x16xf32>,
        %arg2: tensor<8x16x64xf32>, %arg3: tensor<8x4x16xf32>, %arg4: tensor<8x4x64xf32>)
        -> tensor<8x4x64xf32> {
      %expanded = tensor.expand_shape %arg0 [[0], [1, 2], [3]] output_shape [8, 4, 1, 64]
          : tensor<8x4x64xf32> into tensor<8x4x1x64xf32>
      %0 = tensor.empty() : tensor<8x16x64xf32>
      %transposed = linalg.transpose ins(%arg1 : tensor<8x64x16xf32>) outs(%0
          : tensor<8x16x64xf32>) permutation = [0, 2, 1]
      %expanded_0 = tensor.expand_shape %transposed [[0], [1, 2], [3]] output_shape [8, 16, 1,
          64] : tensor<8x16x64xf32> into tensor<8x16x1x64xf32>
      %expanded_1 = tensor.expand_shape %arg2 [[0], [1, 2], [3]] output_shape [8, 16, 1, 64]
          : tensor<8x16x64xf32> into tensor<8x16x1x64xf32>
      %cst = arith.constant 1.000000e+00 : f32
      %1 = tensor.empty() : tensor<8x4x1x64xf32>
      %2 = kvq.attention ins(%expanded, %expanded_0, %expanded_1 : tensor<8x4x1x64xf32>,
          tensor<8x16x1x64xf32>, tensor<8x16x1x64xf32>) scale(%cst) outs(%1
          : tensor<8x4x1x64xf32>) -> tensor<8x4x1x64xf32>
      %collapsed = tensor.collapse_shape %2 [[0], [1], [2, 3]] : tensor<8x4x1x64xf32>
          into tensor<8x4x64xf32>
      return %collapsed : tensor<8x4x64xf32>
    }
    ```
  }];
  let options = [
    Option<"zeroMaskedRows", "zero-masked-rows", "bool", /*default=*/"false",
           "Let a row whose keys are all masked by a finite number give 0">
  ];
  let dependentDialects = [
    "kvq::KVQDialect", "mlir::arith::ArithDialect",
    "mlir::linalg::LinalgDialect", "mlir::tensor::TensorDialect"
  ];
}

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_PASSES
