//===- Format.h - Floating-point formats and exact values -----------------===//
//
// The storage formats of PTX and one exact value type between them. Every
// conversion and every softly computed operation of the emulator is "make the
// exact value, then round it once", so rounding lives in one place: encode().
//
// Nothing here depends on the host's rounding mode or on its FTZ/DAZ flags.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_NUMERICS_FORMAT_H
#define KVQ_EMULATOR_NUMERICS_FORMAT_H

#include <cstdint>

namespace kvq::emu::num {

__extension__ typedef unsigned __int128 UInt128;

/// A storage format. TF32 is a 32-bit word whose low 13 bits are ignored when
/// read and zero when written. Formats narrower than a byte sit in the low bits
/// of a code. UE4M3 is E4M3 without a sign (block scales of NVFP4): bit 7 is
/// ignored. S2F6 is 8-bit two's complement fixed point with 6 fraction bits.
enum class Format : uint8_t {
  F64,
  F32,
  TF32,
  F16,
  BF16,
  E4M3,
  E5M2,
  E2M1,
  E2M3,
  E3M2,
  UE8M0,
  UE4M3,
  S2F6,
};
constexpr unsigned numFormats = 13;

/// What a format can hold besides numbers.
enum class Specials : uint8_t {
  IEEE,    ///< Infinities and NaNs in the largest exponent.
  NaNOnly, ///< All ones is NaN, no infinity (E4M3, UE8M0).
  None,    ///< Numbers only (E2M1, E2M3, E3M2, S2F6).
};

/// The shape of a format. A code is sign, exponent, mantissa from the top bit
/// down (`expBits` is 0 for S2F6).
struct FormatInfo {
  const char *name;   ///< As PTX spells it, "e4m3".
  uint8_t bits;       ///< Width of a code; 32 for TF32.
  uint8_t expBits;    ///< Width of the exponent field.
  uint8_t manBits;    ///< Stored mantissa bits, 10 for TF32.
  int16_t bias;       ///< Exponent bias.
  bool isSigned;      ///< False for UE8M0 and UE4M3.
  Specials specials;  ///< Encodings that are not numbers.
  uint64_t canonNaN;  ///< The NaN that results have, 0 where there is none.
  uint64_t maxFinite; ///< Code of the largest finite value, sign 0.
};

/// Returns the description of `format`.
const FormatInfo &info(Format format);

/// Rounding of an exact value. RS adds `EncodeOptions::random` to the discarded
/// bits and rounds away from zero on a carry (stochastic rounding).
enum class Round : uint8_t { RN, RNA, RZ, RM, RP, RS };

/// An exact value: (-1)^negative * significand * 2^exponent, a little more in
/// magnitude when `sticky` is set (strictly less than one unit of the
/// significand more), or a special.
struct Real {
  enum class Kind : uint8_t { Finite, Infinity, NaN };
  Kind kind = Kind::Finite;
  bool negative = false;
  bool sticky = false;
  int32_t exponent = 0;
  UInt128 significand = 0;

  bool isNaN() const { return kind == Kind::NaN; }
  bool isInf() const { return kind == Kind::Infinity; }
  bool isFinite() const { return kind == Kind::Finite; }
  bool isZero() const { return isFinite() && significand == 0 && !sticky; }

  static Real nan() {
    Real r;
    r.kind = Kind::NaN;
    return r;
  }
  static Real infinity(bool negative) {
    Real r;
    r.kind = Kind::Infinity;
    r.negative = negative;
    return r;
  }
  static Real zero(bool negative) {
    Real r;
    r.negative = negative;
    return r;
  }
  static Real make(bool negative, UInt128 significand, int32_t exponent) {
    Real r;
    r.negative = negative;
    r.significand = significand;
    r.exponent = exponent;
    return r;
  }
};

/// How encode() rounds and clamps.
struct EncodeOptions {
  Round round = Round::RN;
  /// Out-of-range magnitudes, infinities too, become the largest finite value.
  /// Formats without an infinity behave like this for numbers in any case,
  /// except E4M3, UE4M3 and UE8M0, whose overflow is their NaN without it.
  bool satfinite = false;
  /// Negative results, -0 included, become +0.
  bool relu = false;
  /// Subnormal results become zero of the same sign.
  bool ftz = false;
  /// Clamp to [0, 1], NaN to +0.
  bool sat = false;
  /// The random bits of Round::RS, right-aligned, `randomBits` of them. They
  /// are added below the last kept bit, the most significant ones first.
  uint32_t random = 0;
  uint8_t randomBits = 0;
};

/// The exact value of a code (the low bits of `bits`; the rest is ignored).
Real decode(Format format, uint64_t bits);

/// Rounds an exact value to a code of `format`, once. NaN becomes the format's
/// canonical NaN, or the largest positive value where there is none (the rule
/// of PTX for E2M1, E2M3, E3M2, S2F6). UE8M0 has neither sign nor zero: it
/// takes the magnitude, and what is below its smallest value 2^-127 becomes
/// that. Negative values become 0 in UE4M3. Overflow follows the rounding
/// direction, as IEEE 754 says.
uint64_t encode(Format format, const Real &value,
                const EncodeOptions &options = {});

/// The value of a code as a double: exact for every format. NaN and infinities
/// map to theirs. A table look-up for formats of at most 8 bits.
double toDouble(Format format, uint64_t bits);

/// The exact value of a double.
Real fromDouble(double value);

/// Exact value of a signed or unsigned integer.
Real fromInteger(uint64_t magnitude, bool negative);

/// a * b, a + b and a * b + c, exact (NaN for invalid operations; the sign of
/// an exact zero sum follows `round`: -0 under RM, else +0). The sums may set
/// `sticky`: they keep at least 64 bits below the leading one.
Real mulExact(const Real &a, const Real &b);
Real addExact(const Real &a, const Real &b, Round round = Round::RN);
Real fmaExact(const Real &a, const Real &b, const Real &c,
              Round round = Round::RN);
/// a / b and the square root with at least 64 correct bits and `sticky`.
Real divExact(const Real &a, const Real &b);
Real sqrtExact(const Real &a);

} // namespace kvq::emu::num

#endif // KVQ_EMULATOR_NUMERICS_FORMAT_H
