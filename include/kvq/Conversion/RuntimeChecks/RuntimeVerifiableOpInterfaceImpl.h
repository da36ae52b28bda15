//===- RuntimeVerifiableOpInterfaceImpl.h - Checks for upstream's pass ----===//

#ifndef KVQ_CONVERSION_RUNTIMECHECKS_RUNTIMEVERIFIABLEOPINTERFACEIMPL_H
#define KVQ_CONVERSION_RUNTIMECHECKS_RUNTIMEVERIFIABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace kvq {

/// Attaches RuntimeVerifiableOpInterface to the operations of the dialect, for
/// `--generate-runtime-verification`. They get the checks that
/// `kvq-insert-runtime-checks` gives them, with these differences from it and
/// from what upstream's own operations get:
///
/// - A check that fails does not abort. It calls `@kvq_report` and the
///   operation does not run; what follows runs. Signatures stay, so no function
///   returns a status.
/// - The text that the pass would print is not used: a report says which kind
///   of error, where in the operand, what was found and what is accepted.
/// - `kvq.make_cache` has a result: its check only reports.
/// - Functions are added to the module, so the pass runs on the module, not
///   on functions in parallel. A module with another symbol where a check
///   belongs is an error, and operations on tensors a warning; neither gets
///   checks.
void registerRuntimeVerifiableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace kvq

#endif // KVQ_CONVERSION_RUNTIMECHECKS_RUNTIMEVERIFIABLEOPINTERFACEIMPL_H
