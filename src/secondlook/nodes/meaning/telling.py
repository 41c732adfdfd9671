"""Each reading of an unclear question, answered by a sentence of its own evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.nodes import ranking
from secondlook.nodes.extract import extract
from secondlook.nodes.meaning.resolving import choices, with_meaning
from secondlook.nodes.places import sentence_around
from secondlook.nodes.risk import dial
from secondlook.state import Cited, DraftData, Sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.context import Context
    from secondlook.nodes.meaning.rivals import Rival
    from secondlook.nodes.meaning.unclear import Unclear
    from secondlook.passage import Passage
    from secondlook.state import Asked, Found

PASSAGES_EACH = 3
"""Passages of one reading that its answer is looked for in."""


@dataclass(frozen=True, slots=True)
class Told:
    names: tuple[str, ...]
    draft: DraftData


@dataclass(frozen=True, slots=True)
class _Answered:
    name: str
    sentence: Sentence
    short: str | None


async def told_apart(
    context: Context, state: Asked, unclear: Unclear, found: Sequence[Rival]
) -> Told | None:
    """The readings side by side; None where fewer than two are left, or all come to the same."""
    answered: dict[tuple[str, int], _Answered] = {}
    for one in found:
        told = await _answered(context, state, unclear, one)
        if told is not None:
            place = told.sentence["cited"][0]
            answered.setdefault((place["passage"], place["start"]), told)
    each = list(answered.values())
    told_more = [one for one in each if one.short]
    each = told_more if len(told_more) > 1 else each
    shorts = {(one.short or "").casefold() for one in each}
    alike = len(shorts) == 1 and "" not in shorts
    if len(each) <= 1 or alike:
        return None
    names = tuple(one.name for one in each)
    return Told(names, _drafted(unclear, each, names))


async def _answered(
    context: Context, state: Asked, unclear: Unclear, one: Rival
) -> _Answered | None:
    asked = with_meaning(state["question"], unclear, one)
    wanted = one.passages[:PASSAGES_EACH]
    own: list[Found] = [{**item, "kept": True} for item in state["found"] if item["id"] in wanted]
    read = await ranking.read(context, asked, own) if context.settings.search.rerank else own
    draft = await extract(context, asked, read)
    if draft["sentences"]:
        return _Answered(one.name, draft["sentences"][0], draft["short"])
    if dial(context) is not None:  # what is not sure enough must not be told at all
        return None
    held = await ranking.texts(context, wanted[:1])
    sentence = _about(one, held[wanted[0]]) if held else None
    return _Answered(one.name, sentence, None) if sentence else None


def _about(one: Rival, passage: Passage) -> Sentence | None:
    """The first sentence that has the name: what the evidence knows of it, if no answer."""
    at = passage.text.find(one.name)
    if at < 0:
        return None
    start, end = sentence_around(passage.text, at, at + len(one.name))
    return Sentence(
        text=" ".join(passage.text[start:end].split()),
        cited=[Cited(passage=passage.id, start=passage.start + start, end=passage.start + end)],
        support=1.0,
        supported=True,
    )


def _drafted(unclear: Unclear, each: Sequence[_Answered], names: Sequence[str]) -> DraftData:
    meant = f'"{unclear.word.lower()}" may mean {choices(names)}'
    return DraftData(
        method="extractive",
        model=None,
        sentences=[one.sentence for one in each],
        short=None,
        stop="ambiguous",
        confidence=None,
        reasons=[meant],
        note=f"{meant[:1].upper()}{meant[1:]}.",
    )
