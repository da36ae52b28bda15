//===- RuntimeChecks.h - Functions that check indices at run time ---------===//

#ifndef KVQ_CONVERSION_RUNTIMECHECKS_RUNTIMECHECKS_H
#define KVQ_CONVERSION_RUNTIMECHECKS_RUNTIMECHECKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace kvq {

/// The function `name` ("kvq_check_pages") of the library of run-time checks in
/// `module`. If it is not there yet, it and what it calls are inserted. Null if
/// the library has no such function, or if the module has another symbol of
/// one of these names; a `@kvq_report` of the right type is used as it is.
///
/// Each function returns i32: 0, or the kind (kvq/Support/RuntimeError.h) of
/// the first offence, which it has reported through `@kvq_report` (a weak
/// function that does nothing unless the host defines it). None writes to its
/// operands. Time is linear in what is checked; those that look for duplicates
/// allocate 16 bytes times two to four per entry while they run. Sizes and
/// limits are i64. Arrays are `memref<?xi32, strided<[?], offset: ?>>`, block
/// tables `memref<?x?xi32, strided<[?, ?], offset: ?>>`.
///
/// | name (after `kvq_check_`) | operands |
/// |---|---|
/// | `slots_i32`, `slots_i64` | slot_mapping (of that type), slots |
/// | `block_table` | block_table, seq_lens, page size, pages |
/// | `positions` | positions, block_table, page size, pages |
/// | `positions_batched` | positions, batch_indices, block_table, page size,
///   pages |
/// | `indptr` | qo_indptr, query rows |
/// | `max_len` | seq_lens, rows to gather into |
/// | `kv_chunks` | seq_lens, tokens per chunk, chunks |
/// | `pages` | page ids, pages |
/// | `duplicate_pages` | page ids |
/// | `disjoint_pages` | destinations, sources |
/// | `global_scale` | memref<f32> |
/// | `same_global_scale` | that of the rows, that of the cache: memref<f32> |
/// | `size` | dimension, its size, the size accepted |
/// | `error_word` | four i64 that a kernel stored: kind, index, value, limit |
///
/// `block_table` reads only the entries that a sequence's length covers.
///
/// Buffers of the checks are marked with `bufferization.manual_deallocation`.
/// The dialects of `registerRuntimeCheckDialects` must be loaded.
mlir::func::FuncOp getOrInsertRuntimeCheck(mlir::ModuleOp module,
                                           llvm::StringRef name);

/// The dialects that the checks are written in, for a pass's
/// `getDependentDialects`.
void registerRuntimeCheckDialects(mlir::DialectRegistry &registry);

} // namespace kvq

#endif // KVQ_CONVERSION_RUNTIMECHECKS_RUNTIMECHECKS_H
