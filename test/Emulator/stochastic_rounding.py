# RUN: %pytest %s
# REQUIRES: python
"""cvt.rs: bit for bit what the PTX document says of the random bits.

They are added below the last place that is kept, their highest bit just below
it, and a carry rounds away from zero. So |x| = (n + f) units of the last place
rounds up if f + random / 2^bits >= 1, which is computed here with fractions.
"""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from emu_harness import launch, ptx_file

# Type, bits of an element, exponent and mantissa bits, and the largest value.
FORMATS = {
    "f16x2": (np.float16, 16, 5, 10, 65504),
    "bf16x2": (ml_dtypes.bfloat16, 16, 8, 7, float(ml_dtypes.finfo("bfloat16").max)),
    "e4m3x4": (ml_dtypes.float8_e4m3fn, 8, 4, 3, 448),
    "e5m2x4": (ml_dtypes.float8_e5m2, 8, 5, 2, 57344),
    "e2m3x4": (ml_dtypes.float6_e2m3fn, 8, 2, 3, 7.5),
    "e3m2x4": (ml_dtypes.float6_e3m2fn, 8, 3, 2, 28),
    "e2m1x4": (ml_dtypes.float4_e2m1fn, 4, 2, 1, 6),
}


def random_bits(to, word, operand):
    """The random bits of an operand, which counts from the first, and how many."""
    if to in ("f16x2", "bf16x2"):
        half = word >> 16 if operand == 0 else word & 0xFFFF
        return (half & 0x1FFF, 13) if to == "f16x2" else (half, 16)
    if to == "e2m1x4":
        # The upper bytes of both halves, or the lower ones.
        shift = 8 if operand < 2 else 0
        return (word >> 16 + shift & 0xFF) << 8 | word >> shift & 0xFF, 16
    return (word >> 16 if operand < 2 else word & 0xFFFF), 16


def unit(to, x):
    """The last place of the format at |x|, and the bias of the exponent."""
    _, _, exponent_bits, mantissa, _ = FORMATS[to]
    lowest = 2 - 2 ** (exponent_bits - 1)
    exponent = max(np.frexp(np.float64(abs(x)))[1] - 1, lowest)
    return Fraction(2) ** int(exponent - mantissa)


def rounded(to, x, word, operand, relu, satfinite):
    """The code that x becomes."""
    kind, _, _, _, largest = FORMATS[to]
    integer = np.uint16 if to in ("f16x2", "bf16x2") else np.uint8
    if np.isnan(x):
        has_nan = to in ("f16x2", "bf16x2", "e4m3x4", "e5m2x4")
        if has_nan:
            return {"f16x2": 0x7FFF, "bf16x2": 0x7FFF}.get(to, 0x7F)
        return int(np.array(largest, kind).view(integer))
    negative = bool(np.signbit(x)) and not relu
    if np.signbit(x) and relu:
        return 0
    if np.isinf(x):
        magnitude = Fraction(2) ** 200
    else:
        size = unit(to, x)
        places = Fraction(float(abs(x))) / size
        random, bits = random_bits(to, word, operand)
        whole = places.numerator // places.denominator
        up = places - whole + Fraction(random, 2**bits) >= 1
        magnitude = (whole + up) * size
    if magnitude > Fraction(float(largest)):
        magnitude = largest if satfinite else np.inf
    code = int(np.array(float(magnitude), kind).view(integer))
    sign = {"e2m1x4": 8, "e2m3x4": 0x20, "e3m2x4": 0x20, "e4m3x4": 0x80,
            "e5m2x4": 0x80}.get(to, 0x8000)  # fmt: skip
    return code | sign * negative


def operands(to, rows, count):
    """Values of all magnitudes, and random bits: any, and those that are the
    last to round down or the first to round up."""
    rng = np.random.default_rng(count)
    largest = min(float(FORMATS[to][4]), 1e38)
    lowest = float(unit(to, 0.0))
    exponents = rng.uniform(np.log2(lowest) - 3, np.log2(largest) + 0.6, (rows, count))
    x = np.exp2(exponents).astype(np.float32)
    x[::7] = np.ldexp(rng.integers(0, 64, x[::7].shape), -4).astype(np.float32)
    x *= rng.choice([-1, 1], x.shape)
    x[:6, 0] = [0, -0.0, np.inf, -np.inf, np.nan, largest]
    words = rng.integers(0, 2**32, rows, dtype=np.uint32)
    words[8], words[9] = 0, 0xFFFFFFFF
    for row in range(10, rows, 2):
        operand = int(rng.integers(count))
        size = unit(to, x[row, operand])
        places = Fraction(float(abs(x[row, operand]))) / size
        bits = 13 if to == "f16x2" else 16
        part = (places - places.numerator // places.denominator) * 2**bits
        first = 2**bits - part.numerator // part.denominator
        value = (first - row // 2 % 2) % 2**bits
        word = int(words[row])
        if to in ("f16x2", "bf16x2"):
            keep = 0xE000 if to == "f16x2" else 0
            shift = 16 if operand == 0 else 0
            word = word & ~((0xFFFF ^ keep) << shift) | value << shift
        elif to == "e2m1x4":
            shift = 8 if operand < 2 else 0
            word &= ~(0x00FF00FF << shift)
            word |= (value >> 8) << 16 + shift | (value & 0xFF) << shift
        else:
            shift = 16 if operand < 2 else 0
            word = word & ~(0xFFFF << shift) | value << shift
        words[row] = word & 0xFFFFFFFF
    return x, words


CASES = [
    (to, relu, satfinite)
    for to in FORMATS
    for relu in ("", ".relu")
    for satfinite in ("", ".satfinite")
    if satfinite or to in ("f16x2", "bf16x2")
]


@pytest.mark.parametrize("to,relu,satfinite", CASES)
def test_every_random_bit(to, relu, satfinite):
    count = 2 if to in ("f16x2", "bf16x2") else 4
    width = FORMATS[to][1]
    # {a, b, e, f} in braces, a and b without.
    names = ", ".join(f"%r{4 + i}" for i in range(count))
    names = names if count == 2 else "{" + names + "}"
    result = "%h" if to == "e2m1x4" else "%r9"
    body = f"""
.reg .b16 %h;
mov.u32 %r0, %tid.x;
mov.u32 %r1, %ctaid.x;
mad.lo.u32 %r0, %r1, 128, %r0;
mul.wide.u32 %rd0, %r0, 16;
add.u64 %rd0, %rd0, %a0;
ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%rd0];
mul.wide.u32 %rd1, %r0, 4;
add.u64 %rd2, %rd1, %a1;
ld.global.b32 %r8, [%rd2];
cvt.rs{relu}{satfinite}.{to}.f32 {result}, {names}, %r8;
{"cvt.u32.u16 %r9, %h;" if to == "e2m1x4" else ""}
st.global.b32 [%rd2], %r9;
"""
    path = ptx_file("round", body, ("u64", "u64"))
    rows = 1024
    x, words = operands(to, rows, count)
    padded = np.zeros((rows, 4), np.float32)
    padded[:, :count] = x
    got = launch(path, "round", rows // 128, 128, padded, words, check="all")[1]
    for row in range(rows):
        # The first operand is the uppermost.
        for operand in range(count):
            found = int(got[row]) >> width * (count - 1 - operand) & 2**width - 1
            want = rounded(to, x[row, operand], int(words[row]), operand, bool(relu),
                           bool(satfinite))  # fmt: skip
            assert found == want, (x[row, operand], hex(words[row]), operand)
