"""Which documents a question is put to: the kind that it names, by the documents that begin alike,
and the names that narrow it; and what each of them is asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from langgraph.runtime import Runtime  # noqa: TC002
from typing_extensions import TypedDict

from secondlook.library.library import search_options
from secondlook.nodes.combine import stands_in
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.outline import fits, whole_document
from secondlook.nodes.state import Evidence, Question, Sentence, Trace, step
from secondlook.reading.languages import knows
from secondlook.retrieval.index.port import Filter
from secondlook.roles.surveys import planned
from secondlook.roles.wants import is_everything

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.context import Titled
    from secondlook.roles.surveys import Kind, Plan

MOST_BATCHES: Final = 250
BATCH: Final = 8  # Documents that are asked before what they said is kept
MOST_ASKED: Final = MOST_BATCHES * BATCH  # Of more the answer says which were not asked
_OPENING: Final = 300  # Characters that tell what kind of document it is
_ONE_KIND: Final = 0.7  # How alike documents of a kind begin, on average
_SAME: Final = 0.02
_CLOSE: Final = 0.07
"""Kinds as like the name of a set belong to it; documents nearly so are named as left out."""
_LEAST_ALIKE: Final = 0.44
_LEAST_GAP: Final = (0.02, 0.05)
_LEAST_SAID: Final = 0.05
"""What a set is told by: how like its name it is, and how much less the next kind; between the two
gaps, if the reader says twice as surely that it is one of them. Seen on three small collections of
our own: 33 of 34 names of kinds were told there, and 1 of 10 other words was taken for one."""
_TOLD: Final = 3  # Documents of a kind that the reader looks at
_MOST_COMPARED: Final = 1000  # Documents; of more those that a search for the set's name finds
_HELP: Final = 'name them with --doc, or ask: secondlook survey "rent, end" --documents lease'


class FieldData(TypedDict):
    label: str
    phrasings: list[str]  # Once they have been compared, the best and the second best
    kinds: list[Kind]


class CellData(TypedDict):
    """What one document says of one field."""

    short: str | None
    value: str | None  # A date as 2025-03-31, a number as 1240.5; None of a text
    unit: str
    confidence: float | None
    sentence: Sentence | None
    sure: bool


class RowData(TypedDict):
    document: str
    cells: list[CellData]


class Surveyed(TypedDict):
    act: str
    which: str
    likely: float  # That the question is put to every document of a set at all
    most: int
    fields: list[FieldData]
    documents: list[list[str]]  # Id and title of each of the set
    doubted: list[str]  # Titles of those that may belong to it, and were left out
    foreign: list[str]  # Titles of those that nobody here can read
    asked: int
    rows: list[RowData]
    ended: str  # Why no further document is asked, or none at all; empty while that is open


class ToAsk(Surveyed, Evidence):
    pass


class AskedEach(ToAsk, Trace):
    pass


async def choose_set(state: Question, runtime: Runtime[Context]) -> AskedEach:
    context, scope = runtime.context, state["scope"]
    plan = await asyncio.to_thread(planned, state["question"])
    chosen: list[Titled] = []
    doubted: list[Titled] = []
    foreign: list[Titled] = []
    ended = f"I could not tell what each document is to be asked: {_HELP}."
    if plan is not None and context.titles is not None:
        held = await asyncio.to_thread(context.titles, scope)
        if scope["documents"] is not None or scope["labels"] or is_everything(plan.which):
            chosen = list(held)
        else:
            for name in (plan.which, state["question"]):  # the one that tells them apart
                chosen, doubted, foreign = await asyncio.to_thread(members, context, name, held)
                if chosen:
                    break
        ended = "" if chosen else f"I could not tell which documents {plan.which!r} are: {_HELP}."
        chosen, unmet = await _naming(context, plan, chosen)
        if unmet and plan.act != "list" and not ended:
            ended = f"I cannot tell for sure which of them are meant by {', '.join(unmet)}."
    said = ended or f"Chose {len(chosen)} documents for {plan.which if plan else ''!r}."
    numbers = {"documents": len(chosen), "doubted": len(doubted)}
    listed = "; ".join(one.title for one in chosen[:12])
    return {
        "act": plan.act if plan else "list",
        "which": plan.which if plan else "",
        "likely": plan.likely if plan else 0.0,
        "most": plan.most if plan else 1,
        "fields": [
            {"label": one.label, "phrasings": list(one.phrasings), "kinds": list(one.kinds)}
            for one in (plan.fields if plan else ())
        ],
        "documents": [[one.id, one.title] for one in chosen],
        "doubted": [one.title for one in doubted],
        "foreign": [one.title for one in foreign],
        "asked": 0,
        "rows": [],
        "ended": ended,
        "found": [],
        "steps": [step("choose_set", said, numbers, listed=listed)],
        "warnings": [],
    }


def members(
    context: Context, which: str, held: Sequence[Titled]
) -> tuple[list[Titled], list[Titled], list[Titled]]:
    """The documents of the kind that is most like the name, by titles and first lines; others that
    are nearly as like it or are called so; and those in a language that the models do not know.
    None where neither a clear gap nor what several are called tells the kind from the rest."""
    if len(held) > _MOST_COMPARED:
        options = search_options(context.settings.search, k=_MOST_COMPARED)
        hits = context.shelf.find(which, options, Filter())
        found = {hit.passage.document for hit in hits}
        held = [one for one in held if one.id in found]
    ids = [f"{one.id}.0" for one in held]
    firsts = context.shelf.passages(ids)
    there = [one for one, name in zip(held, ids, strict=True) if name in firsts]
    if not there:
        return [], [], []
    begun = [f"{one.title}\n{firsts[f'{one.id}.0'].text[:_OPENING]}" for one in there]
    name, *rest = np.array(context.shelf.vectors([which, *begun]))
    vectors = np.array(rest)
    alike = vectors @ name
    ranked = sorted(
        ((float(alike[group].mean()), group) for group in kinds(vectors, alike.argsort()[::-1])),
        key=lambda pair: -pair[0],
    )
    best = ranked[0][0]
    chosen = [group for near, group in ranked if near > best - _SAME]
    rivals = [group for _, group in ranked[len(chosen) :]]
    gap = best - ranked[len(chosen)][0] if rivals else 0.0
    clear = best >= _LEAST_ALIKE and gap >= _LEAST_GAP[1]
    if not clear and best >= _LEAST_ALIKE and gap >= _LEAST_GAP[0]:  # the reader says what each is
        shown = [group[:_TOLD] for group in (chosen[0], *rivals[:2])]
        pairs = [(f"This is one of the {which}.", begun[at]) for group in shown for at in group]
        said = iter(context.support.support(pairs))
        own, *theirs = [sum(next(said) for _ in group) / len(group) for group in shown]
        clear = own >= max(_LEAST_SAID, 2 * max(theirs))
    called = {at for at, one in enumerate(there) if fits(which, one.title, one.paths)}
    inside = {at for group in chosen for at in group} if clear else called
    if len(inside) == 0 or (not clear and len(inside) == 1):
        return [], [], []
    least = min(alike[at] for at in inside)
    inside |= {at for at in called if alike[at] >= least}
    near = {at for at in range(len(there)) if alike[at] > best - _CLOSE} | called
    languages = context.shelf.reader_languages
    spoken = {at: one.language for at, one in enumerate(there) if one.language and at not in inside}
    foreign = {at for at, language in spoken.items() if not knows(languages, language)}
    asked, close, rest = (sorted(some) for some in (inside, near - inside - foreign, foreign))
    return [there[at] for at in asked], [there[at] for at in close], [there[at] for at in rest]


def kinds(vectors: Any, order: Sequence[int]) -> list[list[int]]:
    """Documents that begin alike, each with the group that it is most like on average."""
    groups: list[list[int]] = []
    sums: list[Any] = []
    for at in order:
        means = [
            float(one @ vectors[at]) / len(group) for one, group in zip(sums, groups, strict=True)
        ]
        if means and max(means) >= _ONE_KIND:
            place = means.index(max(means))
            groups[place].append(int(at))
            sums[place] = sums[place] + vectors[at]
        else:
            groups.append([int(at)])
            sums.append(vectors[at])
    return groups


async def _naming(
    context: Context, plan: Plan, chosen: list[Titled]
) -> tuple[list[Titled], list[str]]:
    """Those in which the names of the question stand, where not all have them, and what of its
    conditions nobody can check."""
    unmet = list(plan.conditions)
    for name in plan.names if chosen else ():
        naming = []
        for one in chosen:
            texts = [passage.text for passage in await whole_document(context, one.id)]
            if stands_in(name, " ".join([one.title, *texts])):
                naming.append(one)
        if naming:
            chosen = naming
        else:
            unmet.append(name)
    return chosen, unmet
