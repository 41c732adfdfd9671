"""Puts the answers of the parts together. Arithmetic, dates and comparisons are done by code from
cited values; no model is asked."""

from __future__ import annotations

import re
from itertools import chain, zip_longest
from math import prod
from typing import TYPE_CHECKING, Final, cast

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.limits import dial
from secondlook.nodes.state import Draft, DraftData, Parts, Sentence, Trace, step
from secondlook.reading.support import Cap, cap
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles import arithmetic
from secondlook.roles.arithmetic import Stated, read_date, read_number
from secondlook.roles.follow_up import names
from secondlook.roles.wants import value_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.answer import Operation
    from secondlook.nodes.state import Cited, Found, OperandData, PartData
    from secondlook.passage import Passage
    from secondlook.roles.wants import Combining

    Placed = tuple[Stated, Cited]  # a value, and where it stands

OPERATIONS: Final[dict[Combining, Operation]] = {
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
"""What is computed; of other ways the answer of a part is the answer."""
_DATED: Final = frozenset({"years", "earliest", "latest"})
_COUNTED: Final = frozenset({"difference", "sum", "least", "most"})
_SAYS = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)
_DENIAL: tuple[Cap, ...] = ("not",)
_WORD = re.compile(r"\w+(?:[-.'\u2019]\w+)*")
_WIDEST: Final = 12
"""Words between the first and the last of a property that still are one statement."""
_PEOPLE = re.compile(r" [A-Z]\w+(?:an|ish|ese)\Z")


class Combined(Draft, Parts, Trace):
    route: str


async def combine(state: Parts, runtime: Runtime[Context]) -> Combined:
    context, parts = runtime.context, state["parts"]
    held = await ranking.texts(context, cited_by([part["draft"] for part in parts]))
    way = cast("Combining", state["combining"])
    draft = combined(parts, way, held)
    allowed = dial(context)
    why = allowed.objection(draft["confidence"]) if allowed and draft else None
    numbers = {"parts": len(parts), "combining": way}
    if draft is None or why:
        # The whole question goes the ordinary way; the parts are no part of its answer.
        why = why or "the answers of the parts give none"
        said = f"Asked as a whole instead: {why}."
        told = step("combine", said, numbers, computed=False, route=("retrieve", why))
        return {
            "parts": [],
            "combining": "",
            "draft": withheld("no_evidence", reasons=[why]),
            "route": "retrieve",
            "steps": [told],
            "warnings": [],
        }
    for one in draft["sentences"]:
        runtime.stream_writer({"token": f"{one['text']} "})
    told = step(
        "combine",
        f"Put {len(parts)} parts together: {draft['short']}",
        numbers,
        computed=draft["method"] == "computed",
        confidence=draft["confidence"],
        route=("settle", "every part has an answer"),
    )
    return {
        "parts": parts,
        "combining": state["combining"],
        "draft": draft,
        "route": "settle",
        "steps": [told],
        "warnings": [],
    }


def combined(
    parts: Sequence[PartData], combining: Combining, held: Mapping[str, Passage]
) -> DraftData | None:
    """The draft: computed by code from what the parts cite, or the answer of the last part with
    the others as its evidence. None where the answers of the parts give none."""
    drafts = [part["draft"] for part in parts if part["draft"] is not None]
    if len(drafts) < len(parts) or not drafts:
        return None
    if combining == "last":
        return _draft([drafts[-1], *drafts[:-1]], drafts, drafts[-1]["short"])
    if combining == "each":
        return _each(parts)
    if combining == "both":  # each may be answered with yes or no, in a model's words
        said = [_SAYS.match(one["sentences"][0]["text"]) for one in drafts if one["sentences"]]
        words = [found[1].casefold() for found in said if found]
        if len(words) == len(drafts):
            first = words.index("no") if "no" in words else 0
            others = [draft for draft in drafts if draft is not drafts[first]]
            return _draft([drafts[first], *others], drafts, words[first])
    operands, operation = _operands(parts, combining, held), OPERATIONS[combining]
    stated = [one for one, _ in operands or ()]
    result = arithmetic.computed(operation, stated) if operands else None
    if not operands or result is None:
        return None
    cited: list[Cited] = []
    told: list[OperandData] = []
    for one, place in operands:
        if place not in cited:
            cited.append(place)
        told.append({"text": one.text, "cited": cited.index(place), "name": one.name})
    sentence = Sentence(
        text=arithmetic.sentence(operation, stated, result),
        cited=cited,
        support=1.0,
        supported=True,
        computation={"operation": operation, "operands": told, "result": result},
    )
    draft = _draft(drafts, drafts, result)
    draft["sentences"] = [sentence, *(one for one in draft["sentences"] if one != sentence)]
    return {**draft, "method": "computed"}


def _each(parts: Sequence[PartData]) -> DraftData | None:
    """What was found, and which questions have no answer."""
    found = [one for part in parts if (one := part["draft"]) and one["sentences"]]
    if not found:
        return None
    lost = [part["asked"] for part in parts if part["draft"] not in found]
    made = _draft(found, found, "; ".join(one["short"] or "" for one in found))
    return {**made, "note": " ".join(f'I found no answer to "{one}"' for one in lost) or None}


def _draft(order: Sequence[DraftData], drafts: Sequence[DraftData], short: str | None) -> DraftData:
    """What all parts say, the first of `order` first. All of them must be right."""
    each = [draft["confidence"] for draft in drafts]
    known = [value for value in each if value is not None]
    reasons = [
        f"part {at}: {reason}" for at, draft in enumerate(drafts, 1) for reason in draft["reasons"]
    ]
    confidence, why = None, "how sure a part is cannot be told"
    if len(known) == len(each):
        confidence = round(prod(known), 4)
        why = f"every part must be right: {' x '.join(f'{value:.2f}' for value in known)}"
    said = [one for draft in order for one in draft["sentences"]]
    model = next((draft["model"] for draft in drafts if draft["model"]), None)
    return {
        **withheld("answered", confidence=confidence, reasons=[why, *reasons], model=model),
        "method": order[0]["method"],
        # Two parts may have found the same sentence.
        "sentences": list({one["text"]: one for one in reversed(said)}.values())[::-1],
        "short": short,
        "note": next((draft["note"] for draft in drafts if draft["note"]), None),
        "fits": min(draft.get("fits", 1.0) for draft in drafts),
    }


# The values that parts came to, where their citations state them.


def _operands(
    parts: Sequence[PartData], combining: Combining, held: Mapping[str, Passage]
) -> list[Placed] | None:
    used = [parts[at] for at in value_parts([part["question"] for part in parts])]
    asked = [part["asked"] or "" for part in used]
    # The words that all the questions have: what `both` asks of each.
    common = set.intersection(*(set(query_terms(one)) for one in asked))
    wanted = " ".join(word for word in asked[0].split() if common.intersection(query_terms(word)))
    found: list[Placed] = []
    for part, name in zip(used, subjects(asked), strict=True):
        draft = part["draft"] or withheld("no_evidence")
        for place in (place for one in draft["sentences"] for place in one["cited"]):
            if (passage := held.get(place["passage"])) is None:
                continue
            quote = passage.text[place["start"] - passage.start : place["end"] - passage.start]
            values = stated_values(draft["short"] or "", quote, combining, wanted)
            if written := next((one for one in values if stands_in(one, quote)), None):
                found.append((Stated(written, name), place))
                break
        else:
            return None
    return found


def stated_values(short: str, quote: str, combining: Combining, wanted: str) -> Iterator[str]:
    """The value as a quote writes it, whole: a span of the reader may lack the unit or the year.
    `wanted` is the property that `both` asks for."""
    if combining in _DATED:
        date = read_date(short)
        days = [
            one
            for one in arithmetic.dates(quote)
            if (one.day[: len(date.day)] == date.day if date else stands_in(short, one.written))
        ]
        if len({one.day for one in days}) == 1:
            yield days[0].written
        elif date is not None:
            yield date.written
    elif combining in _COUNTED and (number := read_number(short)):
        same = [one for one in arithmetic.numbers(quote) if one.number == number.number]
        if number.unit:
            same = [one for one in same if one.unit == number.unit]
        if len({one.unit for one in same}) == 1:
            yield same[0].written
    elif combining == "same":
        yield short
    elif combining == "both" and (phrase := _phrase(wanted, quote)):
        yield phrase


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
    rows = [
        words[first : first + size]
        for size in range(1, _WIDEST + 1)
        for first in range(len(words) - size + 1)
    ]
    for row in rows:
        if needed and needed == frozenset(chain.from_iterable(word[2] for word in row)):
            span = row[0][0], row[-1][1]
            return None if cap(wanted, quote, _DENIAL) < 1 else quote[slice(*span)]
    return None


def subjects(questions: Sequence[str]) -> list[str]:
    """What each of several like questions is about: "When was Oslo founded?" and "When was Bergen
    founded?" are about Oslo and Bergen."""
    split = [question.rstrip(" ?").split() for question in questions]

    def common(each: Sequence[list[str]]) -> int:
        """How many words all begin with; at least one is left to each."""
        most = min(map(len, each)) - 1
        unlike = (at for at in range(most) if len({words[at] for words in each}) > 1)
        return next(unlike, max(most, 0))

    first, last = common(split), common([words[::-1] for words in split])
    told = []
    for words, question in zip(split, questions, strict=True):
        own = " ".join(words[first : max(first + 1, len(words) - last)]).strip(" ?.,;:")
        # The name that the words are part of: of "Battle of Guam" they may be only the last.
        whole = rf"(?<!\w){re.escape(own)}(?!\w)"
        text = question[:1].lower() + question[1:]
        inside = [name for name in names(text) if re.search(whole, name)]
        name = inside[0] if len(inside) == 1 and own else own
        if name != own:  # "Is Ada Vane American?" is about Ada Vane
            name = _PEOPLE.sub("", name)
        quoted = f'"{name}"'
        told.append(quoted if quoted in question else re.sub(r"['\u2019]s\Z", "", name))
    return told


# What the parts of a question found, as the evidence of the whole question.


def pooled(
    before: Sequence[Found], now: Sequence[Found], drafts: Sequence[DraftData | None], *, k: int
) -> list[Found]:
    """Everything found so far, each passage once. First what the parts rest on, then the best of
    this part and of those before in turn; `k` are kept, and whatever is cited."""
    by_id = {item["id"]: item for item in before}
    for item in now:
        # Read for another question, a passage keeps the reading in which it fits better.
        known, new = by_id.setdefault(item["id"], item)["relevance"], item["relevance"]
        if new is not None and (known is None or new > known):
            by_id[item["id"]] = item
    cited = [name for name in cited_by(drafts) if name in by_id]
    pairs = zip_longest(ranking.kept(now), ranking.kept(before))
    turns = [item["id"] for item in chain.from_iterable(pairs) if item is not None]
    kept = list(dict.fromkeys([*cited, *turns]))[: max(k, len(cited))]

    def marked(name: str) -> Found:
        item = by_id[name]
        why = "others fit better" if item["kept"] else item["why"]
        if name in kept:
            best = "among the best for a part of the question"
            why = "a part of the answer rests on it" if name in cited else best
        return {**item, "kept": name in kept, "why": why}

    return [
        marked(name) for name in dict.fromkeys([*kept, *(one["id"] for one in (*now, *before))])
    ]


def cited_by(drafts: Sequence[DraftData | None]) -> list[str]:
    """The passages that drafts rest on, in order."""
    sentences = (one for draft in drafts if draft is not None for one in draft["sentences"])
    return list(dict.fromkeys(place["passage"] for one in sentences for place in one["cited"]))
