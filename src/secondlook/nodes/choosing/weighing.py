"""What the options were judged by: the elements of the rule, and for each option whether they are
met. The letter follows from it, by code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.state import ElementData, OptionData

_DOUBTED: Final = 0.5
"""What is left of a confidence where the verdicts contradict themselves to the end, or where
another order of the options led elsewhere."""


@dataclass(frozen=True, slots=True)
class Weighing:
    elements: list[ElementData]
    options: list[OptionData]
    """Every option, in the order of the question."""
    named: str | None = None
    """The letter that whoever judged would choose."""
    facts_dropped: int = 0
    """Quotes that are not in the question."""
    sources_dropped: int = 0
    """Sources that do not exist."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What the verdicts amount to."""

    letters: tuple[str, ...]
    """The best; several where nothing tells them apart, none where nothing speaks for any."""
    decisive: float
    """From 0.5, two are alike, to 1: all speaks for one and all against the others."""
    contradiction: str = ""
    """Why this cannot be all; empty where it can."""
    complete: tuple[str, ...] = field(default=())
    """Options whose every element is met."""


def derived(weighing: Weighing) -> Derived:
    """The option whose elements are all met; else the one with most met and fewest not met."""
    ranks = {one["letter"]: _rank(one) for one in weighing.options}
    best = max(ranks.values())
    letters = tuple(letter for letter, rank in ranks.items() if rank == best)
    complete = tuple(one["letter"] for one in weighing.options if _is_complete(one))
    if len(letters) == len(ranks):  # all are alike: nothing was said
        letters = complete = ()
    return Derived(
        letters=letters,
        decisive=_decisive(sorted((rank[0] for rank in ranks.values()), reverse=True)),
        contradiction=_contradiction(weighing, letters, complete),
        complete=complete,
    )


def settled(found: Derived, weighing: Weighing) -> tuple[str | None, str]:
    """The letter, contradiction or not, and why it is that one."""
    if len(found.letters) == 1:
        letter = found.letters[0]
        if letter in found.complete:
            return letter, f"all that must hold is met for {letter} alone"
        return letter, f"most is met, and least is not met, for {letter}"
    if weighing.named in _rivals(found, weighing):
        return weighing.named, f"{alike(found, weighing)}; {weighing.named} was named"
    return None, f"{alike(found, weighing)}, and none was named"


def alike(found: Derived, weighing: Weighing) -> str:
    return f"{', '.join(_rivals(found, weighing))} are alike by what is met"


def _rivals(found: Derived, weighing: Weighing) -> tuple[str, ...]:
    return found.letters or tuple(one["letter"] for one in weighing.options)


def confidence(research: float | None, decisive: float, *doubts: bool) -> float | None:
    """Of the research, times how decisive the verdicts were, and half of it for each doubt. It was
    not fitted to right and wrong choices: provisional."""
    if research is None:
        return None
    value = max(0.0, min(1.0, research)) * decisive
    for doubted in doubts:
        value *= _DOUBTED if doubted else 1.0
    return round(value, 4)


def _rank(option: OptionData) -> tuple[float, int]:
    met = sum(one["met"] == "met" for one in option["verdicts"])
    unmet = sum(one["met"] == "not met" for one in option["verdicts"])
    return (met - unmet) / max(1, len(option["verdicts"])), -unmet


def _is_complete(option: OptionData) -> bool:
    return bool(option["verdicts"]) and all(one["met"] == "met" for one in option["verdicts"])


def _decisive(scores: Sequence[float]) -> float:
    margin = scores[0] - scores[1] if len(scores) > 1 else 0.0
    return 0.5 + margin / 4


def _contradiction(weighing: Weighing, letters: tuple[str, ...], complete: tuple[str, ...]) -> str:
    if not letters:
        return "All options were judged alike."
    if len(complete) > 1:
        return f"{' and '.join(complete)} were judged to have everything met, and one is right."
    if not complete:
        return "No option was judged to have everything met, and one is right."
    if weighing.named and weighing.named not in letters:
        best = letters[0]
        return f"{weighing.named} was named as the answer, but by what is met it is {best}."
    return ""
