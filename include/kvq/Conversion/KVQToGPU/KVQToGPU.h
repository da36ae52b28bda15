//===- KVQToGPU.h - Lower kvq operations to GPU kernels -------------------===//

#ifndef KVQ_CONVERSION_KVQTOGPU_KVQTOGPU_H
#define KVQ_CONVERSION_KVQTOGPU_KVQTOGPU_H

#include "mlir/Pass/Pass.h"

namespace kvq {

#define GEN_PASS_DECL_CONVERTKVQTOGPU
#include "kvq/Conversion/Passes.h.inc"

} // namespace kvq

#endif // KVQ_CONVERSION_KVQTOGPU_KVQTOGPU_H
