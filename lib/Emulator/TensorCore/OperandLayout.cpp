//===- OperandLayout.cpp - Where operands lie in shared memory ------------===//

#include "kvq/Emulator/TensorCore/OperandLayout.h"

using namespace kvq::emu;
using namespace kvq::emu::tc;

static num::Format formatOf(MmaType type) {
  switch (type) {
  case MmaType::TF32:
    return num::Format::TF32;
  case MmaType::F16:
    return num::Format::F16;
  case MmaType::BF16:
    return num::Format::BF16;
  case MmaType::E4M3:
    return num::Format::E4M3;
  case MmaType::E5M2:
    return num::Format::E5M2;
  case MmaType::E2M3:
    return num::Format::E2M3;
  case MmaType::E3M2:
    return num::Format::E3M2;
  case MmaType::E2M1:
    return num::Format::E2M1;
  default:
    return num::Format::F32;
  }
}

unsigned ElementPacking::perChunk() const {
  switch (type) {
  case MmaType::TF32:
    return 4;
  case MmaType::F16:
  case MmaType::BF16:
    return 8;
  case MmaType::E2M1:
    return dense ? 32 : 16;
  case MmaType::B1:
    return 128;
  default:
    return 16;
  }
}

ElementPacking kvq::emu::tc::sharedPacking(MmaKind kind, MmaType type) {
  return {type, kind == MmaKind::MXF4 || kind == MmaKind::MXF4NVF4};
}

void kvq::emu::tc::decodeChunk(const ElementPacking &packing,
                               const uint8_t *chunk, double *out) {
  num::Format f = formatOf(packing.type);
  unsigned count = packing.perChunk();
  switch (packing.type) {
  case MmaType::TF32:
    return num::decodeElements(f, chunk, 32, count, out);
  case MmaType::F16:
  case MmaType::BF16:
    return num::decodeElements(f, chunk, 16, count, out);
  case MmaType::E2M1:
    return num::decodeElements(f, chunk, 4, count, out);
  case MmaType::E2M3:
  case MmaType::E3M2:
    for (unsigned i = 0; i != count; ++i) {
      unsigned bit = 6 * i, byte = bit / 8;
      unsigned word = chunk[byte] | (byte < 15 ? chunk[byte + 1] << 8 : 0);
      out[i] = num::toDouble(f, (word >> (bit % 8)) & 0x3f);
    }
    return;
  case MmaType::B1:
    for (unsigned i = 0; i != count; ++i)
      out[i] = chunk[i / 8] >> (i % 8) & 1;
    return;
  case MmaType::S8:
    for (unsigned i = 0; i != count; ++i)
      out[i] = static_cast<int8_t>(chunk[i]);
    return;
  case MmaType::U8:
    for (unsigned i = 0; i != count; ++i)
      out[i] = chunk[i];
    return;
  default:
    return num::decodeElements(f, chunk, 8, count, out);
  }
}

/// Bytes of the repeating pattern along the contiguous dimension.
static unsigned patternBytes(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::None:
    return 16;
  case Swizzle::B32:
    return 32;
  case Swizzle::B64:
    return 64;
  case Swizzle::B128:
  case Swizzle::B128Atom32:
    return 128;
  }
  return 16;
}

uint32_t kvq::emu::tc::chunkAddress(const MatrixDescriptor &m, bool mnMajor,
                                    unsigned line, unsigned chunk) {
  unsigned width = patternBytes(m.swizzle);
  uint32_t address = m.start;
  if (!mnMajor) {
    // Eight rows of `width` bytes, then the next eight a stride further.
    address += (line % 8) * width + (line / 8) * m.stride;
    address +=
        m.swizzle == Swizzle::None ? chunk * m.leading : chunk * chunkBytes;
  } else {
    // An atom of 32 bytes has four K lines, not eight (table 55: 8 x 4).
    unsigned lines = m.swizzle == Swizzle::B128Atom32 ? 4 : 8;
    unsigned perPattern = width / chunkBytes;
    unsigned pattern = chunk / perPattern;
    address += (chunk % perPattern) * chunkBytes + (line % lines) * width;
    // Stride and leading dimension change roles without swizzling.
    if (m.swizzle == Swizzle::None)
      address += pattern * m.stride + (line / lines) * m.leading;
    else
      address += pattern * m.leading + (line / lines) * m.stride;
  }
  return applySwizzle(m.swizzle, address);
}

llvm::Error kvq::emu::tc::checkOperand(const InstructionDescriptor &i,
                                       const MatrixDescriptor &m, bool isA) {
  bool transposed = isA ? i.transposeA : i.transposeB;
  bool atom32 = m.swizzle == Swizzle::B128Atom32;
  auto bad = [&](const char *why) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   llvm::Twine("operand ") + (isA ? "A" : "B") +
                                       " of " + kindName(i.kind) + ": " + why);
  };
  if (i.kind == MmaKind::TF32 && transposed && !atom32)
    return bad("an MN-major tf32 matrix needs the 128-byte swizzle with atoms "
               "of 32 bytes");
  if (i.kind != MmaKind::TF32 && transposed && atom32)
    return bad("an MN-major matrix cannot have atoms of 32 bytes");
  if (!transposed && atom32)
    return bad("a K-major matrix with atoms of 32 bytes is not supported");
  return llvm::Error::success();
}

bool kvq::emu::tc::readOperand(const MatrixDescriptor &m, bool mnMajor,
                               const ElementPacking &packing, unsigned rows,
                               unsigned k, ReadChunk read, double *out,
                               unsigned rowStride, unsigned kStride) {
  unsigned per = packing.perChunk();
  double values[maxPerChunk];
  unsigned lines = mnMajor ? k : rows, length = mnMajor ? rows : k;
  unsigned lineStride = mnMajor ? kStride : rowStride;
  unsigned step = mnMajor ? rowStride : kStride;
  for (unsigned line = 0; line != lines; ++line)
    for (unsigned first = 0; first < length; first += per) {
      const uint8_t *chunk = read(chunkAddress(m, mnMajor, line, first / per));
      if (!chunk)
        return false;
      decodeChunk(packing, chunk, values);
      double *to = out + line * lineStride + first * step;
      for (unsigned e = 0; e != per && first + e < length; ++e)
        to[e * step] = values[e];
    }
  return true;
}
