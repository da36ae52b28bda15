//===- RuntimeError.cpp - What compiled code reports ----------------------===//

#include "kvq/Support/RuntimeError.h"
#include <cinttypes>
#include <cstdio>
#include <cstring>

const char *kvqRuntimeErrorDescription(int32_t kind) {
  switch (kind) {
  case KVQ_RUNTIME_OK:
    return "no error";
  case KVQ_RUNTIME_BLOCK_TABLE_PAGE:
    return "page id in block_table out of range";
  case KVQ_RUNTIME_SEQ_LEN:
    return "sequence length out of range of the block table";
  case KVQ_RUNTIME_SLOT:
    return "slot in slot_mapping out of range";
  case KVQ_RUNTIME_DUPLICATE_SLOT:
    return "slot named twice in slot_mapping";
  case KVQ_RUNTIME_QO_INDPTR:
    return "qo_indptr does not rise from 0 to the number of query rows";
  case KVQ_RUNTIME_POSITION:
    return "position to append at out of range";
  case KVQ_RUNTIME_PAGE:
    return "page to copy out of range";
  case KVQ_RUNTIME_DUPLICATE_PAGE:
    return "page copied to is named twice";
  case KVQ_RUNTIME_GATHER_LENGTH:
    return "sequence is longer than the rows to gather into";
  case KVQ_RUNTIME_KV_CHUNKS:
    return "sequence needs more KV chunks than the outputs have";
  case KVQ_RUNTIME_GLOBAL_SCALE:
    return "global scale is not finite and positive";
  case KVQ_RUNTIME_GLOBAL_SCALES_DIFFER:
    return "global scale of the rows differs from that of the cache";
  case KVQ_RUNTIME_SIZE:
    return "size of an operand does not match";
  case KVQ_RUNTIME_BATCH_INDEX:
    return "row to append belongs to no sequence of the block table";
  default:
    return "unknown kind of runtime error";
  }
}

/// The f32 whose bits are the low 32 of an argument of kvq_report.
static double bitsToFloat(int64_t bits) {
  auto low = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, sizeof(value));
  return value;
}

int kvqRuntimeErrorMessage(char *buffer, uint64_t size, int32_t kind,
                           int64_t index, int64_t value, int64_t limit) {
  const char *what = kvqRuntimeErrorDescription(kind);
  switch (kind) {
  case KVQ_RUNTIME_DUPLICATE_SLOT:
  case KVQ_RUNTIME_DUPLICATE_PAGE:
    return std::snprintf(buffer, size,
                         "%s: index %" PRId64 ", value %" PRId64
                         ", named before at index %" PRId64,
                         what, index, value, limit);
  case KVQ_RUNTIME_GLOBAL_SCALE:
    return std::snprintf(buffer, size, "%s: value %.9g", what,
                         bitsToFloat(value));
  case KVQ_RUNTIME_GLOBAL_SCALES_DIFFER:
    return std::snprintf(buffer, size, "%s: value %.9g, accepted %.9g", what,
                         bitsToFloat(value), bitsToFloat(limit));
  case KVQ_RUNTIME_SIZE:
    return std::snprintf(buffer, size,
                         "%s: dimension %" PRId64 ", value %" PRId64
                         ", accepted %" PRId64,
                         what, index, value, limit);
  default:
    return std::snprintf(buffer, size,
                         "%s: index %" PRId64 ", value %" PRId64
                         ", accepted < %" PRId64,
                         what, index, value, limit);
  }
}
