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

#endif // KVQ_DIALECT_KVQ_TRANSFORMS_PASSES
