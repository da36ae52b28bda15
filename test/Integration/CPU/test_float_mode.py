# RUN: %pytest %s
# REQUIRES: python
"""Reading and rotating do not depend on the control word of the process: flush to zero
and denormals are zero, which a library may have set."""

import os
import platform
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "Inputs"))
from oracle import formats, rope
from placement import TOKEN_FORMATS, TokenCache
from program import TARGETS, Program
from test_attention_edges import Given, GivenCase, filled
from test_plain_ops import check_all_bytes

pytestmark = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"),
                                reason="sets bits of MXCSR")

#: A process that loads it has FTZ and DAZ (bits 15 and 6 of MXCSR) set, in its
#: later threads too.
SOURCE = """
__attribute__((constructor)) static void set(void) {
  __builtin_ia32_ldmxcsr(0x9fc0);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("mode") / "flush.so"
    subprocess.run([os.environ.get("KVQ_CC", "clang"), "-x", "c", "-", "-shared",
                    "-fPIC", "-o", path], input=SOURCE, text=True, check=True)
    return path


@pytest.fixture
def flushing(library, monkeypatch):
    """Child processes flush subnormals to zero."""
    others = os.environ.get("LD_PRELOAD")
    monkeypatch.setenv("LD_PRELOAD", f"{others}:{library}" if others else str(library))


#: 2^-126 is the least normal number.
CODE = "import math; print(math.frexp(2.0**-1022 * 0.5)[0] == 0)"


def test_fixture(flushing):
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.stdout == "True\n", done


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", formats.FORMATS)
@pytest.mark.parametrize("g", [0.37, 1e-36, 2.0**-126, 1e-39])
def test_dequantize(name, g, target, flushing, tmp_path):
    """The bits of every element under every scale, f32 subnormals included."""
    if g != 0.37 and not formats.FORMATS[name].has_global:
        pytest.skip("a format without a global scale")
    check_all_bytes(name, g, target, tmp_path)


def tiny(random, name, side, lens, table):
    """A cache whose values are about 2^-122 (f16: what it has as subnormals),
    made of subnormal parts where a format can."""
    stored = TOKEN_FORMATS.get(name) or formats.FORMATS[name]
    like = filled(random, 4, "fp8" if name in TOKEN_FORMATS else name, side,
                  page=32)
    if name in TOKEN_FORMATS:
        like = TokenCache.random(like, stored, 1.0, lens, table, random)
    if stored.has_global:
        like.g = np.float32(1e-39)
    elif name == "bf16":
        view = like.data.view("<u2")  # 2^-122: the exponent field less 122
        exponent = view >> 7 & 0xFF
        view[...] = np.where(exponent > 122, view - (122 << 7), view & 0x807F)
    elif name == "f16":
        like.data.view("<u2")[...] &= 0x83FF
    else:
        like.scales[...] = np.where(like.scales == 0xFF, 0xFF, like.scales % 4)
    return like


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [*formats.FORMATS, *TOKEN_FORMATS])
def test_attention(name, target, flushing, tmp_path):
    """Tiny keys under a large scale, tiny values, against float64."""
    random = np.random.default_rng(3)
    lens = np.array([1, 33, 64], np.int32)
    table = np.array([[0, 9], [3, 1], [2, 1]], np.int32)
    sides = {side: tiny(random, name, side, lens, table) for side in ("key", "value")}
    q = random.standard_normal((3, 1, 6, 64)).astype(np.float32)
    scale = 2.0**17 if name == "f16" else 2.0**118
    case = GivenCase({}, Given(q, table, lens, scale=scale), sides)
    out, _ = case.expected()
    assert np.abs(out).max() < (2.0**-12 if name == "f16" else 2.0**-110)
    # Attention that is nearly uniform would hide wrong logits.
    assert np.abs(out[1] - out[1, :, :1]).max() > 0
    case.check(target, tmp_path)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("style", rope.STYLES)
def test_rope(style, target, flushing, tmp_path):
    """Products and sums that are subnormal in f32, seen in bf16, which has the
    same."""
    random = np.random.default_rng(5)
    shape, kind = (16, 1, 64), "!kvq.cache<key, 16x1x64, bf16, NHD>"
    x, cos, sin = (
        (random.standard_normal(s) * 2.0 ** random.integers(-70, -60, s)
         * random.integers(0, 2, s)).astype(np.float32)
        for s in (shape, (16, 32), (16, 32)))
    p, data_type = Program(), "memref<?x16x1x64xbf16>"
    data = p.argument("data", data_type, np.zeros((1, *shape), np.uint16), True)
    cache = p.define("k", f"kvq.make_cache data({data} : {data_type}) : {kind}")
    arrays = {"x": x, "cos": cos, "sin": sin}
    (x_, xt), (c, ct), (s, st) = (p.array(name, "memref", "f32", array)
                                  for name, array in arrays.items())
    slots, t = p.array("slots", "memref", "i32", np.arange(16, dtype=np.int32))
    p.emit(f"kvq.quantize_append ins({x_} : {xt}) into({cache} : {kind}) "
           f"slot_mapping({slots} : {t}) rope({c}, {s} : {ct}, {st}) "
           f"{{rope_style = #kvq<rope_style {style}>}}")
    found = p.run(target, tmp_path)[data].view(np.uint16)
    rotated = rope.rotate(x, cos, sin, style)
    tiny = (rotated != 0) & (np.abs(rotated) < 2.0**-126)
    assert 0.1 < tiny.mean() < 0.9
    expected = rotated.astype(ml_dtypes.bfloat16).view(np.uint16)
    np.testing.assert_array_equal(found, expected.reshape(found.shape))
