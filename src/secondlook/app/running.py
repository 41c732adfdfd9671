"""One run of a graph as a stream of events: the only place that knows langgraph's streams."""

from __future__ import annotations

import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from secondlook.answer import Step, Trouble
from secondlook.events import (
    Event,
    NodeFinished,
    NodeStarted,
    PassagesFound,
    Redrafted,
    Routed,
    Token,
    Warned,
)
from secondlook.nodes.finish import seen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from langgraph.runtime import RunControl

    from secondlook.context import Context


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
