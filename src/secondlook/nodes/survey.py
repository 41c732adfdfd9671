"""A question that every document of a set is asked: which documents, what each says, and what
comes of it. Asks no chat model: the reader reads each document by itself, code counts and adds."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np
from langgraph.runtime import Runtime  # noqa: TC002
from typing_extensions import TypedDict

from secondlook.answer import Analysis, ResultTable
from secondlook.library.library import search_options
from secondlook.nodes import ranking
from secondlook.nodes.combine import flat, stands_in, stated_values
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import extract, sentence_at, withheld
from secondlook.nodes.finish import Finished, assembled, finished, marked
from secondlook.nodes.limits import lead
from secondlook.nodes.outline import taken, whole_document
from secondlook.nodes.retrieve import found_by
from secondlook.nodes.screen import kept_clean
from secondlook.nodes.state import (
    Draft,
    Evidence,
    Finishing,
    Found,
    Question,
    Sentence,
    Trace,
    step,
)
from secondlook.retrieval.index.port import Filter
from secondlook.roles import arithmetic
from secondlook.roles.arithmetic import Stated, read_date, read_number
from secondlook.roles.surveys import planned
from secondlook.roles.wants import is_everything

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.answer import Answer, Claim, StopReason, Tier
    from secondlook.nodes.context import Titled
    from secondlook.nodes.state import DraftData
    from secondlook.roles.surveys import Kind, Plan

MOST_BATCHES: Final = 250
BATCH: Final = 8  # Documents that are asked before what they said is kept
_AT_ONCE: Final = 2
_PASSAGES: Final = 6  # Of a document, the best for the field
_TRIED: Final = 4  # Documents on which the phrasings of a field are compared
_OPENING: Final = 300  # Characters that tell what kind of document it is
_ONE_KIND: Final = 0.7  # How alike documents of a kind begin, on average
_SAME: Final = 0.02
_CLOSE: Final = 0.07
"""Kinds that are as like the name of a set belong to it; those nearly so are named as left out."""
_LEAST_ALIKE: Final = 0.44
_LEAST_GAP: Final = (0.02, 0.05)
_LEAST_SAID: Final = 0.05
"""What a set is told by: how like its name it is, and how much less the next kind; between the two
gaps, if the reader says twice as surely that it is one of them. Seen on three small collections of
our own: 33 of 34 names of kinds were told there, and 1 of 10 other words was taken for one."""
_TOLD: Final = 3  # Documents of a kind that the reader looks at
_SURELY_ONE: Final = 0.5  # Less likely put to every document, an answer is only likely
_LEAST_LIKELY: Final = 0.3  # A value that is less likely right is not shown at all
_NAMED: Final = 12  # Doubtful and other documents that an answer lists
_MOST_COMPARED: Final = 1000  # Documents; of more those that a search for the set's name finds
_DAYS: Final = {
    "days": Decimal(1),
    "weeks": Decimal(7),
    "months": Decimal("30.4"),
    "years": Decimal("365.25"),
}
_ITEMS: Final = re.compile(r"[,;\n]|\band\b|&")
_LABEL: Final = re.compile(r"\A[^:,;]{1,40}:")
_CODE: Final = re.compile(r"([A-Z]{3})\s?\Z")
_HELP: Final = 'name them with --document, or ask: secondlook survey "rent, end" --documents lease'


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
    asked: int
    rows: list[RowData]
    ended: str  # Why no further document is asked, or none at all; empty while that is open


class ToAsk(Surveyed, Evidence):
    pass


class AskedEach(ToAsk, Trace):
    pass


class Tallied(Draft, Trace):
    pass


class ToFinish(Finishing, Surveyed):
    pass


# Which documents, and what each is asked.


async def choose_set(state: Question, runtime: Runtime[Context]) -> AskedEach:
    context, scope = runtime.context, state["scope"]
    plan = await asyncio.to_thread(planned, state["question"])
    chosen: list[Titled] = []
    doubted: list[Titled] = []
    ended = f"I could not tell what each document is to be asked: {_HELP}."
    if plan is not None and context.titles is not None:
        held = await asyncio.to_thread(context.titles, scope)
        if scope["documents"] is not None or scope["labels"] or is_everything(plan.which):
            chosen = list(held)
        else:
            for name in (plan.which, state["question"]):  # the one that tells them apart
                chosen, doubted = await asyncio.to_thread(members, context, name, held)
                if chosen:
                    break
        ended = "" if chosen else f"I could not tell which documents {plan.which!r} are: {_HELP}."
        chosen, unmet = await _naming(context, plan, chosen)
        if unmet and plan.act != "list" and not ended:
            ended = f"I cannot tell for sure which of them are meant by {', '.join(unmet)}."
    most = MOST_BATCHES * BATCH
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
        "documents": [[one.id, one.title] for one in chosen[:most]],
        "doubted": [one.title for one in doubted],
        "asked": 0,
        "rows": [],
        "ended": ended,
        "found": [],
        "steps": [step("choose_set", said, numbers, listed=listed)],
        "warnings": [],
    }


def members(
    context: Context, which: str, held: Sequence[Titled]
) -> tuple[list[Titled], list[Titled]]:
    """The documents of the kind that is most like the name, by titles and first lines, and those of
    a kind nearly as like it. None of either where no clear gap tells the kind from the rest."""
    if len(held) > _MOST_COMPARED:
        options = search_options(context.settings.search, k=_MOST_COMPARED)
        hits = context.shelf.find(which, options, Filter())
        near = {hit.passage.document for hit in hits}
        held = [one for one in held if one.id in near]
    ids = [f"{one.id}.0" for one in held]
    firsts = context.shelf.passages(ids)
    there = [one for one, name in zip(held, ids, strict=True) if name in firsts]
    if not there:
        return [], []
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
    others = ranked[len(chosen) :]
    gap = best - others[0][0] if others else 0.0
    if best < _LEAST_ALIKE or gap < _LEAST_GAP[0]:
        return [], []
    if gap < _LEAST_GAP[1]:  # in doubt the reader says what each is
        asked = [chosen[0][:_TOLD], *(group[:_TOLD] for _, group in others[:2])]
        pairs = [(f"This is one of the {which}.", begun[at]) for group in asked for at in group]
        said = iter(context.support.support(pairs))
        (own, *theirs) = [sum(next(said) for _ in group) / len(group) for group in asked]
        if own < max(_LEAST_SAID, 2 * max(theirs)):
            return [], []
    inside = sorted(at for group in chosen for at in group)
    close = sorted(at for near, group in others if near > best - _CLOSE for at in group)
    return [there[at] for at in inside], [there[at] for at in close]


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


# What each document says.


async def ask_each(state: ToAsk, runtime: Runtime[Context]) -> AskedEach:
    context, documents = runtime.context, state["documents"]
    fields, found = list(state["fields"]), list(state["found"])
    if not state["asked"]:
        fields = [await _best_phrasing(context, one, documents[:_TRIED]) for one in fields]
    limit = asyncio.Semaphore(_AT_ONCE)
    batch = documents[state["asked"] : state["asked"] + BATCH]

    async def asked(document: str) -> tuple[RowData, list[Found]] | None:
        async with limit:
            if context.ledger.must_end("ask_each"):
                return None
            if not fields:
                cells = [await _opening(context, document)]
            else:
                cells = [await _agreed(context, document, one) for one in fields]
            row: RowData = {"document": document, "cells": [cell for cell, _ in cells]}
            return row, [item for _, some in cells for item in some]

    made = await asyncio.gather(*(asked(document) for document, _ in batch))
    done = [one for one in made if one is not None]
    known = {item["id"] for item in found}
    found += [item for _, some in done for item in some if item["id"] not in known]
    ended = "" if len(done) == len(batch) else "the time ran out"
    count = state["asked"] + len(done)
    answered = sum(_answered(row) for row, _ in done)
    said = f"Asked {count} of {len(documents)} documents; {answered} of these {len(done)} answered."
    return {
        **state,
        "fields": fields,
        "asked": count,
        "rows": [*state["rows"], *(row for row, _ in done)],
        "ended": ended,
        "found": found,
        "steps": [step("ask_each", said, asked=count, answered=answered)],
        "warnings": [],
    }


def _answered(row: RowData) -> bool:
    return any(cell["short"] is not None for cell in row["cells"])


async def _best_phrasing(
    context: Context, field: FieldData, documents: Sequence[Sequence[str]]
) -> FieldData:
    """The one that the first documents answer most surely."""
    if len(field["phrasings"]) == 1:
        return field
    worth = []
    for phrasing in field["phrasings"]:
        cells = [(await _cell(context, one, phrasing, field))[0] for one, _ in documents]
        worth.append(sum(cell["confidence"] or 0.0 for cell in cells if cell["short"] is not None))
    order = sorted(range(len(worth)), key=lambda at: -worth[at])
    best = [field["phrasings"][at] for at in order[:2] if worth[at]] or field["phrasings"][:1]
    return {**field, "phrasings": best}


async def _agreed(
    context: Context, document: str, field: FieldData
) -> tuple[CellData, list[Found]]:
    """A number or a date is sure only where the question in other words gives the same; where it
    gives none, the other words may."""
    phrasings = field["phrasings"]
    cell, found = await _cell(context, document, phrasings[0], field)
    if len(phrasings) == 1 or (cell["value"] is None and cell["short"] is not None):
        return cell, found
    other, others = await _cell(context, document, phrasings[1], field)
    if cell["short"] is None:
        return {**other, "sure": False}, others
    differs = other["value"] is not None and other["value"] != cell["value"]
    return {**cell, "sure": cell["sure"] and not differs}, found


async def _cell(
    context: Context, document: str, question: str, field: FieldData
) -> tuple[CellData, list[Found]]:
    """What the document says, of the kind that is wanted; a missing value is said to be missing."""
    search = context.settings.search
    options = search_options(search, k=_PASSAGES, candidates=_PASSAGES)
    where = Filter(documents=frozenset({document}))
    hits = await asyncio.to_thread(context.shelf.find, question, options, where)
    read = await ranking.read(context, question, [found_by(hit) for hit in hits[:_PASSAGES]])
    placed, _ = await kept_clean(context, ranking.ranked(read, blend=search.blend, k=_PASSAGES))
    draft = await extract(_open_minded(context), question, placed)
    confidence = draft["confidence"]
    unlikely = confidence is not None and confidence < _LEAST_LIKELY
    if not draft["sentences"] or draft["short"] is None or unlikely:
        return _missing(confidence), []
    (sentence,) = draft["sentences"]
    place = sentence["cited"][0]
    passage = (await ranking.texts(context, [place["passage"]]))[place["passage"]]
    quote = passage.text[place["start"] - passage.start : place["end"] - passage.start]
    short = draft["short"]
    if "items" in field["kinds"]:
        short = flat(_LABEL.sub("", sentence["text"]))
    cell: CellData = {
        "short": short,
        "value": None,
        "unit": "",
        "confidence": confidence,
        "sentence": sentence,
        "sure": confidence is not None and confidence >= context.calibration.min_sure,
    }
    if not {"text", "items"}.intersection(field["kinds"]):
        typed = next(
            filter(None, (_typed(cell["short"], quote, one) for one in field["kinds"])), None
        )
        if typed is None:
            return _missing(confidence), []
        cell = {**cell, "short": typed.written, "value": typed.value, "unit": typed.unit}
    cell["sentence"] = {**sentence, "text": cell["short"] or ""}
    return cell, [item for item in placed if item["id"] == place["passage"]]


def _open_minded(context: Context) -> Context:
    """What would not do as an answer by itself is a doubtful value, and is named as such."""
    answer = context.settings.answer.model_copy(update={"enable_abstention": False})
    return replace(context, settings=context.settings.model_copy(update={"answer": answer}))


class _Typed(NamedTuple):
    written: str
    value: str
    unit: str = ""


def _typed(short: str | None, quote: str, kind: Kind) -> _Typed | None:
    """The value as the quote writes it, and what it is; None where it is no such value."""
    way: Any = "earliest" if kind == "date" else "sum"
    for written in stated_values(short or "", quote, way, ""):
        if not stands_in(written, quote):
            continue
        if kind == "date" and (date := read_date(written)) is not None:
            return _Typed(written, "-".join(f"{part:02}" for part in date.day))
        if kind == "number" and (number := read_number(written)) is not None:
            unit = number.unit
            before = quote[: max(0, quote.find(written))]
            if not unit and (code := _CODE.search(before)) is not None:  # EUR 12.50
                other = read_number(f"{written} {code[1]}")
                unit = other.unit if other is not None and other.unit else code[1]
            return _Typed(written, str(number.number), unit)
    return None


def _missing(confidence: float | None) -> CellData:
    return {
        "short": None, "value": None, "unit": "", "confidence": confidence, "sentence": None,
        "sure": False,
    }  # fmt: skip


async def _opening(context: Context, document: str) -> tuple[CellData, list[Found]]:
    """What shows that it is there, where nothing is asked of it: how it begins."""
    held = await ranking.texts(context, [f"{document}.0"])
    for passage in held.values():
        sentence = sentence_at(passage, 0, 1)
        cell: CellData = {**_missing(None), "short": sentence["text"], "sentence": sentence}
        return {**cell, "sure": True}, [taken(passage, "begins a document of the set")]
    return _missing(None), []


# What comes of it.


class _Result(NamedTuple):
    head: str  # What the answer begins with
    short: str | None
    claims: tuple[Sentence, ...] = ()


async def tally(state: Surveyed) -> Tallied:
    draft, said = tallied(state)
    return {"draft": draft, "steps": [step("tally", said, rows=len(state["rows"]))], "warnings": []}


def tallied(state: Surveyed) -> tuple[DraftData, str]:
    """The draft, and what is said of it. Its note is what the answer begins with."""
    rows, act = state["rows"], state["act"]
    titles = dict(state["documents"])
    first = 1 if act != "list" else None  # What is computed is computed of the first field
    good = [row for row in rows if _answered({**row, "cells": row["cells"][:first]})]
    if not rows:
        return {**withheld("no_evidence"), "note": state["ended"]}, state["ended"]
    if 2 * len(good) < len(rows):
        said = f"Only {len(good)} of {len(rows)} documents answered."
        return {**withheld("low_confidence"), "note": said}, said
    result = _results()[act](state, good, titles)
    if isinstance(result, str):
        return {**withheld("no_evidence"), "note": result}, result
    cells = [cell for row in rows for cell in row["cells"]]
    known = [one["confidence"] for one in cells if one["confidence"] is not None]
    reasons = ["no surer than the least sure of its values"] if known else []
    confidence = min(known) if known and len(good) == len(rows) else None
    told = [cell["sentence"] for row in rows for cell in row["cells"] if cell["sentence"]]
    head = result.head
    if len(good) < len(state["documents"]):
        head = (
            f"Of {len(good)} of {len(state['documents'])} documents: {head[:1].lower()}{head[1:]}"
        )
    draft: DraftData = {
        **withheld("answered", confidence=confidence, reasons=reasons),
        "method": "survey",
        "sentences": [*result.claims, *told],
        "short": result.short,
        "note": head,
    }
    return draft, head


def _results() -> Mapping[str, Callable[..., _Result | str]]:
    return {
        "count": _count, "list": _list, "sum": _sum, "mean": _mean, "earliest": _extreme,
        "latest": _extreme, "most": _extreme, "least": _extreme, "both": _common,
    }  # fmt: skip


def _count(_state: Surveyed, good: Sequence[RowData], _titles: Mapping[str, str]) -> _Result:
    return _Result(f"There are {len(good)}.", str(len(good)))


def _list(_state: Surveyed, good: Sequence[RowData], _titles: Mapping[str, str]) -> _Result:
    return _Result(f"{len(good)} documents say it.", None)


def _by_unit(good: Sequence[RowData]) -> dict[str, list[tuple[str, CellData]]]:
    """The first field of each row. Units are never mixed."""
    found: dict[str, list[tuple[str, CellData]]] = defaultdict(list)
    for row in good:
        found[row["cells"][0]["unit"]].append((row["document"], row["cells"][0]))
    return found


def _sum(_state: Surveyed, good: Sequence[RowData], _titles: Mapping[str, str]) -> _Result | str:
    claims, totals = [], []
    for unit, cells in _by_unit(good).items():
        values = [Decimal(cell["value"] or 0) for _, cell in cells]
        totals.append(arithmetic.written(sum(values, Decimal(0)), unit))
        stated = [Stated(cell["short"] or "") for _, cell in cells]
        if arithmetic.computed("sum", stated) == totals[-1]:
            places = [cell["sentence"]["cited"][0] for _, cell in cells if cell["sentence"]]
            claims.append(
                Sentence(
                    text=arithmetic.sentence("sum", stated, totals[-1]),
                    cited=places,
                    support=1.0,
                    supported=all(cell["sure"] for _, cell in cells) or None,
                    computation={
                        "operation": "sum",
                        "operands": [
                            {"text": one.text, "cited": at, "name": None}
                            for at, one in enumerate(stated)
                        ],
                        "result": totals[-1],
                    },
                )
            )
    return _Result(f"The total is {_joined(totals)}.", _joined(totals), tuple(claims))


def _mean(_state: Surveyed, good: Sequence[RowData], _titles: Mapping[str, str]) -> _Result | str:
    means = []
    for unit, cells in _by_unit(good).items():
        values = [Decimal(cell["value"] or 0) for _, cell in cells]
        mean = (sum(values, Decimal(0)) / len(values)).quantize(Decimal("0.01"))
        means.append(arithmetic.written(mean, unit))
    return _Result(f"The mean is {_joined(means)}.", _joined(means))


def _extreme(state: Surveyed, good: Sequence[RowData], titles: Mapping[str, str]) -> _Result | str:
    """Of each unit the first or the last; lengths of time are one unit, dates need no other."""
    groups = _by_unit(good)
    if set(groups) <= set(_DAYS):
        groups = {"": [pair for cells in groups.values() for pair in cells]}
    ahead = state["act"] in {"latest", "most"}
    dated = state["act"] in {"earliest", "latest"}
    told = []
    for cells in groups.values():
        keyed = [
            (
                cell["value"]
                if dated
                else Decimal(cell["value"] or 0) * _DAYS.get(cell["unit"], Decimal(1)),
                at,
            )
            for at, (_, cell) in enumerate(cells)
        ]
        if dated and len({len(str(key)) for key, _ in keyed}) > 1:
            return "Not all of the dates have a day, so they cannot be compared."
        keyed.sort(key=lambda pair: pair[0], reverse=ahead)  # type: ignore[arg-type, return-value]
        last = keyed[min(state["most"], len(keyed)) - 1][0]
        best = [cells[at] for key, at in keyed if (key >= last if ahead else key <= last)]  # type: ignore[operator]
        told += [f"{titles[document]} ({cell['short']})" for document, cell in best]
    return _Result(f"{_joined(told)}.", _joined(told))


def _common(_state: Surveyed, good: Sequence[RowData], _titles: Mapping[str, str]) -> _Result | str:
    """What every document names: parts of the list in which the answer stands."""
    named: list[dict[str, str]] = []
    for row in good:
        items = [one.strip(" .") for one in _ITEMS.split(row["cells"][0]["short"] or "")]
        named.append({one.casefold(): one for one in items if one})
    first, *others = named
    shared = [one for key, one in first.items() if all(key in other for other in others)]
    if not others or not shared:
        return "I found nothing that all of them name."
    return _Result(f"{_joined(shared)}: in all of them.", _joined(shared))


def _joined(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


# The answer: what came of it, what each document says, and who did not say it.


async def finish(state: ToFinish, runtime: Runtime[Context]) -> Finished:
    return finished(await surveyed(state, runtime.context))


async def surveyed(state: ToFinish, context: Context, *, stop: StopReason | None = None) -> Answer:
    """The answer that a survey amounts to, also where it was cut short."""
    draft = state["draft"] if stop is None else {**tallied(state)[0], "stop": stop}
    head = draft["note"] if draft["sentences"] else None
    bare: DraftData = {**draft, "note": None if head else draft["note"]}
    plain = await assembled(cast("Finishing", {**state, "draft": bare}), context)
    if not plain.claims:
        return plain
    rows, titles = state["rows"], dict(state["documents"])
    numbers = {(one.passage, one.start, one.end): one.number for one in plain.citations}

    def number(cell: CellData) -> int | None:
        place = cell["sentence"]["cited"][0] if cell["sentence"] else None
        return numbers.get((place["passage"], place["start"], place["end"])) if place else None

    computed = [claim for claim in plain.claims if claim.computation is not None]
    lines = []
    for row in rows:
        told = [
            claim for cell in row["cells"] if (claim := _claim_of(plain.claims, cell, number(cell)))
        ]
        said = "; ".join(map(marked, told)) or "not stated"
        lines.append(f"- {titles[row['document']]}: {said}")
    tier: Tier = "sure" if _all_sure(state) else "likely"
    text = "\n\n".join(
        filter(None, [head, " ".join(map(marked, computed)), "\n".join(lines), _coverage(state)])
    )
    labels = [one["label"] for one in state["fields"]] or ["begins"]
    table = ResultTable(
        columns=("document", *labels),
        rows=tuple(
            (titles[row["document"]], *(cell["short"] for cell in row["cells"])) for row in rows
        ),
        citations=tuple((None, *map(number, row["cells"])) for row in rows),
        total_rows=len(rows),
    )
    asked = "; ".join(one["phrasings"][0] for one in state["fields"])
    reading = f"{state['act']} over {len(titles)} documents ({state['which']})"
    analysis = Analysis(
        kind="survey", reading=f"{reading}: {asked}" if asked else reading, table=table
    )
    update = {
        "text": f"{lead(tier, None, draft['method'])}{text}",
        "tier": tier,
        "analysis": analysis,
        "status": "partial" if state["asked"] < len(titles) else plain.status,
    }
    return plain.model_copy(update=update)


def _claim_of(claims: Sequence[Claim], cell: CellData, number: int | None) -> Claim | None:
    sentence = cell["sentence"]
    if sentence is None or number is None:
        return None
    return next(
        (one for one in claims if one.text == sentence["text"] and number in one.citations), None
    )


def _all_sure(state: Surveyed) -> bool:
    cells = [cell for row in state["rows"] for cell in row["cells"]]
    whole = state["asked"] == len(state["documents"]) and not state["doubted"]
    return whole and state["likely"] >= _SURELY_ONE and all(cell["sure"] for cell in cells)


def _coverage(state: Surveyed) -> str:
    """How many were asked, who answered, and who is doubtful, silent or left out, by name."""
    rows, titles = state["rows"], dict(state["documents"])
    labels = [one["label"] for one in state["fields"]]

    def named(wanted: Callable[[CellData], bool]) -> list[str]:
        found = []
        for row in rows:
            some = [at for at, cell in enumerate(row["cells"]) if wanted(cell)]
            which = f" ({', '.join(labels[at] for at in some)})" if len(labels) > 1 else ""
            found += [f"{titles[row['document']]}{which}"] if some else []
        return found

    told = {
        "Doubtful": named(lambda cell: cell["short"] is not None and not cell["sure"]),
        "Not stated in": named(lambda cell: cell["short"] is None),
        "Left out, though alike": state["doubted"],
    }
    left = {"Not asked": [title for _, title in state["documents"][state["asked"] :]]}
    said = [f"Asked {len(rows)} documents; {sum(map(_answered, rows))} answered."]
    for what, some in (told | left).items():
        more = f" and {len(some) - _NAMED} more" if len(some) > _NAMED else ""
        said += [f"{what}: {', '.join(some[:_NAMED])}{more}."] if some else []
    return " ".join(said)
