"""Build the model folders of `secondlook-qa-weights` from int8 files.

    python -m training.export.build embedder --weights gte-small/model.int8.onnx \\
        --tokenizer gte-small/tokenizer.json --name gte-small

    python -m training.export.build reader --weights checkpoint/ --tokenizer ... --name reader-2

A reader that was trained with a head that glances is written in two files, cut where that head
sits: glance.onnx and look.onnx. `--whole` writes it as one, without that head.

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
from training.export.graph import Plan
from training.export.tensors import from_arrays, read_int8_onnx, read_safetensors
from training.weights_in import load_checkpoint

if TYPE_CHECKING:
    from training.export.tensors import Tensors

    Models = dict[str, onnx.ModelProto]

PACKAGE = Path(__file__).parents[2] / "weights" / "src" / "secondlook_weights"
KINDS = {
    "embedder": {"max_tokens": 512, "dimensions": models.HIDDEN},
    "reader": {"max_tokens": 384, "dimensions": models.HIDDEN},
}
FLOAT = Plan(linear="float", attention="separate")


def build(
    kind: str,
    *,
    weights: Path,
    tokenizer: Path,
    name: str,
    folder: Path,
    plan: Plan | None = None,
    support: bool = True,
    whole: bool = False,
    glance_layers: int | None = None,
) -> None:
    """Write the graphs, tokenizer.json and manifest.json of one model."""
    tensors = read_tensors(weights, keep_floats=plan == FLOAT)
    depth = None if kind == "embedder" or whole else _depth(tensors, glance_layers)
    made = _models(kind, tensors, plan, support=support, depth=depth)
    folder.mkdir(parents=True, exist_ok=True)
    _save(made, folder)
    write_tokenizer(tokenizer, folder / "tokenizer.json")
    manifest = {"name": name, **KINDS[kind], **_facts(made, tensors, weights, depth)}
    names = (*made, "tokenizer.json")
    manifest["files"] = {file: _sha256(folder / file) for file in names}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")


def _models(
    kind: str, tensors: Tensors, plan: Plan | None, *, support: bool, depth: int | None
) -> Models:
    """Graphs by the names of their files."""
    if kind == "embedder":
        return {"model.onnx": models.embedder(tensors, plan)}
    if depth is None:
        return {"model.onnx": models.reader(tensors, plan, support=support)}
    return {
        "glance.onnx": models.glance(tensors, depth, plan),
        "look.onnx": models.look(tensors, depth, plan, support=support),
    }


def _depth(tensors: Tensors, wanted: int | None) -> int | None:
    """The layers below the head that glances; None where there is no such head."""
    there = tensors.glances
    if wanted is None and len(there) <= 1:
        return there[0] if there else None
    if wanted not in there:
        raise ValueError(f"heads that glance sit after {there} layers: --glance-layers {wanted!r}")
    return wanted


def _save(made: Models, folder: Path) -> None:
    for name, model in made.items():
        onnx.checker.check_model(model)
        onnx.save(model, str(folder / name))
    # What an earlier build left behind would contradict the manifest.
    for name in {"model.onnx", "glance.onnx", "look.onnx"} - made.keys():
        (folder / name).unlink(missing_ok=True)


def read_tensors(file: Path, *, keep_floats: bool = False) -> Tensors:
    if file.is_dir():
        return from_arrays(load_checkpoint(file), keep_floats=keep_floats)
    return read_safetensors(file) if file.suffix == ".safetensors" else read_int8_onnx(file)


def write_tokenizer(source: Path, target: Path) -> None:
    """Without the padding and the cut at 128 tokens that the published file carries."""
    tokenizer = json.loads(source.read_text("utf-8"))
    tokenizer["truncation"] = tokenizer["padding"] = None
    compact = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    target.write_text(compact, "utf-8", newline="\n")


def _facts(made: Models, tensors: Tensors, source: Path, depth: int | None) -> dict[str, Any]:
    graphs = [model.graph for model in made.values()]
    sizes = [matrix.values.size for matrix in tensors.matrices.values()]
    sizes += [table.values.size for table in tensors.tables.values()]
    sizes += [vector.size for vector in tensors.vectors.values()]
    return {
        "layers": tensors.layers,
        **({} if depth is None else {"glance_layers": depth}),
        "parameters": sum(sizes),
        "inputs": [value.name for value in graphs[0].input],
        "outputs": [value.name for graph in graphs for value in graph.output],
        "nodes": sum(len(graph.node) for graph in graphs),
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
    parser.add_argument("--whole", action="store_true", help="one file that looks at once")
    parser.add_argument(
        "--glance-layers", type=int, help="layers below the head that glances, if there are several"
    )
    parser.add_argument(
        "--float", action="store_true", help="float32 as trained, to hold int8 against"
    )
    given = parser.parse_args()
    build(
        given.kind,
        weights=given.weights,
        tokenizer=given.tokenizer,
        name=given.name,
        folder=given.out or PACKAGE / given.kind,
        plan=FLOAT if given.float else None,
        support=given.support,
        whole=given.whole,
        glance_layers=given.glance_layers,
    )


if __name__ == "__main__":
    main()
