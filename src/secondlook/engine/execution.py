"""A run while it is worked on: its graph followed, its events told, its answer recorded."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from secondlook.answer import Answer, Step, StopReason, Trouble
from secondlook.engine.checkpoints import WholeWrites, forget_checkpoints, run_checkpoints
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
from secondlook.nodes.state import DraftData, Finishing, Scope, trouble

if TYPE_CHECKING:
    from langgraph.runtime import RunControl

    from secondlook.engine.record import Recorder
    from secondlook.engine.run import Run
    from secondlook.nodes.context import Context
    from secondlook.settings.sections import BudgetSettings, Settings
    from secondlook.telemetry import Observer


@dataclass(frozen=True, slots=True)
class Work:
    settings: Settings
    recorder: Recorder
    observer: Observer
    graphs: Graphs
    draining: Draining

    async def do(self, run: Run, context: Context, hear: Callable[[Event], None]) -> None:
        """Work on a run until it has its answer. Raises `RunStopped` where it was drained."""

        def tell(event: Event) -> None:
            self.recorder.append(event)
            self.observer.see(event)
            hear(event)

        watched, ledger = Watched(context, run.watch), context.ledger
        tell(RunStarted(run=run.id, question=run.question, workflow=context.workflow))
        for event in () if run.resumed else run.worked_on.events(run.id):
            tell(event)
        try:
            answer = await self._answered(run, watched, tell)
        except (asyncio.CancelledError, RunStopped):
            self.recorder.leave(run.id)
            self.observer.left(run.id)
            raise
        if ledger.refusal is not None or answer.stop_reason in {"budget", "deadline"}:
            answer = told_of_cut(answer, ledger.refusal, context.settings.budget)
        answer = answer.model_copy(update={"steps": watched.all_steps(), "usage": ledger.usage()})
        at = ledger.seconds()  # the record tells what was streamed, to the digit
        answer = self.recorder.finish(answer, at=at)
        # Not before the answer is safe: until then the run goes on from its checkpoints.
        if self.settings.runs.keep:
            with contextlib.suppress(RunError):  # they will be pruned with the run
                await asyncio.to_thread(forget_checkpoints, self.settings.runs, run.id)
        answered = Answered(run=run.id, at=at, answer=answer)
        self.observer.see(answered)
        hear(answered)

    async def _answered(self, run: Run, watched: Watched, tell: Callable[[Event], None]) -> Answer:
        from langgraph.errors import GraphDrained

        context = watched.context
        cap = context.settings.budget.seconds
        left = max(0.0, cap - context.ledger.seconds()) if cap else None
        try:
            async with asyncio.timeout(left), AsyncExitStack() as held:
                saver: WholeWrites | None = None
                if self.recorder.keeps(run.id):
                    # An answer matters more than its record.
                    with contextlib.suppress(RunError):
                        saver = await held.enter_async_context(
                            run_checkpoints(self.settings.runs, run.id)
                        )
                control = held.enter_context(self.draining.control())
                if saver is not None and run.resumed:
                    await saver.begin_step_again(run.id)
                graph = self.graphs.ready(context.workflow, saver)
                # langgraph counts the step in which it sees that nothing is left to do.
                most = workflow_named(context.workflow).most_visits(self.settings) + 1
                config = {"configurable": {"thread_id": run.id}, "recursion_limit": most}
                begin: dict[str, Any] | None = {
                    "question": run.worked_on.asked,
                    "scope": run.scope,
                    "queries": [run.worked_on.asked],
                    "found": [],
                    "steps": [step.model_dump() for step in run.worked_on.steps],
                    "warnings": [warning.model_dump() for warning in run.worked_on.warnings],
                }
                if run.resumed and saver and (await graph.aget_state(config)).values:
                    begin = None  # it goes on from where it stopped
                # Without checkpoints a run that stops is lost: it may as well go on to its answer.
                async for event in watched.events(graph, begin, config, control if saver else None):
                    tell(event)
            return Answer.model_validate(watched.state["answer"])
        except GraphDrained as drained:
            said = f"run {run.id!r} was stopped before its answer"
            hint = f"secondlook runs resume {run.id} goes on where it stopped"
            raise RunStopped(said, hint=hint) from drained
        except Exception as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # What a cancelled graph raises instead is no failure of the run.
                raise asyncio.CancelledError from error
            assert run.scope is not None  # noqa: S101
            return await failed(watched, error, run.scope)


# One run of a graph as a stream of events: the only place that knows langgraph's streams.


@dataclass(slots=True)
class Watched:
    """Follows a graph, and those that it calls. Afterwards `state` is the newest state, `called`
    that of a workflow which was called and has not come back, and `steps` what each node did."""

    context: Context
    watch: Callable[[str, dict[str, Any], Context], None] | None = None
    state: dict[str, Any] = field(default_factory=dict)
    called: tuple[str, dict[str, Any]] | None = None
    steps: list[Step] = field(default_factory=list)
    _started: dict[str, float] = field(default_factory=dict)
    _ended: list[str] = field(default_factory=list)  # Nodes whose work is not in a state yet

    def all_steps(self) -> tuple[Step, ...]:
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
                # The workflow that runs within a node of the same name; None for the graph itself.
                called = part["ns"][0].partition(":")[0] if part["ns"] else None
                if part["type"] == "values" and called is None:
                    self.state, self.called = part["data"], None
                elif part["type"] == "values":
                    self.called = (called or "", part["data"])
                if part["type"] == "values":
                    while self._ended and self.watch is not None:
                        self.watch(self._ended.pop(0), part["data"], self.context)
                else:
                    for event in self._seen(part["type"], part["data"], called):
                        yield event
        if given is None and "answer" not in self.state:  # it had ended before it was resumed
            self.state = (await graph.aget_state(config)).values

    def _seen(  # noqa: C901
        self, kind: str, data: Any, called: str | None
    ) -> Iterator[Event]:
        common: dict[str, Any] = {"run": self.context.run, "at": self.context.ledger.seconds()}
        if kind == "custom":
            if "token" in data:
                yield Token(text=data["token"], **common)
            elif "redraft" in data:
                yield Redrafted(why=data["redraft"], **common)
            return
        node, now = data["name"], time.monotonic()
        if "input" in data:
            self._started[data["id"]] = now
            yield NodeStarted(node=node, workflow=called, **common)
            return
        if data.get("error"):
            return
        self._ended.append(node)
        update, spent = dict(data["result"]), now - self._started.pop(data["id"], now)
        # What a workflow that was called has done and found was seen as it happened.
        steps = update.get("steps", ())
        own = [told for told in steps if told["workflow"] is None]
        if len(own) == len(steps):
            if "found" in update:
                state = self.called[1] if called is not None and self.called else self.state
                query = (state.get("queries") or [""])[-1]
                passages = tuple(seen(item, self.context) for item in update["found"])
                yield PassagesFound(query=query, passages=passages, **common)
            for warning in update.get("warnings", ()):
                yield Warned(trouble=Trouble.model_validate(warning), **common)
        common |= {"at": self.context.ledger.seconds(), "workflow": called}
        for told in own:
            step = Step.model_validate({**told, "seconds": round(spent, 4), "workflow": called})
            self.steps.append(step)
            yield NodeFinished(
                node=node, said=step.said, numbers=step.numbers, seconds=spent, **common
            )
            if step.route:
                yield Routed(source=node, to=step.route.to, why=step.route.why, **common)


# Workflows made ready to run: each is compiled once in a process for equal settings, and lent a
# checkpointer run by run.

_SHAPES_NO_GRAPH = {"library", "runs", "budget", "serve"}  # no graph is built by these
_COMPILED: dict[tuple[str, str], Any] = {}
_LOCK = threading.Lock()


class Graphs(Mapping[str, Any]):
    """Every workflow by name, as another one calls it. Compiling takes ten milliseconds, which a
    program that asks thousands of questions pays once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._shape = settings.model_dump_json(exclude=_SHAPES_NO_GRAPH)

    def ready(self, workflow: str, saver: WholeWrites | None = None) -> Any:
        key = (workflow, self._shape)
        with _LOCK:  # engines in several threads must not each compile it
            if key not in _COMPILED:
                _COMPILED[key] = workflow_named(workflow).build(self._settings).compile()
            graph = _COMPILED[key]
        return graph if saver is None else graph.copy({"checkpointer": saver})

    def __getitem__(self, name: str) -> Any:
        most = WORKFLOWS[name].most_visits(self._settings)
        return self.ready(name).with_config(recursion_limit=most + 1)

    def __iter__(self) -> Iterator[str]:
        return iter(WORKFLOWS)

    def __len__(self) -> int:
        return len(WORKFLOWS)


# What becomes of a run that cannot go on: an answer that says so, with what was found so far.

log = logging.getLogger(__name__)
_SECONDS_TO_TELL = 2.0  # to look up what stands behind the best answer so far


async def failed(watched: Watched, error: Exception, scope: Scope) -> Answer:
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
    reason: StopReason = "error"
    note: str | None = f"{type(error).__name__}: {error}"
    if isinstance(error, SecondlookError):
        note = f"{error.message}; {error.hint}" if error.hint else error.message
        if isinstance(error, BudgetExceeded):
            reason = error.reason
        elif isinstance(error, ModelUnavailable):
            reason = "model_unavailable"
    elif isinstance(error, TimeoutError):
        reason, note = "deadline", None
    else:
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
        "draft": {**withheld(reason), "note": note},
    }
    if state.get("rows"):
        from secondlook.nodes.survey import ToFinish, surveyed

        with contextlib.suppress(Exception):
            async with asyncio.timeout(_SECONDS_TO_TELL):
                return await surveyed(cast("ToFinish", {**state, **whole}), context, stop=reason)
    best = best_of(state.get("drafts", []))
    standing = None if best is None else cut(best)
    if "plan" in state:
        from secondlook.nodes import research

        done = research.standing(state["plan"])
        standing = research.together(done) if done else None
    if standing is not None and standing["sentences"]:
        stopped = "(The run stopped before this was finished.)"
        # What broke the run may break its evidence too: then there is nothing to show for it.
        # And a late answer waits no longer for a library that does not come back.
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_SECONDS_TO_TELL):
                draft: DraftData = {**standing, "stop": reason, "note": stopped}
                return await _told(context, state, {**whole, "draft": draft})
    return await _told(context, state, whole)


async def _told(context: Context, state: Mapping[str, Any], whole: Finishing) -> Answer:
    if "remedies" in state:
        from secondlook.nodes.finish_analysis import Analysing, analysed

        return await analysed(cast("Analysing", {**state, **whole}), context)
    if "plan" in state:
        from secondlook.nodes.finish_research import Reported, researched

        return await researched(cast("Reported", {**state, **whole}), context)
    return await assembled(whole, context)


# An answer that was cut short says so: by which cap, and what would allow more.

_OPEN: Final[frozenset[StopReason]] = frozenset(
    {"answered", "low_confidence", "no_evidence", "attempts_exhausted", "no_progress"}
)


def told_of_cut(answer: Answer, refusal: BudgetExceeded | None, budget: BudgetSettings) -> Answer:
    cap = refusal.cap if refusal else None
    update: dict[str, Any] = {}
    if answer.stop_reason in {"budget", "deadline"}:
        cap = cap or "seconds"
    else:
        nothing_to_ask = not answer.claims and not answer.passages and answer.analysis is None
        if cap is None or answer.stop_reason not in _OPEN or nothing_to_ask:
            return answer
        reason: StopReason = "deadline" if cap == "seconds" else "budget"
        update = {"status": "partial" if answer.claims else "failed", "stop_reason": reason}
        if not answer.claims:
            update["text"] = f"No answer: {WHY[reason]}. {answer.text}"
    text = update.get("text", answer.text)
    return answer.model_copy(update=update | {"text": f"{text}\n\n{cut_short_by(cap, budget)}"})


# Stopping in good order: each run finishes the step that it is at, and can be resumed.


class Draining:
    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._controls: set[RunControl] = set()
        self._asked = False

    def ask(self) -> None:
        self._asked = True
        # A signal may come while this thread is in `control`: the lock lets it pass again.
        with self._lock:
            for control in self._controls:
                control.request_drain()

    @contextmanager
    def control(self) -> Iterator[RunControl]:
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
