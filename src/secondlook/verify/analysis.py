"""Whether an analysis comes out the same again: its query is computed again, its code is run again
in the sandbox, over tables of the same contents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.nodes.explain_concept import GENERAL
from secondlook.verify.files import sha256_of
from secondlook.verify.redoing import redone
from secondlook.verify.report import Report, shown
from secondlook.verify.results import check_results
from secondlook.verify.standing import rests_on
from secondlook.verify.tables import found_tables

if TYPE_CHECKING:
    from secondlook.answer import Analysis, Answer, InputTable
    from secondlook.library import Library
    from secondlook.settings import Settings
    from secondlook.tables.table import Table
    from secondlook.verify.tables import Found


def needs_tables(answer: Answer) -> bool:
    """Whether any of it can only be checked by computing again."""
    return rests_on(answer) == "tables"


def check_analysis(
    answer: Answer, report: Report, *, library: Library | None, settings: Settings | None
) -> None:
    """Without settings they are read from the configuration, if tables must be found."""
    analysis = answer.analysis
    if analysis is None or not needs_tables(answer):
        _check_nothing_computed(answer, report)
        return
    if settings is None:
        from secondlook.settings import load

        settings = library.settings if library is not None else load().settings
    with found_tables(analysis.inputs, answer.run, library=library, settings=settings) as found:
        _check_inputs(analysis, found, report)
        again = redone(answer, analysis, found, settings, report)
        if again is not None:
            check_results(answer, analysis, again, report)


def _check_nothing_computed(answer: Answer, report: Report) -> None:
    """What computed nothing has no results, and says on what it stands."""
    analysis = answer.analysis
    if answer.values or (analysis and (analysis.table or analysis.figures)):
        report.wrong("result", "answer", "it has results, but nothing that computed them")
    if rests_on(answer) == "nothing":
        if GENERAL not in answer.text:
            report.wrong("text", "answer", "it does not say that it is general knowledge")
        if answer.confidence.value is not None or answer.citations:
            message = "it is general knowledge, but it has a confidence or citations"
            report.wrong("status", "answer", message)


def _check_inputs(analysis: Analysis, found: Found, report: Report) -> None:
    if not analysis.inputs:
        report.wrong("table", "analysis", "it names no table that it was made of")
    at_hand = {table.id: table for table in found.desk.tables()}
    for one in analysis.inputs:
        where = f"table {shown(one.name)}"
        if one.name in found.missing:
            report.wrong("table", where, f"it is gone: {found.missing[one.name]}")
        else:
            _check_table(one, at_hand[one.id], where, report)
        _check_file(one, where, report)
    _check_columns(analysis, at_hand, report)


def _check_table(one: InputTable, table: Table, where: str, report: Report) -> None:
    if one.sha256 != table.sha256:
        report.wrong("table", where, "the SHA-256 is not that of the table")
    if one.rows != table.rows:
        report.wrong("table", where, f"it has {table.rows:,} rows, not {one.rows:,}")


def _check_file(one: InputTable, where: str, report: Report) -> None:
    """The original, where it still is there: a copy may have been kept of what it was."""
    if one.path is None:
        return
    from pathlib import Path

    digest = sha256_of(Path(one.path))
    if digest is None:
        report.note("file", where, f"{shown(one.path, width=200)} is not there any more")
    elif digest != one.sha256:
        report.wrong("file", where, f"the file {shown(one.path, width=200)} has changed since")


def _check_columns(analysis: Analysis, at_hand: dict[str, Table], report: Report) -> None:
    for one in analysis.columns:
        table = at_hand.get(one.table)
        if table is not None and all(column.name != one.column for column in table.columns):
            message = f"there is no column {shown(one.column)} in {shown(table.title)}"
            report.wrong("table", "analysis", message)
