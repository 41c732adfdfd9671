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
    from collections.abc import AsyncIterator, Iterator, Mapping

    from secondlook.context import Context


class Watched:
    """Follows a graph. Afterwards `state` is the newest state and `steps` what each node did."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.state: dict[str, Any] = {}
        self.steps: list[Step] = []
        self._started: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        """Of the whole run, with what an earlier part of it took."""
        return self.context.ledger.seconds()

    def all_steps(self) -> tuple[Step, ...]:
        """Those that an earlier part of the run left in its state, then those seen here."""
        told = [Step.model_validate(step) for step in self.state.get("steps", ())]
        return (*told[: len(told) - len(self.steps)], *self.steps)

    async def events(
        self, graph: Any, given: Mapping[str, Any] | None, config: Mapping[str, Any]
    ) -> AsyncIterator[Event]:
        """`given` is the first state, or None to go on from the last checkpoint of the run."""
        stream = graph.astream(
            given,
            config,
            context=self.context,
            stream_mode=["tasks", "custom", "values"],
            # What a node has done is on disk before the next one starts.
            durability="sync" if graph.checkpointer else None,
            version="v2",
        )
        async with aclosing(stream):
            async for part in stream:
                if part["type"] == "values":
                    self.state = part["data"]
                else:
                    for event in self._seen(part["type"], part["data"]):
                        yield event
        if given is None and "answer" not in self.state:  # it had ended before it was resumed
            self.state = (await graph.aget_state(config)).values

    def _seen(self, kind: str, data: Any) -> Iterator[Event]:
        if kind == "custom":
            if "token" in data:
                yield Token(run=self.context.run, at=self.seconds, text=data["token"])
            elif "redraft" in data:
                yield Redrafted(run=self.context.run, at=self.seconds, why=data["redraft"])
        elif "input" in data:
            self._started[data["id"]] = time.monotonic()
            yield NodeStarted(run=self.context.run, at=self.seconds, node=data["name"])
        elif not data.get("error"):
            yield from self._finished(data["id"], data["name"], dict(data["result"]))

    def _finished(self, task: str, node: str, update: dict[str, Any]) -> Iterator[Event]:
        run, at = self.context.run, self.seconds
        spent = time.monotonic() - self._started.pop(task, time.monotonic())
        if "found" in update:
            yield PassagesFound(
                run=run,
                at=at,
                query=(self.state.get("queries") or [""])[-1],
                passages=tuple(seen(item, self.context) for item in update["found"]),
            )
        for warning in update.get("warnings", ()):
            yield Warned(run=run, at=at, trouble=Trouble.model_validate(warning))
        for told in update.get("steps", ()):
            step = Step.model_validate({**told, "seconds": round(spent, 4)})
            self.steps.append(step)
            yield NodeFinished(
                run=run, at=at, node=node, said=step.said, numbers=step.numbers, seconds=spent
            )
            if step.route:
                yield Routed(run=run, at=at, source=node, to=step.route.to, why=step.route.why)
