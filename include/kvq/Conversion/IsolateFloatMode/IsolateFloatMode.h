//===- IsolateFloatMode.h - Run code in the default float mode --*- C++ -*-===//

#ifndef KVQ_CONVERSION_ISOLATEFLOATMODE_ISOLATEFLOATMODE_H
#define KVQ_CONVERSION_ISOLATEFLOATMODE_ISOLATEFLOATMODE_H

#include "mlir/Pass/Pass.h"

namespace kvq {

#define GEN_PASS_DECL_ISOLATEFLOATMODE
#include "kvq/Conversion/Passes.h.inc"

} // namespace kvq

#endif // KVQ_CONVERSION_ISOLATEFLOATMODE_ISOLATEFLOATMODE_H
