//===- Multiply.cpp - The arithmetic of one tcgen05.mma -------------------===//

#include "kvq/Emulator/TensorCore/Multiply.h"
#include "kvq/Emulator/Numerics/Arith.h"
#include <cmath>

using namespace kvq::emu;
using namespace kvq::emu::tc;

double kvq::emu::tc::decodeAccumulator(MmaType d, uint32_t cell) {
  if (d == MmaType::S32)
    return static_cast<int32_t>(cell);
  return num::toDouble(d == MmaType::F16 ? num::Format::F16 : num::Format::F32,
                       d == MmaType::F16 ? cell & 0xffff : cell);
}

uint32_t kvq::emu::tc::encodeAccumulator(MmaType d, double sum, bool saturate) {
  if (d == MmaType::F16)
    return num::roundAccumulatorF16(sum);
  if (d == MmaType::F32)
    return num::roundAccumulatorF32(sum);
  // Sums of 8-bit products and an s32 are far below 2^53.
  int64_t v = static_cast<int64_t>(sum);
  if (saturate)
    v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
  return static_cast<uint32_t>(v);
}

void kvq::emu::tc::decodeAccumulators(MmaType d, const uint32_t *cells,
                                      unsigned count, double *sums) {
  if (d == MmaType::F32)
    return num::decodeElements(num::Format::F32, cells, 32, count, sums);
  for (unsigned i = 0; i != count; ++i)
    sums[i] = decodeAccumulator(d, cells[i]);
}

void kvq::emu::tc::encodeAccumulators(MmaType d, const double *sums,
                                      unsigned count, bool saturate,
                                      uint32_t *cells) {
  if (d == MmaType::F32)
    return num::roundAccumulatorsF32(sums, count, cells);
  for (unsigned i = 0; i != count; ++i)
    cells[i] = encodeAccumulator(d, sums[i], saturate);
}

void kvq::emu::tc::applyScales(double *values, unsigned lines, unsigned k,
                               unsigned lineStride, unsigned kStride,
                               const double *scales, unsigned scaleVec) {
  unsigned chunk = k / scaleVec;
  for (unsigned l = 0; l != lines; ++l)
    for (unsigned j = 0; j != scaleVec; ++j) {
      double scale = scales[l * scaleVec + j];
      double *first = values + l * lineStride + j * chunk * kStride;
      if (kStride == 1)
        for (unsigned i = 0; i != chunk; ++i)
          first[i] *= scale;
      else
        for (unsigned i = 0; i != chunk; ++i)
          first[i * kStride] *= scale;
    }
}

void kvq::emu::tc::multiply(const InstructionDescriptor &i, unsigned rows,
                            unsigned columns, double *a, const double *b,
                            double *acc, bool accumulate, unsigned inputShift) {
  num::HostFPScope scope;
  size_t cells = static_cast<size_t>(rows) * columns;
  if (!accumulate) {
    for (size_t c = 0; c != cells; ++c)
      acc[c] = 0;
  } else if (inputShift) {
    for (size_t c = 0; c != cells; ++c)
      acc[c] = std::ldexp(acc[c], -static_cast<int>(inputShift));
  }
  // One sign on one operand does for both.
  if (i.negateA != i.negateB)
    for (size_t e = 0, end = static_cast<size_t>(rows) * i.k; e != end; ++e)
      a[e] = -a[e];
  num::multiplyAccumulate(acc, columns, a, b, columns, rows, columns, i.k);
}
