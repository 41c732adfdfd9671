"""What a question over tables needs, told by its words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.state import RequirementsData, ResolvedData

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.tables.asking.port import Wanted
    from secondlook.tables.resolving import Resolved, Resolver

RULES = "rules"
SURE = 0.8
"""From this score on a column is taken for what was meant at the first try."""
LIKELY = 0.5
"""The same once it is known that no better one is there."""
_KINDS: tuple[tuple[str, str], ...] = (
    ("correlation", r"correlat\w*|relationship between|association"),
    ("regression", r"regress\w*|predict\w*|linear model|coefficient of determination|r-?squared"),
    ("classification", r"classif\w*|logistic|decision tree|random forest|accuracy"),
    ("test", r"t-?test|anova|chi-?squared?|p-?value|shapiro|kolmogorov|significan\w*|normality"),
    ("distribution", r"distribut\w*|skew\w*|kurtosis|histogram|normally"),
    ("outliers", r"outliers?|z-?scores?|anomal\w*"),
    ("missing", r"missing|null values?|nan\b|empty cells?"),
    ("trend", r"trends?|over time|growth|time series|slope"),
    ("group", r"\b(?:for|per|by) each\b|grouped? by|per (?:year|month|day)|breakdown"),
)
_CHART = re.compile(
    r"\b(?:plot|chart|graph|draw|histogram|scatter|visuali[sz]e|heat ?map)\b", re.IGNORECASE
)
_QUOTED = re.compile(
    r"[\"\u201c'`\u2018]([^\"\u201d'`\u2019\n]{1,60})[\"\u201d'`\u2019]\s+(?:column|variable|field)s?\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"\b(?:correlat\w+|relationship|association|difference)\s+(?:coefficient\s+)?between\s+"
    r"(?:the\s+)?(.{2,60}?)\s+and\s+(?:the\s+)?(.{2,60}?)(?=[\s,.;?!]*$|[,.;?!\n]|\s+(?:in|for|of|with)\b)",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    r"\b(?:average|mean|median|total|sum|maximum|minimum)\s+(?:value\s+)?(?:of\s+)?(?:the\s+)?"
    r"(?!of\b|and\b|number\b|value\b)([^\W\d][\w ]{2,30}?)"
    r"(?=\s+(?:by|for|per|in|of|from|over|where|between|with|and)\b|\s*[?.!,;:\n]|\s*$)",
    re.IGNORECASE,
)
_FEWEST = {"correlation": 3, "regression": 5, "classification": 5, "test": 3, "trend": 2}


@dataclass(frozen=True, slots=True)
class Matched:
    resolved: list[ResolvedData]
    unresolved: list[str]


def required(question: str, wanted: Wanted, variables: Sequence[str]) -> RequirementsData:
    names = list(wanted.names)
    return RequirementsData(
        variables=list(variables),
        constraints=[],
        analysis=kind_of(question),
        success=_success(question, names),
        wanted=names,
        by=RULES,
    )


def kind_of(question: str) -> str:
    lowered = question.casefold()
    for kind, words in _KINDS:
        if re.search(rf"\b(?:{words})", lowered):
            return kind
    return "visualization" if wants_chart(question) else "descriptive"


def wants_chart(question: str) -> bool:
    return _CHART.search(question) is not None


def fewest_rows(kind: str) -> int:
    """Rows below which an analysis of that kind says nothing."""
    return _FEWEST.get(kind, 1)


def _success(question: str, names: Sequence[str]) -> str:
    if names:
        return f"a value for each of: {', '.join(names)}"
    return "a chart of the data" if wants_chart(question) else "the value or values asked for"


def variables_named(question: str) -> list[str]:
    """What the question itself calls a column, or relates to one another."""
    found = [match[1].strip() for match in _QUOTED.finditer(question)]
    for match in _BETWEEN.finditer(question):
        found += [_bare(match[1]), _bare(match[2])]
    return list(dict.fromkeys(name for name in found if name))


def measured(question: str) -> list[str]:
    """What the question wants a measure of: the profit of "the average profit"."""
    return list(dict.fromkeys(match[1].strip() for match in _MEASURED.finditer(question)))


def _bare(phrase: str) -> str:
    return re.sub(
        r"\s+columns?$",
        "",
        phrase.strip().strip("\"'`\u201c\u201d\u2018\u2019"),
        flags=re.IGNORECASE,
    )


def matched(resolver: Resolver, variables: Iterable[str], *, least: float) -> Matched:
    """Each variable's best column, where it is sure enough."""
    found = Matched([], [])
    for variable in variables:
        best = next(iter(resolver.column(variable)), None)
        if best is not None and best.score >= least:
            found.resolved.append(as_data(best))
        else:
            found.unresolved.append(variable)
    return found


def as_data(one: Resolved) -> ResolvedData:
    return ResolvedData(
        asked=one.asked, table=one.table, column=one.column, score=round(one.score, 4), how=one.how
    )
