//===- KernelsToPTX.h - From modules of kernels to PTX ----------*- C++ -*-===//

#ifndef KVQ_CONVERSION_KERNELSTOPTX_KERNELSTOPTX_H
#define KVQ_CONVERSION_KERNELSTOPTX_KERNELSTOPTX_H

#include "mlir/Pass/Pass.h"

namespace kvq {

#define GEN_PASS_DECL_CONVERTKERNELSTOPTX
#include "kvq/Conversion/Passes.h.inc"

} // namespace kvq

#endif // KVQ_CONVERSION_KERNELSTOPTX_KERNELSTOPTX_H
