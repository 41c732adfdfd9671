"""What each wanted value is: a statistic of a column, over which rows, said how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.tables.asking.port import Output
from secondlook.tables.asking.rules import cases_in, p_cases
from secondlook.tables.query import Filter, Measure, Query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.tables.asking.asked import Asked
    from secondlook.tables.asking.lexicon import Kind
    from secondlook.tables.asking.port import Case
    from secondlook.tables.asking.targets import Target
    from secondlook.tables.query import Comparison, Condition, Statistic

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
