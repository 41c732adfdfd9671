"""What an unclear word may stand for by the evidence, and whether one reading leads."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.nodes.meaning.mentions import mentioned, name_words
from secondlook.nodes.places import sentence_around

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from secondlook.nodes.meaning.mentions import Mentioned
    from secondlook.nodes.meaning.unclear import Unclear
    from secondlook.passage import Passage

LEADING_SHARE = 0.45
"""Of all weight: the first reading is assumed from here on, if it also leads by `LEADING_RATIO`.
Both were chosen by looking at questions whose name code had put away, 300 of SQuAD's training part
and 112 of `squad2-dev`: no figure on the latter is from unseen questions."""
LEADING_RATIO = 1.8
"""How much heavier it must be than the second."""
RIVAL_SHARE = 0.12
"""A reading with less is none that anybody would mean."""
MOST_READINGS = 4

_LONGEST_PERSON = 4
_AGAINST = 0.05
_NO_SIGN = 0.35
_ORGANISATION = re.compile(
    r"\b(?:Company|Corporation|Inc|Ltd|University|Party|Army|Band|Club|Team|Council|Union|League|"
    r"Group|Brothers|Sisters|Association|Committee|Parliament|Church|Ministry|Government)\b|s\Z"
)
_DATE = re.compile(
    r"(?:\d{1,2} )?(?:January|February|March|April|May|June|July|August|September|October|November|"
    r"December)(?: \d+)?"
)
_PLACES = frozenset(
    """Island Islands River Lake Sea Bay Street Road Bridge Harbour Harbor Mountain Mountains Valley
    City County Province Airport Station Park Castle Tower""".split()  # noqa: SIM905
)
_REACH = 40
_NAMING = r"[\s:\"\u201c'(]+(?:called|titled|entitled|named)?[\s\"\u201c'(]*"
_BEING = (
    r"[\"\u201d')]*(?:\s*\([^)]*\))?(?:,|\s+(?:is|was|are|were|became|remains))\s+"
    r"(?:the|a|an|his|her|their|its)\s+"
)


@dataclass(frozen=True, slots=True)
class Witness:
    """A passage, how likely it is to hold the answer, and where it seems to stand in it."""

    passage: Passage
    weight: float
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Rival:
    """One thing that the word may stand for."""

    name: str
    share: float
    """Of the weight of all."""
    passages: tuple[str, ...]
    """Those that mention it, the one that speaks most for it first."""
    takes_the: bool = False
    """Whether it is written with an article, as "the Rhine"."""


@dataclass(slots=True)
class _Tally:
    """What speaks for one name, over all passages."""

    name: str
    parts: dict[str, float] = field(default_factory=dict)
    mentions: int = 0
    with_article: int = 0

    @property
    def weight(self) -> float:
        return sum(self.parts.values())

    def add(self, one: Mentioned, passage: str, part: float) -> None:
        self.parts[passage] = self.parts.get(passage, 0.0) + part
        self.mentions += len(one.places)
        self.with_article += one.with_article

    def rival(self, everything: float) -> Rival:
        return Rival(
            name=self.name,
            share=self.weight / everything,
            passages=tuple(sorted(self.parts, key=lambda name: (-self.parts[name], name))),
            takes_the=2 * self.with_article > self.mentions,
        )


def rivals(unclear: Unclear, question: str, witnesses: Sequence[Witness]) -> list[Rival]:
    """What the word may stand for, the likeliest first; shares add up to 1."""
    tallies: dict[str, _Tally] = {}
    total = sum(witness.weight for witness in witnesses) or 1.0
    known = frozenset[str]().union(*(name_words(one.passage.text) for one in witnesses))
    for witness in witnesses:
        for one, worth in _worths(unclear, question, witness, known).items():
            tally = tallies.setdefault(_known_as(one.key, tallies), _Tally(one.name))
            tally.add(one, witness.passage.id, worth * witness.weight / total)
    everything = sum(tally.weight for tally in tallies.values())
    ordered = sorted(tallies.values(), key=lambda tally: (-tally.weight, tally.name))
    return [tally.rival(everything) for tally in ordered]


def leader(found: Sequence[Rival]) -> Rival | None:
    """The reading that can be assumed; None where another is nearly as likely."""
    if not found or found[0].share < LEADING_SHARE:
        return None
    second = found[1].share if len(found) > 1 else 0.0
    return found[0] if found[0].share >= LEADING_RATIO * second else None


def competing(found: Sequence[Rival]) -> list[Rival]:
    """The readings that somebody may mean."""
    return [one for one in found if one.share >= RIVAL_SHARE][:MOST_READINGS]


def _known_as(key: str, weights: Collection[str]) -> str:
    """The same name under which an earlier passage has it: "knowles" for "beyonc\u00e9 knowles"."""
    words = set(key.split())
    alike = [other for other in weights if words < set(other.split()) or set(other.split()) < words]
    return alike[0] if key not in weights and len(alike) == 1 else key


def _worths(
    unclear: Unclear, question: str, witness: Witness, known: frozenset[str]
) -> dict[Mentioned, float]:
    """How far the passage speaks for each of its names, adding up to 1."""
    found = mentioned(witness.passage.text, witness.passage.title, known)
    asked = question.casefold()
    worths = {
        one: _prominence(one, witness) * _fit(unclear, one, witness.passage.text)
        for one in found.values()
        if one.key not in asked and not _DATE.fullmatch(one.name) and not _is_answer(one, witness)
    }
    total = sum(worths.values())
    return {one: worth / total for one, worth in worths.items() if worth > 0.0} if total else {}


def _is_answer(one: Mentioned, witness: Witness) -> bool:
    """What seems to be asked for is not what the question is about."""
    if witness.span is None:
        return False
    start, end = witness.span
    return bool(one.places) and all(first < end and start < last for first, last in one.places)


def _prominence(one: Mentioned, witness: Witness) -> float:
    text = witness.passage.text
    prominence = math.log2(1 + len(one.places)) + 2.0 * one.is_title
    if witness.span is not None:
        start, end = sentence_around(text, *witness.span)
        before = sentence_around(text, max(0, start - 2), max(1, start - 1))[0] if start else 0
        near = [first for first, _ in one.places if first < witness.span[0]]
        prominence += 1.5 * any(start <= at < end for at in near)
        prominence += 0.75 * any(before <= at < start for at in near)
    return prominence


def _fit(unclear: Unclear, one: Mentioned, text: str) -> float:
    """How well a name is of the kind that is looked for, 0 to 1."""
    if unclear.kind == "noun":
        return is_a(unclear.noun, one, text)
    if unclear.kind == "place":
        return min(1.0, 0.1 + one.as_place) if not one.goes_on["she"] + one.goes_on["he"] else 0.0
    signs = one.goes_on
    wanted = {"group": "they", "thing": "it"}.get(unclear.kind) or (
        "she" if unclear.word.casefold().startswith(("she", "her")) else "he"
    )
    for_it, against = signs[wanted], float(signs.total() - signs[wanted])
    if unclear.kind == "person":
        if not _may_be_person(one):
            return 0.0
        against = signs["he" if wanted == "she" else "she"] + 0.5 * (signs["it"] + signs["they"])
    elif signs["she"] + signs["he"] >= max(1, for_it):
        return 0.0
    if not for_it:
        looks = unclear.kind == "group" and bool(_ORGANISATION.search(one.name))
        return _AGAINST if against else _NO_SIGN * (2 if looks or one.is_title else 1)
    return (for_it + 1) / (for_it + 1 + against)


def _may_be_person(one: Mentioned) -> bool:
    words = one.name.split()
    if len(words) > _LONGEST_PERSON or any(sign.isdigit() for sign in one.name):
        return False
    if words[-1] in _PLACES:
        return False
    if not all(word[:1].isupper() or word in {"de", "von", "van", "la", "du"} for word in words):
        return False
    signs = one.goes_on["she"] + one.goes_on["he"]
    if len(words) == 1 and not signs and not one.is_title:
        return False  # one capital word of which nothing speaks as of a person: mostly none
    return one.is_title or (2 * one.with_article < len(one.places) and one.as_place <= signs)


def is_a(noun: str, one: Mentioned, text: str) -> float:
    """Whether the passage calls the name by the noun: it is in the name, stands beside it, or is
    what the name is said to be."""
    word = re.escape(noun.rsplit(maxsplit=1)[-1])
    if re.search(rf"\b{word}s?\b", one.name, re.IGNORECASE):
        return 1.0
    before = re.compile(rf"\b{word}{_NAMING}\Z", re.IGNORECASE)
    after = re.compile(rf"{_BEING}(?:[\w'\u2019-]+,?\s+){{0,4}}?{word}\b(?!-)", re.IGNORECASE)
    beside = (
        before.search(text, max(0, start - _REACH), start) or after.match(text, end)
        for start, end in one.places
    )
    return float(any(beside))
