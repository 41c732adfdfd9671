"""Build the model folders of `secondlook-weights` from int8 files.

    python -m training.export.build embedder --weights gte-small/model.int8.onnx \\
        --tokenizer gte-small/tokenizer.json --name gte-small

    python -m training.export.build reader --weights checkpoint/ --tokenizer ... --name reader-2

The weights of an int8 file are taken over bit for bit; only the graph around them is written
anew. A folder is a checkpoint of `training.train`: it is quantised here.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from training.export import models
from training.export.tensors import from_arrays, read_int8_onnx, read_safetensors
from training.weights_in import load_checkpoint

if TYPE_CHECKING:
    from training.export.graph import Plan
    from training.export.tensors import Tensors

PACKAGE = Path(__file__).parents[2] / "weights" / "src" / "secondlook_weights"
KINDS = {
    "embedder": {"max_tokens": 512, "dimensions": models.HIDDEN},
    "reader": {"max_tokens": 384, "dimensions": models.HIDDEN},
}


def build(
    kind: str,
    *,
    weights: Path,
    tokenizer: Path,
    name: str,
    folder: Path,
    plan: Plan | None = None,
    support: bool = True,
) -> None:
    """Write model.onnx, tokenizer.json and manifest.json of one model."""
    tensors = read_tensors(weights)
    model = (
        models.embedder(tensors, plan)
        if kind == "embedder"
        else models.reader(tensors, plan, support=support)
    )
    folder.mkdir(parents=True, exist_ok=True)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "model.onnx"))
    write_tokenizer(tokenizer, folder / "tokenizer.json")
    manifest = {"name": name, **KINDS[kind], **_facts(model, tensors, weights)}
    manifest["files"] = {file: _sha256(folder / file) for file in ("model.onnx", "tokenizer.json")}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")


def read_tensors(file: Path) -> Tensors:
    if file.is_dir():
        return from_arrays(load_checkpoint(file))
    return read_safetensors(file) if file.suffix == ".safetensors" else read_int8_onnx(file)


def write_tokenizer(source: Path, target: Path) -> None:
    """Without the padding and the cut at 128 tokens that the published file carries."""
    tokenizer = json.loads(source.read_text("utf-8"))
    tokenizer["truncation"] = tokenizer["padding"] = None
    compact = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    target.write_text(compact, "utf-8", newline="\n")


def _facts(model: onnx.ModelProto, tensors: Tensors, source: Path) -> dict[str, Any]:
    sizes = [matrix.values.size for matrix in tensors.matrices.values()]
    sizes += [table.values.size for table in tensors.tables.values()]
    sizes += [vector.size for vector in tensors.vectors.values()]
    return {
        "layers": tensors.layers,
        "parameters": sum(sizes),
        "inputs": [value.name for value in model.graph.input],
        "outputs": [value.name for value in model.graph.output],
        "nodes": len(model.graph.node),
        "source_sha256": _sha256(source),
    }


def _sha256(source: Path) -> str:
    """Of a file, or of a checkpoint's parts one after the other."""
    files = sorted(source.glob("part-*.npz")) if source.is_dir() else [source]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument(
        "--weights", type=Path, required=True, help="int8 ONNX, safetensors, checkpoint"
    )
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--name", required=True, help="what the product calls the model")
    parser.add_argument("--out", type=Path, help="folder; default: the one in the distribution")
    parser.add_argument(
        "--no-support", dest="support", action="store_false", help="leave the support head out"
    )
    given = parser.parse_args()
    build(
        given.kind,
        weights=given.weights,
        tokenizer=given.tokenizer,
        name=given.name,
        folder=given.out or PACKAGE / given.kind,
        support=given.support,
    )


if __name__ == "__main__":
    main()
