"""An analysis on the screen: its table, how columns were taken, its checks, code and charts."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.terminal import counted, one_line

if TYPE_CHECKING:
    from rich.console import Console

    from secondlook.answer import Analysis, Answer, ResultTable
    from secondlook.cli.call import Call

_MOST_ROWS = 20
_MOST_COLUMNS = 12
_WIDEST = 40

ChartOption = Annotated[
    Path | None,
    typer.Option(
        "--chart", metavar="FILE", help="Save the chart of an analysis: .html, .json or .png."
    ),
]
ExportTableOption = Annotated[
    Path | None,
    typer.Option(
        "--export-table",
        metavar="FILE",
        help="Save the result of an analysis: .csv, .parquet or .json.",
    ),
]
ShowCodeOption = Annotated[
    bool, typer.Option("--show-code", help="Show the SQL or the code that computed the answer.")
]


def print_analysis(
    console: Console, answer: Answer, *, quiet: bool = False, code: bool = False
) -> None:
    analysis = answer.analysis
    if analysis is None:
        return
    if analysis.table is not None:
        _print_table(console, analysis.table)
    if code:
        _print_code(console, analysis)
    if not quiet:
        _print_making(console, analysis)


def made_how(answer: Answer) -> str | None:
    """`computed by code`; None where it is no analysis."""
    analysis = answer.analysis
    if analysis is None:
        return None
    if analysis.kind == "generated":
        where = f", run in the sandbox ({analysis.sandbox})" if analysis.sandbox else ""
        return f"computed by code that {answer.model or 'a model'} wrote{where}"
    if analysis.kind == "concept" and not analysis.grounded:
        return answer.model or "from the glossary"
    return "computed from the table, no model" if analysis.kind == "computed" else ""


def _print_table(console: Console, table: ResultTable) -> None:
    from rich.table import Table as Grid
    from rich.text import Text

    console.print()
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    shown = table.columns[:_MOST_COLUMNS]
    for at, name in enumerate(shown):
        numbers = all(isinstance(row[at], int | float | None) for row in table.rows)
        grid.add_column(Text(one_line(name)), justify="right" if numbers else "left")
    for row in table.rows[:_MOST_ROWS]:
        grid.add_row(*(Text(cell_shown(cell)) for cell in row[: len(shown)]))
    console.print(grid)
    more = [
        counted(table.total_rows - _MOST_ROWS, "more row") if table.total_rows > _MOST_ROWS else "",
        counted(len(table.columns) - len(shown), "more column")
        if len(table.columns) > len(shown)
        else "",
    ]
    if any(more):
        console.print(Text(f"... {' and '.join(filter(None, more))}", style="dim"))


def cell_shown(cell: object) -> str:
    from secondlook.nodes.analysing.result_shown import value_shown

    text = "" if cell is None else one_line(value_shown(cell))  # type: ignore[arg-type]
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def _print_code(console: Console, analysis: Analysis) -> None:
    from rich.text import Text

    if ran := analysis.sql or analysis.code:
        console.print()
        console.print(Text(indent(ran.strip(), "    ")), soft_wrap=True)


def _print_making(console: Console, analysis: Analysis) -> None:
    from rich.text import Text

    lines = [_taken(analysis), _checked(analysis), _from(analysis), _charts(analysis)]
    lines += [f"remedy {at}: {one.cause}" for at, one in enumerate(analysis.remedies, 1)]
    if any(lines):
        console.print()
    for line in filter(None, lines):
        console.print(Text(one_line(line), style="dim"))


def _taken(analysis: Analysis) -> str:
    """`columns: price as 'price (EUR)' (0.80)`; nothing about names that are the columns' own."""
    taken = [
        f"{one.asked} as {one.column!r} ({one.score:.2f})"
        if one.asked.casefold() != one.column.casefold()
        else f"{one.column} ({one.score:.2f})"
        for one in analysis.columns
    ]
    return f"columns: {', '.join(dict.fromkeys(taken))}" if taken else ""


def _checked(analysis: Analysis) -> str:
    failed = [one.said for one in analysis.checks if not one.passed]
    passed = len(analysis.checks) - len(failed)
    said = [f"{counted(passed, 'check')} passed"] if passed else []
    return " · ".join([*said, *(f"failed: {one}" for one in failed)])


def _from(analysis: Analysis) -> str:
    listed = [f"{one.title} ({counted(one.rows, 'row')})" for one in analysis.inputs]
    return f"from {', '.join(listed)}" if listed else ""


def _charts(analysis: Analysis) -> str:
    if not analysis.figures:
        return ""
    names = [one.title for one in analysis.figures if one.title]
    about = f" ({'; '.join(names)})" if names else ""
    return f"{counted(len(analysis.figures), 'chart')}{about}: --chart FILE.html saves it"


def save_parts(call: Call, answer: Answer, *, chart: Path | None, table: Path | None) -> None:
    """What was asked to be saved; that there is nothing to save is said."""
    from secondlook.export.analysis_files import write_charts, write_table

    for path, there, write in (
        (chart, bool(answer.analysis and answer.analysis.figures), write_charts),
        (table, bool(answer.analysis), write_table),
    ):
        if path is None:
            continue
        if not there:
            what = "chart" if path == chart else "table"
            call.say(f"hint: the answer has no {what}: nothing was saved to {str(path)!r}")
            continue
        for written in write(answer, path):
            call.say(f"saved {written}")


def check_names(chart: Path | None, table: Path | None) -> None:
    """Told before the work begins."""
    from secondlook.export.analysis_files import check_chart_name, check_table_name

    if chart is not None:
        check_chart_name(chart)
    if table is not None:
        check_table_name(table)
