"""An analysis done again: what it was asked to compute, over the tables that were found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from secondlook.errors import SandboxError
from secondlook.nodes.analysing.computing import computed_outcome
from secondlook.nodes.coding.guard import check
from secondlook.sandbox import Supplied, limits_for
from secondlook.tables.asking import queries, reading_from
from secondlook.verify.report import Report, shown

if TYPE_CHECKING:
    from secondlook.answer import Analysis, Answer
    from secondlook.sandbox import Outcome
    from secondlook.settings import Settings
    from secondlook.tables.asking import Reading
    from secondlook.verify.tables import Found


def redone(
    answer: Answer, analysis: Analysis, found: Found, settings: Settings, report: Report
) -> Outcome | None:
    """What comes out; None where it cannot be done, which is then reported."""
    if analysis.kind == "computed":
        outcome = _computed(answer, analysis, found, report)
    else:
        outcome = _executed(answer, analysis, found, settings, report)
    if outcome is None or outcome.status == "ok":
        return outcome
    said = f": {outcome.failure.message}" if outcome.failure else ""
    report.wrong("result", "analysis", f"done again, it ends with {outcome.status!r}{said}")
    return None


def _computed(answer: Answer, analysis: Analysis, found: Found, report: Report) -> Outcome | None:
    reading = _reading(analysis)
    if reading is None:
        report.wrong("code", "analysis", "its query cannot be read")
        return None
    if reading.said != analysis.reading:
        message = f"the query reads {shown(reading.said)}, not {shown(analysis.reading)}"
        report.wrong("code", "analysis", message)
    if not _is_at_hand({one.table for one in queries(reading)}, found, report):
        return None
    outcome, sql = computed_outcome(
        found.desk, answer.asked, reading, charts=bool(analysis.figures)
    )
    if outcome.status == "ok" and sql != analysis.sql:
        report.wrong("code", "analysis", "the SQL that it shows is not what is computed")
    return outcome


def _reading(analysis: Analysis) -> Reading | None:
    """Anybody may have written it."""
    if not isinstance(analysis.query, dict):
        return None
    try:
        return reading_from(analysis.query)
    except (ValidationError, LookupError, TypeError, ValueError, AttributeError):
        return None


def _is_at_hand(tables: set[str], found: Found, report: Report) -> bool:
    lacking = tables - {table.id for table in found.desk.tables()}
    if lacking and not found.missing:  # that one is missing was said before
        message = f"it computes with a table that it does not name: {shown(min(lacking))}"
        report.wrong("table", "analysis", message)
    if lacking:
        report.note("result", "analysis", "not computed again: its table is missing")
    return not lacking


def _executed(
    answer: Answer, analysis: Analysis, found: Found, settings: Settings, report: Report
) -> Outcome | None:
    code = analysis.code or ""
    tables = found.desk.tables()
    names = {table.name: [column.name for column in table.columns] for table in tables}
    if found.missing or not tables:
        report.note("result", "analysis", "not run again: a table is missing")
        return None
    if (refusal := check(code, names, question=answer.asked)) is not None:
        message = f"its code is none that would be run: {refusal.message}"
        report.wrong("code", "analysis", message)
        return None
    supplied = [Supplied(table.name, found.desk.file(table.id)) for table in tables]
    return _in_sandbox(code, supplied, settings, report)


def _in_sandbox(
    code: str, supplied: list[Supplied], settings: Settings, report: Report
) -> Outcome | None:
    from secondlook.sandbox.opening import open_sandbox

    chosen = settings.sandbox
    limits = limits_for(seconds=chosen.seconds, megabytes=chosen.memory)
    try:
        sandbox = open_sandbox(chosen.backend)
        try:
            return sandbox.run(code, supplied, limits=limits)
        finally:
            sandbox.close()
    except SandboxError as error:
        message = f"its code cannot be run again here, so that its result is unproven: {error}"
        report.wrong("result", "analysis", message)
        return None
