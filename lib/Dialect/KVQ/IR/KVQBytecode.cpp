//===- KVQBytecode.cpp - Bytecode version of the kvq dialect --------------===//
//
// Attributes and types travel as their text, which is stable under the
// version written here.
//
// | version | what it added |
// |---|---|
// | 1.1 | `rope_style` of quantize_append |
//
//===----------------------------------------------------------------------===//

#include "KVQBytecode.h"
#include "kvq/Dialect/KVQ/IR/KVQDialect.h"
#include "kvq/Dialect/KVQ/IR/KVQOps.h"
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
constexpr uint64_t minorVersion = 1;

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

//===----------------------------------------------------------------------===//
// Properties that changed
//===----------------------------------------------------------------------===//

/// The minor version of the dialect that a file was written with.
static uint64_t getMinorVersion(DialectBytecodeReader &reader) {
  FailureOr<const DialectVersion *> version =
      reader.getDialectVersion<KVQDialect>();
  // Without a version the producer was this build.
  if (failed(version))
    return minorVersion;
  return static_cast<const KVQDialectVersion *>(*version)->minor;
}

void QuantizeAppendOp::writeProperties(DialectBytecodeWriter &writer) {
  const Properties &properties = getProperties();
  writer.writeOptionalAttribute(properties.four_over_six);
  writer.writeOptionalAttribute(properties.rounding);
  writer.writeOptionalAttribute(properties.rope_style);
  writer.writeSparseArray(ArrayRef(properties.operandSegmentSizes));
}

LogicalResult QuantizeAppendOp::readProperties(DialectBytecodeReader &reader,
                                               OperationState &state) {
  auto &properties = state.getOrAddProperties<Properties>();
  if (failed(reader.readOptionalAttribute(properties.four_over_six)) ||
      failed(reader.readOptionalAttribute(properties.rounding)))
    return failure();
  if (getMinorVersion(reader) >= 1 &&
      failed(reader.readOptionalAttribute(properties.rope_style)))
    return failure();
  // Segments that a version did not have are last, and empty.
  return reader.readSparseArray(
      MutableArrayRef(properties.operandSegmentSizes));
}
