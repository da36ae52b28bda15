//===- KVQTransformOps.td - Transform operations of kvq ---*- tablegen -*-===//
//
// An operation that schedules an action on single operations is a
// KVQ_TransformEachOp: its `applyToOne` is called for each payload operation,
// and reports what it cannot do as a silenceable failure. A set of patterns is
// a KVQ_PatternsOp, used in `transform.apply_patterns`.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_DIALECT_KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_TD
#define KVQ_DIALECT_KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_TD

include "mlir/Dialect/Transform/IR/TransformDialect.td"
include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class KVQ_TransformEachOp<string mnemonic, list<Trait> traits = []>
    : Op<Transform_Dialect, "kvq." # mnemonic, !listconcat(traits, [
        MemoryEffectsOpInterface, TransformOpInterface, TransformEachOpTrait,
        ReportTrackingListenerFailuresOpTrait])> {
  let cppNamespace = "::kvq::transform_dialect";
  let extraClassDeclaration = [{
    ::mlir::DiagnosedSilenceableFailure
    applyToOne(::mlir::transform::TransformRewriter &rewriter,
               ::mlir::Operation *target,
               ::mlir::transform::ApplyToEachResultList &results,
               ::mlir::transform::TransformState &state);
  }];
}

class KVQ_PatternsOp<string mnemonic>
    : Op<Transform_Dialect, "apply_patterns.kvq." # mnemonic,
         [DeclareOpInterfaceMethods<PatternDescriptorOpInterface>]> {
  let cppNamespace = "::kvq::transform_dialect";
  let assemblyFormat = "attr-dict";
}

def KVQTransform_DecomposeOp
    : KVQ_TransformEachOp<"decompose", [FunctionalStyleTransformOpTrait]> {
  let summary = "decompose operations";
  let description = [{
    Replaces each target, an operation of the dialect:

    - `attention`, `merge_states`, `quantize` and `dequantize` on tensors by
      `linalg.generic` operations, through their AggregatedOpInterface. (So does
      `transform.structured.decompose_interface`, but only for operations with
      one result.)
    - operations on memrefs and handles by the scalar loops of `kvq-decompose`.

    Anything else, and a handle whose scale layout is not decided, is a
    silenceable failure.

    The handle is consumed, and the operation has no result.

    Example:

    ```mlir
    transform.named_sequence @lower(%root: !transform.any_op) {
      %appends = transform.structured.match ops{["kvq.append"]} in %root
          : (!transform.any_op) -> !transform.any_op
      transform.kvq.decompose %appends : !transform.any_op
      transform.yield
    }
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target);
  let assemblyFormat = "$target attr-dict `:` type($target)";
}

def KVQTransform_ApplyDecomposePatternsOp : KVQ_PatternsOp<"decompose"> {
  let summary = "the patterns of kvq-decompose";
  let description = [{
    The patterns that lower operations of the dialect on memrefs and handles to
    scalar loops, the executable meaning of the dialect.

    Example:

    ```mlir
    transform.named_sequence @lower(%function: !transform.any_op) {
      transform.apply_patterns to %function {
        transform.apply_patterns.kvq.decompose
      } : !transform.any_op
      transform.yield
    }
    ```
  }];
}

def KVQTransform_ApplyToVectorPatternsOp : KVQ_PatternsOp<"to_vector"> {
  let summary = "the patterns of convert-kvq-to-vector";
  let description = [{
    The patterns that lower operations of the dialect on memrefs and handles to
    parallel loops of vector arithmetic.

    Example:

    ```mlir
    transform.named_sequence @lower(%function: !transform.any_op) {
      transform.apply_patterns to %function {
        transform.apply_patterns.kvq.to_vector
      } : !transform.any_op
      transform.yield
    }
    ```
  }];
}

class KVQ_FusionOp<string mnemonic>
    : KVQ_TransformEachOp<mnemonic, [FunctionalStyleTransformOpTrait]> {
  let arguments = (ins TransformHandleTypeInterface:$target);
  let results = (outs TransformHandleTypeInterface:$fused);
  let assemblyFormat =
      "$target attr-dict `:` functional-type($target, $fused)";
}

def KVQTransform_FuseQuantizeAppendOp : KVQ_FusionOp<"fuse_quantize_append"> {
  let summary = "fuse kvq.quantize into kvq.append";
  let description = [{
    Does to each target, a `kvq.append`, what `kvq-fuse-quantize-append` does,
    and returns the `kvq.quantize_append`. A target that cannot be fused is a
    silenceable failure with the text of the pass's remark.

    Example:

    ```mlir
    transform.named_sequence @fuse(%root: !transform.any_op) {
      %appends = transform.structured.match ops{["kvq.append"]} in %root
          : (!transform.any_op) -> !transform.any_op
      %fused = transform.kvq.fuse_quantize_append %appends
          : (!transform.any_op) -> !transform.any_op
      transform.yield
    }
    ```
  }];
}

def KVQTransform_FuseDequantAttentionOp
    : KVQ_FusionOp<"fuse_dequant_attention"> {
  let summary = "fuse kvq.gather and kvq.dequantize into kvq.attention";
  let description = [{
    Does to each target, a `kvq.attention`, what `kvq-fuse-dequant-attention`
    does, and returns the `kvq.dequant_attention`. A target that cannot be fused
    is a silenceable failure with the text of the pass's remark.

    Example:

    ```mlir
    transform.named_sequence @fuse(%root: !transform.any_op) {
      %attention = transform.structured.match ops{["kvq.attention"]} in %root
          : (!transform.any_op) -> !transform.any_op
      %fused = transform.kvq.fuse_dequant_attention %attention
          : (!transform.any_op) -> !transform.any_op
      transform.yield
    }
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Raising
//===----------------------------------------------------------------------===//

def KVQTransform_RaiseAttentionOp
    : Op<Transform_Dialect, "kvq.raise_attention", [
        DeclareOpInterfaceMethods<TransformOpInterface>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        ReportTrackingListenerFailuresOpTrait]> {
  let cppNamespace = "::kvq::transform_dialect";
  let summary = "recognize attention in linalg";
  let description = [{
    Does to each target, a function, what `kvq-raise-attention` does, and
    returns the `kvq.attention` operations that were made, which may be none.
    What is near to attention is reported by the pass's remarks. A target that
    is no function is a silenceable failure.

    The handle stays valid, as do handles to what is not replaced.

    Example:

    ```mlir
    transform.named_sequence @raise(%root: !transform.any_op) {
      %functions = transform.structured.match ops{["func.func"]} in %root
          : (!transform.any_op) -> !transform.any_op
      %attention = transform.kvq.raise_attention %functions
          {zero_masked_rows = true} : (!transform.any_op) -> !transform.any_op
      transform.yield
    }
    ```
  }];
  let arguments = (ins
    TransformHandleTypeInterface:$target,
    DefaultValuedAttr<BoolAttr, "false">:$zero_masked_rows
  );
  let results = (outs TransformHandleTypeInterface:$attention);
  let assemblyFormat =
      "$target attr-dict `:` functional-type($target, $attention)";
}

//===----------------------------------------------------------------------===//
// Caches of a module
//===----------------------------------------------------------------------===//

class KVQ_ModuleOp<string mnemonic>
    : KVQ_TransformEachOp<mnemonic, [FunctionalStyleTransformOpTrait]> {
  let results = (outs TransformHandleTypeInterface:$result);
  let assemblyFormat =
      "$target attr-dict `:` functional-type($target, $result)";
}

def KVQTransform_ConvertCacheFormatOp : KVQ_ModuleOp<"convert_cache_format"> {
  let summary = "retarget the caches of a module";
  let description = [{
    Does to each target, a module, what `kvq-convert-cache-format` does; the
    attributes are the options of the pass. What the pass reports as an error is
    a definite failure, a target that is no module a silenceable one.

    The handle is consumed, and with it all handles to operations of the module;
    the result is the module.

    Example:

    ```mlir
    transform.named_sequence @convert(
        %root: !transform.any_op {transform.consumed}) {
      %module = transform.kvq.convert_cache_format %root
          {key_format = "nvfp4", value_format = "fp8", global_scale = "one"}
          : (!transform.any_op) -> !transform.any_op
      transform.yield
    }
    ```
  }];
  let arguments = (ins
    TransformHandleTypeInterface:$target,
    DefaultValuedAttr<StrAttr, "\"nvfp4\"">:$key_format,
    DefaultValuedAttr<StrAttr, "\"nvfp4\"">:$value_format,
    DefaultValuedAttr<StrAttr, "\"\"">:$formats_file,
    DefaultValuedAttr<StrAttr, "\"argument\"">:$global_scale,
    DefaultValuedAttr<StrAttr, "\"linear\"">:$scale_layout,
    DefaultValuedAttr<BoolAttr, "false">:$strict
  );
}

def KVQTransform_AssignBlockScalesOp : KVQ_ModuleOp<"assign_block_scales"> {
  let summary = "choose block scales and their layouts";
  let description = [{
    Does to each target, a module, what `kvq-assign-block-scales` does; the
    attributes are the options of the pass. What the pass reports as an error is
    a definite failure, a target that is no module a silenceable one.

    The handle is consumed, and with it all handles to operations of the module;
    the result is the module.

    Example:

    ```mlir
    transform.named_sequence @assign(
        %root: !transform.any_op {transform.consumed}) {
      %module = transform.kvq.assign_block_scales %root {chip = "sm_100a"}
          : (!transform.any_op) -> !transform.any_op
      transform.yield
    }
    ```
  }];
  let arguments = (ins
    TransformHandleTypeInterface:$target,
    DefaultValuedAttr<StrAttr, "\"sm_100a\"">:$chip,
    DefaultValuedAttr<StrAttr, "\"kvq\"">:$value_reader,
    DefaultValuedAttr<StrAttr, "\"argument\"">:$global_scale,
    DefaultValuedAttr<F64Attr, "0.011">:$max_error,
    DefaultValuedAttr<F64Attr, "0.11">:$max_stored_error
  );
}

//===----------------------------------------------------------------------===//
// For a chip
//===----------------------------------------------------------------------===//

def KVQTransform_SelectMMAOp : KVQ_TransformEachOp<"select_mma"> {
  let summary = "choose the tensor-core kinds of attention";
  let description = [{
    Does to each target, a `kvq.dequant_attention`, what `kvq-select-mma` does;
    the attributes are the options of the pass. A kind that the chip does not
    have is a definite failure with the pass's error, another target a
    silenceable one. The handle stays valid.

    Example:

    ```mlir
    transform.named_sequence @select(%root: !transform.any_op) {
      %attention = transform.structured.match ops{["kvq.dequant_attention"]}
          in %root : (!transform.any_op) -> !transform.any_op
      transform.kvq.select_mma %attention {chip = "sm_90a", qk = "bf16"}
          : !transform.any_op
      transform.yield
    }
    ```
  }];
  let arguments = (ins
    TransformHandleTypeInterface:$target,
    DefaultValuedAttr<StrAttr, "\"sm_100a\"">:$chip,
    DefaultValuedAttr<StrAttr, "\"\"">:$qk,
    DefaultValuedAttr<StrAttr, "\"\"">:$pv,
    DefaultValuedAttr<F64Attr, "0.011">:$max_error
  );
  let assemblyFormat = "$target attr-dict `:` type($target)";
  let extraClassDeclaration = [{
    ::mlir::DiagnosedSilenceableFailure
    applyToOne(::mlir::transform::TransformRewriter &rewriter,
               ::mlir::Operation *target,
               ::mlir::transform::ApplyToEachResultList &results,
               ::mlir::transform::TransformState &state);

    void getEffects(::llvm::SmallVectorImpl<
                    ::mlir::MemoryEffects::EffectInstance> &effects);
  }];
}

def KVQTransform_SplitKVOp
    : KVQ_TransformEachOp<"split_kv", [FunctionalStyleTransformOpTrait]> {
  let summary = "split attention along the cached tokens";
  let description = [{
    Does to each target, a `kvq.dequant_attention`, what `kvq-split-kv` does,
    and returns the operation that computes the parts and the
    `kvq.merge_states`. The attributes are the options of the pass. A target
    that is not split is a silenceable failure with the text of the pass's
    remark.

    The handle is consumed.

    Example:

    ```mlir
    transform.named_sequence @split(%root: !transform.any_op) {
      %attention = transform.structured.match ops{["kvq.dequant_attention"]}
          in %root : (!transform.any_op) -> !transform.any_op
      %parts, %merge = transform.kvq.split_kv %attention {split_length = 256}
          : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      transform.yield
    }
    ```
  }];
  let arguments = (ins
    TransformHandleTypeInterface:$target,
    ConfinedAttr<DefaultValuedAttr<I64Attr, "512">, [IntPositive]>:$split_length,
    DefaultValuedAttr<I64Attr, "16">:$max_queries,
    DefaultValuedAttr<BoolAttr, "true">:$split_dynamic
  );
  let results = (outs TransformHandleTypeInterface:$parts,
                      TransformHandleTypeInterface:$merge);
  let assemblyFormat = [{
    $target attr-dict `:` functional-type($target, results)
  }];
}

#endif // KVQ_DIALECT_KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_TD
