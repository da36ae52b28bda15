//===- npy-fuzzer.cpp - Fuzz the reader of .npy files ---------------------===//
//
// What reads must read the same after it was written.
//
//===----------------------------------------------------------------------===//

#include "kvq/Support/Npy.h"

using namespace kvq;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  llvm::Expected<NpyArray> array = parseNpy(bytes, "fuzz");
  if (!array) {
    llvm::consumeError(array.takeError());
    return 0;
  }
  std::string copy = makeNpyHeader(array->type(), array->shape());
  copy += array->rawBytes();
  NpyArray again = llvm::cantFail(parseNpy(copy, "copy"));
  if (again.type() != array->type() || again.shape() != array->shape() ||
      again.rawBytes() != array->rawBytes())
    abort();
  return 0;
}
