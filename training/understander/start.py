"""Weights to start from: flan-t5-small as int8 ONNX, brought back to floats, and a smaller
vocabulary.

    python -m training.understander.start --onnx FOLDER --rows ROWS --out FOLDER

Of the tokens stay the most usual ones and every one that the rows need; of the decoder's layers
those that are named.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import numpy_helper
from tokenizers import Tokenizer

from training.understander.packed import save

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
    options.add_argument("--onnx", type=Path, required=True, help="encoder, decoder, tokenizer")
    options.add_argument("--rows", type=Path, required=True)
    options.add_argument("--tokens", type=int, default=12_000, help="the most usual that stay")
    options.add_argument(
        "--layers", type=int, nargs="+", default=[0, 2, 4, 7], help="of the decoder"
    )
    options.add_argument("--out", type=Path, required=True)
    given = options.parse_args()
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
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "tokenizer.json").write_text(smaller(tokenizer, stay), "utf-8")
    save(given.out / "start.npz", tensors)
    numbers = sum(one.size for one in tensors.values())
    sys.stdout.write(f"{len(stay)} tokens, {numbers:,} numbers\n")


if __name__ == "__main__":
    main()
