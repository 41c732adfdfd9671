"""Every question under every configuration. What is done is kept: the same plan goes on there."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from secondlook import __version__
from secondlook.engine.secondlook import Conversation, Secondlook
from secondlook.errors import SecondlookError, SettingsError, UsageError
from secondlook.evaluation.cache import SAVED, Memory, RememberingEmbedder, RememberingModels, Saved
from secondlook.evaluation.datasets.own import RESULTS_FOLDER
from secondlook.evaluation.faithfulness import Truth
from secondlook.evaluation.judging import outcome
from secondlook.evaluation.library import (
    EvaluatedLibrary,
    GivenTables,
    cache_folder,
    given,
    library_key,
    names_by_document,
    open_indexed,
)
from secondlook.evaluation.metrics import (
    answer_metrics,
    is_answered,
    is_guess,
    is_right,
    letter_of,
    parts_right,
    recall,
    retrieval_metrics,
    value_metrics,
)
from secondlook.evaluation.records import Analysed, Case, Configuration, Researched, Row
from secondlook.events import Answered, Event, PassagesFound
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.nodes.choices import by_letter, rendered
from secondlook.reading.calibration import load_calibration
from secondlook.settings import Loaded, load
from secondlook.store.answers import AnswerMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from secondlook.answer import Answer, SeenPassage
    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.library.library import Shelf
    from secondlook.library.report import Progress as Indexed
    from secondlook.settings.sections import Settings

ROWS_FILE = "rows.jsonl"


@dataclass(frozen=True, slots=True)
class Request:
    path: Path
    flags: Mapping[str, object] = field(default_factory=dict)  # shared by all configurations
    texts: Mapping[str, str] = field(default_factory=dict)  # likewise, as they were typed
    preset: str | None = None
    threads: str | None = None
    limit: int | None = None
    seed: int = 0
    repeat: int = 1
    jobs: int = 1
    out: Path | None = None
    metric: str | None = None
    fresh: bool = False
    study: str = ""
    command: str = ""

    @property
    def folder(self) -> Path:
        name = self.path.absolute().name.partition(".")[0] or "set"
        return self.out or Path(RESULTS_FOLDER) / (f"{name}-{self.study}" if self.study else name)

    def load(self, changes: Mapping[str, Any] | None = None) -> Loaded:
        return load({**self.flags, **(changes or {})}, texts=self.texts, preset=self.preset)


@dataclass(frozen=True, slots=True)
class Progress:
    done: int = 0
    total: int = 0
    configuration: str = ""
    failed: int = 0
    warned: int = 0  # answers that came with a warning, as when no model could be reached
    reused: int = 0  # rows that an earlier run had made
    indexed: Indexed | None = None


def run(
    request: Request,
    data: EvalSet,
    configurations: Sequence[tuple[Configuration, Settings]],
    memory: Memory,
    *,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[list[Row], float]:
    """The rows, and the seconds that indexing took."""
    out = request.folder
    try:
        out.mkdir(parents=True, exist_ok=True)
        tell = progress or (lambda _: None)
        with (
            FileLock(out / ".lock", timeout=0),
            closing(_Work(request, data, configurations, memory, tell)) as work,
        ):
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                work.off()
            else:  # a thread of its own where a loop is running already, as in a notebook
                with ThreadPoolExecutor(1, "secondlook-eval") as apart:
                    apart.submit(work.off).result()
            rows = [work.rows[key] for part in work.parts for key in part.keys.values()]
            return rows, work.indexing
    except Timeout:
        raise UsageError(
            f"another evaluation is writing to {str(out)!r}",
            hint="wait for it, or name another folder with --out",
        ) from None
    except OSError as error:
        raise UsageError(
            f"results cannot be written to {str(out)!r}: {error.strerror or error}",
            hint="make room, or name another folder with --out",
        ) from error


@dataclass(frozen=True, slots=True)
class _Part:
    """One configuration, one time."""

    name: str
    workflow: str
    settings: Settings
    repeat: int
    keys: dict[str, str]  # of each question: what its row is known by


class _Work:
    def __init__(
        self,
        request: Request,
        data: EvalSet,
        configurations: Sequence[tuple[Configuration, Settings]],
        memory: Memory,
        tell: Callable[[Progress], None],
    ) -> None:
        self.request, self.data, self.memory, self.tell = request, data, memory, tell
        self.indexing = 0.0
        self.rows: dict[str, Row] = {}
        self.parts: list[_Part] = []
        self._libraries: dict[str, EvaluatedLibrary] = {}
        threads: dict[str, list[Case]] = {}
        for case in data.cases:
            threads.setdefault(case.thread or case.id, []).append(case)
        self.threads = [*threads.values()]
        for one, settings in configurations:
            told = settings.model_dump(mode="json", exclude={"library", "runs", "ingest"})
            key = library_key(data, settings)
            name = _digest([one.name, __version__, _FORM, key, one.workflow, told])
            for repeat in range(request.repeat):
                keys = {
                    case.id: _digest([name, *map(asdict, thread[: at + 1]), repeat])
                    for thread in self.threads
                    for at, case in enumerate(thread)
                }
                self.parts.append(_Part(one.name, one.workflow, settings, repeat, keys))
        self._now = Progress(total=len(self.parts) * len(data.cases))
        path, fresh = request.folder / ROWS_FILE, request.fresh
        held = b"" if fresh or not path.exists() else path.read_bytes()
        for line in held.splitlines():
            try:
                kept = json.loads(line)
                self.rows[kept["key"]] = Row.model_validate(kept["row"], strict=False)
            except (ValueError, LookupError, TypeError):
                continue  # cut off by a crash, or of another version: it is done again
        self._file = path.open("w" if fresh else "a", encoding="utf-8")
        if held and not held.endswith(b"\n"):
            self._file.write("\n")

    def close(self) -> None:
        self._file.close()
        for library in self._libraries.values():
            library.close()

    def off(self) -> None:
        # Not in the loop: there Ctrl-C would wait for an `await`, and indexing has none.
        for part in self.parts:
            if any(key not in self.rows for key in part.keys.values()):
                RememberingModels(part.settings, memory=self.memory).refuse_unfit()
                self._library(part.settings)
        asyncio.run(self._all())

    async def _all(self) -> None:
        from secondlook.library.stores import load_embedder_for

        for part in self.parts:
            # What a conversation came to is not kept: one that was interrupted begins again.
            missing = [
                thread
                for thread in self.threads
                if any(part.keys[case.id] not in self.rows for case in thread)
            ]
            again = {case.id for thread in missing for case in thread}
            held = [self.rows[key] for case, key in part.keys.items() if case not in again]
            self._now = replace(
                self._now, reused=self._now.reused + len(held), configuration=part.name
            )
            self._advance(held)
            if not missing:
                continue
            settings, library = part.settings, self._library(part.settings)
            engine = Secondlook(
                library,
                settings=settings,
                models=RememberingModels(settings, memory=self.memory, repeat=part.repeat),
                # What one configuration found out must not help another.
                memory=AnswerMemory.temporary(),
            )
            tables = None
            if self.data.form == "tables":
                folder = cache_folder() / "tables"
                tables = GivenTables(self.data.read_table, folder, library.worker)
            try:
                embedder = load_embedder_for(settings)
                shelf = library.shelf()
                maker = RowMaker(
                    part.name,
                    names=names_by_document(library, self.data),
                    shelf=shelf,
                    truth=Truth(RememberingEmbedder(embedder, self.memory, passages=True)),
                    min_about=load_calibration(shelf.reader_name).min_about,
                    repeat=part.repeat,
                )
                await self._answer(part, missing, engine, maker, tables)
            finally:
                await engine.adetach()

    async def _answer(
        self,
        part: _Part,
        threads: Sequence[Sequence[Case]],
        engine: Secondlook,
        maker: RowMaker,
        tables: GivenTables | None,
    ) -> None:
        waiting = iter(threads)

        async def work() -> None:
            for thread in waiting:
                talk = Conversation(engine, workflow=part.workflow)
                for case in thread:
                    row = await _row(case, part.workflow, talk, maker, tables)
                    key = part.keys[case.id]
                    self.rows[key] = row
                    line = json.dumps({"key": key, "row": row.model_dump(mode="json")})
                    self._file.write(f"{line}\n")
                    self._file.flush()
                    self._advance([row])

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.request.jobs, len(threads))):
                    group.create_task(work())
        except* SecondlookError as errors:  # of several alike one is enough to tell
            first: BaseException = errors
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            raise first from None

    def _library(self, settings: Settings) -> EvaluatedLibrary:
        key = library_key(self.data, settings)
        if key not in self._libraries:
            began = time.perf_counter()
            self._libraries[key] = open_indexed(
                self.data,
                settings,
                self.memory,
                progress=lambda indexed: self.tell(replace(self._now, indexed=indexed)),
            )
            self.indexing += time.perf_counter() - began
        return self._libraries[key]

    def _advance(self, rows: Sequence[Row]) -> None:
        self._now = replace(
            self._now,
            done=self._now.done + len(rows),
            failed=self._now.failed + sum(row.status == "failed" for row in rows),
            warned=self._now.warned + sum(bool(row.warnings) for row in rows),
        )
        self.tell(self._now)


async def _row(
    case: Case, workflow: str, talk: Conversation, maker: RowMaker, tables: GivenTables | None
) -> Row:
    """Never fails but for a call that could not work for any question."""
    saved, seen, desk = Saved(), Seen(), None
    token = SAVED.set(saved)
    try:
        if tables is not None and case.table is not None:
            desk = await asyncio.to_thread(tables.desk, case.table)
        began = time.perf_counter()  # reading a table is paid once, by no configuration
        with given(desk):
            events = talk.astream(asked(case, workflow), run=run_name(case, maker.repeat))
            async with aclosing(events):
                async for event in events:
                    seen.take(event)
    except (UsageError, SettingsError):
        raise
    except Exception as error:  # noqa: BLE001 - one question must not end an evaluation
        return maker.failed(case, f"{type(error).__name__}: {error}")
    finally:
        SAVED.reset(token)
    return maker.row(case, seen, seconds=time.perf_counter() - began, saved=saved)


def with_settings(
    configurations: Sequence[Configuration], loaded: Callable[[dict[str, Any]], Settings]
) -> list[tuple[Configuration, Settings]]:
    """The configurations with their settings; runs of an evaluation are not recorded as runs."""
    for one in configurations:
        workflow_named(one.workflow)  # a name that is no workflow is told now
    return [(one, loaded({**one.changes, "runs.keep": 0})) for one in configurations]


# How a question of a set is put to the engine, and by what its row is known again.

_FORM = 5  # counted up when rows tell more than before: those of an earlier form are made again
CHOOSING = frozenset({"research", "auto"})  # workflows that know choices for what they are


def asked(case: Case, workflow: str) -> str:
    if not case.choices:
        return case.question
    if workflow in CHOOSING:
        return rendered(case.question, by_letter(list(case.choices.values())))
    choices = "\n".join(f"{letter}. {text}" for letter, text in case.choices.items())
    return f"{case.question}\n{choices}"


def run_name(case: Case, repeat: int) -> str:
    """The same for every configuration: equal prompts must be equal to the letter."""
    digest = hashlib.sha256(f"{case.id}\0{case.question}\0{repeat}".encode()).hexdigest()
    return f"eval-{digest[:12]}"


def _digest(shaping: list[Any]) -> str:
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:24]


# What came of one question, as a row: the answer held against what the set knows about it.


@dataclass(slots=True)
class Seen:
    first: tuple[SeenPassage, ...] = ()  # as the first search found them, before the reader looked
    answer: Answer | None = None

    def take(self, event: Event) -> None:
        if isinstance(event, PassagesFound):
            self.first = self.first or event.passages
        elif isinstance(event, Answered):
            self.answer = event.answer


_OF_ANSWER = {"status", "stop_reason", "method", "short", "text", "needs_review", "queries"}
_OF_USAGE = {"tokens_in", "tokens_out", "tokens_cached", "characters_in", "characters_out", "cost"}
"""What a row has under the same name."""


@dataclass(frozen=True, slots=True)
class RowMaker:
    configuration: str
    names: Mapping[str, tuple[str, ...]]  # what the set calls each document of the library
    shelf: Shelf
    truth: Truth
    min_about: float = 0.0  # relevance above which a passage is about the question
    repeat: int = 0

    def row(self, case: Case, seen: Seen, *, seconds: float, saved: Saved) -> Row:
        answer = seen.answer
        if answer is None:
            return self.failed(case, "the run ended without an answer")
        usage = answer.usage
        assessed = (one.numbers for one in answer.steps if one.node.startswith("assess"))
        decision: Mapping[str, Any] = next(assessed, {})
        read = [(one, score) for one in answer.passages if (score := one.rerank_score) is not None]
        graded = [one for one in answer.passages if one.grade != "not graded"]
        calls: Counter[str] = Counter()
        for call in usage.by_node:
            calls[call.node] += call.calls
        taken: dict[str, float] = {}
        for step in answer.steps:
            taken[step.node] = taken.get(step.node, 0.0) + step.seconds
        said = [one.message for one in answer.warnings]
        why = "; ".join(said) or answer.text or "it failed"
        right, judged = is_right(case, answer), outcome(case, answer)
        if judged is not None and is_answered(answer):
            right = {"right": True, "wrong": False}.get(judged)
        return Row(
            **self._known(case),
            **answer.model_dump(include=_OF_ANSWER),
            **usage.model_dump(include=_OF_USAGE),
            chosen=letter_of(case, answer),
            ungrounded=is_guess(answer),
            confidence=answer.confidence.value,
            right=right,
            outcome=judged,
            tier=answer.tier,
            metrics=self._metrics(case, seen.first, answer),
            read=tuple((self._grade(case, one), round(score, 4)) for one, score in read),
            # A glance is a first guess and no judgement.
            judged=tuple(
                (self._grade(case, one), one.answer_score is not None and score > self.min_about)
                for one, score in read
            ),
            graded=tuple((self._grade(case, one), one.grade == "relevant") for one in graded),
            graded_by=tuple(one.graded_by for one in graded),
            grounded=answer.grounded.value,
            useful=answer.useful.value,
            fallback="fall_back" in taken,
            web="search_web" in taken,
            retries=max(0, answer.attempts - 1),
            regenerations=answer.regenerations,
            trigger=decision.get("value"),
            trigger_below=decision.get("threshold"),
            shown=len(shown(answer)),
            research=_researched(answer),
            analysed=_analysed(case, answer) if case.table else None,
            llm_calls=usage.calls,
            calls_by_node=dict(calls),
            parse_failures=sum(call.parse_failures for call in usage.by_node),
            seconds=round(seconds + saved.seconds, 4),
            seconds_by_node={
                node: round(spent + saved.by_node.get(node, 0.0), 4)
                for node, spent in taken.items()
            },
            warnings=tuple(f"{one.node}: {one.message}" for one in answer.warnings),
            error=why if answer.status == "failed" else None,
        )

    def failed(self, case: Case, error: str) -> Row:
        """A question of which nothing came: 0 in all that it is measured by."""
        metrics: dict[str, float] = {}
        if case.answerable and case.gold:
            missed = retrieval_metrics(case.gold, [])
            metrics = missed | {f"{name}_before": value for name, value in missed.items()}
            metrics["recall_shown"] = 0.0
        if case.choices:
            metrics["accuracy"] = 0.0
        parts = {name: False for name, _ in case.values}
        return Row(
            **self._known(case),
            status="failed",
            stop_reason="error",
            metrics=metrics | (value_metrics(parts) if case.table else {}),
            analysed=Analysed(parts=parts) if case.table else None,
            outcome=outcome(case, None),
            error=error,
        )

    def _known(self, case: Case) -> dict[str, Any]:
        return {
            "configuration": self.configuration,
            "case": case.id,
            "repeat": self.repeat,
            "question": case.question,
            "expected": case.answers,
            "type": case.type,
            "answerable": case.answerable,
            "scored": case.scored,
        }

    def _metrics(
        self, case: Case, first: Sequence[SeenPassage], answer: Answer
    ) -> dict[str, float]:
        found = answer_metrics(case, answer)
        if case.table:  # what is said there rests on no passage
            return found | self.truth.leaked(case, answer)
        if case.answerable and case.gold:
            before = sorted(first, key=lambda item: -(item.fusion_score or 0.0))
            found |= retrieval_metrics(case.gold, self._named(case, before), suffix="_before")
            found |= retrieval_metrics(case.gold, self._named(case, answer.passages))
            found["recall_shown"] = recall(case.gold, self._named(case, shown(answer)))
        cited = [self._name(case, item.document) for item in answer.citations]
        evidence: list[str] = []
        if answer.claims or answer.text:
            kept = [item for item in answer.passages if item.kept]
            held = self.shelf.passages([item.id for item in kept if item.text is None])
            texts = (held[item.id].text if item.id in held else item.text for item in kept)
            evidence = [text for text in texts if text]
        return found | self.truth.metrics(case, answer, evidence=evidence, cited=cited)

    def _named(self, case: Case, passages: Iterable[SeenPassage]) -> list[str]:
        return [self._name(case, item.document) for item in passages]

    def _name(self, case: Case, document: str) -> str:
        """The set's name of a document; of several for the same text the one that is gold."""
        names = self.names.get(document, (document,))
        return next((name for name in names if name in case.gold), names[0])

    def _grade(self, case: Case, passage: SeenPassage) -> int:
        return case.gold.get(self._name(case, passage.document), 0)


def shown(answer: Answer) -> list[SeenPassage]:
    """The passages that the answer could rest on: of research, those of all its steps."""
    steps = answer.research.steps if answer.research else ()
    of_steps = {item.passage for step in steps for item in step.evidence if item.kept}
    return [item for item in answer.passages if item.kept or item.id in of_steps]


def _researched(answer: Answer) -> Researched | None:
    research = answer.research
    if research is None:
        return None
    same = set(Researched.model_fields) - {"screen", "recalled"}
    return Researched(
        **research.model_dump(include=same),
        screen=research.screen.verdict,
        recalled=research.recalled is not None,
    )


def _analysed(case: Case, answer: Answer) -> Analysed:
    analysis, parts = answer.analysis, parts_right(case, answer)
    if analysis is None:
        return Analysed(parts=parts)
    # What our own code computes, or fails to, is no code that a model wrote.
    written = () if analysis.query is not None else analysis.attempts
    return Analysed(
        kind=analysis.kind,
        parts=parts,
        attempts=len(written),
        failed_attempts=sum(one.status != "ok" for one in written),
        remedies=len(analysis.remedies),
    )
