"""A run while it is worked on: its graph followed, its events told, its answer recorded."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from secondlook.answer import Answer, Step, Trouble
from secondlook.engine.checkpoints import begin_step_again, forget_checkpoints, run_checkpoints
from secondlook.engine.run import first_state
from secondlook.errors import (
    BudgetExceeded,
    ModelUnavailable,
    RunError,
    RunStopped,
    SecondlookError,
)
from secondlook.events import (
    Answered,
    Event,
    NodeFinished,
    NodeStarted,
    PassagesFound,
    Redrafted,
    Routed,
    RunStarted,
    Token,
    Warned,
)
from secondlook.graphs.registry import WORKFLOWS
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.nodes.answer import best_of, cut
from secondlook.nodes.extract import withheld
from secondlook.nodes.finish import WHY, assembled, seen
from secondlook.nodes.finish_auto import put_together
from secondlook.nodes.limits import cut_short_by
from secondlook.nodes.route import within
from secondlook.nodes.state import Finishing, trouble
from secondlook.store.database import Place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from langgraph.runtime import RunControl

    from secondlook.answer import StopReason
    from secondlook.engine.checkpoints import WholeWrites
    from secondlook.engine.record import Recorder
    from secondlook.engine.run import Run
    from secondlook.nodes.context import Context
    from secondlook.nodes.state import DraftData, Scope, StepData
    from secondlook.settings.sections import BudgetSettings, Settings
    from secondlook.telemetry import Observer


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


# One run of a graph as a stream of events: the only place that knows langgraph's streams.


class Watched:
    """Follows a graph, and those that it calls. Afterwards `state` is the newest state, `called`
    that of a workflow which was called and has not come back, and `steps` what each node did."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.state: dict[str, Any] = {}
        self.called: tuple[str, dict[str, Any]] | None = None
        self.steps: list[Step] = []
        self._started: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        """Of the whole run, with what an earlier part of it took."""
        return self.context.ledger.seconds()

    def all_steps(self) -> tuple[Step, ...]:
        """Those that an earlier part of the run left in its state, then those seen here."""
        told = [Step.model_validate(step) for step in self.state.get("steps", ())]
        if self.called is not None:
            name, state = self.called
            of_called = state.get("steps", ())
            told += [Step.model_validate({**step, "workflow": name}) for step in of_called]
        return (*told[: max(0, len(told) - len(self.steps))], *self.steps)

    async def events(
        self,
        graph: Any,
        given: Mapping[str, Any] | None,
        config: Mapping[str, Any],
        control: RunControl | None = None,
    ) -> AsyncIterator[Event]:
        """`given` is the first state, or None to go on from the last checkpoint of the run. By
        `control` it is stopped between two steps: it raises `GraphDrained` then."""
        stream = graph.astream(
            given,
            config,
            context=self.context,
            stream_mode=["tasks", "custom", "values"],
            subgraphs=True,
            # What a node has done is on disk before the next one starts.
            durability="sync" if graph.checkpointer else None,
            control=control,
            version="v2",
        )
        async with aclosing(stream):
            async for part in stream:
                within = _workflow_of(part["ns"])
                if part["type"] == "values":
                    self._now(within, part["data"])
                else:
                    for event in self._seen(part["type"], part["data"], within):
                        yield event
        if given is None and "answer" not in self.state:  # it had ended before it was resumed
            self.state = (await graph.aget_state(config)).values

    def _now(self, within: str | None, state: dict[str, Any]) -> None:
        if within is None:
            self.state, self.called = state, None
        else:
            self.called = (within, state)

    def _seen(self, kind: str, data: Any, within: str | None) -> Iterator[Event]:
        if kind == "custom":
            if "token" in data:
                yield Token(run=self.context.run, at=self.seconds, text=data["token"])
            elif "redraft" in data:
                yield Redrafted(run=self.context.run, at=self.seconds, why=data["redraft"])
        elif "input" in data:
            self._started[data["id"]] = time.monotonic()
            yield NodeStarted(
                run=self.context.run, at=self.seconds, node=data["name"], workflow=within
            )
        elif not data.get("error"):
            yield from self._finished(data["id"], data["name"], dict(data["result"]), within)

    def _finished(
        self, task: str, node: str, update: dict[str, Any], within: str | None
    ) -> Iterator[Event]:
        spent = time.monotonic() - self._started.pop(task, time.monotonic())
        # What a workflow that was called has done and found was seen as it happened.
        own = [told for told in update.get("steps", ()) if told["workflow"] is None]
        if len(own) == len(update.get("steps", ())):
            yield from self._found(update, within)
        for told in own:
            step = Step.model_validate({**told, "seconds": round(spent, 4), "workflow": within})
            self.steps.append(step)
            yield from self._told(node, step, spent)

    def _found(self, update: dict[str, Any], within: str | None) -> Iterator[Event]:
        run, at = self.context.run, self.seconds
        state = self.called[1] if within is not None and self.called is not None else self.state
        if "found" in update:
            yield PassagesFound(
                run=run,
                at=at,
                query=(state.get("queries") or [""])[-1],
                passages=tuple(seen(item, self.context) for item in update["found"]),
            )
        for warning in update.get("warnings", ()):
            yield Warned(run=run, at=at, trouble=Trouble.model_validate(warning))

    def _told(self, node: str, step: Step, spent: float) -> Iterator[Event]:
        run, at, of = self.context.run, self.seconds, step.workflow
        yield NodeFinished(
            run=run,
            at=at,
            node=node,
            said=step.said,
            numbers=step.numbers,
            seconds=spent,
            workflow=of,
        )
        if step.route:
            to, why = step.route.to, step.route.why
            yield Routed(run=run, at=at, source=node, to=to, why=why, workflow=of)


def _workflow_of(namespace: Sequence[str]) -> str | None:
    """The workflow that runs within a node of the same name; None for the graph itself."""
    return namespace[0].partition(":")[0] if namespace else None


# Workflows made ready to run: each is compiled once in a process for equal settings, whoever
# asks, and lent a checkpointer run by run.

_SHAPES_NO_GRAPH = {"library", "runs", "budget", "serve"}
"""Sections that say where things lie and what may be spent: no graph is built by them, so that
engines over several libraries share one."""
_COMPILED: dict[tuple[str, str], Any] = {}
_LOCK = threading.Lock()


class Graphs:
    """Building and compiling reads every node's source and annotations: ten milliseconds that a
    program which asks thousands of questions pays once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._shape = settings.model_dump_json(exclude=_SHAPES_NO_GRAPH)

    def ready(self, workflow: str, saver: WholeWrites | None) -> Any:
        """The compiled graph. With a checkpointer it is a copy that shares all but that."""
        graph = self._compiled(workflow)
        return graph if saver is None else graph.copy({"checkpointer": saver})

    def callable_ones(self) -> Mapping[str, Any]:
        """Every workflow by name, as another one calls it: with its own limit, and the checkpointer
        of whoever calls."""
        return _Lazily(self._limited, tuple(WORKFLOWS))

    def _limited(self, workflow: str) -> Any:
        most = workflow_named(workflow).most_visits(self._settings)
        return self._compiled(workflow).with_config(recursion_limit=most + 1)

    def _compiled(self, workflow: str) -> Any:
        key = (workflow, self._shape)
        with _LOCK:  # engines in several threads must not each compile it
            if key not in _COMPILED:
                _COMPILED[key] = workflow_named(workflow).build(self._settings).compile()
            return _COMPILED[key]


class _Lazily(Mapping[str, Any]):
    """Made when asked for: a run calls one or two workflows of many."""

    def __init__(self, make: Callable[[str], Any], names: tuple[str, ...]) -> None:
        self._make = make
        self._names = names

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


# What becomes of a run that cannot go on: an answer that says so, with what was found so far.

log = logging.getLogger(__name__)
_SECONDS_TO_TELL = 2.0
"""To look up what stands behind the best answer so far."""


async def failed(watched: Watched, error: Exception, scope: Scope) -> Answer:
    """Where a workflow was called by another, what it had found; and what was called before it."""
    context, state, outer = watched.context, watched.state, watched.state
    if watched.called is not None:
        name, state = watched.called
        context = within(context, name)
    answer = await _failed(context, state, error, scope)
    if not outer.get("answers"):
        return answer
    done = [Answer.model_validate(one) for one in outer["answers"]]
    whole = put_together(
        outer["question"],
        watched.context.workflow,
        outer["calls"],
        [*done, answer][: len(outer["calls"])],
        both=outer["both"],
    )
    return whole.model_copy(update={"warnings": (*whole.warnings, *answer.warnings)})


async def _failed(
    context: Context, state: Mapping[str, Any], error: Exception, scope: Scope
) -> Answer:
    if not isinstance(error, SecondlookError | TimeoutError):
        log.error("a run failed", exc_info=error)
    whole: Finishing = {
        "question": state.get("question", context.question),
        "scope": scope,
        "queries": state.get("queries", [context.question]),
        "found": state.get("found", []),
        "steps": [],
        "warnings": [
            *state.get("warnings", []),
            trouble("run", error, "the run ended without an answer"),
        ],
        "draft": {**withheld(stop_reason(error)), "note": _note(error)},
    }
    if best := _best_so_far(state, error):
        # What broke the run may break its evidence too: then there is nothing to show for it.
        # And who is late already waits no longer for a library that does not come back.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_SECONDS_TO_TELL):
                return await _told(context, state, {**whole, "draft": best})
    return await _told(context, state, whole)


async def _told(context: Context, state: Mapping[str, Any], whole: Finishing) -> Answer:
    """A research that was cut short tells of its steps too."""
    if "remedies" in state:
        from secondlook.nodes.finish_analysis import Analysing, analysed

        return await analysed(cast("Analysing", {**state, **whole}), context)
    if "plan" not in state:
        return await assembled(whole, context)
    from secondlook.nodes.finish_research import Reported, researched

    return await researched(cast("Reported", {**state, **whole}), context)


def _best_so_far(state: Mapping[str, Any], error: Exception) -> DraftData | None:
    """What stood already when the run had to stop."""
    draft = _standing(state)
    if draft is None or not draft["sentences"]:
        return None
    note = "(The run stopped before this was finished.)"
    return {**draft, "stop": stop_reason(error), "note": note}


def _standing(state: Mapping[str, Any]) -> DraftData | None:
    if "plan" in state:
        return _researched(state["plan"])
    best = best_of(state.get("drafts", []))
    return None if best is None else cut(best)


def _researched(plan: Sequence[StepData]) -> DraftData | None:
    """What the steps came to that were done. Imported when used: few runs are a research."""
    from secondlook.nodes.research import standing, together

    done = standing(plan)
    return together(done) if done else None


def stop_reason(error: BaseException) -> StopReason:
    if isinstance(error, BudgetExceeded):
        return error.reason
    if isinstance(error, asyncio.TimeoutError):
        return "deadline"
    return "model_unavailable" if isinstance(error, ModelUnavailable) else "error"


def _note(error: BaseException) -> str | None:
    if isinstance(error, SecondlookError):
        return f"{error.message}; {error.hint}" if error.hint else error.message
    if isinstance(error, TimeoutError):
        return None
    return f"{type(error).__name__}: {error}"


# An answer that was cut short says so: by which cap, and what would allow more.

_OVER: Final[frozenset[StopReason]] = frozenset({"budget", "deadline"})
_OPEN: Final[frozenset[StopReason]] = frozenset(
    {"answered", "low_confidence", "no_evidence", "attempts_exhausted", "no_progress"}
)
"""Ends that would perhaps have been others had more been allowed."""


def told_of_cut(answer: Answer, refusal: BudgetExceeded | None, budget: BudgetSettings) -> Answer:
    """The answer, which says where a cap has cut it short and what to do about it."""
    cap = refusal.cap if refusal else None
    if answer.stop_reason in _OVER:
        return _noted(answer, cut_short_by(cap or "seconds", budget))
    if cap is None or answer.stop_reason not in _OPEN:
        return answer
    if not answer.claims and not answer.passages and answer.analysis is None:
        return answer  # there was nothing to ask a model about
    reason: StopReason = "deadline" if cap == "seconds" else "budget"
    said = cut_short_by(cap, budget)
    if answer.claims:
        return _noted(answer.model_copy(update={"status": "partial", "stop_reason": reason}), said)
    text = f"No answer: {WHY[reason]}. {answer.text}"
    update = {"status": "failed", "stop_reason": reason, "text": text}
    return _noted(answer.model_copy(update=update), said)


def _noted(answer: Answer, said: str) -> Answer:
    return answer.model_copy(update={"text": f"{answer.text}\n\n{said}"})


# Stopping in good order: each run finishes the step that it is at, and is left to be taken up.


class Draining:
    """Of one engine. Signal handlers and any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._controls: set[RunControl] = set()
        self._asked = False

    def ask(self) -> None:
        """From now on no run begins another step."""
        self._asked = True
        # A signal may come while this thread is in `control`: the lock lets it pass again.
        with self._lock:
            for control in self._controls:
                control.request_drain()

    @contextmanager
    def control(self) -> Iterator[RunControl]:
        """Of one run, by which its graph is stopped."""
        from langgraph.runtime import RunControl

        control = RunControl()
        with self._lock:
            self._controls.add(control)
        if self._asked:
            control.request_drain()
        try:
            yield control
        finally:
            with self._lock:
                self._controls.discard(control)
