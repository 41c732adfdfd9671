"""What of the evidence a model is shown: which passages, in which form, within how many tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from secondlook.models.chat import approximate_prompt, approximate_tokens
from secondlook.nodes import ranking
from secondlook.retrieval.chunk import with_context
from secondlook.retrieval.outline import sentence_starts
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.prompts.marks import evidence_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.models.chat import Message, Role
    from secondlook.nodes.context import Context
    from secondlook.nodes.state import Found
    from secondlook.passage import Passage

SENTENCES_TOKENS = 500
"""Evidence for a local model: its prefill is what a person waits for."""
PASSAGES_TOKENS = 6000
SMALLEST = 64
"""Less evidence than this is not worth asking about."""


async def evidence_items(
    context: Context, found: Sequence[Found]
) -> tuple[list[EvidenceItem], dict[str, Passage]]:
    """The kept passages as they can be packed, and their texts by id."""
    kept = ranking.kept(found)
    held = await ranking.texts(context, [item["id"] for item in kept])
    return [_item(item, held[item["id"]]) for item in kept if item["id"] in held], held


def packed(
    context: Context, role: Role, question: str, items: Sequence[EvidenceItem], budget: int
) -> Packed:
    return pack(
        question, items, mode=mode(context, role), budget_tokens=budget, count=approximate_tokens
    )


def mode(context: Context, role: Role) -> Mode:
    return "sentences" if context.models.local(role) else "passages"


async def evidence_budget(
    context: Context, role: Role, bare: Sequence[Message], *, max_tokens: int
) -> int:
    """Tokens of evidence: as set, or what is usual, but no more than fits beside the `bare`
    prompt and a reply of `max_tokens`, and no more than the budget pays for in a final call."""
    chosen = context.settings.answer.evidence_tokens
    usual = SENTENCES_TOKENS if mode(context, role) == "sentences" else PASSAGES_TOKENS
    wanted = chosen or usual
    room = await context.models.room(role, max_tokens=max_tokens, final=True)
    if room is None:
        return wanted
    return max(SMALLEST, min(wanted, room - approximate_prompt(bare)))


def _item(item: Found, passage: Passage) -> EvidenceItem:
    span = (item["span_start"] or 0, item["span_end"] or 0)
    return EvidenceItem(
        passage=passage.id,
        title=passage.title,
        heading=passage.heading,
        page=passage.page,
        text=passage.text,
        span=span if span[1] > span[0] else None,
        relevance=item["relevance"],
    )


# Packs evidence for a model into so many tokens: the sentences that matter, or whole passages.

if TYPE_CHECKING:
    Range = tuple[int, int]

Mode = Literal["sentences", "passages"]
GAP = " … "
"""Stands where sentences between two pieces are left out."""
_LONG = 400
"""Characters. A longer sentence of several lines is a table or a list: its lines count as such."""
_RANK_COST = 0.5
"""A neighbour of the best passage's sentence comes before the third passage's own sentence."""
_LINE = re.compile(r"\n+")
_WORD_REACH = 40
_WORD = re.compile(rf"\S{{1,{_WORD_REACH}}}")


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """A passage to show, and where in it the reader saw the answer."""

    passage: str
    title: str
    text: str
    heading: tuple[str, ...] = ()
    page: int | None = None
    span: Range | None = None
    relevance: float | None = None
    answerable: float | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One numbered piece of evidence as a model sees it."""

    number: int
    passage: str
    text: str
    """What is shown, below its title and headings."""
    pieces: tuple[Range, ...]
    """Characters [start, end) of the passage's text that are shown, in order."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    passage: str
    why: Literal["budget", "duplicate", "empty"]


@dataclass(frozen=True, slots=True)
class Packed:
    blocks: tuple[Block, ...]
    tokens: int
    """Of all blocks between their marks."""
    left_out: tuple[LeftOut, ...] = ()


def pack(
    question: str,
    evidence: Sequence[EvidenceItem],
    *,
    mode: Mode,
    budget_tokens: int,
    count: Callable[[str], int],
) -> Packed:
    """The evidence within the budget, numbered from 1 in the order given.

    A sentence is cut only where it alone is longer than the budget, and something is shown even
    then: the words around the reader's span, however small the budget.
    """
    packing = _Packing(question, budget_tokens, count)
    distinct = packing.without_duplicates(evidence)
    for step in _steps(distinct, mode):
        packing.take(step)
    if distinct and not packing.shown:
        packing.cut(distinct[0])
    return packing.packed(distinct)


@dataclass(frozen=True, slots=True)
class _Text:
    """A passage taken apart."""

    rank: int
    item: EvidenceItem
    units: tuple[Range, ...]
    core: range
    """The units that hold the reader's span."""

    def shown(self, pieces: Sequence[Range], *, header: bool = True) -> str:
        text = GAP.join(_tidy(self.item.text[start:end]) for start, end in pieces)
        if not header:
            return text
        whole = with_context(self.item.title, self.item.heading, text)
        above = whole[: len(whole) - len(text)].rstrip(" .")
        return f"{above}\n{text}" if above else text

    def unit_text(self, unit: int) -> str:
        return _tidy(self.item.text[slice(*self.units[unit])])


@dataclass(frozen=True, slots=True)
class _Step:
    """Something more to show: units of one passage."""

    of: _Text
    units: range
    side: Literal["core", "before", "after", "whole"]
    cost: float = 0.0


def _steps(texts: Sequence[_Text], mode: Mode) -> Iterator[_Step]:
    """What to show, most wanted first."""
    if mode == "passages":
        for text in texts:
            yield _Step(text, range(len(text.units)), "whole")
            # Taken only where the whole was too long.
            yield from sorted(_around(text), key=lambda step: step.cost)
        return
    steps = [step for text in texts for step in _around(text)]
    yield from sorted(steps, key=lambda step: (step.cost, step.of.rank))


def _around(text: _Text) -> Iterator[_Step]:
    base = text.rank * _RANK_COST
    yield _Step(text, text.core, "core", base)
    for ring, unit in enumerate(range(text.core.start - 1, -1, -1), 1):
        yield _Step(text, range(unit, unit + 1), "before", base + ring)
    for ring, unit in enumerate(range(text.core.stop, len(text.units)), 1):
        yield _Step(text, range(unit, unit + 1), "after", base + ring)


@dataclass(slots=True)
class _Packing:
    question: str
    budget: int
    count: Callable[[str], int]
    shown: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Units by rank."""
    cut_pieces: dict[int, tuple[Range, bool]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    _said: dict[str, int] = field(default_factory=dict)
    """Who shows a unit's text already: neighbouring passages share sentences."""
    _tokens: dict[int, int] = field(default_factory=dict)
    _ended: set[tuple[int, str]] = field(default_factory=set)

    def without_duplicates(self, evidence: Sequence[EvidenceItem]) -> list[_Text]:
        seen: set[str] = set()
        texts: list[_Text] = []
        for item in evidence:
            plain = " ".join(item.text.split())
            if not plain or plain in seen or item.passage in seen:
                self.left_out.append(LeftOut(item.passage, "duplicate" if plain else "empty"))
                continue
            seen |= {plain, item.passage}
            units = tuple(_units(item.text))
            core = _holding(units, item.span) if item.span and item.span[0] < item.span[1] else None
            texts.append(
                _Text(len(texts), item, units, core or _most_like(self.question, item.text, units))
            )
        return texts

    def take(self, step: _Step) -> None:
        """Shows what the step adds if the budget allows; a side that was closed stays so."""
        rank, side = step.of.rank, step.side
        if side == "core" and rank in self.shown:
            return
        if side in {"before", "after"} and (rank not in self.shown or (rank, side) in self._ended):
            return
        new = [unit for unit in step.units if self._is_new(step.of, unit)]
        if new and side == "whole":
            new = list(step.units)
        if not new or not self._fits(step.of, (*self.shown.get(rank, ()), *new)):
            self._ended.add((rank, side))

    def _is_new(self, text: _Text, unit: int) -> bool:
        if unit in self.shown.get(text.rank, ()):
            return False
        return self._said.get(text.unit_text(unit), text.rank) == text.rank

    def _fits(self, text: _Text, units: tuple[int, ...]) -> bool:
        tokens = self._measured(text.shown(_pieces(text, units)))
        others = sum(size for rank, size in self._tokens.items() if rank != text.rank)
        if tokens + others + self.count(_MARKS.closing) > self.budget:
            return False
        self.shown[text.rank] = tuple(sorted(units))
        self._tokens[text.rank] = tokens
        for unit in units:
            self._said.setdefault(text.unit_text(unit), text.rank)
        return True

    def _measured(self, shown: str) -> int:
        return self.count(f"{_MARKS.opening(1)} {shown}\n")

    def cut(self, text: _Text) -> None:
        """Shows as much around the span as the budget allows, and a word in any case."""
        within = text.units[text.core.start][0], text.units[text.core.stop - 1][1]
        middle = _clipped(text.item.span, within) or _first_word(text.item.text, within)
        low, high = 0, within[1] - within[0]
        header = 3 * self._measured(text.shown([(0, 0)])) <= self.budget
        while low < high:
            room = (low + high + 1) // 2
            piece = _piece_around(text.item.text, middle, room, within)
            wrapped = _MARKS.wrap([text.shown([piece], header=header)])
            low, high = (room, high) if self.count(wrapped) <= self.budget else (low, room - 1)
        piece = _piece_around(text.item.text, middle, low, within)
        self.cut_pieces[text.rank] = (piece, header)
        self.shown[text.rank] = ()

    def packed(self, texts: Sequence[_Text]) -> Packed:
        order = sorted(self.shown)
        blocks = [self._block(number, texts[rank]) for number, rank in enumerate(order, 1)]
        tokens = self.count(_MARKS.wrap([block.text for block in blocks])) if blocks else 0
        if tokens > self.budget and len(blocks) > 1:
            # Tokens of the whole may exceed those of its parts by a few.
            self.shown.pop(order[-1])
            return self.packed(texts)
        missing = [text for text in texts if text.rank not in self.shown]
        return Packed(tuple(blocks), tokens, (*self.left_out, *map(self._missing, missing)))

    def _missing(self, text: _Text) -> LeftOut:
        repeated = not any(self._is_new(text, unit) for unit in text.core)
        return LeftOut(text.item.passage, "duplicate" if repeated else "budget")

    def _block(self, number: int, text: _Text) -> Block:
        if text.rank in self.cut_pieces:
            piece, header = self.cut_pieces[text.rank]
            return Block(number, text.item.passage, text.shown([piece], header=header), (piece,))
        pieces = _pieces(text, self.shown[text.rank])
        return Block(number, text.item.passage, text.shown(pieces), pieces)


_MARKS = evidence_marks("")
"""Only to count with: the marks of any run are as long."""


def _units(text: str) -> Iterator[Range]:
    """Sentences, and the lines of what is not written in sentences."""
    for start, end in pairwise([0, *sentence_starts(text), len(text)]):
        if end - start <= _LONG:
            yield from _trimmed(text, start, end)
            continue
        breaks = [found.end() for found in _LINE.finditer(text, start, end)]
        for first, last in pairwise([start, *breaks, end]):
            yield from _trimmed(text, first, last)


def _trimmed(text: str, start: int, end: int) -> Iterator[Range]:
    piece = text[start:end]
    if piece.strip():
        yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _holding(units: Sequence[Range], span: Range) -> range | None:
    held = [at for at, (start, end) in enumerate(units) if start < span[1] and span[0] < end]
    return range(held[0], held[-1] + 1) if held else None


def _most_like(question: str, text: str, units: Sequence[Range]) -> range:
    """Without a span: the unit that shares most words with the question, the first of equals."""
    asked = set(query_terms(question))
    shared = [len(asked & set(terms(text[start:end]))) for start, end in units]
    best = shared.index(max(shared))
    return range(best, best + 1)


def _pieces(text: _Text, units: Sequence[int]) -> tuple[Range, ...]:
    """The units as stretches of the passage, those in a row as one."""
    merged: list[Range] = []
    for at, unit in enumerate(sorted(units)):
        start, end = text.units[unit]
        if at and unit - 1 in units:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return tuple(merged)


def _clipped(span: Range | None, within: Range) -> Range | None:
    if span is None:
        return None
    start, end = max(span[0], within[0]), min(span[1], within[1])
    return (start, end) if start < end else None


def _first_word(text: str, within: Range) -> Range:
    found = _WORD.match(text, within[0])
    return (within[0], min(found.end(), within[1])) if found else within


def _piece_around(text: str, middle: Range, room: int, within: Range) -> Range:
    """The middle with about `room` characters around it, whole words where there are any."""
    start = max(within[0], middle[0] - room // 2)
    end = min(within[1], middle[1] + room - (middle[0] - start))
    if start > within[0] and (space := text.find(" ", start, start + _WORD_REACH)) >= 0:
        start = min(space + 1, middle[0])
    if end < within[1] and (space := text.rfind(" ", max(0, end - _WORD_REACH), end)) >= 0:
        end = max(space, middle[1])
    return start, end


def _tidy(text: str) -> str:
    """Without the white space that only lays text out."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)
