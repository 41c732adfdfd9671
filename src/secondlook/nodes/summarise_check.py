"""Checks a sentence that sums up: it may rest on many places, and a model names one or none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.nodes.sentences import Sentence
from secondlook.reading.support import DEFAULT_MIN_SUPPORT, joined_evidence, sieve_of
from secondlook.state import Sentence as Claimed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.claims import Checker
    from secondlook.state import Cited

MOST_CITED = 6
"""Places that one sentence may rest on."""
_WORTH_IT = 0.02
"""A further place must carry the sentence by so much more."""


@dataclass(frozen=True, slots=True)
class _Place:
    cited: Cited
    title: str
    text: str


def check(checker: Checker, sentence: Sentence) -> Claimed:
    """By what the sentence cites, or by the passage that carries it, or by several together."""
    claim = checker.check(sentence)
    if claim["supported"] is not False or "objection" in claim:
        return claim
    together = _together(checker, sentence.text)
    return claim if together is None else checker.revalidated(together)


def _together(checker: Checker, text: str) -> Claimed | None:
    sieve = _sieve(checker)
    places = _places(sieve, text)
    chosen = _gathered(sieve, text, places)
    best = _supports(checker, text, places, [chosen])[0]
    if best < checker.min_support:
        return None
    for at in list(chosen):  # what was needed on the way may not be in the end
        rest = [other for other in chosen if other != at]
        value = _supports(checker, text, places, [rest])[0]
        if rest and value > best - _WORTH_IT and value >= checker.min_support:
            best, chosen = value, rest
    cited = [places[at].cited for at in chosen]
    return Claimed(text=text, cited=cited, support=round(best, 4), supported=True)


def _sieve(checker: Checker) -> Checker:
    """Who gathers places: a judge that costs more than counting words is asked only about what was
    gathered."""
    sieve = sieve_of(checker.support)
    if sieve is checker.support:
        return checker
    return replace(checker, support=sieve, min_support=DEFAULT_MIN_SUPPORT)


def _gathered(checker: Checker, text: str, places: Sequence[_Place]) -> list[int]:
    """Place after place, the one that helps most first. That none helps by itself is no end: of
    three numbers, two are not enough."""
    chosen: list[int] = []
    best = 0.0
    while len(chosen) < min(MOST_CITED, len(places)):
        left = [at for at in range(len(places)) if at not in chosen]
        values = _supports(checker, text, places, [sorted([*chosen, at]) for at in left])
        value, at = max(zip(values, left, strict=True), key=lambda pair: pair[0])
        if value < best + _WORTH_IT and best >= checker.min_support:
            break
        best, chosen = max(best, value), sorted([*chosen, at])
    return chosen


def _supports(
    checker: Checker, text: str, places: Sequence[_Place], groups: Sequence[Sequence[int]]
) -> list[float]:
    def evidence(group: Sequence[int]) -> str:
        return joined_evidence((places[at].title, places[at].text) for at in group)

    return checker.support.support([(text, evidence(group)) for group in groups])


def _places(checker: Checker, text: str) -> list[_Place]:
    """Of each passage what carries most of the sentence."""
    plain = replace(checker, enabled=False, guard=None)
    made = []
    for number, passage in enumerate(checker.passages, 1):
        for cited in plain.check(Sentence(text, (number,)))["cited"]:
            quote = passage.text[cited["start"] - passage.start : cited["end"] - passage.start]
            made.append(_Place(cited, passage.title, quote))
    return made
