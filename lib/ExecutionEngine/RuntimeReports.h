//===- RuntimeReports.h - Errors that compiled code reports -----*- C++ -*-===//

#ifndef KVQ_LIB_EXECUTIONENGINE_RUNTIMEREPORTS_H
#define KVQ_LIB_EXECUTIONENGINE_RUNTIMEREPORTS_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <mutex>

namespace kvq {

/// Collects what compiled code reports while it is in scope. There is one at a
/// time in a process: making another one waits.
class RuntimeReports {
public:
  RuntimeReports();
  ~RuntimeReports();

  /// What compiled code calls as `kvq_report`.
  static void report(int32_t kind, int64_t index, int64_t value, int64_t limit);

  /// Returns what was reported, a line each.
  llvm::Error takeError();

private:
  std::unique_lock<std::mutex> lock;
};

} // namespace kvq

#endif // KVQ_LIB_EXECUTIONENGINE_RUNTIMEREPORTS_H
