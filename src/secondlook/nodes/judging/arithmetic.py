"""What arithmetic alone can say against a result: a correlation of 1.2 is none.

The names of its values and the question decide which bounds hold. Where neither is plain about it,
nothing is said: a false alarm costs a model's whole answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from secondlook.nodes.judging.form import form_checks
from secondlook.nodes.judging.kinds import (
    Kind,
    is_derived,
    kind_of_name,
    kind_of_question,
    says_nothing,
)
from secondlook.nodes.judging.values import Named, named_values, shown, words_of
from secondlook.tables.table import NUMERIC

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.sandbox.port import Outcome
    from secondlook.state.analysis import AnalysisCheckData, RequirementsData, ResolvedData
    from secondlook.tables.table import ColumnProfile, TableProfile

_TOLERANCE = 1e-9
_BOUNDS: Final[dict[Kind, tuple[float, float]]] = {
    "p_value": (0.0, 1.0),
    "r_squared": (-math.inf, 1.0),
    "correlation": (-1.0, 1.0),
    "share": (0.0, 100.0),
    "score": (0.0, 100.0),
}
_CALLED: Final[dict[Kind, str]] = {
    "p_value": "p-value",
    "r_squared": "R squared",
    "correlation": "correlation",
    "share": "share",
    "score": "score",
    "count": "count",
    "middle": "mean or quantile",
    "spread": "spread",
}
_OF_ROWS: Final = frozenset(
    {"rows", "row", "records", "entries", "observations", "samples", "missing", "null", "nulls"}
    | {"nan", "outliers", "outlier", "unique", "distinct", "duplicates", "duplicate"}
)
_ROW_COUNTS: Final = frozenset({"count", "n", "size", "counts"})


@dataclass(frozen=True, slots=True)
class _Asked:
    question: str
    kind: Kind | None
    derived: bool
    columns: tuple[ColumnProfile, ...]
    """Resolved ones that hold numbers."""
    rows: int | None
    """Of the one table in question."""


def checks(
    question: str,
    requirements: RequirementsData | None,
    outcome: Outcome,
    profiles: Mapping[str, TableProfile],
    resolved: Sequence[ResolvedData],
) -> list[AnalysisCheckData]:
    """One line for each rule that applies. `profiles`: by the tables' ids."""
    form = form_checks(question, requirements, outcome)
    if outcome.status != "ok" or not outcome.has_result:
        return form
    asked = _asked(question, requirements, profiles, resolved)
    by_kind: dict[Kind, list[tuple[Named, str | None]]] = {}
    values = named_values(outcome)
    for value in values:
        kind = _kind(value, asked, alone=len(values) == 1)
        number = value.number
        if kind is None or number is None or not math.isfinite(number):
            continue
        judged, problem = _problem(kind, value.name, number, asked)
        if judged:
            by_kind.setdefault(kind, []).append((value, problem))
    return [*form, *(_line(kind, found) for kind, found in by_kind.items())]


def _asked(
    question: str,
    requirements: RequirementsData | None,
    profiles: Mapping[str, TableProfile],
    resolved: Sequence[ResolvedData],
) -> _Asked:
    constraints = " ".join(requirements["constraints"]) if requirements is not None else ""
    wanted = list(requirements["wanted"]) if requirements is not None else []
    kind = kind_of_name(wanted[0]) if len(wanted) == 1 else kind_of_question(question)
    columns = tuple(_resolved_columns(profiles, resolved))
    return _Asked(
        question=question,
        kind=kind or kind_of_question(question),
        derived=is_derived(f"{question} {constraints}"),
        columns=tuple(one for one in columns if one.type in NUMERIC),
        rows=_rows(profiles, resolved),
    )


def _resolved_columns(
    profiles: Mapping[str, TableProfile], resolved: Sequence[ResolvedData]
) -> Iterator[ColumnProfile]:
    for one in resolved:
        profile = profiles.get(one["table"])
        column = profile.column(one["column"]) if profile is not None else None
        if column is not None:
            yield column


def _rows(profiles: Mapping[str, TableProfile], resolved: Sequence[ResolvedData]) -> int | None:
    used = {one["table"] for one in resolved}
    meant = [profile for key, profile in profiles.items() if len(profiles) == 1 or key in used]
    return meant[0].rows if len(meant) == 1 else None


def _kind(value: Named, asked: _Asked, *, alone: bool) -> Kind | None:
    """By its name; by the question where the name is that of a column, or says nothing."""
    if (kind := kind_of_name(value.name)) is not None:
        return kind
    if says_nothing(value.name):
        return asked.kind if alone else None
    if asked.kind == "middle" and _named_column(value.name, asked, exactly=True) is not None:
        return "middle"
    return None


def _problem(kind: Kind, name: str, number: float, asked: _Asked) -> tuple[bool, str | None]:
    """Whether there is a rule to judge by, and what is wrong."""
    if kind == "count":
        judged = not says_nothing(name) or _counts_rows(name, asked)
        return judged, _wrong_count(name, number, asked)
    if kind in _BOUNDS:
        low, high = _BOUNDS[kind]
        return True, _outside(number, low, high)
    column = _named_column(name, asked)
    if kind == "spread":
        return True, _wrong_spread(name, number, None if asked.derived else column)
    if column is None or asked.derived:
        return False, None
    low, high = _range(column)
    return True, _outside(number, low, high, f" of column {column.name!r}")


def _counts_rows(name: str, asked: _Asked) -> bool:
    """Not so `how many goals`, which may be a sum, in thousands or a single cell."""
    if says_nothing(name):
        return bool(set(words_of(asked.question)) & _OF_ROWS)
    words = words_of(name)
    return bool(set(words) & _OF_ROWS) or " ".join(words) in _ROW_COUNTS


def _wrong_count(name: str, number: float, asked: _Asked) -> str | None:
    if number < 0:
        return "is below 0"
    if abs(number - round(number)) > _TOLERANCE:
        return "is not whole"
    if _counts_rows(name, asked) and asked.rows is not None and number > asked.rows:
        return f"is more than the {asked.rows:,} rows of the table"
    return None


def _wrong_spread(name: str, number: float, column: ColumnProfile | None) -> str | None:
    if number < 0:
        return "is below 0"
    if column is None or "var" in "".join(words_of(name)):
        return None
    low, high = _range(column)
    width = high - low
    return (
        None
        if number <= width * (1 + 1e-6) + _TOLERANCE
        else (f"is more than the range {shown(width)} of column {column.name!r}")
    )


def _outside(number: float, low: float, high: float, of: str = "") -> str | None:
    slack = 1e-6 * max(1.0, *(abs(one) for one in (low, high) if math.isfinite(one)))
    if low - slack <= number <= high + slack:
        return None
    limits = f"above {shown(high)}" if math.isinf(low) else f"outside {shown(low)} to {shown(high)}"
    return f"is {limits}{of}"


def _named_column(name: str, asked: _Asked, *, exactly: bool = False) -> ColumnProfile | None:
    """The resolved column that the name speaks of; else the only one."""
    words = words_of(name)
    named = [
        column
        for column in asked.columns
        if (words == words_of(column.name) if exactly else _within(words_of(column.name), words))
        and _has_range(column)
    ]
    if len({one.name for one in named}) == 1:
        return named[0]
    if exactly or named or len({one.name for one in asked.columns}) != 1:
        return None
    return asked.columns[0] if _has_range(asked.columns[0]) else None


def _within(some: Sequence[str], words: Sequence[str]) -> bool:
    return bool(some) and set(some) <= set(words)


def _has_range(column: ColumnProfile) -> bool:
    return all(
        isinstance(one, int | float) and math.isfinite(one)
        for one in (column.minimum, column.maximum)
    )


def _range(column: ColumnProfile) -> tuple[float, float]:
    return float(column.minimum or 0), float(column.maximum or 0)


def _line(kind: Kind, found: Sequence[tuple[Named, str | None]]) -> AnalysisCheckData:
    what = _CALLED[kind]
    for value, problem in found:
        if problem is not None:
            name = f" {value.name[:80]!r}" if value.name else ""
            said = f"The {what}{name} is {shown(value.number or 0.0)}, which {problem}."
            return {"name": kind, "passed": False, "said": said}
    said = (
        f"The {what} {shown(found[0][0].number or 0.0)} is possible."
        if len(found) == 1
        else f"All {len(found):,} values of this kind ({what}) are possible."
    )
    return {"name": kind, "passed": True, "said": said}
