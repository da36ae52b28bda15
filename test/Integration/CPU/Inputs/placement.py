"""Where the bytes of caches lie, for the oracle and for the compiled program.

Each placement moves caches into pools (NumPy arrays) of which they are views,
passes the pools as memref arguments and makes the handles from views of them in
the program. Comparing whole pools after a call also compares every byte that
the program had no business to write.
"""

from typing import NamedTuple

import numpy as np
from oracle import cache as caches
from oracle import formats
from compare import check_bytes
from program import shaped

#: - dense: data and scales are arguments of their own, contiguous;
#: - subview: a window inside a larger argument, at an offset in every dimension;
#: - strided: arguments with a strided layout, which kvq-run lays out;
#: - layers: one layer of a pool [layers, ...], chosen at run time;
#: - planar: K data, K scales, V data and V scales of a page lie one behind the
#:   other in one allocation of bytes.
PLACEMENTS = ("dense", "subview", "strided", "layers", "planar")

ELEMENTS = {"e2m1": "f4E2M1FN", "e4m3": "f8E4M3FN", "e8m0": "f8E8M0FNU",
            "bf16": "bf16", "f16": "f16"}
BITS = {"f4E2M1FN": 4, "f8E4M3FN": 8, "f8E8M0FNU": 8, "bf16": 16, "f16": 16}

#: What gaps hold: NaN in every format but E2M1.
POISON = 0xFF


def cache_type(cache, side):
    layout = f", {cache.scale_layout}" if cache.scales is not None else ""
    return (f"!kvq.cache<{side}, {cache.page}x{cache.heads}x{cache.head_dim}, "
            f"{cache.fmt.name}, "
            f"{cache.kv_layout}{layout}>")


def as_elements(array, element):
    """Bytes as the elements that kvq-run takes."""
    if element == "f16":
        return array.view(np.float16)
    return array.view(np.uint16) if element == "bf16" else array


def strided_layout(strides, offset):
    return f", strided<[{', '.join(map(str, strides))}], offset: {offset}>"


def dense_strides(shape):
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return strides


def moved(cache, data, scales):
    """The same cache over other buffers."""
    if isinstance(cache, TokenCache):
        return TokenCache(data, scales, cache.g, cache)
    return caches.Cache(
        data, scales, cache.g, page=cache.page, heads=cache.heads,
        head_dim=cache.head_dim, fmt=cache.fmt, kv_layout=cache.kv_layout,
        scale_layout=cache.scale_layout)


class TokenFormat(NamedTuple):
    """A format whose blocks lie along the tokens."""

    element: str
    scale: str
    block: int
    has_global: bool

    @property
    def name(self):
        scale = f"scale = {ELEMENTS[self.scale]}, block = {self.block}"
        g = ", global_scale" if self.has_global else ""
        return (f"#kvq.format<{ELEMENTS[self.element]}, {scale}, axis = token{g}>")


TOKEN_FORMATS = {
    "nvfp4_token": TokenFormat("e2m1", "e4m3", 16, True),
    "mxfp4_token": TokenFormat("e2m1", "e8m0", 32, False),
    "mxfp8_token": TokenFormat("e4m3", "e8m0", 32, False),
}


class TokenCache:
    """A cache with blocks along the tokens, for reading. The scales of a page
    and head are page / block rows of head_dim."""

    def __init__(self, data, scales, g, like, fmt=None):
        self.page, self.heads, self.head_dim = like.page, like.heads, like.head_dim
        self.kv_layout, self.scale_layout = like.kv_layout, "linear"
        self.fmt = fmt or like.fmt
        self.data, self.scales, self.g = data, scales, np.float32(g)
        self.pages = data.shape[0]

    @classmethod
    def random(cls, like, fmt, g, lengths, block_table, random):
        """Random values for what sequences cover; NaN scales elsewhere."""
        bits = BITS[ELEMENTS[fmt.element]]
        rows, head_dim = like.page // fmt.block, like.head_dim
        codes = random.integers(0, 256, (like.pages, like.page, like.heads,
                                         head_dim * bits // 8), np.uint8)
        if fmt.element == "e4m3":  # no NaN, and few values that dwarf others
            codes = np.where(codes & 0x7F > 0x68, codes & 0xBF, codes)
        middle = 0x38 if fmt.scale == "e4m3" else 118
        poison = 0x7F if fmt.scale == "e4m3" else 0xFF
        scales = np.full((like.pages, rows, like.heads, head_dim), poison, np.uint8)
        for row, length in zip(block_table, lengths):
            for page in range(-(-length // like.page)):
                used = -(-min(length - page * like.page, like.page) // fmt.block)
                shape = (used, like.heads, head_dim)
                scales[row[page], :used] = middle + random.integers(0, 16, shape)
        if like.kv_layout == "HND":
            codes, scales = (np.ascontiguousarray(x.transpose(0, 2, 1, 3))
                             for x in (codes, scales))
        return cls(codes, scales, g, like, fmt)

    def values(self, page_id, offset):
        data, scales = self.data[page_id], self.scales[page_id]
        if self.kv_layout == "HND":
            data, scales = data.transpose(1, 0, 2), scales.transpose(1, 0, 2)
        elements = formats.decode(
            formats.unpack(np.ascontiguousarray(data[offset]), self.fmt.element),
            self.fmt.element)
        scale = formats.decode(
            np.ascontiguousarray(scales[offset // self.fmt.block]), self.fmt.scale)
        return elements * scale * self.g


class Placed:
    """Caches by side ("key", "value") in pools."""

    def __init__(self, sides, placement, random, dynamic=False):
        """Copies the caches. `dynamic` leaves the number of pages open in the
        types of the arguments."""
        self.placement, self.dynamic = placement, dynamic
        self.caches = dict(sides)
        self._parts = []  # (side, name, element, view, recipe)
        self.pools = []  # (array, recipe of its argument)
        self._layer = int(random.integers(0, 3))
        self._lead = 16 * int(random.integers(0, 3))
        parts = []
        for side, cache in sides.items():
            parts.append((side, "data", ELEMENTS[cache.fmt.element], cache.data))
            if cache.scales is not None:
                parts.append(
                    (side, "scales", ELEMENTS[cache.fmt.scale], cache.scales))
        views = {}
        if placement == "planar":
            self._place_planar(parts, views)
        else:
            for part in parts:
                self._place_part(*part, views)
        for (side, name, _, array) in parts:
            views[side, name][...] = array
        for side, cache in sides.items():
            self.caches[side] = moved(
                cache, views[side, "data"], views.get((side, "scales")))

    def _pool(self, *shape):
        pool = np.full(shape, POISON, np.uint8)
        self.pools.append(pool)
        return pool

    def _place_part(self, side, name, element, array, views):
        a, b, c, d = array.shape
        if self.placement in ("dense", "strided"):
            pool = self._pool(a, b, c, d)
            view = pool
        elif self.placement == "subview":
            pool = self._pool(a + 1, b + 2, c + 1, d + 16)
            view = pool[1:, 1 : b + 1, :c, 8 : d + 8]
        else:
            pool = self._pool(3, a, b, c, d)
            view = pool[self._layer]
        views[side, name] = view
        self._parts.append((side, name, element, len(self.pools) - 1, array.shape))

    def _place_planar(self, parts, views):
        offsets, size = [], 0
        for _, _, _, array in parts:
            offsets.append(size)
            # Elements of 16 bits stay aligned.
            size += -(-int(np.prod(array.shape[1:])) // 16) * 16
        pages = parts[0][3].shape[0]
        pool = self._pool(self._lead + pages * size)
        self._page_bytes = size
        by_page = pool[self._lead :].reshape(pages, size)
        for (side, name, element, array), offset in zip(parts, offsets):
            count = int(np.prod(array.shape[1:]))
            view = by_page[:, offset : offset + count]
            views[side, name] = view.reshape(array.shape)
            assert np.shares_memory(views[side, name], pool)
            self._parts.append((side, name, element, offset, array.shape))

    def emit(self, program, save=True):
        """Adds arguments and make_cache; returns {side: (handle, type)}. The
        arguments in the order of `pools` are `arguments`."""
        self.arguments = []
        values = {}
        if self.placement == "planar":
            self._emit_planar(program, save, values)
        else:
            for part in self._parts:
                self._emit_part(program, save, values, *part)
        handles = {}
        for side, cache in self.caches.items():
            text = "kvq.make_cache data({} : {})".format(*values[side, "data"])
            if cache.scales is not None:
                text += " scales({} : {})".format(*values[side, "scales"])
            if cache.fmt.has_global:
                g = program.argument("g", "memref<f32>", np.float32(cache.g).reshape(()))
                text += f" global_scale({g} : memref<f32>)"
            type = cache_type(cache, side)
            handles[side] = program.define(side, f"{text} : {type}"), type
        return handles

    def check(self, arrays, what, pools=None):
        """Compares the pools, gaps included, with what a call left."""
        for argument, pool in zip(self.arguments, pools or self.pools):
            check_bytes(arrays[argument].view(np.uint8), pool, f"{what} {argument}")

    def _emit_part(self, program, save, values, side, name, element, index, shape):
        pool = self.pools[index]
        bits = BITS[element]
        sizes = [*shape[:-1], shape[-1] * 8 // bits]
        pool_sizes = [*pool.shape[:-1], pool.shape[-1] * 8 // bits]
        strides = dense_strides(pool_sizes)
        pages_dim = 1 if self.placement == "layers" else 0
        typed_sizes = [None if self.dynamic and i == pages_dim else n
                       for i, n in enumerate(pool_sizes)]
        layout = ""
        if self.placement == "strided":
            inner = sizes[3] + 8
            outer = inner * sizes[2] + 2
            strides = [outer * (sizes[1] + 1), outer, inner, 1]
            layout = strided_layout(strides, 32)
        type = shaped("memref", typed_sizes, element, layout)
        argument = program.argument(f"{side[0]}_{name}", type,
                                    as_elements(pool, element), save)
        self.arguments.append(argument)
        if self.placement in ("dense", "strided"):
            values[side, name] = argument, type
            return
        pages = sizes[0]
        if self.dynamic:
            pages = program.value("pages")
            dim = program.define("c", f"arith.constant {pages_dim} : index")
            program.emit(f"{pages} = memref.dim {argument}, {dim} : {type}")
            if self.placement == "subview":
                one = program.define("c", "arith.constant 1 : index")
                pages = program.define("pages", f"arith.subi {pages}, {one} : index")
        result_sizes = [None if self.dynamic else sizes[0], *sizes[1:]]
        if self.placement == "subview":
            offsets = [1, 1, 0, 8 * 8 // bits]
            offset = sum(o * s for o, s in zip(offsets, strides))
            source_sizes, ones = [pages, *sizes[1:]], [1] * 4
        else:
            layer = program.argument("layer", "index", str(self._layer))
            offsets = [layer, 0, 0, 0, 0]
            offset, strides = "?", strides[1:]
            source_sizes, ones = [1, pages, *sizes[1:]], [1] * 5
        result = shaped("memref", result_sizes, element,
                        strided_layout(strides, offset))
        join = lambda items: ", ".join(map(str, items))  # noqa: E731
        values[side, name] = program.define(
            "view", f"memref.subview {argument}[{join(offsets)}] "
            f"[{join(source_sizes)}] [{join(ones)}] : {type} to {result}"
        ), result

    def _emit_planar(self, program, save, values):
        pool = self.pools[0]
        type = shaped("memref", [None if self.dynamic else pool.size], "i8")
        argument = program.argument("pool", type, pool, save)
        self.arguments.append(argument)
        zero = program.define("c", "arith.constant 0 : index")
        for side, name, element, offset, shape in self._parts:
            bits = BITS[element]
            flat = shaped("memref", [pool.size * 8 // bits], element)
            view = program.define(
                "view", f"memref.view {argument}[{zero}][] : {type} to {flat}")
            sizes = [*shape[:-1], shape[-1] * 8 // bits]
            strides = dense_strides(sizes)
            strides[0] = self._page_bytes * 8 // bits
            start = (self._lead + offset) * 8 // bits
            result = shaped("memref", sizes, element, strided_layout(strides, start))
            values[side, name] = program.define(
                "part", f"memref.reinterpret_cast {view} to offset: [{start}], "
                f"sizes: {sizes}, strides: {strides} : {flat} to {result}"
            ), result


def reordered(case, sides):
    """A case and its caches with the pages elsewhere in the pool."""
    order = np.random.default_rng(5).permutation(case.k_cache.pages)
    table = case.block_table.copy()
    used = (table >= 0) & (table < len(order))
    table[used] = order[table[used]]
    back = np.argsort(order)
    sides = {
        side: moved(cache, cache.data[back],
                    None if cache.scales is None else cache.scales[back])
        for side, cache in sides.items()}
    return case._replace(block_table=table), sides
