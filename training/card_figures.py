"""Figures of a card, from result files. A figure of another model is never taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHIPPED, REFERENCE = "shipped", "reader-12"
NOT_MEASURED = "not measured"
SUMMARISED = ("ece_mean",)
"""Of a calibration, which has many numbers, these."""


@dataclass(frozen=True, slots=True)
class Wanted:
    title: str
    file: str
    command: str
    parts: tuple[str, ...]
    """What the name of a number must hold to be told."""


LISTED = (
    Wanted(
        "speed, and int8 against float32",
        "reader.json",
        "python -m benchmarks.reader",
        ("passages_per_second", "times_as_fast", "precision, lost"),
    ),
    Wanted(
        "groundedness",
        "groundedness.json",
        "python -m benchmarks.groundedness",
        ("balanced_accuracy",),
    ),
)


def beside_reader_12(quality: Mapping[str, Any], identity: str) -> str:
    """Every figure that the result file has for both readers."""
    measured = str(quality.get("readers", {}).get(SHIPPED, ""))
    if measured.partition("/")[0] != identity:
        return f"{NOT_MEASURED.capitalize()} yet for `{identity}`."
    rows = [
        f"| {what.replace('_', ' ')} | {_shown(mine)} | {_shown(theirs)} |"
        for what, mine, theirs in _pairs(quality)
    ]
    made = quality.get("made", "")
    head = ["| | this reader | reader-12 |", "|---|---|---|"]
    return "\n".join([*head, *rows, "", f"`python -m benchmarks.reader_quality`, {made}."])


def _pairs(found: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, float, float]]:
    both = [_figures(found.get(label)) for label in (SHIPPED, REFERENCE)]
    for name in (name for name in both[0] if name in both[1]):
        yield " ".join(filter(None, (path, name))), both[0][name], both[1][name]
    for key, value in found.items():
        # Beside the searches alone a reader shows the figure that it shows beside the other reader.
        if isinstance(value, dict) and key not in {SHIPPED, REFERENCE, "hybrid"}:
            yield from _pairs(value, f"{path}, {key}" if path else key)


def _figures(found: Any) -> dict[str, float]:
    """A number, a number with its interval, or the chosen ones of a summary."""
    if isinstance(found, float):
        return {"": found}
    if not isinstance(found, dict):
        return {}
    names = {"value": "", **{name: name.removesuffix("_mean") for name in SUMMARISED}}
    return {
        shown: found[name] for name, shown in names.items() if isinstance(found.get(name), float)
    }


def _shown(value: float) -> str:
    return f"{value:.3f}"


def listed(found: Mapping[str, Any], identity: str, wanted: Wanted) -> str:
    """The wanted numbers of a result file, if it is about this very reader."""
    if identity not in str(found):
        return f"{wanted.title}: {NOT_MEASURED} yet for `{identity}`."
    lines = [
        f"| {what.replace('_', ' ')} | {_shown(value)} |"
        for what, value in _named(found)
        if any(part in what for part in wanted.parts) and "variants" not in what
    ]
    return "\n".join([f"| {wanted.title}, `{wanted.command}` | |", "|---|---|", *lines])


def _named(found: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    for key, value in found.items():
        name = f"{path}, {key}" if path else key
        if isinstance(value, dict):
            yield from _named(value, name)
        elif isinstance(value, int | float):
            yield name, float(value)


def held_out(found: Mapping[str, Any]) -> str:
    """What `training.score` says of the student on held-out parts of the training sets."""
    if not found:
        return f"{NOT_MEASURED.capitalize()}."
    chosen = {
        **{f"{s}: {k}": v for s, part in found["reading"].items() for k, v in part.items()},
        **{f"{s}: right passage first": p["r@1"] for s, p in found["ranking"].items()},
        **{
            f"{s}: right passage first at a {name}": p["r@1"]
            for name, part in found.get("glances", {}).items()
            for s, p in part.items()
        },
        "answerable or not: area under the curve": found["answerability"]["head"],
        "supported or not: balanced accuracy": found["support"].get("all", {}).get("balanced"),
    }
    lines = [f"| {what} | {_shown(value)} |" for what, value in chosen.items() if value is not None]
    return "\n".join(["| held-out parts of the training sets | |", "|---|---|", *lines])
