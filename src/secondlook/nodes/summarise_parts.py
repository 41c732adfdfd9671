"""A long text in parts that a model can see: as many as may be asked about, evenly spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from secondlook.models.counting import approximate_prompt, approximate_tokens
from secondlook.prompts import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context
    from secondlook.passage import Passage

ROLE: Final = "summarise"
PART = "summarise_part"
WHOLE = "summarise_whole"
MOST_PARTS = 8
PART_TOKENS = 3000
LOCAL_PART_TOKENS = 900
"""A local model's prefill is what a person waits for."""
SMALLEST_PART = 64


@dataclass(frozen=True, slots=True)
class Parts:
    chosen: tuple[tuple[Passage, ...], ...]
    of: int
    """How many there would have been."""


async def part_tokens(context: Context, question: str) -> int:
    """Tokens of evidence that one call may have."""
    wanted = LOCAL_PART_TOKENS if context.models.local(ROLE) else PART_TOKENS
    chosen = context.settings.answer.evidence_tokens or wanted
    prompt = load(PART)
    room = await context.models.room(ROLE, max_tokens=prompt.max_tokens)
    if room is None:
        return chosen
    # Marks and numbers of the passages take some of it.
    bare = approximate_prompt(prompt.render(question=question, evidence=_NO_EVIDENCE))
    return max(SMALLEST_PART, min(chosen, (room - bare) * 3 // 4))


def in_parts(texts: Sequence[Sequence[Passage]], tokens: int) -> Parts:
    """Passages in a row, packed until a part is full. A part is of one text."""
    made: list[tuple[Passage, ...]] = []
    for passages in texts:
        held: list[Passage] = []
        size = 0
        for passage in passages:
            cost = approximate_tokens(shown(passage))
            if held and size + cost > tokens:
                made.append(tuple(held))
                held, size = [], 0
            held.append(passage)
            size += cost
        if held:
            made.append(tuple(held))
    return Parts(tuple(_evenly(made)), of=len(made))


def _evenly(parts: Sequence[tuple[Passage, ...]]) -> list[tuple[Passage, ...]]:
    if len(parts) <= MOST_PARTS:
        return list(parts)
    step = (len(parts) - 1) / (MOST_PARTS - 1)
    return [parts[round(at * step)] for at in range(MOST_PARTS)]


def shown(passage: Passage) -> str:
    """A passage as a model sees it: under its headings."""
    heading = " / ".join((passage.title, *passage.heading))
    return f"({heading}) {passage.text}"


_NO_EVIDENCE = "<<evidence-00000000 1>> \n<<end-00000000>>"
