//===- Arguments.cpp - Kernel arguments of the command line ---------------===//

#include "Arguments.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq;
using namespace kvq::emu;
using llvm::StringRef;

const char *const kvq::emu::argumentHelp =
    "One --arg for each parameter of the kernel, in order:\n"
    "  u8:N s8:N u16:N s16:N u32:N s32:N u64:N s64:N\n"
    "                       an integer, decimal or 0x..\n"
    "  f16:X bf16:X f32:X f64:X\n"
    "                       a float, rounded to nearest\n"
    "  hex:0123..           bytes of a parameter that is passed by value\n"
    "  in:FILE.npy          the address of a copy of the array\n"
    "  inout:FILE.npy       the same, saved to the file when the kernel is "
    "done\n"
    "  out:FILE.npy         the address of uninitialized memory, saved to the\n"
    "                       file; type and shape are those of the file there "
    "is\n"
    "  out:FILE.npy:TYPE[AxB..]\n"
    "                       the same with a type (u8 .. s64, f16, f32, f64) "
    "and\n"
    "                       a shape\n"
    "  zeros:BYTES          the address of zeroed memory\n"
    "  ref:N or ref:N+BYTES the address of the buffer of argument N (from 0)\n";

static llvm::Error makeError(StringRef text, const llvm::Twine &message) {
  return llvm::createStringError(
      llvm::formatv("--arg={0}: {1}", text, message).str());
}

static std::vector<uint8_t> toBytes(uint64_t bits, unsigned size) {
  std::vector<uint8_t> bytes(size);
  for (unsigned i = 0; i < size; ++i)
    bytes[i] = bits >> (8 * i);
  return bytes;
}

static llvm::Error parseInteger(StringRef text, StringRef value, bool isSigned,
                                unsigned bits, Argument &argument) {
  uint64_t result;
  if (isSigned) {
    int64_t number;
    if (value.getAsInteger(0, number))
      return makeError(text, "expected an integer");
    if (!llvm::isIntN(bits, number))
      return makeError(text, llvm::formatv("does not fit {0} bits", bits));
    result = number;
  } else {
    if (value.getAsInteger(0, result))
      return makeError(text, "expected an integer that is not negative");
    if (!llvm::isUIntN(bits, result))
      return makeError(text, llvm::formatv("does not fit {0} bits", bits));
  }
  argument.bytes = toBytes(result, bits / 8);
  return llvm::Error::success();
}

static llvm::Error parseFloat(StringRef text, StringRef value,
                              const llvm::fltSemantics &semantics,
                              Argument &argument) {
  llvm::APFloat number(semantics);
  if (value.empty())
    return makeError(text, "expected a number");
  auto status =
      number.convertFromString(value, llvm::APFloat::rmNearestTiesToEven);
  if (!status) {
    llvm::consumeError(status.takeError());
    return makeError(text, "expected a number such as 1.5, 1e-3, inf or nan");
  }
  argument.bytes = toBytes(number.bitcastToAPInt().getZExtValue(),
                           number.bitcastToAPInt().getBitWidth() / 8);
  return llvm::Error::success();
}

/// `f32[128x16]`.
static llvm::Error parseShape(StringRef text, StringRef shape,
                              Argument &argument) {
  auto [name, dims] = shape.drop_back().split('[');
  auto type = llvm::StringSwitch<std::optional<NpyType>>(name)
                  .Case("u8", NpyType{NpyKind::UInt, 1})
                  .Case("s8", NpyType{NpyKind::Int, 1})
                  .Case("u16", NpyType{NpyKind::UInt, 2})
                  .Case("s16", NpyType{NpyKind::Int, 2})
                  .Case("u32", NpyType{NpyKind::UInt, 4})
                  .Case("s32", NpyType{NpyKind::Int, 4})
                  .Case("u64", NpyType{NpyKind::UInt, 8})
                  .Case("s64", NpyType{NpyKind::Int, 8})
                  .Case("f16", NpyType{NpyKind::Float, 2})
                  .Case("f32", NpyType{NpyKind::Float, 4})
                  .Case("f64", NpyType{NpyKind::Float, 8})
                  .Default(std::nullopt);
  if (!type)
    return makeError(text, llvm::formatv("unknown type '{0}'; u8 to s64, f16, "
                                         "f32 and f64 are accepted",
                                         name));
  llvm::SmallVector<StringRef> words;
  llvm::SmallVector<int64_t> sizes;
  if (!dims.empty())
    dims.split(words, 'x');
  for (StringRef word : words) {
    int64_t size;
    if (word.getAsInteger(10, size) || size < 0)
      return makeError(text, llvm::formatv("'{0}' is no size", word));
    sizes.push_back(size);
  }
  llvm::Expected<NpyArray> array = NpyArray::zeros(*type, sizes);
  if (!array)
    return makeError(text, toString(array.takeError()));
  argument.array.emplace(std::move(*array));
  return llvm::Error::success();
}

static llvm::Error parseFile(StringRef text, StringRef kind, StringRef value,
                             Argument &argument) {
  argument.kind = Argument::Buffer;
  argument.isInput = kind != "out";
  StringRef path = value;
  if (kind == "out" && value.ends_with("]")) {
    auto [file, shape] = value.rsplit(':');
    path = file;
    if (llvm::Error error = parseShape(text, shape, argument))
      return error;
  }
  if (path.empty())
    return makeError(text, "expected a file's name");
  if (!argument.array) {
    llvm::Expected<NpyArray> array = readNpy(path);
    if (!array)
      return makeError(
          text, toString(array.takeError()) +
                    (kind == "out" ? "; a file that does not exist yet needs "
                                     "a type and shape, FILE.npy:f32[4x8]"
                                   : ""));
    argument.array.emplace(std::move(*array));
  }
  argument.bufferBytes = argument.array->sizeInBytes();
  if (kind != "in")
    argument.outputPath = path.str();
  return llvm::Error::success();
}

llvm::Expected<Argument> kvq::emu::parseArgument(StringRef text) {
  Argument argument;
  argument.text = text.str();
  auto [kind, value] = text.split(':');
  unsigned bits = 0;
  if ((kind.starts_with("u") || kind.starts_with("s")) &&
      !kind.drop_front().getAsInteger(10, bits) &&
      (bits == 8 || bits == 16 || bits == 32 || bits == 64)) {
    if (llvm::Error error =
            parseInteger(text, value, kind.starts_with("s"), bits, argument))
      return std::move(error);
    return argument;
  }
  const llvm::fltSemantics *semantics =
      llvm::StringSwitch<const llvm::fltSemantics *>(kind)
          .Case("f16", &llvm::APFloat::IEEEhalf())
          .Case("bf16", &llvm::APFloat::BFloat())
          .Case("f32", &llvm::APFloat::IEEEsingle())
          .Case("f64", &llvm::APFloat::IEEEdouble())
          .Default(nullptr);
  if (semantics) {
    if (llvm::Error error = parseFloat(text, value, *semantics, argument))
      return std::move(error);
    return argument;
  }
  if (kind == "in" || kind == "out" || kind == "inout") {
    if (llvm::Error error = parseFile(text, kind, value, argument))
      return std::move(error);
    return std::move(argument);
  }
  if (kind == "hex") {
    std::string bytes;
    if (value.size() % 2 || !llvm::tryGetFromHex(value, bytes))
      return makeError(text, "expected pairs of hexadecimal digits");
    argument.bytes.assign(bytes.begin(), bytes.end());
    return argument;
  }
  if (kind == "zeros") {
    argument.kind = Argument::Buffer;
    argument.isZero = true;
    if (value.getAsInteger(0, argument.bufferBytes))
      return makeError(text, "expected a number of bytes");
    return argument;
  }
  if (kind == "ref") {
    argument.kind = Argument::Reference;
    auto [target, offset] = value.split('+');
    if (target.getAsInteger(10, argument.target) ||
        (!offset.empty() && offset.getAsInteger(0, argument.offset)))
      return makeError(text, "expected the number of another argument, and "
                             "'+' and bytes where wanted");
    return argument;
  }
  return makeError(text, "unknown form; u32:5, f32:1.5, in:FILE.npy, "
                         "out:FILE.npy, inout:FILE.npy, zeros:BYTES, hex:.. "
                         "and ref:N are accepted (see --help)");
}

static std::string describeParameters(const KernelInfo &kernel) {
  std::string result;
  for (const KernelParameter &parameter : kernel.parameters)
    result += llvm::formatv("{0}{1} ({2} bytes)", result.empty() ? "" : ", ",
                            parameter.name, parameter.size);
  return result.empty() ? "none" : result;
}

llvm::Expected<std::vector<uint8_t>>
kvq::emu::layOutArguments(Device &device, const KernelInfo &kernel,
                          llvm::MutableArrayRef<Argument> arguments) {
  if (arguments.size() != kernel.parameters.size())
    return llvm::createStringError(
        llvm::formatv("kernel '{0}' has {1} parameters, but {2} --arg are "
                      "given; its parameters are: {3}",
                      kernel.name, kernel.parameters.size(), arguments.size(),
                      describeParameters(kernel))
            .str());
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    if (argument.kind != Argument::Buffer)
      continue;
    // An empty array still has an address that is its own.
    llvm::Expected<uint64_t> address =
        device.allocate(std::max<uint64_t>(argument.bufferBytes, 1),
                        llvm::formatv("argument {0}", index).str());
    if (!address)
      return makeError(argument.text, toString(address.takeError()));
    argument.address = *address;
    llvm::Error error = llvm::Error::success();
    if (argument.isZero)
      error = device.fill(*address, 0, argument.bufferBytes);
    else if (argument.isInput)
      error = device.copyToDevice(*address, argument.array->data(),
                                  argument.bufferBytes);
    if (error)
      return makeError(argument.text, toString(std::move(error)));
  }
  std::vector<uint8_t> blob(kernel.argumentBytes);
  for (auto [argument, parameter] :
       llvm::zip_equal(arguments, kernel.parameters)) {
    uint64_t address = argument.address;
    if (argument.kind == Argument::Reference) {
      if (argument.target >= arguments.size() ||
          arguments[argument.target].kind != Argument::Buffer)
        return makeError(argument.text, "the argument meant has no buffer");
      address = arguments[argument.target].address + argument.offset;
    }
    if (argument.kind != Argument::Value)
      argument.bytes = toBytes(address, 8);
    if (argument.bytes.size() != parameter.size)
      return makeError(argument.text,
                       llvm::formatv("has {0} bytes, but parameter '{1}' has "
                                     "{2}",
                                     argument.bytes.size(), parameter.name,
                                     parameter.size));
    llvm::copy(argument.bytes, blob.begin() + parameter.offset);
  }
  return blob;
}

llvm::Error kvq::emu::saveOutputs(Device &device,
                                  llvm::ArrayRef<Argument> arguments) {
  std::vector<StagedNpy> staged;
  for (const Argument &argument : arguments) {
    if (argument.outputPath.empty())
      continue;
    std::vector<char> data(argument.bufferBytes);
    if (llvm::Error error = device.copyFromDevice(data.data(), argument.address,
                                                  argument.bufferBytes))
      return error;
    llvm::Expected<StagedNpy> file = StagedNpy::stage(
        argument.outputPath, argument.array->type(), argument.array->shape(),
        StringRef(data.data(), data.size()));
    if (!file)
      return file.takeError();
    staged.push_back(std::move(*file));
  }
  for (StagedNpy &file : staged)
    if (llvm::Error error = file.commit())
      return error;
  return llvm::Error::success();
}
