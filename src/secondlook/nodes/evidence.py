"""What of the evidence a model is shown: which passages, in which form, within how many tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

from secondlook.models.chat import Message, Role, approximate_prompt, approximate_tokens
from secondlook.nodes import ranking
from secondlook.retrieval.chunk import with_context
from secondlook.retrieval.outline import sentence_starts
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.prompts.marks import evidence_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


class Block(NamedTuple):
    """One piece of evidence as a model sees it, below its title and headings."""

    passage: str
    text: str


class Packed(NamedTuple):
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
    """The evidence within the budget, in the order given, each text once. A sentence is cut only
    where it alone is longer than the budget, and something is shown even then: the words around the
    reader's span, however small the budget."""
    texts = _taken_apart(question, evidence)
    said: dict[str, int] = {}  # which text shows a unit already: neighbours share sentences
    ended: set[tuple[int, str]] = set()
    for _, rank, side, units in _steps(texts, mode):
        text = texts[rank]
        if side == "core" and text.chosen:
            continue
        if side in {"before", "after"} and (not text.chosen or (rank, side) in ended):
            continue
        new = [
            at for at in units if at not in text.chosen and said.get(text.unit(at), rank) == rank
        ]
        wanted = sorted({*text.chosen, *(units if side == "whole" else new)})
        tokens = count(f"{_MARKS.opening(1)} {text.shown(wanted)}\n") if new else 0
        others = sum(other.tokens for other in texts if other is not text)
        if not new or tokens + others + count(_MARKS.closing) > budget_tokens:
            ended.add((rank, side))
            continue
        text.chosen, text.tokens = wanted, tokens
        for at in wanted:
            said.setdefault(text.unit(at), rank)
    blocks = [Block(one.item.passage, one.shown(one.chosen)) for one in texts if one.chosen]
    if texts and not blocks:
        blocks = [Block(texts[0].item.passage, _cut(texts[0], budget_tokens, count))]
    while True:
        tokens = count(_MARKS.wrap([block.text for block in blocks])) if blocks else 0
        if tokens <= budget_tokens or len(blocks) <= 1:
            return Packed(tuple(blocks), tokens)
        blocks.pop()  # tokens of the whole may exceed those of its parts by a few


@dataclass(slots=True)
class _Text:
    """A passage taken apart: into sentences, or lines of what is not written in sentences."""

    item: EvidenceItem
    units: list[Range]
    core: range  # the units that hold the reader's span; without one, that most like the question
    chosen: list[int] = field(default_factory=list)  # the units that are shown
    tokens: int = 0

    def unit(self, at: int) -> str:
        return _tidy(self.item.text[slice(*self.units[at])])

    def shown(self, units: Sequence[int]) -> str:
        """The units, those in a row as one piece."""
        pieces: list[Range] = []
        for unit in units:
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


def _taken_apart(question: str, evidence: Sequence[EvidenceItem]) -> list[_Text]:
    seen: set[str] = set()
    made: list[_Text] = []
    asked = set(query_terms(question))
    for item in evidence:
        text, plain = item.text, " ".join(item.text.split())
        if not plain or plain in seen or item.passage in seen:
            continue
        seen |= {plain, item.passage}
        units: list[Range] = []
        for start, end in pairwise([0, *sentence_starts(text), len(text)]):
            lines = _LINE.finditer(text, start, end) if end - start > _LONG else ()
            for first, last in pairwise([start, *(line.end() for line in lines), end]):
                if piece := text[first:last].strip():
                    at = text.index(piece, first)
                    units.append((at, at + len(piece)))
        first, last = item.span or (0, 0)
        inside = [at for at, unit in enumerate(units) if unit[0] < last and first < unit[1]]
        if not inside or first >= last:
            shared = [len(asked & set(terms(text[start:end]))) for start, end in units]
            inside = [shared.index(max(shared))]
        made.append(_Text(item, units, range(inside[0], inside[-1] + 1)))
    return made


def _steps(texts: Sequence[_Text], mode: Mode) -> list[tuple[float, int, str, range]]:
    """What may be shown, in the order to try it: cost, rank of the text, side and units. Sentences
    of a passage that is shown whole are tried only where the whole is too long."""
    steps: list[tuple[float, int, str, range]] = []
    for rank, text in enumerate(texts):
        base, core, every = rank * _RANK_COST, text.core, range(len(text.units))
        around = [
            (base + core.start - at, rank, "before", range(at, at + 1))
            for at in every[: core.start]
        ] + [
            (base + at - core.stop + 1, rank, "after", range(at, at + 1))
            for at in every[core.stop :]
        ]
        steps += [(base, rank, "whole", every)] if mode == "passages" else []
        steps += [(base, rank, "core", core), *sorted(around, key=itemgetter(0))]
    return steps if mode == "passages" else sorted(steps, key=itemgetter(0, 1))


def _cut(text: _Text, budget: int, count: Callable[[str], int]) -> str:
    """As much around the span as the budget allows, and a word in any case."""
    words, first, last = text.item.text, text.units[text.core[0]][0], text.units[text.core[-1]][1]
    span = text.item.span or (0, 0)
    middle = max(span[0], first), min(span[1], last)
    if middle[0] >= middle[1]:
        word = _WORD.match(words, first)
        middle = (first, min(word.end(), last) if word else last)
    title = count(f"{_MARKS.opening(1)} {text.below_its_title([(0, 0)])}\n")

    def shown(room: int) -> str:
        """The middle with about `room` characters around it, whole words if there are any."""
        start = max(first, middle[0] - room // 2)
        end = min(last, middle[1] + room - (middle[0] - start))
        if start > first and (space := words.find(" ", start, start + _WORD_REACH)) >= 0:
            start = min(space + 1, middle[0])
        if end < last and (space := words.rfind(" ", max(0, end - _WORD_REACH), end)) >= 0:
            end = max(space, middle[1])
        return (
            text.below_its_title([(start, end)]) if 3 * title <= budget else _tidy(words[start:end])
        )

    low, high = 0, last - first
    while low < high:
        room = (low + high + 1) // 2
        fits = count(_MARKS.wrap([shown(room)])) <= budget
        low, high = (room, high) if fits else (low, room - 1)
    return shown(low)


def _tidy(text: str) -> str:
    """Without the white space that only lays text out."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)
