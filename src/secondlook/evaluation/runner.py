"""Every question under every configuration, by the real engine. What is done is kept as it is
done, so that the same plan goes on where it stopped."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from pydantic import ValidationError

from secondlook import __version__
from secondlook.engine.secondlook import Secondlook
from secondlook.errors import SecondlookError, SettingsError, UsageError
from secondlook.evaluation.cache import SAVED, RememberingEmbedder, RememberingModels, Saved
from secondlook.evaluation.faithfulness import Truth
from secondlook.evaluation.library import (
    GivenTables,
    cache_folder,
    given,
    library_key,
    names_by_document,
    open_indexed,
)
from secondlook.evaluation.records import Row
from secondlook.evaluation.rows import RowMaker, Seen
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.models.calls import refuse_missing_files
from secondlook.nodes.choices import by_letter, rendered
from secondlook.reading.calibration import load_calibration
from secondlook.store.answers import AnswerMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import TextIO

    from secondlook.evaluation.cache import Memory
    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.evaluation.library import EvaluatedLibrary
    from secondlook.evaluation.records import Case, Configuration
    from secondlook.library.report import Progress as Indexed
    from secondlook.settings.sections import Settings

ROWS_FILE = "rows.jsonl"


@dataclass(frozen=True, slots=True)
class Planned:
    """One configuration with the settings that it comes to."""

    configuration: Configuration
    settings: Settings


@dataclass(frozen=True, slots=True)
class Plan:
    data: EvalSet
    cases: tuple[Case, ...]
    configurations: tuple[Planned, ...]
    out: Path
    repeat: int = 1
    jobs: int = 1
    fresh: bool = False
    """Whether rows of an earlier run are set aside."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an evaluation is. `indexed` is set while documents are being taken in."""

    done: int = 0
    total: int = 0
    configuration: str = ""
    failed: int = 0
    warned: int = 0
    """Answers that came with a warning, as when no model could be reached."""
    reused: int = 0
    """Rows that an earlier run had made."""
    indexed: Indexed | None = None


def run(
    plan: Plan, memory: Memory, *, progress: Callable[[Progress], None] | None = None
) -> tuple[list[Row], float]:
    """The rows, in the order of configurations and questions, and the seconds indexing took."""
    with _held(plan.out), Kept.open(plan.out, fresh=plan.fresh) as kept:
        work = _Work(plan, memory, kept, progress or (lambda _: None))
        try:
            _run_through(work)
        finally:
            work.close()
        return work.in_order(), work.indexing


def _run_through(work: _Work) -> None:
    """In a thread of its own where a loop is running already, as in a notebook."""

    def work_off() -> None:
        # Not in the loop: there Ctrl-C would wait for an `await`, and indexing has none.
        work.index()
        asyncio.run(work.all())

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        work_off()
        return
    with ThreadPoolExecutor(1, "secondlook-eval") as apart:
        apart.submit(work_off).result()


@dataclass(slots=True)
class Kept:
    """Rows on disk, one line each. A line that was cut off by a crash is done again."""

    file: TextIO
    rows: dict[str, Row]

    @classmethod
    @contextmanager
    def open(cls, folder: Path, *, fresh: bool) -> Iterator[Kept]:
        path = folder / ROWS_FILE
        rows: dict[str, Row] = {}
        try:
            held = b"" if fresh or not path.exists() else path.read_bytes()
            for line in held.splitlines():
                try:
                    kept = json.loads(line)
                    rows[kept["key"]] = Row.model_validate(kept["row"], strict=False)
                except (ValueError, LookupError, TypeError, ValidationError):
                    continue  # cut off, or of another version: it is done again
            with path.open("w" if fresh else "a", encoding="utf-8") as file:
                if held and not held.endswith(b"\n"):
                    file.write("\n")
                yield cls(file, rows)
        except OSError as error:
            raise UsageError(
                f"results cannot be kept in {str(path)!r}: {error.strerror or error}",
                hint="make room, or name another folder with --out",
            ) from error

    def add(self, key: str, row: Row) -> None:
        self.rows[key] = row
        self.file.write(json.dumps({"key": key, "row": row.model_dump(mode="json")}) + "\n")
        self.file.flush()


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock", timeout=0)
        with lock:
            yield
    except Timeout:
        raise UsageError(
            f"another evaluation is writing to {str(folder)!r}",
            hint="wait for it, or name another folder with --out",
        ) from None
    except OSError as error:
        raise UsageError(
            f"results cannot be written to {str(folder)!r}: {error.strerror or error}",
            hint="name another folder with --out",
        ) from error


@dataclass(slots=True)
class _Work:
    plan: Plan
    memory: Memory
    kept: Kept
    tell: Callable[[Progress], None]
    indexing: float = 0.0
    _libraries: dict[str, EvaluatedLibrary] = field(default_factory=dict)
    _now: Progress = field(default_factory=Progress)

    def index(self) -> None:
        """The documents, as every configuration wants them that has something to answer."""
        plan = self.plan
        total = len(plan.configurations) * len(plan.cases) * plan.repeat
        self._now = Progress(total=total)
        for planned in plan.configurations:
            if any(self._missing(planned, repeat) for repeat in range(plan.repeat)):
                refuse_missing_files(RememberingModels(planned.settings, memory=self.memory))
                self._library(planned.settings)

    async def all(self) -> None:
        for planned in self.plan.configurations:
            for repeat in range(self.plan.repeat):
                await self._configuration(planned, repeat)

    def in_order(self) -> list[Row]:
        return [
            self.kept.rows[key]
            for planned in self.plan.configurations
            for repeat in range(self.plan.repeat)
            for key in self._keys(planned, repeat).values()
        ]

    def close(self) -> None:
        for library in self._libraries.values():
            library.close()

    def _keys(self, planned: Planned, repeat: int) -> dict[str, str]:
        """Of each question, the name of its row."""
        # All that shapes the rows of a configuration, but for the question.
        settings = planned.settings.model_dump(mode="json", exclude={"library", "runs", "ingest"})
        one = planned.configuration
        key = library_key(self.plan.data, planned.settings)
        name = _digest([one.name, __version__, _FORM, key, one.workflow, settings])
        return {case.id: _digest([name, asdict(case), repeat]) for case in self.plan.cases}

    def _missing(self, planned: Planned, repeat: int) -> list[Case]:
        keys = self._keys(planned, repeat)
        return [case for case in self.plan.cases if keys[case.id] not in self.kept.rows]

    async def _configuration(self, planned: Planned, repeat: int) -> None:
        keys = self._keys(planned, repeat)
        missing = self._missing(planned, repeat)
        held = [self.kept.rows[key] for key in keys.values() if key in self.kept.rows]
        self._advance(held, reused=len(held), configuration=planned.configuration.name)
        if not missing:
            return
        library = self._library(planned.settings)
        models = RememberingModels(planned.settings, memory=self.memory, repeat=repeat)
        # What one configuration found out must not help another.
        remembered = AnswerMemory.temporary()
        engine = Secondlook(library, settings=planned.settings, models=models, memory=remembered)
        data, tables = self.plan.data, None
        if data.form == "tables":
            tables = GivenTables(data.read_table, cache_folder() / "tables", library.worker)
        try:
            from secondlook.library.stores import load_embedder_for

            embedder = load_embedder_for(planned.settings, planned.settings.embedding.model)
            shelf = library.shelf()
            desk = _Desk(
                engine,
                RowMaker(
                    configuration=planned.configuration.name,
                    names=names_by_document(library, self.plan.data),
                    shelf=shelf,
                    truth=Truth(RememberingEmbedder(embedder, self.memory, passages=True)),
                    min_about=load_calibration(shelf.reader_name).min_about,
                ),
                planned,
                repeat,
                tables,
            )
            await self._answer(desk, missing, keys)
        finally:
            await engine.adetach()

    async def _answer(self, desk: _Desk, cases: Sequence[Case], keys: dict[str, str]) -> None:
        waiting = iter(cases)

        async def work() -> None:
            for case in waiting:
                row = await desk.row(case)
                self.kept.add(keys[case.id], row)
                self._advance([row])

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.plan.jobs, len(cases))):
                    group.create_task(work())
        except* SecondlookError as errors:  # of several alike one is enough to tell
            raise first_of(errors) from None

    def _library(self, settings: Settings) -> EvaluatedLibrary:
        key = library_key(self.plan.data, settings)
        if key not in self._libraries:
            began = time.perf_counter()
            self._libraries[key] = open_indexed(
                self.plan.data,
                settings,
                self.memory,
                progress=lambda indexed: self.tell(replace(self._now, indexed=indexed)),
            )
            self.indexing += time.perf_counter() - began
        return self._libraries[key]

    def _advance(
        self, rows: Sequence[Row], *, reused: int = 0, configuration: str | None = None
    ) -> None:
        now = self._now
        self._now = replace(
            now,
            done=now.done + len(rows),
            failed=now.failed + sum(row.status == "failed" for row in rows),
            warned=now.warned + sum(bool(row.warnings) for row in rows),
            reused=now.reused + reused,
            configuration=now.configuration if configuration is None else configuration,
        )
        self.tell(self._now)


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where the questions of one configuration are answered."""

    engine: Secondlook
    maker: RowMaker
    planned: Planned
    repeat: int
    tables: GivenTables | None = None

    async def row(self, case: Case) -> Row:
        """Never fails but for a call that could not work for any question."""
        saved, seen = Saved(), Seen()
        token = SAVED.set(saved)
        began = time.perf_counter()
        desk = None
        try:
            if self.tables is not None and case.table is not None:
                desk = await asyncio.to_thread(self.tables.desk, case.table)
            began = time.perf_counter()  # reading a table is paid once, by no configuration
            with given(desk):
                workflow = self.planned.configuration.workflow
                async with aclosing(
                    self.engine.astream(
                        asked(case, workflow), workflow=workflow, run=run_name(case, self.repeat)
                    )
                ) as events:
                    async for event in events:
                        seen.take(event)
        except (UsageError, SettingsError):
            raise
        except Exception as error:  # noqa: BLE001 - one question must not end an evaluation
            message = f"{type(error).__name__}: {error}"
            return self.maker.failed(case, message, repeat=self.repeat)
        finally:
            SAVED.reset(token)
        seconds = time.perf_counter() - began
        return self.maker.row(case, seen, repeat=self.repeat, seconds=seconds, saved=saved)


def first_of(errors: BaseExceptionGroup[SecondlookError]) -> SecondlookError:
    first = errors.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first


def planned_of(
    configurations: Sequence[Configuration], loaded: Callable[[dict[str, Any]], Settings]
) -> tuple[Planned, ...]:
    """The configurations with their settings; runs of an evaluation are not recorded as runs."""
    planned = []
    for configuration in configurations:
        workflow_named(configuration.workflow)  # a name that is no workflow is told now
        changes = {**configuration.changes, "runs.keep": 0}
        planned.append(Planned(configuration, loaded(changes)))
    return tuple(planned)


# How a question of a set is put to the engine, and by what its row is known again.

_FORM = 4
"""Counted up when rows tell more than before: those of an earlier form are made again."""
CHOOSING = frozenset({"research", "auto"})
"""Workflows that know choices for what they are."""


def asked(case: Case, workflow: str) -> str:
    """The question as the engine is asked it: with its choices, where it has any."""
    if not case.choices:
        return case.question
    if workflow in CHOOSING:
        return rendered(case.question, by_letter(list(case.choices.values())))
    choices = "\n".join(f"{letter}. {text}" for letter, text in case.choices.items())
    return f"{case.question}\n{choices}"


def run_name(case: Case, repeat: int) -> str:
    """The same for every configuration: the marks around evidence are derived from it, and equal
    prompts must be equal to the letter."""
    digest = hashlib.sha256(f"{case.id}\0{case.question}\0{repeat}".encode()).hexdigest()
    return f"eval-{digest[:12]}"


def _digest(shaping: list[Any]) -> str:
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:24]
