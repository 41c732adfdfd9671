"""Whether an analysis comes out the same again: its query is computed again, its code is run again
in the sandbox, over tables of the same contents."""

from __future__ import annotations

import math
import tempfile
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from secondlook.errors import ExtractionError, SandboxError, TableError
from secondlook.nodes.code.guard import check
from secondlook.nodes.combine import stands_in
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

    from secondlook.answer import Analysis, AnalysisFigure, Answer, InputTable, ResultTable
    from secondlook.library.library import Library
    from secondlook.sandbox.port import Outcome
    from secondlook.settings.sections import Settings
    from secondlook.tables.desk import Desk
    from secondlook.tables.table import Table
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
    if analysis is not None and analysis.kind == "survey" and analysis.table is not None:
        _check_cells(answer, analysis.table, report)
    elif answer.values or (analysis and (analysis.table or analysis.figures)):
        report.wrong("result", "answer", "it has results, but nothing that computed them")
    if rests_on(answer) == "nothing":
        if GENERAL not in answer.text:
            report.wrong("text", "answer", "it does not say that it is general knowledge")
        if answer.confidence.value is not None or answer.citations:
            message = "it is general knowledge, but it has a confidence or citations"
            report.wrong("status", "answer", message)


def _check_cells(answer: Answer, table: ResultTable, report: Report) -> None:
    """Each value of a survey stands in what its cell cites; one that is missing cites nothing."""
    quotes = {one.number: one.quote for one in answer.citations}
    for row, numbers in zip_longest(table.rows, table.citations, fillvalue=()):
        for cell, number in list(zip_longest(row, numbers))[1:]:
            stands = (
                cell is None if number is None else stands_in(str(cell), quotes.get(number, ""))
            )
            message = f"the cell {cell!r} does not stand in [{number}]"
            report.wrong_if(not stands, "result", "answer", message)


def _check_inputs(analysis: Analysis, found: Found, report: Report) -> None:
    nothing = not analysis.inputs
    report.wrong_if(nothing, "table", "analysis", "it names no table that it was made of")
    at_hand = {table.id: table for table in found.desk.tables()}
    for one in analysis.inputs:
        where = f"table {shown(one.name)}"
        if one.name in found.missing:
            report.wrong("table", where, f"it is gone: {found.missing[one.name]}")
        else:
            table = at_hand[one.id]
            message = "the SHA-256 is not that of the table"
            report.wrong_if(one.sha256 != table.sha256, "table", where, message)
            message = f"it has {table.rows:,} rows, not {one.rows:,}"
            report.wrong_if(one.rows != table.rows, "table", where, message)
        if one.path is not None:  # a copy may have been kept of what the original was
            digest, path = sha256_of(Path(one.path)), shown(one.path, width=200)
            if digest is None:
                report.note("file", where, f"{path} is not there any more")
            elif digest != one.sha256:
                report.wrong("file", where, f"the file {path} has changed since")
    for column in analysis.columns:
        held = at_hand.get(column.table)
        if held is not None and all(one.name != column.column for one in held.columns):
            message = f"there is no column {shown(column.column)} in {shown(held.title)}"
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
    try:  # anybody may have written it
        reading = reading_from(analysis.query) if isinstance(analysis.query, dict) else None
    except (ValidationError, LookupError, TypeError, ValueError, AttributeError):
        reading = None
    if reading is None:
        report.wrong("code", "analysis", "its query cannot be read")
        return None
    message = f"the query reads {shown(reading.said)}, not {shown(analysis.reading)}"
    report.wrong_if(reading.said != analysis.reading, "code", "analysis", message)
    lacking = {one.table for one in queries(reading)} - {one.id for one in found.desk.tables()}
    if lacking:
        if not found.missing:  # that one is missing was said before
            message = f"it computes with a table that it does not name: {shown(min(lacking))}"
            report.wrong("table", "analysis", message)
        report.note("result", "analysis", "not computed again: its table is missing")
        return None
    charts = bool(analysis.figures)
    outcome, sql = computed_outcome(found.desk, answer.asked, reading, charts=charts)
    other = outcome.status == "ok" and sql != analysis.sql
    message = "the SQL that it shows is not what is computed"
    report.wrong_if(other, "code", "analysis", message)
    return outcome


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
    from secondlook.sandbox import open_sandbox

    supplied = [Supplied(table.name, found.desk.file(table.id)) for table in tables]
    chosen = settings.sandbox
    limits = limits_for(seconds=chosen.seconds, megabytes=chosen.memory)
    try:
        with closing(open_sandbox(chosen.backend)) as sandbox:
            return sandbox.run(code, supplied, limits=limits)
    except SandboxError as error:
        message = f"its code cannot be run again here, so that its result is unproven: {error}"
        report.wrong("result", "analysis", message)
        return None


# Whether what an answer says is what its analysis comes to when it is done again.


def check_results(answer: Answer, analysis: Analysis, again: Outcome, report: Report) -> None:
    values = named_values(again, wanted_of(answer.asked))
    for name, recorded, comes in (
        ("result", analysis.result, as_json(again.result)),
        ("values", answer.values, as_json(values)),
        ("table", _dumped(analysis.table), _dumped(result_table(again))),
    ):
        if found := difference(recorded, comes):
            report.wrong("result", name, found)
    _check_figures(analysis.figures, figures_of(again), report)
    if analysis.stdout != again.stdout:
        report.note("result", "analysis", "its code prints something else when it is run again")
    short = short_form(values)
    message = f"the short form is {shown(answer.short)}, not {shown(short)}"
    report.wrong_if(answer.short != short, "text", "answer", message)
    # What code said, it says again; of a model's words every number is in the result.
    columns = [one.column for one in analysis.columns]
    by_code = told_by_code(analysis.reading, columns, again, values)
    said = [claim.text for claim in answer.claims]
    if said == by_code:
        return
    if not any(call.node == "explain" for call in answer.usage.by_node):
        message = f"the result says {shown(' '.join(by_code))}, not {shown(' '.join(said))}"
        report.wrong("text", "answer", message)
    held, rows = values_of(again), [str(one.rows) for one in analysis.inputs]
    for at, text in enumerate(said, 1):
        if stray := stray_numbers(text, held, allowed=[answer.asked, *columns, *rows]):
            listed = ", ".join(dict.fromkeys(stray))
            report.wrong("number", f"claim {at}", f"{shown(listed)} is not in the result")


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


# Where two values of an analysis differ: what was recorded, and what comes out again.

_RELATIVE: Final = 1e-9  # sums of the same numbers in another order differ less
_ABSOLUTE: Final = 1e-12
_DEEPEST = 40


def difference(recorded: Any, again: Any, *, at: str = "", depth: int = 0) -> str | None:
    """`'North': 5.2 was recorded, 6.1 comes out`; None where they are the same."""
    place = f"{shown(at)}: " if at else ""
    if depth > _DEEPEST:
        return f"{place}it is nested too deep to be compared"
    inner: list[tuple[str, Any, Any]] = []
    if isinstance(recorded, dict) and isinstance(again, dict):
        for key in [key for key in recorded if key not in again]:
            return f"{place}{shown(key)} was recorded, and does not come out"
        for key in [key for key in again if key not in recorded]:
            return f"{place}{shown(key)} comes out, and was not recorded"
        inner = [(key, recorded[key], again[key]) for key in recorded]
    elif isinstance(recorded, list | tuple) and isinstance(again, list | tuple):
        if len(recorded) != len(again):
            return f"{place}{len(recorded)} were recorded, {len(again)} come out"
        pairs = zip(recorded, again, strict=True)
        inner = [(str(number), one, other) for number, (one, other) in enumerate(pairs, 1)]
    elif not _same(recorded, again):
        told = [shown(one) if isinstance(one, str) else repr(one)[:60] for one in (recorded, again)]
        return f"{place}{told[0]} was recorded, {told[1]} comes out"
    found = (
        difference(one, other, at=f"{at}.{key}" if at else key, depth=depth + 1)
        for key, one, other in inner
    )
    return next(filter(None, found), None)


def _same(recorded: Any, again: Any) -> bool:
    numbers = isinstance(recorded, int | float) and isinstance(again, int | float)
    if numbers and not isinstance(recorded, bool) and not isinstance(again, bool):
        return math.isclose(recorded, again, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    return type(recorded) is type(again) and bool(recorded == again)


# The tables that an analysis was made of, wherever a copy of the same contents still is.

if TYPE_CHECKING:
    Entry = tuple[Table, Path]


@dataclass(frozen=True, slots=True)
class Found:
    desk: Desk  # those that were found, under the names and ids that the answer gives them
    missing: dict[str, str]  # why each of the others was not, by its name


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
    # An answer is anybody's file: its run must not lead out of the folder of runs.
    is_name = bool(run) and all(sign.isalnum() or sign == "-" for sign in run)
    kept = list(handed_tables(run_folder(settings.runs.path, run))) if is_name else []
    if library is None:
        return kept
    desk = library.desk()
    return [*((table, desk.file(table.id)) for table in desk.tables()), *kept]


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
