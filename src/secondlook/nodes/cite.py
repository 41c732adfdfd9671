"""Places in documents become numbered citations, and a model's sentences are checked against them.
Code alone writes citations, never a model."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from secondlook.answer import Citation, Claim, Computation, Operand
from secondlook.nodes import ranking
from secondlook.nodes.revalidate import BESIDE, Guard, Place, asks
from secondlook.nodes.state import Cited, Found, Sentence
from secondlook.reading.support import LEAST_QUOTED, Support, is_bare, joined_evidence, sieve_of
from secondlook.roles.sentences import Sentence as Said
from secondlook.roles.sentences import sentence_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.nodes.context import Context
    from secondlook.passage import Passage

_WINDOWS = (1, 2, 3)  # sentences in a row that may make up a quote
_WORTH_IT = 0.05  # a longer quote must support a claim by so much more
_LEAST = 0.2  # a cited passage that supports a claim less than this has nothing to do with it
_GAP = 2  # characters, a blank line at most, between passages that follow on one another
_SURELY = 0.75  # how well a passage must answer to be cited where the model named another
_WORTH_JUDGING = 3
"""Places of one passage that are judged, where judging costs more than counting words."""


async def cite(
    context: Context, sentences: Sequence[Sentence], found: Sequence[Found]
) -> tuple[tuple[Citation, ...], tuple[Claim, ...]]:
    """Each sentence with its citations; the same place gets the same number."""
    wanted = {place["passage"] for sentence in sentences for place in sentence["cited"]}
    # A run that failed because the library cannot be read cites nothing, and reads nothing here.
    held = await ranking.texts(context, sorted(wanted)) if wanted else {}
    return await asyncio.to_thread(_cited, context, sentences, found, held)


def _cited(
    context: Context,
    sentences: Sequence[Sentence],
    found: Sequence[Found],
    held: Mapping[str, Passage],
) -> tuple[tuple[Citation, ...], tuple[Claim, ...]]:
    documents = {passage.document for passage in held.values()}
    paths = context.shelf.paths(documents) if documents else {}
    by_id = {item["id"]: item for item in found}
    given: dict[tuple[str, int, int], Citation] = {}

    def number(place: Cited) -> int:
        passage, start, end = held[place["passage"]], place["start"], place["end"]
        if known := given.get((passage.id, start, end)):
            return known.number
        item = by_id.get(passage.id)
        # Of a web page only the passage is kept to be checked against.
        web = item is not None and item["origin"] == "web"
        text = passage.text
        made = Citation(
            number=len(given) + 1,
            passage=passage.id,
            document=passage.document,
            sha256=hashlib.sha256(text.encode()).hexdigest() if web else passage.sha256,
            title=passage.title,
            # On which page the place begins: a passage may run over the end of its first page.
            page=None if passage.page is None else context.shelf.page(passage.document, start),
            start=start,
            end=end,
            quote=text[start - passage.start : end - passage.start],
            path=next(iter(paths.get(passage.document, ())), None),
            origin=item["origin"] if item else "library",
            url=item["url"] if item else None,
            fetched=item["fetched"] if item else None,
        )
        given[passage.id, start, end] = made
        return made.number

    claims: list[Claim] = []
    for sentence in sentences:
        places, data = sentence["cited"], sentence.get("computation")
        there = [place for place in places if place["passage"] in held]
        cited = [number(place) for place in there if place["start"] < place["end"]]
        computation = None
        if data is not None and there == places:  # else nobody could do it again
            operands = (
                Operand(text=one["text"], citation=number(places[one["cited"]]), name=one["name"])
                for one in data["operands"]
            )
            computation = Computation(
                operation=data["operation"], operands=tuple(operands), result=data["result"]
            )
        claims.append(
            Claim(
                text=sentence["text"],
                citations=tuple(dict.fromkeys(cited)),
                support=sentence["support"],
                supported=sentence["supported"],
                computation=computation,
                answers=sentence.get("answers", False),
            )
        )
    return tuple(given.values()), tuple(claims)


# A model's sentences: the words of the passages that stand behind each.


class _Quote(NamedTuple):
    passage: Passage
    start: int
    end: int
    support: float


class _Carried(NamedTuple):
    quotes: list[_Quote]
    support: float
    answers: bool = False  # It was judged together with the question, and answers it


@dataclass(frozen=True, slots=True)
class Checker:
    """Judges sentences by numbered passages: number 1 is the first."""

    passages: Sequence[Passage]
    support: Support
    min_support: float
    enabled: bool = True
    guard: Guard | None = None
    """Looks whether a sentence is what was asked for; None where that is switched off."""
    question: str = ""  # What the sentences answer; nothing where they sum up
    in_context: Callable[[Passage], str] = attrgetter("text")  # A passage as the reader sees it
    known: dict[Said, Sentence] = field(default_factory=dict, compare=False, repr=False)
    """A sentence is heard while it streams and once more at the end: it is judged once."""

    def check(self, sentence: Said) -> Sentence:
        """The sentence with the quotes that carry it. What a model cites is looked at first; where
        that does not carry the sentence and another passage does, the code cites that one."""
        if sentence not in self.known:
            text, named = sentence.text, [self.passages[at - 1] for at in sentence.citations]
            found = self._carried(text, named)
            if self.enabled and found.support < self.min_support:
                found = self._carried_elsewhere(text) or found
            own, support = found.quotes, found.support
            cited = [
                Cited(
                    passage=one.passage.id,
                    start=one.passage.start + one.start,
                    end=one.passage.start + one.end,
                )
                for one in own
            ]
            claimed = Sentence(
                text=text,
                cited=cited,
                support=round(support, 4) if self.enabled else None,
                supported=support >= self.min_support and bool(own) if self.enabled else None,
            )
            if found.answers:
                claimed["answers"] = True
            self.known[sentence] = self.revalidated(claimed)
        return self.known[sentence].copy()

    def revalidated(self, claimed: Sentence) -> Sentence:
        """The same, without any support where it is not what was asked for."""
        if self.guard is None or claimed["supported"] is False:
            return claimed
        held = {passage.id: passage for passage in self.passages}
        places: list[Place] = []
        for cited in claimed["cited"]:
            one = held[cited["passage"]]
            near = tuple(
                other.text
                for other in self.passages
                if other.document == one.document
                and other.id != one.id
                and max(one.start, other.start) - min(one.end, other.end) <= _GAP
            )
            start, end = cited["start"] - one.start, cited["end"] - one.start
            places.append(Place(one.text, start, end, near))
        objection = self.guard.objection(claimed["text"], places)
        # A few words that answer are no inserted text, whatever stands beside them.
        beside = objection == BESIDE and claimed.get("answers") and is_bare(claimed["text"])
        if objection is None or beside:
            return claimed
        return {**claimed, "support": 0.0, "supported": False, "objection": objection}

    def _carried(self, text: str, named: Sequence[Passage]) -> _Carried:
        """By the cited passages. A sentence that says little by itself is judged together with
        the question, and so is one that they do not carry otherwise."""
        own, bare = self._quoted(text, named), is_bare(text)
        quoted = [(one.passage.title, one.passage.text[one.start : one.end]) for one in own]
        pairs = [(text, joined_evidence(quoted))] if own else []
        found = _Carried(own, next(iter(self.support.support(pairs)), 0.0))
        if self.enabled and (bare or found.support < self.min_support):
            answering = self.answering(text, named)
            best = max((one.support for one in answering), default=-1.0)
            if best >= (0 if bare else self.min_support):
                least = min(best, self.min_support)
                own = [one for one in answering if one.support >= least]
                found = _Carried(own, best, answers=best >= self.min_support)
        return found

    def _carried_elsewhere(self, text: str) -> _Carried | None:
        """By the one passage of all that carries it best; None where none does."""
        bare = bool(self.question) and is_bare(text)
        stated = [] if bare else self._quoted(text, self.passages)
        best = max(stated, key=lambda quote: quote.support, default=None)
        if best is not None and best.support >= self.min_support:
            return _Carried([best], best.support)
        answering = self.answering(text, self.passages)
        best = max(answering, key=lambda quote: quote.support, default=None)
        # Of many passages one is soon found that seems to answer.
        if best is not None and best.support >= _SURELY:
            return _Carried([best], best.support, answers=True)
        return None

    def answering(self, claim: str, passages: Sequence[Passage]) -> list[_Quote]:
        """From each passage the place that says most surely that this answers the question, as it
        stands and in its passage; none where nobody can tell."""
        quotes: list[_Quote] = []
        for passage in passages if self.question and not asks(claim) else ():
            places = _places(passage.text)
            quoted = [
                joined_evidence([(passage.title, passage.text[start:end])]) for start, end in places
            ]
            words = sieve_of(self.support).support(
                [(f"{self.question} {claim}", one) for one in quoted]
            )
            order = sorted(range(len(places)), key=lambda at: -words[at])[:_WORTH_JUDGING]
            alone = [(claim, (quoted[at],)) for at in order]
            within = [(claim, (*quote, self.in_context(passage))) for _, quote in alone]
            values = self.support.answers(self.question, [*alone, *within])
            if values is None:
                return []
            # Whoever verifies the answer later has the quote alone.
            both = zip(order, values, values[len(order) :], strict=False)
            fit = [(value, at) for at, least, value in both if least >= LEAST_QUOTED]
            value, at = max(fit, default=(0.0, order[0]))
            quotes.append(_Quote(passage, *places[at], value))
        return quotes

    def _quoted(self, claim: str, passages: Sequence[Passage]) -> list[_Quote]:
        """From each passage the fewest sentences in a row that carry the claim as well as any."""
        quotes: list[_Quote] = []
        for passage in passages:
            places = _places(passage.text)
            pairs = [
                (claim, joined_evidence([(passage.title, passage.text[start:end])]))
                for start, end in places
            ]
            sieve = sieve_of(self.support)
            by_words = sieve is not self.support
            order = list(range(len(places)))
            if by_words:  # the places with most of the claim's words, the best first
                words = sieve.support(pairs)
                order = sorted(order, key=lambda at: -words[at])[:_WORTH_JUDGING]
            values = self.support.support([pairs[at] for at in order])
            best, least = places[order[0]], values[0]
            for at, value in zip(order, values, strict=True):
                longer = places[at][1] - places[at][0] > best[1] - best[0]
                # Where nothing supports a claim, a judge's small differences are no reason to cite
                # another place than the one with the claim's words, which comes first.
                if value > least + (_WORTH_IT if longer or by_words else 0):
                    best, least = places[at], value
            quotes.append(_Quote(passage, *best, least))
        return [quote for quote in quotes if quote.support >= _LEAST] or quotes[:1]


def _places(text: str) -> list[tuple[int, int]]:
    """Sentences in a row, by their ends."""
    bounds = sentence_bounds(text)
    return [
        (bounds[at][0], bounds[at + size - 1][1])
        for size in _WINDOWS
        for at in range(len(bounds) - size + 1)
    ] or [(0, len(text))]


def cut_note(count: int) -> str:
    """What an answer says of sentences that it lost."""
    return f"({count} more {sentences_were(count)} cut: not supported by the evidence.)"


def sentences_were(count: int) -> str:
    return "sentence was" if count == 1 else "sentences were"


def objected(sentences: Sequence[Sentence]) -> list[str]:
    """What was held against those that were not asked for, each reason once."""
    reasons = (one.get("objection") for one in sentences)
    return list(dict.fromkeys(reason for reason in reasons if reason))


def standing(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Those that nothing speaks against."""
    return [one for one in sentences if one["supported"] is not False]
