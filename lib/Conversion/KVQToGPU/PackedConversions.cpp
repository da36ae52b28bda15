//===- PackedConversions.cpp - Conversions of a word of elements ----------===//

#include "PackedConversions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// Emits PTX without side effects. `constraints` are those of LLVM.
static Value emitPTX(KernelBuilder &b, Type result, ValueRange operands,
                     StringRef text, StringRef constraints) {
  return LLVM::InlineAsmOp::create(b, result, operands, text, constraints,
                                   /*has_side_effects=*/false,
                                   /*is_align_stack=*/false,
                                   LLVM::tailcallkind::TailCallKind::None,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
      .getRes();
}

/// The same for several results of 32 bits, as vector<2xf16>.
template <size_t N>
static std::array<Value, N> emitPairs(KernelBuilder &b, I32 word,
                                      StringRef text, StringRef constraints) {
  SmallVector<Type> words(N, b.getI32Type());
  Type all = LLVM::LLVMStructType::getLiteral(b.getContext(), words);
  Value results = emitPTX(b, all, Value(word), text, constraints);
  std::array<Value, N> pairs;
  for (size_t i = 0; i < N; ++i) {
    I32 bits(b, LLVM::ExtractValueOp::create(b, results, int64_t(i)));
    pairs[i] = b.asPair(bits, b.getF16Type());
  }
  return pairs;
}

std::array<Value, 4> kvq::kernel::unpackE2M1(KernelBuilder &b, I32 word) {
  return emitPairs<4>(b, word,
                      "{\n"
                      ".reg .b8 b0, b1, b2, b3;\n"
                      "mov.b32 {b0, b1, b2, b3}, $4;\n"
                      "cvt.rn.f16x2.e2m1x2 $0, b0;\n"
                      "cvt.rn.f16x2.e2m1x2 $1, b1;\n"
                      "cvt.rn.f16x2.e2m1x2 $2, b2;\n"
                      "cvt.rn.f16x2.e2m1x2 $3, b3;\n"
                      "}",
                      "=r,=r,=r,=r,r");
}

std::array<Value, 2> kvq::kernel::unpackE4M3(KernelBuilder &b, I32 word) {
  return emitPairs<2>(b, word,
                      "{\n"
                      ".reg .b16 h0, h1;\n"
                      "mov.b32 {h0, h1}, $2;\n"
                      "cvt.rn.f16x2.e4m3x2 $0, h0;\n"
                      "cvt.rn.f16x2.e4m3x2 $1, h1;\n"
                      "}",
                      "=r,=r,r");
}

// The first source of a conversion goes to the high bits.

I32 kvq::kernel::packE2M1(KernelBuilder &b, ArrayRef<F32> values) {
  assert(values.size() == 8 && "a word of elements");
  return {b, emitPTX(b, b.getI32Type(), llvm::to_vector_of<Value>(values),
                     "{\n"
                     ".reg .b8 b0, b1, b2, b3;\n"
                     "cvt.rn.satfinite.e2m1x2.f32 b0, $2, $1;\n"
                     "cvt.rn.satfinite.e2m1x2.f32 b1, $4, $3;\n"
                     "cvt.rn.satfinite.e2m1x2.f32 b2, $6, $5;\n"
                     "cvt.rn.satfinite.e2m1x2.f32 b3, $8, $7;\n"
                     "mov.b32 $0, {b0, b1, b2, b3};\n"
                     "}",
                     "=r,f,f,f,f,f,f,f,f")};
}

I32 kvq::kernel::packE4M3(KernelBuilder &b, ArrayRef<F32> values) {
  assert(values.size() == 4 && "a word of elements");
  // As bits: LLVM would take vectors of f32 apart by pairs.
  SmallVector<Value> bits;
  for (F32 value : values)
    bits.push_back(value.bits());
  return {b, emitPTX(b, b.getI32Type(), bits,
                     "{\n"
                     ".reg .b16 h0, h1;\n"
                     "cvt.rn.satfinite.e4m3x2.f32 h0, $2, $1;\n"
                     "cvt.rn.satfinite.e4m3x2.f32 h1, $4, $3;\n"
                     "mov.b32 $0, {h0, h1};\n"
                     "}",
                     "=r,r,r,r,r")};
}
