//===- Passes.td - Passes over the kvq_tcgen05 dialect -----*- tablegen -*-===//

#ifndef KVQ_DIALECT_TCGEN05_TRANSFORMS_PASSES
#define KVQ_DIALECT_TCGEN05_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def TCGen05AllocateTMem : InterfacePass<"kvq-tcgen05-allocate-tmem",
                                        "mlir::FunctionOpInterface"> {
  let summary = "Place regions in the columns of tensor memory";
  let description = [{
    Gives each `kvq_tcgen05.region` of a function that has no place its first
    column, and the `alloc` and `dealloc`s without a number of columns the
    smallest power of two from 32 on that holds all regions. Those that do not
    fit in 512 columns are named in an error.

    Regions share columns where their lanes are disjoint (scattered regions at
    lanes 0 and 16, regions of single quarters), or where one is released
    before the other begins and all threads meet in between: both in one block
    (or in operations of that block), with a `gpu.barrier` (or `nvvm.barrier0`,
    or an `nvvm.barrier` of all threads) after the release and before the
    other. In a loop there is a barrier on the way back too. Warps run at the
    same time, so regions of two branches never share columns otherwise. The
    barrier is about threads: whoever releases a region has seen the
    asynchronous work on it complete.

    Up to eight regions are placed optimally, more by first fit, largest first.
  }];
  let statistics = [
    Statistic<"numColumns", "num-columns", "Columns allocated">
  ];
}

#endif // KVQ_DIALECT_TCGEN05_TRANSFORMS_PASSES
