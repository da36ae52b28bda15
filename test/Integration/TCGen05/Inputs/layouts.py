"""Where operands lie, from the tables of the PTX ISA.

Written from section 9.7.16.3 to 9.7.16.10 of the PTX ISA, for NumPy; shares
nothing with the compiler or the emulator.
"""

import ml_dtypes
import numpy as np

# Name in MLIR: NumPy type, bits.
TYPES = {
    "f16": (np.float16, 16),
    "bf16": (ml_dtypes.bfloat16, 16),
    "tf32": (np.float32, 32),
    "f8E4M3FN": (ml_dtypes.float8_e4m3fn, 8),
    "f8E5M2": (ml_dtypes.float8_e5m2, 8),
    "f6E2M3FN": (ml_dtypes.float6_e2m3fn, 6),
    "f6E3M2FN": (ml_dtypes.float6_e3m2fn, 6),
    "f4E2M1FN": (ml_dtypes.float4_e2m1fn, 4),
    "si8": (np.int8, 8),
    "ui8": (np.uint8, 8),
}
POISON = 0xFF


def codes(values, element):
    """The bits of values, which the type holds exactly, as uint32."""
    numpy_type, bits = TYPES[element]
    narrow = values.astype(numpy_type)
    assert (narrow.astype(np.float64) == values).all(), element
    if bits >= 8:
        return narrow.view(f"u{bits // 8}").astype(np.uint32)
    return narrow.view(np.uint8).astype(np.uint32)


class Layout:
    """A layout of shared memory: major, swizzle and strides in bytes."""

    WIDTHS = {"none": 16, "b32": 32, "b64": 64, "b128": 128, "b128_atom32": 128}

    def __init__(
        self, major="k", swizzle="none", padded=False, leading=None, stride=None
    ):
        self.major, self.swizzle, self.padded = major, swizzle, padded
        self.width = self.WIDTHS[swizzle]
        self.lines = 4 if swizzle == "b128_atom32" else 8
        self.leading, self.stride = leading, stride

    def text(self):
        parts = [self.major, self.swizzle] + ["padded"] * self.padded
        if self.leading:
            parts.append(f"leading = {self.leading}")
        if self.stride:
            parts.append(f"stride = {self.stride}")
        return ", ".join(parts)

    def bits(self, element):
        return 8 if self.padded else TYPES[element][1]

    def strides(self, rows, k, element):
        bits = self.bits(element)
        stride = self.stride
        if not stride:
            stride = 128 if self.swizzle == "none" else self.width * self.lines
        if self.leading:
            return self.leading, stride
        if self.major == "k":
            return -(-rows // 8) * stride, stride
        if self.swizzle == "none":
            return rows * bits // 128 * stride, stride
        return k // self.lines * stride, stride

    def chunk(self, line, index, leading, stride):
        """Byte offset of 16-byte chunk `index` of a line, before the swizzle."""
        width, per = self.width, self.width // 16
        if self.major == "k":
            return (
                line % 8 * width
                + line // 8 * stride
                + index // per * leading
                + index % per * 16
            )
        a, b = leading, stride
        if self.swizzle == "none":
            a, b = stride, leading
        return (
            index // per * a
            + index % per * 16
            + line % self.lines * width
            + line // self.lines * b
        )

    def swizzled(self, x):
        if self.swizzle == "none":
            return x
        if self.swizzle == "b128_atom32":
            return x ^ ((x >> 7 & 3) << 5)
        mask = {"b32": 1, "b64": 3, "b128": 7}[self.swizzle]
        return x ^ ((x >> 7 & mask) << 4)


def pack_chunk(values, bits, padded):
    """16 bytes from the elements of a chunk, low bits first."""
    total = 0
    for index, value in enumerate(values):
        total |= int(value) << (index * bits)
    used = len(values) * bits // 8
    data = np.frombuffer(total.to_bytes(used, "little"), np.uint8)
    return np.concatenate([data, np.full(16 - used, POISON, np.uint8)])


def write_tile(image, base, values, element, layout):
    """Puts a matrix [rows, k] into the bytes of shared memory at `base`."""
    rows, k = values.shape
    leading, stride = layout.strides(rows, k, element)
    bits = TYPES[element][1]
    per = 16 if layout.padded else 128 // bits
    matrix = codes(values, element)
    if layout.major == "mn":
        matrix = matrix.T
    for line in range(matrix.shape[0]):
        for index in range(matrix.shape[1] // per):
            chunk = pack_chunk(
                matrix[line, index * per : (index + 1) * per], bits, layout.padded
            )
            at = layout.swizzled(base + layout.chunk(line, index, leading, stride))
            image[at : at + 16] = chunk


def write_scales(image, base, scales):
    """Puts scale bytes [rows, n] into blocks of 128 x 4 at `base`."""
    rows, n = scales.shape
    for m in range(rows):
        for j in range(n):
            block = (m // 128) * (n // 4) + j // 4
            at = base + block * 512 + 16 * (m % 32) + 4 * (m % 128 // 32) + j % 4
            image[at] = scales[m, j]


def place(placement, m, n, total_n, lane=0):
    """Lane and column of D[m][n]."""
    if placement == "straight":
        return m, n
    if placement == "scattered":
        return lane + m % 16 + 32 * (m // 16), n
    folds = {"folded64": 2, "folded32": 4}[placement]
    width = total_n // folds
    return m + 128 // folds * (n // width), n % width


def write_accumulator(words, column, d, placement="straight", lane=0, kind="f32"):
    rows, n = d.shape
    bits = {
        "f32": lambda x: np.float32(x).view(np.uint32),
        "f16": lambda x: np.float16(x).view(np.uint16),
        "i32": lambda x: np.int32(x).view(np.uint32),
    }[kind]
    for m in range(rows):
        for c in range(n):
            at, col = place(placement, m, c, n, lane)
            words[at, column + col] = bits(d[m, c])


def write_operand(words, column, values, element, byte=False, lane=None):
    """Puts A [rows, k] into tensor memory; 64 rows are scattered at `lane`."""
    bits = 8 if byte else TYPES[element][1]
    shift = 2 if byte and TYPES[element][1] == 4 else 0
    matrix = codes(values, element) << shift
    per = 32 // bits
    for m in range(matrix.shape[0]):
        at = m if lane is None else lane + m % 16 + 32 * (m // 16)
        for k in range(0, matrix.shape[1], per):
            word = 0
            for j in range(per):
                word |= int(matrix[m, k + j]) << (j * bits)
            words[at, column + k // per] = word
