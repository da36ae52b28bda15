//===- KVQInterfaces.td - Interfaces of the kvq dialect ---*- tablegen -*-===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQINTERFACES_TD
#define KVQ_DIALECT_KVQ_IR_KVQINTERFACES_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def KVFormatInterface : AttrInterface<"KVFormatInterface"> {
  let cppNamespace = "::kvq";
  let description = [{
    What the dialect needs to know of a cache format. `#kvq.format` implements
    it; a project downstream adds a format of its own by implementing it on an
    attribute of its dialect.

    The three builders emit the arithmetic of one element or one vector of
    elements with `arith` operations: an operand is either a scalar or a
    vector, and all vectors of a call have one shape. They are what the CPU
    lowerings and the portable kernels are made of.
  }];
  let methods = [
    InterfaceMethod<"The type of a stored element.",
      "::mlir::FloatType", "getElementType">,
    InterfaceMethod<"The type of a block scale, null without block scales.",
      "::mlir::FloatType", "getScaleType">,
    InterfaceMethod<"Elements that share a scale, 0 without block scales.",
      "int64_t", "getBlockSize">,
    InterfaceMethod<"The axis along which the elements of a block lie.",
      "::kvq::BlockAxis", "getBlockAxis">,
    InterfaceMethod<"Whether values carry a global scale.",
      "bool", "getHasGlobalScale">,
    InterfaceMethod<"The largest finite magnitude of an element.",
      "double", "getLargestMagnitude">,
    InterfaceMethod<[{
      Emits the block scale of a block. `amax` is the largest magnitude of the
      block in f32 (NaN ignored), `globalScale` an f32 or null, `target` the
      element magnitude that `amax` shall map to: the largest one except where
      four-over-six tries another. Returns a value of the scale type.
      }], "::mlir::Value", "emitBlockScale",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$amax, "::mlir::Value":$globalScale,
           "double":$target)>,
    InterfaceMethod<[{
      Emits the encoding of f32 values. `scale` has the scale type and is null
      without block scales, `globalScale` is an f32 or null. Returns values of
      the element type.
      }], "::mlir::Value", "emitEncode",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$value, "::mlir::Value":$scale,
           "::mlir::Value":$globalScale)>,
    InterfaceMethod<[{
      Emits the decoding of stored elements to f32, the inverse of `emitEncode`.
      }], "::mlir::Value", "emitDecode",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$element, "::mlir::Value":$scale,
           "::mlir::Value":$globalScale)>,
  ];
  let extraSharedClassDeclaration = [{
    /// Whether elements carry a block scale.
    bool hasBlockScale() { return $_attr.getBlockSize() != 0; }

    /// Returns the shape of the scales of data of a logical shape
    /// [..., tokens, heads, head_dim] (any rank from 1 with blocks along
    /// head_dim, from 3 with blocks along the tokens). Dynamic sizes stay
    /// dynamic.
    ::llvm::SmallVector<int64_t> getScaleShape(
        ::llvm::ArrayRef<int64_t> dataShape) {
      return ::kvq::detail::getScaleShape(dataShape, $_attr.getBlockSize(),
                                          $_attr.getBlockAxis());
    }

    /// Returns the bits that `tokens` rows of `rowSize` elements occupy, data
    /// and scales together, rounded up where a block holds more than them.
    int64_t getSizeInBits(int64_t tokens, int64_t rowSize) {
      int64_t elements = tokens * rowSize;
      int64_t bits = elements * $_attr.getElementType().getWidth();
      if (int64_t block = $_attr.getBlockSize())
        bits += (elements * $_attr.getScaleType().getWidth() + block - 1) /
                block;
      return bits;
    }
  }];
}

def PagedBatchOpInterface : OpInterface<"PagedBatchOpInterface"> {
  let cppNamespace = "::kvq";
  let description = [{
    Operations that address a paged cache for a batch of sequences. The tables
    are tensors or memrefs; a table that an operation does not take is null.

    | table | shape | type |
    |---|---|---|
    | `block_table` | [B, max_pages] | i32 |
    | `seq_lens` | [B] | i32 |
    | `qo_indptr` | [B + 1] | i32 |
    | `slot_mapping` | [N] | i32 or i64 |
    | `positions`, `batch_indices` | [N] | i32 |

    The interface's verifier checks the types and that the sizes agree.
  }];
  let methods = [
    InterfaceMethod<"The page table, [B, max_pages].",
      "::mlir::Value", "getBlockTable", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"Tokens of each sequence, [B].",
      "::mlir::Value", "getSeqLens", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"First query row of each sequence, [B + 1].",
      "::mlir::Value", "getQoIndptr", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"Slot of each row, [N].",
      "::mlir::Value", "getSlotMapping", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"Position of each row in its sequence, [N].",
      "::mlir::Value", "getPositions", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"Sequence of each row, [N].",
      "::mlir::Value", "getBatchIndices", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"The handles that are read.",
      "::llvm::SmallVector<::mlir::Value>", "getReadCaches", (ins), [{}],
      [{ return {}; }]>,
    InterfaceMethod<"The handles that are written.",
      "::llvm::SmallVector<::mlir::Value>", "getWrittenCaches", (ins), [{}],
      [{ return {}; }]>,
  ];
  let verify = [{ return ::kvq::detail::verifyPagedBatchOp($_op); }];
}

#endif // KVQ_DIALECT_KVQ_IR_KVQINTERFACES_TD
