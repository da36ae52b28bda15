//===- DecomposeSoftmax.h - Lower linalg.softmax ----------------*- C++ -*-===//

#ifndef KVQ_CONVERSION_DECOMPOSESOFTMAX_DECOMPOSESOFTMAX_H
#define KVQ_CONVERSION_DECOMPOSESOFTMAX_DECOMPOSESOFTMAX_H

#include "mlir/Pass/Pass.h"

namespace kvq {

#define GEN_PASS_DECL_DECOMPOSESOFTMAX
#include "kvq/Conversion/Passes.h.inc"

} // namespace kvq

#endif // KVQ_CONVERSION_DECOMPOSESOFTMAX_DECOMPOSESOFTMAX_H
