"""A question taken apart once: columns, statistics, options, groups, conditions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.tables.query import AnyOf, Filter, Measure, Query, Term
from secondlook.tables.resolver import STOP_WORDS, atoms, same_word, stem
from secondlook.tables.table import NUMERIC, TEMPORAL
from secondlook.tables.understand.filters import conditions
from secondlook.tables.understand.lexicon import (
    cases_in,
    options,
    p_cases,
    sentences,
    spans_of,
    statistics_in,
)
from secondlook.tables.understand.readings import Output, parts
from secondlook.tables.understand.selection import (
    Chosen,
    chosen_rows,
    derived_in,
    groups_in,
    intervals_in,
    spells_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.answer import Scalar
    from secondlook.tables.query import Comparison, Condition, Statistic
    from secondlook.tables.resolver import AskedTable, Mention, Resolved, Resolver
    from secondlook.tables.understand.lexicon import Kind, Options, Said
    from secondlook.tables.understand.readings import Case, Wanted
    from secondlook.tables.understand.selection import Derived, Group, Interval

NUMBERED = re.compile(r"^\s*(?:question\s*)?\d+\s*[.:)]\s+", re.IGNORECASE)
FIRST_DATE = 10_000
"""As a number, year * 10000 + month * 100 + day: less has no year."""
SURE = 0.97
"""A mention by the column's own name, up to case and signs."""


@dataclass(frozen=True, slots=True)
class Asked:
    table: AskedTable
    resolver: Resolver
    """Over this table alone."""
    text: str
    """Without the form that its values are wanted in."""
    question: int
    """Where the question itself ends and what is said about it begins."""
    mentions: tuple[Mention, ...]
    said: tuple[Said, ...]
    options: Options
    derived: Derived | None
    groups: tuple[Group, ...]
    intervals: tuple[Interval, ...]
    clauses: tuple[Chosen, ...]
    wanted: Wanted

    def is_number(self, column: str) -> bool:
        kind = next((one.type for one in self.table.table.columns if one.name == column), None)
        return (
            kind in NUMERIC
            or kind == "time"
            or (kind == "text" and spells_numbers(self.table, column))
        )

    def in_question(self, at: int) -> bool:
        return at < self.question


def take_apart(question: str, table: AskedTable, wanted: Wanted, resolver: Resolver) -> Asked:
    cut = parts(question)
    text = NUMBERED.sub(lambda one: " " * len(one[0]), cut.body)
    end = _end_of_question(text, has_form=bool(cut.form))
    alone = resolver if len(resolver.tables) == 1 else resolver.only(table)
    mentions = tuple(alone.mentions(text))
    derived = derived_in(text, mentions)
    intervals = tuple(intervals_in(text))
    made_of = derived.columns if derived else ()
    groups = tuple(one for one in groups_in(text, mentions, table) if one.key.column not in made_of)
    spans = spans_of(mentions)
    covered = [*(derived.spans if derived else ()), *spans_of(intervals)]
    clauses = chosen_rows(text, end, table, mentions, alone, covered)
    if not cut.form and "\n" not in text.strip():
        known = [*covered, *spans, *spans_of(clauses, groups)]
        clauses += _dated(text, table, known)
    return Asked(
        table=table,
        resolver=alone,
        text=text,
        question=end,
        mentions=mentions,
        said=tuple(statistics_in(text, spans)),
        options=options(text),
        derived=derived,
        groups=groups,
        intervals=intervals,
        clauses=tuple(clauses),
        wanted=wanted,
    )


def _dated(question: str, table: AskedTable, known: Sequence[tuple[int, int]]) -> list[Chosen]:
    """Conditions on dates, as questions about rows have them: `after March 2023`."""
    dates = {one.name for one in table.table.columns if one.type in TEMPORAL}
    return [
        Chosen(one.start, one.end, one.condition, one.said)
        for one in (conditions(question, [table]) if dates else ())
        if isinstance(one.condition, Filter)
        and one.condition.column in dates
        and not _without_a_year(one.condition)
        and all(one.end <= low or one.start >= high for low, high in known)
    ]


def _without_a_year(condition: Filter) -> bool:
    """`before May` of which year?"""
    value, signs = condition.value, {"<", "<=", ">", ">="}
    dated = condition.transform == "date" and isinstance(value, int | float)
    return dated and condition.comparison in signs and value < FIRST_DATE  # type: ignore[operator]


def _end_of_question(text: str, *, has_form: bool) -> int:
    """What a form is wanted for says its conditions in further lines."""
    lead = len(text) - len(text.lstrip())
    line = text.find("\n", lead)
    return line if has_form and line > 0 else len(text)


def columns_of(clause: Chosen) -> set[str]:
    if isinstance(clause.condition, AnyOf):
        return {one.column for one in clause.condition.filters}
    return {clause.condition.column}


# Which columns the statistics of a question are about.

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


# What each wanted value is: a statistic of a column, over which rows, said how.

WORDS_FOR: dict[str, str] = {
    "std": "standard deviation",
    "count": "number",
    "distinct": "number of different values",
    "sum": "total",
    "min": "minimum",
    "max": "maximum",
    "iqr": "interquartile range",
    "missing": "number of missing values",
    "missing_share": "percentage of missing values",
    "share": "percentage",
    "correlation_p": "p-value of the correlation",
    "normality": "p-value of a test of normality",
    "outliers_z": "number of outliers by z-score",
    "outliers_iqr": "number of outliers by interquartile range",
}
PAIRED = frozenset({"correlation", "correlation_p", "covariance", "slope"})


@dataclass(frozen=True, slots=True)
class Plan:
    """One value that is wanted."""

    kind: Kind
    targets: tuple[Target, ...]
    where: tuple[Condition, ...] = ()
    name: str = ""
    """As it is wanted; empty where the question does not say."""
    words: tuple[str, ...] = ()
    """What it may be, where it is a word."""
    at: float | None = None
    said: str = ""
    """Over which rows."""
    as_it_is: bool = False
    """Before outliers are taken away."""


@dataclass(slots=True)
class Sheet:
    """The measures of a query as they come together: each once."""

    asked: Asked
    measures: list[Measure] = field(default_factory=list)

    def add(self, plan: Plan, statistic: Statistic) -> str:
        made = _measure(self.asked, plan, statistic)
        for one in self.measures:
            if one.model_copy(update={"name": made.name}) == made:
                return one.name
        if any(one.name == made.name for one in self.measures):
            made = made.model_copy(update={"name": f"{made.name} ({len(self.measures) + 1})"})
        self.measures.append(made)
        return made.name


def output(sheet: Sheet, plan: Plan) -> Output | None:
    """None where the words that are wanted do not follow from any rule."""
    asked, wanted = sheet.asked, sheet.asked.wanted
    decimals = wanted.each.get(plan.name, wanted.decimals)
    if not plan.words:
        name = sheet.add(plan, statistic_of(asked, plan.kind))
        return Output(plan.name or name, name, decimals=decimals)
    cases = _cases(sheet, plan)
    if not cases:
        return None
    main = cases[0].bounds[0].measure
    return Output(plan.name, main, cases=cases)


def statistic_of(asked: Asked, kind: Kind) -> Statistic:
    if kind == "outliers":
        return asked.options.outliers or "outliers_iqr"
    if kind == "p_value":
        said = {one.kind for one in asked.said}
        return "normality" if "normality" in said and "correlation" not in said else "correlation_p"
    return kind


def _cases(sheet: Sheet, plan: Plan) -> tuple[Case, ...]:
    text = sheet.asked.text
    if plan.kind == "normality":
        return p_cases(plan.words, sheet.add(plan, "normality"), text, small="no")
    if plan.kind == "correlation":
        r, p = sheet.add(plan, "correlation"), sheet.add(plan, "correlation_p")
        ruled = cases_in(text, plan.words, {"r": r, "p": p})
        return ruled or p_cases(plan.words, p, text, small="yes")
    number = sheet.add(plan, statistic_of(sheet.asked, plan.kind))
    return cases_in(text, plan.words, {"r": number})


def _measure(asked: Asked, plan: Plan, statistic: Statistic) -> Measure:
    options = asked.options
    first = plan.targets[0] if plan.targets else None
    second = plan.targets[1] if statistic in PAIRED and len(plan.targets) > 1 else None
    outliers = statistic in {"outliers_z", "outliers_iqr"}
    where = plan.where
    if options.without_outliers and not (outliers or plan.as_it_is) and first is not None:
        within: Comparison = "within_iqr" if options.outliers == "outliers_iqr" else "within_z"
        kept = Filter(column=first.term.column, comparison=within, value=options.limit)
        where = (*where, kept)
    return Measure(
        name=_name(statistic, first, second, plan),
        statistic=statistic,
        of=first.term if first is not None else None,
        other=second.term if second is not None else None,
        where=where,
        at=options.limit if outliers else plan.at,
        method=_method(asked, statistic),
    )


def _method(asked: Asked, statistic: Statistic) -> str | None:
    options = asked.options
    if statistic in {"correlation", "correlation_p"}:
        return options.correlation
    if statistic == "normality":
        return options.normality
    if statistic in {"std", "variance"}:
        return "population" if options.population else None
    if statistic in {"skewness", "kurtosis"}:
        return "biased" if options.biased else None
    return None


def _name(statistic: Statistic, first: Target | None, second: Target | None, plan: Plan) -> str:
    what = WORDS_FOR.get(statistic, statistic)
    if statistic == "quantile" and plan.at is not None:
        what = f"{100 * plan.at:g} % quantile"
    if first is None:
        what = f"{what} of rows"
    elif statistic == "slope" and second is not None:
        what = f"{what} of {first.said} over {second.said}"
    else:
        what = f"{what} of {first.said}" + (f" and {second.said}" if second else "")
    return f"{what} where {plan.said}" if plan.said else what


def said_of(query: Query, clauses: Sequence[str]) -> str:
    """How the question was read, in a sentence."""
    what = ", ".join(one.name for one in query.measures)
    each = " and ".join(
        f"{one.column} ({one.part})" if one.part else one.column for one in query.group_by
    )
    rows = " and ".join(clauses)
    if not rows and any(one.statistic == "share" for one in query.measures):
        return what
    return (
        what
        + (f" for each {each}" if each else "")
        + (f" where {rows}" if rows else " over all rows")
    )


def said_condition(column: str, value: Scalar) -> str:
    return f"{column} is {value}"
