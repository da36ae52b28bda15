"""libKVQ-C through ctypes: structures, prototypes, diagnostics."""

import ctypes
import dataclasses
import os
import pathlib


class StringRef(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    @classmethod
    def of(cls, text):
        """A reference to a str or bytes, which it keeps alive."""
        if isinstance(text, str):
            text = text.encode()
        reference = cls(ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p), len(text))
        reference.owner = text
        return reference

    def __str__(self):
        if not self.length:
            return ""
        return ctypes.string_at(self.data, self.length).decode(errors="replace")


class _Handle(ctypes.Structure):
    _fields_ = [("ptr", ctypes.c_void_p)]

    def __bool__(self):
        return bool(self.ptr)


class ContextHandle(_Handle):
    pass


class ModuleHandle(_Handle):
    pass


class TypeHandle(_Handle):
    pass


class LogicalResult(ctypes.Structure):
    _fields_ = [("value", ctypes.c_int8)]

    def __bool__(self):
        return self.value != 0


class DiagnosticStruct(ctypes.Structure):
    _fields_ = [
        ("severity", ctypes.c_int),
        ("message", StringRef),
        ("file", StringRef),
        ("line", ctypes.c_uint),
        ("column", ctypes.c_uint),
    ]


class BlockFormatStruct(ctypes.Structure):
    _fields_ = [
        ("element", ctypes.c_int),
        ("scale", ctypes.c_int),
        ("block_size", ctypes.c_uint),
        ("has_global_scale", ctypes.c_bool),
    ]


DiagnosticCallback = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(DiagnosticStruct), ctypes.c_void_p
)
StringCallback = ctypes.CFUNCTYPE(None, StringRef, ctypes.c_void_p)

_SEVERITIES = ("error", "warning", "note", "remark")


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """A message of the compiler; `line` and `column` count from 1 and are 0
    where the place is not known. A note belongs to the diagnostic before it."""

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self):
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return f"{place}{self.severity}: {self.message}"


class Error(Exception):
    """A call that failed, with what the compiler said."""

    def __init__(self, diagnostics, otherwise="failed"):
        self.diagnostics = list(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)) or otherwise)


class Collector:
    """Collects diagnostics: pass `*collector.arguments` last to a function."""

    def __init__(self):
        self.diagnostics = []
        self._callback = DiagnosticCallback(self._add)
        self.arguments = (self._callback, None)

    def _add(self, diagnostic, _):
        d = diagnostic.contents
        self.diagnostics.append(
            Diagnostic(
                _SEVERITIES[d.severity], str(d.message), str(d.file), d.line, d.column
            )
        )


def _candidates():
    named = os.environ.get("KVQ_LIBRARY")
    if named:
        yield named
        return
    # Where cmake --install puts this package: LIBDIR/kvq/python/kvq.
    installed = pathlib.Path(__file__).resolve().parents[3] / "libKVQ-C.so"
    if installed.exists():
        yield str(installed)
    yield "libKVQ-C.so.0"


def _load():
    errors = []
    for name in _candidates():
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            errors.append(str(error))
    raise ImportError(
        "libKVQ-C does not load; set KVQ_LIBRARY to its file. " + "; ".join(errors)
    )


lib = _load()

_SIZES = [ctypes.c_size_t, ctypes.c_size_t]
_REPORT = [DiagnosticCallback, ctypes.c_void_p]
_FORMAT = ctypes.POINTER(BlockFormatStruct)
_SIZE = ctypes.POINTER(ctypes.c_size_t)
_SHAPE = ctypes.c_int64 * 4

for _name, _result, _arguments in [
    ("kvqGetVersion", StringRef, []),
    ("kvqContextCreate", ContextHandle, []),
    ("mlirContextDestroy", None, [ContextHandle]),
    ("mlirModuleDestroy", None, [ModuleHandle]),
    ("kvqModuleParse", ModuleHandle, [ContextHandle, StringRef, StringRef, *_REPORT]),
    ("kvqModuleRunPipeline", LogicalResult, [ModuleHandle, StringRef, *_REPORT]),
    ("kvqModuleVerify", LogicalResult, [ModuleHandle, *_REPORT]),
    ("kvqModulePrint", None, [ModuleHandle, StringCallback, ctypes.c_void_p]),
    ("kvqTypeParse", TypeHandle, [ContextHandle, StringRef, *_REPORT]),
    ("kvqTypeIsACache", ctypes.c_bool, [TypeHandle]),
    ("kvqCacheTypeGetSide", ctypes.c_int, [TypeHandle]),
    ("kvqCacheTypeGetKVLayout", ctypes.c_int, [TypeHandle]),
    ("kvqCacheTypeGetScaleLayout", ctypes.c_int, [TypeHandle]),
    ("kvqCacheTypeGetPageSize", ctypes.c_int64, [TypeHandle]),
    ("kvqCacheTypeGetNumHeads", ctypes.c_int64, [TypeHandle]),
    ("kvqCacheTypeGetHeadDim", ctypes.c_int64, [TypeHandle]),
    ("kvqCacheTypeGetBytesPerPage", ctypes.c_int64, [TypeHandle]),
    ("kvqCacheTypeGetBytesPerToken", ctypes.c_int64, [TypeHandle]),
    ("kvqCacheTypeGetFormatName", StringRef, [TypeHandle]),
    ("kvqCacheTypeGetElementBits", ctypes.c_int64, [TypeHandle]),
    ("kvqCacheTypeHasGlobalScale", ctypes.c_bool, [TypeHandle]),
    ("kvqCacheTypeGetDataShape", LogicalResult, [TypeHandle, _SHAPE]),
    ("kvqCacheTypeGetScalesShape", LogicalResult, [TypeHandle, _SHAPE]),
    ("kvqBlockFormatGetPreset", LogicalResult, [StringRef, _FORMAT]),
    (
        "kvqBlockFormatGetRowBytes",
        LogicalResult,
        [_FORMAT, ctypes.c_size_t, _SIZE, _SIZE, *_REPORT],
    ),
    (
        "kvqQuantizeRows",
        LogicalResult,
        [_FORMAT, ctypes.c_void_p, *_SIZES, ctypes.c_float, ctypes.c_bool]
        + [ctypes.c_void_p, ctypes.c_size_t] * 2
        + _REPORT,
    ),
    (
        "kvqDequantizeRows",
        LogicalResult,
        [_FORMAT]
        + [ctypes.c_void_p, ctypes.c_size_t] * 2
        + [*_SIZES, ctypes.c_float, ctypes.c_void_p, *_REPORT],
    ),
]:
    _function = getattr(lib, _name)
    _function.restype = _result
    _function.argtypes = _arguments


def version():
    """The version of the library, for example "0.1.0"."""
    return str(lib.kvqGetVersion())
