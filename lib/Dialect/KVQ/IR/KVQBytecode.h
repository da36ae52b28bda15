//===- KVQBytecode.h - Bytecode version of the kvq dialect ----------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_IR_KVQBYTECODE_H
#define KVQ_LIB_DIALECT_KVQ_IR_KVQBYTECODE_H

namespace kvq {
class KVQDialect;

/// Attaches the versioned bytecode interface to the dialect.
void addBytecodeInterface(KVQDialect &dialect);

} // namespace kvq

#endif // KVQ_LIB_DIALECT_KVQ_IR_KVQBYTECODE_H
