"""One question on its way, and the state that its graph begins with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from secondlook.app.tables import handed_to
from secondlook.errors import UsageError
from secondlook.nodes.stand_alone import StandAlone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.app.tables import Handed
    from secondlook.settings import RunSettings
    from secondlook.state import Scope


@dataclass(frozen=True, slots=True)
class Run:
    id: str
    question: str
    workflow: str
    created: str
    scope: Scope
    worked_on: StandAlone
    resumed: bool = False
    max_risk: float | None = None
    """Of this question alone; None = as set."""
    handed: Handed | None = None
    """Tables that came with the question."""
    caller: dict[str, Any] = field(default_factory=dict)
    """What whoever asks wants recorded with it."""

    def let_go(self) -> None:
        if self.handed is not None:
            self.handed.close()


def interrupted(runs: RunSettings, run: str) -> Run:
    """A recorded run that stopped before its answer, to be taken up."""
    from secondlook.memory.runs import RunStore

    with RunStore.open(runs.path, create=False) as store:
        stored = store.get(run)
    if stored.answer is not None:
        raise UsageError(
            f"run {stored.run!r} is finished", hint=f"secondlook runs show {stored.run}"
        )
    return Run(
        id=stored.run,
        question=stored.question,
        workflow=stored.workflow,
        created=stored.created,
        scope=stored.request["scope"],
        worked_on=StandAlone(stored.request.get("asked", stored.question)),
        resumed=True,
        max_risk=stored.request.get("max_risk"),
        handed=handed_to(stored.run, runs),
    )


async def first_state(
    run: Run, graph: Any, config: Mapping[str, Any], *, resumable: bool
) -> dict[str, Any] | None:
    """The first state of a run, or None to go on from where it stopped."""
    if run.resumed and resumable and (await graph.aget_state(config)).values:
        return None
    return {
        "question": run.worked_on.asked,
        "scope": run.scope,
        "queries": [run.worked_on.asked],
        "found": [],
        "steps": [step.model_dump() for step in run.worked_on.steps],
        "warnings": [warning.model_dump() for warning in run.worked_on.warnings],
    }
