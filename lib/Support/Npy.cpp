//===- Npy.cpp - Arrays of .npy files -------------------------------------===//

#include "kvq/Support/Npy.h"
#include "NpyHeader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cstring>

using namespace kvq;
using namespace llvm;

std::string kvq::toString(NpyType type) {
  switch (type.kind) {
  case NpyKind::Bool:
    return "bool";
  case NpyKind::Int:
    return formatv("int{0}", type.size * 8);
  case NpyKind::UInt:
    return formatv("uint{0}", type.size * 8);
  case NpyKind::Float:
    // ml_dtypes writes float8_e5m2 so; it is the only one of this size.
    return type.size == 1 ? "f1" : formatv("float{0}", type.size * 8).str();
  case NpyKind::Complex:
    return formatv("complex{0}", type.size * 8);
  case NpyKind::Raw:
    return formatv("V{0}", type.size);
  }
  llvm_unreachable("not an NpyKind");
}

std::string kvq::toString(ArrayRef<int64_t> shape) {
  std::string text = "(";
  ListSeparator comma;
  for (int64_t size : shape) {
    text += StringRef(comma);
    text += size < 0 ? "?" : std::to_string(size);
  }
  text += shape.size() == 1 ? ",)" : ")";
  return text;
}

std::optional<int64_t> kvq::numNpyElements(NpyType type,
                                           ArrayRef<int64_t> shape) {
  int64_t bytes = type.size;
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size < 0 || MulOverflow(bytes, std::max<int64_t>(size, 1), bytes))
      return std::nullopt;
    elements *= size;
  }
  return elements;
}

Expected<NpyArray> NpyArray::zeros(NpyType type, ArrayRef<int64_t> shape) {
  std::optional<int64_t> elements = numNpyElements(type, shape);
  if (!elements)
    return createStringError(
        errc::file_too_large, "an array of shape %s and type %s is too large",
        kvq::toString(shape).c_str(), kvq::toString(type).c_str());
  NpyArray array(type, shape, *elements);
  // One allocation unit at least, so that an empty array has an address too.
  constexpr size_t alignment = 64;
  size_t size = alignTo(std::max<size_t>(array.sizeInBytes(), 1), alignment);
  array.bytes.reset(static_cast<char *>(std::aligned_alloc(alignment, size)));
  if (!array.bytes)
    return createStringError(errc::not_enough_memory,
                             "no memory for an array of %zu bytes", size);
  std::memset(array.bytes.get(), 0, size);
  return array;
}

/// Reverses the bytes of each run of `size` bytes.
static void swapRuns(char *data, size_t bytes, size_t size) {
  for (char *end = data + bytes; data != end; data += size)
    std::reverse(data, data + size);
}

/// Copies elements of `size` bytes from Fortran order to C order. Neither the
/// shape nor an element is empty.
static void copyFromFortranOrder(char *to, const char *from,
                                 ArrayRef<int64_t> shape, size_t size) {
  SmallVector<int64_t> strides(shape.size());
  int64_t total = static_cast<int64_t>(size);
  for (size_t i = 0, e = shape.size(); i != e; ++i) {
    strides[i] = total;
    total *= shape[i];
  }
  SmallVector<int64_t> index(shape.size(), 0);
  int64_t innermost = shape.back();
  int64_t stride = strides.back();
  for (const char *end = to + total; to != end;) {
    for (int64_t i = 0; i != innermost; ++i, to += size)
      std::memcpy(to, from + i * stride, size);
    for (size_t i = shape.size() - 1; i-- != 0;) {
      from += strides[i];
      if (++index[i] != shape[i])
        break;
      from -= strides[i] * shape[i];
      index[i] = 0;
    }
  }
}

Expected<NpyArray> kvq::parseNpy(StringRef bytes, StringRef name) {
  Expected<kvq::detail::NpyHeader> header =
      kvq::detail::parseNpyHeader(bytes, name);
  if (!header)
    return header.takeError();
  NpyType type = header->type;
  auto fail = [&](const Twine &what) {
    return createStringError(errc::invalid_argument, Twine(name) + ": " + what);
  };

  std::optional<int64_t> elements = numNpyElements(type, header->shape);
  if (!elements)
    return fail("shape " + kvq::toString(header->shape) + " of " +
                kvq::toString(type) + " has more than 2^63-1 bytes");
  uint64_t expected = static_cast<uint64_t>(*elements) * type.size;
  StringRef data = bytes.drop_front(header->dataOffset);
  if (data.size() != expected)
    return fail(formatv("{0} data: shape {1} of {2} has {3} bytes, found {4}",
                        data.size() < expected ? "truncated" : "too much",
                        kvq::toString(header->shape), kvq::toString(type),
                        expected, data.size())
                    .str());

  Expected<NpyArray> array = NpyArray::zeros(type, header->shape);
  if (!array)
    return fail(toString(array.takeError()));
  if (expected == 0)
    return array;
  if (header->fortranOrder && header->shape.size() > 1)
    copyFromFortranOrder(array->data(), data.data(), header->shape, type.size);
  else
    std::memcpy(array->data(), data.data(), expected);
  if (header->swapSize > 1)
    swapRuns(array->data(), expected, header->swapSize);
  if (type.kind == NpyKind::Bool &&
      any_of(array->rawBytes(), [](char byte) { return byte & ~1; }))
    return fail("an element of type bool is neither 0 nor 1");
  return array;
}

Expected<NpyArray> kvq::readNpy(StringRef path) {
  sys::fs::file_status status;
  if (std::error_code error = sys::fs::status(path, status))
    return createFileError(path, error);
  // A device may have no end.
  if (status.type() != sys::fs::file_type::regular_file &&
      status.type() != sys::fs::file_type::fifo_file)
    return createFileError(
        path, createStringError(
                  errc::invalid_argument, "expected a .npy file, found %s",
                  status.type() == sys::fs::file_type::directory_file
                      ? "a directory"
                      : "something that is no regular file"));
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createFileError(path, buffer.getError());
  return parseNpy((*buffer)->getBuffer(), path);
}
