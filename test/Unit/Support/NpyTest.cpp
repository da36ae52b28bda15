//===- NpyTest.cpp - Tests of reading and writing .npy files --------------===//

#include "kvq/Support/Npy.h"
#include "kvq/Support/NpyElement.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace kvq;
using llvm::StringRef;

namespace {

/// A file with the header as given, unpadded.
std::string makeFile(StringRef header, StringRef data, unsigned major = 1) {
  std::string file("\x93NUMPY", 6);
  file += static_cast<char>(major);
  file += '\0';
  for (unsigned i = 0; i != (major == 1 ? 2 : 4); ++i)
    file += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return file + header.str() + data.str();
}

std::string dict(StringRef descr, StringRef order, StringRef shape) {
  return ("{'descr': " + descr + ", 'fortran_order': " + order +
          ", 'shape': " + shape + ", }\n")
      .str();
}

std::string errorOf(StringRef file) {
  llvm::Expected<NpyArray> array = parseNpy(file, "x.npy");
  if (array)
    return "no error";
  std::string message = llvm::toString(array.takeError());
  EXPECT_TRUE(StringRef(message).starts_with("x.npy: ")) << message;
  return message;
}

void expectError(StringRef file, StringRef part) {
  std::string message = errorOf(file);
  EXPECT_TRUE(StringRef(message).contains(part))
      << message << "\n  lacks: " << part.str();
}

NpyArray parse(StringRef file) {
  llvm::Expected<NpyArray> array = parseNpy(file, "x.npy");
  if (!array) {
    ADD_FAILURE() << llvm::toString(array.takeError());
    return llvm::cantFail(NpyArray::zeros({NpyKind::Raw, 1}, {0}));
  }
  return std::move(*array);
}

constexpr StringRef bytes6("\x01\x02\x03\x04\x05\x06", 6);

TEST(Npy, ReadsEachVersion) {
  for (unsigned major : {1, 2, 3}) {
    NpyArray array =
        parse(makeFile(dict("'|u1'", "False", "(2, 3)"), bytes6, major));
    EXPECT_EQ(array.type(), (NpyType{NpyKind::UInt, 1}));
    EXPECT_EQ(array.shape(), llvm::ArrayRef<int64_t>({2, 3}));
    EXPECT_EQ(array.rawBytes(), bytes6);
  }
  for (unsigned major : {0, 4, 255})
    expectError(makeFile(dict("'|u1'", "False", "(2, 3)"), bytes6, major),
                "expected version 1.0, 2.0 or 3.0");
  std::string minor = makeFile(dict("'|u1'", "False", "(6,)"), bytes6);
  minor[7] = 1;
  expectError(minor, "found 1.1");
}

TEST(Npy, ReadsTypes) {
  struct Case {
    const char *descr;
    NpyType type;
    const char *name;
  };
  for (const Case &c : std::initializer_list<Case>{
           {"'|b1'", {NpyKind::Bool, 1}, "bool"},
           {"'|i1'", {NpyKind::Int, 1}, "int8"},
           {"'<i2'", {NpyKind::Int, 2}, "int16"},
           {"'=i4'", {NpyKind::Int, 4}, "int32"},
           {"'i8'", {NpyKind::Int, 8}, "int64"},
           {"\"<u8\"", {NpyKind::UInt, 8}, "uint64"},
           {"'<f1'", {NpyKind::Float, 1}, "f1"},
           {"'<f2'", {NpyKind::Float, 2}, "float16"},
           {"'<f8'", {NpyKind::Float, 8}, "float64"},
           {"'<f16'", {NpyKind::Float, 16}, "float128"},
           {"'<c8'", {NpyKind::Complex, 8}, "complex64"},
           {"'<c32'", {NpyKind::Complex, 32}, "complex256"},
           {"'<V1'", {NpyKind::Raw, 1}, "V1"},
           {"'|V7'", {NpyKind::Raw, 7}, "V7"}}) {
    NpyArray array = parse(
        makeFile(dict(c.descr, "False", "()"), std::string(c.type.size, '\1')));
    EXPECT_EQ(array.type(), c.type) << c.descr;
    EXPECT_EQ(toString(array.type()), c.name);
    EXPECT_EQ(array.shape().size(), 0u);
    EXPECT_EQ(array.numElements(), 1);
  }
  for (const char *descr :
       {"'<i3'",     "'<i16'",         "'|b2'",
        "'<f0'",     "'<f32'",         "'<c4'",
        "'|V0'",     "'<V2147483648'", "'<V99999999999999999999'",
        "'|S3'",     "'<U4'",          "'|O'",
        "'<M8[ns]'", "'<m8[s]'",       "''",
        "'<'",       "'<i'",           "'<<i4'",
        "'<i4 '",    "'<i-4'",         "'<i4,<i4'"})
    expectError(makeFile(dict(descr, "False", "()"), "\1"),
                "expected an element type");
  expectError(makeFile(dict("[('a', '<i4')]", "False", "()"), "\1"),
              "found a structured one: \"[('a', '<i4')]");
  expectError(makeFile(dict("('<i4', (2,))", "False", "()"), "\1"),
              "found a structured one");
  expectError(makeFile(dict("'|b1'", "False", "()"), "\2"), "neither 0 nor 1");
}

TEST(Npy, ConvertsByteOrder) {
  EXPECT_EQ(parse(makeFile(dict("'>u2'", "False", "(3,)"), bytes6)).rawBytes(),
            "\x02\x01\x04\x03\x06\x05");
  EXPECT_EQ(
      parse(makeFile(dict("'>c8'", "False", "()"), "abcdefgh")).rawBytes(),
      "dcbahgfe");
  EXPECT_EQ(parse(makeFile(dict("'>V2'", "False", "(1,)"), "ab")).rawBytes(),
            "ba");
  EXPECT_EQ(parse(makeFile(dict("'>V3'", "False", "(1,)"), "abc")).rawBytes(),
            "abc");
  EXPECT_EQ(parse(makeFile(dict("'|V2'", "False", "(1,)"), "ab")).rawBytes(),
            "ab");
}

TEST(Npy, ConvertsFortranOrder) {
  // Element (i, j, k) of shape (2, 3, 2) is at i + 2j + 6k in the file.
  EXPECT_EQ(parse(makeFile(dict("'|u1'", "True", "(2, 3, 2)"), "abcdefghijkl"))
                .rawBytes(),
            "agciekbhdjfl");
  EXPECT_EQ(
      parse(makeFile(dict("'>u2'", "True", "(2, 2)"), "abcdefgh")).rawBytes(),
      "bafedchg");
  EXPECT_EQ(parse(makeFile(dict("'|u1'", "True", "(3,)"), "abc")).rawBytes(),
            "abc");
  EXPECT_EQ(parse(makeFile(dict("'|u1'", "True", "(2, 0)"), "")).numElements(),
            0);
  EXPECT_EQ(
      parse(makeFile(dict("'|u1'", "True", "(1, 1, 5)"), "abcde")).rawBytes(),
      "abcde");
}

TEST(Npy, ReadsHeadersAsPythonDoes) {
  for (const char *header :
       {"{'descr':'|u1','fortran_order':False,'shape':(1,)}",
        " { \"shape\" : ( 1 , ) , 'fortran_order' : False ,\n"
        " 'descr' : '|u1' , } \n\n",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1L,), }"})
    EXPECT_EQ(parse(makeFile(header, "z")).rawBytes(), "z");
  expectError(makeFile(dict("'|u1'", "False", "(1L,)"), "z", 3), "found \"L,)");
}

TEST(Npy, RejectsMalformedHeaders) {
  struct Case {
    const char *header;
    const char *part;
  };
  for (const Case &c : std::initializer_list<Case>{
           {"", "expected '{' at character 0, found the end"},
           {"[]", "expected '{'"},
           {"{}", "the key 'descr' is missing"},
           {"{'descr': '|u1', 'shape': (1,)}",
            "the key 'fortran_order' is missing"},
           {"{'descr': '|u1', 'fortran_order': False}",
            "the key 'shape' is missing"},
           {"{'descr': '|u1', 'descr': '|u1'}", "appears twice"},
           {"{'extra': 1}", "found \"extra\""},
           {"{'descr' '|u1'}", "expected ':'"},
           {"{'descr': '|u1' 'shape': (1,)}", "expected ',' or '}'"},
           {"{'descr': 5}", "expected a type string"},
           {"{'descr': '|u1", "expected a type string, ended by a quote"},
           {"{'desc\\x72': '|u1'}", "without escapes"},
           {"{'fortran_order': 0}", "expected True or False"},
           {"{'shape': 1}", "expected a tuple"},
           {"{'shape': [1]}", "expected a tuple"},
           {"{'shape': (1)}", "expected ',' after the first size"},
           {"{'shape': (-1,)}", "not negative"},
           {"{'shape': (,)}", "not negative"},
           {"{'shape': (1.5,)}", "',' after the first size"},
           {"{'shape': (1, 2", "expected ',' or ')'"},
           {"{'shape': (01,)}", "leading zeros"},
           {"{'shape': (9223372036854775808,)}", "below 2^63"},
           {"{'shape': (99999999999999999999999,)}", "below 2^63"}})
    expectError(makeFile(c.header, ""), c.part);
  expectError(makeFile(dict("'|u1'", "False", "(1,)") + "x", "z"),
              "nothing but spaces after the dictionary");
  expectError(
      makeFile(dict("'|u1'", "False", "(1,)") + std::string(1, '\0'), "z"),
      "nothing but spaces");
}

TEST(Npy, BoundsRankAndSize) {
  std::string sizes;
  for (int i = 0; i != 64; ++i)
    sizes += "1, ";
  EXPECT_EQ(parse(makeFile(dict("'|u1'", "False", "(" + sizes + ")"), "z"))
                .shape()
                .size(),
            64u);
  expectError(makeFile(dict("'|u1'", "False", "(" + sizes + "1)"), "z"),
              "at most 64 dimensions");
  // 2^62 elements of 2 bytes, and the same hidden behind an empty dimension.
  expectError(makeFile(dict("'<u2'", "False", "(4611686018427387904,)"), ""),
              "more than 2^63-1 bytes");
  expectError(makeFile(dict("'<u2'", "False", "(0, 4611686018427387904)"), ""),
              "more than 2^63-1 bytes");
  expectError(makeFile(dict("'|u1'", "False", "(4294967296, 4294967296)"), ""),
              "more than 2^63-1 bytes");
  // It fits, but is not there: nothing may be allocated for it.
  expectError(makeFile(dict("'|u1'", "False", "(9223372036854775807,)"), "z"),
              "truncated data: shape (9223372036854775807,) of uint8 has "
              "9223372036854775807 bytes, found 1");
  expectError(makeFile(dict("'|u1'", "False", "(2,)"), "abc"),
              "too much data: shape (2,) of uint8 has 2 bytes, found 3");
  std::string longHeader = dict("'|u1'", "False", "(1,)");
  longHeader.resize(65537, ' ');
  expectError(makeFile(longHeader, "z", 2), "at most 65536 bytes");
  longHeader.resize(65536);
  EXPECT_EQ(parse(makeFile(longHeader, "z", 2)).rawBytes(), "z");
}

TEST(Npy, RejectsEveryTruncation) {
  std::string file = makeFile(dict("'<u2'", "False", "(3,)"), bytes6, 2);
  for (size_t length = 0; length != file.size(); ++length)
    EXPECT_NE(errorOf(StringRef(file).take_front(length)), "no error")
        << length;
  parse(file);
  expectError("", "found an empty file");
  expectError("PK\x03\x04 a zip archive", "not a .npy file");
}

TEST(Npy, WritesWhatNumPyWrites) {
  // numpy.save(f, numpy.zeros((2, 3), "int32")), NumPy 2.4.
  std::string expected("\x93NUMPY\x01\x00v\x00", 10);
  expected += "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }";
  expected.resize(127, ' ');
  expected += '\n';
  EXPECT_EQ(makeNpyHeader({NpyKind::Int, 4}, {2, 3}), expected);
  for (auto [type, descr] : {std::pair(NpyType{NpyKind::UInt, 1}, "'|u1'"),
                             {NpyType{NpyKind::Bool, 1}, "'|b1'"},
                             {NpyType{NpyKind::Raw, 2}, "'<V2'"},
                             {NpyType{NpyKind::Float, 1}, "'<f1'"}})
    EXPECT_TRUE(StringRef(makeNpyHeader(type, {})).contains(descr)) << descr;
  llvm::SmallVector<int64_t> longest(64, INT64_C(1) << 62);
  std::string header = makeNpyHeader({NpyKind::UInt, 1}, longest);
  EXPECT_EQ(header.size() % 64, 0u);
}

struct TempDir {
  TempDir() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("kvq-npy", path));
  }
  ~TempDir() { llvm::sys::fs::remove_directories(path); }
  std::string operator/(StringRef name) const {
    llvm::SmallString<128> full(path);
    llvm::sys::path::append(full, name);
    return std::string(full);
  }
  unsigned count() const {
    std::error_code error;
    unsigned files = 0;
    for (llvm::sys::fs::directory_iterator it(path, error), end;
         !error && it != end; it.increment(error))
      ++files;
    return files;
  }
  llvm::SmallString<128> path;
};

TEST(Npy, WritesAllOrNothing) {
  TempDir dir;
  std::string path = dir / "a.npy";
  NpyType u8{NpyKind::UInt, 1};
  {
    llvm::Expected<StagedNpy> staged = StagedNpy::stage(path, u8, {3}, "abc");
    ASSERT_TRUE(static_cast<bool>(staged));
    EXPECT_FALSE(llvm::sys::fs::exists(path));
    EXPECT_EQ(dir.count(), 1u);
  }
  EXPECT_EQ(dir.count(), 0u) << "a file that was not committed stays";

  ASSERT_FALSE(writeNpy(path, u8, {3}, "abc"));
  ASSERT_FALSE(writeNpy(path, u8, {2}, "xy"));
  EXPECT_EQ(dir.count(), 1u);
  NpyArray array = llvm::cantFail(readNpy(path));
  EXPECT_EQ(array.rawBytes(), "xy");

  EXPECT_EQ(llvm::toString(writeNpy(path, u8, {3}, "ab")),
            "'" + path + "': 2 bytes are no array of shape (3,) of uint8");
  std::string lost = dir / "no/such/a.npy";
  std::string message = llvm::toString(writeNpy(lost, u8, {1}, "a"));
  EXPECT_TRUE(StringRef(message).contains(lost)) << message;
  EXPECT_TRUE(llvm::errorToBool(writeNpy(dir.path, u8, {1}, "a")));
  EXPECT_EQ(llvm::cantFail(readNpy(path)).rawBytes(), "xy");
  EXPECT_EQ(dir.count(), 1u);
}

TEST(Npy, WritesThroughLinksAndToDevices) {
  TempDir dir;
  NpyType u8{NpyKind::UInt, 1};
  std::string path = dir / "a.npy", link = dir / "link.npy";
  ASSERT_FALSE(writeNpy(path, u8, {1}, "a"));
  ASSERT_FALSE(llvm::sys::fs::create_link(path, link));
  ASSERT_FALSE(writeNpy(link, u8, {1}, "b"));
  EXPECT_TRUE(llvm::sys::fs::is_symlink_file(link));
  EXPECT_EQ(llvm::cantFail(readNpy(path)).rawBytes(), "b");
  // Must not be replaced by a file, which root could do.
  ASSERT_FALSE(writeNpy("/dev/null", u8, {1}, "a"));
  EXPECT_FALSE(llvm::sys::fs::is_regular_file("/dev/null"));
  EXPECT_TRUE(llvm::errorToBool(writeNpy("/dev/full", u8, {1}, "a")));
}

TEST(Npy, ReportsUnreadableFiles) {
  TempDir dir;
  for (const std::string &path :
       {dir / "missing.npy", std::string(dir.path), std::string("/dev/zero")}) {
    llvm::Expected<NpyArray> array = readNpy(path);
    ASSERT_FALSE(static_cast<bool>(array)) << path;
    std::string message = llvm::toString(array.takeError());
    EXPECT_TRUE(StringRef(message).contains(path)) << message;
  }
}

TEST(NpyElement, SaysWhichFilesCanHoldAnElement) {
  const NpyType u8{NpyKind::UInt, 1}, u16{NpyKind::UInt, 2},
      i8{NpyKind::Int, 1}, i16{NpyKind::Int, 2}, f1{NpyKind::Float, 1},
      f2{NpyKind::Float, 2}, v1{NpyKind::Raw, 1}, v2{NpyKind::Raw, 2};
  EXPECT_TRUE(canHold(v2, NpyElement::BFloat16));
  EXPECT_TRUE(canHold(u16, NpyElement::BFloat16));
  EXPECT_FALSE(canHold(i16, NpyElement::BFloat16));
  EXPECT_FALSE(canHold(f2, NpyElement::BFloat16));
  EXPECT_FALSE(canHold(v1, NpyElement::BFloat16));
  EXPECT_TRUE(canHold(f2, NpyElement::Float16));
  EXPECT_FALSE(canHold(v2, NpyElement::Float16));
  EXPECT_FALSE(canHold(u16, NpyElement::Float16));
  EXPECT_TRUE(canHold(v1, NpyElement::Float8E4M3FN));
  EXPECT_TRUE(canHold(u8, NpyElement::Float8E4M3FN));
  EXPECT_FALSE(canHold(i8, NpyElement::Float8E4M3FN));
  EXPECT_FALSE(canHold(f1, NpyElement::Float8E4M3FN));
  EXPECT_TRUE(canHold(f1, NpyElement::Float8E5M2));
  EXPECT_TRUE(canHold(v1, NpyElement::Float8E5M2));
  // One 4-bit element per byte, as ml_dtypes has it: uint8 is something else.
  EXPECT_TRUE(canHold(v1, NpyElement::Float4E2M1FN));
  EXPECT_FALSE(canHold(u8, NpyElement::Float4E2M1FN));
  EXPECT_TRUE(canHold(i8, NpyElement::Int8));
  EXPECT_FALSE(canHold(u8, NpyElement::Int8));
  EXPECT_EQ(getName(NpyElement::UInt1), "uint1");
  EXPECT_EQ(getBitWidth(NpyElement::UInt1), 1u);
  EXPECT_EQ(getName(NpyElement::Float8E8M0FNU), "float8_e8m0fnu");
}

} // namespace
