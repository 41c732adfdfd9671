"""The answers of the parts become one draft: computed by code from what they cite, or the answer
of the last part with the others as its evidence."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Final

from secondlook.nodes.parts.computing import computed, sentence
from secondlook.nodes.parts.filling import value_parts
from secondlook.nodes.parts.operands import Quoted, placed
from secondlook.nodes.parts.subjects import subjects
from secondlook.retrieval.analyse import query_terms
from secondlook.state import ComputationData, DraftData, OperandData, Sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Operation
    from secondlook.nodes.parts.operands import Placed
    from secondlook.nodes.parts.splitting import Combining
    from secondlook.passage import Passage
    from secondlook.state import Cited, PartData

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
    return DraftData(
        method=base["method"],
        model=next((draft["model"] for draft in drafts if draft["model"]), None),
        sentences=_once(said),
        short=short,
        stop="answered",
        confidence=confidence,
        reasons=reasons,
        note=next((draft["note"] for draft in drafts if draft["note"]), None),
    )


def _once(said: Sequence[Sentence]) -> list[Sentence]:
    """Two parts may have found the same sentence."""
    return list({one["text"]: one for one in reversed(said)}.values())[::-1]


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
