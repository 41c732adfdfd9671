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

    Range = tuple[int, int]

Mode = Literal["sentences", "passages"]
SENTENCES_TOKENS = 500  # evidence for a local model: its prefill is what a person waits for
PASSAGES_TOKENS = 6000
SMALLEST = 64  # less evidence than this is not worth asking about
GAP = " … "  # stands where sentences between two pieces are left out
_LONG = 400
"""Characters. A longer sentence of several lines is a table or a list: its lines count as such."""
_RANK_COST = 0.5
"""A neighbour of the best passage's sentence comes before the third passage's own sentence."""
_LINE = re.compile(r"\n+")
_WORD_REACH = 40
_WORD = re.compile(rf"\S{{1,{_WORD_REACH}}}")
_MARKS = evidence_marks("")  # only to count with: the marks of any run are as long


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """A passage to show, and where in it the reader saw the answer."""

    passage: str
    title: str
    text: str
    heading: tuple[str, ...] = ()
    span: Range | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of evidence as a model sees it, below its title and headings."""

    passage: str
    text: str


@dataclass(frozen=True, slots=True)
class Packed:
    blocks: tuple[Block, ...]
    tokens: int  # of all blocks between their marks


async def evidence_items(
    context: Context, found: Sequence[Found]
) -> tuple[list[EvidenceItem], dict[str, Passage]]:
    """The kept passages as they can be packed, and their texts by id."""
    kept = ranking.kept(found)
    held = await ranking.texts(context, [item["id"] for item in kept])
    return [evidence_item(item, held[item["id"]]) for item in kept if item["id"] in held], held


def evidence_item(item: Found, passage: Passage) -> EvidenceItem:
    start, end = item["span_start"] or 0, item["span_end"] or 0
    span = (start, end) if start < end else None
    return EvidenceItem(passage.id, passage.title, passage.text, passage.heading, span)


def _mode(context: Context, role: Role) -> Mode:
    return "sentences" if context.models.local(role) else "passages"


def packed(
    context: Context, role: Role, question: str, items: Sequence[EvidenceItem], budget: int
) -> Packed:
    return pack(question, items, mode=_mode(context, role), budget_tokens=budget)


async def evidence_budget(
    context: Context, role: Role, bare: Sequence[Message], *, max_tokens: int
) -> int:
    """Tokens of evidence: as set, or what is usual, but no more than fits beside the `bare`
    prompt and a reply of `max_tokens`, and no more than the budget pays for in a final call."""
    usual = SENTENCES_TOKENS if _mode(context, role) == "sentences" else PASSAGES_TOKENS
    wanted = context.settings.answer.evidence_tokens or usual
    room = await context.models.room(role, max_tokens=max_tokens, final=True)
    if room is None:
        return wanted
    return max(SMALLEST, min(wanted, room - approximate_prompt(bare)))


# Packing: the sentences that matter, or whole passages.


def pack(
    question: str,
    evidence: Sequence[EvidenceItem],
    *,
    mode: Mode,
    budget_tokens: int,
    count: Callable[[str], int] = approximate_tokens,
) -> Packed:
    """The evidence within the budget, in the order given, each text once.

    A sentence is cut only where it alone is longer than the budget, and something is shown even
    then: the words around the reader's span, however small the budget.
    """
    seen: set[str] = set()
    texts: list[_Text] = []
    for item in evidence:
        plain = " ".join(item.text.split())
        if plain and plain not in seen and item.passage not in seen:
            seen |= {plain, item.passage}
            texts.append(_Text.of(len(texts), item, question))
    packing = _Packing(budget_tokens, count)
    steps = [step for text in texts for step in text.steps()]
    if mode == "sentences":
        steps.sort(key=lambda step: (step.cost, step.of.rank))
    for step in steps:
        # Sentences of a passage are taken only where the whole is too long.
        if mode == "passages" and step.side == "core":
            packing.take(_Step(step.of, range(len(step.of.units)), "whole"))
        packing.take(step)
    if texts and not packing.shown:
        shown = packing.cut(texts[0])
        return Packed((Block(texts[0].item.passage, shown),), count(_MARKS.wrap([shown])))
    ranks = sorted(packing.shown)
    while True:
        blocks = [
            Block(texts[rank].item.passage, texts[rank].shown(packing.shown[rank]))
            for rank in ranks
        ]
        tokens = count(_MARKS.wrap([block.text for block in blocks])) if blocks else 0
        if tokens <= budget_tokens or len(ranks) <= 1:
            return Packed(tuple(blocks), tokens)
        ranks.pop()  # tokens of the whole may exceed those of its parts by a few


@dataclass(frozen=True, slots=True)
class _Step:
    """Something more to show: units of one passage."""

    of: _Text
    units: range
    side: Literal["core", "before", "after", "whole"]
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class _Text:
    """A passage taken apart: into sentences, or lines of what is not written in sentences."""

    rank: int
    item: EvidenceItem
    units: tuple[Range, ...]
    core: range  # the units that hold the reader's span; without one, that most like the question

    @classmethod
    def of(cls, rank: int, item: EvidenceItem, question: str) -> _Text:
        text, span = item.text, item.span or (0, 0)
        units: list[Range] = []
        for start, end in pairwise([0, *sentence_starts(text), len(text)]):
            lines = _LINE.finditer(text, start, end) if end - start > _LONG else ()
            for first, last in pairwise([start, *(line.end() for line in lines), end]):
                if piece := text[first:last].strip():
                    at = text.index(piece, first)
                    units.append((at, at + len(piece)))
        inside = [at for at, unit in enumerate(units) if unit[0] < span[1] and span[0] < unit[1]]
        if not inside or span[0] >= span[1]:
            asked = set(query_terms(question))
            shared = [len(asked & set(terms(text[start:end]))) for start, end in units]
            inside = [shared.index(max(shared))]
        return cls(rank, item, tuple(units), range(inside[0], inside[-1] + 1))

    def steps(self) -> Iterator[_Step]:
        """The core and its neighbours, nearest first."""
        base = self.rank * _RANK_COST
        around = [
            _Step(self, range(unit, unit + 1), "before", base + self.core.start - unit)
            for unit in range(self.core.start - 1, -1, -1)
        ] + [
            _Step(self, range(unit, unit + 1), "after", base + unit - self.core.stop + 1)
            for unit in range(self.core.stop, len(self.units))
        ]
        yield _Step(self, self.core, "core", base)
        yield from sorted(around, key=lambda step: step.cost)

    def unit(self, at: int) -> str:
        return _tidy(self.item.text[slice(*self.units[at])])

    def shown(self, units: Sequence[int]) -> str:
        """The units, those in a row as one piece."""
        pieces: list[Range] = []
        for unit in sorted(units):
            start, end = self.units[unit]
            if pieces and unit - 1 in units:
                start = pieces.pop()[0]
            pieces.append((start, end))
        return self.below_its_title(pieces)

    def below_its_title(self, pieces: Sequence[Range]) -> str:
        text = GAP.join(_tidy(self.item.text[start:end]) for start, end in pieces)
        whole = with_context(self.item.title, self.item.heading, text)
        above = whole[: len(whole) - len(text)].rstrip(" .")
        return f"{above}\n{text}" if above else text


@dataclass(slots=True)
class _Packing:
    budget: int
    count: Callable[[str], int]
    shown: dict[int, tuple[int, ...]] = field(default_factory=dict)  # units by rank
    _said: dict[str, int] = field(default_factory=dict)
    """Which rank shows a unit's text already: neighbouring passages share sentences."""
    _tokens: dict[int, int] = field(default_factory=dict)
    _ended: set[tuple[int, str]] = field(default_factory=set)

    def take(self, step: _Step) -> None:
        """Shows what the step adds if the budget allows; a side that was closed stays so."""
        text, rank, side = step.of, step.of.rank, step.side
        if side == "core" and rank in self.shown:
            return
        if side in {"before", "after"} and (rank not in self.shown or (rank, side) in self._ended):
            return
        have = self.shown.get(rank, ())
        new = [
            unit
            for unit in step.units
            if unit not in have and self._said.get(text.unit(unit), rank) == rank
        ]
        units = tuple(sorted((*have, *(step.units if side == "whole" else new))))
        tokens = self._measured(text.shown(units)) if new else 0
        others = sum(size for other, size in self._tokens.items() if other != rank)
        if not new or tokens + others + self.count(_MARKS.closing) > self.budget:
            self._ended.add((rank, side))
            return
        self.shown[rank], self._tokens[rank] = units, tokens
        for unit in units:
            self._said.setdefault(text.unit(unit), rank)

    def _measured(self, shown: str) -> int:
        return self.count(f"{_MARKS.opening(1)} {shown}\n")

    def cut(self, text: _Text) -> str:
        """As much around the span as the budget allows, and a word in any case."""
        words, within = text.item.text, (text.units[text.core[0]][0], text.units[text.core[-1]][1])
        start, end = text.item.span or (0, 0)
        middle = max(start, within[0]), min(end, within[1])
        if middle[0] >= middle[1]:
            first = _WORD.match(words, within[0])
            middle = (within[0], min(first.end(), within[1])) if first else within
        header = 3 * self._measured(text.below_its_title([(0, 0)])) <= self.budget

        def shown(room: int) -> str:
            """The middle with about `room` characters around it, whole words if there are any."""
            start = max(within[0], middle[0] - room // 2)
            end = min(within[1], middle[1] + room - (middle[0] - start))
            if start > within[0] and (space := words.find(" ", start, start + _WORD_REACH)) >= 0:
                start = min(space + 1, middle[0])
            if end < within[1] and (space := words.rfind(" ", max(0, end - _WORD_REACH), end)) >= 0:
                end = max(space, middle[1])
            return text.below_its_title([(start, end)]) if header else _tidy(words[start:end])

        low, high = 0, within[1] - within[0]
        while low < high:
            room = (low + high + 1) // 2
            fits = self.count(_MARKS.wrap([shown(room)])) <= self.budget
            low, high = (room, high) if fits else (low, room - 1)
        return shown(low)


def _tidy(text: str) -> str:
    """Without the white space that only lays text out."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)
