"""How far a text carries a claim: the port, and how claims and evidence are written for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

JudgeName: TypeAlias = Literal["reader", "coverage"]
DEFAULT_JUDGE: Final[JudgeName] = "reader"
DEFAULT_MIN_SUPPORT: Final = 0.6
"""Below it a sentence counts as unsupported, whoever judges; measured in docs/verify.md."""

_MARK = re.compile(r"\[\d{1,6}(?:\s?[,;\u2013-]\s?\d{1,6})*\]")


class Support(Protocol):
    """Judges claims by the evidence given for each, without any other knowledge."""

    @property
    def name(self) -> str: ...

    def support(self, claims: Sequence[tuple[str, str]]) -> list[float]:
        """For each (claim, evidence) how far the evidence carries the claim, from 0 to 1."""


def joined_evidence(places: Iterable[tuple[str, str]]) -> str:
    """What a claim is judged by: each (title, quote) that it cites, quotes of one document below
    one title. Everybody must join alike."""
    by_title: dict[str, list[str]] = {}
    for title, quote in places:
        by_title.setdefault(title, []).append(quote)
    return "\n\n".join(part for title, quotes in by_title.items() for part in (title, *quotes))


def without_marks(claim: str) -> str:
    """The claim without the marks of its citations: [1], [1, 3]."""
    return _MARK.sub(" ", claim)
