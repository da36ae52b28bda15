"""Emits torch/*.mlir: attention as torch-mlir lowers it to linalg on tensors.

Run by hand, in an environment with torch and torch-mlir; the tests need only
what it wrote. Written with torch 2.15.0 (CPU), torch-mlir 20261001:

    python emit_torch.py
"""

import math
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch_mlir import fx

DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch")


class Sdpa(nn.Module):
    """torch.nn.functional.scaled_dot_product_attention with options."""

    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, **self.options)


class MaskedSdpa(nn.Module):
    def forward(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def repeat_kv(x, groups):
    b, heads, length, dim = x.shape
    x = x[:, :, None].expand(b, heads, groups, length, dim)
    return x.reshape(b, heads * groups, length, dim)


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


class Llama(nn.Module):
    """Rotated q and k, grouped queries, causal, softmax in f32; as the eager
    attention of Llama's family (SmolLM2, Mistral, Qwen2) does it."""

    def __init__(self, heads=4, kv_heads=2, dim=8):
        super().__init__()
        self.heads, self.kv_heads, self.dim = heads, kv_heads, dim

    def forward(self, q, k, v, cos, sin):
        b, length, _ = q.shape
        q = q.view(b, length, self.heads, self.dim).transpose(1, 2)
        k = k.view(b, length, self.kv_heads, self.dim).transpose(1, 2)
        v = v.view(b, length, self.kv_heads, self.dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        groups = self.heads // self.kv_heads
        k, v = repeat_kv(k, groups), repeat_kv(v, groups)
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.dim)
        mask = torch.full((length, length), float("-inf")).triu(1)
        weights = F.softmax((scores + mask).float(), dim=-1).to(q.dtype)
        out = torch.matmul(weights, v)
        return out.transpose(1, 2).reshape(b, length, -1)


class Gpt2(nn.Module):
    """Fused q, k, v; the causal mask is a buffer; where() with finfo.min."""

    def __init__(self, heads=4, dim=8, length=6):
        super().__init__()
        self.heads, self.dim = heads, dim
        tril = torch.tril(torch.ones(length, length, dtype=torch.bool))
        self.register_buffer("bias", tril.view(1, 1, length, length))

    def forward(self, qkv):
        b, length, _ = qkv.shape
        q, k, v = (x.view(b, length, self.heads, self.dim).transpose(1, 2)
                   for x in qkv.split(self.heads * self.dim, dim=2))
        scores = torch.matmul(q, k.transpose(-1, -2)) / (self.dim ** 0.5)
        lowest = torch.full([], torch.finfo(scores.dtype).min)
        scores = torch.where(self.bias[:, :, :length, :length], scores, lowest)
        out = torch.matmul(F.softmax(scores, dim=-1), v)
        return out.permute(0, 2, 1, 3).reshape(b, length, -1)


class Bert(nn.Module):
    """Both directions; an additive mask over padding."""

    def __init__(self, heads=4, dim=8):
        super().__init__()
        self.heads, self.dim = heads, dim

    def split(self, x):
        b, length, _ = x.shape
        return x.view(b, length, self.heads, self.dim).permute(0, 2, 1, 3)

    def forward(self, q, k, v, padding):
        b, length, _ = q.shape
        q, k, v = self.split(q), self.split(k), self.split(v)
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.dim)
        bias = (1.0 - padding[:, None, None, :]) * torch.finfo(torch.float32).min
        weights = F.softmax(scores + bias, dim=-1)
        out = torch.matmul(weights, v).permute(0, 2, 1, 3)
        return out.reshape(b, length, -1)


class Gemma2(nn.Module):
    """Soft-cap, sliding window, grouped queries."""

    def __init__(self, heads=4, kv_heads=2, dim=8, window=3, cap=50.0):
        super().__init__()
        self.heads, self.kv_heads, self.dim = heads, kv_heads, dim
        self.window, self.cap = window, cap

    def forward(self, q, k, v):
        groups = self.heads // self.kv_heads
        k, v = repeat_kv(k, groups), repeat_kv(v, groups)
        scores = torch.matmul(q, k.transpose(2, 3)) * self.dim ** -0.5
        scores = torch.tanh(scores / self.cap) * self.cap
        length = q.shape[2]
        i = torch.arange(length)[:, None]
        j = torch.arange(length)[None, :]
        seen = (j <= i) & (j > i - self.window)
        scores = torch.where(seen, scores, float("-inf"))
        return torch.matmul(F.softmax(scores, dim=-1, dtype=torch.float32), v)


class T5(nn.Module):
    """No scale; a bias per head and pair of positions."""

    def forward(self, q, k, v, bias):
        scores = torch.matmul(q, k.transpose(3, 2)) + bias
        return torch.matmul(F.softmax(scores.float(), dim=-1), v)


class Decode(nn.Module):
    """One query per sequence over a cache, as Mistral's eager attention in
    half precision."""

    def forward(self, q, k, v, mask):
        groups = q.shape[1] // k.shape[1]
        k, v = repeat_kv(k, groups), repeat_kv(v, groups)
        scores = torch.matmul(q, k.transpose(2, 3)) * q.shape[-1] ** -0.5 + mask
        weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        return torch.matmul(weights, v)


def r(*shape, dtype=torch.float32):
    return torch.zeros(*shape, dtype=dtype)


Q, K = (2, 4, 6, 8), (2, 4, 7, 8)
CASES = {
    "sdpa": (Sdpa(), r(*Q), r(*K), r(*K)),
    "sdpa_scale": (Sdpa(scale=0.5), r(*Q), r(*K), r(*K)),
    "sdpa_causal": (Sdpa(is_causal=True), r(*Q), r(*Q), r(*Q)),
    "sdpa_gqa": (Sdpa(enable_gqa=True), r(*Q), r(2, 2, 7, 8), r(2, 2, 7, 8)),
    "sdpa_f16": (Sdpa(), *(r(*s, dtype=torch.float16) for s in (Q, K, K))),
    "sdpa_bf16": (Sdpa(), *(r(*s, dtype=torch.bfloat16) for s in (Q, K, K))),
    "sdpa_float_mask": (MaskedSdpa(), r(*Q), r(*K), r(*K), r(6, 7)),
    "sdpa_bool_mask": (MaskedSdpa(), r(*Q), r(*K), r(*K),
                       r(2, 1, 6, 7, dtype=torch.bool)),
    "llama": (Llama(), r(2, 6, 32), r(2, 6, 16), r(2, 6, 16), r(6, 8), r(6, 8)),
    "gpt2": (Gpt2(), r(2, 6, 96)),
    "bert": (Bert(), r(2, 6, 32), r(2, 6, 32), r(2, 6, 32), r(2, 6)),
    "gemma2": (Gemma2(), r(*Q), r(2, 2, 6, 8), r(2, 2, 6, 8)),
    "t5": (T5(), r(*Q), r(*K), r(*K), r(1, 4, 6, 7)),
    "decode_f16": (Decode(), r(2, 4, 1, 8, dtype=torch.float16),
                   *(r(2, 2, 9, 8, dtype=torch.float16) for _ in "kv"),
                   r(2, 1, 1, 9, dtype=torch.float16)),
}


def main():
    os.makedirs(DIRECTORY, exist_ok=True)
    for name, (module, *arguments) in CASES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        try:
            emitted = fx.export_and_import(
                module.eval(), *arguments, output_type="linalg-on-tensors",
                func_name="main")
        except Exception as error:  # one that the front end cannot lower
            print(f"{name}: {str(error)[:500]}", file=sys.stderr)
            continue
        text = emitted.operation.get_asm(large_elements_limit=None)
        with open(os.path.join(DIRECTORY, name + ".mlir"), "w") as file:
            file.write(f"// Written by emit_torch.py with torch "
                       f"{torch.__version__}.\n{text}")


main()
