//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
//
// Reading and writing arrays in NumPy's file format, versions 1.0, 2.0 and
// 3.0 (numpy.lib.format documents it). An array in memory is always in C order
// and in the byte order of this machine; files may differ in both.
//
// What is an error: object, string, date and structured element types, and
// bytes after the array's data.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_SUPPORT_NPY_H
#define KVQ_SUPPORT_NPY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

namespace kvq {

/// The kind of an element as a .npy header names it. `Raw` is a run of bytes
/// without a meaning of its own ("V2"): ml_dtypes writes all of its types so
/// but float8_e5m2, which it writes as "f1" (see NpyElement.h).
enum class NpyKind : uint8_t { Bool, Int, UInt, Float, Complex, Raw };

/// An element type: a kind, and the size of one element in bytes.
struct NpyType {
  NpyKind kind;
  uint32_t size;

  bool operator==(const NpyType &other) const {
    return kind == other.kind && size == other.size;
  }
  bool operator!=(const NpyType &other) const { return !(*this == other); }
};

/// Returns NumPy's name of a type: "float32", "uint8", "bool", "V2".
std::string toString(NpyType type);

/// Returns a shape as Python prints it: "()", "(3,)", "(2, 3)". Negative
/// sizes, which mean that any size will do, print as "?".
std::string toString(llvm::ArrayRef<int64_t> shape);

/// An array in C order and native byte order, aligned to 64 bytes.
class NpyArray {
public:
  /// The largest number of dimensions, which is NumPy's.
  static constexpr unsigned kMaxRank = 64;

  /// Makes an array of zero bytes. Fails if a size is negative, the size in
  /// bytes overflows, or there is not enough memory.
  static llvm::Expected<NpyArray> zeros(NpyType type,
                                        llvm::ArrayRef<int64_t> shape);

  NpyType type() const { return elementType; }
  llvm::ArrayRef<int64_t> shape() const { return sizes; }
  int64_t numElements() const { return elements; }
  size_t sizeInBytes() const {
    return static_cast<size_t>(elements) * elementType.size;
  }
  char *data() { return bytes.get(); }
  const char *data() const { return bytes.get(); }
  llvm::StringRef rawBytes() const { return {bytes.get(), sizeInBytes()}; }

private:
  struct Free {
    void operator()(char *pointer) const { std::free(pointer); }
  };

  NpyArray(NpyType type, llvm::ArrayRef<int64_t> shape, int64_t elements)
      : elementType(type), sizes(shape), elements(elements) {}

  NpyType elementType;
  llvm::SmallVector<int64_t> sizes;
  int64_t elements;
  std::unique_ptr<char, Free> bytes;
};

/// Returns the number of elements of a shape, or nothing if a size is
/// negative or an array of this shape and type has more than 2^63-1 bytes
/// (counting sizes of zero as one, as NumPy does).
std::optional<int64_t> numNpyElements(NpyType type,
                                      llvm::ArrayRef<int64_t> shape);

/// Reads an array from the bytes of a .npy file. `name` is what errors call
/// the file.
llvm::Expected<NpyArray> parseNpy(llvm::StringRef bytes, llvm::StringRef name);

/// Reads an array from a file or a pipe.
llvm::Expected<NpyArray> readNpy(llvm::StringRef path);

/// Returns the header that NumPy writes for an array in C order and this
/// machine's byte order, in the oldest version that has room for it.
std::string makeNpyHeader(NpyType type, llvm::ArrayRef<int64_t> shape);

/// A file that is written but does not have its name yet, so that a program
/// can write several files and then show all of them or none.
class StagedNpy {
public:
  /// Writes the array to a temporary file beside `path`; a pipe or device is
  /// written by `commit` instead. `data` holds the elements in C order.
  static llvm::Expected<StagedNpy> stage(llvm::StringRef path, NpyType type,
                                         llvm::ArrayRef<int64_t> shape,
                                         llvm::StringRef data);
  StagedNpy(StagedNpy &&other);
  StagedNpy &operator=(StagedNpy &&) = delete;

  /// Removes the temporary file if the array was not committed.
  ~StagedNpy();

  /// Gives the file its name, replacing what had it.
  llvm::Error commit();

private:
  StagedNpy() = default;

  std::string path;
  std::optional<llvm::sys::fs::TempFile> file;
  /// What a target that is no regular file receives on commit.
  std::string direct;
};

/// Writes an array to a file: either all of it or nothing.
llvm::Error writeNpy(llvm::StringRef path, NpyType type,
                     llvm::ArrayRef<int64_t> shape, llvm::StringRef data);

} // namespace kvq

#endif // KVQ_SUPPORT_NPY_H
