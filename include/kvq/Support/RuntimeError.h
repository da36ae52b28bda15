/*===- RuntimeError.h - What compiled code reports ----------------*- C -*-===*
 *
 * A compiled operation checks its indices and lengths before it writes
 * anything. On a violation it calls `kvq_report` and writes nothing, and the
 * function returns a status other than 0. Compiled code holds a weak
 * `kvq_report` that does nothing: a host defines its own to learn what was
 * wrong.
 *
 * This header is C99 and C++.
 *
 *===----------------------------------------------------------------------===*/

#ifndef KVQ_SUPPORT_RUNTIMEERROR_H
#define KVQ_SUPPORT_RUNTIMEERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The kinds of errors, and what index, value and limit mean for each. Unless
 * stated otherwise a value is accepted if 0 <= value < limit. An index into an
 * array of several dimensions is the row-major one. The numbers are part of
 * the binary interface: they do not change.
 */
typedef enum KVQRuntimeErrorKind {
  /** No error; the status of a call that succeeded. */
  KVQ_RUNTIME_OK = 0,
  /** An entry of a block table within the sequence's length. Index into
   * block_table; limit: pages of the cache. */
  KVQ_RUNTIME_BLOCK_TABLE_PAGE = 1,
  /** A sequence length. Index: the sequence; limit: tokens that its row of the
   * block table can address, plus one. */
  KVQ_RUNTIME_SEQ_LEN = 2,
  /** A slot; negative ones are padding. Index into slot_mapping; limit: slots
   * of the cache. */
  KVQ_RUNTIME_SLOT = 3,
  /** A slot named for the second time. Index into slot_mapping of the second
   * one; value: the slot; limit: the index of the first one. */
  KVQ_RUNTIME_DUPLICATE_SLOT = 4,
  /** An entry of qo_indptr that is less than the one before it or exceeds the
   * number of query rows, a first entry other than 0, or a last one other than
   * the number of query rows. Index into qo_indptr; limit: the number of query
   * rows plus one. */
  KVQ_RUNTIME_QO_INDPTR = 5,
  /** A position to append at. Index into positions; limit: tokens that its row
   * of the block table can address. */
  KVQ_RUNTIME_POSITION = 6,
  /** A page to copy from or to. Index into the list of pages; limit: pages of
   * the cache. */
  KVQ_RUNTIME_PAGE = 7,
  /** A page to copy to named for the second time, or also copied from. Index
   * into the list of pages; value: the page; limit: the index of the other
   * mention. */
  KVQ_RUNTIME_DUPLICATE_PAGE = 8,
  /** A sequence longer than the rows to gather into. Index: the sequence;
   * limit: rows plus one. */
  KVQ_RUNTIME_GATHER_LENGTH = 9,
  /** A sequence that needs more KV chunks than the outputs have. Index: the
   * sequence; value: chunks needed; limit: chunks plus one. */
  KVQ_RUNTIME_KV_CHUNKS = 10,
  /** A global scale that is zero, negative, infinite or NaN. Value: its f32 as
   * bits; index and limit: 0. */
  KVQ_RUNTIME_GLOBAL_SCALE = 11,
  /** The global scale of quantized rows differs from that of the cache they go
   * to. Value: the rows' f32 as bits; limit: the cache's; index: 0. */
  KVQ_RUNTIME_GLOBAL_SCALES_DIFFER = 12,
  /** Two operands that must have the same size have not. Index: the dimension
   * of the operand; value: its size; limit: the size accepted. */
  KVQ_RUNTIME_SIZE = 13,
  /** The sequence of a row to append. Index into positions; value: the
   * sequence, from batch_indices if there are any; limit: rows of the block
   * table. */
  KVQ_RUNTIME_BATCH_INDEX = 14
} KVQRuntimeErrorKind;

/** The largest kind of this version. */
#define KVQ_RUNTIME_LAST_KIND 14

/**
 * Returns what a kind means, as a phrase without a final stop, for example
 * "page id in block_table out of range". Never null: an unknown kind has a
 * phrase that says so.
 */
const char *kvqRuntimeErrorDescription(int32_t kind);

/**
 * Writes the whole message, "WHAT: index I, value V, accepted < LIMIT" for most
 * kinds, with a terminating zero, truncated to `size` bytes. Returns the length
 * of the whole message without the zero, as snprintf does.
 */
int kvqRuntimeErrorMessage(char *buffer, uint64_t size, int32_t kind,
                           int64_t index, int64_t value, int64_t limit);

/** What compiled code calls; the host may define it. */
void kvq_report(int32_t kind, int64_t index, int64_t value, int64_t limit);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KVQ_SUPPORT_RUNTIMEERROR_H */
