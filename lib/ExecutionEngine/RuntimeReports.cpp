//===- RuntimeReports.cpp - Errors that compiled code reports -------------===//

#include "RuntimeReports.h"
#include "kvq/Support/RuntimeError.h"
#include "llvm/Support/Errc.h"
#include <string>
#include <vector>

using namespace kvq;

/// Held while a collector is in scope.
static std::mutex collectorMutex;

/// Guards `messages`: compiled code may report from several threads.
static std::mutex messagesMutex;
static std::vector<std::string> messages;

RuntimeReports::RuntimeReports() : lock(collectorMutex) {
  std::lock_guard<std::mutex> guard(messagesMutex);
  messages.clear();
}

RuntimeReports::~RuntimeReports() = default;

void RuntimeReports::report(int32_t kind, int64_t index, int64_t value,
                            int64_t limit) {
  char buffer[256];
  kvqRuntimeErrorMessage(buffer, sizeof(buffer), kind, index, value, limit);
  std::lock_guard<std::mutex> guard(messagesMutex);
  messages.push_back(buffer);
}

llvm::Error RuntimeReports::takeError() {
  std::lock_guard<std::mutex> guard(messagesMutex);
  llvm::Error error = llvm::Error::success();
  for (const std::string &message : messages)
    error = llvm::joinErrors(
        std::move(error),
        llvm::createStringError(llvm::errc::invalid_argument, message));
  messages.clear();
  return error;
}
