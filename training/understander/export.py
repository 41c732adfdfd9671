"""The understander as two ONNX graphs: one reads, one writes a token at a time.

    python -m training.understander.export --weights FOLDER --out FOLDER

Weights are whole numbers of eight bits, in blocks; what is computed with them stays in floats, for
T5's few large activations do not bear rounding.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import Tensor, nn

from secondlook.reading.understander import LONGEST_GIVEN
from training.data.asked import words_of_tables
from training.export.graph import MICROSOFT, OPSET, blocks
from training.understander.model import Shape, Understander
from training.understander.packed import load

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCK = 128


class _Reads(nn.Module):  # type: ignore[misc]
    def __init__(self, model: Understander) -> None:
        super().__init__()
        self.model = model

    def forward(self, given: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.model.remembered(self.model.read(given)))


class _Writes(nn.Module):  # type: ignore[misc]
    def __init__(self, model: Understander) -> None:
        super().__init__()
        self.model, self.layers = model, len(model.decoder)

    def forward(self, token: Tensor, *kept: Tensor) -> tuple[Tensor, ...]:
        half = 2 * self.layers
        return tuple(self.model.step(token, list(kept[:half]), list(kept[half:])))


def model_of(file: Path) -> Understander:
    tensors = load(file)
    sizes = {
        side: len({name.split(".")[1] for name in tensors if name.startswith(f"{side}.")})
        for side in ("encoder", "decoder")
    }
    inner, width = tensors["encoder.0.feed.wi_0.weight"].shape
    heads = tensors["near.weight"].shape[1]
    head = len(tensors["encoder.0.own.q.weight"]) // heads
    shape = Shape(len(tensors["embed.weight"]), width, inner, heads, head, **sizes)
    model = Understander(shape)
    model.load_state_dict({name: torch.from_numpy(one) for name, one in tensors.items()})
    model.eval()
    return model


def exported(model: Understander, out: Path) -> None:
    layers, shape = range(len(model.decoder)), model.shape
    cross = [f"read_{what}_{at}" for at in layers for what in "kv"]
    past = [f"past_{what}_{at}" for at in layers for what in "kv"]
    now = [f"now_{what}_{at}" for at in layers for what in "kv"]
    _graph(
        _Reads(model),
        (torch.ones(1, 5, dtype=torch.long),),
        out / "reads.onnx",
        (["given"], cross),
        {"given": {1: "length"}, **{name: {2: "length"} for name in cross}},
    )
    some = [torch.zeros(1, shape.heads, 5, shape.head)] * len(cross)
    before = [torch.zeros(1, shape.heads, 2, shape.head)] * len(past)
    _graph(
        _Writes(model),
        (torch.ones(1, 1, dtype=torch.long), *some, *before),
        out / "writes.onnx",
        (["token", *cross, *past], ["scores", *now]),
        {name: {2: "length"} for name in cross}
        | {name: {2: "written"} for name in past}
        | {name: {2: "after"} for name in now},
    )


def _graph(
    module: nn.Module,
    given: tuple[Tensor, ...],
    file: Path,
    names: tuple[Sequence[str], Sequence[str]],
    free: dict[str, dict[int, str]],
) -> None:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # this exporter is old, and needs no further package
        torch.onnx.export(
            module,
            given,
            str(file),
            dynamo=False,
            opset_version=OPSET,
            input_names=names[0],
            output_names=names[1],
            dynamic_axes=free,
        )
    made = onnx.load(file)
    _small_matrices(made)
    _small_tables(made)
    made.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    onnx.save(made, file)


def _small_matrices(model: onnx.ModelProto) -> None:
    """Every product with constants on blocks of eight bits, each with its scale."""
    known = {one.name: one for one in model.graph.initializer}
    for node in model.graph.node:
        weight = known.get(node.input[1]) if node.op_type == "MatMul" else None
        if weight is None:
            continue
        floats = numpy_helper.to_array(weight).T
        columns, size = floats.shape
        block = min(BLOCK, size)
        parts = floats.reshape(columns, size // block, block)
        scale = np.abs(parts).max(axis=2, keepdims=True) / 127
        scale = np.where(scale == 0, 1, scale).astype(np.float32)
        small = (np.round(parts / scale) + 128).astype(np.uint8)
        model.graph.initializer.remove(weight)
        names = [f"{weight.name}_small", f"{weight.name}_scale"]
        model.graph.initializer.append(numpy_helper.from_array(small, names[0]))
        model.graph.initializer.append(numpy_helper.from_array(scale.reshape(-1), names[1]))
        new = helper.make_node(
            "MatMulNBits",
            [node.input[0], *names],
            list(node.output),
            domain=MICROSOFT,
            **blocks(size, columns, block),
        )
        node.CopyFrom(new)


def _small_tables(model: onnx.ModelProto) -> None:
    """Embeddings in eight bits: looked up, then scaled."""
    known = {one.name: one for one in model.graph.initializer}
    for node in list(model.graph.node):
        table = known.get(node.input[0]) if node.op_type == "Gather" else None
        if table is None or len(table.dims) != 2 or table.dims[0] < 1000:  # noqa: PLR2004
            continue
        floats = numpy_helper.to_array(table)
        scale = np.abs(floats).max(axis=1, keepdims=True) / 127
        scale = np.where(scale == 0, 1, scale).astype(np.float32)
        small = np.round(floats / scale).astype(np.int8)
        model.graph.initializer.remove(table)
        name, out = table.name, node.output[0]
        model.graph.initializer.append(numpy_helper.from_array(small, f"{name}_small"))
        model.graph.initializer.append(numpy_helper.from_array(scale, f"{name}_scale"))
        at = list(model.graph.node).index(node)
        ids = node.input[1]
        new = [
            helper.make_node("Gather", [f"{name}_small", ids], [f"{out}_small"]),
            helper.make_node("Cast", [f"{out}_small"], [f"{out}_float"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Gather", [f"{name}_scale", ids], [f"{out}_scale"]),
            helper.make_node("Mul", [f"{out}_float", f"{out}_scale"], [out]),
        ]
        model.graph.node.remove(node)
        for place, one in enumerate(new):
            model.graph.node.insert(at + place, one)


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--weights", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--name", default="secondlook-understander-6")
    given = options.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    model = model_of(given.weights / "weights.npz")
    exported(model, given.out)
    shutil.copy(given.weights / "tokenizer.json", given.out / "tokenizer.json")
    (given.out / "words.txt").write_text(words_of_tables(), "utf-8")
    kinds = {".onnx", ".json", ".txt"}
    files = sorted(one.name for one in given.out.iterdir() if one.suffix in kinds)
    manifest = {
        "name": given.name,
        "max_tokens": LONGEST_GIVEN,
        "dimensions": model.shape.width,
        "layers": model.shape.encoder + model.shape.decoder,
        "parameters": sum(one.numel() for one in model.parameters()),
        "inputs": ["given", "token"],
        "outputs": ["scores"],
        "files": {
            name: hashlib.sha256((given.out / name).read_bytes()).hexdigest()
            for name in files
            if name != "manifest.json"
        },
    }
    (given.out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
