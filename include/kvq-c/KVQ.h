//===- KVQ.h - The whole C API of kvq ---------------------------*- C -*---===//

#ifndef KVQ_C_KVQ_H
#define KVQ_C_KVQ_H

#include "kvq-c/CacheType.h"
#include "kvq-c/Compiler.h"
#include "kvq-c/Core.h"
#include "kvq-c/Numerics.h"

#endif // KVQ_C_KVQ_H
