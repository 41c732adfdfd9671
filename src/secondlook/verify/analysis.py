"""Whether an analysis comes out the same again: its query is computed again, its code is run again
in the sandbox, over tables of the same contents."""

from __future__ import annotations

import math
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from secondlook.errors import ExtractionError, SandboxError, TableError
from secondlook.nodes.code.guard import check
from secondlook.nodes.compute import (
    as_json,
    computed_outcome,
    figures_of,
    named_values,
    result_table,
)
from secondlook.nodes.explain import GENERAL, short_form, stray_numbers, told_by_code, values_of
from secondlook.sandbox.port import Supplied, limits_for
from secondlook.store.tables import handed_tables, run_folder
from secondlook.tables.understand.readings import queries, reading_from, wanted_of
from secondlook.verify.citations import sha256_of
from secondlook.verify.report import Report, rests_on, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.answer import Analysis, AnalysisFigure, Answer, InputTable
    from secondlook.library.library import Library
    from secondlook.sandbox.port import Outcome, Plain
    from secondlook.settings.sections import Settings
    from secondlook.tables.desk import Desk
    from secondlook.tables.table import Table
    from secondlook.tables.understand.readings import Reading
    from secondlook.tables.worker import Worker


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


# An analysis done again: what it was asked to compute, over the tables that were found.


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
    from secondlook.sandbox import open_sandbox

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


# Whether what an answer says is what its analysis comes to when it is done again.


def check_results(answer: Answer, analysis: Analysis, again: Outcome, report: Report) -> None:
    values = named_values(again, wanted_of(answer.asked))
    _compare("result", "result", analysis.result, as_json(again.result), report)
    _compare("values", "result", answer.values, as_json(values), report)
    _compare("table", "result", _dumped(analysis.table), _dumped(result_table(again)), report)
    _check_figures(analysis.figures, figures_of(again), report)
    if analysis.stdout != again.stdout:
        report.note("result", "analysis", "its code prints something else when it is run again")
    _check_words(answer, analysis, again, values, report)


def _compare(name: str, kind: Any, recorded: Any, again: Any, report: Report) -> None:
    if found := difference(recorded, again):
        report.wrong(kind, name, found)


def _dumped(record: Any) -> Any:
    return None if record is None else record.model_dump(mode="json")


def _check_figures(
    recorded: Sequence[AnalysisFigure], again: Sequence[AnalysisFigure], report: Report
) -> None:
    if len(recorded) != len(again):
        message = f"{len(recorded)} were recorded, {len(again)} come out"
        report.wrong("figure", "figures", message)
        return
    for at, (one, other) in enumerate(zip(recorded, again, strict=True), 1):
        found = difference(_dumped(one), _dumped(other))
        if found and one.kind == other.kind == "png":
            # Another font or another version of matplotlib draws the same otherwise.
            report.note("figure", f"figure {at}", "the picture is not drawn the same again")
        elif found:
            report.wrong("figure", f"figure {at}", found)


def _check_words(
    answer: Answer,
    analysis: Analysis,
    again: Outcome,
    values: dict[str, Plain],
    report: Report,
) -> None:
    """What code said, it says again; of a model's words every number is in the result."""
    if answer.short != short_form(values):
        message = f"the short form is {shown(answer.short)}, not {shown(short_form(values))}"
        report.wrong("text", "answer", message)
    columns = [one.column for one in analysis.columns]
    by_code = told_by_code(analysis.reading, columns, again, values)
    said = [claim.text for claim in answer.claims]
    if said == by_code:
        return
    if not any(call.node == "explain" for call in answer.usage.by_node):
        message = f"the result says {shown(' '.join(by_code))}, not {shown(' '.join(said))}"
        report.wrong("text", "answer", message)
    _check_numbers(said, again, [answer.asked, *columns], report)


def _check_numbers(
    said: Sequence[str], again: Outcome, allowed: Sequence[str], report: Report
) -> None:
    held = values_of(again)
    for at, text in enumerate(said, 1):
        if stray := stray_numbers(text, held, allowed=allowed):
            listed = ", ".join(dict.fromkeys(stray))
            report.wrong("number", f"claim {at}", f"{shown(listed)} is not in the result")


# Where two values of an analysis differ: what was recorded, and what comes out again.

_RELATIVE: Final = 1e-9
"""Sums of the same numbers in another order differ less."""
_ABSOLUTE: Final = 1e-12
_DEEPEST = 40


def difference(recorded: Any, again: Any, *, at: str = "", depth: int = 0) -> str | None:
    """`'North': 5.2 was recorded, 6.1 comes out`; None where they are the same."""
    if depth > _DEEPEST:
        return f"{_place(at)}it is nested too deep to be compared"
    if isinstance(recorded, dict) and isinstance(again, dict):
        return _of_mappings(recorded, again, at, depth)
    if isinstance(recorded, list | tuple) and isinstance(again, list | tuple):
        return _of_lists(recorded, again, at, depth)
    if _is_number(recorded) and _is_number(again):
        same = math.isclose(recorded, again, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    else:
        same = type(recorded) is type(again) and recorded == again
    return None if same else f"{_place(at)}{_said(recorded)} was recorded, {_said(again)} comes out"


def _of_mappings(
    recorded: dict[str, Any], again: dict[str, Any], at: str, depth: int
) -> str | None:
    if more := [key for key in recorded if key not in again]:
        return f"{_place(at)}{shown(more[0])} was recorded, and does not come out"
    if less := [key for key in again if key not in recorded]:
        return f"{_place(at)}{shown(less[0])} comes out, and was not recorded"
    found = (
        difference(recorded[key], again[key], at=_within(at, key), depth=depth + 1)
        for key in recorded
    )
    return next((one for one in found if one), None)


def _of_lists(recorded: Any, again: Any, at: str, depth: int) -> str | None:
    if len(recorded) != len(again):
        return f"{_place(at)}{len(recorded)} were recorded, {len(again)} come out"
    pairs = enumerate(zip(recorded, again, strict=True), 1)
    found = (
        difference(one, other, at=_within(at, str(number)), depth=depth + 1)
        for number, (one, other) in pairs
    )
    return next((one for one in found if one), None)


def _within(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _place(at: str) -> str:
    return f"{shown(at)}: " if at else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _said(value: Any) -> str:
    if value is None:
        return "nothing"
    return shown(value) if isinstance(value, str) else shown(repr(value)).strip("'\"")


# The tables that an analysis was made of, wherever a copy of the same contents still is.

if TYPE_CHECKING:
    Entry = tuple[Table, Path]


@dataclass(frozen=True, slots=True)
class Found:
    desk: Desk
    """Those that were found, under the names and ids that the answer gives them."""
    missing: dict[str, str]
    """Why each of the others was not, by its name."""


@contextmanager
def found_tables(
    inputs: Sequence[InputTable], run: str, *, library: Library | None, settings: Settings
) -> Iterator[Found]:
    """Kept with the run, held by the library, or read again from a file that has not changed."""
    from secondlook.tables.desk import Desk
    from secondlook.tables.worker import Worker

    with ExitStack() as held:
        worker = library.worker() if library is not None else held.enter_context(Worker())
        # ignore_cleanup_errors: Windows keeps files alive that are still mapped
        passing = tempfile.TemporaryDirectory(prefix="secondlook-", ignore_cleanup_errors=True)
        folder = Path(held.enter_context(passing))
        known = {table.id: (table, file) for table, file in _kept(run, library, settings)}
        entries: list[Entry] = []
        missing: dict[str, str] = {}
        for one in inputs:
            found = known.get(one.id) or _read_again(one, folder, worker)
            if isinstance(found, str):
                missing[one.name] = found
            else:
                named = found[0].model_copy(update={"id": one.id, "name": one.name})
                entries.append((named, found[1]))
        yield Found(Desk(entries, folder=folder, worker=worker), missing)


def _kept(run: str, library: Library | None, settings: Settings) -> list[Entry]:
    kept = list(handed_tables(run_folder(settings.runs.path, run))) if _is_name(run) else []
    if library is None:
        return kept
    desk = library.desk()
    return [*((table, desk.file(table.id)) for table in desk.tables()), *kept]


def _is_name(run: str) -> bool:
    """An answer is anybody's file: its run must not lead out of the folder of runs."""
    return bool(run) and all(sign.isalnum() or sign == "-" for sign in run)


def _read_again(one: InputTable, folder: Path, worker: Worker) -> Entry | str:
    """The table as its file still holds it; else why not, in words."""
    from secondlook.tables.read import read_tables

    gone = "neither the record of runs nor the library holds it"
    path = Path(one.path) if one.path else None
    digest = sha256_of(path) if path is not None else None
    if path is None or digest is None:
        return f"{gone}, and there is no file to read it from"
    if digest != one.sha256:
        return f"{gone}, and its file {shown(str(path), width=200)} has changed since"
    try:
        read = read_tables(path, folder, worker=worker)
    except (ExtractionError, TableError) as error:
        return f"{gone}, and its file cannot be read: {error.message}"
    same = [item for item in read if one.id == item.table.id or one.title == item.table.title]
    if not same:
        return f"{gone}, and its file has no table {shown(one.title)}"
    return same[0].table, same[0].file
