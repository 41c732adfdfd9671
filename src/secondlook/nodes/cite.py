"""Places in documents become numbered citations. Code alone writes them, never a model."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from secondlook.answer import Citation, Claim, Computation, Operand
from secondlook.nodes import ranking
from secondlook.nodes.revalidate import Place
from secondlook.nodes.state import Cited, Sentence
from secondlook.reading.support import joined_evidence, sieve_of
from secondlook.roles.sentences import sentence_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.nodes.context import Context
    from secondlook.nodes.revalidate import Guard
    from secondlook.nodes.state import Found
    from secondlook.passage import Passage
    from secondlook.reading.support import Support
    from secondlook.roles.sentences import Sentence as sentences_Sentence

Pages = dict[tuple[str, int], int | None]


async def cite(
    context: Context, sentences: Sequence[Sentence], found: Sequence[Found]
) -> tuple[tuple[Citation, ...], tuple[Claim, ...]]:
    """Each sentence with its citations; the same place gets the same number."""
    places = [place for sentence in sentences for place in sentence["cited"]]
    if not places:  # also the way of a run that failed because the library cannot be read
        return (), tuple(_claim(sentence, _Numbers({}, {}, {}, {})) for sentence in sentences)
    held = await ranking.texts(context, sorted({place["passage"] for place in places}))
    numbers = _Numbers(
        held=held,
        found={item["id"]: item for item in found},
        paths=await asyncio.to_thread(
            context.shelf.paths, {passage.document for passage in held.values()}
        ),
        pages=await asyncio.to_thread(_pages, context, places, held),
    )
    claims = tuple(_claim(sentence, numbers) for sentence in sentences)
    return tuple(numbers.given.values()), claims


def _claim(sentence: Sentence, numbers: _Numbers) -> Claim:
    cited = [
        numbers.of(place)
        for place in sentence["cited"]
        if place["passage"] in numbers.held and place["start"] < place["end"]
    ]
    return Claim(
        text=sentence["text"],
        citations=tuple(dict.fromkeys(cited)),
        support=sentence["support"],
        supported=sentence["supported"],
        computation=_computation(sentence, numbers),
    )


def _computation(sentence: Sentence, numbers: _Numbers) -> Computation | None:
    """With the citations of its operands; None where one of them is gone, as nobody could then do
    it again."""
    data, places = sentence.get("computation"), sentence["cited"]
    if data is None or any(place["passage"] not in numbers.held for place in places):
        return None
    return Computation(
        operation=data["operation"],
        operands=tuple(
            Operand(text=one["text"], citation=numbers.of(places[one["cited"]]), name=one["name"])
            for one in data["operands"]
        ),
        result=data["result"],
    )


def _pages(context: Context, places: Sequence[Cited], held: Mapping[str, Passage]) -> Pages:
    """On which page each place begins: a passage may run over the end of its first page."""
    pages: Pages = {}
    for place in places:
        passage = held.get(place["passage"])
        if passage is not None and passage.page is not None:
            key = (passage.document, place["start"])
            pages[key] = context.shelf.page(*key)
    return pages


@dataclass(slots=True)
class _Numbers:
    held: Mapping[str, Passage]
    found: Mapping[str, Found]
    paths: Mapping[str, tuple[str, ...]]
    pages: Pages
    given: dict[tuple[str, int, int], Citation] = field(default_factory=dict)

    def of(self, place: Cited) -> int:
        key = (place["passage"], place["start"], place["end"])
        if key not in self.given:
            passage = self.held[place["passage"]]
            found = self.found.get(passage.id)
            origin = found["origin"] if found else "library"
            # Of the document; of a web page only the passage is kept to be checked against.
            self.given[key] = Citation(
                number=(len(self.given) + 1),
                passage=passage.id,
                document=passage.document,
                sha256=(
                    hashlib.sha256(passage.text.encode()).hexdigest()
                    if (origin == "web")
                    else passage.sha256
                ),
                title=passage.title,
                page=self.pages.get((passage.document, place["start"])),
                start=place["start"],
                end=place["end"],
                quote=passage.text[place["start"] - passage.start : place["end"] - passage.start],
                path=next(iter(self.paths.get(passage.document, ())), None),
                origin=origin,
                url=found["url"] if found else None,
                fetched=found["fetched"] if found else None,
            )
        return self.given[key].number


# Checks a model's sentence against the passages and finds the words that stand behind it.

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
    known: dict[sentences_Sentence, Sentence] = field(
        default_factory=dict, compare=False, repr=False
    )
    """A sentence is heard while it streams and once more at the end: it is judged once."""

    def check(self, sentence: sentences_Sentence) -> Sentence:
        if sentence not in self.known:
            # The sentence with the quotes that carry it. What a model cites is looked
            # at first; where that does not carry the sentence and another passage
            # does, the code cites that one.
            own = self._quoted(sentence.text, [self.passages[at - 1] for at in sentence.citations])
            support = self._together(sentence.text, own)
            if self.enabled and support < self.min_support:
                others = self._quoted(sentence.text, self.passages)
                best = max(others, key=lambda quote: quote.support, default=None)
                if best is not None and best.support >= self.min_support:
                    own, support = [best], best.support
            claimed = Sentence(
                text=sentence.text,
                cited=[quote.cited for quote in own],
                support=round(support, 4) if self.enabled else None,
                supported=support >= self.min_support and bool(own) if self.enabled else None,
            )
            self.known[sentence] = self.revalidated(claimed)
        return self.known[sentence].copy()

    def revalidated(self, claimed: Sentence) -> Sentence:
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


def objected(sentences: Sequence[Sentence]) -> list[str]:
    """What was held against those that were not asked for, each reason once."""
    reasons = (one.get("objection") for one in sentences)
    return list(dict.fromkeys(reason for reason in reasons if reason))


def objected_note(sentences: Sequence[Sentence]) -> str | None:
    """What an answer says where a sentence was not asked for."""
    count = sum("objection" in one for one in sentences)
    if not count:
        return None
    why = ", or ".join(f"it {reason}" for reason in objected(sentences))
    return f"({count} {sentences_were(count)} not asked for and held back: {why}.)"


def standing(sentences: Sequence[Sentence]) -> list[Sentence]:
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
