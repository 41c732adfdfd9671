"""One question on its way, and the state that its graph begins with."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from secondlook.answer import ResultTable, Step, Trouble
from secondlook.engine.request import (
    SUMMARY,
    check_risk,
    ledger_for,
    made_stand_alone,
    titles_within,
    usual_workflow,
    with_budget,
    with_choices,
    with_risk,
)
from secondlook.errors import (
    BudgetExceeded,
    ExtractionError,
    SecondlookError,
    TableError,
    UsageError,
)
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.models.budget import keep_refusal
from secondlook.nodes.route import summary_scope, summed_up_without_risk
from secondlook.retrieval.index.port import Filter
from secondlook.roles.follow_up import StandAlone, Turn
from secondlook.settings.sections import BudgetSettings
from secondlook.store.tables import (
    handed_tables,
    keep_within,
    run_folder,
    same_source,
    share,
    write_names,
)
from secondlook.tables.column_types import identifier_of
from secondlook.tables.table import named_apart, unlike

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from secondlook.engine.record import StoredRun
    from secondlook.engine.request import Budget
    from secondlook.library.library import Library
    from secondlook.models.budget import Earlier, Ledger
    from secondlook.models.calls import Models
    from secondlook.models.journal import Journal
    from secondlook.nodes.state import Scope
    from secondlook.settings.sections import RunSettings, Settings
    from secondlook.tables.desk import Desk
    from secondlook.tables.table import Table
    from secondlook.tables.worker import Worker


@dataclass(frozen=True, slots=True)
class Run:
    id: str
    question: str
    workflow: str
    created: str
    scope: Scope
    worked_on: StandAlone
    resumed: bool = False
    max_risk: float | None = None
    """Of this question alone; None = as set."""
    handed: Handed | None = None
    """Tables that came with the question."""
    caller: dict[str, Any] = field(default_factory=dict)
    """What whoever asks wants recorded with it."""
    budget: BudgetSettings | None = None
    """Of this question alone; None = as set."""
    counting: dict[str, float] = field(default_factory=dict)
    """`Models.counting` when it began."""
    ledger: Ledger | None = None
    """Its account, which was opened when it was asked; None where it is taken up again."""

    def settings(self, usual: Settings) -> Settings:
        """The usual ones, with what holds for this question alone."""
        return with_budget(with_risk(usual, self.max_risk), self.budget)

    def account(
        self, settings: Settings, models: Models, earlier: Callable[[str], Earlier]
    ) -> Ledger:
        """Its ledger; of a run that is taken up again with what it has spent so far."""
        if self.ledger is not None:
            return self.ledger
        ledger = ledger_for(settings, models, self.workflow, self.worked_on.asked)
        ledger.take_up(earlier(self.id))
        return ledger

    def let_go(self) -> None:
        if self.handed is not None:
            self.handed.close()


def interrupted(runs: RunSettings, run: str) -> StoredRun:
    """A recorded run that stopped before its answer."""
    from secondlook.engine.record import RunStore

    with RunStore.of(runs, create=False) as store:
        stored = store.get(run)
    if stored.answer is not None:
        raise UsageError(
            f"run {stored.run!r} is finished", hint=f"secondlook runs show {stored.run}"
        )
    return stored


def taken_up(stored: StoredRun, runs: RunSettings) -> Run | None:
    """To go on with; None where it had not begun."""
    if "scope" not in stored.request:
        return None
    return Run(
        id=stored.run,
        question=stored.question,
        workflow=stored.workflow,
        created=stored.created,
        scope=stored.request["scope"],
        worked_on=_worked_on(stored.question, stored.request),
        resumed=True,
        max_risk=stored.request.get("max_risk"),
        handed=handed_to(stored.run, runs),
        caller=stored.request.get("caller") or {},
        budget=_budget_of(stored.request),
        counting=stored.request.get("counting") or {},
    )


def _worked_on(question: str, request: Mapping[str, Any]) -> StandAlone:
    return StandAlone(
        request.get("asked", question),
        steps=tuple(Step.model_validate(one) for one in request.get("steps", ())),
        warnings=tuple(Trouble.model_validate(one) for one in request.get("warnings", ())),
    )


def _budget_of(request: Mapping[str, Any]) -> BudgetSettings | None:
    recorded = request.get("settings", {}).get("budget")
    return None if recorded is None else BudgetSettings.model_validate(recorded)


async def first_state(
    run: Run, graph: Any, config: Mapping[str, Any], *, resumable: bool
) -> dict[str, Any] | None:
    """The first state of a run, or None to go on from where it stopped."""
    if run.resumed and resumable and (await graph.aget_state(config)).values:
        return None
    return {
        "question": run.worked_on.asked,
        "scope": run.scope,
        "queries": [run.worked_on.asked],
        "found": [],
        "steps": [step.model_dump() for step in run.worked_on.steps],
        "warnings": [warning.model_dump() for warning in run.worked_on.warnings],
    }


# How a question becomes a run: made stand-alone, with its tables, its scope and its workflow.


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a person asks for; `Secondlook.astream` tells what each of it means."""

    question: str
    choices: Mapping[str, str] | Sequence[str] | None = None
    workflow: str | None = None
    filters: Mapping[str, object] | None = None
    documents: Collection[str] | None = None
    tables: Mapping[str, object] | None = None
    earlier: Sequence[Turn] = ()
    max_risk: float | None = None
    budget: Budget | None = None
    run: str | None = None
    caller: Mapping[str, Any] | None = None
    created: str | None = None
    """When it was asked, ISO 8601; None = now."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What it takes to begin runs."""

    library: Library
    settings: Settings
    models: Models
    journal: Callable[[str], Journal]
    """Of a run, by its id."""

    async def run_of(self, ask: Ask, stopped: Earlier | None = None) -> Run:
        """`stopped` is what it has spent where it was stopped before it had begun."""
        question, workflow = with_choices(ask.question, ask.choices, ask.workflow, self.settings)
        leant_on = last_result(question, ask.earlier)
        tables = leant_on or ask.tables
        workflow = workflow_for(tables, workflow, self.settings)
        chosen = workflow_named(workflow or usual_workflow(self.settings)).name
        settings = with_budget(self.settings, ask.budget)
        ledger = self._account(settings, chosen, question, ask.run, stopped)
        risk = await self._checked_risk(ask.max_risk)
        where = self.library.scope(filters=ask.filters, documents=ask.documents)
        earlier = () if leant_on else ask.earlier
        name = ask.run or run_name()
        worked_on = await made_stand_alone(
            self.models, ledger, chosen, question, earlier, run=name, journal=self.journal(name)
        )
        scope = _scope(where)
        if chosen == SUMMARY:
            scope = self._summed(worked_on.asked, scope)
            worked_on = worked_on if risk is None else _without_risk(worked_on)
        return Run(
            id=name,
            question=question,
            workflow=chosen,
            created=ask.created or now(),
            scope=scope,
            worked_on=worked_on,
            max_risk=risk,
            handed=await self._handed(tables, name, ledger),
            caller=dict(ask.caller or {}),
            budget=None if ask.budget is None else settings.budget,
            counting=self.models.counting(),
            ledger=ledger,
        )

    def _account(
        self,
        settings: Settings,
        workflow: str,
        question: str,
        run: str | None,
        stopped: Earlier | None,
    ) -> Ledger:
        ledger = ledger_for(settings, self.models, workflow, question)
        if stopped is not None:
            ledger.take_up(stopped)
        if run is not None:
            ledger.on_refusal = partial(keep_refusal, self.journal(run))
        return ledger

    async def _checked_risk(self, max_risk: float | None) -> float | None:
        risk = with_risk(self.settings, max_risk).answer.max_risk
        if risk is not None:
            await asyncio.to_thread(check_risk, self.library, risk)
        return risk

    async def _handed(self, tables: object, run: str, ledger: Ledger) -> Any:
        """Who has nothing to hand over waits for no thread: all may be at what nobody waits for."""
        if tables is None:
            return None
        try:
            async with asyncio.timeout(ledger.remaining_seconds()):
                return await asyncio.to_thread(
                    handed_over, tables, run, self.library, self.settings
                )
        except TimeoutError as late:
            raise BudgetExceeded(
                "the tables were not read before the time for this question was over",
                cap="seconds",
                hint="give it more with --timeout or budget.seconds (0 = no cap)",
            ) from late

    def _summed(self, asked: str, scope: Scope) -> Scope:
        """Who chose the workflow by its name is believed that a summary is wanted."""
        titles = titles_within(self.library)
        return summary_scope(asked, scope, titles, certain=True) or scope


def run_name() -> str:
    """One that nobody guesses."""
    return f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(6)}"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _scope(where: Filter) -> Scope:
    return {
        "documents": None if where.documents is None else sorted(where.documents),
        "labels": sorted(where.labels),
    }


def _without_risk(worked_on: StandAlone) -> StandAlone:
    warning = Trouble.model_validate(summed_up_without_risk())
    return replace(worked_on, warnings=(*worked_on.warnings, warning))


# A question as it was asked, written down the moment it is: a process that dies before its run
# has begun, or while the run waits for its turn, loses nothing that was asked.


def plain_ask(ask: Ask) -> dict[str, Any] | None:
    """As JSON can hold it; None where tables came with it that are in no file."""
    tables = ask.tables
    if tables is not None and not all(
        isinstance(one, str | os.PathLike) for one in tables.values()
    ):
        return None
    budget = ask.budget
    return {
        "question": ask.question,
        "choices": dict(ask.choices) if isinstance(ask.choices, Mapping) else ask.choices,
        "workflow": ask.workflow,
        "filters": None if ask.filters is None else dict(ask.filters),
        "documents": None if ask.documents is None else list(ask.documents),
        # Whoever takes it up may stand in another folder.
        "tables": tables and {name: str(Path(str(one)).absolute()) for name, one in tables.items()},
        "earlier": [_plain_turn(turn) for turn in ask.earlier],
        "max_risk": ask.max_risk,
        "budget": budget.model_dump() if isinstance(budget, BudgetSettings) else budget,
    }


def ask_of(stored: StoredRun) -> Ask:
    """What was asked, of a run that had not begun."""
    noted = stored.request.get("ask")
    if noted is None:
        raise UsageError(
            f"run {stored.run!r} was stopped before the tables that came with it were kept",
            hint="ask again, with the tables",
        )
    given = {**noted, "earlier": tuple(_turn(one) for one in noted["earlier"])}
    caller = stored.request.get("caller") or {}
    return Ask(**given, run=stored.run, created=stored.created, caller=caller)


def _plain_turn(turn: Turn) -> dict[str, Any]:
    table = turn.table
    return {**asdict(turn), "table": None if table is None else table.model_dump(mode="json")}


def _turn(noted: Mapping[str, Any]) -> Turn:
    table = noted["table"]
    return Turn(
        **{
            **noted,
            "titles": tuple(noted["titles"]),
            "table": None if table is None else ResultTable.model_validate(table),
        }
    )


# The tables of a question: those handed over with it, and those of the library.

if TYPE_CHECKING:
    Entry = tuple[Table, Path]

ANALYST: Final = "analyst"
"""The workflow for questions over tables: who hands tables over and names none means it."""
_OVER_TABLES: Final = (ANALYST, "auto")
_MOST_TABLES = 100
_READABLE: Final = "name a file: CSV, Parquet, Excel, JSON lines or SQLite"


@dataclass(frozen=True, slots=True)
class Handed:
    """Tables that came with a question, as files of ours."""

    entries: tuple[Entry, ...]
    folder: Path
    passing: bool = False
    """The folder goes with the run: nothing is recorded."""

    def close(self) -> None:
        if self.passing:
            shutil.rmtree(self.folder, ignore_errors=True)


def check_tables(tables: object) -> Mapping[str, object] | None:
    """What was handed over, told apart from what cannot have been meant."""
    if tables is None:
        return None
    if not isinstance(tables, Mapping):
        raise UsageError(
            f"tables are not a mapping of names to tables: {type(tables).__name__!r}",
            hint='such as tables={"sales": frame}, where a table is a data frame, a path, or rows',
        )
    if not tables:
        raise UsageError("no table is given", hint='such as tables={"sales": frame}')
    if len(tables) > _MOST_TABLES:
        raise UsageError(
            f"{len(tables)} tables are given, {_MOST_TABLES} can be",
            hint="add their files to a library and ask that",
        )
    for name in tables:
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"a table cannot be called {name!r}", hint="give it a word for a name")
    return tables


def workflow_for(tables: object, workflow: str | None, settings: Settings) -> str | None:
    """Who hands tables over and names no workflow means the one that computes with them, or the one
    that picks it."""
    if check_tables(tables) is None:
        return workflow
    if workflow not in {None, *_OVER_TABLES}:
        raise UsageError(
            f"the workflow {workflow!r} does not compute with tables",
            hint=f"ask with the workflow {ANALYST!r}, or without tables",
        )
    usual = settings.answer.workflow
    return workflow or (usual if usual in _OVER_TABLES else ANALYST)


def handed_over(tables: object, run: str, library: Library, settings: Settings) -> Handed | None:
    """What came with a question, taken over for its run."""
    given = check_tables(tables)
    if given is None:
        return None
    return take_over(given, run=run, runs=settings.runs, worker=library.worker())


def desk_of(library: Library, run: Run) -> Desk | None:
    """The tables of a run; None where its workflow asks for none, or where there are none to pick
    from because they cannot be listed: documents may still answer."""
    if run.workflow not in _OVER_TABLES:
        return None
    try:
        return desk_for(library, run.scope, run.handed)
    except (SecondlookError, OSError):
        if run.workflow == ANALYST or run.handed is not None:
            raise
        return None


def take_over(
    tables: Mapping[str, object],
    *,
    run: str,
    runs: RunSettings,
    worker: Worker,
    on_progress: Callable[[float], None] | None = None,
) -> Handed:
    """Write what was handed over as tables of the run."""
    folder, passing = _folder(run, runs)
    try:
        taking = _Taking(folder, runs, worker, on_progress)
        found = [entry for name, given in tables.items() for entry in taking.taken(name, given)]
        named = _apart(found)
        write_names(folder, [table for table, _ in named])
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if not passing:
        keep_within(runs.path, keep=runs.keep)
    return Handed(tuple(named), folder, passing)


def handed_to(run: str, runs: RunSettings) -> Handed | None:
    """The tables that a recorded run was given; None where it was given none, or they are gone."""
    folder = run_folder(runs.path, run)
    entries = tuple(handed_tables(folder))
    return Handed(entries, folder) if entries else None


def desk_for(library: Library, scope: Scope, handed: Handed | None) -> Desk:
    """Tables that were handed over are what a question is about. Those of the library lie beside
    them where the question names a part of it, and alone where nothing was handed over."""
    from secondlook.tables.desk import Desk

    documents, labels = scope["documents"], frozenset(scope["labels"])
    where = Filter(documents=None if documents is None else frozenset(documents), labels=labels)
    if handed is None:
        return library.desk(where=where)
    desk = Desk(handed.entries, folder=handed.folder, worker=library.worker())
    if documents is None and not labels:
        return desk
    held = library.desk(where=where)
    return desk.with_tables([(table, held.file(table.id)) for table in held.tables()])


def _folder(run: str, runs: RunSettings) -> tuple[Path, bool]:
    """Beside the record of runs, or where nothing is recorded or can be, one that is passing."""
    if runs.keep:
        folder = run_folder(runs.path, run)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            pass
        else:
            return folder, False
    return Path(tempfile.mkdtemp(prefix="secondlook-tables-")), True


@dataclass(frozen=True, slots=True)
class _Taking:
    folder: Path
    runs: RunSettings
    worker: Worker
    on_progress: Callable[[float], None] | None

    def taken(self, name: str, given: object) -> list[Entry]:
        if isinstance(given, str | os.PathLike):
            return self._from_file(name, _path(name, given))
        from secondlook.tables.read import table_from_frame

        read = table_from_frame(name, _frame(name, given), self.folder)
        return [(read.table, read.file)]

    def _from_file(self, name: str, path: Path) -> list[Entry]:
        """What an earlier run was given of the same contents is not read again."""
        known = same_source(self.runs.path, _sha256(path)) if self.runs.keep else []
        if known:
            return [self._shared(name, path, table, file) for table, file in known]
        from secondlook.tables.read import read_tables

        try:
            read = read_tables(
                path, self.folder, worker=self.worker, name=name, on_progress=self.on_progress
            )
        except (ExtractionError, TableError) as error:
            # Several tables may have been handed over: the reason alone does not say whose it is.
            said = f"the table {name!r} cannot be read from {path.name!r}: {error.message}"
            raise type(error)(said, hint=error.hint or _READABLE) from error
        return [(one.table, one.file) for one in read]

    def _shared(self, name: str, path: Path, table: Table, file: Path) -> Entry:
        """A table of an earlier run as it would be called had it been read now."""
        from secondlook.tables.desk import profile_file

        _, _, sheet = table.title.partition(f"{Path(table.path or '').name}, ")
        profile = profile_file(file.parent, table)
        if profile.exists():
            share(profile, self.folder)
        called = {
            "name": identifier_of(name, sheet),
            "title": f"{path.name}, {sheet}" if sheet else path.name,
            "path": str(path),
        }
        return table.model_copy(update=called), share(file, self.folder)


def _frame(name: str, given: object) -> Any:
    if given is None or isinstance(given, bool | int | float | bytes):
        raise UsageError(
            f"the table {name!r} is of type {type(given).__name__!r}",
            hint="a table is a data frame, a pyarrow table, a path, or a list of rows as dicts",
        )
    return given


def _path(name: str, given: str | os.PathLike[str]) -> Path:
    path = Path(given).expanduser()
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise UsageError(
            f"the table {name!r} cannot be read: {str(path)!r} {what}",
            hint=_READABLE,
        )
    return path.absolute()


def _apart(found: Sequence[Entry]) -> list[Entry]:
    tables = named_apart([table for table, _ in found])
    return [(table, file) for table, (_, file) in zip(tables, found, strict=True)]


def _sha256(path: Path) -> str:
    import hashlib

    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error


# A follow-up that speaks of the last result, over tables: that result is then its table.

NAME = "last_result"
_SPOKEN_OF = re.compile(
    r"\b(?:(?:of|among|in|from|for) (?:these|those|them|(?:that|this) (?:result|table))"
    r"|(?:the|that|this) (?:last |previous |above )?(?:result|results|result table)"
    r"|(?:last|previous) (?:result|table|answer)|last_result)\b",
    re.IGNORECASE,
)


def last_result(question: str, earlier: Sequence[Turn]) -> dict[str, Any] | None:
    """The table of the last answer that has one, as if it were handed over; None where a question
    does not speak of it, or there is none."""
    table = next((turn.table for turn in reversed(earlier) if turn.table is not None), None)
    if table is None or not _SPOKEN_OF.search(question):
        return None
    names: list[str] = []
    for column in table.columns:  # a result may repeat a name
        names.append(unlike(column or "column", names))
    columns = zip(names, zip(*table.rows, strict=True), strict=True) if table.rows else ()
    return {NAME: {name: list(values) for name, values in columns}} if table.rows else None
