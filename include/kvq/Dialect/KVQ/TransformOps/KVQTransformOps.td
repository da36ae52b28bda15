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

#endif // KVQ_DIALECT_KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_TD
