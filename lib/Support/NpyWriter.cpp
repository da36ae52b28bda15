//===- NpyWriter.cpp - Writing .npy files ---------------------------------===//

#include "kvq/Support/Npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cassert>

using namespace kvq;
using namespace llvm;

/// Returns the type string that NumPy, or ml_dtypes through NumPy, writes.
static std::string getDescr(NpyType type) {
  char code = '\0';
  switch (type.kind) {
  case NpyKind::Bool:
    code = 'b';
    break;
  case NpyKind::Int:
    code = 'i';
    break;
  case NpyKind::UInt:
    code = 'u';
    break;
  case NpyKind::Float:
    code = 'f';
    break;
  case NpyKind::Complex:
    code = 'c';
    break;
  case NpyKind::Raw:
    code = 'V';
    break;
  }
  bool hasOrder =
      type.size > 1 || type.kind == NpyKind::Raw || type.kind == NpyKind::Float;
  const char *order = !hasOrder ? "|" : sys::IsBigEndianHost ? ">" : "<";
  return formatv("{0}{1}{2}", order, code, type.size);
}

std::string kvq::makeNpyHeader(NpyType type, ArrayRef<int64_t> shape) {
  std::string dictionary =
      formatv("{{'descr': '{0}', 'fortran_order': False, 'shape': {1}, }",
              getDescr(type), kvq::toString(shape));
  // At most 64 sizes of 19 digits: version 1.0 always has room.
  assert(shape.size() <= NpyArray::kMaxRank && "too many dimensions");
  std::string header("\x93NUMPY\x01\x00", 8);
  // The data starts at a multiple of 64; the last byte before is a newline.
  size_t total = alignTo(header.size() + 2 + dictionary.size() + 1, 64);
  size_t length = total - header.size() - 2;
  char lengthBytes[2];
  support::endian::write16le(lengthBytes, static_cast<uint16_t>(length));
  header.append(lengthBytes, 2);
  header += dictionary;
  header.resize(total - 1, ' ');
  header += '\n';
  return header;
}

/// Writes to an open file; `path` is for messages.
static Error writeAll(int fd, bool shouldClose, StringRef path,
                      StringRef header, StringRef data) {
  raw_fd_ostream os(fd, shouldClose);
  os << header << data;
  os.flush();
  std::error_code error = os.error();
  // An error that nobody took is fatal in the destructor.
  os.clear_error();
  return error ? createFileError(path, error) : Error::success();
}

Expected<StagedNpy> StagedNpy::stage(StringRef path, NpyType type,
                                     ArrayRef<int64_t> shape, StringRef data) {
  std::optional<int64_t> elements = numNpyElements(type, shape);
  if (!elements || shape.size() > NpyArray::kMaxRank ||
      static_cast<uint64_t>(*elements) * type.size != data.size())
    return createFileError(
        path, createStringError(errc::invalid_argument,
                                "%zu bytes are no array of shape %s of %s",
                                data.size(), kvq::toString(shape).c_str(),
                                kvq::toString(type).c_str()));
  StagedNpy staged;
  staged.path = path.str();
  std::string header = makeNpyHeader(type, shape);

  sys::fs::file_status status;
  if (!sys::fs::status(path, status) &&
      status.type() != sys::fs::file_type::regular_file) {
    if (status.type() == sys::fs::file_type::directory_file)
      return createFileError(path, make_error_code(std::errc::is_a_directory));
    // Renaming a file over a device or a pipe would destroy it.
    staged.direct = header + data.str();
    return staged;
  }
  // The target of a link is replaced, not the link.
  SmallString<128> target;
  if (!sys::fs::real_path(path, target))
    staged.path = std::string(target);

  Expected<sys::fs::TempFile> file =
      sys::fs::TempFile::create(staged.path + ".tmp-%%%%%%%%");
  if (!file)
    return createFileError(path, file.takeError());
  staged.file.emplace(std::move(*file));
  if (Error error =
          writeAll(staged.file->FD, /*shouldClose=*/false, path, header, data))
    return std::move(error);
  return staged;
}

StagedNpy::StagedNpy(StagedNpy &&other)
    : path(std::move(other.path)), file(std::move(other.file)),
      direct(std::move(other.direct)) {
  other.file.reset();
}

StagedNpy::~StagedNpy() {
  if (file)
    consumeError(file->discard());
}

Error StagedNpy::commit() {
  if (file) {
    Error error = file->keep(path);
    // A failed rename has removed the temporary file already.
    file.reset();
    return error ? createFileError(path, std::move(error)) : Error::success();
  }
  int fd;
  if (std::error_code error = sys::fs::openFileForWrite(
          path, fd, sys::fs::CD_OpenExisting, sys::fs::OF_None))
    return createFileError(path, error);
  return writeAll(fd, /*shouldClose=*/true, path, direct, "");
}

Error kvq::writeNpy(StringRef path, NpyType type, ArrayRef<int64_t> shape,
                    StringRef data) {
  Expected<StagedNpy> staged = StagedNpy::stage(path, type, shape, data);
  if (!staged)
    return staged.takeError();
  return staged->commit();
}
