"""Every question under every configuration. What is done is kept: the same plan goes on there."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from pydantic import ValidationError

from secondlook import __version__
from secondlook.engine.secondlook import Conversation, Secondlook
from secondlook.errors import SecondlookError, SettingsError, UsageError
from secondlook.evaluation.cache import SAVED, RememberingEmbedder, RememberingModels, Saved
from secondlook.evaluation.faithfulness import Truth
from secondlook.evaluation.judging import outcome
from secondlook.evaluation.library import (
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
from secondlook.evaluation.records import Analysed, Researched, Row
from secondlook.events import Answered, PassagesFound
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.models.calls import refuse_missing_files
from secondlook.nodes.choices import by_letter, rendered
from secondlook.reading.calibration import load_calibration
from secondlook.store.answers import AnswerMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from secondlook.answer import Answer, SeenPassage, Step
    from secondlook.evaluation.cache import Memory
    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.evaluation.library import EvaluatedLibrary
    from secondlook.evaluation.records import Case, Configuration
    from secondlook.events import Event
    from secondlook.library.library import Shelf
    from secondlook.library.report import Progress as Indexed
    from secondlook.settings.sections import Settings

ROWS_FILE = "rows.jsonl"


@dataclass(frozen=True, slots=True)
class Planned:
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
    fresh: bool = False  # whether rows of an earlier run are set aside


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
    plan: Plan, memory: Memory, *, progress: Callable[[Progress], None] | None = None
) -> tuple[list[Row], float]:
    try:
        plan.out.mkdir(parents=True, exist_ok=True)
        with (
            FileLock(plan.out / ".lock", timeout=0),
            closing(_Work(plan, memory, progress or (lambda _: None))) as work,
        ):
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                work.off()
            else:  # a thread of its own where a loop is running already, as in a notebook
                with ThreadPoolExecutor(1, "secondlook-eval") as apart:
                    apart.submit(work.off).result()
            return [work.rows[key] for _, _, keys in work.parts for key in keys.values()], (
                work.indexing
            )
    except Timeout:
        raise UsageError(
            f"another evaluation is writing to {str(plan.out)!r}",
            hint="wait for it, or name another folder with --out",
        ) from None
    except OSError as error:
        raise UsageError(
            f"results cannot be written to {str(plan.out)!r}: {error.strerror or error}",
            hint="make room, or name another folder with --out",
        ) from error


class _Work:
    def __init__(self, plan: Plan, memory: Memory, tell: Callable[[Progress], None]) -> None:
        self.plan = plan
        self.memory = memory
        self.tell = tell
        self.indexing = 0.0
        self.rows: dict[str, Row] = {}
        self.parts: list[tuple[Planned, int, dict[str, str]]] = []
        """Each configuration and repeat, with the name of the row of each question."""
        self._libraries: dict[str, EvaluatedLibrary] = {}
        threads: dict[str, list[Case]] = {}
        for case in plan.cases:
            threads.setdefault(case.thread or case.id, []).append(case)
        self.threads = [*threads.values()]
        for planned in plan.configurations:
            settings = planned.settings.model_dump(
                mode="json", exclude={"library", "runs", "ingest"}
            )
            one, key = planned.configuration, library_key(plan.data, planned.settings)
            name = _digest([one.name, __version__, _FORM, key, one.workflow, settings])
            for repeat in range(plan.repeat):
                keys = {
                    case.id: _digest([name, *map(asdict, thread[: at + 1]), repeat])
                    for thread in self.threads
                    for at, case in enumerate(thread)
                }
                self.parts.append((planned, repeat, keys))
        self._now = Progress(total=len(self.parts) * len(plan.cases))
        path = plan.out / ROWS_FILE
        held = b"" if plan.fresh or not path.exists() else path.read_bytes()
        for line in held.splitlines():
            try:
                kept = json.loads(line)
                self.rows[kept["key"]] = Row.model_validate(kept["row"], strict=False)
            except (ValueError, LookupError, TypeError, ValidationError):
                continue  # cut off by a crash, or of another version: it is done again
        self._file = path.open("w" if plan.fresh else "a", encoding="utf-8")
        if held and not held.endswith(b"\n"):
            self._file.write("\n")

    def close(self) -> None:
        self._file.close()
        for library in self._libraries.values():
            library.close()

    def off(self) -> None:
        # Not in the loop: there Ctrl-C would wait for an `await`, and indexing has none.
        for planned, _, keys in self.parts:
            if any(key not in self.rows for key in keys.values()):
                refuse_missing_files(RememberingModels(planned.settings, memory=self.memory))
                self._library(planned.settings)
        asyncio.run(self._all())

    async def _all(self) -> None:
        for planned, repeat, keys in self.parts:
            # What a conversation came to is not kept: one that was interrupted begins again.
            missing = [
                thread
                for thread in self.threads
                if any(keys[case.id] not in self.rows for case in thread)
            ]
            again = {case.id for thread in missing for case in thread}
            held = [self.rows[key] for case, key in keys.items() if case not in again]
            self._advance(held, reused=len(held), configuration=planned.configuration.name)
            if missing:
                from secondlook.library.stores import load_embedder_for

                library = self._library(planned.settings)
                models = RememberingModels(planned.settings, memory=self.memory, repeat=repeat)
                # What one configuration found out must not help another.
                remembered = AnswerMemory.temporary()
                engine = Secondlook(
                    library, settings=planned.settings, models=models, memory=remembered
                )
                data, tables = self.plan.data, None
                if data.form == "tables":
                    tables = GivenTables(data.read_table, cache_folder() / "tables", library.worker)
                try:
                    embedder = load_embedder_for(planned.settings, planned.settings.embedding.model)
                    shelf = library.shelf()
                    maker = RowMaker(
                        configuration=planned.configuration.name,
                        names=names_by_document(library, data),
                        shelf=shelf,
                        truth=Truth(RememberingEmbedder(embedder, self.memory, passages=True)),
                        min_about=load_calibration(shelf.reader_name).min_about,
                    )
                    await self._answer(_Desk(engine, maker, planned, repeat, tables), missing, keys)
                finally:
                    await engine.adetach()

    async def _answer(
        self, desk: _Desk, threads: Sequence[Sequence[Case]], keys: dict[str, str]
    ) -> None:
        waiting = iter(threads)

        async def work() -> None:
            for thread in waiting:
                talk = Conversation(desk.engine, workflow=desk.planned.configuration.workflow)
                for case in thread:
                    row = await desk.row(case, talk)
                    key = keys[case.id]
                    self.rows[key] = row
                    line = json.dumps({"key": key, "row": row.model_dump(mode="json")})
                    self._file.write(f"{line}\n")
                    self._file.flush()
                    self._advance([row])

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.plan.jobs, len(threads))):
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
    engine: Secondlook
    maker: RowMaker
    planned: Planned
    repeat: int
    tables: GivenTables | None = None

    async def row(self, case: Case, talk: Conversation) -> Row:
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
                name = run_name(case, self.repeat)
                async with aclosing(talk.astream(asked(case, workflow), run=name)) as events:
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

    def row(self, case: Case, seen: Seen, *, repeat: int, seconds: float, saved: Saved) -> Row:
        answer = seen.answer
        if answer is None:
            return self.failed(case, "the run ended without an answer", repeat=repeat)
        usage = answer.usage
        nodes = {step.node for step in answer.steps}
        trigger = next((one for one in answer.steps if one.node.startswith("assess")), None)
        read = [(one, score) for one in answer.passages if (score := one.rerank_score) is not None]
        graded = [one for one in answer.passages if one.grade != "not graded"]
        calls: Counter[str] = Counter()
        for call in usage.by_node:
            calls[call.node] += call.calls
        said = [one.message for one in answer.warnings]
        why = "; ".join(said) or answer.text or "it failed"
        right, judged = is_right(case, answer), outcome(case, answer)
        if judged is not None and is_answered(answer):
            right = {"right": True, "wrong": False}.get(judged)
        return Row(
            **self._known(case, repeat),
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
            fallback="fall_back" in nodes,
            web="search_web" in nodes,
            retries=max(0, answer.attempts - 1),
            regenerations=answer.regenerations,
            trigger=_number(trigger, "value"),
            trigger_below=_number(trigger, "threshold"),
            shown=len(shown(answer)),
            research=_researched(answer),
            analysed=_analysed(case, answer) if case.table else None,
            llm_calls=usage.calls,
            calls_by_node=dict(calls),
            parse_failures=sum(call.parse_failures for call in usage.by_node),
            seconds=round(seconds + saved.seconds, 4),
            seconds_by_node=_by_node(answer.steps, saved),
            warnings=tuple(f"{one.node}: {one.message}" for one in answer.warnings),
            error=why if answer.status == "failed" else None,
        )

    def failed(self, case: Case, error: str, *, repeat: int) -> Row:
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
            **self._known(case, repeat),
            status="failed",
            stop_reason="error",
            metrics=metrics | (value_metrics(parts) if case.table else {}),
            analysed=Analysed(parts=parts) if case.table else None,
            outcome=outcome(case, None),
            error=error,
        )

    def _known(self, case: Case, repeat: int) -> dict[str, Any]:
        return {
            "configuration": self.configuration,
            "case": case.id,
            "repeat": repeat,
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


def _number(step: Step | None, name: str) -> float | None:
    value = step.numbers.get(name) if step else None
    return float(value) if isinstance(value, int | float) else None


def _by_node(steps: Sequence[Step], saved: Saved) -> dict[str, float]:
    taken: dict[str, float] = {}
    for step in steps:
        taken[step.node] = taken.get(step.node, 0.0) + step.seconds
    return {
        node: round(seconds + saved.by_node.get(node, 0.0), 4) for node, seconds in taken.items()
    }
