"""Puts the answers of the parts together. Arithmetic, dates and comparisons are done by code from
cited values; no model is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final, cast

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.answer import AnswerPart
from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.limits import dial
from secondlook.nodes.state import (
    ComputationData,
    Draft,
    DraftData,
    OperandData,
    Parts,
    Sentence,
    Trace,
    step,
)
from secondlook.reading.support import denies
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.arithmetic import (
    Stated,
    computed,
    dates,
    numbers,
    read_date,
    read_number,
    sentence,
)
from secondlook.roles.follow_up import names
from secondlook.roles.split import value_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.answer import Citation, Operation
    from secondlook.nodes.state import Cited, Found, PartData
    from secondlook.passage import Passage
    from secondlook.roles.split import Combining


class Combined(Draft, Parts, Trace):
    route: str


async def combine(state: Parts, runtime: Runtime[Context]) -> Combined:
    context, parts = runtime.context, state["parts"]
    held = await ranking.texts(context, cited_by([part["draft"] for part in parts]))
    way = cast("Combining", state["combining"])
    draft = combined(parts, way, held)
    allowed = dial(context)
    why = allowed.objection(draft["confidence"]) if allowed and draft else None
    if draft is None or why:
        return _gave_up(state, why or "the answers of the parts give none")
    for one in draft["sentences"]:
        runtime.stream_writer({"token": f"{one['text']} "})
    said = f"Put {len(parts)} parts together: {draft['short']}"
    told = step(
        "combine",
        said,
        route=("settle", "every part has an answer"),
        parts=len(parts),
        combining=way,
        computed=draft["method"] == "computed",
        confidence=draft["confidence"],
    )
    return {**_kept(state), "draft": draft, "route": "settle", "steps": [told], "warnings": []}


def _kept(state: Parts) -> Parts:
    return {"parts": state["parts"], "combining": state["combining"]}


def _gave_up(state: Parts, why: str) -> Combined:
    """The whole question goes the ordinary way; the parts are no part of its answer."""
    told = step(
        "combine",
        f"Asked as a whole instead: {why}.",
        route=("retrieve", why),
        parts=len(state["parts"]),
        combining=state["combining"],
        computed=False,
    )
    return {
        "parts": [],
        "combining": "",
        "draft": withheld("no_evidence", reasons=[why]),
        "route": "retrieve",
        "steps": [told],
        "warnings": [],
    }


# The answers of the parts become one draft: computed by code from what they cite, or the answer
# of the last part with the others as its evidence.

_OPERATIONS: Final[dict[Combining, Operation]] = {
    "years": "years",
    "difference": "difference",
    "sum": "sum",
    "earliest": "least",
    "least": "least",
    "latest": "most",
    "most": "most",
    "same": "same",
    "both": "same",
}
_SAYS = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


def operation_of(combining: Combining) -> Operation | None:
    """What is computed; None where the answer of a part is the answer."""
    return _OPERATIONS.get(combining)


def combined(
    parts: Sequence[PartData], combining: Combining, held: Mapping[str, Passage]
) -> DraftData | None:
    """The draft; None where the answers of the parts give none."""
    drafts = [part["draft"] for part in parts if part["draft"] is not None]
    if len(drafts) < len(parts) or not drafts:
        return None
    if combining == "last":
        last = drafts[-1]
        said = [one for draft in [last, *drafts[:-1]] for one in draft["sentences"]]
        return _draft(last, drafts, said, last["short"])
    if combining == "both" and (verdict := _verdict(parts)):
        return verdict
    operands = _operands(parts, combining, held)
    return None if operands is None else _computed(drafts, operands, _OPERATIONS[combining])


def _computed(
    drafts: Sequence[DraftData], operands: Sequence[Placed], operation: Operation
) -> DraftData | None:
    stated = [one.stated for one in operands]
    result = computed(operation, stated)
    if result is None:
        return None
    cited: list[Cited] = []
    for one in operands:
        if one.place not in cited:
            cited.append(one.place)
    data = ComputationData(
        operation=operation,
        operands=[
            OperandData(text=one.stated.text, cited=cited.index(one.place), name=one.stated.name)
            for one in operands
        ],
        result=result,
    )
    told = Sentence(
        text=sentence(operation, stated, result),
        cited=cited,
        support=1.0,
        supported=True,
        computation=data,
    )
    said = [told, *(one for draft in drafts for one in draft["sentences"])]
    return {**_draft(drafts[-1], drafts, said, result), "method": "computed"}


def _draft(
    base: DraftData, drafts: Sequence[DraftData], said: Sequence[Sentence], short: str | None
) -> DraftData:
    confidence, reasons = _sure(drafts)
    # Two parts may have found the same sentence.
    return DraftData(
        method=base["method"],
        model=next((draft["model"] for draft in drafts if draft["model"]), None),
        sentences=list({one["text"]: one for one in reversed(said)}.values())[::-1],
        short=short,
        stop="answered",
        confidence=confidence,
        reasons=reasons,
        note=next((draft["note"] for draft in drafts if draft["note"]), None),
    )


def _sure(drafts: Sequence[DraftData]) -> tuple[float | None, list[str]]:
    """All parts must be right."""
    each = [draft["confidence"] for draft in drafts]
    known = [value for value in each if value is not None]
    reasons = [
        f"part {at}: {reason}" for at, draft in enumerate(drafts, 1) for reason in draft["reasons"]
    ]
    if len(known) < len(each):
        return None, ["how sure a part is cannot be told", *reasons]
    told = " x ".join(f"{value:.2f}" for value in known)
    return round(prod(known), 4), [f"every part must be right: {told}", *reasons]


def _operands(
    parts: Sequence[PartData], combining: Combining, held: Mapping[str, Passage]
) -> list[Placed] | None:
    used = [parts[at] for at in value_parts([part["question"] for part in parts])]
    asked = [part["asked"] or "" for part in used]
    names, wanted = subjects(asked), _shared(asked)
    found: list[Placed] = []
    for part, name in zip(used, names, strict=True):
        draft = part["draft"]
        one = draft and placed(draft, _quotes(draft, held), combining, name=name, wanted=wanted)
        if not one:
            return None
        found.append(one)
    return found


def _shared(asked: Sequence[str]) -> str:
    """The words that all the questions have: what `both` asks of each."""
    common = set.intersection(*(set(query_terms(one)) for one in asked))
    return " ".join(word for word in asked[0].split() if common.intersection(query_terms(word)))


def _quotes(draft: DraftData, held: Mapping[str, Passage]) -> list[Quoted]:
    quotes = []
    for place in (place for one in draft["sentences"] for place in one["cited"]):
        if passage := held.get(place["passage"]):
            first = passage.start
            text = passage.text[place["start"] - first : place["end"] - first]
            quotes.append(Quoted(place, text))
    return quotes


def _verdict(parts: Sequence[PartData]) -> DraftData | None:
    """What the parts come to where each was answered with yes or no, in a model's words."""
    drafts = [part["draft"] for part in parts if part["draft"] is not None]
    said = [_SAYS.match(draft["sentences"][0]["text"]) for draft in drafts if draft["sentences"]]
    words = [found[1].casefold() for found in said if found]
    if len(words) < len(drafts):
        return None
    first = words.index("no") if "no" in words else 0
    base = drafts[first]
    order = [base, *(draft for draft in drafts if draft is not base)]
    return _draft(
        base, drafts, [one for draft in order for one in draft["sentences"]], words[first]
    )


# The values that parts came to, where their citations state them.

_DATED: Final = frozenset({"years", "earliest", "latest"})
_COUNTED: Final = frozenset({"difference", "sum", "least", "most"})
_WORD = re.compile(r"\w+(?:[-.'\u2019]\w+)*")
_WIDEST: Final = 12
"""Words between the first and the last of a property that still are one statement."""


@dataclass(frozen=True, slots=True)
class Quoted:
    place: Cited
    text: str
    """The document's own text there."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A value, and where it stands."""

    stated: Stated
    place: Cited


def placed(
    draft: DraftData, quotes: Sequence[Quoted], combining: Combining, *, name: str, wanted: str
) -> Placed | None:
    """The value that a draft came to, as one of its quotes has it. `wanted` is the property that
    `both` asks for."""
    short = draft["short"] or ""
    for quote in quotes:
        for written in _candidates(short, quote.text, combining, wanted):
            if stands_in(written, quote.text):
                return Placed(Stated(written, name), quote.place)
    return None


def _candidates(short: str, quote: str, combining: Combining, wanted: str) -> Iterator[str]:
    """The value as a quote writes it, whole: a span of the reader may lack the unit or the year."""
    if combining in _DATED:
        yield from _dated(short, quote)
    elif combining in _COUNTED:
        yield from _counted(short, quote)
    elif combining == "same":
        yield short
    elif combining == "both" and (phrase := _phrase(wanted, quote)):
        yield phrase


def _dated(short: str, quote: str) -> Iterator[str]:
    date = read_date(short)
    meant = [
        one
        for one in dates(quote)
        if (one.day[: len(date.day)] == date.day if date else stands_in(short, one.written))
    ]
    if len({one.day for one in meant}) == 1:
        yield meant[0].written
    elif date is not None:
        yield date.written


def _counted(short: str, quote: str) -> Iterator[str]:
    number = read_number(short)
    meant = [one for one in numbers(quote) if number and one.number == number.number]
    if number and number.unit:
        meant = [one for one in meant if one.unit == number.unit]
    if len({one.unit for one in meant}) == 1:
        yield meant[0].written


def stands_in(written: str, quote: str) -> bool:
    """Whether a quote states it, whatever the white space; "98" does not stand in "1981"."""
    text = flat(written).casefold()
    if not text:
        return False
    before = r"(?<!\w)(?<!\d[.,])" if text[0].isalnum() else ""
    after = r"(?!\w)(?![.,]\d)" if text[-1].isalnum() else ""
    return re.search(f"{before}{re.escape(text)}{after}", flat(quote).casefold()) is not None


def flat(text: str) -> str:
    return " ".join(text.split())


def _phrase(wanted: str, quote: str) -> str | None:
    """The fewest words in a row of a quote that hold every word of a property, if it does not
    deny it."""
    needed = frozenset(query_terms(wanted))
    words = [
        (at.start(), at.end(), needed.intersection(terms(at[0]))) for at in _WORD.finditer(quote)
    ]
    best: tuple[int, int] | None = None
    for first in range(len(words)):
        last = _reaching(words, first, needed)
        if last is not None and (best is None or last - first < best[1] - best[0]):
            best = first, last
    if best is None or not needed:
        return None
    span = words[best[0]][0], words[best[1]][1]
    return None if denies(quote, span, wanted) else quote[slice(*span)]


def _reaching(
    words: Sequence[tuple[int, int, frozenset[str]]], first: int, needed: frozenset[str]
) -> int | None:
    held: frozenset[str] = frozenset()
    for at in range(first, min(first + _WIDEST, len(words))):
        held |= words[at][2]
        if held == needed:
            return at
    return None


# What each of several like questions is about: that by which it differs from the others.

_PEOPLE = re.compile(r" [A-Z]\w+(?:an|ish|ese)\Z")
_EDGE = " ?.,;:"


def subjects(questions: Sequence[str]) -> list[str]:
    """ "When was Oslo founded?" and "When was Bergen founded?" are about Oslo and Bergen."""
    split = [question.rstrip(" ?").split() for question in questions]
    first, last = _common(split), _common([words[::-1] for words in split])
    told = []
    for words, question in zip(split, questions, strict=True):
        own = words[first : max(first + 1, len(words) - last)]
        told.append(_whole(" ".join(own).strip(_EDGE), question))
    return told


def _common(split: Sequence[list[str]]) -> int:
    """How many words all begin with; at least one is left to each."""
    most = min(map(len, split)) - 1
    return next((at for at in range(most) if len({words[at] for words in split}) > 1), max(most, 0))


def _whole(own: str, question: str) -> str:
    """The name that the words are part of: of "Battle of Guam" they may be only the last."""
    text = question[:1].lower() + question[1:]
    inside = [name for name in names(text) if re.search(rf"(?<!\w){re.escape(own)}(?!\w)", name)]
    name = inside[0] if len(inside) == 1 and own else own
    if name != own:  # "Is Ada Vane American?" is about Ada Vane
        name = _PEOPLE.sub("", name)
    quoted = f'"{name}"'
    return quoted if quoted in question else re.sub(r"['\u2019]s\Z", "", name)


# What the parts of a question found, as the evidence of the whole question.


def pooled(
    before: Sequence[Found], now: Sequence[Found], drafts: Sequence[DraftData | None], *, k: int
) -> list[Found]:
    """Everything found so far, each passage once. First what the parts rest on, then the best of
    this part and of those before in turn; `k` are kept, and whatever is cited."""
    by_id = {item["id"]: item for item in before}
    for item in now:
        known = by_id.get(item["id"])
        by_id[item["id"]] = item if known is None else _better(known, item)
    cited = [name for name in cited_by(drafts) if name in by_id]
    lists = [_ids(ranking.kept(now)), _ids(ranking.kept(before))]
    longest = max(map(len, lists), default=0)
    turns = [names[at] for at in range(longest) for names in lists if at < len(names)]
    kept = list(dict.fromkeys([*cited, *turns]))[: max(k, len(cited))]
    rest = [name for name in dict.fromkeys([*_ids(now), *_ids(before)]) if name not in set(kept)]
    firm = set(cited)
    return [
        *(_marked(by_id[name], kept=True, cited=name in firm) for name in kept),
        *(_marked(by_id[name], kept=False, cited=False) for name in rest),
    ]


def cited_by(drafts: Sequence[DraftData | None]) -> list[str]:
    """The passages that drafts rest on, in order."""
    return list(
        dict.fromkeys(
            place["passage"]
            for draft in drafts
            if draft is not None
            for sentence in draft["sentences"]
            for place in sentence["cited"]
        )
    )


def _better(known: Found, again: Found) -> Found:
    """Read for another question, a passage keeps the reading in which it fits better."""
    one, other = known["relevance"], again["relevance"]
    return known if other is None or (one is not None and one >= other) else again


def _ids(found: Sequence[Found]) -> list[str]:
    return [item["id"] for item in found]


def _marked(item: Found, *, kept: bool, cited: bool) -> Found:
    if cited:
        why = "a part of the answer rests on it"
    elif kept:
        why = "among the best for a part of the question"
    else:
        why = "others fit better" if item["kept"] else item["why"]
    return {**item, "kept": kept, "why": why}


# Parts as an answer tells of them.


def answer_parts(
    parts: Sequence[PartData], citations: Sequence[Citation]
) -> tuple[AnswerPart, ...]:
    """Those that were asked, with the numbers of what they rest on."""
    numbers = {(one.passage, one.start, one.end): one.number for one in citations}
    return tuple(_told(part, numbers) for part in parts if part["asked"] is not None)


def _told(part: PartData, numbers: dict[tuple[str, int, int], int]) -> AnswerPart:
    draft = part["draft"]
    places = [place for one in draft["sentences"] for place in one["cited"]] if draft else []
    keys = [(place["passage"], place["start"], place["end"]) for place in places]
    return AnswerPart(
        question=part["asked"] or part["question"],
        short=draft["short"] if draft else None,
        citations=tuple(dict.fromkeys(numbers[key] for key in keys if key in numbers)),
    )
