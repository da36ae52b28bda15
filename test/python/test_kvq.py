# RUN: %pytest %s
# REQUIRES: python, compiler
"""The Python package over libKVQ-C."""

import gc

import ml_dtypes
import numpy as np
import pytest

import kvq
from oracle import formats

MODULE = """\
func.func @append(%k: !kvq.cache<key, 16x2x32, nvfp4, NHD, linear>,
                  %x: memref<?x2x32xf32>, %slots: memref<?xi32>) {
  kvq.quantize_append ins(%x : memref<?x2x32xf32>)
      into(%k : !kvq.cache<key, 16x2x32, nvfp4, NHD, linear>)
      slot_mapping(%slots : memref<?xi32>)
  return
}
"""


@pytest.fixture(scope="module")
def context():
    return kvq.Context()


def test_version():
    assert kvq.__version__.count(".") == 2


def test_parse_print_run(context):
    module = context.parse(MODULE)
    text = str(module)
    assert "kvq.quantize_append" in text
    assert str(context.parse(text)) == text
    module.verify()
    assert module.run_pipeline("kvq-verify-handles") == []
    module.run_pipeline("builtin.module(kvq-to-cpu{reference})")
    assert "llvm.func @append" in str(module)
    assert "kvq.quantize_append" not in str(module)


def test_module_outlives_its_names():
    module = kvq.Context().parse(MODULE)
    gc.collect()
    module.verify()


def test_errors_have_places(context):
    with pytest.raises(kvq.Error) as info:
        context.parse("func.func @f(\n  %k: !kvq.cache<key, 16x8, bf16, NHD>) {}", "x.mlir")
    error = info.value.diagnostics[0]
    assert (error.severity, error.file, error.line) == ("error", "x.mlir", 2)
    assert "expected page x heads x head_dim, found 2 dimensions" in error.message
    assert str(info.value).startswith("x.mlir:2:")

    module = context.parse(
        "func.func @f(%k: !kvq.cache<key, 1x1x16, bf16, NHD>)"
        " -> !kvq.cache<key, 1x1x16, bf16, NHD> {\n"
        "  return %k : !kvq.cache<key, 1x1x16, bf16, NHD>\n}"
    )
    with pytest.raises(kvq.Error) as info:
        module.run_pipeline("kvq-verify-handles")
    assert {d.severity for d in info.value.diagnostics} == {"error", "note"}


@pytest.mark.parametrize(
    "pipeline, message",
    [
        ("kvq-verify", "does not refer to a registered pass"),
        ("", "names no pass"),
        ("builtin.module(kvq-to-cpu{reference=maybe})", "maybe"),
    ],
)
def test_bad_pipeline(context, pipeline, message):
    module = context.parse(MODULE)
    before = str(module)
    with pytest.raises(kvq.Error, match=message):
        module.run_pipeline(pipeline)
    assert str(module) == before


@pytest.mark.parametrize("name", formats.FORMATS)
@pytest.mark.parametrize("layout", ["NHD", "HND"])
@pytest.mark.parametrize("page, heads, head_dim", [(1, 1, 32), (16, 8, 128), (17, 3, 64)])
def test_cache_type(context, name, layout, page, heads, head_dim):
    fmt = formats.FORMATS[name]
    scales = ", linear" if fmt.block else ""
    text = f"!kvq.cache<key, {page}x{heads}x{head_dim}, {name}, {layout}{scales}>"
    cache = context.cache_type(text)
    row = fmt.data_bytes(head_dim) + fmt.num_scales(head_dim)
    assert cache.bytes_per_token == heads * row
    assert cache.bytes_per_page == page * heads * row
    order = (page, heads) if layout == "NHD" else (heads, page)
    assert cache.data_shape == (None, *order, head_dim)
    assert cache.scales_shape == (
        (None, *order, fmt.num_scales(head_dim)) if fmt.block else None
    )
    assert (cache.page_size, cache.num_heads, cache.head_dim) == (page, heads, head_dim)
    assert (cache.side, cache.kv_layout, cache.format) == ("key", layout, name)
    assert cache.scale_layout == ("linear" if fmt.block else None)
    assert cache.element_bits == fmt.bits
    assert cache.has_global_scale == fmt.has_global


def test_bad_cache_type(context):
    with pytest.raises(kvq.Error, match="expected a multiple of the block size 16"):
        context.cache_type("!kvq.cache<key, 16x8x100, nvfp4, NHD, linear>")
    with pytest.raises(kvq.Error, match="expected a !kvq.cache type, found i32"):
        context.cache_type("i32")


def sample(shape):
    rng = np.random.default_rng(7)
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-20, 20, shape[:-1]))[..., None]
    x = x.astype(np.float32)
    x.reshape(-1)[::37] = 0
    return x


@pytest.mark.parametrize("name", formats.FORMATS)
@pytest.mark.parametrize("shape", [(64,), (1, 32), (5, 3, 128)])
def test_numerics_equal_the_oracle(name, shape):
    fmt = formats.FORMATS[name]
    g = 0.37 if fmt.has_global else 1.0
    x = sample(shape)
    data, scales = kvq.quantize(x, name, global_scale=g)
    expected_data, expected_scales = formats.quantize(name, x, np.float32(g))
    np.testing.assert_array_equal(data, expected_data)
    if fmt.block:
        np.testing.assert_array_equal(scales, expected_scales)
    else:
        assert scales is None
    y = kvq.dequantize(data, scales, name, shape[-1], global_scale=g)
    np.testing.assert_array_equal(
        y, formats.dequantize(name, expected_data, expected_scales, np.float32(g))
    )


def test_no_rows():
    data, scales = kvq.quantize(np.empty((0, 64), np.float32), "nvfp4")
    assert data.shape == (0, 32) and scales.shape == (0, 4)
    assert kvq.dequantize(data, scales, "nvfp4", 64).shape == (0, 64)


def test_four_over_six_and_strides():
    x = sample((4, 6, 32)).transpose(1, 0, 2)
    assert not x.flags.c_contiguous
    data, scales = kvq.quantize(x, "nvfp4", four_over_six=True)
    expected = formats.quantize("nvfp4", x, np.float32(1), four_over_six=True)
    np.testing.assert_array_equal(data, expected[0])
    np.testing.assert_array_equal(scales, expected[1])
    assert not np.array_equal(scales, kvq.quantize(x, "nvfp4")[1])


def test_narrow_inputs_and_custom_formats():
    x = sample((3, 32)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(
        kvq.quantize(x, "nvfp4")[0], kvq.quantize(x.astype(np.float32), "nvfp4")[0]
    )
    wide = kvq.BlockFormat("f4E2M1FN", "f8E4M3FN", 32, True)
    data, scales = kvq.quantize(x, wide, global_scale=2.0)
    assert data.shape == (3, 16) and scales.shape == (3, 1)
    expected = formats.quantize(
        formats.Format("", "e2m1", "e4m3", 32, True), x.astype(np.float32), np.float32(2)
    )
    np.testing.assert_array_equal(data, expected[0])


def test_numerics_errors():
    x = np.ones((2, 16), np.float32)
    with pytest.raises(ValueError, match="no format 'nvfp5'"):
        kvq.quantize(x, "nvfp5")
    with pytest.raises(kvq.Error, match="multiple of the block size 32"):
        kvq.quantize(x, "mxfp4")
    with pytest.raises(kvq.Error, match="finite and positive"):
        kvq.quantize(x, "nvfp4", global_scale=0)
    with pytest.raises(kvq.Error, match="float64, expected f32"):
        kvq.quantize(x.astype(np.float64), "nvfp4")
    data, scales = kvq.quantize(x, "nvfp4")
    with pytest.raises(kvq.Error, match="the data of 64 elements has 32 bytes, found 16"):
        kvq.dequantize(data, scales, "nvfp4", 32)
    with pytest.raises(kvq.Error, match="do not belong"):
        kvq.dequantize(data, scales[:1], "nvfp4", 16)
    with pytest.raises(kvq.Error, match="block scales"):
        kvq.dequantize(data, None, "nvfp4", 16)
