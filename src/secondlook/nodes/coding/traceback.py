"""What a model is told of code that failed: the line, why, and the columns involved as they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from secondlook.nodes.coding.nearest import listed, nearest
from secondlook.nodes.coding.telling import harmless, is_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from secondlook.sandbox.port import Failure
    from secondlook.tables.table import ColumnProfile, TableProfile

_LONGEST_MESSAGE = 400
_LONGEST_VALUE = 40
_MOST_COLUMNS = 6
_SAMPLES = 4
_QUOTED = re.compile(r"""["']([^"'\n]{1,120})["']""")
_DATES = re.compile(
    r"time data|does not match format|unknown string format|out of bounds|to_datetime|"
    r"strptime|month must be|day is out of range|datetime|Timestamp|\.dt accessor",
    re.IGNORECASE,
)
_ADVICE: Final[dict[str, str]] = {
    "NameError": "Only `tables`, `datasets`, `df` (where there is one table), pd, np, px, go, "
    "make_subplots, plt, scipy, sklearn and statsmodels are bound; define the rest.",
    "ModuleNotFoundError": "It is not installed. Use pandas, numpy, scipy, sklearn, statsmodels, "
    "plotly or matplotlib.",
    "FileNotFoundError": "There are no files. The data is in the supplied frames.",
    "PermissionError": "There are no files. The data is in the supplied frames.",
    "TimeoutError": "It took too long: use whole columns instead of loops over rows.",
    "MemoryError": "It took too much memory: select the columns that you need first.",
    "ZeroDivisionError": "Look whether anything is left before you divide.",
    "IndexError": "The selection is empty or shorter than expected: look at its length first.",
    "AttributeError": "Look at what type the value has at that point.",
}


def guidance_for(failure: Failure, code: str, profiles: Mapping[str, TableProfile]) -> str:
    """`profiles`: by the names under which the code knows the tables."""
    line = _line(failure, code)
    said = harmless(failure.message)[:_LONGEST_MESSAGE]
    where = f"Line {failure.line}: `{line}`\n" if line else ""
    parts = [f"{where}{failure.kind}: {said}"]
    parts += [one for one in (_column_meant(failure, profiles), _ADVICE.get(failure.kind)) if one]
    parts += _columns(failure, line, code, profiles)
    return "\n".join(parts)


def _line(failure: Failure, code: str) -> str:
    lines = code.splitlines()
    if failure.line is not None and 0 < failure.line <= len(lines):
        return lines[failure.line - 1].strip()[:_LONGEST_MESSAGE]
    return (failure.code or "").strip()[:_LONGEST_MESSAGE]


def _column_meant(failure: Failure, profiles: Mapping[str, TableProfile]) -> str | None:
    """The nearest names to one that is not there."""
    if failure.kind not in {"KeyError", "UndefinedVariableError"}:
        return None
    known = [
        column.name
        for profile in profiles.values()
        for column in profile.columns
        if not is_order(column.name)
    ]
    names = _QUOTED.findall(failure.message) or [failure.message.strip()]
    lacking = [name for name in names if name not in known and not is_order(name)]
    if not lacking:
        return None
    near = nearest(lacking[0], known)
    told = f"the nearest are {listed(near)}" if near else f"there are {listed(known[:12])}"
    return f"No table has a column {lacking[0][:_LONGEST_VALUE]!r}; {told}."


def _columns(
    failure: Failure, line: str, code: str, profiles: Mapping[str, TableProfile]
) -> list[str]:
    """The columns that the line names; where it names none, those of the code."""
    about_dates = _DATES.search(failure.message) is not None
    named = list(_named_in(f"{line}\n{failure.message}", profiles))
    if not named and failure.kind not in _ADVICE:
        named = list(_named_in(code, profiles))
    shown = [_described(table, column, dates=about_dates) for table, column in named]
    return ["Columns involved:", *shown[:_MOST_COLUMNS]] if shown else []


def _named_in(
    text: str, profiles: Mapping[str, TableProfile]
) -> Iterator[tuple[str, ColumnProfile]]:
    quoted = set(_QUOTED.findall(text))
    attributes = set(re.findall(r"\.([A-Za-z_]\w*)\b(?!\s*\()", text))
    for name, profile in profiles.items():
        for column in profile.columns:
            named = column.name in quoted or column.name in attributes
            if named and not is_order(column.name):
                yield name, column


def _described(table: str, column: ColumnProfile, *, dates: bool) -> str:
    about = [column.type, f"{column.rows:,} rows"]
    about += [f"{column.missing:,} missing"] if column.missing else []
    about += [f"{column.distinct:,} different"] if column.distinct else []
    limits = [one for one in (column.minimum, column.maximum) if one is not None]
    if len(limits) > 1 and not any(is_order(str(one)) for one in limits):
        about.append(f"from {_short(limits[0])} to {_short(limits[1])}")
    if samples := _samples(column):
        about.append(f"such as {samples}")
    if dates and column.type == "text":
        about.append("texts: use pd.to_datetime(..., format='mixed', errors='coerce')")
    return f"- {table}[{column.name[:_LONGEST_MESSAGE]!r}]: {', '.join(about)}"


def _samples(column: ColumnProfile) -> str:
    values = [*(one.value for one in column.top), *column.examples]
    fine = [value for value in dict.fromkeys(values) if not is_order(value)]
    return ", ".join(map(_short, fine[:_SAMPLES]))


def _short(value: object) -> str:
    return repr(value[:_LONGEST_VALUE]) if isinstance(value, str) else str(value)
