//===- HostBufferTest.cpp - Tests of the memory behind arguments ----------===//

#include "kvq/ExecutionEngine/HostBuffer.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace kvq;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

class HostBufferTest : public ::testing::Test {
protected:
  HostType getType(StringRef text) {
    return llvm::cantFail(HostType::get(mlir::parseType(text, &context)));
  }
  static NpyArray makeArray(NpyType type, ArrayRef<int64_t> shape,
                            StringRef bytes) {
    NpyArray array = llvm::cantFail(NpyArray::zeros(type, shape));
    EXPECT_EQ(array.sizeInBytes(), bytes.size());
    std::memcpy(array.data(), bytes.data(), bytes.size());
    return array;
  }
  std::string getError(StringRef type, NpyType arrayType,
                       ArrayRef<int64_t> shape) {
    auto buffer = HostBuffer::create(
        getType(type), llvm::cantFail(NpyArray::zeros(arrayType, shape)));
    return buffer ? "no error" : llvm::toString(buffer.takeError());
  }
  static std::string getBytes(const HostBuffer &buffer, size_t from,
                              size_t count) {
    return std::string(
        reinterpret_cast<const char *>(buffer.descriptor()[1]) + from, count);
  }

  mlir::MLIRContext context;
  const NpyType u8{NpyKind::UInt, 1};
  const NpyType v1{NpyKind::Raw, 1};
};

TEST_F(HostBufferTest, DenseDescriptor) {
  HostBuffer buffer = llvm::cantFail(HostBuffer::create(
      getType("memref<?x3xi8>"), makeArray(u8, {2, 3}, "abcdef")));
  Descriptor words = buffer.descriptor();
  EXPECT_EQ(words[0], words[1]);
  EXPECT_EQ(words[0] % 64, 0);
  EXPECT_EQ(ArrayRef(words).drop_front(2), ArrayRef<int64_t>({0, 2, 3, 3, 1}));
  EXPECT_EQ(getBytes(buffer, 0, 6), "abcdef");
  EXPECT_EQ(llvm::cantFail(buffer.read()).rawBytes(), "abcdef");
}

TEST_F(HostBufferTest, StridedDescriptor) {
  HostBuffer buffer = llvm::cantFail(
      HostBuffer::create(getType("memref<2x2xi8, strided<[1, 4], offset: 1>>"),
                         makeArray(u8, {2, 2}, "abcd")));
  EXPECT_EQ(ArrayRef(buffer.descriptor()).drop_front(2),
            ArrayRef<int64_t>({1, 2, 2, 1, 4}));
  EXPECT_EQ(getBytes(buffer, 0, 7), std::string("\0ac\0\0bd", 7));
  EXPECT_EQ(llvm::cantFail(buffer.read()).rawBytes(), "abcd");
}

TEST_F(HostBufferTest, PartlyDynamicLayout) {
  // The outer stride is that of rows of three elements, two apart.
  HostBuffer buffer = llvm::cantFail(
      HostBuffer::create(getType("memref<?x?xi8, strided<[?, 2], offset: ?>>"),
                         makeArray(u8, {2, 3}, "abcdef")));
  EXPECT_EQ(ArrayRef(buffer.descriptor()).drop_front(2),
            ArrayRef<int64_t>({0, 2, 3, 6, 2}));
  EXPECT_EQ(llvm::cantFail(buffer.read()).rawBytes(), "abcdef");
}

TEST_F(HostBufferTest, PackedElements) {
  HostBuffer buffer = llvm::cantFail(
      HostBuffer::create(getType("memref<?x4xf4E2M1FN>"),
                         makeArray(u8, {2, 2}, "\x21\x43\x65\x87")));
  EXPECT_EQ(ArrayRef(buffer.descriptor()).drop_front(2),
            ArrayRef<int64_t>({0, 2, 2, 2, 1}));
  EXPECT_EQ(llvm::cantFail(buffer.read()).rawBytes(), "\x21\x43\x65\x87");
}

TEST_F(HostBufferTest, UnpackedElements) {
  // As ml_dtypes has them; only the low four bits of a byte count.
  HostBuffer buffer = llvm::cantFail(HostBuffer::create(
      getType("memref<?x4xf4E2M1FN>"),
      makeArray(v1, {2, 4}, "\x01\x02\xf3\x04\x05\x06\x07\x08")));
  EXPECT_EQ(ArrayRef(buffer.descriptor()).drop_front(2),
            ArrayRef<int64_t>({0, 2, 2, 2, 1}));
  EXPECT_EQ(getBytes(buffer, 0, 4), "\x21\x43\x65\x87");
  NpyArray read = llvm::cantFail(buffer.read());
  EXPECT_EQ(read.type(), v1);
  EXPECT_EQ(read.shape(), ArrayRef<int64_t>({2, 4}));
  EXPECT_EQ(read.rawBytes(), "\x01\x02\x03\x04\x05\x06\x07\x08");
}

TEST_F(HostBufferTest, PackedStrides) {
  // Two rows of two bytes, eight elements apart, after one unused byte.
  HostBuffer buffer = llvm::cantFail(HostBuffer::create(
      getType("memref<2x4xf4E2M1FN, strided<[8, 1], offset: 2>>"),
      makeArray(u8, {2, 2}, "abcd")));
  EXPECT_EQ(ArrayRef(buffer.descriptor()).drop_front(2),
            ArrayRef<int64_t>({1, 2, 2, 4, 1}));
  EXPECT_EQ(getBytes(buffer, 0, 7), std::string("\0ab\0\0cd", 7));
  EXPECT_EQ(llvm::cantFail(buffer.read()).rawBytes(), "abcd");
}

TEST_F(HostBufferTest, EmptyArrays) {
  for (StringRef type : {"memref<?x4xi8>", "tensor<0x4xi8>",
                         "memref<?x4xi8, strided<[8, 2], offset: 3>>"}) {
    HostBuffer buffer = llvm::cantFail(
        HostBuffer::create(getType(type), makeArray(u8, {0, 4}, "")));
    EXPECT_NE(buffer.descriptor()[1], 0);
    EXPECT_EQ(llvm::cantFail(buffer.read()).numElements(), 0);
  }
}

TEST_F(HostBufferTest, LayoutErrors) {
  for (StringRef layout : {"strided<[2, 1]>", "strided<[3, 2]>",
                           "strided<[0, 1]>", "strided<[1, 1]>"})
    EXPECT_EQ(getError(("memref<2x3xi8, " + layout + ">").str(), u8, {2, 3}),
              "the elements of the layout overlap or interleave")
        << layout.str();
  // A dimension of one element has no neighbours.
  EXPECT_EQ(getError("memref<1x3xi8, strided<[0, 1]>>", u8, {1, 3}),
            "no error");
  EXPECT_EQ(getError("memref<2x3xi8, strided<[-3, 1], offset: 3>>", u8, {2, 3}),
            "a layout with a negative stride or offset cannot be made");
  EXPECT_EQ(
      getError("memref<2x3xi8, strided<[9223372036854775807, 1]>>", u8, {2, 3}),
      "the layout is too large");
  EXPECT_EQ(getError("memref<2x4xf4E2M1FN, strided<[5, 1]>>", u8, {2, 2}),
            "a layout of 4-bit elements needs even outer strides, found 5");
  StringRef packed = "a layout of 4-bit elements needs an even offset and an "
                     "innermost stride of 1";
  EXPECT_EQ(getError("memref<2x4xf4E2M1FN, strided<[8, 2]>>", u8, {2, 2}),
            packed);
  EXPECT_EQ(
      getError("memref<2x4xf4E2M1FN, strided<[8, 1], offset: 1>>", u8, {2, 2}),
      packed);
}

TEST_F(HostBufferTest, TypeErrors) {
  EXPECT_EQ(getError("memref<?x16x8x128xf4E2M1FN>", u8, {2, 16, 8, 128}),
            "expected uint8 (?, 16, 8, 64), two elements in a byte, or "
            "float4_e2m1fn (?, 16, 8, 128), found uint8 (2, 16, 8, 128)");
  EXPECT_EQ(getError("memref<?x?xf4E2M1FN>", v1, {2, 3}),
            "expected uint8 (?, ?), two elements in a byte, or float4_e2m1fn "
            "(?, ?) with an even innermost size, found V1 (2, 3)");
  EXPECT_EQ(getError("memref<?xf8E4M3FN>", {NpyKind::Int, 1}, {3}),
            "expected float8_e4m3fn or uint8 (?,), found int8 (3,)");
  for (NpyType type : {u8, v1})
    for (StringRef element : {"f8E4M3FN", "f8E8M0FNU"})
      EXPECT_EQ(getError(("memref<?x" + element + ">").str(), type, {3}),
                "no error");
  EXPECT_EQ(getError("memref<?xsi32>", {NpyKind::UInt, 4}, {3}),
            "expected int32 (?,), found uint32 (3,)");
  EXPECT_EQ(getError("memref<?xui32>", {NpyKind::UInt, 4}, {3}), "no error");
}

} // namespace
