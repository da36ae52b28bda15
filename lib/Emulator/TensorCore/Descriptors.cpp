//===- Descriptors.cpp - Instruction and matrix descriptors ---------------===//

#include "kvq/Emulator/TensorCore/Descriptors.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace kvq::emu;
using namespace kvq::emu::tc;

const char *kvq::emu::tc::kindName(MmaKind kind) {
  static const char *const names[] = {
      "kind::f16",      "kind::tf32", "kind::f8f6f4",  "kind::i8",
      "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"};
  return names[static_cast<unsigned>(kind)];
}

static unsigned field(uint64_t bits, unsigned low, unsigned width) {
  return static_cast<unsigned>((bits >> low) & ((uint64_t(1) << width) - 1));
}

/// The type of a code of A or B. False for a code that the kind does not have.
static bool decodeType(MmaKind kind, unsigned code, MmaType &type) {
  switch (kind) {
  case MmaKind::F16:
    type = code ? MmaType::BF16 : MmaType::F16;
    return code < 2;
  case MmaKind::TF32:
    type = MmaType::TF32;
    return code == 2;
  case MmaKind::I8:
    type = code ? MmaType::S8 : MmaType::U8;
    return code < 2;
  case MmaKind::MXF4:
  case MmaKind::MXF4NVF4:
    type = MmaType::E2M1;
    return code == 1;
  case MmaKind::F8F6F4:
  case MmaKind::MXF8F6F4:
    switch (code) {
    case 0:
      type = MmaType::E4M3;
      return true;
    case 1:
      type = MmaType::E5M2;
      return true;
    case 3:
      type = MmaType::E2M3;
      return true;
    case 4:
      type = MmaType::E3M2;
      return true;
    case 5:
      type = MmaType::E2M1;
      return true;
    default:
      return false;
    }
  }
  return false;
}

static unsigned depthOf(MmaKind kind) {
  switch (kind) {
  case MmaKind::F16:
    return 16;
  case MmaKind::TF32:
    return 8;
  case MmaKind::MXF4:
  case MmaKind::MXF4NVF4:
    return 64;
  default:
    return 32;
  }
}

/// Table 39, the dense shapes.
static bool shapeExists(const InstructionDescriptor &i, unsigned ctaGroup,
                        bool ws) {
  if (ws)
    return ctaGroup == 1 && !isBlockScaled(i.kind) &&
           (i.m == 32 || i.m == 64 || i.m == 128) &&
           (i.n == 64 || i.n == 128 || i.n == 256);
  if (i.n < 8 || i.n > 256)
    return false;
  if (ctaGroup == 1) {
    bool mOk = i.m == 128 || (i.m == 64 && !isBlockScaled(i.kind));
    bool nOk = i.kind == MmaKind::I8 && i.n > 32 ? i.n % 16 == 0 : i.n % 8 == 0;
    return mOk && nOk;
  }
  return (i.m == 128 || i.m == 256) &&
         i.n % (i.kind == MmaKind::I8 ? 32 : 16) == 0;
}

llvm::Expected<InstructionDescriptor>
kvq::emu::tc::decodeInstruction(uint32_t bits, MmaKind kind, unsigned ctaGroup,
                                bool ws, unsigned scaleVec) {
  auto bad = [&](const llvm::Twine &why) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   llvm::Twine("instruction descriptor 0x") +
                                       llvm::utohexstr(bits) + " of " +
                                       kindName(kind) + ": " + why);
  };
  InstructionDescriptor i;
  i.kind = kind;
  bool scaled = isBlockScaled(kind);
  bool isMXF4 = kind == MmaKind::MXF4 || kind == MmaKind::MXF4NVF4;
  if (field(bits, 2, 1))
    return bad("sparse A (bit 2) is not supported");
  if (field(bits, 0, 2))
    return bad("bits 0-1 must be 0 for dense A");
  if (field(bits, 6, 1))
    return bad("reserved bit 6 is set");
  unsigned codeA = field(bits, 7, 3), codeB = field(bits, 10, isMXF4 ? 2 : 3);
  if (isMXF4 && field(bits, 12, 1))
    return bad("reserved bit 12 is set");
  if (!decodeType(kind, codeA, i.a))
    return bad("no type has code " + llvm::Twine(codeA) + " for A");
  if (!decodeType(kind, codeB, i.b))
    return bad("no type has code " + llvm::Twine(codeB) + " for B");
  i.negateA = field(bits, 13, 1);
  i.negateB = field(bits, 14, 1);
  if (kind == MmaKind::I8 && (i.negateA || i.negateB))
    return bad("integers cannot be negated (bits 13-14)");
  i.transposeA = field(bits, 15, 1);
  i.transposeB = field(bits, 16, 1);
  if (isMXF4 && (i.transposeA || i.transposeB))
    return bad("operands cannot be transposed (bits 15-16)");
  auto isNarrow = [](MmaType t) {
    return t == MmaType::E2M1 || t == MmaType::E2M3 || t == MmaType::E3M2;
  };
  if ((i.transposeA && isNarrow(i.a)) || (i.transposeB && isNarrow(i.b)))
    return bad("4- and 6-bit operands must be K-major (bits 15-16)");
  i.n = static_cast<uint16_t>(field(bits, 17, 6) * 8);
  i.k = static_cast<uint16_t>(depthOf(kind));

  if (scaled) {
    if (field(bits, 3, 1))
      return bad("reserved bit 3 is set");
    if (field(bits, 24, 3))
      return bad("reserved bits 24-26 are set");
    i.d = MmaType::F32;
    i.m = static_cast<uint16_t>(field(bits, 27, 2) * 128);
    i.sfbId = static_cast<uint8_t>(field(bits, 4, 2));
    i.sfaId = static_cast<uint8_t>(field(bits, 29, 2));
    i.scaleFormat =
        field(bits, 23, 1) ? num::Format::UE8M0 : num::Format::UE4M3;
    if (field(bits, 31, 1))
      return bad(isMXF4 ? "K = 96 (bit 31) is not supported"
                        : "reserved bit 31 is set");
    if (i.scaleFormat == num::Format::UE4M3 && kind != MmaKind::MXF4NVF4)
      return bad("scales must be ue8m0 (bit 23)");
    bool vecOk = kind == MmaKind::MXF8F6F4 ? scaleVec == 1
                 : kind == MmaKind::MXF4   ? scaleVec == 2
                                           : scaleVec == 2 || scaleVec == 4;
    if (!vecOk)
      return bad("no scale_vec::" + llvm::Twine(scaleVec) + "X");
    if (i.scaleFormat == num::Format::UE4M3 && scaleVec != 4)
      return bad("ue4m3 scales need scale_vec::4X");
    unsigned step = scaleVec;
    if (step > 1 && (i.sfaId % step || i.sfbId % step))
      return bad("scale factor data ids " + llvm::Twine(i.sfaId) + " and " +
                 llvm::Twine(i.sfbId) +
                 " do not fit scale_vec::" + llvm::Twine(scaleVec) + "X");
  } else {
    unsigned dCode = field(bits, 4, 2);
    i.saturate = field(bits, 3, 1);
    if (i.saturate && kind != MmaKind::I8)
      return bad("saturation (bit 3) needs integers");
    bool dOk = kind == MmaKind::I8     ? dCode == 2
               : kind == MmaKind::TF32 ? dCode == 1
                                       : dCode < 2;
    if (!dOk)
      return bad("no type has code " + llvm::Twine(dCode) + " for D");
    i.d = dCode == 0 ? MmaType::F16 : dCode == 1 ? MmaType::F32 : MmaType::S32;
    if (kind == MmaKind::F16 && i.d == MmaType::F16 &&
        (i.a != MmaType::F16 || i.b != MmaType::F16))
      return bad("an f16 D needs f16 A and B");
    if (kind == MmaKind::F16 && i.a != i.b)
      return bad("A and B must have the same type");
    if (field(bits, 23, 1))
      return bad("reserved bit 23 is set");
    if (field(bits, 29, 1))
      return bad("reserved bit 29 is set");
    i.m = static_cast<uint16_t>(field(bits, 24, 5) * 16);
    unsigned shift = field(bits, 30, 2);
    if (shift && !ws)
      return bad("a maximum shift (bits 30-31) needs .ws");
    i.wsMaxShift = static_cast<uint8_t>(shift ? 4u << shift : 0);
  }
  if (!shapeExists(i, ctaGroup, ws))
    return bad(
        "no shape M = " + llvm::Twine(i.m) + ", N = " + llvm::Twine(i.n) +
        " for cta_group::" + llvm::Twine(ctaGroup) + (ws ? " with .ws" : ""));
  bool is8 =
      i.b == MmaType::E4M3 || i.b == MmaType::E5M2 || kind == MmaKind::I8;
  if (i.transposeB && is8 && i.n % (ctaGroup == 1 ? 16 : 32))
    return bad("a transposed 8-bit B needs N in steps of " +
               llvm::Twine(ctaGroup == 1 ? 16 : 32) + ", found " +
               llvm::Twine(i.n));
  return i;
}

//===----------------------------------------------------------------------===//
// Matrix descriptors
//===----------------------------------------------------------------------===//

static llvm::Error badMatrix(uint64_t bits, const llvm::Twine &why) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 llvm::Twine("matrix descriptor 0x") +
                                     llvm::utohexstr(bits) + ": " + why);
}

static MatrixDescriptor addresses(uint64_t bits) {
  MatrixDescriptor m;
  m.start = field(bits, 0, 14) << 4;
  m.leading = field(bits, 16, 14) << 4;
  m.stride = field(bits, 32, 14) << 4;
  return m;
}

llvm::Expected<MatrixDescriptor> kvq::emu::tc::decodeMatrix(uint64_t bits) {
  if (field(bits, 46, 3) != 1)
    return badMatrix(bits, "bits 46-48 must be 0b001, found " +
                               llvm::Twine(field(bits, 46, 3)));
  if (field(bits, 53, 8))
    return badMatrix(bits, "bits 53-60 must be 0");
  if (field(bits, 49, 3))
    return badMatrix(bits, "a base offset (bits 49-51) is not supported: let "
                           "the swizzle pattern start at its own alignment");
  if (field(bits, 52, 1))
    return badMatrix(bits, "an absolute leading dimension (bit 52) exists on "
                           "sm_103a only");
  MatrixDescriptor m = addresses(bits);
  switch (field(bits, 61, 3)) {
  case 0:
    m.swizzle = Swizzle::None;
    return m;
  case 1:
    m.swizzle = Swizzle::B128Atom32;
    return m;
  case 2:
    m.swizzle = Swizzle::B128;
    return m;
  case 4:
    m.swizzle = Swizzle::B64;
    return m;
  case 6:
    m.swizzle = Swizzle::B32;
    return m;
  default:
    return badMatrix(bits, "swizzle mode (bits 61-63) must be 0, 1, 2, 4 or "
                           "6, found " +
                               llvm::Twine(field(bits, 61, 3)));
  }
}

llvm::Expected<MatrixDescriptor> kvq::emu::tc::decodeMatrixSm90(uint64_t bits) {
  if (field(bits, 49, 3))
    return badMatrix(bits, "a base offset (bits 49-51) is not supported: let "
                           "the swizzle pattern start at its own alignment");
  static const Swizzle modes[] = {Swizzle::None, Swizzle::B128, Swizzle::B64,
                                  Swizzle::B32};
  MatrixDescriptor m = addresses(bits);
  m.swizzle = modes[field(bits, 62, 2)];
  return m;
}

llvm::Expected<ZeroColumns>
kvq::emu::tc::decodeZeroColumns(uint64_t bits, unsigned m, unsigned n) {
  auto bad = [&](const llvm::Twine &why) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   llvm::Twine("zero-column mask descriptor "
                                               "0x") +
                                       llvm::utohexstr(bits) + ": " + why);
  };
  if (field(bits, 36, 3) || field(bits, 62, 2))
    return bad("bits 36-38 and 62-63 must be 0");
  ZeroColumns result;
  result.shift = field(bits, 56, 6);
  unsigned most = m == 32 ? 16 : 32;
  if (result.shift > most)
    return bad("a shift of " + llvm::Twine(result.shift) + " is above " +
               llvm::Twine(most));
  result.zero.resize(n);
  if (!field(bits, 39, 1))
    return result;
  unsigned zeros = field(bits, 40, 8) + 1, used = field(bits, 48, 8) + 1;
  unsigned parts = 128 / m, width = n / parts;
  for (unsigned part = 0; part != parts; ++part) {
    unsigned skipped = field(bits, 8 * part, 8);
    bool startsZero = field(bits, 32 + part, 1);
    for (unsigned c = 0; c != width; ++c) {
      unsigned at = (c + skipped) % (zeros + used);
      if (startsZero ? at < zeros : at >= used)
        result.zero.set(part * width + c);
    }
  }
  return result;
}

uint32_t kvq::emu::tc::applySwizzle(Swizzle swizzle, uint32_t address) {
  switch (swizzle) {
  case Swizzle::None:
    return address;
  case Swizzle::B32:
    return address ^ (((address >> 7) & 1) << 4);
  case Swizzle::B64:
    return address ^ (((address >> 7) & 3) << 4);
  case Swizzle::B128:
    return address ^ (((address >> 7) & 7) << 4);
  case Swizzle::B128Atom32:
    return address ^ (((address >> 7) & 3) << 5);
  }
  return address;
}
