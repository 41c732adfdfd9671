"""A library, models and a record of runs together: what a program embeds."""

from __future__ import annotations

import asyncio
import queue
import threading
from contextlib import aclosing, closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from secondlook.engine.execution import Draining, Graphs, Work
from secondlook.engine.record import Recorder, RunStore
from secondlook.engine.request import EngineOptions, chosen_settings, desk_of, ledger_for
from secondlook.engine.run import Run, titles_within
from secondlook.engine.services import (
    JournaledSandbox,
    JournaledWeb,
    OneSandbox,
    RunKept,
    RunPages,
    current_visit,
    own_memory,
)
from secondlook.errors import SecondlookError, UsageError
from secondlook.events import Answered, Event
from secondlook.models.budget import keep_refusal
from secondlook.models.calls import Models, open_models
from secondlook.models.journal import Calls
from secondlook.nodes import ranking
from secondlook.nodes.context import Context
from secondlook.nodes.limits import rewrites
from secondlook.nodes.state import RELEVANT
from secondlook.processes import Closing
from secondlook.reading.calibration import CALIBRATION_FILE
from secondlook.reading.support import load_support
from secondlook.roles.follow_up import Turn
from secondlook.telemetry import observer_for

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from secondlook.answer import Answer
    from secondlook.engine.request import AskOptions, QuestionOptions
    from secondlook.library.library import Library
    from secondlook.retrieval.web.port import WebSearch
    from secondlook.settings.sections import Settings
    from secondlook.store.answers import AnswerMemory


class Secondlook(Closing):
    """Answers questions over one library. Use it in a `with` block, or close it. Threads and tasks
    may share one. `ask` and `stream` are the same as `aask` and `astream` for code that is not
    async; they also work where an event loop is already running."""

    def __init__(
        self,
        library: Library,
        *,
        settings: Settings | None = None,
        models: Models | None = None,
        web: WebSearch | None = None,
        memory: AnswerMemory | None = None,
    ) -> None:
        """Whoever is given closes with it."""
        self.library = library
        self.settings = settings or library.settings
        self.memory = memory or own_memory(library, self.settings)
        self._models = models or open_models(self.settings)
        self._web = web
        self._observer = observer_for(self.settings)
        self._recorder = Recorder(self.settings.runs)
        self._graphs = Graphs(self.settings)
        self._draining = Draining()
        self._sandbox = OneSandbox(self.settings.sandbox.backend)
        self._loop = LoopThread()
        self._work = Work(
            self.settings, self._recorder, self._observer, self._graphs, self._draining
        )

    @classmethod
    def open(cls, library: str | Path | None = None, **options: Unpack[EngineOptions]) -> Self:
        """Open the library at that path (default: the configured one)."""
        from secondlook.library.library import Library

        chosen = chosen_settings(library, **options)
        return cls(Library.open(library, create=False, settings=chosen), settings=chosen)

    def close(self) -> None:
        self._loop.run(self._let_go())
        self._loop.close()
        self._recorder.close()
        self.library.close()

    async def aclose(self) -> None:
        await self.adetach()
        self.library.close()

    async def adetach(self) -> None:
        """Let go of all but the library, for a caller that goes on with it."""
        await self._let_go()
        await asyncio.to_thread(self._loop.close)
        self._recorder.close()

    async def _let_go(self) -> None:
        await self._models.aclose()
        if self._web is not None:
            await self._web.aclose()
        if self.memory is not None:
            self.memory.close()
        if self._sandbox.opened is not None:
            await asyncio.to_thread(self._sandbox.opened.close)

    # Asking

    def ask(
        self, question: str, *, run: str | None = None, **options: Unpack[QuestionOptions]
    ) -> Answer:
        return self._loop.run(self.aask(question, run=run, **options))

    def stream(
        self, question: str, *, run: str | None = None, **options: Unpack[QuestionOptions]
    ) -> Generator[Event]:
        return self._loop.iterate(self.astream(question, run=run, **options))

    async def aask(
        self, question: str, *, run: str | None = None, **options: Unpack[QuestionOptions]
    ) -> Answer:
        return await last_answer(self.astream(question, run=run, **options))

    async def astream(
        self, question: str, *, run: str | None = None, **options: Unpack[QuestionOptions]
    ) -> AsyncGenerator[Event]:
        """Every event of the run, ending in `Answered`. Leaving early cancels the run. `run` is the
        run's id where the same question must make the same prompts; nobody may guess it."""
        asked = Run(question=question, **options)
        if run is not None:
            asked = replace(asked, id=run)
        async with aclosing(self._events(asked)) as events:
            async for event in events:
                yield event

    def resume(self, run: str) -> Answer:
        """Resume a run that was interrupted; what it had done and paid for is not done again."""
        return self._loop.run(self.aresume(run))

    async def aresume(self, run: str) -> Answer:
        return await last_answer(self.aresume_stream(run))

    async def aresume_stream(self, run: str) -> AsyncGenerator[Event]:
        again = await asyncio.to_thread(self._interrupted, run)
        async with aclosing(self._events(again)) as events:
            async for event in events:
                yield event

    def note(self, question: str, *, run: str, **options: Unpack[QuestionOptions]) -> None:
        """Record a question that waits, so that it can be resumed."""
        self._record(Run(question=question, id=run, **options).prepared(self.settings))

    def unnote(self, run: str) -> None:
        """A question that waited is not waited for any more."""
        self._recorder.leave(run)

    def drain(self) -> None:
        """Let each run finish the step that it is at, and leave it there: its caller gets
        `RunStopped`, and it can be resumed. Signal handlers may call it."""
        self._draining.ask()

    # How it is done

    def _interrupted(self, run: str) -> Run:
        with RunStore(self.settings.runs, create=False) as store:
            stored = store.get(run)
        if stored.answer is not None:
            said = f"run {stored.run!r} is finished"
            raise UsageError(said, hint=f"secondlook runs show {stored.run}")
        return Run.from_record(stored, self.settings.runs)

    def _record(self, run: Run) -> None:
        self._recorder.start(
            run.id,
            question=run.question,
            workflow=run.workflow or "",
            created=run.created,
            request=run.to_record(self.settings),
        )

    async def _events(self, asked: Run) -> AsyncGenerator[Event]:
        """The work goes on in a task of its own, so that a deadline can end it at any point."""
        self._web_search()  # a setting that cannot work is told before a run begins
        run = asked if asked.scope is not None else asked.prepared(self.settings)
        self._record(run)
        try:
            try:
                if run.scope is None:
                    journal = self._recorder.journal(run.id)
                    earlier = self._recorder.earlier(run.id) if run.resumed else None
                    library, models = self.library, self._models
                    run = await run.begun(library, self.settings, models, journal, earlier)
                    self._recorder.begin(run.id, run.to_record(self.settings))
                context = self._context(run)
            except BaseException as error:
                if isinstance(error, SecondlookError) and run.scope is None and not run.resumed:
                    self._recorder.discard(run.id)  # it cannot be resumed
                else:
                    self._recorder.leave(run.id)
                raise
            events: asyncio.Queue[Event | None] = asyncio.Queue()
            working = self._work.do(run, context, events.put_nowait)
            work = asyncio.create_task(working, name=f"secondlook-{run.id}")
            work.add_done_callback(lambda _: events.put_nowait(None))
            try:
                while (event := await events.get()) is not None:
                    yield event
                await work
            finally:
                work.cancel()
                await asyncio.wait([work])
        finally:
            if run.handed is not None:
                run.handed.close()

    def _context(self, run: Run) -> Context:
        workflow, scope = run.workflow, run.scope
        assert workflow is not None  # noqa: S101
        assert scope is not None  # noqa: S101
        calls = Calls(run.id, self._recorder.journal(run.id), current_visit)
        web = self._web_search()
        settings, ledger = run.settings(self.settings), run.ledger
        if ledger is None:  # the run is resumed, with what it has spent so far
            ledger = ledger_for(settings, self._models, workflow, run.worked_on.asked)
            ledger.take_up(self._recorder.earlier(run.id))
        ledger.on_refusal = partial(keep_refusal, calls.journal)
        return Context(
            run=run.id,
            created=run.created,
            workflow=workflow,
            question=run.question,
            settings=settings,
            shelf=self.library.shelf(),
            models=self._models.asker(
                run=run.id,
                workflow=workflow,
                ledger=ledger,
                journal=calls.journal,
                observer=self._observer,
                visit=current_visit,
            ),
            ledger=ledger,
            support=load_support(self.settings.models.servers.support),
            pages=RunPages(run.id, self._recorder),
            web=None if web is None else JournaledWeb(web, calls),
            desk=desk_of(self.library, workflow, scope, run.handed),
            sandbox=JournaledSandbox(self._sandbox, calls),
            kept=RunKept(run.id, self._recorder),
            memory=self.memory,
            calibration_file=self.library.path / CALIBRATION_FILE,
            workflows=self._graphs,
            titles=titles_within(self.library),
            tables_given=run.handed is not None,
        )

    def _web_search(self) -> WebSearch | None:
        if self._web is None and self.settings.web.enable_web_search:
            from secondlook.retrieval.chunk import ChunkOptions
            from secondlook.retrieval.web.service import open_web

            settings = self.settings.chunking
            self._web = open_web(
                self.settings.web,
                token_starts=self.library.embedder().token_starts,
                chunking=ChunkOptions(tokens=settings.tokens, overlap=settings.overlap),
                language=self.library.language,
            )
        return self._web


async def last_answer(events: AsyncIterator[Event]) -> Answer:
    async for event in events:
        if isinstance(event, Answered):
            answer = event.answer
    return answer


# A workflow as users of LangGraph know it.


class Graph:
    """`run` gives the last state of a workflow, `stream` the state after each node as
    `{node: state}`. A state has what the nodes keep, and in plain form the `generation`, its
    `documents` with `relevance_scores`, `retry_count`, `web_search`, `hallucination_check` and
    `usefulness_check`; the last one has the `Answer`. Options are those of `astream`."""

    def __init__(self, engine: Secondlook, workflow: str = "corrective", **options: Any) -> None:
        self.engine = engine
        self._options: dict[str, Any] = {**options, "workflow": workflow}

    def run(self, question: str) -> dict[str, Any]:
        *_, last = self.stream(question)
        return last["finish"]

    def stream(self, question: str) -> Generator[dict[str, dict[str, Any]]]:
        return self.engine._loop.iterate(self.astream(question))  # noqa: SLF001 - one module

    async def astream(self, question: str) -> AsyncGenerator[dict[str, dict[str, Any]]]:
        reached: list[tuple[str, dict[str, Any], Context]] = []
        last: dict[str, Any] = {"question": question}

        def watch(node: str, state: dict[str, Any], context: Context) -> None:
            reached.append((node, state, context))

        run = Run(question=question, watch=watch, **self._options)
        async with aclosing(self.engine._events(run)) as events:  # noqa: SLF001
            async for event in events:
                for node, state, context in reached:
                    last = await _in_plain_form(state, context)
                    if node != "finish":  # the last one waits for the answer as it is recorded
                        yield {node: last}
                reached.clear()
                if isinstance(event, Answered):
                    text = event.answer.text
                    yield {"finish": {**last, "generation": text, "answer": event.answer}}


async def _in_plain_form(state: dict[str, Any], context: Context) -> dict[str, Any]:
    from langchain_core.documents import Document

    kept, draft = ranking.kept(state["found"]), state.get("draft")
    held = await ranking.texts(context, [item["id"] for item in kept])
    told: dict[str, Any] = {step["node"]: step["numbers"] for step in state["steps"]}
    grades = [item["grade"] for item in kept if item["grade"] != "not graded"]
    grounded = told.get("check_grounded", {}).get("grounded")
    useful = told.get("check_useful", {}).get("is_useful")
    return {
        **state,
        "generation": " ".join(one["text"] for one in draft["sentences"]) if draft else "",
        "documents": [
            Document(id=item["id"], page_content=held[item["id"]].text, metadata={**item})
            for item in kept
            if item["id"] in held
        ],
        "relevance_scores": ["yes" if grade in RELEVANT else "no" for grade in grades],
        "retry_count": max(0, rewrites(state["queries"], state.get("assumed"))),
        "web_search": "Yes" if state.get("web_tried") else "No",
        "hallucination_check": {None: "", 1: "grounded"}.get(grounded, "not_grounded"),
        "usefulness_check": {None: "", True: "useful"}.get(useful, "not_useful"),
    }


# One question, one answer: doors that open the library, ask and close again.


def ask(
    question: str, *, library: str | Path | None = None, **options: Unpack[AskOptions]
) -> Answer:
    """Answer a question over a library (default: the configured one). Works in plain scripts and in
    notebooks. Options are those of `Secondlook.open` and of `Secondlook.ask`."""
    with _opened(library, options) as (engine, asked), engine:
        return engine.ask(question, **asked)


async def aask(question: str, **options: Any) -> Answer:
    return await last_answer(astream(question, **options))


async def astream(
    question: str, *, library: str | Path | None = None, **options: Unpack[AskOptions]
) -> AsyncIterator[Event]:
    """What happens on the way to the answer, which comes last. Options as of `ask`."""
    with _opened(library, options) as (engine, asked):
        try:
            async for event in engine.astream(question, **asked):
                yield event
        finally:
            await engine.aclose()


@contextmanager
def _opened(
    library: str | Path | None, options: AskOptions
) -> Iterator[tuple[Secondlook, QuestionOptions]]:
    """An engine, and what is asked of it."""
    from secondlook.library.library import library_or_passing

    given: Any = options
    own = {name: value for name, value in given.items() if name in EngineOptions.__annotations__}
    asked: Any = {name: value for name, value in given.items() if name not in own}
    settings = chosen_settings(library, **own)
    may_pass = options.get("tables") is not None and library is None
    with library_or_passing(settings, library, may_pass=may_pass) as opened:
        yield Secondlook(opened, settings=opened.settings), asked


# Several questions in a row, where a later one may lean on those before it.

MOST_TURNS = 20  # what was said longer ago than this is not leant on


class Conversation:
    """Asks an engine, and remembers. "And in 2023?" is worked on as the question it is short for:
    `Answer.question` is what was typed, `Answer.asked` what was worked on. Options given here hold
    for every question: those of `Secondlook.astream`."""

    def __init__(self, engine: Secondlook, **options: Any) -> None:
        self.engine = engine
        self._options = options
        self._turns: list[Turn] = []

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(self._turns)

    def forget(self) -> None:
        self._turns.clear()

    def ask(self, text: str, **options: Any) -> Answer:
        return self._remembered(self.engine.ask(text, **self._with(options)))

    def stream(self, text: str, **options: Any) -> Generator[Event]:
        with closing(self.engine.stream(text, **self._with(options))) as events:
            for event in events:
                if isinstance(event, Answered):
                    self._remembered(event.answer)
                yield event

    async def aask(self, text: str, **options: Any) -> Answer:
        return self._remembered(await self.engine.aask(text, **self._with(options)))

    async def astream(self, text: str, **options: Any) -> AsyncGenerator[Event]:
        async with aclosing(self.engine.astream(text, **self._with(options))) as events:
            async for event in events:
                if isinstance(event, Answered):
                    self._remembered(event.answer)
                yield event

    def _with(self, options: dict[str, Any]) -> dict[str, Any]:
        return {**self._options, **options, "earlier": self.turns}

    def _remembered(self, answer: Answer) -> Answer:
        self._turns = [*self._turns, turn_of(answer)][-MOST_TURNS:]
        return answer


def turn_of(answer: Answer) -> Turn:
    """What a later question may lean on; a withheld answer leaves its question alone."""
    return Turn(
        asked=answer.asked,
        short=answer.short,
        text=" ".join(claim.text for claim in answer.claims),
        titles=tuple(dict.fromkeys(citation.title for citation in answer.citations)),
        asks_back=answer.asks_back,
    )


# The door for code that is not async: one event loop in a thread of its own.

T = TypeVar("T")
_END = object()
_PATIENCE = 10.0  # seconds that work may take to end once it is cancelled


class LoopThread:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="secondlook-loop", daemon=True
                )
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncGenerator[T]) -> Generator[T]:
        waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        ended = threading.Event()

        async def feed() -> None:
            try:
                async with aclosing(items):
                    async for item in items:
                        waiting.put(item)
                waiting.put((_END, None))
            except BaseException as error:
                waiting.put((_END, error))
                raise
            finally:
                ended.set()

        future = self.submit(feed())
        try:
            while True:
                item = waiting.get()
                if isinstance(item, tuple) and item and item[0] is _END:
                    break
                yield item
        finally:
            future.cancel()
            ended.wait(_PATIENCE)  # all is put away when the caller has left
        if item[1] is not None:
            raise item[1]

    def close(self) -> None:
        with self._lock:
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=_PATIENCE))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
