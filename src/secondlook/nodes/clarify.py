"""Takes an unclear word of the question for what the evidence speaks of, and says so; where several
things may be meant, tells each and asks back. Asks no model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NotRequired

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import extract
from secondlook.nodes.limits import dial
from secondlook.nodes.retrieve import rerank, retrieve
from secondlook.nodes.screen import is_quarantined
from secondlook.nodes.state import (
    RELEVANT,
    Asked,
    Cited,
    DraftData,
    Found,
    Readings,
    Sentence,
    Trace,
    step,
    trouble,
)
from secondlook.roles.ambiguity import (
    Unclear,
    Witness,
    assumption,
    choices,
    competing,
    leader,
    question_back,
    rivals,
    unresolved,
    with_meaning,
)
from secondlook.roles.sentences import sentence_around

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.passage import Passage
    from secondlook.roles.ambiguity import Rival

NODE = "readings"
LOOKED_AT = 5
"""Passages whose names are gathered, those that a grader accepted first."""
_NEAR = 0.04
"""What the likeliest passage must be worth: names in passages that
answer nothing are no readings."""
_LEAST = 0.01
"""Weight of a passage that seems to hold no answer at all: it still tells what is spoken of."""


class Understood(Readings, Trace):
    question: str
    route: str
    queries: NotRequired[list[str]]
    found: NotRequired[list[Found]]
    draft: NotRequired[DraftData]


async def readings(state: Asked, runtime: Runtime[Context]) -> Understood:
    context, question = runtime.context, state["question"]
    unclear = unresolved(question)
    if unclear is None:
        return _as_it_was(state, "no word of the question is unclear", {})
    try:
        witnesses = await _witnesses(context, state["found"])
        if max((one.weight for one in witnesses), default=0.0) < _NEAR:
            return _as_it_was(state, "nothing that was found comes near it", {"word": unclear.word})
        found = rivals(unclear, question, witnesses)
        numbers = _numbers(unclear, found)
        if meant := leader(found):
            # Asked as if the name had been said: searched, read and graded by that.
            asked = with_meaning(state["question"], unclear, meant)
            anew: Asked = {**state, "question": asked, "queries": [asked]}
            again = await retrieve(anew, runtime)
            anew["found"] = _pooled(state["found"], again["found"])
            read = await rerank(anew, runtime)
            assumed = assumption(unclear, meant)
            said = f"Took it as: {asked}"
            why = f"{assumed}: {meant.share:.0%} of the evidence speaks of it"
            return {
                "question": asked,
                "queries": [asked],
                "found": read["found"],
                "assumed": assumed,
                "asks_back": None,
                "route": "grade_on",
                "steps": [step(NODE, said, numbers, route=("grade_on", why))],
                "warnings": read["warnings"],
            }
        told = await told_apart(context, state, unclear, competing(found))
    except Exception as error:  # noqa: BLE001 - the question can still be answered as it stands
        left = _as_it_was(state, "the readings could not be told apart", {"word": unclear.word})
        left["warnings"] = [trouble(NODE, error, "the question was left as it is")]
        return left
    if told is None:
        return _as_it_was(state, "nothing that was found says what else it means", numbers)
    return _asked_back(state, unclear, told, numbers)


async def _witnesses(context: Context, found: Sequence[Found]) -> list[Witness]:
    """The passages that a grader took, or else the best; each weighs what its answer is worth."""
    clean = [item for item in found if not is_quarantined(item)]
    graded = [item for item in clean if item["grade"] in RELEVANT]
    best = (graded or ranking.kept(clean) or clean)[:LOOKED_AT]
    held = await ranking.texts(context, [item["id"] for item in best])
    there = [item for item in best if item["id"] in held]
    return [
        Witness(held[item["id"]], _weight(context, item, rank), _span(item))
        for rank, item in enumerate(there, 1)
    ]


def _weight(context: Context, item: Found, rank: int) -> float:
    """Probability that the passage answers; where nobody has read it, less with each rank."""
    scores = ranking.candidate(item)
    worth = None if scores is None else context.calibration.answer_probability([scores], 0)
    return 1 / rank if worth is None else max(worth, _LEAST)


def _span(item: Found) -> tuple[int, int] | None:
    start, end = item["span_start"], item["span_end"]
    return None if start is None or end is None or end <= start else (start, end)


def _pooled(before: Sequence[Found], again: Sequence[Found]) -> list[Found]:
    """Each passage once. Scores and grades for the unclear question are worth nothing now."""
    new = {item["id"] for item in again}
    return [*again, *(_unread(item) for item in before if item["id"] not in new)]


def _unread(item: Found) -> Found:
    return {
        **item,
        "relevance": None,
        "answerable": None,
        "span_start": None,
        "span_end": None,
        "span_score": None,
        "null_score": None,
        "windows": None,
        "grade": "not graded",
        "graded_by": None,
    }


def _asked_back(
    state: Asked, unclear: Unclear, told: Told, numbers: dict[str, Scalar]
) -> Understood:
    back = question_back(unclear, told.names)
    why = f'"{unclear.word}" may mean {choices(told.names)}'
    return {
        "question": state["question"],
        "assumed": None,
        "asks_back": back,
        "draft": told.draft,
        "route": "settle",
        "steps": [step(NODE, back, numbers, told=len(told.names), route=("settle", why))],
        "warnings": [],
    }


def _as_it_was(state: Asked, why: str, numbers: dict[str, Scalar]) -> Understood:
    told = step(NODE, "Left the question as it is.", numbers, route=("grade_on", why))
    return {
        "question": state["question"],
        "assumed": None,
        "asks_back": None,
        "route": "grade_on",
        "steps": [told],
        "warnings": [],
    }


def _numbers(unclear: Unclear, found: Sequence[Rival]) -> dict[str, Scalar]:
    shares = [one.share for one in found[:2]] + [0.0, 0.0]
    return {
        "word": unclear.word,
        "kind": unclear.kind,
        "readings": len(competing(found)),
        "first": shares[0],
        "second": shares[1],
    }


# Each reading of an unclear question, answered by a sentence of its own evidence.

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
