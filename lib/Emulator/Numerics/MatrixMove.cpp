//===- MatrixMove.cpp - ldmatrix, stmatrix, movmatrix ---------------------===//

#include "kvq/Emulator/Numerics/MatrixMove.h"
#include <cstring>

using namespace kvq::emu::num;

static llvm::Error bad(const char *why) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), why);
}

static bool isCount(unsigned n) { return n == 1 || n == 2 || n == 4; }

llvm::Error kvq::emu::num::checkLdMatrix(const MatrixMoveSpec &s) {
  if (!isCount(s.num))
    return bad("ldmatrix: needs .x1, .x2 or .x4");
  bool plain = s.source == MatrixSource::Plain;
  switch (s.shape) {
  case MatrixShape::M8N8:
    return plain ? llvm::Error::success()
                 : bad("ldmatrix.m8n8: takes .b16 without unpacking");
  case MatrixShape::M16N16:
    if (s.num == 4)
      return bad("ldmatrix.m16n16: needs .x1 or .x2");
    return s.trans ? llvm::Error::success()
                   : bad("ldmatrix.m16n16: needs .trans");
  case MatrixShape::M8N16:
    if (plain)
      return bad("ldmatrix.m8n16: needs .b8x16.b6x16_p32 or .b4x16_p64");
    return s.trans ? bad("ldmatrix.m8n16: has no .trans")
                   : llvm::Error::success();
  case MatrixShape::M16N8:
    return bad("ldmatrix: m16n8 is a shape of stmatrix");
  }
  return bad("ldmatrix: unknown shape");
}

llvm::Error kvq::emu::num::checkStMatrix(const MatrixMoveSpec &s) {
  if (!isCount(s.num))
    return bad("stmatrix: needs .x1, .x2 or .x4");
  if (s.source != MatrixSource::Plain)
    return bad("stmatrix: does not pack");
  if (s.shape == MatrixShape::M8N8)
    return llvm::Error::success();
  if (s.shape == MatrixShape::M16N8)
    return s.trans ? llvm::Error::success()
                   : bad("stmatrix.m16n8: needs .trans");
  return bad("stmatrix: needs m8n8 or m16n8");
}

unsigned kvq::emu::num::matrixRows(const MatrixMoveSpec &s) {
  return (s.shape == MatrixShape::M16N16 ? 16 : 8) * s.num;
}

unsigned kvq::emu::num::matrixRegisters(const MatrixMoveSpec &s) {
  return (s.shape == MatrixShape::M16N16 ? 2 : 1) * s.num;
}

/// Sixteen elements of a row as bytes.
static void unpackRow(MatrixSource source, const uint8_t *row, uint8_t *out) {
  for (unsigned i = 0; i != 16; ++i) {
    switch (source) {
    case MatrixSource::Plain:
      out[i] = row[i];
      break;
    case MatrixSource::B4x16P64:
      out[i] = (row[i / 2] >> (4 * (i % 2))) & 0xf;
      break;
    case MatrixSource::B6x16P32: {
      unsigned bit = 6 * i;
      unsigned word = row[bit / 8] | (bit / 8 < 11 ? row[bit / 8 + 1] << 8 : 0);
      out[i] = (word >> (bit % 8)) & 0x3f;
      break;
    }
    }
  }
}

/// Byte `j` of register `r` of `lane`: the row that it comes from or goes to,
/// and the byte in the unpacked row.
static void locate(const MatrixMoveSpec &s, unsigned lane, unsigned r,
                   unsigned j, unsigned &row, unsigned &byte) {
  unsigned group = lane / 4, thread = lane % 4;
  switch (s.shape) {
  case MatrixShape::M8N8:
    if (!s.trans) {
      row = 8 * r + group;
      byte = 4 * thread + j;
    } else {
      // Element pair (2t, 2t + 1) of column g: one 16-bit element per row.
      row = 8 * r + 2 * thread + j / 2;
      byte = 2 * group + j % 2;
    }
    return;
  case MatrixShape::M8N16:
    row = 8 * r + group;
    byte = 4 * thread + j;
    return;
  case MatrixShape::M16N16:
    // Column g (first register) or g + 8 (second) of rows 4t .. 4t + 3.
    row = 16 * (r / 2) + 4 * thread + j;
    byte = group + 8 * (r % 2);
    return;
  case MatrixShape::M16N8:
    // An mma accumulator: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1),
    // stored column by column.
    row = 8 * r + 2 * thread + j % 2;
    byte = group + 8 * (j / 2);
    return;
  }
}

void kvq::emu::num::loadMatrix(const MatrixMoveSpec &s, const uint8_t *rows,
                               uint32_t *regs) {
  uint8_t unpacked[32 * 16];
  for (unsigned i = 0, e = matrixRows(s); i != e; ++i)
    unpackRow(s.source, rows + i * matrixRowBytes, unpacked + i * 16);
  unsigned count = matrixRegisters(s);
  for (unsigned lane = 0; lane != 32; ++lane)
    for (unsigned r = 0; r != count; ++r) {
      uint32_t word = 0;
      for (unsigned j = 0; j != 4; ++j) {
        unsigned row = 0, byte = 0;
        locate(s, lane, r, j, row, byte);
        word |= static_cast<uint32_t>(unpacked[row * 16 + byte]) << (8 * j);
      }
      regs[lane * count + r] = word;
    }
}

void kvq::emu::num::storeMatrix(const MatrixMoveSpec &s, const uint32_t *regs,
                                uint8_t *rows) {
  unsigned count = matrixRegisters(s);
  for (unsigned lane = 0; lane != 32; ++lane)
    for (unsigned r = 0; r != count; ++r)
      for (unsigned j = 0; j != 4; ++j) {
        unsigned row = 0, byte = 0;
        locate(s, lane, r, j, row, byte);
        rows[row * matrixRowBytes + byte] =
            static_cast<uint8_t>(regs[lane * count + r] >> (8 * j));
      }
}

void kvq::emu::num::transposeMatrix(const uint32_t *in, uint32_t *out) {
  uint16_t m[8][8];
  for (unsigned lane = 0; lane != 32; ++lane)
    for (unsigned j = 0; j != 2; ++j)
      m[lane / 4][2 * (lane % 4) + j] =
          static_cast<uint16_t>(in[lane] >> (16 * j));
  for (unsigned lane = 0; lane != 32; ++lane)
    out[lane] = m[2 * (lane % 4)][lane / 4] |
                static_cast<uint32_t>(m[2 * (lane % 4) + 1][lane / 4]) << 16;
}
