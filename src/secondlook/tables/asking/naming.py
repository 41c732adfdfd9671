"""Wanted names such as `mean_fare_class1`: which statistic, which column, which rows they mean."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from secondlook.tables.asking.grouping import interval_conditions
from secondlook.tables.asking.lexicon import statistics_in
from secondlook.tables.asking.plain import ANY_COLUMN, share_of_rows
from secondlook.tables.asking.planning import PAIRED, Plan, said_condition, statistic_of
from secondlook.tables.asking.targets import (
    Target,
    beside,
    numeric_targets,
    of_derived,
    share_of_words,
    targets,
)
from secondlook.tables.query import Filter
from secondlook.tables.resolving.likeness import same_word
from secondlook.tables.resolving.words import STOP_WORDS, atoms, squeezed, stem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.asking.asked import Asked
    from secondlook.tables.asking.lexicon import Kind, Said
    from secondlook.tables.query import Condition

_SAYS_NOTHING = """value values val column result results test status is are after before removal
removed removing new old original initial raw transformed coefficient num number no type strength
relationship overall
dataset data calculated computed score r distribution dist outcome conclusion category class of in
the for and with final given output answer float int string list name cleaned imputed normalized
filled significance significant detected identified count total remaining without outliers outlier
shapiro wilk ks kolmogorov smirnov anderson darling pearson spearman iqr zscore z method
stat statistic statistics variable feature group all positive negative"""
SAYS_NOTHING = frozenset(_SAYS_NOTHING.split())
GONE = frozenset({"missing", "null", "nulls", "nan", "na"})
SHARES = frozenset({"pct", "percentage", "percent", "share", "ratio", "proportion", "rate"})
UNCHANGED = frozenset({"before", "original", "initial", "raw"})
"""Values of the data as they are, beside others of what was made of them."""
ONE, TWO = 1, 2
TESTS: tuple[Kind, ...] = ("normality", "correlation", "skewness")
"""What is turned into words."""
FOR_WORDS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    ("normality", ("normal", "dist", "distribution", "normality", "shapiro", "ks", "anderson")),
    (
        "correlation",
        ("correlat", "relationship", "strength", "association", "corr", "linear", "signific"),
    ),
    ("skewness", ("skew", "skewness", "symmetry")),
)


def plan_for(asked: Asked, name: str) -> Plan | None:
    words = [atom.text for atom in atoms(name)]
    text = " ".join(words)
    said = statistics_in(text)
    form = asked.wanted.forms.get(name, ())
    if not form and name in asked.wanted.texts:
        return None
    kind, at = _kind(asked, words, said, form)
    if kind is None:
        return None
    if kind == "share":
        plan = share_of_rows(asked)
        return replace(plan, name=name) if plan else None
    covered = {word for one in said for word in text[one.start : one.end].split()}
    left = [word for word in words if word not in covered and word not in STOP_WORDS]
    chosen, left = _columns(asked, kind, left)
    if chosen is None:
        return None
    where, rows, left = _rows(asked, left, {one.term.column for one in chosen})
    unknown = [word for word in left if word not in SAYS_NOTHING and not _explained(asked, word)]
    if unknown and not form:
        return None
    as_it_is = bool(UNCHANGED & set(words))
    return Plan(kind, tuple(chosen), where, name, tuple(form), at, rows, as_it_is=as_it_is)


def _kind(
    asked: Asked, words: Sequence[str], said: Sequence[Said], form: Sequence[str]
) -> tuple[Kind | None, float | None]:
    if form:
        return _kind_of_word(asked, words, said), None
    if GONE & set(words):
        return ("missing_share" if SHARES & set(words) else "missing"), None
    kinds = list(dict.fromkeys(one.kind for one in said))
    if {"outliers", "missing"} & set(kinds):
        kinds = [one for one in kinds if one in {"outliers", "missing", "missing_share"}]
    if len(kinds) > 1:
        asked_for = {one.kind for one in asked.said}
        kinds = [one for one in kinds if one in asked_for] or kinds
    if len(kinds) > 1:
        # `mean_max_temp` is the mean of a column whose name holds the rest.
        kinds = [one for one in kinds if one not in {"min", "max", "count", "range"}] or kinds
    if len(kinds) == 1 and kinds[0] != "count":
        return kinds[0], next(one.at for one in said if one.kind == kinds[0])
    if len(kinds) > 1:
        return None, None
    return _kind_of_question(asked)


def _kind_of_question(asked: Asked) -> tuple[Kind | None, float | None]:
    """A name that says none: the only one that the question asks for."""
    here = [one for one in asked.said if asked.in_question(one.start)]
    kinds = {one.kind for one in here}
    for strong in ("outliers", "missing_share", "missing", "distinct"):
        if strong in kinds:
            kinds = {strong}
    if len(kinds) != 1:
        return None, None
    (kind,) = kinds
    return kind, next((one.at for one in here if one.kind == kind), None)


def _kind_of_word(asked: Asked, words: Sequence[str], said: Sequence[Said]) -> Kind | None:
    for kind, cues in FOR_WORDS:
        if any(word.startswith(cue) for word in words for cue in cues):
            return kind
    for one in said:
        if one.kind in TESTS:
            return one.kind
    tested = {one.kind for one in asked.said if one.kind in TESTS}
    return tested.pop() if len(tested) == 1 else None


def _columns(asked: Asked, kind: Kind, left: list[str]) -> tuple[list[Target] | None, list[str]]:
    """The columns that the rest of the name speaks of, else those of the question."""
    wanted = TWO if statistic_of(asked, kind) in PAIRED else ONE
    any_type = kind in ANY_COLUMN
    known = _known(asked, any_type=any_type)
    named = sorted(
        (one for one in known if _names(left, one)), key=lambda one: -share_of_words(left, one)
    )
    if wanted == ONE and len(named) > 1:
        first, second = (share_of_words(left, one) for one in named[:2])
        named = named[:1] if first > second else []
    if wanted == TWO and len(named) > TWO:
        named = _clearest(left, named)
    if len(named) == wanted:
        return named, [word for word in left if not any(_names([word], one) for one in named)]
    if kind in {"count", "share"}:
        return [], left
    usual = targets(asked, wanted, any_type=any_type) or (
        beside(asked, kind) if wanted == ONE else []
    )
    if wanted == TWO and len(named) == 1:
        usual = _paired(asked, named[0], known)
        left = [word for word in left if not _names([word], named[0])]
    return (usual or None), left


def _clearest(left: Sequence[str], named: Sequence[Target]) -> list[Target]:
    """The two whose whole names stand in the name, or that share the most words with it."""

    def share(one: Target) -> int:
        whole = squeezed(one.term.column)
        return share_of_words(left, one) + 2 * (whole in left or whole in "".join(left))

    first, second, third, *_ = sorted(named, key=share, reverse=True)
    return [first, second] if share(second) > share(third) else []


def _known(asked: Asked, *, any_type: bool) -> list[Target]:
    made = of_derived(asked)
    return [*([made] if made else []), *numeric_targets(asked, asked.mentions, any_type=any_type)]


def _names(words: Sequence[str], target: Target) -> bool:
    """Whether a word of the name is one of the column's, or the words together are its name."""
    if any(same_word(stem(word), one) for word in words for one in target.words):
        return True
    whole = squeezed(target.term.column)
    return any(word == whole for word in words) or "".join(words) == whole


def _paired(asked: Asked, one: Target, known: Sequence[Target]) -> list[Target]:
    """The other of two columns, where the question leaves no choice."""
    others = [other for other in known if other.term != one.term]
    both = targets(asked, 2)
    if one.term in [each.term for each in both]:
        return both
    return [one, others[0]] if len(others) == 1 else []


def _rows(
    asked: Asked, left: list[str], measured: set[str]
) -> tuple[tuple[Condition, ...], str, list[str]]:
    """Groups that the name speaks of: `child`, `class1`, `male`; of each column one."""
    where: list[Condition] = []
    said: list[str] = []
    for label, conditions in _intervals(asked).items():
        whole = squeezed(label)
        if not said and (whole in left or whole == "".join(left)):
            where, said = list(conditions), [label]
            left = [word for word in left if word != whole]
    for column, values in _group_values(asked, measured).items():
        for value in sorted(values, key=len, reverse=True):
            words = [atom.text for atom in atoms(value)]
            if words and all(word in left for word in words):
                left = [word for word in left if word not in words and not _part_of(word, column)]
                where.append(Filter(column=column, comparison="=", value=value))
                said.append(said_condition(column, value))
                break
    return tuple(where), " and ".join(said), left


def _part_of(word: str, column: str) -> bool:
    return stem(word) in squeezed(column)


def _intervals(asked: Asked) -> dict[str, tuple[Condition, ...]]:
    """The labels of the question with their bounds, over the column that they are ages, say, of."""
    if not asked.intervals:
        return {}
    first = asked.intervals[0].start
    before = [
        one for one in asked.mentions if one.start < first and asked.is_number(one.resolved.column)
    ]
    return interval_conditions(before[-1].resolved.column, asked.intervals) if before else {}


def _group_values(asked: Asked, measured: set[str]) -> dict[str, list[str]]:
    """Columns that group the rows, and what they hold; else columns whose values are named."""
    columns = [one.key.column for one in asked.groups]
    columns += [one.column for one in asked.resolver.values(asked.text[: asked.question])]
    return {
        column: _values(asked, column)
        for column in dict.fromkeys(columns)
        if column not in measured
    }


def _values(asked: Asked, column: str) -> list[str]:
    profile = asked.table.profile.column(column)
    top = [one.value for one in profile.top] if profile else []
    return top or list(asked.table.values(column))


def _explained(asked: Asked, word: str) -> bool:
    """Whether the question speaks of it too: then it only repeats."""
    if word.isdigit():
        return False
    root = stem(word)
    return any(same_word(stem(atom.text), root) for atom in atoms(asked.text))
