"""Takes an unclear word of the question for what the evidence speaks of, and says so; where several
things may be meant, tells each and asks back. Asks no model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NotRequired, cast

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import extract, sentence_at, withheld
from secondlook.nodes.limits import dial
from secondlook.nodes.retrieve import rerank, retrieve
from secondlook.nodes.screen import is_quarantined
from secondlook.nodes.state import (
    READ,
    RELEVANT,
    Asked,
    DraftData,
    Found,
    Readings,
    Sentence,
    Trace,
    step,
    trouble,
)
from secondlook.roles import ambiguity
from secondlook.roles.ambiguity import Rival, Unclear, Witness
from secondlook.roles.wants import wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar

LOOKED_AT = 5  # passages whose names are gathered, those that a grader accepted first
PASSAGES_EACH = 3  # passages of one reading that its answer is looked for in
_NEAR = 0.04
"""What the likeliest passage must be worth: names in passages that answer nothing are no
readings."""
_LEAST = 0.01
"""Weight of a passage that seems to hold no answer at all: it still tells what is spoken of."""


class Understood(Readings, Trace):
    question: str
    route: str
    queries: NotRequired[list[str]]
    found: NotRequired[list[Found]]
    draft: NotRequired[DraftData]


async def readings(state: Asked, runtime: Runtime[Context]) -> Understood:
    """To `split` where the question, now that it is clear, comes in parts."""
    made = await _understood(state, runtime)
    divides = runtime.context.settings.corrective.enable_decomposition
    asked = await asyncio.to_thread(wanted, made["question"])
    if divides and made["route"] == "grade_on" and asked.split:
        made["route"] = made["steps"][0]["route"]["to"] = "split"
    return made


async def _understood(state: Asked, runtime: Runtime[Context]) -> Understood:
    context, question = runtime.context, state["question"]
    unclear = ambiguity.unresolved(question)
    if unclear is None:
        return _as_it_was(state, "no word of the question is unclear", {})
    numbers: dict[str, Scalar] = {"word": unclear.word}
    try:
        witnesses = await _witnesses(context, state["found"])
        if max((one.weight for one in witnesses), default=0.0) < _NEAR:
            return _as_it_was(state, "nothing that was found comes near it", numbers)
        found = ambiguity.rivals(unclear, question, witnesses)
        first, second = [*(one.share for one in found[:2]), 0.0, 0.0][:2]
        competing = ambiguity.competing(found)
        more = {"kind": unclear.kind, "readings": len(competing), "first": first, "second": second}
        if meant := ambiguity.leader(found):
            return await _assumed(state, runtime, unclear, meant, {**numbers, **more})
        told = await _told_apart(context, state, unclear, competing)
    except Exception as error:  # noqa: BLE001 - the question can still be answered as it stands
        left = _as_it_was(state, "the readings could not be told apart", numbers)
        left["warnings"] = [trouble("readings", error, "the question was left as it is")]
        return left
    numbers = {**numbers, **more}
    if told is None:
        return _as_it_was(state, "nothing that was found says what else it means", numbers)
    names = tuple(told)
    back, meanings = ambiguity.question_back(unclear, names), ambiguity.choices(names)
    route = ("settle", f'"{unclear.word}" may mean {meanings}')
    reason = f'"{unclear.word.lower()}" may mean {meanings}'
    return {
        **_as_it_was(state, reason, numbers),
        "asks_back": back,
        "draft": {
            **withheld("ambiguous", reasons=[reason]),
            "method": "extractive",
            "sentences": list(told.values()),
            "note": f"{reason}.",
        },
        "route": "settle",
        "steps": [step("readings", back, numbers, told=len(names), route=route)],
    }


def _as_it_was(state: Asked, why: str, numbers: dict[str, Scalar]) -> Understood:
    told = step("readings", "Left the question as it is.", numbers, route=("grade_on", why))
    return {
        "question": state["question"],
        "assumed": None,
        "asks_back": None,
        "route": "grade_on",
        "steps": [told],
        "warnings": [],
    }


async def _witnesses(context: Context, found: Sequence[Found]) -> list[Witness]:
    """The passages that a grader took, or else the best. Each weighs the probability that it
    answers; where nobody has read it, less with each rank."""
    clean = [item for item in found if not is_quarantined(item)]
    graded = [item for item in clean if item["grade"] in RELEVANT]
    best = (graded or ranking.kept(clean) or clean)[:LOOKED_AT]
    held = await ranking.texts(context, [item["id"] for item in best])
    witnesses = []
    for rank, item in enumerate((item for item in best if item["id"] in held), 1):
        scores = ranking.candidate(item)
        worth = None if scores is None else context.calibration.answer_probability([scores], 0)
        start, end = item["span_start"], item["span_end"]
        span = None if start is None or end is None or end <= start else (start, end)
        weight = 1 / rank if worth is None else max(worth, _LEAST)
        witnesses.append(Witness(held[item["id"]], weight, span))
    return witnesses


async def _assumed(
    state: Asked,
    runtime: Runtime[Context],
    unclear: Unclear,
    meant: Rival,
    numbers: dict[str, Scalar],
) -> Understood:
    """Asked as if the name had been said: searched, read and graded by that."""
    asked = ambiguity.with_meaning(state["question"], unclear, meant)
    anew: Asked = {**state, "question": asked, "queries": [asked]}
    again = (await retrieve(anew, runtime))["found"]
    # Scores and grades for the unclear question are worth nothing now.
    new, blank = {item["id"] for item in again}, dict.fromkeys(READ)
    others = (
        cast("Found", {**item, **blank, "grade": "not graded", "graded_by": None})
        for item in state["found"]
        if item["id"] not in new
    )
    anew["found"] = [*again, *others]
    read = await rerank(anew, runtime)
    assumed = ambiguity.assumption(unclear, meant)
    why = f"{assumed}: {meant.share:.0%} of the evidence speaks of it"
    return {
        **_as_it_was(state, why, numbers),
        "question": asked,
        "queries": [asked],
        "found": read["found"],
        "assumed": assumed,
        "steps": [step("readings", f"Took it as: {asked}", numbers, route=("grade_on", why))],
        "warnings": read["warnings"],
    }


async def _told_apart(
    context: Context, state: Asked, unclear: Unclear, found: Sequence[Rival]
) -> dict[str, Sentence] | None:
    """Each reading by its name with a sentence of its own evidence; None where fewer than two are
    left, or all come to the same."""
    told: dict[tuple[str, int], tuple[str, Sentence, str | None]] = {}
    for one in found:
        asked = ambiguity.with_meaning(state["question"], unclear, one)
        wanted = one.passages[:PASSAGES_EACH]
        own: list[Found] = [
            {**item, "kept": True} for item in state["found"] if item["id"] in wanted
        ]
        read = await ranking.read(context, asked, own) if context.settings.search.rerank else own
        draft = await extract(context, asked, read)
        sentence = draft["sentences"][0] if draft["sentences"] else None
        # Where a risk is named, what is not sure enough must not be told at all.
        if sentence is None and dial(context) is None:
            held = await ranking.texts(context, wanted[:1])
            at = held[wanted[0]].text.find(one.name) if held else -1
            if at >= 0:  # what the evidence says of the name, if no answer
                sentence = sentence_at(held[wanted[0]], at, at + len(one.name))
        if sentence is not None:
            place = sentence["cited"][0]
            short = draft["short"] if draft["sentences"] else None
            told.setdefault((place["passage"], place["start"]), (one.name, sentence, short))
    each = list(told.values())
    answered = [one for one in each if one[2]]
    each = answered if len(answered) > 1 else each
    shorts = {(short or "").casefold() for _, _, short in each}
    alike = len(shorts) == 1 and "" not in shorts
    return None if len(each) <= 1 or alike else {name: sentence for name, sentence, _ in each}
