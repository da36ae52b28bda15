# RUN: %pytest %s
# REQUIRES: python
"""The two products of decode attention on an NVFP4 cache, a tile of 128 tokens
and 8 query rows of head_dim 128, as small kernels.

Scores: S^T = K Q^T by mxf4nvf4, K and its scales as they lie, Q split into two
NVFP4 terms by the kernel, which ride as further rows of B.

Values: V expanded exactly to f16 in tensor memory (parity columns), then
O^T = V^T P^T by kind f16.
"""

import ml_dtypes
import numpy as np

import emu_harness
import kernels
import layouts
from layouts import Layout

TOKENS, DIM, ROWS, BLOCK = 128, 128, 8, 16
GRID = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
E4M3 = ml_dtypes.float8_e4m3fn


def random_nvfp4(generator, rows):
    values = GRID[generator.integers(0, 8, (rows, DIM))] * generator.choice(
        [-1, 1], (rows, DIM)
    )
    scales = generator.uniform(0.05, 4, (rows, DIM // BLOCK)).astype(E4M3)
    return values, scales


def dequantized(values, scales):
    return values * np.repeat(scales.astype(np.float64), BLOCK, 1)


class Text:
    """Lines of MLIR with fresh names."""

    def __init__(self):
        self.lines, self.count = [], 0

    def __call__(self, line):
        self.count += 1
        self.lines.append(f"      %v{self.count} = {line}")
        return f"%v{self.count}"

    def do(self, line):
        self.lines.append("      " + line)

    def constant(self, value, type="i32"):
        if type == "f32":
            value = float(value)
        return self(f"arith.constant {value} : {type}")

    def op(self, name, a, b, type="i32"):
        b = self.constant(b) if isinstance(b, int) else b
        return self(f"arith.{name} {a}, {b} : {type}")

    def pointer(self, base, offset, space=3):
        return self(
            f"llvm.getelementptr {base}[{offset}] : (!llvm.ptr<{space}>, i32) -> !llvm.ptr<{space}>, i8"
        )

    def text(self):
        return "\n".join(self.lines) + "\n"


# ---------------------------------------------------------------------------
# Scores
# ---------------------------------------------------------------------------

BASE_Q, BASE_SK, BASE_SQ = 8192, 10240, 12288


def split_model(q, terms):
    """NVFP4 terms of Q in f32, as the kernel computes them."""
    rest, out = q.astype(np.float32), []
    for _ in range(terms):
        blocks = rest.reshape(ROWS, -1, BLOCK)
        scale = (np.abs(blocks).max(-1) / np.float32(6)).astype(E4M3)
        wide = scale.astype(np.float32)[..., None]
        with np.errstate(all="ignore"):
            codes = np.where(wide > 0, blocks / wide, np.float32(0))
        codes = np.clip(codes, -6, 6).astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
        out.append((codes * wide).reshape(ROWS, DIM).astype(np.float64))
        rest = (blocks - codes * wide).reshape(ROWS, DIM)
    return out


def split_text():
    """Thread t < 64 splits block t % 8 of row t / 8 into two terms."""
    e = Text()
    row, block = e.op("shrui", "%tid", 3), e.op("andi", "%tid", 7)
    offset = e.op("muli", "%tid", 64)
    x = e(
        f"llvm.load {e.pointer('%tin', offset, 1)} {{alignment = 16 : i64}} : !llvm.ptr<1> -> vector<16xf32>"
    )
    xs = [e(f"vector.extract {x}[{j}] : f32 from vector<16xf32>") for j in range(BLOCK)]
    six, zero = e.constant(6, "f32"), e.constant(0, "f32")
    for term in range(2):
        most = zero
        for value in xs:
            magnitude = e(
                f"arith.maximumf {value}, {e(f'arith.negf {value} : f32')} : f32"
            )
            most = e(f"arith.maximumf {most}, {magnitude} : f32")
        unrounded = e(f"arith.divf {most}, {six} : f32")
        pair = e(
            f"nvvm.convert.f32x2.to.f8x2 {zero}, {unrounded} {{rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>}} : vector<2xi8> (f8E4M3FN)"
        )
        byte = e(f"vector.extract {pair}[0] : i8 from vector<2xi8>")
        halves = e(
            f"nvvm.convert.f8x2.to.f16x2 {pair} : vector<2xi8> (f8E4M3FN) -> vector<2xf16>"
        )
        scale = e(
            f"arith.extf {e(f'vector.extract {halves}[0] : f16 from vector<2xf16>')} : f16 to f32"
        )
        some = e(f"arith.cmpf ogt, {scale}, {zero} : f32")
        n = e.op("addi", row, 8 * term)
        # Row n, block b of the tile: chunk b / 2 of 16 bytes, half b % 2.
        at = e.op(
            "addi",
            e.op("muli", e.op("andi", n, 7), 16),
            e.op("muli", e.op("shrui", n, 3), 128),
        )
        at = e.op("addi", at, e.op("muli", e.op("shrui", block, 1), 256))
        at = e.op("addi", at, e.op("muli", e.op("andi", block, 1), 8))
        to = e.pointer("%smem", e.op("addi", at, BASE_Q))
        rest = []
        for j in range(0, BLOCK, 2):
            codes = []
            for value in (xs[j + 1], xs[j]):
                quotient = e(f"arith.divf {value}, {scale} : f32")
                codes.append(e(f"arith.select {some}, {quotient}, {zero} : f32"))
            packed = e(
                f"nvvm.convert.f32x2.to.f4x2 {codes[0]}, {codes[1]} : i8 (f4E2M1FN)"
            )
            place = e(
                f"llvm.getelementptr {to}[{j // 2}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8"
            )
            e.do(f"llvm.store {packed}, {place} : i8, !llvm.ptr<3>")
            decoded = e(
                f"nvvm.convert.f4x2.to.f16x2 {packed} : i8 (f4E2M1FN) -> vector<2xf16>"
            )
            for h in range(2):
                wide = e(
                    f"arith.extf {e(f'vector.extract {decoded}[{h}] : f16 from vector<2xf16>')} : f16 to f32"
                )
                product = e(f"arith.mulf {wide}, {scale} : f32")
                rest.append(e(f"arith.subf {xs[j + h]}, {product} : f32"))
        # Scale (n, block) of the 128x4 blocks.
        at = e.op(
            "addi", e.op("muli", e.op("shrui", block, 2), 512), e.op("muli", n, 16)
        )
        at = e.op("addi", at, e.op("andi", block, 3))
        e.do(
            f"llvm.store {byte}, {e.pointer('%smem', e.op('addi', at, BASE_SQ))} : i8, !llvm.ptr<3>"
        )
        xs = rest
    return e.text()


def test_scores():
    generator = np.random.default_rng(5)
    k, k_scales = random_nvfp4(generator, TOKENS)
    q = generator.standard_normal((ROWS, DIM)).astype(np.float32)
    image = np.full(16384, layouts.POISON, np.uint8)
    layouts.write_tile(image, 0, k, "f4E2M1FN", Layout("k", "b64"))
    layouts.write_scales(image, BASE_SK, k_scales.view(np.uint8))
    image[BASE_SQ : BASE_SQ + 1024] = 0
    tiles = {
        "k": ("!kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>", 0),
        "q": ("!kvq_tcgen05.tile<16x128xf4E2M1FN, k, none>", BASE_Q),
        "sk": ("!kvq_tcgen05.scale_tile<128x8xf8E4M3FN>", BASE_SK),
        "sq": ("!kvq_tcgen05.scale_tile<128x8xf8E4M3FN>", BASE_SQ),
    }
    body = ""
    for name, (type, at) in tiles.items():
        body += f"""      %p{name} = llvm.getelementptr %smem[{at}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %t{name} = kvq_tcgen05.make_tile %p{name} : !llvm.ptr<3> to {type}
"""
    scales, d = "!kvq_tcgen05.scales<128x8xf8E4M3FN>", "!kvq_tcgen05.tmem<128x16xf32>"
    body += f"""      %d = kvq_tcgen05.region %base at 0 : {d}
      %rk = kvq_tcgen05.region %base at 16 : {scales}
      %rq = kvq_tcgen05.region %base at 24 : {scales}
      kvq_tcgen05.copy_scales %tsk to %rk : {tiles["sk"][0]} to {scales}
      kvq_tcgen05.copy_scales %tsq to %rq : {tiles["sq"][0]} to {scales}
      kvq_tcgen05.mma_block_scaled mxf4nvf4 ins(%tk, %tq : {tiles["k"][0]}, {tiles["q"][0]})
          scales(%rk, %rq : {scales}, {scales}) outs(%d : {d}) {{block = 16 : i64}}
"""
    split = (
        "    %c64_i32 = arith.constant 64 : i32\n"
        "    %splits = arith.cmpi ult, %tid, %c64_i32 : i32\n"
        "    scf.if %splits {\n" + split_text() + "    }\n"
        "    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}\n"
        "    gpu.barrier\n"
    )
    read = kernels.READ.format(c=0, columns=32)
    text = kernels.frame(split + kernels.issue(body) + read, 32, image.size, fill=False)
    path = kernels.ptx_file(text)
    exact_k = dequantized(k, k_scales)
    terms = split_model(q, 2)
    exact = exact_k @ q.astype(np.float64).T

    def error(scores, of):
        return np.linalg.norm(scores - of) / np.linalg.norm(of)

    for schedule in kernels.SCHEDULES:
        out = emu_harness.launch(path, "k", 1, 128, image.copy(), q.copy(),
                                 np.zeros((128, 32), np.uint32), schedule=schedule,
                                 check="all")[2]  # fmt: skip
        got = out.view(np.float32)[:, :16].astype(np.float64)
        for term in range(2):
            assert (
                error(got[:, 8 * term : 8 * term + 8], exact_k @ terms[term].T) < 1e-6
            )
        one, two = error(got[:, :8], exact), error(got[:, :8] + got[:, 8:], exact)
        # About 10% with one term and 1% with two.
        assert 0.05 < one < 0.15 and two < 0.015, (one, two)


# ---------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------

BASE_SV, BASE_P = 8192, 10240


def pair_lanes():
    """The lane of each pair of channels, as ldmatrix and 16x256b place it."""
    p = np.arange(64)
    return 32 * (p >> 5) + 16 * (p >> 4 & 1) + 8 * (p & 1) + (p >> 1 & 7)


def expand_text():
    """All four warps write V^T as f16 to %a: column c of the lane of pair p of
    half `half` holds channels 2p and 2p + 1 of token 64 * half + c."""
    e = Text()
    thread = e.op("andi", "%tid", 31)
    half, c2 = e.op("shrui", "%warp", 1), e.op("andi", "%warp", 1)
    a, i = e.op("shrui", thread, 2), e.op("andi", thread, 3)
    mx = e.op("shrui", thread, 3)
    words = {}
    for g in range(4):
        token = e.op(
            "addi",
            e.op("muli", half, 64),
            e.op("addi", e.op("muli", e.op("andi", mx, 1), 8), 16 * g),
        )
        token = e.op("addi", token, e.op("andi", thread, 7))
        chunk = e.op("addi", e.op("muli", c2, 2), e.op("shrui", mx, 1))
        linear = e.op("addi", e.op("muli", token, 64), e.op("muli", chunk, 16))
        swizzle = e.op("muli", e.op("andi", e.op("shrui", linear, 7), 3), 16)
        address = e.pointer("%smem", e.op("xori", linear, swizzle))
        loaded = e(
            f"nvvm.ldmatrix {address} {{num = 4 : i32, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>}} : (!llvm.ptr<3>) -> !llvm.struct<(i32,i32,i32,i32)>"
        )
        for jj in range(2):
            for x in range(2):
                word = e(
                    f"llvm.extractvalue {loaded}[{2 * jj + x}] : !llvm.struct<(i32,i32,i32,i32)>"
                )
                pairs = e('llvm.inline_asm "{ .reg .b8 b0, b1, b2, b3; mov.b32 {b0, b1, b2, b3}, $4; '
                          "cvt.rn.f16x2.e2m1x2 $0, b0; cvt.rn.f16x2.e2m1x2 $1, b1; "
                          'cvt.rn.f16x2.e2m1x2 $2, b2; cvt.rn.f16x2.e2m1x2 $3, b3; }", "=r,=r,=r,=r,r" '
                          f"{word} : (i32) -> !llvm.struct<(i32,i32,i32,i32)>")  # fmt: skip
                for t in range(2):
                    # The scale of token 64 half + 16 g + 8 x + 2 i + t and of
                    # the block of channels that byte 16 (2 c2 + jj) + 2 a is in.
                    row = e.op(
                        "addi",
                        e.op("muli", half, 64),
                        e.op("addi", e.op("muli", i, 2), 16 * g + 8 * x + t),
                    )
                    block = e.op(
                        "addi",
                        e.op("muli", c2, 4),
                        e.op("addi", e.op("shrui", a, 2), 2 * jj),
                    )
                    at = e.op(
                        "addi", e.op("addi", e.op("muli", row, 8), block), BASE_SV
                    )
                    byte = e(f"llvm.load {e.pointer('%smem', at)} : !llvm.ptr<3> -> i8")
                    both = e(f"vector.broadcast {byte} : i8 to vector<2xi8>")
                    scale = e(
                        f"nvvm.convert.f8x2.to.f16x2 {both} : vector<2xi8> (f8E4M3FN) -> vector<2xf16>"
                    )
                    for h in range(2):
                        bits = e(
                            f"llvm.extractvalue {pairs}[{2 * t + h}] : !llvm.struct<(i32,i32,i32,i32)>"
                        )
                        value = e(f"llvm.bitcast {bits} : i32 to vector<2xf16>")
                        product = e(f"arith.mulf {value}, {scale} : vector<2xf16>")
                        words[jj, 8 * g + 4 * x + 2 * h + t] = e(
                            f"llvm.bitcast {product} : vector<2xf16> to i32"
                        )
    for jj in range(2):
        elements = ", ".join(words[jj, r] for r in range(32))
        vector = e(f"vector.from_elements {elements} : vector<32xi32>")
        lane = f" {{lane = {16 * jj} : i64}}" if jj else ""
        e.do(
            f"kvq_tcgen05.store shape_16x256b {vector} to %a warp(%warp){lane} : vector<32xi32>, !kvq_tcgen05.tmem<128x128xf16>"
        )
    e.do("kvq_tcgen05.wait store")
    return e.text()


def test_values():
    generator = np.random.default_rng(6)
    v, v_scales = random_nvfp4(generator, TOKENS)
    p = generator.integers(0, 65, (ROWS, TOKENS)) / 64.0
    image = np.full(20480, layouts.POISON, np.uint8)
    layouts.write_tile(image, 0, v, "f4E2M1FN", Layout("k", "b64"))
    image[BASE_SV : BASE_SV + 1024] = v_scales.view(np.uint8).reshape(-1)
    # B[n][k] with n = 8 (2 half + parity) + q and k = 2 (token mod 64) + parity
    # holds P where parity and half agree, 0 elsewhere.
    b = np.zeros((32, 128))
    for half in range(2):
        for parity in range(2):
            n = 8 * (2 * half + parity)
            b[n : n + 8, parity::2] = p[:, 64 * half : 64 * half + 64]
    layout = Layout("mn", "none", leading=128, stride=2048)
    layouts.write_tile(image, BASE_P, b, "f16", layout)
    tile = f"!kvq_tcgen05.tile<32x128xf16, {layout.text()}>"
    a, d = "!kvq_tcgen05.tmem<128x128xf16>", "!kvq_tcgen05.tmem<128x32xf32>"
    body = f"""      %pb = llvm.getelementptr %smem[{BASE_P}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %b = kvq_tcgen05.make_tile %pb : !llvm.ptr<3> to {tile}
      %d = kvq_tcgen05.region %base at 64 : {d}
      kvq_tcgen05.mma f16 ins(%a, %b : {a}, {tile}) outs(%d : {d})
"""
    read = "".join(kernels.READ.format(c=c, columns=128) for c in (0, 32, 64))
    text = kernels.frame(
        f"    %a = kvq_tcgen05.region %base at 0 : {a}\n" + expand_text() + kernels.SYNC
        + kernels.issue(body) + read, 128, image.size, fill=False)  # fmt: skip
    path = kernels.ptx_file(text)
    exact = dequantized(v, v_scales)
    want_a = np.zeros((128, 64, 2))
    lanes = pair_lanes()
    for half in range(2):
        tokens = exact[64 * half : 64 * half + 64].reshape(64, 64, 2)
        want_a[64 * half + lanes] = tokens.transpose(1, 0, 2)
    want_o = p @ exact
    for schedule in kernels.SCHEDULES:
        out = emu_harness.launch(path, "k", 1, 128, image.copy(), np.zeros(16, np.uint32),
                                 np.zeros((128, 128), np.uint32), schedule=schedule,
                                 check="all")[2]  # fmt: skip
        got_a = out[:, :64].copy().view(np.float16).reshape(128, 64, 2)
        # V is exact in f16.
        assert (got_a.astype(np.float64) == want_a).all(), schedule
        got_d = out[:, 64:96].copy().view(np.float32).astype(np.float64)
        got_o = np.zeros((ROWS, DIM))
        for parity in range(2):
            low = got_d[lanes, 8 * parity : 8 * parity + 8]
            high = got_d[64 + lanes, 16 + 8 * parity : 24 + 8 * parity]
            got_o[:, parity::2] = (low + high).T
        assert np.linalg.norm(got_o - want_o) < 1e-6 * np.linalg.norm(want_o)
