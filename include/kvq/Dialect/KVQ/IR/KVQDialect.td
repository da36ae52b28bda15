//===- KVQDialect.td - The kvq dialect --------------------*- tablegen -*-===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQDIALECT_TD
#define KVQ_DIALECT_KVQ_IR_KVQDIALECT_TD

include "mlir/IR/DialectBase.td"

def KVQDialect : Dialect {
  let name = "kvq";
  let cppNamespace = "::kvq";
  let summary = "Quantized, paged KV caches and attention over them";
  let description = [{
    The `kvq` dialect describes what a decoder does with its KV cache: it
    quantizes the keys and values of new tokens, appends them to a paged cache
    and attends to the cache without expanding it to memory first.

    A cache is a *handle* of type `!kvq.cache`, one for the keys and one for
    the values of a layer. Its type holds the quantization format, the order
    of a page and the order of the block scales. A writer and a reader that
    disagree about any of them do not verify; this is the reason for a type,
    as shapes, element types and strides of two scale layouts are the same.

    Handles have reference semantics: serving runtimes own the pool and mutate
    it. They are made from memrefs by `kvq.make_cache` only, are passed down
    into functions, loops and branches, and are neither returned nor stored.
    Effects sit on the handle operand. The key and the value handle of a layer
    never share bytes. Handles with a common root share bytes, distinct roots
    (function arguments, or memrefs under `kvq.make_cache`) do not, which is
    the obligation of the caller unless an argument carries the unit attribute
    `kvq.may_alias`.

    Everything else (queries, outputs, rows of new tokens, tables) is a tensor
    or a memref, and the operations on them are destination-style.

    The value of an element is `element x block scale x global scale`; the
    global scale is the decode scale, a positive finite f32.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::vector::VectorDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    /// The unit attribute of a function argument whose bytes other roots may
    /// share.
    static constexpr ::llvm::StringLiteral getMayAliasAttrName() {
      return "kvq.may_alias";
    }

    /// Attributes of `kvq.make_cache`, and but for the second of a handle among
    /// the arguments of a function, that kvq-convert-cache-format reads: the
    /// format to convert to (a format, or the name of one), the calibrated
    /// global scale (f32), and the number of the layer (an integer).
    static constexpr ::llvm::StringLiteral getCacheFormatAttrName() {
      return "kvq.cache_format";
    }
    static constexpr ::llvm::StringLiteral getGlobalScaleAttrName() {
      return "kvq.global_scale";
    }
    static constexpr ::llvm::StringLiteral getLayerAttrName() {
      return "kvq.layer";
    }

    /// The unit attribute of the functions that check operands at run time.
    static constexpr ::llvm::StringLiteral getRuntimeCheckAttrName() {
      return "kvq.runtime_check";
    }
  }];
}

#endif // KVQ_DIALECT_KVQ_IR_KVQDIALECT_TD
