"""A run while it is worked on: its graph followed, its events told, its answer recorded."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.app.cut_short import told_of_cut
from secondlook.app.failing import failed
from secondlook.app.run import first_state
from secondlook.app.running import Watched
from secondlook.errors import RunError, RunStopped
from secondlook.events import Answered, RunStarted
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.memory.checkpoints import (
    begin_step_again,
    forget_checkpoints,
    run_checkpoints,
)
from secondlook.memory.place import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from langgraph.runtime import RunControl

    from secondlook.answer import Answer
    from secondlook.app.draining import Draining
    from secondlook.app.graphs import Graphs
    from secondlook.app.run import Run
    from secondlook.context import Context
    from secondlook.events import Event
    from secondlook.memory.recorder import Recorder
    from secondlook.memory.whole_writes import WholeWrites
    from secondlook.settings import Settings
    from secondlook.telemetry.port import Observer


@dataclass(frozen=True, slots=True)
class Work:
    """What it takes to work on runs."""

    settings: Settings
    recorder: Recorder
    observer: Observer
    graphs: Graphs
    draining: Draining
    context: Callable[[Run], Context]

    async def do(self, run: Run, hear: Callable[[Event], None]) -> None:
        """Work on a run until it has its answer. Raises `RunStopped` where it was drained."""

        def tell(event: Event) -> None:
            self.recorder.append(event)
            self.observer.see(event)
            hear(event)

        self._start(run)
        context = self.context(run)
        watched = Watched(context)
        tell(RunStarted(run=run.id, question=run.question, workflow=run.workflow))
        for event in () if run.resumed else run.worked_on.events(run.id):
            tell(event)
        try:
            answer = await self._answered(run, watched, tell)
        except (asyncio.CancelledError, RunStopped):
            self.recorder.leave(run.id)
            self.observer.left(run.id)
            raise
        answer = told_of_cut(answer, context.ledger.refusal, context.settings.budget)
        answer = answer.model_copy(
            update={"steps": watched.all_steps(), "usage": context.ledger.usage()}
        )
        at = watched.seconds  # the record tells what was streamed, to the digit
        answer = self.recorder.finish(answer, at=at)
        await self._forget(run)  # not before the answer is safe: until then it is gone on from
        answered = Answered(run=run.id, at=at, answer=answer)
        self.observer.see(answered)
        hear(answered)

    def _start(self, run: Run) -> None:
        self.recorder.start(
            run.id,
            question=run.question,
            workflow=run.workflow,
            created=run.created,
            request={
                "scope": run.scope,
                "asked": run.worked_on.asked,
                "max_risk": run.max_risk,
                "caller": run.caller,
                "counting": run.counting,
                "steps": [step.model_dump(mode="json") for step in run.worked_on.steps],
                "warnings": [one.model_dump(mode="json") for one in run.worked_on.warnings],
                "settings": run.settings(self.settings).model_dump(mode="json"),
            },
        )

    async def _answered(self, run: Run, watched: Watched, tell: Callable[[Event], None]) -> Answer:
        from langgraph.errors import GraphDrained

        from secondlook.answer import Answer

        try:
            async with (
                asyncio.timeout(self._remaining(watched.context)),
                AsyncExitStack() as held,
            ):
                saver = await self._saver(run, held)
                control = held.enter_context(self.draining.control())
                await self._follow(run, watched, tell, saver, control)
            return Answer.model_validate(watched.state["answer"])
        except GraphDrained as drained:
            raise RunStopped(
                f"run {run.id!r} was stopped before its answer",
                hint=f"secondlook runs resume {run.id} goes on where it stopped",
            ) from drained
        except Exception as error:
            if _is_cancelled():  # what a cancelled graph raises instead is no failure of the run
                raise asyncio.CancelledError from error
            return await failed(watched, error, run.scope)

    async def _follow(
        self,
        run: Run,
        watched: Watched,
        tell: Callable[[Event], None],
        saver: WholeWrites | None,
        control: RunControl,
    ) -> None:
        if saver is not None and run.resumed:
            await begin_step_again(saver, run.id)
        graph = self.graphs.ready(run.workflow, saver)
        most = workflow_named(run.workflow).most_visits(self.settings)
        # langgraph counts the step in which it sees that nothing is left to do.
        config = {"configurable": {"thread_id": run.id}, "recursion_limit": most + 1}
        begin = await first_state(run, graph, config, resumable=saver is not None)
        # Without checkpoints a run that stops is lost: it may as well go on to its answer.
        async for event in watched.events(graph, begin, config, control if saver else None):
            tell(event)

    def _remaining(self, context: Context) -> float | None:
        """Seconds until the run must have ended; None = it may take its time."""
        cap = context.settings.budget.seconds
        return max(0.0, cap - context.ledger.seconds()) if cap else None

    async def _saver(self, run: Run, held: AsyncExitStack) -> WholeWrites | None:
        """A checkpointer where runs are recorded; an answer matters more than its record."""
        if not self.settings.runs.keep or self.recorder.trouble(run.id):
            return None
        try:
            place = Place.of(self.settings.runs)
            saver: WholeWrites = await held.enter_async_context(run_checkpoints(place, run.id))
        except RunError:
            return None
        return saver

    async def _forget(self, run: Run) -> None:
        if self.settings.runs.keep and not self.recorder.trouble(run.id):
            try:
                place = Place.of(self.settings.runs)
                await asyncio.to_thread(forget_checkpoints, place, run.id)
            except RunError:  # it will be pruned with the run
                return


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
