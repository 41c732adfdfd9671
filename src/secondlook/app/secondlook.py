"""A library, models and a record of runs together: what a program embeds."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from secondlook.app.beginning import Ask, Beginning
from secondlook.app.failing import failed
from secondlook.app.graphs import Graphs
from secondlook.app.kept import RunKept
from secondlook.app.loop import LoopThread
from secondlook.app.memory import own_memory
from secondlook.app.pages import RunPages
from secondlook.app.requests import (
    calibration_file,
    chosen_settings,
    titles_within,
    with_risk,
)
from secondlook.app.run import Run, first_state, interrupted
from secondlook.app.running import Watched
from secondlook.app.sandboxes import OneSandbox
from secondlook.app.tables import desk_of
from secondlook.context import Context
from secondlook.errors import RunError
from secondlook.events import Answered, Event, RunStarted
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.memory.checkpoints import (
    begin_step_again,
    checkpoints,
    checkpoints_file,
    forget,
)
from secondlook.memory.ledger import Caps, Ledger
from secondlook.memory.recorder import Recorder
from secondlook.models import Models, open_models
from secondlook.reading.support import load_support
from secondlook.telemetry import observer_for

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Collection,
        Generator,
        Mapping,
        Sequence,
    )
    from pathlib import Path
    from types import TracebackType

    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    from secondlook.answer import Answer
    from secondlook.library import Library
    from secondlook.memory.answers import AnswerMemory
    from secondlook.nodes.stand_alone import Turn
    from secondlook.retrieval.web import WebSearch
    from secondlook.settings import Settings


class Secondlook:
    """Answers questions over one library. Use it in a `with` block, or close it.

    Threads and tasks may share one. `ask` and `stream` are the same as `aask` and `astream`
    for code that is not async; they also work where an event loop is already running.
    """

    def __init__(
        self,
        library: Library,
        *,
        settings: Settings | None = None,
        models: Models | None = None,
        web: WebSearch | None = None,
        memory: AnswerMemory | None = None,
    ) -> None:
        """Whoever is given closes with it. Without `memory` it is the one beside the record of
        runs, and none where no run is stored."""
        self.library = library
        self.settings = settings or library.settings
        self.memory = memory or own_memory(library, self.settings)
        self._models = models or open_models(self.settings)
        self._web = web
        self._observer = observer_for(self.settings)
        self._recorder = Recorder(self.settings.runs)
        self._graphs = Graphs(self.settings)
        self._sandbox = OneSandbox(self.settings.sandbox)
        self._loop = LoopThread()

    @classmethod
    def open(
        cls,
        library: str | Path | None = None,
        *,
        model: str | None = None,
        web: bool | None = None,
        k: int | None = None,
        timeout: float | None = None,
        max_risk: float | None = None,
        settings: Settings | None = None,
    ) -> Self:
        """Open the library at that path (default: the configured one). What is left out comes
        from the settings."""
        from secondlook.library import Library

        chosen = chosen_settings(
            library,
            model=model,
            web=web,
            k=k,
            timeout=timeout,
            max_risk=max_risk,
            settings=settings,
        )
        return cls(Library.open(library, create=False, settings=chosen), settings=chosen)

    def close(self) -> None:
        """Let go of models, web search, memory, record and library."""
        self._loop.run(self._let_go())
        self._loop.close()
        self._recorder.close()
        self.library.close()

    async def aclose(self) -> None:
        await self.adetach()
        self.library.close()

    async def adetach(self) -> None:
        """Let go of all but the library, for who goes on with it."""
        await self._let_go()
        await asyncio.to_thread(self._loop.close)
        self._recorder.close()

    async def _let_go(self) -> None:
        await self._models.aclose()
        if self._web is not None:
            await self._web.aclose()
        if self.memory is not None:
            self.memory.close()
        await asyncio.to_thread(self._sandbox.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Asking

    def ask(self, question: str, **options: Any) -> Answer:
        """The answer, with its evidence. Options are those of `astream`."""
        return self._loop.run(self.aask(question, **options))

    def stream(self, question: str, **options: Any) -> Generator[Event]:
        """What happens on the way to the answer, which comes last. Options as of `astream`."""
        return self._loop.iterate(self.astream(question, **options))

    async def aask(self, question: str, **options: Any) -> Answer:
        return await last_answer(self.astream(question, **options))

    async def astream(
        self,
        question: str,
        *,
        choices: Mapping[str, str] | Sequence[str] | None = None,
        workflow: str | None = None,
        filters: Mapping[str, object] | None = None,
        documents: Collection[str] | None = None,
        tables: Mapping[str, object] | None = None,
        earlier: Sequence[Turn] = (),
        max_risk: float | None = None,
        run: str | None = None,
        caller: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Event]:
        """Every event of the run, ending in `Answered`. Leaving early cancels the run.

        `choices` to choose from, by letter or in their order, become part of the question, where
        they may as well be typed. `filters` limits the search to documents with such metadata,
        `documents` to those named by id, path, file name or title. `tables` are what the question
        is about, by name: data frames, pyarrow tables, rows as dicts, or paths of files. `earlier`
        turns of a conversation make a follow-up stand-alone. Without a `workflow` it is that of the
        settings; `auto` looks at the question and picks one. `max_risk` is the share of answers
        that may be wrong: one that is less sure is withheld. `run` is the run's id where the same
        question must make the same prompts; nobody may guess it. `caller` is recorded with the
        run's request, for whoever asks: nothing here reads it.
        """
        self._web_search()  # a setting that cannot work is told before a run begins
        ask = Ask(
            question=question,
            choices=choices,
            workflow=workflow,
            filters=filters,
            documents=documents,
            tables=tables,
            earlier=earlier,
            max_risk=max_risk,
            run=run,
            caller=caller,
        )
        begun = await Beginning(self.library, self.settings, self._models).run_of(ask)
        try:
            async with aclosing(self._run(begun)) as events:
                async for event in events:
                    yield event
        finally:
            begun.let_go()

    def resume(self, run: str) -> Answer:
        """Take up a run that was interrupted; what it had done and paid for is not done again."""
        return self._loop.run(self.aresume(run))

    async def aresume(self, run: str) -> Answer:
        return await last_answer(self.aresume_stream(run))

    async def aresume_stream(self, run: str) -> AsyncGenerator[Event]:
        """`aresume`, with what happens on the way."""
        taken_up = await asyncio.to_thread(interrupted, self.settings.runs, run)
        async with aclosing(self._run(taken_up)) as events:
            async for event in events:
                yield event

    # How it is done

    async def _run(self, run: Run) -> AsyncGenerator[Event]:
        """The work goes on in a task of its own, so that a deadline can end it at any point."""
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        work = asyncio.create_task(self._worked(run, events), name=f"secondlook-{run.id}")
        work.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await work
        finally:
            work.cancel()
            await asyncio.wait([work])

    async def _worked(self, run: Run, events: asyncio.Queue[Event | None]) -> None:
        def tell(event: Event) -> None:
            self._recorder.append(event)
            self._observer.see(event)
            events.put_nowait(event)

        self._recorder.start(
            run.id,
            question=run.question,
            workflow=run.workflow,
            created=run.created,
            request={
                "scope": run.scope,
                "asked": run.worked_on.asked,
                "max_risk": run.max_risk,
                "caller": run.caller,
                "settings": with_risk(self.settings, run.max_risk).model_dump(mode="json"),
            },
        )
        context = self._context(run)
        watched = Watched(context)
        tell(RunStarted(run=run.id, question=run.question, workflow=run.workflow))
        for event in run.worked_on.events(run.id):
            tell(event)
        try:
            answer = await self._answered(run, context, watched, tell)
        except asyncio.CancelledError:
            self._recorder.leave(run.id)
            self._observer.left(run.id)
            raise
        answer = answer.model_copy(
            update={"steps": watched.all_steps(), "usage": context.ledger.usage()}
        )
        at = watched.seconds  # the record tells what was streamed, to the digit
        answer = self._recorder.finish(answer, at=at)
        answered = Answered(run=run.id, at=at, answer=answer)
        self._observer.see(answered)
        events.put_nowait(answered)

    async def _answered(self, run: Run, context: Context, watched: Watched, tell: Any) -> Answer:
        from secondlook.answer import Answer

        try:
            async with (
                asyncio.timeout(self._remaining(context)),
                AsyncExitStack() as held,
            ):
                saver = await self._saver(run, held)
                if saver is not None and run.resumed:
                    await begin_step_again(saver, run.id)
                graph = self._graphs.ready(run.workflow, saver)
                most = workflow_named(run.workflow).most_visits(self.settings)
                # langgraph counts the step in which it sees that nothing is left to do.
                config = {"configurable": {"thread_id": run.id}, "recursion_limit": most + 1}
                begin = await first_state(run, graph, config, resumable=saver is not None)
                async for event in watched.events(graph, begin, config):
                    tell(event)
            self._forget(run)
            return Answer.model_validate(watched.state["answer"])
        except Exception as error:
            if _is_cancelled():  # what a cancelled graph raises instead is no failure of the run
                raise asyncio.CancelledError from error
            return await failed(watched, error, run.scope)

    def _remaining(self, context: Context) -> float | None:
        """Seconds until the run must have ended; None = it may take its time."""
        cap = self.settings.budget.seconds
        return max(0.0, cap - context.ledger.seconds()) if cap else None

    def _context(self, run: Run) -> Context:
        ledger = Ledger(_caps(self.settings))
        if run.resumed:
            ledger.restore(self._recorder.spent(run.id))
        else:
            ledger.restore(run.worked_on.usage)
        return Context(
            run=run.id,
            created=run.created,
            workflow=run.workflow,
            question=run.question,
            settings=with_risk(self.settings, run.max_risk),
            shelf=self.library.shelf(),
            models=self._models.asker(
                run=run.id,
                workflow=run.workflow,
                ledger=ledger,
                journal=self._recorder.journal(run.id),
                observer=self._observer,
            ),
            ledger=ledger,
            support=load_support(self.settings.answer.judge),
            pages=RunPages(run.id, self._recorder),
            web=self._web_search(),
            desk=desk_of(self.library, run),
            sandbox=self._sandbox,
            kept=RunKept(run.id, self._recorder),
            memory=self.memory,
            calibration_file=calibration_file(self.library),
            workflows=self._graphs.callable_ones(),
            titles=titles_within(self.library),
            tables_given=run.handed is not None,
        )

    def _web_search(self) -> WebSearch | None:
        if self._web is None and self.settings.web.enable_web_search:
            from secondlook.retrieval.chunk import ChunkOptions
            from secondlook.retrieval.web import open_web

            settings = self.settings.chunking
            self._web = open_web(
                self.settings.web,
                token_starts=self.library.embedder().token_starts,
                chunking=ChunkOptions(tokens=settings.tokens, overlap=settings.overlap),
                language=self.library.language,
            )
        return self._web

    async def _saver(self, run: Run, held: AsyncExitStack) -> AsyncSqliteSaver | None:
        """A checkpointer where runs are recorded; an answer matters more than its record."""
        if not self.settings.runs.keep or self._recorder.trouble(run.id):
            return None
        try:
            return await held.enter_async_context(
                checkpoints(checkpoints_file(self.settings.runs.path, run.id))
            )
        except RunError:
            return None

    def _forget(self, run: Run) -> None:
        if self.settings.runs.keep and not self._recorder.trouble(run.id):
            try:
                forget(self.settings.runs.path, run.id)
            except RunError:  # it will be pruned with the run
                return


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _caps(settings: Settings) -> Caps:
    """Models get a little less than all the time: what they do not answer, the reader still can."""
    caps = Caps.of(settings.budget)
    return replace(caps, seconds=max(0.8 * caps.seconds, caps.seconds - 1.0))


async def last_answer(events: AsyncIterator[Event]) -> Answer:
    """What a stream of events ends in."""
    async for event in events:
        if isinstance(event, Answered):
            answer = event.answer
    return answer
