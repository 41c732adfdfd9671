"""What was measured of a model, kept for the calls that follow.

One small JSON file per model in the user's data folder. What was measured of a file on disk holds
for that file: a changed one is measured anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from secondlook.settings import APP_NAME

if TYPE_CHECKING:
    from secondlook.models.port import OutputMode
    from secondlook.models.specs import ModelSpec

_FORMAT = 1
_FIGURES = ("grading", "answer_grading")


@dataclass(frozen=True, slots=True)
class GradingFigures:
    """How well a model tells right from wrong, on the labelled pairs that are shipped."""

    pairs: int
    precision: float | None
    """Of what it accepted, the share that is right; None = it accepted nothing."""
    recall: float
    """Of what is right, the share that it accepted: the rest it rejected falsely."""
    ungraded: int
    """Pairs of which it said nothing that can be used."""
    few_shot: bool
    """Whether it was shown examples, and is from then on."""
    fit: bool
    """Whether it may be asked."""
    made_with: str
    """Which prompt and which pairs: of others these figures say nothing."""
    measured: str


@dataclass(frozen=True, slots=True)
class Probe:
    """One model as it was measured."""

    spec: str
    mode: OutputMode
    """How to ask it for objects."""
    json_rates: dict[str, float | None]
    """Share of valid replies by output mode; None = the server does not do that mode."""
    context_tokens: int | None
    """Beyond it the beginning of a prompt was not seen any more; None = no such limit was met."""
    seen_tokens: int | None
    """The longest prompt whose beginning it gave back; None = of none, so nothing is known."""
    declared_tokens: int | None
    """As its server or file says."""
    logprobs: bool
    prefill_rate: float | None
    """Tokens per second of reading."""
    decode_rate: float | None
    """Tokens per second of writing."""
    first_token_seconds: float | None
    """Of a short prompt."""
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    measured: str
    """When (ISO 8601, UTC)."""
    grading: GradingFigures | None = None
    """Of passages; None = not measured, as by older versions."""
    answer_grading: GradingFigures | None = None
    """Of answers."""


def probes_folder() -> Path:
    return Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)) / "probes"


def stored_probe(spec: ModelSpec) -> Probe | None:
    """None where it was never measured, or not by a version that measured the same."""
    try:
        content: dict[str, Any] = json.loads(_file(spec).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict) or content.pop("format", None) != _FORMAT:
        return None
    if content.pop("identity", None) != identity(spec):
        return None
    try:
        return Probe(**{**content, **{name: _figures(content.get(name)) for name in _FIGURES}})
    except TypeError:
        return None


def _figures(content: Any) -> GradingFigures | None:
    """What another version measured otherwise is as if it were not measured."""
    try:
        return GradingFigures(**content)
    except TypeError:
        return None


def store_probe(spec: ModelSpec, probe: Probe) -> Path:
    file = _file(spec)
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {"format": _FORMAT, "identity": identity(spec), **asdict(probe)}
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as writing:
            json.dump(content, writing, indent=2)
        Path(name).replace(file)  # never half written
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return file


def identity(spec: ModelSpec) -> str:
    """What must be the same for a measurement to hold."""
    if spec.provider != "gguf":
        return f"{spec.provider}:{spec.model}@{spec.base_url or ''}"
    try:
        found = spec.path.stat()
    except OSError:
        return f"gguf:{spec.path}"
    return f"gguf:{spec.path.absolute()}:{found.st_size}:{found.st_mtime_ns}"


def _file(spec: ModelSpec) -> Path:
    place = str(spec.path.absolute()) if spec.provider == "gguf" else identity(spec)
    return probes_folder() / f"{hashlib.sha256(place.encode()).hexdigest()[:16]}.json"
