"""Rows of an evaluation, made by hand, and effects planted in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secondlook.evaluation.records import Row

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence


def row(case: str = "q0", f1: float | None = 1.0, **more: Any) -> Row:
    """A question that was answered; right where it shares any word with the right answer."""
    known: dict[str, Any] = {
        "configuration": "base",
        "case": case,
        "question": f"what is {case}?",
        "expected": ("this",),
        "status": "answered",
        "stop_reason": "answered",
        "right": None if f1 is None else f1 > 0,
        "seconds": 1.0,
        "metrics": {**({"f1": f1} if f1 is not None else {}), **more.pop("metrics", {})},
    }
    return Row(**{**known, **more})


def rows(figures: Sequence[float], configuration: str = "base", **more: Any) -> list[Row]:
    """One question each, with these F1."""
    return [
        row(f"q{at:04}", figure, configuration=configuration, **more)
        for at, figure in enumerate(figures)
    ]


def changed(
    base: Sequence[Row], configuration: str, change: Callable[[int, Row], dict[str, Any]]
) -> list[Row]:
    """The same questions under another configuration."""
    return [
        one.model_copy(update={"configuration": configuration, **change(at, one)})
        for at, one in enumerate(base)
    ]


def churned(
    figures: Sequence[float], generator: random.Random, *, churn: float, effect: float = 0.0
) -> list[float]:
    """Yes or no figures of which a share `churn` turns, either way alike; then a share `effect` of
    all is made right."""
    found = list(figures)
    for _ in range(round(churn * len(found))):
        _turn(found, generator, float(generator.random() < 0.5))
    for _ in range(round(effect * len(found))):
        _turn(found, generator, 0.0)
    return found


def _turn(figures: list[float], generator: random.Random, this: float) -> None:
    at = generator.choice([at for at, figure in enumerate(figures) if figure == this])
    figures[at] = 1 - this
