"""Weights as whole numbers of eight bits with one scale per row: what the exported graph computes
with, and a quarter of the size on the way there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Tensors = Mapping[str, NDArray[np.float32]]

SCALE = ".scale"
LARGE = 4096
"""Smaller tensors, such as those of norms, stay as they are."""


def save(file: Path, tensors: Tensors) -> None:
    packed: dict[str, NDArray[np.generic]] = {}
    for name, tensor in tensors.items():
        if tensor.ndim != 2 or tensor.size < LARGE:  # noqa: PLR2004 - no matrix
            packed[name] = tensor.astype(np.float32)
            continue
        scale = np.abs(tensor).max(axis=1, keepdims=True) / 127
        scale = np.where(scale == 0, 1, scale)
        packed[name] = np.round(tensor / scale).astype(np.int8)
        packed[name + SCALE] = scale.astype(np.float32)
    np.savez(file, **packed)  # type: ignore[arg-type]


def load(file: Path) -> dict[str, NDArray[np.float32]]:
    with np.load(file) as held:
        known = {name: held[name] for name in held.files}
    return {
        name: (tensor * known[name + SCALE] if name + SCALE in known else tensor).astype(np.float32)
        for name, tensor in known.items()
        if not name.endswith(SCALE)
    }
