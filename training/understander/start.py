"""Weights to start from: flan-t5-small as int8 ONNX, brought back to floats, and a smaller
vocabulary.

    python -m training.understander.start --onnx FOLDER --rows ROWS --out FOLDER

Of the tokens stay the most usual ones and every one that the rows need; of the decoder's layers
those that are named.

    python -m training.understander.start --shipped FOLDER --out FOLDER

goes on from a model that was exported: its numbers of eight bits become floats again.

    python -m training.understander.start --mean FOLDER=0.2 FOLDER=0.8 --out FOLDER

is the mean of runs that went on from each other (Wortsman et al. 2022), as `weights.npz`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import numpy_helper
from tokenizers import Tokenizer

from training.understander.packed import load, save

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tensors = dict[str, NDArray[np.float32]]

PARTS = {"SelfAttention": "own", "EncDecAttention": "cross", "DenseReluDense": "feed"}
NORMS = {
    ("encoder", 0): "norm", ("encoder", 1): "feed_norm",
    ("decoder", 0): "norm", ("decoder", 1): "cross_norm", ("decoder", 2): "feed_norm",
}  # fmt: skip
NEEDED = 4
SPECIAL = 3
"""Pad, end and unknown come first."""


def floats(file: Path, side: str) -> Tensors:
    """The tensors of one graph by the names of `training.understander.model`."""
    graph = onnx.load(file).graph
    known = {one.name: numpy_helper.to_array(one) for one in graph.initializer}

    def whole(name: str) -> NDArray[np.float32]:
        scale, zero = known[f"{name}_scale"], known[f"{name}_zero_point"]
        small = known[f"{name}_quantized"].astype(np.float32)
        return np.asarray((small - zero) * scale, np.float32)

    found: Tensors = {}
    for node in graph.node:
        if node.op_type != "MatMulInteger":
            continue
        weight = whole(node.input[1].removesuffix("_quantized"))
        place = re.search(r"block\.(\d+)/layer\.\d+/(\w+)/(\w+)/", node.name)
        if place:
            found[f"{side}.{place[1]}.{PARTS[place[2]]}.{place[3]}.weight"] = weight.T
        elif weight.shape[1] > weight.shape[0]:
            found["out.weight"] = weight.T
    for name, tensor in known.items():
        if place := re.search(r"block\.(\d+)\.layer\.(\d+)\.layer_norm\.weight$", name):
            found[f"{side}.{place[1]}.{NORMS[side, int(place[2])]}.weight"] = tensor
        elif name.endswith("final_layer_norm.weight"):
            found[f"{side}_norm.weight"] = tensor
    near = next(one for one in known if one.endswith("relative_attention_bias.weight_quantized"))
    found["near.weight" if side == "encoder" else "near_out.weight"] = whole(
        near.removesuffix("_quantized")
    )
    shared = next(
        one for one in known if re.search(r"(embed_tokens|shared)\.weight_quantized$", one)
    )
    found["embed.weight"] = whole(shared.removesuffix("_quantized"))
    return found


def shipped(folder: Path) -> Tensors:
    """The tensors of an exported model. Its products stand in the order of the computation, so
    this order gives them their names."""
    found: Tensors = {}
    for file in ("reads.onnx", "writes.onnx"):
        graph = onnx.load(folder / file).graph
        known = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
        for name, tensor in known.items():
            if name.startswith("model.") and not name.endswith(("_small", "_scale")):
                found[name.removeprefix("model.")] = tensor
        small, scale = known["model.embed.weight_small"], known["model.embed.weight_scale"]
        found["embed.weight"] = small.astype(np.float32) * scale
        products = iter(node for node in graph.node if node.op_type == "MatMulNBits")
        layers = sum(name.endswith(".feed_norm.weight") for name in known)
        side = "encoder" if file == "reads.onnx" else "decoder"
        crossed = ["cross.q", "cross.o"] if side == "decoder" else []
        own = ["own.k", "own.v", "own.q", "own.o", *crossed, "feed.wi_0", "feed.wi_1", "feed.wo"]
        names = [f"{side}.{at}.{one}" for at in range(layers) for one in own]
        if side == "encoder":
            held = sum(one.name.startswith("read_k_") for one in graph.output)
            names += [f"decoder.{at}.cross.{one}" for at in range(held) for one in "kv"]
        else:
            names.append("out")
        for name, node in zip(names, products, strict=True):
            blocks, scales = known[node.input[1]], known[node.input[2]]
            floats = (blocks.astype(np.float32) - 128) * scales.reshape(*blocks.shape[:2], 1)
            found[f"{name}.weight"] = floats.reshape(len(blocks), -1)
    return found


def kept_tokens(tokenizer: Tokenizer, texts: list[str], most: int) -> list[int]:
    """The ids that stay: special ones, those the texts need, single characters, the most usual."""
    model = json.loads(tokenizer.to_str())["model"]
    used = Counter(one for text in tokenizer.encode_batch(texts) for one in text.ids)
    stay = [*range(SPECIAL)]
    for at, (piece, _) in enumerate(model["vocab"][:32_100]):
        if at >= SPECIAL and (used[at] >= NEEDED or len(piece.lstrip("▁")) <= 1 or at < most):
            stay.append(at)
    return stay


def smaller(tokenizer: Tokenizer, stay: list[int]) -> str:
    data = json.loads(tokenizer.to_str())
    data["model"]["vocab"] = [data["model"]["vocab"][at] for at in stay]
    data["added_tokens"] = [one for one in data["added_tokens"] if one["id"] < SPECIAL]
    return json.dumps(data, ensure_ascii=False)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--onnx", type=Path, help="encoder, decoder, tokenizer")
    options.add_argument("--shipped", type=Path, help="instead: an exported model to go on from")
    options.add_argument("--mean", nargs="+", help="instead: folders of runs with their shares")
    options.add_argument("--rows", type=Path)
    options.add_argument("--tokens", type=int, default=12_000, help="the most usual that stay")
    options.add_argument(
        "--layers", type=int, nargs="+", default=[0, 2, 4, 7], help="of the decoder"
    )
    options.add_argument("--out", type=Path, required=True)
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.mean:
        runs = [Path(one.rpartition("=")[0]) for one in given.mean]
        shares = [float(one.rpartition("=")[2]) for one in given.mean]
        each = [load(run / "weights.npz") for run in runs]
        mean = {
            name: np.sum([s * one[name] for s, one in zip(shares, each, strict=True)], axis=0)
            for name in each[0]
        }
        shutil.copy(runs[-1] / "tokenizer.json", given.out / "tokenizer.json")
        save(given.out / "weights.npz", mean)
        return
    if given.shipped:
        shutil.copy(given.shipped / "tokenizer.json", given.out / "tokenizer.json")
        save(given.out / "start.npz", shipped(given.shipped))
        return
    tokenizer = Tokenizer.from_file(str(given.onnx / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with gzip.open(given.rows, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    stay = kept_tokens(tokenizer, [text for row in rows for text in row[:2]], given.tokens)
    tensors = floats(given.onnx / "encoder.onnx", "encoder")
    tensors |= floats(given.onnx / "decoder.onnx", "decoder")
    for name in ("embed.weight", "out.weight"):
        tensors[name] = tensors[name][stay]
    for name in [one for one in tensors if one.startswith("decoder.")]:
        _, layer, rest = name.split(".", 2)
        tensor = tensors.pop(name)
        if int(layer) in given.layers:
            tensors[f"decoder.{given.layers.index(int(layer))}.{rest}"] = tensor
    (given.out / "tokenizer.json").write_text(smaller(tokenizer, stay), "utf-8")
    save(given.out / "start.npz", tensors)
    numbers = sum(one.size for one in tensors.values())
    sys.stdout.write(f"{len(stay)} tokens, {numbers:,} numbers\n")


if __name__ == "__main__":
    main()
