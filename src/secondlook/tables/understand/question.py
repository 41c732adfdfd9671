"""A question taken apart once: columns, statistics, options, groups, conditions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.tables.query import AnyOf, Filter, Measure, Query, Term
from secondlook.tables.table import NUMERIC, TEMPORAL
from secondlook.tables.understand.filters import Clause, conditions
from secondlook.tables.understand.lexicon import (
    FILLER,
    cases_in,
    options,
    p_cases,
    sentences,
    spans_of,
    statistics_in,
)
from secondlook.tables.understand.readings import QUOTED, Output, parts
from secondlook.tables.understand.selection import (
    chosen_rows,
    cued,
    derived_in,
    groups_in,
    is_a_name,
    spells_numbers,
)
from secondlook.tables.words import STOP_WORDS, atoms, same_word, squeezed, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from secondlook.tables.query import Comparison, Condition, Statistic
    from secondlook.tables.resolver import AskedTable, Mention, Resolved, Resolver
    from secondlook.tables.understand.lexicon import Kind, Options, Said, Span
    from secondlook.tables.understand.readings import Wanted
    from secondlook.tables.understand.selection import Derived, Group

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
    clauses: tuple[Clause, ...]
    wanted: Wanted

    def is_number(self, column: str) -> bool:
        kind = next((one.type for one in self.table.table.columns if one.name == column), None)
        spelt = kind == "text" and spells_numbers(self.table, column)
        return kind in NUMERIC or kind == "time" or spelt

    def in_question(self, at: int) -> bool:
        return at < self.question


def take_apart(question: str, table: AskedTable, wanted: Wanted, resolver: Resolver) -> Asked:
    cut = parts(question)
    text = NUMBERED.sub(lambda one: " " * len(one[0]), cut.body)
    # What a form is wanted for says its conditions in further lines.
    line = text.find("\n", len(text) - len(text.lstrip()))
    end = line if cut.form and line > 0 else len(text)
    alone = resolver if len(resolver.tables) == 1 else resolver.only(table)
    mentions = tuple(alone.mentions(text))
    derived = derived_in(text, mentions)
    said = options(text)
    made_of = derived.columns if derived else ()
    groups = tuple(one for one in groups_in(text, mentions, table) if one.key.column not in made_of)
    covered = derived.spans if derived else ()
    # The limit of an outlier stands beside its column too.
    clauses = [
        one
        for one in chosen_rows(text[:end], table, mentions, alone, covered)
        if said.limit is None
        or not isinstance(one.condition, Filter)
        or one.condition.value != said.limit
    ]
    if not cut.form and "\n" not in text.strip():
        clauses += _dated(text, table, [*covered, *spans_of(mentions, clauses, groups)])
    return Asked(
        table=table,
        resolver=alone,
        text=text,
        question=end,
        mentions=mentions,
        said=tuple(statistics_in(text, spans_of(mentions))),
        options=said,
        derived=derived,
        groups=groups,
        clauses=tuple(clauses),
        wanted=wanted,
    )


def _dated(question: str, table: AskedTable, known: Sequence[Span]) -> list[Clause]:
    """Conditions on dates, as questions about rows have them: `after March 2023`. Not without a
    year: `before May` of which?"""
    dates = {one.name for one in table.table.columns if one.type in TEMPORAL}
    found = []
    for one in conditions(question, table) if dates else ():
        part = one.condition
        if not isinstance(part, Filter) or part.column not in dates:
            continue
        compared = part.transform == "date" and part.comparison in {"<", "<=", ">", ">="}
        yearless = compared and isinstance(part.value, int | float) and part.value < FIRST_DATE
        if not yearless and all(one.end <= low or one.start >= high for low, high in known):
            found.append(one)
    return found


def columns_of(clause: Clause) -> set[str]:
    if isinstance(clause.condition, AnyOf):
        return {one.column for one in clause.condition.filters}
    return {clause.condition.column}


# Which columns the statistics of a question are about.

LABELS = frozenset({"id", "ids", "key", "code", "index", "zip", "zipcode", "phone"})


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


def of_mention(resolved: Resolved) -> Target:
    words = stems_of(resolved.column) | stems_of(resolved.asked)
    return Target(Term(column=resolved.column), resolved.column, (resolved,), words)


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
    term = derived.term
    steps = [(term.operator, term.other), *term.rest] if term.operator else list(term.rest)
    formula = term.column + "".join(f" {operator} {other}" for operator, other in steps)
    return Target(term, formula, resolved, stems_of(derived.name))


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
    return [of_mention(one) for one in best.values()]


def targets(asked: Asked, count: int | None = None, *, any_type: bool = False) -> list[Target]:
    """As the question names them; its further lines where these are surer or it names none.

    `count` is how many are needed, where that is known.
    """
    made = of_derived(asked)
    if made is not None and count in {None, 1}:
        return [made]
    if made is not None:  # beside the one other that the question names
        parts = set(asked.derived.columns) if asked.derived else set()
        others = [
            one for one in numeric_targets(asked, asked.mentions) if one.term.column not in parts
        ]
        return [made, *others] if len(others) == 1 else []
    here = [one for one in asked.mentions if asked.in_question(one.start)]
    there = [one for one in asked.mentions if not asked.in_question(one.start)]
    sure = [[one for one in some if one.resolved.score >= SURE] for some in (here, there)]
    choices = [
        numeric_targets(asked, some, any_type=any_type) for some in (*sure, here, asked.mentions)
    ]
    if count is not None:
        return next((one for one in choices if len(one) == count), [])
    return next((one for one in choices if one), [])


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
        options = self.asked.options
        first = plan.targets[0] if plan.targets else None
        second = plan.targets[1] if statistic in PAIRED and len(plan.targets) > 1 else None
        outliers = statistic in {"outliers_z", "outliers_iqr"}
        where = plan.where
        if options.without_outliers and not (outliers or plan.as_it_is) and first is not None:
            within: Comparison = "within_iqr" if options.outliers == "outliers_iqr" else "within_z"
            kept = Filter(column=first.term.column, comparison=within, value=options.limit)
            where = (*where, kept)
        method: str | None = None
        if statistic in {"correlation", "correlation_p"}:
            method = options.correlation
        elif statistic == "normality":
            method = options.normality
        elif statistic in {"std", "variance"} and options.population:
            method = "population"
        made = Measure(
            name=_name(statistic, first, second, plan),
            statistic=statistic,
            of=first.term if first is not None else None,
            other=second.term if second is not None else None,
            where=where,
            at=options.limit if outliers else plan.at,
            method=method,
        )
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
    text = asked.text
    if plan.kind == "normality":
        cases = p_cases(plan.words, sheet.add(plan, "normality"), text, small="no")
    elif plan.kind == "correlation":
        r, p = sheet.add(plan, "correlation"), sheet.add(plan, "correlation_p")
        ruled = cases_in(text, plan.words, {"r": r, "p": p})
        cases = ruled or p_cases(plan.words, p, text, small="yes")
    else:
        number = sheet.add(plan, statistic_of(asked, plan.kind))
        cases = cases_in(text, plan.words, {"r": number})
    return Output(plan.name, cases[0].bounds[0].measure, cases=cases) if cases else None


def statistic_of(asked: Asked, kind: Kind) -> Statistic:
    if kind == "outliers":
        return asked.options.outliers or "outliers_iqr"
    if kind == "p_value":
        said = {one.kind for one in asked.said}
        return "normality" if "normality" in said and "correlation" not in said else "correlation_p"
    return kind


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
    told = f"{what} for each {each}" if each else what
    return f"{told} where {rows}" if rows else f"{told} over all rows"


# How much of a question a reading leaves out.

UNSURE_COLUMN = 0.6
"""How much a column's missing likeness adds."""
RESTATED = 0.6
"""What an open word is worth where further lines say the same with the columns' own names."""
QUOTED_NOTHING = 0.4
"""A quoted name that means nothing here is likely a condition that was missed."""
DROPPED_GROUP = 0.5
"""A grouping that is not understood makes every number wrong."""
EACH = re.compile(
    r"\b(?:each|every|per|grouped by|broken down by) (?:of the )?[\"']?(\w+)", re.IGNORECASE
)
_ROWS = """pair row record value observation point data entry variable column one of case sample
item other"""
GROUP_WORDS = frozenset(stem(one) for one in ("group", "category", "class", "interval", "bin"))
ROWS = frozenset(stem(one) for one in _ROWS.split())
"""What a row or a column may be called: these group nothing."""
MAY = re.compile(r"\b(?:in|before|after|since|until|during|of|from|to|and|by|for|between) (May)\b")
RULE = re.compile(r"\s*(?:if|consider|assume|note|treat|suppose)\b", re.IGNORECASE)
"""Sentences that say how to do what the others ask for."""
STEMMED_FILLER = frozenset(stem(one) for one in FILLER)


def doubt_of(
    asked: Asked, resolved: Iterable[Resolved], also: Iterable[tuple[int, int]] = ()
) -> tuple[float, tuple[str, ...]]:
    """How doubtful a reading is, and the content words that nothing accounts for."""
    words, question = content_words(asked), asked.text[: asked.question]
    spans = spans_of(asked.mentions, asked.said, asked.clauses, asked.groups)
    spans += [*asked.options.understood, *(asked.derived.spans if asked.derived else ()), *also]

    def known(at: int) -> bool:
        return any(low <= at < high for low, high in spans)

    # The one month that is a common word too.
    if not words or any(not known(match.start(1)) for match in MAY.finditer(question)):
        return 1.0, ()
    resolved = list(resolved)
    columns = {one.column for one in resolved}
    names = _names(asked, columns)
    open_words = [
        text
        for start, text in words
        if not known(start) and not any(same_word(stem(text), one) for one in names)
    ]
    share = len(open_words) / len(words)
    for match in QUOTED.finditer(question):  # no column, no value and no part of another name
        quoted = {stem(one.text) for one in atoms(match[1] or match[2])}
        share += QUOTED_NOTHING * (not known(match.start() + 1) and not quoted <= names)
    share += DROPPED_GROUP * _group_unknown(asked)
    there = {
        one.resolved.column
        for one in asked.mentions
        if one.resolved.score >= SURE and not asked.in_question(one.start)
    }
    if columns and columns <= there:
        share *= RESTATED
    least = min((one.score for one in resolved), default=1.0)
    return round(min(1.0, share + UNSURE_COLUMN * (1 - least)), 3), tuple(open_words)


def _group_unknown(asked: Asked) -> bool:
    """`for each ...` of something that is no column."""
    known = spans_of(asked.groups)
    if any(one.kind in {"mean", "median"} for one in asked.said):
        # `per order` is each row where a row is an order.
        for one in asked.mentions:
            profile = asked.table.profile.column(one.resolved.column)
            if profile is not None and (profile.key or 0 < profile.rows == profile.distinct):
                known.append((one.start - len("per each "), one.end))
    keys = "".join(squeezed(one.key.column) for one in asked.groups)
    for match in EACH.finditer(asked.text[: asked.question]):
        covered = any(low <= match.start() < high for low, high in known)
        word = match[1].lower()
        told = stem(word) in GROUP_WORDS and asked.groups
        if not (covered or told or stem(word) in ROWS or word in keys):
            return True
    return False


def content_words(asked: Asked) -> list[tuple[int, str]]:
    """Of the question itself, without words that only ask."""
    question = asked.text[: asked.question]
    rules = [span for span in sentences(question) if RULE.match(question, *span)]
    return [
        (one.start, one.text)
        for one in atoms(question)
        if one.text not in STOP_WORDS
        and not any(low <= one.start < high for low, high in rules)
        and (
            stem(one.text) not in STEMMED_FILLER
            or (one.start > 0 and question[one.start].isupper())  # a name
            or any(said.start <= one.start < said.end for said in asked.said)
        )
    ]


def _names(asked: Asked, columns: set[str]) -> set[str]:
    """Words of the columns in use, of keys and of the table's title, by which rows are called, and
    of the names that are wanted. Those of other columns may ask for other columns."""
    texts = [
        one.name
        for one in asked.table.table.columns
        if one.name in columns or is_a_label(asked, one.name)
    ]
    texts += [asked.table.table.title, *asked.wanted.names]
    texts += [asked.derived.name] if asked.derived else []
    return {stem(atom.text) for text in texts for atom in atoms(text)}


# What a question names and a reading leaves out: columns, values, groupings.

OF_ROWS = re.compile(r"\bof(?: all)?(?: the)?\s+$", re.IGNORECASE)
"""Before what rows are called: `the mean price of products`."""


def drops_something(asked: Asked, query: Query) -> bool:
    """Where names of values are given, they say more than the question: it is not asked."""
    if asked.wanted.names:
        return False
    made_of = set(asked.derived.columns) if asked.derived is not None else set()
    used = set(columns_used(query)) | made_of
    named = [one for one in asked.mentions if not _calls_rows(asked, one, query)]
    if any(one.resolved.column not in used for one in named):
        return True
    # `the sum of A by B` is no sum of B.
    by = {one.column for one in query.group_by} | {one.by for one in query.order} | made_of
    after = cued(asked.text[: asked.question], asked.mentions)
    lost = any(one in named and one.resolved.column not in by for one in after)
    return lost or _drops_a_value(asked, query)


def _calls_rows(asked: Asked, mention: Mention, query: Query) -> bool:
    """`products` of a column `product`, `orders` of a key: what the rows are called."""
    column = mention.resolved.column
    profile = asked.table.profile.column(column)
    written = asked.text[mention.start : mention.end]
    plural = written.lower().endswith("s") and not column.lower().endswith("s")
    if profile is not None and profile.key and profile.distinct == profile.rows:
        return plural  # somebody's telephone is wanted itself, though no two have the same
    of = OF_ROWS.search(asked.text[: mention.start]) is not None
    return plural and of and not asked.is_number(column) and not query.group_by


def _drops_a_value(asked: Asked, query: Query) -> bool:
    """A cell that is named: its column, or all of its words, must be in use."""
    used = set(columns_used(query))
    names = {atom.text for one in asked.mentions for atom in atoms(one.resolved.asked)}
    taken = spans_of(asked.said, asked.clauses, asked.groups)
    places: dict[tuple[int, int], set[str]] = {}
    for one in asked.resolver.values(asked.text[: asked.question]):
        if is_a_name(asked.text, asked.table, one):
            places.setdefault((one.start, one.end), set()).add(one.column)
    return any(
        not columns & used
        and not any(low <= start < high for low, high in taken)
        and not {atom.text for atom in atoms(asked.text[start:end])} <= names
        for (start, end), columns in places.items()
    )


def columns_used(query: Query) -> Iterator[str]:
    yield from query.select
    yield from (one.column for one in query.group_by)
    yield from (one.by for one in query.order)
    conditions = [*query.where, *query.having]
    for measure in query.measures:
        conditions += measure.where
        for term in filter(None, (measure.of, measure.other)):
            others = (term.column, term.other, *(other for _, other in term.rest))
            yield from (one for one in others if isinstance(one, str))
    for one in conditions:
        filters = one.filters if isinstance(one, AnyOf) else (one,)
        yield from (each.column for each in filters)
