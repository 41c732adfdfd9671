"""Checks a model's sentence against the passages and finds the words that stand behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from secondlook.nodes.places import sentence_bounds
from secondlook.nodes.revalidating import Place
from secondlook.reading.support import joined_evidence, sieve_of
from secondlook.state import Cited
from secondlook.state import Sentence as Claimed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.revalidating import Guard
    from secondlook.nodes.sentences import Sentence
    from secondlook.passage import Passage
    from secondlook.reading.support import Support

_Place: TypeAlias = tuple[int, int]

_WINDOWS = (1, 2, 3)
"""Sentences in a row that may make up a quote."""
_WORTH_IT = 0.05
"""A longer quote must support a claim by so much more."""
_LEAST = 0.2
"""A cited passage that supports a claim less than this has nothing to do with it."""
_GAP = 2
"""Characters, a blank line at most, between passages that follow on one another."""
_WORTH_JUDGING = 3
"""Places of one passage that are judged, where judging costs more than counting words."""


@dataclass(frozen=True, slots=True)
class Quote:
    passage: Passage
    start: int
    end: int
    support: float

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]

    @property
    def cited(self) -> Cited:
        first = self.passage.start
        return Cited(passage=self.passage.id, start=first + self.start, end=first + self.end)


@dataclass(frozen=True, slots=True)
class Checker:
    """Judges sentences by numbered passages: number 1 is the first."""

    passages: Sequence[Passage]
    support: Support
    min_support: float
    enabled: bool = True
    guard: Guard | None = None
    """Who looks whether a sentence is what was asked for; None where nobody does."""
    known: dict[Sentence, Claimed] = field(default_factory=dict, compare=False, repr=False)
    """A sentence is heard while it streams and once more at the end: it is judged once."""

    def check(self, sentence: Sentence) -> Claimed:
        if sentence not in self.known:
            self.known[sentence] = self._judged(sentence)
        return self.known[sentence].copy()

    def _judged(self, sentence: Sentence) -> Claimed:
        """The sentence with the quotes that carry it. What a model cites is looked at first; where
        that does not carry the sentence and another passage does, the code cites that one."""
        own = self._quoted(sentence.text, [self.passages[at - 1] for at in sentence.citations])
        support = self._together(sentence.text, own)
        if self.enabled and support < self.min_support:
            others = self._quoted(sentence.text, self.passages)
            best = max(others, key=lambda quote: quote.support, default=None)
            if best is not None and best.support >= self.min_support:
                own, support = [best], best.support
        claimed = Claimed(
            text=sentence.text,
            cited=[quote.cited for quote in own],
            support=round(support, 4) if self.enabled else None,
            supported=support >= self.min_support and bool(own) if self.enabled else None,
        )
        return self.revalidated(claimed)

    def revalidated(self, claimed: Claimed) -> Claimed:
        """The same, without any support where it is not what was asked for."""
        if self.guard is None or claimed["supported"] is False:
            return claimed
        held = {passage.id: passage for passage in self.passages}
        places = [_place(held[one["passage"]], one, self.passages) for one in claimed["cited"]]
        objection = self.guard.objection(claimed["text"], places)
        if objection is None:
            return claimed
        return {**claimed, "support": 0.0, "supported": False, "objection": objection}

    def _quoted(self, claim: str, passages: Sequence[Passage]) -> list[Quote]:
        quotes = [self._best_quote(claim, passage) for passage in passages]
        helpful = [quote for quote in quotes if quote.support >= _LEAST]
        return helpful or quotes[:1]

    def _best_quote(self, claim: str, passage: Passage) -> Quote:
        """The fewest sentences in a row that carry the claim as well as any."""
        bounds = sentence_bounds(passage.text)
        places = [
            (bounds[at][0], bounds[at + size - 1][1])
            for size in _WINDOWS
            for at in range(len(bounds) - size + 1)
        ] or [(0, len(passage.text))]
        sifted = self._worth_judging(claim, passage, places)
        by_words, places = sifted is not places, sifted
        supports = self.support.support(_pairs(claim, passage, places))
        best = 0
        for at, value in enumerate(supports):
            longer = places[at][1] - places[at][0] > places[best][1] - places[best][0]
            # Where nothing supports a claim, a judge's small differences are no reason to cite
            # another place than the one with the claim's words, which comes first.
            if value > supports[best] + (_WORTH_IT if longer or by_words else 0):
                best = at
        return Quote(passage, *places[best], supports[best])

    def _worth_judging(self, claim: str, passage: Passage, places: list[_Place]) -> list[_Place]:
        """The places that have most of the claim's words, the best first; all of them where the
        judge counts words itself."""
        sieve = sieve_of(self.support)
        if sieve is self.support:
            return places
        values = sieve.support(_pairs(claim, passage, places))
        order = sorted(range(len(places)), key=lambda at: -values[at])
        return [places[at] for at in order[:_WORTH_JUDGING]]

    def _together(self, claim: str, quotes: Sequence[Quote]) -> float:
        if not quotes:
            return 0.0
        evidence = joined_evidence((quote.passage.title, quote.text) for quote in quotes)
        return self.support.support([(claim, evidence)])[0]


def cut_note(count: int) -> str:
    """What an answer says of sentences that it lost."""
    return f"({count} more {sentences_were(count)} cut: not supported by the evidence.)"


def sentences_were(count: int) -> str:
    return "sentence was" if count == 1 else "sentences were"


def objected(sentences: Sequence[Claimed]) -> list[str]:
    """What was held against those that were not asked for, each reason once."""
    reasons = (one.get("objection") for one in sentences)
    return list(dict.fromkeys(reason for reason in reasons if reason))


def objected_note(sentences: Sequence[Claimed]) -> str | None:
    """What an answer says where a sentence was not asked for."""
    count = sum("objection" in one for one in sentences)
    if not count:
        return None
    why = ", or ".join(f"it {reason}" for reason in objected(sentences))
    return f"({count} {sentences_were(count)} not asked for and held back: {why}.)"


def standing(sentences: Sequence[Claimed]) -> list[Claimed]:
    """Those that nothing speaks against."""
    return [one for one in sentences if one["supported"] is not False]


def _pairs(claim: str, passage: Passage, places: Sequence[_Place]) -> list[tuple[str, str]]:
    return [
        (claim, joined_evidence([(passage.title, passage.text[start:end])]))
        for start, end in places
    ]


def _place(passage: Passage, cited: Cited, shown: Sequence[Passage]) -> Place:
    near = tuple(one.text for one in shown if _touch(one, passage))
    return Place(passage.text, cited["start"] - passage.start, cited["end"] - passage.start, near)


def _touch(one: Passage, other: Passage) -> bool:
    """Whether they follow on one another in their document."""
    if one.document != other.document or one.id == other.id:
        return False
    return max(one.start, other.start) - min(one.end, other.end) <= _GAP
