"""Where the models lie. Each folder holds manifest.json, the graphs and the tokenizer that it
names, and card.md."""

from pathlib import Path
from typing import Literal, TypeAlias

__all__ = ["MODELS", "ModelName", "path"]

ModelName: TypeAlias = Literal["embedder", "reader", "understander"]
MODELS: tuple[ModelName, ...] = ("embedder", "reader", "understander")


def path(name: ModelName) -> Path:
    """The folder of one model."""
    if name not in MODELS:
        raise ValueError(f"no model called {name!r}; there are {', '.join(MODELS)}")
    return Path(__file__).resolve().parent / name
