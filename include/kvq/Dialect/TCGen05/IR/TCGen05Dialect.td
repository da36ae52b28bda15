//===- TCGen05Dialect.td - The kvq_tcgen05 dialect --------*- tablegen -*-===//

#ifndef KVQ_DIALECT_TCGEN05_IR_TCGEN05DIALECT_TD
#define KVQ_DIALECT_TCGEN05_IR_TCGEN05DIALECT_TD

include "mlir/IR/DialectBase.td"

def TCGen05Dialect : Dialect {
  let name = "kvq_tcgen05";
  let cppNamespace = "::kvq::tcgen05";
  let summary = "Typed access to the tensor cores of Blackwell";
  let description = [{
    The `kvq_tcgen05` dialect is a typed layer over the `tcgen05` instructions
    of `sm_100a`. Types say where an operand lies: a region of tensor memory
    with its packing and data path, or a tile of shared memory with its
    major-ness, swizzle, padding and strides. Verifiers hold the rules of the
    PTX ISA about shapes, types and alignment, and the lowering derives matrix
    descriptors and instruction descriptors from the types, so nobody writes a
    descriptor by hand.

    - *Who executes an operation.* `mma`, `mma_block_scaled`, `copy`,
      `copy_scales`, `shift` and `commit` are issued by one thread; `alloc`,
      `dealloc`, `relinquish`, `load`, `store` and `wait` by whole warps.
    - *A product may be longer than an instruction.* The K of `mma`,
      `copy` and `copy_scales` is that of their types; the lowering issues one
      instruction for every 32 bytes of K.
    - *Asynchrony.* `mma`, `copy`, `copy_scales`, `shift`, `load` and `store`
      are asynchronous. Loads and stores are waited for by `wait`, the others
      by `commit` to an mbarrier. Copies and shifts are ordered before later
      products of the same thread.
    - *Shared memory.* Products and copies read shared memory through the
      asynchronous proxy: `nvvm.fence.proxy` and a barrier stand between the
      stores that fill a tile and the product. The lowering keeps LLVM, which
      knows nothing of these reads, from moving or deleting such stores.
    - *Tensor memory.* Regions with a name and a lifetime are placed by
      `kvq-tcgen05-allocate-tmem`; the start of a region is a multiple of two
      columns for elements of 32 bits and for scales, of four for others.

    An accumulator `D[m][n]` lies at

    | rows of the region | placement | used by | lane | column |
    |---|---|---|---|---|
    | 128 | | M = 128; each CTA of M = 256 with two CTAs | m | n |
    | 64 | `scattered` | M = 64 | lane + m mod 16 + 32 * (m div 16) | n |
    | 64 | `folded` | M = 64 weight-stationary; each CTA of M = 128 with two | m + 64 * (n div (N/2)) | n mod (N/2) |
    | 32 | `folded` | M = 32 weight-stationary | m + 32 * (n div (N/4)) | n mod (N/4) |
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // KVQ_DIALECT_TCGEN05_IR_TCGEN05DIALECT_TD
