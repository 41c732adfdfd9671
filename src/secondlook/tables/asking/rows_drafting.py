"""A possible reading before it is ranked, and which column a question asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from secondlook.tables.asking.filters import ConditionSet, condition_sets
from secondlook.tables.asking.rows_columns import header_words
from secondlook.tables.asking.rows_vocabulary import ASKED_BY, EMPTY_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secondlook.tables.asking.port import AnswerForm, Operation
    from secondlook.tables.asking.rows_columns import ColumnFacts
    from secondlook.tables.asking.rows_sentence import Sentence
    from secondlook.tables.query import Query

TargetHow = Literal["exact", "part", "kin", "near", "kind", "subject", "value", "away", "other"]
MOST_TARGETS = 5
_WH = re.compile(
    r"\b(?:in |for |from |at |on |to |by )?"
    r"(?P<wh>which|what|who|whose|whom|when|where|name|list|tell me"
    r"|how (?:many|much|long|far|tall|high|old|often|big|large|deep|fast|heavy))\b"
)
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
    def table_id(self) -> str:
        return self.asked.table.asked.table.id

    @cached_property
    def wh(self) -> tuple[str, frozenset[int]] | None:
        """The question word and where it stands."""
        match = _WH.search(self.asked.joined)
        if match is None:
            return None
        return match["wh"], self.asked.places(match.start(), match.end())

    @cached_property
    def counting(self) -> bool:
        return self.wh is not None and self.wh[0] == "how many"

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
        found = [*self._named_targets(), *self._targets_by_kind(), *self._targets_away()]
        subject = self.asked.table.subject
        alone = sum(not one.measurable for one in self.asked.table.columns) == 1
        found.append(Target(subject, self._noun(), "exact" if alone else "subject"))
        kept: dict[str, Target] = {}
        for one in found:
            kept.setdefault(one.column.name, one)
        for column in self.asked.table.columns:
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

    def _named_targets(self) -> Iterable[Target]:
        start = max(self.wh[1]) + 1 if self.wh else 0
        skipped = 0
        while start < len(self.asked.words) and self.asked.words[start].text in _SKIPPED:
            start += 1
            skipped += 1
        close = self.asked.mention_within(max(0, start - skipped), start + 3)
        for mention in sorted(close, key=lambda one: -one.score + 0.15 * max(0, one.first - start)):
            yield Target(mention.column, mention.places, mention.how, max(0, mention.first - start))

    def _targets_away(self) -> Iterable[Target]:
        """Columns named in full anywhere else: `who won a bronze medal`."""
        named = [one for one in self.asked.mentions if one.how == "exact"]
        for mention in named[:2]:
            yield Target(mention.column, mention.places, "away")

    def _targets_by_kind(self) -> Iterable[Target]:
        wh = self.wh[0] if self.wh else ""
        if wh == "when" or re.search(
            r"\b(?:what|which) (?:year|date|day|month|season)", self.asked.joined
        ):
            for kind in ("date", "year"):
                for column in self.asked.table.columns:
                    if column.kind == kind:
                        yield Target(column, frozenset(), "kind")
        wanted = ASKED_BY.get(wh, frozenset())
        for column in self.asked.table.columns:
            if set(column.words) & wanted:
                yield Target(column, frozenset(), "kind")


def places_of(*parts: frozenset[int] | None) -> frozenset[int]:
    return frozenset(place for part in parts if part for place in part)
