"""What each document of a set says to a question, and what comes of it. Asks no chat model: the
reader reads each document by itself, code counts, adds and compares."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.answer import Analysis, ResultTable
from secondlook.library.library import search_options
from secondlook.nodes import ranking
from secondlook.nodes.combine import flat, stands_in, stated_values
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import extract, sentence_at, withheld
from secondlook.nodes.finish import Finished, assembled, finished, marked
from secondlook.nodes.limits import lead
from secondlook.nodes.outline import taken
from secondlook.nodes.retrieve import found_by
from secondlook.nodes.screen import kept_clean
from secondlook.nodes.state import (
    Draft,
    Finishing,
    Found,
    Sentence,
    Trace,
    step,
)
from secondlook.nodes.survey_set import (
    BATCH,
    AskedEach,
    CellData,
    FieldData,
    RowData,
    Surveyed,
    ToAsk,
)
from secondlook.retrieval.index.port import Filter
from secondlook.roles import arithmetic
from secondlook.roles.arithmetic import Stated, read_date, read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.answer import Answer, Claim, StopReason, Tier
    from secondlook.nodes.state import DraftData
    from secondlook.roles.surveys import Kind

_AT_ONCE: Final = 2
_PASSAGES: Final = 6  # Of a document, the best for the field
_TRIED: Final = 4  # Documents on which the phrasings of a field are compared
_SURELY_ONE: Final = 0.5  # Less likely put to every document, an answer is only likely
_LEAST_LIKELY: Final = 0.3  # A value that is less likely right is not shown at all
_NAMED: Final = 12  # Doubtful and other documents that an answer lists
_DAYS: Final = {
    "days": Decimal(1),
    "weeks": Decimal(7),
    "months": Decimal("30.4"),
    "years": Decimal("365.25"),
}
_ITEMS: Final = re.compile(r"[,;\n]|\band\b|&")
_LABEL: Final = re.compile(r"\A[^:,;]{1,40}:")
_CODE: Final = re.compile(r"([A-Z]{3})\s?\Z")


class Tallied(Draft, Trace):
    pass


class ToFinish(Finishing, Surveyed):
    pass


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
    whole = state["asked"] == len(state["documents"]) and not (state["doubted"] or state["foreign"])
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
        "In another language, and not looked at": state["foreign"],
    }
    left = {"Not asked": [title for _, title in state["documents"][state["asked"] :]]}
    said = [f"Asked {len(rows)} documents; {sum(map(_answered, rows))} answered."]
    for what, some in (told | left).items():
        more = f" and {len(some) - _NAMED} more" if len(some) > _NAMED else ""
        said += [f"{what}: {', '.join(some[:_NAMED])}{more}."] if some else []
    return " ".join(said)
