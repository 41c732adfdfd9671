"""A very small MPNet with random weights, in the file that such models are published in."""

import json
import struct
from pathlib import Path

import numpy as np

HIDDEN, WIDE, WORDS, LAYERS, HEADS, BUCKETS = 48, 96, 30_527, 2, 12, 32


def random_mpnet(file: Path) -> Path:
    random = np.random.default_rng(5)
    header, body = {}, b""
    for name, shape in _shapes().items():
        drawn = random.normal(0, 0.1, shape) + (len(shape) == 1 and name.endswith("weight"))
        raw = drawn.astype("<f4").tobytes()
        ends = [len(body), len(body) + len(raw)]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": ends}
        body += raw
    head = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(head)) + head + body)
    return file


def _shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (WORDS, HIDDEN),
        "embeddings.position_embeddings.weight": (514, HIDDEN),
        "encoder.relative_attention_bias.weight": (BUCKETS, HEADS),
    }
    norms = ["embeddings.LayerNorm"]
    linear: dict[str, tuple[int, ...]] = {}
    for layer in (f"encoder.layer.{at}" for at in range(LAYERS)):
        linear |= {f"{layer}.attention.attn.{part}": (HIDDEN, HIDDEN) for part in "qkvo"}
        linear[f"{layer}.intermediate.dense"] = (WIDE, HIDDEN)
        linear[f"{layer}.output.dense"] = (HIDDEN, WIDE)
        norms += [f"{layer}.attention.LayerNorm", f"{layer}.output.LayerNorm"]
    for name in norms:
        shapes |= {f"{name}.weight": (HIDDEN,), f"{name}.bias": (HIDDEN,)}
    for name, shape in linear.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes
