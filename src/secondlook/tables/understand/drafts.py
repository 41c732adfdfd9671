"""A possible reading before it is ranked, and which column a question asks for."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from secondlook.tables.query import Query
from secondlook.tables.understand.filters import ConditionSet, condition_sets
from secondlook.tables.understand.sentence import ASKED_BY, header_words
from secondlook.tables.words import EMPTY_WORDS, TELLING_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.tables.query import Computed
    from secondlook.tables.understand.filters import Choice
    from secondlook.tables.understand.readings import AnswerForm, Operation
    from secondlook.tables.understand.sentence import ColumnFacts, Sentence

TargetHow = Literal["exact", "part", "kin", "near", "kind", "subject", "value", "away", "other"]
MOST_TARGETS = 5
_WH = re.compile(
    r"\b(?:in |for |from |at |on |to |by )?"
    r"(?P<wh>which|what|who|whose|whom|when|where|name|list|tell me"
    r"|how (?:many|much|long|far|tall|high|old|often|big|large|deep|fast|heavy))\b"
)
_DATED = re.compile(r"\b(?:what|which) (?:year|date|day|month|season)")
_SKIPPED = EMPTY_WORDS | {"name", "of", "total", "number", "amount", "different", "other", "type"}


@dataclass(frozen=True, slots=True)
class Target:
    """A column that the question asks for."""

    column: ColumnFacts
    used: frozenset[int]
    how: TargetHow
    distance: int = 0
    """Words between the question word and the name."""


@dataclass(frozen=True)
class Draft:
    kind: str
    """What it does: `lookup`, `count`, `argmax`."""
    family: str
    query: Query
    said: str
    used: frozenset[int]
    answer: AnswerForm
    conditions: ConditionSet = field(default_factory=ConditionSet)
    target: Target | None = None
    traits: tuple[str, ...] = ()
    """What speaks for it or against it beside its kind, target and conditions."""
    more: tuple[Query, ...] = ()
    operation: Operation | None = None


@dataclass(frozen=True)
class Parsed:
    """All that families read off one question beside one table."""

    asked: Sentence

    @cached_property
    def sets(self) -> list[ConditionSet]:
        return condition_sets(self.asked)

    @cached_property
    def wh(self) -> tuple[str, frozenset[int]] | None:
        """The question word and where it stands."""
        match = _WH.search(self.asked.joined)
        if match is None:
            return None
        return match["wh"], self.asked.places(match.start(), match.end())

    @cached_property
    def asking(self) -> frozenset[int]:
        """Places of the question word."""
        return self.wh[1] if self.wh else frozenset()

    @cached_property
    def counting(self) -> bool:
        return self.wh is not None and self.wh[0] == "how many"

    def query(self, **parts: Any) -> Query:
        return Query(table=self.asked.table.asked.table.id, **parts)

    def is_row(self, place: int) -> bool:
        """Whether a word names what the rows are: the table's name, or that of their label."""
        if place >= len(self.asked.words):
            return False
        word = self.asked.words[place].stem
        labels = [one.words for one in self.asked.table.columns if one.kind == "label"]
        names = header_words(self.asked.table.asked.table.name)
        return word in names or any(word == words[0] for words in labels if len(words) > 1)

    @cached_property
    def targets(self) -> list[Target]:
        """Columns that may be asked for, the likeliest first."""
        columns, words = self.asked.table.columns, self.asked.words
        start = first = max(self.wh[1]) + 1 if self.wh else 0
        while start < len(words) and words[start].text in _SKIPPED:
            start += 1
        close = self.asked.mention_within(first, start + 3)
        close.sort(key=lambda one: -one.score + 0.15 * max(0, one.first - start))
        found = [
            Target(one.column, one.places, one.how, max(0, one.first - start)) for one in close
        ]
        wh = self.wh[0] if self.wh else ""
        if wh == "when" or _DATED.search(self.asked.joined):
            dated = [one for kind in ("date", "year") for one in columns if one.kind == kind]
            found += [Target(one, frozenset(), "kind") for one in dated]
        wanted = ASKED_BY.get(wh, frozenset())
        found += [Target(one, frozenset(), "kind") for one in columns if set(one.words) & wanted]
        # Columns named in full anywhere else: `who won a bronze medal`.
        named = [one for one in self.asked.mentions if one.how == "exact"]
        found += [Target(one.column, one.places, "away") for one in named[:2]]
        alone = sum(not one.measurable for one in columns) == 1
        subject = self.asked.table.subject
        found.append(Target(subject, self._noun(), "exact" if alone else "subject"))
        kept: dict[str, Target] = {}
        for one in found:
            kept.setdefault(one.column.name, one)
        for column in columns:
            if len(kept) < MOST_TARGETS and column.kind == "text":
                kept.setdefault(column.name, Target(column, frozenset(), "other"))
        return list(kept.values())[: MOST_TARGETS + 1]

    def _noun(self) -> frozenset[int]:
        """The word after the question word, which names what rows are about."""
        if self.wh is None or self.wh[0] in {"who", "when", "where"}:
            return frozenset()
        start = max(self.wh[1]) + 1
        valued = {place for choice in self.sets[0].choices for place in choice.places}
        for place in range(start, min(start + 4, len(self.asked.words))):
            if self.asked.words[place].text not in _SKIPPED:
                return frozenset({place} - valued)
        return frozenset()


def places_of(*parts: frozenset[int] | None) -> frozenset[int]:
    return frozenset(place for part in parts if part for place in part)


# What speaks for a draft and against it, as named numbers.

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
    found[f"{'counting' if parsed.counting else 'other'}:{draft.kind}"] = 1
    for trait in draft.traits:
        found[trait] = 1
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
    exact = [one.places for one in parsed.sets[0].choices if one.source == "exact"]
    found["left:value"] = len(places_of(*exact) & left)
    for choice in draft.conditions.choices:
        _condition(found, choice, draft, parsed)
    found["conditions"] = len(draft.conditions.choices)
    found["conditions:conflict"] = draft.conditions.conflict
    found["condition:score"] = sum(choice.score for choice in draft.conditions.choices)
    if draft.target is not None:
        _target(found, draft, draft.target, parsed)
    if computed is not None:
        found.update(_outcome(draft, computed))
    return found


def of_nothing(parsed: Parsed) -> Mapping[str, float]:
    """What speaks for it that no draft is right."""
    words = {word.text for word in parsed.asked.words}
    found = {f"null:{word}": 1.0 for word in words & TELLING_WORDS}
    return found | {"null": 1.0, "null:length": min(len(parsed.asked.words), LONG) / 10}


def _condition(found: Found, choice: Choice, draft: Draft, parsed: Parsed) -> None:
    cued = "cued" if choice.cued else "bare"
    found[f"condition:{choice.source}"] += 1
    found[f"condition:{choice.source}:{cued}"] += 1
    found[f"{draft.kind}:condition:{choice.source}"] += 1
    if choice.equality:
        different = len(parsed.asked.table.cells[choice.column])
        found["condition:broad"] += len(choice.values) > max(1, BROAD * different)
        found["condition:several"] += len(choice.values) > 1
        if all(value.strip().isdigit() for value in choice.values):
            found[f"condition:number:{cued}"] += 1
    for how in {one.how for one in parsed.asked.mentions if one.column.name == choice.column}:
        found[f"condition:column:{how}"] += 1
    found["condition:negated"] += choice.negated
    if draft.target is not None and choice.column == draft.target.column.name:
        found["condition:target"] += 1


def _target(found: Found, draft: Draft, target: Target, parsed: Parsed) -> None:
    column, wh = target.column, parsed.wh[0] if parsed.wh else "none"
    found[f"target:{target.how}"] = 1
    found[f"{draft.kind}:target:{target.how}"] = 1
    found["target:distance"] = min(target.distance, FEW)
    found[f"{wh}:{column.kind}:{draft.kind}"] = 1
    if target.how == "value":
        return
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


def _outcome(draft: Draft, computed: Computed) -> dict[str, float]:
    rows = len(computed.rows)
    first = computed.rows[0][0] if rows and computed.rows[0] else None
    if draft.answer == "list":
        size = "one" if rows == 1 else "few" if rows <= FEW else "many"
        size = "none" if rows == 0 or (rows == 1 and first in {None, ""}) else size
        return {f"rows:{size}": 1, f"{draft.kind}:rows:{size}": 1}
    if draft.kind in {"count", "distinct"}:
        value = first if isinstance(first, int | float) else 0
        return {f"count:is:{'none' if not value else 'one' if value == 1 else 'more'}": 1}
    return {"value:none": 1} if first is None else {}


# Which draft is meant, and how sure that is: a log-linear model over named features.


@cache
def weights() -> Mapping[str, float]:
    file = resources.files("secondlook.tables.understand").joinpath("rows_weights.json")
    groups: dict[str, dict[str, float]] = json.loads(file.read_text(encoding="utf-8"))["weights"]
    return {
        f"{group}:{name}" if name else group: weight
        for group, named in groups.items()
        for name, weight in named.items()
    }


def score(found: Mapping[str, float], by: Mapping[str, float] | None = None) -> float:
    by = weights() if by is None else by
    return sum(by.get(name, 0.0) * value for name, value in found.items())


def shares(scores: Sequence[float]) -> list[float]:
    """Of the likelihood, one for each; together 1."""
    if not scores:
        return []
    most = max(scores)
    raised = [math.exp(one - most) for one in scores]
    total = sum(raised)
    return [one / total for one in raised]
