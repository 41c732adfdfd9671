"""The files of the embedded models: where they lie, and that they are the ones we measured."""

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from secondlook.errors import ModelError, ModelUnavailable
from secondlook.files import digest
from secondlook.reading.languages import ENGLISH

ModelName: TypeAlias = Literal["embedder", "reader", "understander"]
INSTALL_HINT = "install the distribution secondlook-qa-weights: pip install ./weights in a clone"
_SHORT_HASH = 12
_WHOLE = "model.onnx"
_PARTED = (("glance.onnx", "look.onnx"), ("reads.onnx", "writes.onnx"))
"""A reader cut in two, so that a passage can be glanced at before it is looked at; what reads a
question, and what writes its meaning."""


@dataclass(frozen=True, slots=True)
class Weights:
    """One model's folder, as its manifest.json describes it."""

    folder: Path
    name: str
    dimensions: int
    max_tokens: int
    sha256: dict[str, str]  # SHA-256 of each file, by file name
    languages: tuple[str, ...] = ENGLISH  # What a reader was trained for, by name

    @property
    def graphs(self) -> tuple[Path, ...]:
        """The whole model, or what it glances with and what it looks with."""
        whole = (_WHOLE,) if _WHOLE in self.sha256 else ()
        names = whole or next(
            (two for two in _PARTED if set(two) <= self.sha256.keys()), _PARTED[0]
        )
        return tuple(self.folder / name for name in names)

    @property
    def tokenizer(self) -> Path:
        return self.folder / "tokenizer.json"

    @property
    def identity(self) -> str:
        """Names the exact numbers: two libraries with equal identities hold exchangeable vectors,
        and equal readers give equal scores."""
        one, *more = (self.sha256[graph.name] for graph in self.graphs)
        if more:
            one = hashlib.sha256("".join([one, *more]).encode()).hexdigest()
        return f"{self.name}@{one[:_SHORT_HASH]}"


def find_weights(model: ModelName) -> Weights:
    """The embedded model that comes with the distribution `secondlook-qa-weights`."""
    try:
        import secondlook_weights

        folder = secondlook_weights.path(model)
    except (ImportError, ValueError) as missing:  # none, or older ones
        raise ModelUnavailable(
            f"the embedded {model} is not installed", hint=INSTALL_HINT
        ) from missing
    return read_weights(folder)


def read_weights(folder: Path) -> Weights:
    """A model folder anywhere: model.onnx, or glance.onnx and look.onnx, with tokenizer.json and
    manifest.json."""
    hint = f"{INSTALL_HINT} --force-reinstall"
    unusable = f"no usable manifest.json in {str(folder)!r}"
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
        languages = manifest.get("languages") or ENGLISH
        weights = Weights(
            folder=folder,
            name=str(manifest["name"]),
            dimensions=int(manifest["dimensions"]),
            max_tokens=int(manifest["max_tokens"]),
            sha256={str(name): str(sha256) for name, sha256 in dict(manifest["files"]).items()},
            languages=tuple(map(str, languages)),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as broken:
        raise ModelUnavailable(f"{unusable}: {broken}", hint=hint) from broken
    if isinstance(languages, str):
        raise ModelUnavailable(f"{unusable}: languages is {languages!r} and no list", hint=hint)
    if not weights.sha256.keys() >= {graph.name for graph in weights.graphs}:
        raise ModelUnavailable(f"{unusable}: {_WHOLE!r}", hint=hint)
    if absent := [name for name in weights.sha256 if not (folder / name).is_file()]:
        raise ModelUnavailable(f"{str(folder)!r} lacks {', '.join(absent)}", hint=hint)
    return weights


@contextmanager
def verified(weights: Weights) -> Iterator[None]:
    """Hashes every file while they are loaded: another file than the one named is refused."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="secondlook-verify")
    done = thread.submit(verify_weights, weights)
    thread.shutdown(wait=False)
    try:
        yield
    finally:
        done.result()


def verify_weights(weights: Weights, *, anew: bool = False) -> None:
    for name, expected in weights.sha256.items():
        if (found := digest(weights.folder / name, anew=anew)) != expected:
            raise ModelError(
                f"{name} of {weights.name!r} has SHA-256 {found!r}, its manifest says {expected!r}",
                hint=f"{INSTALL_HINT} --force-reinstall",
            )
