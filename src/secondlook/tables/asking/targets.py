"""Which columns the statistics of a question are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.asking.asked import SURE, columns_of
from secondlook.tables.asking.options import sentences
from secondlook.tables.query import Term
from secondlook.tables.resolving.likeness import same_word
from secondlook.tables.resolving.words import STOP_WORDS, atoms, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.tables.asking.asked import Asked
    from secondlook.tables.asking.lexicon import Kind
    from secondlook.tables.resolving.port import Mention, Resolved

LABELS = frozenset({"id", "ids", "key", "code", "index", "zip", "zipcode", "phone"})
LEAST_PHRASE = 0.6
MARGIN = 0.08
"""A phrase must be so much more like one column than any other."""


@dataclass(frozen=True, slots=True)
class Target:
    """A column, or a new one made of others."""

    term: Term
    said: str
    resolved: tuple[Resolved, ...]
    words: frozenset[str]

    @property
    def score(self) -> float:
        return min((one.score for one in self.resolved), default=1.0)


def stems_of(text: str) -> frozenset[str]:
    return frozenset(stem(one.text) for one in atoms(text) if one.text not in STOP_WORDS)


def of_mention(asked: Asked, resolved: Resolved) -> Target:
    options = asked.options
    term = Term(
        column=resolved.column,
        fill=options.fill,
        transform="log" if options.log else None,
    )
    said = f"the logarithm of {resolved.column}" if options.log else resolved.column
    words = stems_of(resolved.column) | stems_of(resolved.asked)
    return Target(term, said, (resolved,), words)


def of_derived(asked: Asked) -> Target | None:
    derived = asked.derived
    if derived is None:
        return None
    best: dict[str, Resolved] = {}
    for one in asked.mentions:
        known = best.get(one.resolved.column)
        if known is None or known.score < one.resolved.score:
            best[one.resolved.column] = one.resolved
    resolved = tuple(best[one] for one in derived.columns if one in best)
    return Target(derived.term, _formula(derived.term), resolved, stems_of(derived.name))


def _formula(term: Term) -> str:
    steps = [(term.operator, term.other), *term.rest] if term.operator else list(term.rest)
    return term.column + "".join(f" {operator} {other}" for operator, other in steps)


def is_a_label(asked: Asked, column: str) -> bool:
    """Numbers that name things instead of measuring them: a key, a code."""
    words = [atom.text for atom in atoms(column)]
    profile = asked.table.profile.column(column)
    named = bool(words) and words[-1] in LABELS
    return named or not asked.is_number(column) or (profile is not None and profile.key)


def numeric_targets(
    asked: Asked, mentions: Iterable[Mention], *, any_type: bool = False
) -> list[Target]:
    """Columns of numbers that are measured: not those that group or choose rows."""
    away = {one.key.column for one in asked.groups}
    away |= {column for clause in asked.clauses for column in columns_of(clause)}
    best: dict[str, Resolved] = {}
    for one in mentions:
        column = one.resolved.column
        if column in away or not (any_type or asked.is_number(column)):
            continue
        if one.resolved.score < SURE and not any_type and is_a_label(asked, column):
            continue
        if column not in best or best[column].score < one.resolved.score:
            best[column] = one.resolved
    return [of_mention(asked, one) for one in best.values()]


def targets(asked: Asked, count: int | None = None, *, any_type: bool = False) -> list[Target]:
    """As the question names them; its further lines where these are surer or it names none.

    `count` is how many are needed, where that is known.
    """
    made = of_derived(asked)
    if made is not None:
        return [made] if count in {None, 1} else _with_another(asked, made)
    here = [one for one in asked.mentions if asked.in_question(one.start)]
    there = [one for one in asked.mentions if not asked.in_question(one.start)]
    choices = [
        numeric_targets(asked, some, any_type=any_type)
        for some in (_sure(here), _sure(there), here, asked.mentions)
    ]
    if count is not None:
        fitting = [one for one in choices if len(one) == count]
        return fitting[0] if fitting else by_phrase(asked) if count == 1 else []
    return next((one for one in choices if one), []) or by_phrase(asked)


def _with_another(asked: Asked, made: Target) -> list[Target]:
    """The new column and the one other that the question names."""
    parts = set(asked.derived.columns) if asked.derived else set()
    others = [one for one in numeric_targets(asked, asked.mentions) if one.term.column not in parts]
    return [made, *others] if len(others) == 1 else []


def _sure(mentions: Iterable[Mention]) -> list[Mention]:
    return [one for one in mentions if one.resolved.score >= SURE]


def beside(asked: Asked, kind: Kind) -> list[Target]:
    """The column that stands in the same sentence as the statistic, where there is just one."""
    said = [one.start for one in asked.said if one.kind == kind]
    for low, high in sentences(asked.text):
        if any(low <= one < high for one in said):
            near = numeric_targets(
                asked, [one for one in asked.mentions if low <= one.start < high]
            )
            if len(near) == 1:
                return near
    return []


def by_phrase(asked: Asked) -> list[Target]:
    """The words after the statistic, where no column is named as it is called."""
    if not asked.said:
        return []
    start = next((one.end for one in asked.said if asked.in_question(one.start)), None)
    if start is None:
        return []
    phrase = asked.text[start : asked.question].split("?")[0].split(". ")[0].strip(" .,:")
    found = [one for one in asked.resolver.column(phrase) if asked.is_number(one.column)]
    if not found or found[0].score < LEAST_PHRASE:
        return []
    if len(found) > 1 and found[0].score - found[1].score < MARGIN:
        return []
    return [of_mention(asked, found[0])]


def share_of_words(words: Sequence[str], target: Target) -> int:
    return sum(any(same_word(stem(word), one) for one in target.words) for word in words)
