//===- Passes.td - The conversion passes -------------------*- tablegen -*-===//

#ifndef KVQ_CONVERSION_PASSES
#define KVQ_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def LowerFPConversions : Pass<"kvq-lower-fp-conversions"> {
  let summary = "Lower conversions of low-bit floats to integer arithmetic";
  let description = [{
    Rewrites `arith.extf` and `arith.truncf` that convert between one of
    `f4E2M1FN`, `f8E4M3FN`, `f8E8M0FNU` and any of these or `f32`, `f16`,
    `bf16`, on scalars, vectors and tensors, and those between `f32` and
    `bf16`, to integer arithmetic on the bits of the values. No float
    arithmetic reads or makes a subnormal number, so that the flush-to-zero
    and denormals-are-zero modes of a processor change no result.

    - Widening is exact. An E4M3 NaN becomes a quiet NaN of the same sign.
      E8M0 byte 255 is NaN, byte 0 is 2^-127 (a subnormal `f32`).
    - Narrowing to E2M1 and E4M3 clamps to the finite range (6 and 448;
      infinities too), then rounds to nearest, ties to even. The sign is
      kept, of zeros too. NaN becomes a zero (E2M1, which has no NaN) or NaN
      (E4M3) of the same sign.
    - Narrowing to E8M0 takes floor(log2|x|) (the floor rule), clamped to
      bytes 0..254; the sign is dropped; zero gives byte 0, NaN byte 255.
    - `f32` to `bf16` rounds to nearest even; NaN stays a (quiet) NaN.

    E8M0 to `f16` is an error, as `f16` has not the range; so is a
    rounding mode other than `to_nearest_even` on a low-bit result.
    `f16` to `f32` and back is left alone: processors and LLVM's software
    versions ignore the two modes there.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def DecomposeSoftmax : Pass<"kvq-decompose-softmax"> {
  let summary = "Lower linalg.softmax to linalg.generic";
  let description = [{
    Replaces `linalg.softmax` on tensors by the largest element, the exponential
    function of differences to it, their sum and the quotient, in
    `linalg.generic`: there are no loops for the operation as a whole. On
    memrefs it is an error.
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect",
    "mlir::math::MathDialect", "mlir::tensor::TensorDialect"
  ];
}

def LegalizeStorage : Pass<"kvq-legalize-storage", "mlir::ModuleOp"> {
  let summary = "Store low-bit floats of memrefs in bytes";
  let description = [{
    Rewrites memrefs of `f4E2M1FN` to memrefs of `i8` that hold two elements
    in a byte, the even one in the low nibble: the innermost size, the other
    strides and the offset halve. Memrefs of `f8E4M3FN` and `f8E8M0FNU` become
    memrefs of `i8`. Runs after bufferization, over functions, calls, `scf`,
    `cf`, and the memory operations of `memref` and `vector`. Values of
    low-bit type that are not memrefs stay; `kvq-lower-fp-conversions` and the
    conversion to LLVM deal with them (as `i4` and `i8`).

    A memref of `f4E2M1FN` needs innermost stride 1 and even innermost size,
    even offset and other strides. Where these are static and odd, the pass
    reports an error; where they are dynamic, being even is a precondition. A
    `memref.dim` of the innermost dimension gives the number of elements, not
    of bytes. A memref without dimensions holds its element in the low nibble
    of one byte.

    `memref.store` of one `f4E2M1FN` reads, changes and writes back a byte: it
    is not atomic, and two threads must not store to the halves of one byte.
    `vector.store` of an even count at an index known to be even writes whole
    bytes and reads none. Where the index is not known to be even,
    `vector.load` and `vector.store` go element by element.
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::memref::MemRefDialect",
    "mlir::vector::VectorDialect"
  ];
}

def InsertRuntimeChecks : Pass<"kvq-insert-runtime-checks", "mlir::ModuleOp"> {
  let summary = "Check sizes, indices and lengths before an operation runs";
  let description = [{
    Guards each operation of the dialect, in buffer form, by checks of its
    operands: sizes that must agree, page ids, slots and lengths in range, no
    slot or page written twice, global scales positive and finite. A check that
    fails calls `@kvq_report(kind, index, value, limit)`, a weak function that
    a host may define, and the operation and those of the dialect after it in
    the function do not run.

    A function with such operations, and each of its callers, gains a last i32
    result: 0, or the kind of the first error (`kvq/Support/RuntimeError.h`).
    It may therefore only be called directly; other references to it are an
    error.

    With `device` the operations are to run on a device: the checks are those of
    sizes and of scalars, as the host need not be able to read anything else.
    What the kernels find in tables and lengths they store in an error word
    (`gpu.alloc` with the attribute `kvq.error_word`), which is looked at after
    each operation.
  }];
  let options = [
    Option<"device", "device", "bool", /*default=*/"false",
           "The operations run on a device, in whose memory the host does not "
           "look.">
  ];
  let statistics = [
    Statistic<"numGuarded", "num-guarded", "Operations guarded">
  ];
}

def ConvertKVQToVector : Pass<"convert-kvq-to-vector"> {
  let summary = "Lower kvq operations to parallel loops of vectors";
  let description = [{
    Replaces the operations on memrefs and handles by `scf.parallel` loops of
    `vector` and `arith` operations: the fast lowering for the CPU. It covers
    the whole dialect and shares no pattern with `kvq-decompose`, which it
    agrees with: bit for bit in what is quantized, to f32 rounding in what
    attention sums.

    - Attention is parallel over sequences, KV heads, tiles of query rows and
      ranges of keys of a fixed length, so that results are the same from run
      to run on any number of threads. Rows are decoded a vector at a time
      through f16 (`f4E2M1FN` is loaded by the byte: `vector.load` followed by
      `vector.bitcast`, which `kvq-legalize-storage` joins); formats of other
      dialects and blocks along the tokens are decoded element by element.
    - The tanh of a soft-cap is upstream's quotient of polynomials, good to
      3e-7 of its value, as libm has no vector form.
    - Writes and copies are parallel over rows or pages.
    - `kvq.make_cache` and the accessors stay. Memrefs keep their logical
      element types.
    - Buffers are allocated and freed by the code itself, so run the pass after
      buffer deallocation.
    - Indices are assumed to be valid; `kvq-insert-runtime-checks` sees to it.

    Operands that are tensors, and caches whose scale layout is not decided, are
    errors.
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::math::MathDialect",
    "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
    "mlir::vector::VectorDialect"
  ];
}

def IsolateFloatMode : Pass<"kvq-isolate-float-mode", "mlir::ModuleOp"> {
  let summary = "Run float arithmetic in the processor's default mode";
  let description = [{
    Makes each `llvm.func` with float arithmetic independent of the control word
    of the thread that calls it (flush to zero, denormals are zero, rounding
    direction): its body moves to a function of its own that is not inlined,
    and what stays saves the mode with `fegetmode`, sets the default one with
    `fesetmode(FE_DFL_MODE)`, calls the body, and restores the mode. These
    functions are those of C23, which glibc has in `libm`; their constants are
    glibc's for x86-64, AArch64 and RISC-V.

    Coroutines are left alone, as they may go on in another thread; the
    functions they call, such as the bodies of parallel loops, are not.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
  let statistics = [
    Statistic<"numIsolated", "num-isolated", "Functions isolated">
  ];
}

def ConvertTCGen05ToNVVM : Pass<"convert-kvq-tcgen05-to-nvvm"> {
  let summary = "Lower kvq_tcgen05 operations to nvvm";
  let description = [{
    Replaces the operations of the `kvq_tcgen05` dialect by `nvvm.tcgen05`
    operations. Regions of tensor memory become pointers of address space 6 and
    tiles of shared memory the low half of a matrix descriptor; the high half
    and the instruction descriptors are constants made from the types. A
    product, a copy or a copy of scales becomes one instruction for each 32
    bytes along K, 32 or 16 bytes of a row, or block of 128 x 4 scales.

    In front of each of them stands an empty inline assembly that clobbers
    memory: LLVM does not know that these instructions read shared memory.

    Regions have a place and allocations a number of columns, see
    `kvq-tcgen05-allocate-tmem`. The patterns are also those of the dialect's
    `ConvertToLLVMPatternInterface`, through which `convert-gpu-to-nvvm` and
    `convert-to-llvm` lower the dialect with everything else.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect"];
}

def ConvertKVQToGPU : Pass<"convert-kvq-to-gpu", "mlir::ModuleOp"> {
  let summary = "Lower kvq operations to GPU kernels";
  let description = [{
    Replaces each operation on memrefs and handles by a `gpu.launch_func` of a
    kernel in the module `@kvq_kernels`. Equal kernels are shared. The kernels
    run on any chip from `sm_80`; `chip` decides which instructions they use:
    conversions of low-bit floats where it has them, exact integer arithmetic
    elsewhere.

    - A kernel is `void k(pointers, i64 byte strides, i32 sizes, f32 scalars)`
      in this order; sizes and strides that the types give are constants. Its
      attribute `kvq.kernel` names the parameters and holds the rules of the
      launch (`kvq/Conversion/KVQToGPU/KernelSignature.h`).
    - Grids follow from sizes alone. Tables and lengths are read on the device,
      so that all memory has to be accessible there, and launches can be
      captured.
    - A kernel checks what it reads from tables. It skips a row whose page,
      slot or length is out of range, and stores the first such error in an
      error word: a `gpu.alloc` with the attribute `kvq.error_word` in the
      function, which the pass frees at its end; without one the kernels get a
      null pointer. It does not find
      slots and pages that are written twice.
    - `@kvq_kernels` gets the chip as its `#nvvm.target`. A chip that kvq does
      not know, and a PTX version that the chip does not go with, are errors.
    - `kvq.make_cache` and the accessors stay. Memrefs keep their logical
      element types.

    Operands that are tensors, caches whose scale layout is not decided, and
    operations without a kernel are errors.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_80\"",
           "The chip to make kernels for.">,
    Option<"features", "features", "std::string", /*default=*/"\"\"",
           "The PTX version to use, as +ptx88; that of the chip by default.">,
    Option<"requireTensorCores", "require-tensor-cores", "bool",
           /*default=*/"false",
           "An MMA kind of attention that no kernel computes on the chip is an "
           "error; otherwise the portable kernel takes its place.">
  ];
  let dependentDialects = [
    "::kvq::tcgen05::TCGen05Dialect",
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::gpu::GPUDialect", "mlir::LLVM::LLVMDialect",
    "mlir::math::MathDialect", "mlir::memref::MemRefDialect",
    "mlir::NVVM::NVVMDialect", "mlir::nvgpu::NVGPUDialect",
    "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"
  ];
}

def ConvertKernelsToPTX : Pass<"convert-kernels-to-ptx", "mlir::ModuleOp"> {
  let summary = "Translate GPU modules to PTX";
  let description = [{
    Replaces each `gpu.module`, which is in the LLVM and NVVM dialects and has
    targets, by a `gpu.binary` with the PTX of its kernels for each of them, as
    `gpu-module-to-binary{format=isa}` does. It takes less time: LLVM does not
    look for vectors, which kernels come with, and CUDA's libdevice is loaded
    only for a module that calls it.

    A target that is not an `#nvvm.target`, and a module without targets, are
    errors.
  }];
  let dependentDialects = ["mlir::gpu::GPUDialect"];
}

#endif // KVQ_CONVERSION_PASSES
