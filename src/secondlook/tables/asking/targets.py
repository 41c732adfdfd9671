"""Which columns the statistics of a question are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.tables.asking.asked import SURE, columns_of
from secondlook.tables.query import Term
from secondlook.tables.resolving.likeness import same_word
from secondlook.tables.resolving.port import Resolved
from secondlook.tables.resolving.words import STOP_WORDS, atoms, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.tables.asking.asked import Asked
    from secondlook.tables.resolving.port import Mention

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


def numeric_targets(asked: Asked, mentions: Iterable[Mention]) -> list[Target]:
    """Columns of numbers that are measured: not those that group or choose rows."""
    away = {one.key.column for one in asked.groups}
    away |= {column for clause in asked.clauses for column in columns_of(clause)}
    best: dict[str, Resolved] = {}
    for one in mentions:
        column = one.resolved.column
        if column in away or not asked.is_number(column):
            continue
        if column not in best or best[column].score < one.resolved.score:
            best[column] = one.resolved
    return [of_mention(asked, one) for one in best.values()]


def targets(asked: Asked, count: int | None = None) -> list[Target]:
    """As the question names them; its further lines where these are surer or it names none.

    `count` is how many are needed, where that is known.
    """
    made = of_derived(asked)
    if made is not None:
        return [made]
    here = [one for one in asked.mentions if asked.in_question(one.start)]
    there = [one for one in asked.mentions if not asked.in_question(one.start)]
    choices = [
        numeric_targets(asked, [one for one in here if one.resolved.score >= SURE]),
        numeric_targets(asked, [one for one in there if one.resolved.score >= SURE]),
        numeric_targets(asked, here),
        numeric_targets(asked, asked.mentions),
    ]
    if count is not None:
        fitting = [one for one in choices if len(one) == count]
        return fitting[0] if fitting else by_phrase(asked) if count == 1 else []
    return next((one for one in choices if one), []) or by_phrase(asked)


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
