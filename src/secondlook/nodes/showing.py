"""What of the evidence a model is shown: which passages, in which form, within how many tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.models.counting import approximate_prompt, approximate_tokens
from secondlook.nodes import ranking
from secondlook.nodes.packing import EvidenceItem, Mode, Packed, pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context
    from secondlook.models import Message
    from secondlook.models.port import Role
    from secondlook.passage import Passage
    from secondlook.state import Found

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
    chosen = context.settings.answer.packing
    if chosen != "auto":
        return chosen
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
