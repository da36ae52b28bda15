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

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_PASSES
