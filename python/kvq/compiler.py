"""Modules, pipelines and cache types."""

import ctypes

from . import _library
from ._library import Collector, Diagnostic, Error, StringRef, lib

_SIDES = ("key", "value")
_KV_LAYOUTS = ("NHD", "HND")
_SCALE_LAYOUTS = ("?", "linear", "interleaved_4", "blocked_128x4", None)


class Context:
    """Owner of types and modules, with kvq's dialects and passes."""

    def __init__(self):
        self._handle = lib.kvqContextCreate()
        # Bound here, as module globals may be gone when an interpreter ends.
        self._destroy = lib.mlirContextDestroy

    def __del__(self):
        handle = self.__dict__.pop("_handle", None)
        if handle:
            self._destroy(handle)

    def parse(self, source, file="<string>"):
        """Parses and verifies a module from text or bytecode; `file` names it
        in diagnostics. Raises Error."""
        collector = Collector()
        handle = lib.kvqModuleParse(
            self._handle,
            StringRef.of(source),
            StringRef.of(file),
            *collector.arguments,
        )
        if not handle:
            raise Error(collector.diagnostics, "the module does not parse")
        return Module(self, handle)

    def cache_type(self, text):
        """Returns the CacheType of a text. Raises Error."""
        collector = Collector()
        handle = lib.kvqTypeParse(
            self._handle, StringRef.of(text), *collector.arguments
        )
        if not handle:
            raise Error(collector.diagnostics, "the type does not parse")
        if not lib.kvqTypeIsACache(handle):
            raise Error(
                [Diagnostic("error", f"expected a !kvq.cache type, found {text}")]
            )
        return CacheType(self, handle)


class Module:
    """A module; str() of it is its text. Made by Context.parse."""

    def __init__(self, context, handle):
        self._context = context
        self._handle = handle
        self._destroy = lib.mlirModuleDestroy

    def __del__(self):
        handle = self.__dict__.pop("_handle", None)
        if handle:
            self._destroy(handle)

    def run_pipeline(self, pipeline):
        """Runs passes, given as kvq-opt's --pass-pipeline takes them, with or
        without builtin.module(...). Returns the diagnostics of a run that
        succeeds (warnings and remarks). Raises Error; where a pass failed, use
        the module no further."""
        collector = Collector()
        if not lib.kvqModuleRunPipeline(
            self._handle, StringRef.of(pipeline), *collector.arguments
        ):
            raise Error(collector.diagnostics, "the pipeline failed")
        return collector.diagnostics

    def verify(self):
        """Raises Error if the module is not valid."""
        collector = Collector()
        if not lib.kvqModuleVerify(self._handle, *collector.arguments):
            raise Error(collector.diagnostics, "the module is not valid")

    def __str__(self):
        pieces = []
        callback = _library.StringCallback(
            lambda piece, _: pieces.append(ctypes.string_at(piece.data, piece.length))
        )
        lib.kvqModulePrint(self._handle, callback, None)
        return b"".join(pieces).decode()


class CacheType:
    """Sizes and shapes of a !kvq.cache type. Made by Context.cache_type.

    Shapes are in elements, with None for the number of pages; `scales_shape`
    and `scale_layout` are None without block scales, `format` is None for a
    format without a name. Bytes count data and block scales of all heads.
    """

    def __init__(self, context, handle):
        self._context = context
        self.side = _SIDES[lib.kvqCacheTypeGetSide(handle)]
        self.kv_layout = _KV_LAYOUTS[lib.kvqCacheTypeGetKVLayout(handle)]
        self.scale_layout = _SCALE_LAYOUTS[lib.kvqCacheTypeGetScaleLayout(handle)]
        self.page_size = lib.kvqCacheTypeGetPageSize(handle)
        self.num_heads = lib.kvqCacheTypeGetNumHeads(handle)
        self.head_dim = lib.kvqCacheTypeGetHeadDim(handle)
        self.bytes_per_page = lib.kvqCacheTypeGetBytesPerPage(handle)
        self.bytes_per_token = lib.kvqCacheTypeGetBytesPerToken(handle)
        self.format = str(lib.kvqCacheTypeGetFormatName(handle)) or None
        self.element_bits = lib.kvqCacheTypeGetElementBits(handle)
        self.has_global_scale = lib.kvqCacheTypeHasGlobalScale(handle)
        self.data_shape = self._shape(lib.kvqCacheTypeGetDataShape, handle)
        self.scales_shape = self._shape(lib.kvqCacheTypeGetScalesShape, handle)

    @staticmethod
    def _shape(get, handle):
        shape = (ctypes.c_int64 * 4)()
        if not get(handle, shape):
            return None
        return tuple(None if size < 0 else size for size in shape)
