//===- InsertRuntimeChecks.h - Check before an operation runs -------------===//

#ifndef KVQ_CONVERSION_RUNTIMECHECKS_INSERTRUNTIMECHECKS_H
#define KVQ_CONVERSION_RUNTIMECHECKS_INSERTRUNTIMECHECKS_H

#include "mlir/Pass/Pass.h"

namespace kvq {

#define GEN_PASS_DECL_INSERTRUNTIMECHECKS
#include "kvq/Conversion/Passes.h.inc"

} // namespace kvq

#endif // KVQ_CONVERSION_RUNTIMECHECKS_INSERTRUNTIMECHECKS_H
