"""The files of the embedded models: where they lie, and that they are the ones we measured."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from secondlook.errors import ModelError, ModelUnavailable
from secondlook.reading.languages import ENGLISH

if TYPE_CHECKING:
    from pathlib import Path

ModelName: TypeAlias = Literal["embedder", "reader"]
INSTALL_HINT = "install the distribution secondlook-qa-weights: pip install ./weights in a clone"
_SHORT_HASH = 12
_WHOLE = "model.onnx"
_PARTED = ("glance.onnx", "look.onnx")


@dataclass(frozen=True, slots=True)
class Weights:
    """One model's folder, as its manifest.json describes it."""

    folder: Path
    name: str
    dimensions: int
    max_tokens: int
    sha256: dict[str, str]
    """SHA-256 of each file, by file name. Trusted at run time, checked by `verify_weights`."""
    languages: tuple[str, ...] = ENGLISH
    """What a reader was trained for, by name."""

    @property
    def parted(self) -> bool:
        """A reader cut in two, so that a passage can be glanced at before it is looked at."""
        return _WHOLE not in self.sha256

    @property
    def model(self) -> Path:
        return self.folder / _WHOLE

    @property
    def glance(self) -> Path:
        return self.folder / _PARTED[0]

    @property
    def look(self) -> Path:
        return self.folder / _PARTED[1]

    @property
    def graphs(self) -> tuple[Path, ...]:
        return (self.glance, self.look) if self.parted else (self.model,)

    @property
    def tokenizer(self) -> Path:
        return self.folder / "tokenizer.json"

    @property
    def identity(self) -> str:
        """Names the exact numbers: two libraries with equal identities hold exchangeable vectors,
        and equal readers give equal scores."""
        hashes = [self.sha256[graph.name] for graph in self.graphs]
        one = hashlib.sha256("".join(hashes).encode()).hexdigest() if self.parted else hashes[0]
        return f"{self.name}@{one[:_SHORT_HASH]}"


def find_weights(model: ModelName) -> Weights:
    """The embedded model that comes with the distribution `secondlook-qa-weights`."""
    try:
        import secondlook_weights
    except ImportError as missing:
        raise ModelUnavailable(
            f"the embedded {model} is not installed", hint=INSTALL_HINT
        ) from missing
    return read_weights(secondlook_weights.path(model))


def read_weights(folder: Path) -> Weights:
    """A model folder anywhere: model.onnx, or glance.onnx and look.onnx, with tokenizer.json and
    manifest.json."""
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
        weights = Weights(
            folder=folder,
            name=str(manifest["name"]),
            dimensions=int(manifest["dimensions"]),
            max_tokens=int(manifest["max_tokens"]),
            sha256=_hashes(manifest["files"]),
            languages=_languages(manifest.get("languages")),
        )
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise ModelUnavailable(
            f"no usable manifest.json in {str(folder)!r}: {broken}",
            hint=f"{INSTALL_HINT} --force-reinstall",
        ) from broken
    absent = [name for name in weights.sha256 if not (folder / name).is_file()]
    if absent:
        raise ModelUnavailable(
            f"{str(folder)!r} lacks {', '.join(absent)}", hint=f"{INSTALL_HINT} --force-reinstall"
        )
    return weights


def _languages(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        raise TypeError(f"languages is {given!r} and no list")
    return tuple(map(str, given or ENGLISH))


def _hashes(files: Any) -> dict[str, str]:
    hashes = {str(name): str(sha256) for name, sha256 in dict(files).items()}
    if _WHOLE not in hashes and not hashes.keys() >= set(_PARTED):
        raise KeyError(_WHOLE)
    return hashes


def verify_weights(weights: Weights) -> None:
    """Hash every file. Too slow for each start (70 MB), meant for tests and for doubt."""
    for name, expected in weights.sha256.items():
        with (weights.folder / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            raise ModelError(
                f"{name} of {weights.name!r} has SHA-256 {found!r}, its manifest says {expected!r}",
                hint=f"{INSTALL_HINT} --force-reinstall",
            )
