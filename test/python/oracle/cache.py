"""One side of a paged cache as bytes, in every page layout and scale layout.

Buffers may be views with any strides. `data` has shape
[pages, page, heads, bytes] (NHD) or [pages, heads, page, bytes] (HND); `scales`
has the shape of the linear layout, [pages, page, heads, S] or
[pages, heads, page, S], whatever the scale layout.
"""

import numpy as np

from . import formats

KV_LAYOUTS = ("NHD", "HND")
SCALE_LAYOUTS = ("linear", "interleaved_4", "blocked_128x4")


def scale_layout_is_legal(layout, page, num_scales):
    if layout == "interleaved_4":
        return page % 4 == 0 and num_scales % 4 == 0
    if layout == "blocked_128x4":
        return page % 128 == 0 and num_scales % 4 == 0
    return layout == "linear"


def scale_offset(layout, t, s, num_scales):
    """The offset of the scale byte of token t and block s in the bytes of one
    page and head."""
    if layout == "linear":
        return t * num_scales + s
    if layout == "interleaved_4":
        return t // 4 * 4 * num_scales + 4 * s + t % 4
    assert layout == "blocked_128x4"
    tile = t // 128 * (num_scales // 4) + s // 4
    return tile * 512 + t % 32 * 16 + t % 128 // 32 * 4 + s % 4


class Cache:
    """A handle to one side of a cache. It does not own its buffers."""

    def __init__(self, data, scales, g, *, page, heads, head_dim, fmt,
                 kv_layout="NHD", scale_layout="linear"):
        self.fmt = formats.get_format(fmt)
        self.page, self.heads, self.head_dim = page, heads, head_dim
        self.kv_layout, self.scale_layout = kv_layout, scale_layout
        self.num_scales = self.fmt.num_scales(head_dim)
        self.data, self.scales = data, scales
        self.g = np.float32(g)
        self.pages = data.shape[0]
        assert data.shape == self.shape(self.fmt.data_bytes(head_dim))
        if self.num_scales:
            assert scale_layout_is_legal(scale_layout, page, self.num_scales)
            assert scales.shape == self.shape(self.num_scales)
            t, s = np.ogrid[:page, : self.num_scales]
            offset = scale_offset(scale_layout, t, s, self.num_scales)
            self._row, self._column = np.divmod(offset, self.num_scales)

    def shape(self, innermost):
        if self.kv_layout == "NHD":
            return (self.pages, self.page, self.heads, innermost)
        return (self.pages, self.heads, self.page, innermost)

    @classmethod
    def allocate(cls, pages, *, page, heads, head_dim, fmt, kv_layout="NHD",
                 scale_layout="linear", g=1.0, fill=None):
        """A contiguous cache. Bytes are `fill`, or what gives NaN or garbage when
        it is read: 0xFF codes and 0x7F (E4M3) or 0xFF (E8M0) scales."""
        fmt = formats.get_format(fmt)

        def make(innermost, poison):
            shape = (page, heads) if kv_layout == "NHD" else (heads, page)
            value = poison if fill is None else fill
            return np.full((pages, *shape, innermost), value, np.uint8)

        data = make(fmt.data_bytes(head_dim), 0xFF)
        scales = None
        if fmt.block:
            scales = make(
                fmt.num_scales(head_dim), 0x7F if fmt.scale == "e4m3" else 0xFF
            )
        return cls(data, scales, g, page=page, heads=heads, head_dim=head_dim,
                   fmt=fmt, kv_layout=kv_layout, scale_layout=scale_layout)

    def _by_token(self, buffer):
        """A view of shape [pages, page, heads, ...]."""
        return buffer if self.kv_layout == "NHD" else buffer.transpose(0, 2, 1, 3)

    def read(self, page_id, offset):
        """(data, scales) of the rows of all heads of one token."""
        data = self._by_token(self.data)[page_id, offset].copy()
        if not self.num_scales:
            return data, np.zeros((self.heads, 0), np.uint8)
        rows, columns = self._row[offset], self._column[offset]
        # Advanced indices around a slice: the result is [S, heads].
        scales = self._by_token(self.scales)[page_id, rows, :, columns]
        return data, scales.T.copy()

    def write(self, page_id, offset, data, scales):
        self._by_token(self.data)[page_id, offset] = data
        if self.num_scales:
            rows, columns = self._row[offset], self._column[offset]
            self._by_token(self.scales)[page_id, rows, :, columns] = scales.T

    def values(self, page_id, offset):
        """The f32 values [heads, head_dim] of one token."""
        data, scales = self.read(page_id, offset)
        return formats.dequantize(self.fmt, data, scales, self.g)


def append(cache, data, scales, slot_mapping):
    """Writes quantized rows [n, heads, ...] at slots. Negative slots are
    padding. Nothing is written if a slot is out of range or named twice."""
    capacity = cache.pages * cache.page
    seen = {}
    for i, slot in enumerate(int(s) for s in slot_mapping):
        if slot < 0:
            continue
        if slot >= capacity:
            raise ValueError(f"slot_mapping[{i}] = {slot}, limit {capacity}")
        if slot in seen:
            raise ValueError(f"slot_mapping[{i}] = {slot} repeats [{seen[slot]}]")
        seen[slot] = i
    for slot, i in seen.items():
        cache.write(slot // cache.page, slot % cache.page, data[i],
                    scales[i] if cache.num_scales else None)


def quantize_append(cache, x, slot_mapping, four_over_six=False):
    """Quantizes f32 rows [n, heads, head_dim] and appends them."""
    data, scales = formats.quantize(cache.fmt, x, cache.g, four_over_six)
    append(cache, data, scales, slot_mapping)


def slots_of_positions(cache, block_table, positions, sequences):
    """The slots of positions of sequences; a negative position is padding."""
    slots = []
    for sequence, position in zip(sequences, positions):
        if position < 0:
            slots.append(-1)
            continue
        page_id = int(block_table[sequence, position // cache.page])
        if not 0 <= page_id < cache.pages:
            raise ValueError(f"page {page_id}, limit {cache.pages}")
        slots.append(page_id * cache.page + int(position) % cache.page)
    return np.array(slots, np.int64)


def gather(cache, block_table, seq_lens, length):
    """(data, scales) as [B, length, heads, ...], linear; zero bytes at and past
    the length of each sequence."""
    batch = len(seq_lens)
    data = np.zeros(
        (batch, length, cache.heads, cache.fmt.data_bytes(cache.head_dim)), np.uint8
    )
    scales = np.zeros((batch, length, cache.heads, cache.num_scales), np.uint8)
    for b in range(batch):
        if seq_lens[b] > length:
            raise ValueError(f"seq_lens[{b}] = {seq_lens[b]}, limit {length}")
        for j in range(seq_lens[b]):
            page_id = block_table[b, j // cache.page]
            data[b, j], scales[b, j] = cache.read(page_id, j % cache.page)
    return data, scales


def copy_pages(cache, sources, destinations):
    """Copies whole pages, all read before any is written."""
    data = cache.data[np.asarray(sources, int)].copy()
    cache.data[np.asarray(destinations, int)] = data
    if cache.num_scales:
        scales = cache.scales[np.asarray(sources, int)].copy()
        cache.scales[np.asarray(destinations, int)] = scales


def convert_scale_layout(cache, scale_layout):
    """A cache over the same data with new scales in another layout."""
    result = Cache(cache.data, np.zeros_like(cache.scales), cache.g,
                   page=cache.page, heads=cache.heads, head_dim=cache.head_dim,
                   fmt=cache.fmt, kv_layout=cache.kv_layout,
                   scale_layout=scale_layout)
    for page_id in range(cache.pages):
        for t in range(cache.page):
            data, scales = cache.read(page_id, t)
            rows, columns = result._row[t], result._column[t]
            result._by_token(result.scales)[page_id, rows, :, columns] = scales.T
    return result
