//===- KVQBytecode.cpp - Bytecode version of the kvq dialect --------------===//
//
// Attributes and types travel as their text, which is stable under the
// version written here.
//
//===----------------------------------------------------------------------===//

#include "KVQBytecode.h"
#include "kvq/Dialect/KVQ/IR/KVQDialect.h"
#include "mlir/Bytecode/BytecodeImplementation.h"

using namespace mlir;
using namespace kvq;

namespace {

struct KVQDialectVersion : public DialectVersion {
  KVQDialectVersion(uint64_t major, uint64_t minor)
      : major(major), minor(minor) {}

  uint64_t major;
  uint64_t minor;
};

/// The version this build writes. A reader takes every version of the same
/// major number that is not newer.
constexpr uint64_t majorVersion = 1;
constexpr uint64_t minorVersion = 0;

struct KVQBytecodeInterface : public BytecodeDialectInterface {
  explicit KVQBytecodeInterface(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(majorVersion);
    writer.writeVarInt(minorVersion);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t major, minor;
    if (failed(reader.readVarInt(major)) || failed(reader.readVarInt(minor)))
      return nullptr;
    if (major != majorVersion || minor > minorVersion) {
      reader.emitError() << "bytecode has version " << major << "." << minor
                         << " of the kvq dialect, this build reads "
                         << majorVersion << ".0 to " << majorVersion << "."
                         << minorVersion;
      return nullptr;
    }
    return std::make_unique<KVQDialectVersion>(major, minor);
  }
};

} // namespace

void kvq::addBytecodeInterface(KVQDialect &dialect) {
  dialect.addInterfaces<KVQBytecodeInterface>();
}
