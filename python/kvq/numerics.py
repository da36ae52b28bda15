"""Quantization on the host, byte for byte what `rounding = exact` writes."""

import ctypes

import numpy as np

from . import _library
from ._library import Collector, Diagnostic, Error, StringRef, lib

_ELEMENTS = ("f4E2M1FN", "f8E4M3FN", "bf16", "f16")
_SCALES = (None, "f8E4M3FN", "f8E8M0FNU")


class BlockFormat:
    """How rows are stored: BlockFormat("nvfp4"), or an element type, a type of
    block scales, a block size and whether there is a global scale:
    BlockFormat("f4E2M1FN", "f8E4M3FN", 32, True)."""

    def __init__(self, element, scale=None, block_size=0, has_global_scale=False):
        self._struct = _library.BlockFormatStruct()
        if element in _ELEMENTS and (element not in ("bf16", "f16")):
            if scale not in _SCALES:
                raise ValueError(f"no scale type {scale!r}, known are {_SCALES}")
            self._struct.element = _ELEMENTS.index(element)
            self._struct.scale = _SCALES.index(scale)
            self._struct.block_size = block_size
            self._struct.has_global_scale = has_global_scale
        elif scale is not None or block_size or has_global_scale:
            raise ValueError(f"{element} has no parameters")
        elif not lib.kvqBlockFormatGetPreset(
            StringRef.of(element), ctypes.byref(self._struct)
        ):
            raise ValueError(
                f"no format {element!r}, known are nvfp4, mxfp4, mxfp8, fp8, bf16, f16"
            )

    def row_bytes(self, columns):
        """Bytes of data and of scales of a row. Raises Error."""
        data, scales = ctypes.c_size_t(), ctypes.c_size_t()
        collector = Collector()
        if not lib.kvqBlockFormatGetRowBytes(
            ctypes.byref(self._struct),
            columns,
            ctypes.byref(data),
            ctypes.byref(scales),
            *collector.arguments,
        ):
            raise Error(collector.diagnostics)
        return data.value, scales.value


def _format(format):
    return format if isinstance(format, BlockFormat) else BlockFormat(format)


def _rows(shape):
    if not shape:
        raise Error([Diagnostic("error", "expected an array of rank 1 or more")])
    return int(np.prod(shape[:-1], dtype=np.int64))


def _bytes(name, array):
    array = np.ascontiguousarray(array)
    if array.dtype.itemsize != 1:
        raise Error(
            [Diagnostic("error", f"{name} has type {array.dtype}, expected bytes")]
        )
    return array.view(np.uint8)


def quantize(x, format, global_scale=1.0, four_over_six=False):
    """Quantizes the rows (last axis) of an array that converts to f32 exactly:
    f32, f16 or ml_dtypes.bfloat16.

    Returns (data, scales): uint8 arrays with the bytes of a row in the last
    axis; scales is None for a format without block scales. Raises Error.
    """
    format = _format(format)
    x = np.asarray(x)
    if x.dtype.itemsize > 4 or x.dtype.kind in "iub":
        raise Error(
            [Diagnostic("error", f"values have type {x.dtype}, expected f32 or narrower")]
        )
    x = np.ascontiguousarray(x, np.float32).reshape(x.shape)
    rows = _rows(x.shape)
    columns = x.shape[-1]
    data_bytes, scale_bytes = format.row_bytes(columns)
    data = np.empty((*x.shape[:-1], data_bytes), np.uint8)
    scales = np.empty((*x.shape[:-1], scale_bytes), np.uint8)
    collector = Collector()
    if not lib.kvqQuantizeRows(
        ctypes.byref(format._struct),
        x.ctypes.data,
        rows,
        columns,
        global_scale,
        four_over_six,
        data.ctypes.data,
        data.nbytes,
        scales.ctypes.data,
        scales.nbytes,
        *collector.arguments,
    ):
        raise Error(collector.diagnostics)
    return data, scales if format._struct.scale else None


def dequantize(data, scales, format, columns, global_scale=1.0):
    """The inverse of quantize: rows of `columns` values, as f32. `data` and
    `scales` are arrays of one-byte elements. Raises Error."""
    format = _format(format)
    data = _bytes("data", data)
    rows = _rows(data.shape)
    if scales is not None:
        scales = _bytes("scales", scales)
        if scales.shape[:-1] != data.shape[:-1]:
            raise Error(
                [
                    Diagnostic(
                        "error",
                        f"scales of shape {scales.shape} do not belong to data of "
                        f"shape {data.shape}",
                    )
                ]
            )
    x = np.empty((*data.shape[:-1], columns), np.float32)
    collector = Collector()
    if not lib.kvqDequantizeRows(
        ctypes.byref(format._struct),
        data.ctypes.data,
        data.nbytes,
        scales.ctypes.data if scales is not None else None,
        scales.nbytes if scales is not None else 0,
        rows,
        columns,
        global_scale,
        x.ctypes.data,
        *collector.arguments,
    ):
        raise Error(collector.diagnostics)
    return x
