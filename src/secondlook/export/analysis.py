"""An analysis as Markdown: its result, how it was read, its code and checks, and its tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.export.markdown import code, flat

if TYPE_CHECKING:
    from secondlook.answer import Analysis, Answer, ResultTable, Scalar

_MOST_ROWS = 100
_MARKS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def analysed(answer: Answer) -> str:
    """Empty where the answer is no analysis, or one that computed nothing."""
    analysis = answer.analysis
    if analysis is None or analysis.kind == "concept":
        return ""
    parts = [
        _table(analysis.table),
        _read(analysis),
        _columns(analysis),
        _code(analysis),
        _checks(analysis),
        _tried(analysis),
        _charts(analysis),
        _inputs(analysis),
    ]
    return "\n\n".join(["## Analysis", *(part for part in parts if part)])


def _table(table: ResultTable | None) -> str:
    if table is None or not table.columns:
        return ""
    lines = [_row([flat(name) for name in table.columns]), _row(["---"] * len(table.columns))]
    lines += [_row([_cell(cell) for cell in row]) for row in table.rows[:_MOST_ROWS]]
    shown = min(_MOST_ROWS, len(table.rows))
    more = f"\n\n({shown} of {table.total_rows} rows.)" if table.total_rows > shown else ""
    return "\n".join(lines) + more


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Scalar) -> str:
    return "" if cell is None else flat(str(cell))


def _read(analysis: Analysis) -> str:
    return f"Read as: {flat(analysis.reading)}." if analysis.reading else ""


def _columns(analysis: Analysis) -> str:
    lines = [
        f"- {flat(one.asked)}: {code(one.column)} ({one.score:.2f}, {one.how})"
        for one in analysis.columns
    ]
    return "\n".join(["Columns:", "", *lines]) if lines else ""


def _code(analysis: Analysis) -> str:
    if analysis.sql:
        return fenced(analysis.sql, "sql")
    return fenced(analysis.code, "python") if analysis.code else ""


def fenced(text: str, language: str) -> str:
    """In a fence that nothing within can close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{_MARKS.sub('', text).strip()}\n{fence}"


def _checks(analysis: Analysis) -> str:
    lines = [
        f"- {'passed' if one.passed else '**failed**'}: {flat(one.said)}" for one in analysis.checks
    ]
    return "\n".join(["Checks:", "", *lines]) if lines else ""


def _tried(analysis: Analysis) -> str:
    lines = [f"- {one.action.replace('_', ' ')}: {flat(one.cause)}" for one in analysis.remedies]
    return "\n".join(["Tried again:", "", *lines]) if lines else ""


def _charts(analysis: Analysis) -> str:
    lines = [f"- {flat(one.title) or 'untitled'} ({one.kind})" for one in analysis.figures]
    return "\n".join(["Charts, in the answer as JSON:", "", *lines]) if lines else ""


def _inputs(analysis: Analysis) -> str:
    lines = [
        f"- {flat(one.title)}, {one.rows:,} rows{f', {code(one.path)}' if one.path else ''}, "
        f"SHA-256 {code(one.sha256)}"
        for one in analysis.inputs
    ]
    return "\n".join(["Made of:", "", *lines]) if lines else ""
