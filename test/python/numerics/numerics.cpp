//===- numerics.cpp - Quantizes and dequantizes raw files, for tests ------===//
//
// numerics quantize FORMAT COLUMNS X G DATA SCALES [--four-over-six] [--flush]
// numerics dequantize FORMAT COLUMNS X G DATA SCALES [--flush]
//
// X and G are f32 files in native order, G with one global scale for each row;
// DATA and SCALES are bytes. `quantize` writes the last two, `dequantize`
// writes X.
//
//===----------------------------------------------------------------------===//

#include "kvq/Support/BlockQuantizer.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"
#include <cstring>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace llvm;

static cl::list<std::string> arguments(cl::Positional, cl::OneOrMore,
                                       cl::desc("action format columns files"));
static cl::opt<bool> fourOverSix("four-over-six");
static cl::opt<bool> flush("flush", cl::desc("set flush-to-zero modes"));
static ExitOnError exitOnError("kvq-test-numerics: ");

template <typename T>
static std::vector<T> readFile(const std::string &path) {
  auto buffer = exitOnError(errorOrToExpected(
      MemoryBuffer::getFile(path, false, /*RequiresNullTerminator=*/false)));
  std::vector<T> values(buffer->getBufferSize() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), buffer->getBufferStart(),
                values.size() * sizeof(T));
  return values;
}

template <typename T>
static void writeFile(const std::string &path, const std::vector<T> &values) {
  std::error_code code;
  ToolOutputFile file(path, code, sys::fs::OF_None);
  exitOnError(errorCodeToError(code));
  file.os().write(reinterpret_cast<const char *>(values.data()),
                  values.size() * sizeof(T));
  file.keep();
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  size_t columns = 0;
  if (arguments.size() != 7 ||
      StringRef(arguments[2]).getAsInteger(10, columns) || !columns) {
    WithColor::error() << "expected an action, a format, columns, 4 files\n";
    return 1;
  }
  bool isQuantize = arguments[0] == "quantize";
  auto format = kvq::BlockFormat::getPreset(arguments[1]);
  if (!format || (!isQuantize && arguments[0] != "dequantize")) {
    WithColor::error() << "unknown action or format\n";
    return 1;
  }
  std::vector<float> g = readFile<float>(arguments[4]);
  size_t rows = g.size();
  size_t dataBytes = format->getDataBytes(columns);
  size_t scaleBytes = format->getScaleBytes(columns);
  std::vector<float> x(rows * columns);
  std::vector<uint8_t> data(rows * dataBytes), scales(rows * scaleBytes);
  if (isQuantize) {
    x = readFile<float>(arguments[3]);
  } else {
    data = readFile<uint8_t>(arguments[5]);
    scales = readFile<uint8_t>(arguments[6]);
  }
  if (x.size() != rows * columns || data.size() != rows * dataBytes ||
      scales.size() != rows * scaleBytes) {
    WithColor::error() << "files do not have the sizes of " << rows
                       << " rows\n";
    return 1;
  }

#if defined(__x86_64__)
  if (flush)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
  kvq::QuantizeOptions options;
  options.fourOverSix = fourOverSix;
  for (size_t row = 0; row != rows; ++row) {
    MutableArrayRef<float> values(x.data() + row * columns, columns);
    MutableArrayRef<uint8_t> rowData(data.data() + row * dataBytes, dataBytes);
    MutableArrayRef<uint8_t> rowScales(scales.data() + row * scaleBytes,
                                       scaleBytes);
    exitOnError(isQuantize ? kvq::quantizeRow(*format, values, g[row], rowData,
                                              rowScales, options)
                           : kvq::dequantizeRow(*format, rowData, rowScales,
                                                g[row], values));
  }
  if (isQuantize) {
    writeFile(arguments[5], data);
    writeFile(arguments[6], scales);
  } else {
    writeFile(arguments[3], x);
  }
  return 0;
}
