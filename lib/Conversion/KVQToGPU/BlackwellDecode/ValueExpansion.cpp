//===- ValueExpansion.cpp - Values as exact f16 in tensor memory ----------===//
//
// The second product wants V^T with two tokens of a channel in a word. A byte
// of the cache holds two channels of one token, and the conversion makes a word
// of them. They are left so: the contraction runs over pairs (token, parity of
// the channel), and the weights are zero where parities differ, so that
//
//   O[2c + parity][q] = sum over tokens of A[c][token, parity] * P[q][token]
//
// with A[c][token, parity] = V[token][2c + parity]. The 128 lanes of tensor
// memory hold the `headDim / 2` pairs c of `groups` parts of the tile's tokens:
// lane = group * (128 / groups) + place(c), column = token of the group.
// Weights of other groups give columns of the output that are ignored.
//
// A warp expands 32 lanes: two pieces of 16 bytes of the rows of its group.
// `ldmatrix.trans.b16` hands thread 4a + i the bytes (2a, 2a + 1) of rows 2i
// and 2i + 1, and `tcgen05.st.16x256b` takes them to these places:
//
//   place(c) = 16 * (c / 16) + 8 * (c % 2) + c % 16 / 2
//
// Products of E2M1 and E4M3 have at most 6 significant bits, so f16 holds them.
// Those of E2M1 and E8M0 have the exponents of f32, so bf16 does.
//
//===----------------------------------------------------------------------===//

#include "DecodeKernel.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

/// Tokens that one ldmatrix reads, and that one store takes at most.
static constexpr int64_t kTokensOfLoad = 16, kTokensOfStore = 64;

/// What a warp works on.
struct DecodeKernel::Expander {
  /// The warp among those that expand, 0 to 3.
  I32 warp;
  /// Its group of tokens, and which pair of pieces of the rows it takes.
  I32 group, pieces;
  /// The tile's rows and block scales in shared memory, and where the warp
  /// keeps scales.
  Ptr rows, scales, staged;
};

/// Instructions that multiply register `to`, a pair of f16 that come from E2M1,
/// with that of `scale`.
static std::string multiplyPair(FloatType type, int64_t to, StringRef scale) {
  if (type.isF16())
    return llvm::formatv("mul.rn.f16x2 ${0}, ${0}, {1}; ", to, scale);
  // bf16 with the exponent bits of an f16 is 2^112 times smaller. Two products,
  // since 2^112 times a scale may be too large.
  return llvm::formatv("shr.u32 t, ${0}, 3; and.b32 t, t, 0x0fff0fff; "
                       "and.b32 u, ${0}, 0x80008000; or.b32 t, t, u; "
                       "mul.rn.bf16x2 t, t, p; mul.rn.bf16x2 ${0}, t, {1}; ",
                       to, scale);
}

/// Converts the four bytes of a word of E2M1 pairs to two f16 or bf16 each, and
/// multiplies the first two with the low and the others with the high half of
/// `scales`. Bytes and halves are taken apart by moves, which ptxas makes part
/// of the instructions that use them.
static SmallVector<Value, 4> expandPairs(KernelBuilder &b, FloatType type,
                                         Value word, Value scales) {
  std::string text =
      "{ .reg .b8 b0, b1, b2, b3; .reg .b16 h0, h1; .reg .b32 s0, s1; "
      "mov.b32 {b0, b1, b2, b3}, $4; mov.b32 {h0, h1}, $5; "
      "mov.b32 s0, {h0, h0}; mov.b32 s1, {h1, h1}; ";
  if (!type.isF16())
    text += ".reg .b32 t, u, p; mov.b32 p, 0x77807780; ";
  for (int64_t i = 0; i < 4; ++i)
    text += llvm::formatv("cvt.rn.f16x2.e2m1x2 ${0}, b{0}; ", i);
  for (int64_t i = 0; i < 4; ++i)
    text += multiplyPair(type, i, i < 2 ? "s0" : "s1");
  text += "}";
  Type i32 = b.getI32Type();
  auto expanded = LLVM::InlineAsmOp::create(
      b,
      LLVM::LLVMStructType::getLiteral(b.getContext(),
                                       SmallVector<Type>(4, i32)),
      ValueRange{word, scales}, text, "=&r,=&r,=&r,=&r,r,r",
      /*has_side_effects=*/false,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr(), ArrayAttr());
  SmallVector<Value, 4> words;
  for (int64_t i = 0; i < 4; ++i)
    words.push_back(LLVM::ExtractValueOp::create(b, expanded.getResult(0),
                                                 ArrayRef<int64_t>{i}));
  return words;
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// The two low codes of E8M0 as bf16, which has all of them.
static Value decodeE8M0(KernelBuilder &b, I32 codes) {
  Value two = arith::TruncIOp::create(b, b.getI16Type(), Value(codes));
  Value pair =
      LLVM::BitcastOp::create(b, VectorType::get(2, b.getI8Type()), two);
  return NVVM::ConvertF8x2ToBF16x2Op::create(
      b, VectorType::get(2, b.getBF16Type()), pair,
      TypeAttr::get(b.getType<Float8E8M0FNUType>()));
}

/// Converts the block scales that a warp multiplies with to f16 or bf16 and
/// keeps them in shared memory so that one load of a thread gets all that it
/// needs for one ldmatrix: those of tokens 16g + 8x + 2i + e, half s of piece p
/// of the warp's two pieces of rows, lie at the number
/// ((((g * 4 + i) * 2 + s) * 2 + x) * 2 + p) * 2 + e. Halves are blocks of
/// nvfp4; a block of mxfp4 is both.
void DecodeKernel::stageScales(Work work, I32 tile, const Expander &expander) {
  int64_t scales = plan.v.scales();
  bool isInterleaved =
      v.getType().getScaleLayout() == ScaleLayout::Interleaved4;
  I32 firstToken = expander.group * plan.groupTokens();
  // A lane has the four blocks of two tokens, or two blocks of four.
  int64_t items = plan.groupTokens() / 2;
  auto store = [&](I32 g, I32 i, I32 s, I32 x, Value blocks0, Value blocks1) {
    Value both = vector::FromElementsOp::create(
        b, VectorType::get(2, b.getI32Type()),
        ValueRange{b.asBits(blocks0), b.asBits(blocks1)});
    b.store(both, expander.staged + (((g * 4 + i) * 2 + s) * 2 + x) * 8);
  };
  auto loadWord = [&](I32 offset) {
    return b.loadI32(expander.scales + offset);
  };

  auto join = [&](I32 even, I32 odd, int64_t selector) -> I32 {
    return {b, NVVM::PermuteOp::create(b, b.getI32Type(), even, odd,
                                       b.i32(selector),
                                       NVVM::PermuteMode::DEFAULT)};
  };

  auto stageWholePieces = [&](I32 item) {
    I32 offset = (firstToken + item * 2) * scales + (expander.pieces / 2) * 4;
    I32 shift = (expander.pieces % 2) * 16;
    I32 both = join(loadWord(offset) >> shift,
                    loadWord(offset + scales) >> shift, 0x5140);
    Value first = decodeE8M0(b, both), second = decodeE8M0(b, both >> 16);
    I32 g = item / 8, x = (item / 4) % 2, i = item % 4;
    for (int64_t turn = 0; turn < 2; ++turn)
      store(g, i, (g % 2) ^ turn, x, first, second);
  };

  auto stageLinear = [&](I32 item) {
    I32 offset = (firstToken + item * 2) * scales + expander.pieces * 4;
    I32 even, odd;
    if (scales == 8) {
      // One access of both rows meets in fewer banks than two of words.
      Value rows = b.load(expander.scales + (firstToken + item * 2) * scales,
                          VectorType::get(4, b.getI32Type()));
      auto choose = [&](int64_t token) {
        return (expander.pieces == 0)
            .select(I32(b, b.extract(rows, 2 * token)),
                    I32(b, b.extract(rows, 2 * token + 1)));
      };
      even = choose(0);
      odd = choose(1);
    } else {
      even = loadWord(offset);
      odd = loadWord(offset + scales);
    }
    std::array<Value, 2> low = decodeE4M3(b, join(even, odd, 0x5140));
    std::array<Value, 2> high = decodeE4M3(b, join(even, odd, 0x7362));
    I32 g = item / 8, x = (item / 4) % 2, i = item % 4;
    // Lanes of neighbouring g begin with different halves: banks again.
    for (int64_t turn = 0; turn < 2; ++turn) {
      I32 s = (g % 2) ^ turn;
      auto choose = [&](const std::array<Value, 2> &blocks) -> Value {
        return arith::SelectOp::create(b, Value(s == 0), blocks[0], blocks[1]);
      };
      store(g, i, s, x, choose(low), choose(high));
    }
  };

  auto stageInterleaved = [&](I32 item) {
    I32 quad = item / 2, s = item % 2;
    I32 offset =
        (firstToken + quad * 4) * scales + (expander.pieces * 4 + s) * 4;
    I32 words[2] = {loadWord(offset), loadWord(offset + 8)};
    // Four tokens share bytes that the loader took whole; of those outside of
    // the range they may be NaN.
    I32 position = work.first + tile * kTileTokens + firstToken + quad * 4;
    Pred isWhole =
        (position >= work.tokens.begin) & (position + 4 <= work.tokens.end);
    auto mask = [&]() -> SmallVector<Value> {
      I32 bytes = b.i32(0);
      for (int64_t t = 0; t < 4; ++t) {
        Pred isRead = (position + t >= work.tokens.begin) &
                      (position + t < work.tokens.end);
        bytes =
            bytes | isRead.select(b.i32(int64_t(0xff) << (8 * t)), b.i32(0));
      }
      return {words[0] & bytes, words[1] & bytes};
    };
    auto keep = [&]() -> SmallVector<Value> { return {words[0], words[1]}; };
    SmallVector<Value> kept =
        b.choose(isWhole, {b.getI32Type(), b.getI32Type()}, keep, mask);
    std::array<Value, 2> first = decodeE4M3(b, {b, kept[0]});
    std::array<Value, 2> second = decodeE4M3(b, {b, kept[1]});
    I32 g = quad / 4, x = (quad / 2) % 2, i = (quad % 2) * 2;
    for (int64_t pair = 0; pair < 2; ++pair)
      store(g, i + pair, s, x, first[pair], second[pair]);
  };

  b.loop(b.lane(), b.i32(items), 32, [&](I32 item) {
    if (plan.v.blockSize == 32)
      stageWholePieces(item);
    else if (isInterleaved)
      stageInterleaved(item);
    else
      stageLinear(item);
  });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Expands up to kTokensOfStore tokens of the group, from `first` on.
void DecodeKernel::expandTokens(I32 tile, const Expander &expander,
                                int64_t first) {
  int64_t tokens = std::min(kTokensOfStore, plan.groupTokens());
  I32 lane = b.lane(), i = lane % 4, s = lane / 16;
  I32 matrix = lane / 8;
  // The words of the two pieces, in the order of the store's registers.
  SmallVector<Value> words[2];
  for (int64_t g = first / kTokensOfLoad; g < (first + tokens) / kTokensOfLoad;
       ++g) {
    I32 row = expander.group * plan.groupTokens() + (matrix % 2) * 8 +
              lane % 8 + g * kTokensOfLoad;
    I32 piece = (expander.pieces * 2 + matrix / 2) ^
                ((row / plan.v.rowsOfLine()) % plan.v.pieces());
    Ptr from = expander.rows + (row * plan.v.rowBytes() + piece * 16);
    Type i32 = b.getI32Type();
    Value loaded = NVVM::LdMatrixOp::create(
        b,
        LLVM::LLVMStructType::getLiteral(b.getContext(),
                                         SmallVector<Type>(4, i32)),
        Value(from), 4, NVVM::MMALayout::col,
        NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
        NVVM::LdStMatrixEltType::B16);
    Value scales = b.load(expander.staged + ((i * 2 + s) * 16 + g * 128),
                          VectorType::get(4, i32));
    for (int64_t p = 0; p < 2; ++p) {
      SmallVector<Value> registers(8);
      for (int64_t x = 0; x < 2; ++x) {
        Value word = LLVM::ExtractValueOp::create(b, loaded,
                                                  ArrayRef<int64_t>{2 * p + x});
        SmallVector<Value, 4> pairs =
            expandPairs(b, plan.weightType, word, b.extract(scales, 2 * x + p));
        for (auto [byte, pair] : llvm::enumerate(pairs)) {
          int64_t e = byte / 2, h = byte % 2;
          registers[4 * x + 2 * h + e] = pair;
        }
      }
      llvm::append_range(words[p], registers);
    }
  }
  Value to = bufferOf(valueRegion, tile);
  if (first + tokens == plan.groupTokens())
    consumed.arrive(tile);
  // The buffer was read by the output of an earlier tile.
  if (first == 0) {
    accumulated.waitBefore(tile);
    tcgen05::FenceOp::create(b, tcgen05::FenceKind::After);
  }
  for (int64_t p = 0; p < 2; ++p) {
    auto type = VectorType::get(words[p].size(), b.getI32Type());
    Value registers = vector::FromElementsOp::create(b, type, words[p]);
    tcgen05::StoreOp::create(b, tcgen05::AccessShape::S16x256b, registers, to,
                             OpFoldResult(b.getIndexAttr(2 * first)),
                             Value(expander.warp), 16 * p);
  }
}

void DecodeKernel::expandValues(Work work) {
  Expander expander;
  expander.warp = b.warp() - 4;
  int64_t warpsOfGroup = 4 / plan.groups();
  expander.group = expander.warp / warpsOfGroup;
  expander.pieces = expander.warp % warpsOfGroup;
  forTiles(work.count, [&](I32 tile) {
    Ptr from = stage(tile);
    expander.rows = from + plan.shared.v;
    expander.scales = from + plan.shared.vScales;
    // Two buffers, so that a warp that is ahead does not overwrite what others
    // of its lanes read.
    expander.staged = shared(plan.shared.valueScales) +
                      (expander.warp * kBuffers + expanded.buffer(tile)) *
                          plan.shared.valueScalesOfWarp;
    filled.wait(tile);
    stageScales(work, tile, expander);
    b.syncWarp();
    for (int64_t first = 0; first < plan.groupTokens(); first += kTokensOfStore)
      expandTokens(tile, expander, first);
    tcgen05::WaitOp::create(b, tcgen05::WaitKind::Store);
    tcgen05::FenceOp::create(b, tcgen05::FenceKind::Before);
    expanded.arrive(tile);
  });
}
