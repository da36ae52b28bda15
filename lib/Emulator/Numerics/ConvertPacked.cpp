//===- ConvertPacked.cpp - cvt of pairs and quadruples --------------------===//

#include "ArithDetail.h"
#include "ConvertDetail.h"
#include "FormatDetail.h"

using namespace kvq::emu::num;
using namespace kvq::emu::num::cvt;

/// One element of format `from` to one of the destination's format.
static uint64_t convertElement(const TypeInfo &dst, Format from, uint64_t bits,
                               const EncodeOptions &o) {
  Format to = dst.format;
  if (o.round == Round::RN && !o.relu && to != Format::UE8M0) {
    if (from == Format::F32 && !o.satfinite && to == Format::F16)
      return narrowFromF64<5, 10>(widenToF64(bits, 8, 23, 127), 0x7fff);
    if (from == Format::F32 && !o.satfinite && to == Format::BF16)
      return narrowFromF64<8, 7>(widenToF64(bits, 8, 23, 127), 0x7fff);
    const FormatInfo &f = info(to);
    uint64_t overflow = o.satfinite || f.specials == Specials::None
                            ? f.maxFinite
                        : f.specials == Specials::IEEE ? f.maxFinite + 1
                                                       : f.canonNaN;
    uint64_t nan = f.specials == Specials::None ? f.maxFinite : f.canonNaN;
    uint64_t wide = from == Format::F32   ? widenToF64(bits, 8, 23, 127)
                    : from == Format::F16 ? widenToF64(bits, 5, 10, 15)
                                          : widenToF64(bits, 8, 7, 127);
    return narrowRN(wide, f.expBits, f.manBits, f.maxFinite, overflow, nan);
  }
  return encode(to, decode(from, bits), o);
}

/// The scale factor of S2F6 for one element, as a power of two. False for NaN.
static bool scaleExponent(const CvtSpec &s, uint64_t scales, bool high,
                          int &e) {
  e = 0;
  if (!s.scaled)
    return true;
  unsigned code = (high ? scales >> 8 : scales) & 0xff;
  e = static_cast<int>(code) - 127;
  return code != 0xff;
}

uint64_t cvt::pairFromF32(const CvtSpec &s, const uint64_t *in) {
  const TypeInfo &dst = typeInfo(s.dst);
  EncodeOptions o = encodeOptions(s);
  uint64_t out = 0;
  for (unsigned i = 0; i != 2; ++i) {
    bool high = i == 0;
    uint64_t bits = in[i] & 0xffffffff;
    if (s.round == CvtRound::RS) {
      uint32_t half = high ? in[2] >> 16 : in[2] & 0xffff;
      o.randomBits = s.dst == CvtType::F16x2 ? 13 : 16;
      o.random = half & lowMask(o.randomBits);
    }
    uint64_t code;
    if (s.dst == CvtType::S2F6x2) {
      int e;
      Real r = decode(Format::F32, bits);
      if (!scaleExponent(s, s.scaled ? in[2] : 0, high, e))
        r = Real::nan();
      r.exponent -= e;
      code = encode(dst.format, r, o);
    } else {
      code = convertElement(dst, Format::F32, bits, o);
    }
    out |= code << (high ? dst.elementBits : 0);
  }
  return out;
}

uint64_t cvt::pairFromHalves(const CvtSpec &s, const uint64_t *in) {
  const TypeInfo &src = typeInfo(s.src), &dst = typeInfo(s.dst);
  EncodeOptions o = encodeOptions(s);
  uint64_t out = 0;
  for (unsigned i = 0; i != 2; ++i) {
    uint64_t bits = (in[0] >> (16 * i)) & 0xffff;
    if (dst.format != Format::S2F6) {
      out |= convertElement(dst, src.format, bits, o) << (i * dst.elementBits);
      continue;
    }
    Real r = decode(src.format, bits);
    int e;
    if (!scaleExponent(s, s.scaled ? in[1] : 0, i, e))
      r = Real::nan();
    r.exponent -= e;
    out |= encode(dst.format, r, o) << (i * dst.elementBits);
  }
  return out;
}

uint64_t cvt::halvesFromPair(const CvtSpec &s, const uint64_t *in) {
  const TypeInfo &src = typeInfo(s.src), &dst = typeInfo(s.dst);
  EncodeOptions o = encodeOptions(s);
  bool simple = !s.relu && !s.satfinite && !s.scaled && s.dst == CvtType::F16x2;
  uint64_t out = 0;
  for (unsigned i = 0; i != 2; ++i) {
    uint64_t code = (in[0] >> (i * src.elementBits)) & lowMask(src.elementBits);
    uint64_t value;
    if (simple) {
      value = roundToF16(toDouble(src.format, code));
    } else {
      Real r = decode(src.format, code);
      int e;
      if (!scaleExponent(s, s.scaled ? in[1] : 0, i, e))
        r = Real::nan();
      r.exponent += e;
      value = encode(dst.format, r, o);
    }
    out |= value << (16 * i);
  }
  return out;
}

uint64_t cvt::quadFromF32(const CvtSpec &s, const uint64_t *in) {
  const TypeInfo &dst = typeInfo(s.dst);
  EncodeOptions o = encodeOptions(s);
  uint32_t rbits = static_cast<uint32_t>(in[4]);
  // {a, b} and {e, f} have 16 random bits each: the halves of rbits, or for
  // E2M1 the upper and the lower bytes of its two halves.
  uint32_t forAB = rbits >> 16, forEF = rbits & 0xffff;
  if (dst.format == Format::E2M1) {
    forAB = (rbits >> 16 & 0xff00) | (rbits >> 8 & 0xff);
    forEF = (rbits >> 8 & 0xff00) | (rbits & 0xff);
  }
  o.randomBits = 16;
  uint64_t out = 0;
  for (unsigned i = 0; i != 4; ++i) {
    o.random = i < 2 ? forAB : forEF;
    uint64_t code = encode(dst.format, decode(Format::F32, in[i]), o);
    out |= code << ((3 - i) * dst.elementBits);
  }
  return out;
}
