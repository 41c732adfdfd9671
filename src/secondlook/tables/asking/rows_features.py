"""What speaks for a draft and against it, as named numbers."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from secondlook.tables.asking.rows_vocabulary import TELLING_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.tables.asking.rows_drafting import Draft, Parsed
    from secondlook.tables.query import Computed

FEW = 3
MOST_LEFT = 6
BROAD = 0.8
"""Share of the values of a column beyond which naming them says nothing."""
LONG = 20
Found: TypeAlias = "defaultdict[str, float]"


def features(draft: Draft, parsed: Parsed, computed: Computed | None) -> Mapping[str, float]:
    """By name; a name that is not there counts 0."""
    found: Found = defaultdict(float)
    found[f"kind:{draft.kind}"] = 1
    for trait in draft.traits:
        found[trait] = 1
    _coverage(found, draft, parsed)
    _conditions(found, draft, parsed)
    if draft.target is not None:
        _target(found, draft, parsed)
        found[f"target:{draft.target.how}"] = 1
        found[f"{draft.kind}:target:{draft.target.how}"] = 1
        found["target:distance"] = min(draft.target.distance, FEW)
        wh = parsed.wh[0] if parsed.wh else "none"
        found[f"{wh}:{draft.target.column.kind}:{draft.kind}"] = 1
    found[f"{'counting' if parsed.counting else 'other'}:{draft.kind}"] = 1
    if computed is not None:
        _outcome(found, draft, computed)
    return found


def of_nothing(parsed: Parsed) -> Mapping[str, float]:
    """What speaks for it that no draft is right."""
    words = {word.text for word in parsed.asked.words}
    found = {f"null:{word}": 1.0 for word in words & TELLING_WORDS}
    return found | {"null": 1.0, "null:length": min(len(parsed.asked.words), LONG) / 10}


def _target(found: Found, draft: Draft, parsed: Parsed) -> None:
    if draft.target is None or draft.target.how == "value":
        return
    column = draft.target.column
    kind = "cell" if draft.answer == "list" else "number"
    found[f"target:subject:{kind}"] = column is parsed.asked.table.subject
    found[f"target:place:{min(column.place, FEW)}:{kind}"] = 1
    found[f"target:distinct:{kind}"] = column.distinct
    found[f"target:missing:{kind}"] = column.missing
    found[f"target:mentions:{kind}"] = any(
        mention.column is column and mention.how == "exact" for mention in parsed.asked.mentions
    )
    found[f"target:wordy:{kind}"] = column.wordy
    found[f"target:note:{kind}"] = bool({"note", "reference", "report", "web"} & set(column.words))


def _coverage(found: Found, draft: Draft, parsed: Parsed) -> None:
    content = parsed.asked.content
    left = content - draft.used
    found["left:share"] = len(left) / max(1, len(content))
    found["left:none"] = not left
    found["left:one"] = len(left) == 1
    found["left:words"] = min(len(left), MOST_LEFT)
    for place in left:
        word = parsed.asked.words[place].text
        if word in TELLING_WORDS:
            found[f"left:{word}"] = 1
        if word.isdigit():
            found["left:number"] += 1
    values = {
        place
        for choice in parsed.sets[0].choices
        for place in choice.places
        if choice.source == "exact"
    }
    found["left:value"] = len(values & left)


def _conditions(found: Found, draft: Draft, parsed: Parsed) -> None:
    choices = draft.conditions.choices
    found["conditions"] = len(choices)
    found["conditions:conflict"] = draft.conditions.conflict
    for choice in choices:
        found[f"condition:{choice.source}"] += 1
        found[f"condition:{choice.source}:{'cued' if choice.cued else 'bare'}"] += 1
        found[f"{draft.kind}:condition:{choice.source}"] += 1
        if choice.equality and all(value.strip().isdigit() for value in choice.values):
            found[f"condition:number:{'cued' if choice.cued else 'bare'}"] += 1
        if choice.equality:
            different = len(parsed.asked.table.cells[choice.column])
            found["condition:broad"] += len(choice.values) > max(1, BROAD * different)
        named = {
            mention.how for mention in parsed.asked.mentions if mention.column.name == choice.column
        }
        for how in named:
            found[f"condition:column:{how}"] += 1
        if choice.negated:
            found["condition:negated"] += 1
        if choice.equality and len(choice.values) > 1:
            found["condition:several"] += 1
        if draft.target is not None and choice.column == draft.target.column.name:
            found["condition:target"] += 1
    found["condition:score"] = sum(choice.score for choice in choices)


def _outcome(found: Found, draft: Draft, computed: Computed) -> None:
    rows = len(computed.rows)
    first = computed.rows[0][0] if rows and computed.rows[0] else None
    if draft.answer == "list":
        size = "none" if rows == 0 or (rows == 1 and first in {None, ""}) else _size(rows)
        found[f"rows:{size}"] = 1
        found[f"{draft.kind}:rows:{size}"] = 1
    elif draft.kind in {"count", "distinct"}:
        value = first if isinstance(first, int | float) else 0
        found[f"count:is:{'none' if not value else 'one' if value == 1 else 'more'}"] = 1
    elif first is None:
        found["value:none"] = 1


def _size(rows: int) -> str:
    return "one" if rows == 1 else "few" if rows <= FEW else "many"
