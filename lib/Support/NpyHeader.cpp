//===- NpyHeader.cpp - Parser of .npy headers -----------------------------===//
//
// The header is the text of a Python dictionary. This accepts exactly the
// dictionaries that NumPy reads as a header: three keys, a type string, a
// truth value, a tuple of integers.
//
//===----------------------------------------------------------------------===//

#include "NpyHeader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kvq;
using kvq::detail::NpyHeader;
using namespace llvm;

/// The longest header accepted. Those of plain types need less than 2,000
/// bytes at 64 dimensions.
static constexpr uint64_t kMaxHeaderSize = 65536;

/// Returns the start of a text, printable, for a message.
static std::string excerpt(StringRef text) {
  constexpr size_t length = 32;
  std::string printed;
  raw_string_ostream os(printed);
  os << '"';
  os.write_escaped(text.take_front(length), /*UseHexEscapes=*/true);
  os << (text.size() > length ? "...\"" : "\"");
  return printed;
}

namespace {
class HeaderParser {
public:
  HeaderParser(StringRef text, StringRef name, bool allowLongSuffix)
      : text(text), rest(text), name(name), allowLongSuffix(allowLongSuffix) {}

  Error parse(NpyHeader &header);

private:
  Error fail(const Twine &what) const {
    return createStringError(errc::invalid_argument,
                             Twine(name) + ": in the .npy header: " + what);
  }
  /// An error at the current place.
  Error expected(const Twine &what) const {
    return fail("expected " + what + " at character " +
                Twine(text.size() - rest.size()) + ", found " +
                (rest.empty() ? "the end" : excerpt(rest)));
  }
  void skipSpace() { rest = rest.ltrim(" \t\r\n\f"); }
  bool consume(StringRef token) {
    skipSpace();
    return rest.consume_front(token);
  }
  Error parseString(StringRef what, StringRef &value);
  Error parseShape(SmallVectorImpl<int64_t> &shape);
  Error parseDescr(NpyHeader &header);

  StringRef text;
  StringRef rest;
  StringRef name;
  /// Python 2 wrote integers as "3L".
  bool allowLongSuffix;
};
} // namespace

Error HeaderParser::parseString(StringRef what, StringRef &value) {
  skipSpace();
  if (!rest.starts_with("'") && !rest.starts_with("\""))
    return expected(what);
  size_t end = rest.find(rest.front(), 1);
  value = rest.slice(1, end);
  if (end == StringRef::npos || value.find_first_of("\\\n") != StringRef::npos)
    return expected(Twine(what) + ", ended by a quote and without escapes,");
  rest = rest.drop_front(end + 1);
  return Error::success();
}

Error HeaderParser::parseShape(SmallVectorImpl<int64_t> &shape) {
  if (!consume("("))
    return expected("a tuple of integers");
  bool needsSeparator = false;
  while (!consume(")")) {
    if (needsSeparator && !consume(","))
      return expected("',' or ')'");
    if (needsSeparator && consume(")"))
      return Error::success();
    skipSpace();
    StringRef digits =
        rest.take_while([](char character) { return isDigit(character); });
    uint64_t size;
    if (digits.empty())
      return expected("a size that is not negative");
    // As in Python, no leading zeros.
    if (digits.size() > 1 && digits.front() == '0')
      return expected("a size without leading zeros");
    if (digits.getAsInteger(10, size) || size > INT64_MAX)
      return expected("a size below 2^63");
    if (shape.size() == NpyArray::kMaxRank)
      return fail("expected at most " + Twine(NpyArray::kMaxRank) +
                  " dimensions, found more");
    rest = rest.drop_front(digits.size());
    if (allowLongSuffix)
      rest.consume_front("L");
    shape.push_back(static_cast<int64_t>(size));
    // "(3)" is an integer in Python, not a tuple.
    if (shape.size() == 1 && !needsSeparator) {
      skipSpace();
      if (!rest.starts_with(","))
        return expected("',' after the first size of a tuple");
    }
    needsSeparator = true;
  }
  return Error::success();
}

/// Returns the kind of a NumPy type character if numbers of that size exist.
static std::optional<NpyKind> getKind(char code, uint64_t size) {
  auto isOneOf = [size](std::initializer_list<uint64_t> sizes) {
    return llvm::is_contained(sizes, size);
  };
  switch (code) {
  case 'b':
    return isOneOf({1}) ? std::optional(NpyKind::Bool) : std::nullopt;
  case 'i':
    return isOneOf({1, 2, 4, 8}) ? std::optional(NpyKind::Int) : std::nullopt;
  case 'u':
    return isOneOf({1, 2, 4, 8}) ? std::optional(NpyKind::UInt) : std::nullopt;
  case 'f':
    return isOneOf({1, 2, 4, 8, 16}) ? std::optional(NpyKind::Float)
                                     : std::nullopt;
  case 'c':
    return isOneOf({8, 16, 32}) ? std::optional(NpyKind::Complex)
                                : std::nullopt;
  case 'V':
    return size != 0 && size <= INT32_MAX ? std::optional(NpyKind::Raw)
                                          : std::nullopt;
  default:
    return std::nullopt;
  }
}

Error HeaderParser::parseDescr(NpyHeader &header) {
  skipSpace();
  if (rest.starts_with("[") || rest.starts_with("("))
    return fail("expected a plain element type, found a structured one: " +
                excerpt(rest));
  StringRef descr;
  if (Error error = parseString("a type string", descr))
    return error;

  StringRef code = descr;
  bool bigEndian = sys::IsBigEndianHost;
  if (code.consume_front("<"))
    bigEndian = false;
  else if (code.consume_front(">"))
    bigEndian = true;
  else if (!code.consume_front("|"))
    code.consume_front("=");

  uint64_t size = 0;
  std::optional<NpyKind> kind;
  StringRef digits = code.drop_front(code.empty() ? 0 : 1);
  if (!digits.empty() && all_of(digits, isDigit) &&
      !digits.getAsInteger(10, size))
    kind = getKind(code.front(), size);
  if (!kind)
    return fail("expected an element type b1, i1 to i8, u1 to u8, f1 to f16, "
                "c8 to c32 or V, found " +
                excerpt(descr));

  header.type = {*kind, static_cast<uint32_t>(size)};
  if (bigEndian != sys::IsBigEndianHost) {
    header.swapSize = header.type.size;
    if (*kind == NpyKind::Complex)
      header.swapSize /= 2;
    // NumPy's own void type has no byte order; ml_dtypes' types have at most
    // two bytes.
    if (*kind == NpyKind::Raw && size > 2)
      header.swapSize = 0;
  }
  return Error::success();
}

Error HeaderParser::parse(NpyHeader &header) {
  if (!consume("{"))
    return expected("'{'");
  bool hasDescr = false, hasOrder = false, hasShape = false;
  bool needsSeparator = false;
  while (!consume("}")) {
    if (needsSeparator) {
      if (!consume(","))
        return expected("',' or '}'");
      if (consume("}"))
        break;
    }
    needsSeparator = true;
    StringRef key;
    if (Error error = parseString("a key", key))
      return error;
    if (!consume(":"))
      return expected("':'");
    bool *seen = key == "descr"           ? &hasDescr
                 : key == "fortran_order" ? &hasOrder
                 : key == "shape"         ? &hasShape
                                          : nullptr;
    if (!seen)
      return fail("expected a key 'descr', 'fortran_order' or 'shape', found " +
                  excerpt(key));
    if (*seen)
      return fail("the key '" + key + "' appears twice");
    *seen = true;
    if (seen == &hasDescr) {
      if (Error error = parseDescr(header))
        return error;
    } else if (seen == &hasShape) {
      if (Error error = parseShape(header.shape))
        return error;
    } else if (consume("True")) {
      header.fortranOrder = true;
    } else if (!consume("False")) {
      return expected("True or False");
    }
  }
  for (auto [seen, key] : {std::pair(hasDescr, "descr"),
                           {hasOrder, "fortran_order"},
                           {hasShape, "shape"}})
    if (!seen)
      return fail(Twine("the key '") + key + "' is missing");
  skipSpace();
  if (!rest.empty())
    return expected("nothing but spaces after the dictionary");
  return Error::success();
}

Expected<NpyHeader> kvq::detail::parseNpyHeader(StringRef bytes,
                                                StringRef name) {
  auto fail = [&](const Twine &what) {
    return createStringError(errc::invalid_argument, Twine(name) + ": " + what);
  };
  constexpr StringLiteral magic("\x93NUMPY");
  if (!bytes.starts_with(magic))
    return fail("not a .npy file: expected the bytes \"\\x93NUMPY\" at its "
                "start, found " +
                (bytes.empty() ? "an empty file"
                               : excerpt(bytes.take_front(magic.size()))));
  if (bytes.size() < magic.size() + 2)
    return fail("truncated .npy file: no version");
  unsigned major = static_cast<uint8_t>(bytes[magic.size()]);
  unsigned minor = static_cast<uint8_t>(bytes[magic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0)
    return fail("expected version 1.0, 2.0 or 3.0 of the .npy format, found " +
                Twine(major) + "." + Twine(minor));

  StringRef rest = bytes.drop_front(magic.size() + 2);
  size_t lengthSize = major == 1 ? 2 : 4;
  if (rest.size() < lengthSize)
    return fail("truncated .npy file: no header length");
  uint64_t length = major == 1 ? support::endian::read16le(rest.data())
                               : support::endian::read32le(rest.data());
  rest = rest.drop_front(lengthSize);
  if (length > kMaxHeaderSize)
    return fail("expected a header of at most " + Twine(kMaxHeaderSize) +
                " bytes, found one of " + Twine(length));
  if (rest.size() < length)
    return fail("truncated .npy file: expected a header of " + Twine(length) +
                " bytes, found " + Twine(rest.size()));

  NpyHeader header;
  HeaderParser parser(rest.take_front(length), name,
                      /*allowLongSuffix=*/major < 3);
  if (Error error = parser.parse(header))
    return std::move(error);
  header.dataOffset = bytes.size() - rest.size() + length;
  return header;
}
