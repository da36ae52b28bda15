//===- AppendPairs.h - The appends of both sides of a layer ---------------===//

#ifndef KVQ_DIALECT_KVQ_ANALYSIS_APPENDPAIRS_H
#define KVQ_DIALECT_KVQ_ANALYSIS_APPENDPAIRS_H

#include "kvq/Dialect/KVQ/IR/KVQOps.h"

namespace kvq {

/// Returns the append of the other side of a layer that follows `first` in its
/// block, so that one launch can do both: one of the two writes keys and the
/// other values, in pages of one size, at the places that the same tables name,
/// and nothing between them has a memory effect. Null if there is none.
QuantizeAppendOp findAppendPartner(QuantizeAppendOp first);

} // namespace kvq

#endif // KVQ_DIALECT_KVQ_ANALYSIS_APPENDPAIRS_H
