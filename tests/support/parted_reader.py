"""A reader of three small layers with random weights, cut in two and whole: what it says means
nothing, but it says it exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import secondlook_weights
from secondlook.reading.weights import Weights, read_weights
from training.export.build import build
from training.export.tensors import MATRICES
from training.weights_in import save_checkpoint

if TYPE_CHECKING:
    from pathlib import Path

    from training.weights_in import Arrays

HIDDEN, WIDE, WORDS, LAYERS, GLANCE = 384, 1536, 30_522, 3, 1
TOKENIZER = secondlook_weights.path("reader") / "tokenizer.json"
_SHAPES = {"intermediate.dense": (WIDE, HIDDEN), "output.dense": (HIDDEN, WIDE)}
_HEADS = {
    "span": (2, HIDDEN),
    f"glance{GLANCE}.0": (HIDDEN, HIDDEN),
    f"glance{GLANCE}.2": (1, HIDDEN),
    "rel.0": (HIDDEN, HIDDEN),
    "rel.2": (1, HIDDEN),
    "ans.0": (HIDDEN, 2 * HIDDEN),
    "ans.2": (1, HIDDEN),
    "sup.0": (HIDDEN, 2 * HIDDEN),
    "sup.2": (1, HIDDEN),
}


def random_reader(seed: int = 11, *, words: int = WORDS) -> Arrays:
    """Weights by the names that training gives them."""
    random = np.random.default_rng(seed)
    made: Arrays = {}

    def draw(name: str, *shape: int, spread: float = 0.08) -> None:
        made[name] = random.normal(0, spread, shape).astype(np.float32)

    for table, rows in (("word", words), ("position", 512), ("token_type", 2)):
        draw(f"embeddings.{table}_embeddings.weight", rows, HIDDEN, spread=1)
    linear = {
        f"encoder.layer.{layer}.{name}": _SHAPES.get(name, (HIDDEN, HIDDEN))
        for layer in range(LAYERS)
        for name in MATRICES
    }
    for name, (out, size) in {**linear, **_HEADS}.items():
        draw(f"{name}.weight", out, size)
        draw(f"{name}.bias", out)
    for name in ("embeddings", *(f"encoder.layer.{layer}" for layer in range(LAYERS))):
        for part in ("",) if name == "embeddings" else ("attention.output.", "output."):
            norm = f"{name}.{part}LayerNorm"
            draw(f"{norm}.weight", HIDDEN)
            made[f"{norm}.weight"] += 1
            draw(f"{norm}.bias", HIDDEN)
    return made


def built(folder: Path) -> dict[str, Weights]:
    """The same weights as folders of the product: parted, and whole."""
    save_checkpoint(random_reader(), folder / "checkpoint")
    options = {"parted": {}, "whole": {"whole": True}}
    for name, chosen in options.items():
        build(
            "reader",
            weights=folder / "checkpoint",
            tokenizer=TOKENIZER,
            name="tiny",
            folder=folder / name,
            **chosen,  # type: ignore[arg-type]
        )
    return {name: read_weights(folder / name) for name in options}
