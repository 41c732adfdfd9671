"""Weights in and out of training: floats by BERT's names, from int8 ONNX or from checkpoints.

    python -m training.weights_in --weights model.int8.onnx --out .cache/training/in/base.npz

keeps the base to train from as int8 in one file, the same numbers in less than half of fp16.

    python -m training.weights_in --weights weights/src/secondlook_weights/reader \\
        --trained DIR --share 0.7 --out DIR

blends a checkpoint with what it was trained from (Wortsman et al. 2022, arXiv:2109.01903): it keeps
most of what was learned, and loses less of what was known.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from training.export.tensors import (
    Matrix,
    Table,
    Tensors,
    from_arrays,
    read_int8_onnx,
    read_safetensors,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from training.export.tensors import Floats

    Arrays = dict[str, Floats]

HIDDEN = 384
PART_BYTES = 15 * 2**20
WORDS = "embeddings.word_embeddings.weight"
_ROWS, _SCALE = "|rows", "|scale"


def floats(tensors: Tensors) -> Arrays:
    """Every tensor by its usual name; matrices laid out (out, in) as torch wants them."""
    arrays = {f"{name}.weight": tensors.floats(name).T for name in tensors.matrices}
    arrays |= {f"embeddings.{name}.weight": tensors.floats(name) for name in tensors.tables}
    arrays |= tensors.vectors
    return {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}


def read_fused_onnx(*files: Path) -> Tensors:
    """From a graph written by `training.export`, or from the two that it is cut into."""
    import onnx
    from onnx import numpy_helper

    stored = {
        tensor.name: numpy_helper.to_array(tensor)
        for file in files
        for tensor in onnx.load(str(file)).graph.initializer
    }
    tensors = Tensors(tables=_fused_tables(stored))
    for name, array in stored.items():
        module, _, end = name.rpartition(".")
        if end == "int8" and module.endswith("attention.self"):
            _split_attention(tensors, stored, module)
        elif end == "int8":
            tensors.matrices[module] = Matrix(array, stored[f"{module}.scale"])
        elif end == "float":
            tensors.matrices |= from_arrays({f"{module}.weight": array.T}).matrices
        elif end in {"weight", "bias"} and not module.endswith("attention.self"):
            tensors.vectors[name] = array
    return tensors


def _fused_tables(stored: Mapping[str, Any]) -> dict[str, Table]:
    """An embedder's graph has the vector of type 0 inside its positions and no other type: there
    both types start as nothing."""
    kinds = stored.get("kinds", np.zeros((2, HIDDEN), np.float32))
    scale = stored.get("words.scales", float(stored["words.scale"]))
    made = from_arrays(
        {
            "embeddings.position_embeddings.weight": stored["positions"],
            "embeddings.token_type_embeddings.weight": kinds,
        }
    ).tables
    return {"word_embeddings": Table(stored["words"], scale, int(stored["words.zero"])), **made}


def _split_attention(tensors: Tensors, stored: Mapping[str, Any], module: str) -> None:
    values = np.split(stored[f"{module}.int8"], 3, axis=1)
    scales = np.split(stored[f"{module}.scale"], 3)
    biases = np.split(stored[f"{module}.bias"], 3)
    for name, *parts in zip(("query", "key", "value"), values, scales, biases, strict=True):
        tensors.matrices[f"{module}.{name}"] = Matrix(parts[0], parts[1])
        tensors.vectors[f"{module}.{name}.bias"] = parts[2]


def read_onnx(file: Path) -> Tensors:
    """Either kind of file: ours, or one that onnxruntime quantised. A folder: a reader of ours. Or
    floats as they are published."""
    import onnx

    if file.suffix == ".safetensors":
        return read_safetensors(file)
    if file.is_dir():
        return read_fused_onnx(file / "glance.onnx", file / "look.onnx")

    made_by = onnx.load(str(file)).producer_name
    return read_fused_onnx(file) if made_by == "secondlook" else read_int8_onnx(file)


def save_base(tensors: Tensors, file: Path) -> None:
    arrays: dict[str, NDArray[Any]] = {f"vector|{n}": v for n, v in tensors.vectors.items()}
    for name, matrix in tensors.matrices.items():
        arrays |= {f"matrix|{name}": matrix.values, f"scale|{name}": matrix.scale}
    for name, table in tensors.tables.items():
        arrays |= {f"table|{name}": table.values, f"grid|{name}": np.asarray(table.scale)}
        arrays[f"zero|{name}"] = np.asarray(table.zero)
    file.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def load_base(file: Path) -> Arrays:
    tensors = Tensors()
    with np.load(file) as stored:
        for key in stored.files:
            kind, _, name = key.partition("|")
            if kind == "matrix":
                tensors.matrices[name] = Matrix(stored[key], stored[f"scale|{name}"])
            elif kind == "table":
                zero = int(stored[f"zero|{name}"])
                tensors.tables[name] = Table(stored[key], stored[f"grid|{name}"], zero)
            elif kind == "vector":
                tensors.vectors[name] = stored[key]
    return floats(tensors)


def starting_weights(
    source: Path, *, layers: int, seed: int, glances: Sequence[int] = ()
) -> Arrays:
    """Base or checkpoint with `layers` of its layers, evenly spaced from the last one down, and
    every head the reader has, with one that glances after each of `glances` layers: those the
    source lacks start at random."""
    arrays = load_checkpoint(source) if source.is_dir() else load_base(source)
    arrays = {name: value for name, value in arrays.items() if not name.startswith("pooler.")}
    random = np.random.default_rng(seed)
    for name, (size, out) in head_sizes(arrays[WORDS].shape[1], glances).items():
        if f"{name}.weight" not in arrays:
            arrays[f"{name}.weight"] = random.normal(0, 0.02, (out, size)).astype(np.float32)
            arrays[f"{name}.bias"] = np.zeros(out, np.float32)
    return keep_layers(arrays, layers)


def head_sizes(hidden: int, glances: Sequence[int]) -> dict[str, tuple[int, int]]:
    """In and out of every matrix of the heads."""
    sizes = {"span": (hidden, 2)}
    heads = {"rel": 1, "ans": 2, "sup": 2} | {glance_head(after): 1 for after in glances}
    for head, seen in heads.items():
        sizes |= {f"{head}.0": (seen * hidden, hidden), f"{head}.2": (hidden, 1)}
    return sizes


def glance_head(after: int) -> str:
    """The name of the head that guesses relevance after so many layers."""
    return f"glance{after}"


def glance_layers(arrays: Iterable[str]) -> list[int]:
    """After how many layers the heads of a checkpoint glance."""
    found = (re.match(r"glance(\d+)\.2\.bias", name) for name in arrays)
    return sorted(int(match[1]) for match in found if match)


def layer_count(arrays: Mapping[str, Any]) -> int:
    found = (re.match(r"encoder\.layer\.(\d+)\.", name) for name in arrays)
    return 1 + max(int(match[1]) for match in found if match)


def keep_layers(arrays: Arrays, layers: int) -> Arrays:
    there = layer_count(arrays)
    if layers > there:
        raise ValueError(f"{layers} layers asked for, the source has {there}")
    # Six of twelve: 1, 3, 5, ... 11. The last one is always kept, the heads sit on it.
    kept = [round((at + 1) * there / layers) - 1 for at in range(layers)]
    numbers = {old: new for new, old in enumerate(kept)}
    made: Arrays = {}
    for name, value in arrays.items():
        match = re.match(r"encoder\.layer\.(\d+)\.(.+)", name)
        if not match:
            made[name] = value
        elif int(match[1]) in numbers:
            made[f"encoder.layer.{numbers[int(match[1])]}.{match[2]}"] = value
    return made


def save_checkpoint(arrays: Mapping[str, Floats], folder: Path) -> list[Path]:
    """fp16 in parts of at most 15 MiB; the word vectors as int8 with one scale per row, which is
    finer than the one scale per table they ship with."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("part-*.npz"):
        old.unlink()
    parts: list[dict[str, NDArray[Any]]] = [{}]
    size = 0
    for name, value in _stored(arrays).items():
        if parts[-1] and size + value.nbytes > PART_BYTES:
            parts.append({})
            size = 0
        parts[-1][name] = value
        size += value.nbytes
    files = [folder / f"part-{at}.npz" for at in range(len(parts))]
    for file, part in zip(files, parts, strict=True):
        np.savez(file, **part)  # type: ignore[arg-type]
    return files


def _stored(arrays: Mapping[str, Floats]) -> dict[str, NDArray[Any]]:
    words = arrays[WORDS].astype(np.float32)
    scale = np.maximum(np.abs(words).max(axis=1, keepdims=True), 1e-12) / 127
    rest = {name: value.astype(np.float16) for name, value in arrays.items() if name != WORDS}
    return {
        WORDS + _ROWS: np.rint(words / scale).astype(np.int8),
        WORDS + _SCALE: scale.astype(np.float32),
        **rest,
    }


def load_checkpoint(folder: Path) -> Arrays:
    stored: dict[str, NDArray[Any]] = {}
    for file in sorted(folder.glob("part-*.npz")):
        with np.load(file) as part:
            stored |= {name: part[name] for name in part.files}
    if not stored:
        raise FileNotFoundError(f"no part-*.npz in {str(folder)!r}")
    words = stored.pop(WORDS + _ROWS) * stored.pop(WORDS + _SCALE)
    return {name: value.astype(np.float32) for name, value in {WORDS: words, **stored}.items()}


def blended(base: Arrays, trained: Arrays, share: float) -> Arrays:
    return {name: (1 - share) * base[name] + share * value for name, value in trained.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--weights", type=Path, required=True, help="int8 ONNX, safetensors, or a reader's folder"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--trained", type=Path, help="a checkpoint that was trained from them")
    parser.add_argument("--share", type=float, default=0.5, help="of the checkpoint in the blend")
    given = parser.parse_args()
    tensors = read_onnx(given.weights)
    if given.trained is None:
        save_base(tensors, given.out)
    else:
        save_checkpoint(
            blended(floats(tensors), load_checkpoint(given.trained), given.share), given.out
        )


if __name__ == "__main__":
    main()
