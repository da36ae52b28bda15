"""kvq from Python: modules, pipelines, cache types and host numerics.

    import kvq

    context = kvq.Context()
    module = context.parse(text)
    module.run_pipeline("builtin.module(kvq-to-cpu)")
    cache = context.cache_type("!kvq.cache<key, 16x8x128, nvfp4, NHD, linear>")
    pages = numpy.zeros(cache.bytes_per_page * 1000, numpy.uint8)
    data, scales = kvq.quantize(x, "nvfp4", global_scale=g)

It needs libKVQ-C; the environment variable KVQ_LIBRARY names its file where it
is not found.
"""

from ._library import version
from .compiler import CacheType, Context, Diagnostic, Error, Module
from .numerics import BlockFormat, dequantize, quantize

__version__ = version()

__all__ = [
    "BlockFormat",
    "CacheType",
    "Context",
    "Diagnostic",
    "Error",
    "Module",
    "dequantize",
    "quantize",
]
