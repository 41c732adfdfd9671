"""One question on its way, and the state that its graph begins with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from secondlook.answer import Step, Trouble
from secondlook.app.affording import ledger_for, with_budget
from secondlook.app.requests import with_risk
from secondlook.app.tables import handed_to
from secondlook.errors import UsageError
from secondlook.nodes.stand_alone import StandAlone
from secondlook.settings import BudgetSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from secondlook.app.tables import Handed
    from secondlook.memory.earlier import Earlier
    from secondlook.memory.ledger import Ledger
    from secondlook.memory.runs import StoredRun
    from secondlook.models import Models
    from secondlook.settings import RunSettings, Settings
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
    budget: BudgetSettings | None = None
    """Of this question alone; None = as set."""
    counting: dict[str, float] = field(default_factory=dict)
    """`Models.counting` when it began."""
    ledger: Ledger | None = None
    """Its account, which was opened when it was asked; None where it is taken up again."""

    def settings(self, usual: Settings) -> Settings:
        """The usual ones, with what holds for this question alone."""
        return with_budget(with_risk(usual, self.max_risk), self.budget)

    def account(
        self, settings: Settings, models: Models, earlier: Callable[[str], Earlier]
    ) -> Ledger:
        """Its ledger; of a run that is taken up again with what it has spent so far."""
        if self.ledger is not None:
            return self.ledger
        ledger = ledger_for(settings, models, self.workflow, self.worked_on.asked)
        ledger.take_up(earlier(self.id))
        return ledger

    def let_go(self) -> None:
        if self.handed is not None:
            self.handed.close()


def interrupted(runs: RunSettings, run: str) -> StoredRun:
    """A recorded run that stopped before its answer."""
    from secondlook.memory.runs import RunStore

    with RunStore.of(runs, create=False) as store:
        stored = store.get(run)
    if stored.answer is not None:
        raise UsageError(
            f"run {stored.run!r} is finished", hint=f"secondlook runs show {stored.run}"
        )
    return stored


def taken_up(stored: StoredRun, runs: RunSettings) -> Run | None:
    """To go on with; None where it had not begun."""
    if "scope" not in stored.request:
        return None
    return Run(
        id=stored.run,
        question=stored.question,
        workflow=stored.workflow,
        created=stored.created,
        scope=stored.request["scope"],
        worked_on=_worked_on(stored.question, stored.request),
        resumed=True,
        max_risk=stored.request.get("max_risk"),
        handed=handed_to(stored.run, runs),
        caller=stored.request.get("caller") or {},
        budget=_budget_of(stored.request),
        counting=stored.request.get("counting") or {},
    )


def _worked_on(question: str, request: Mapping[str, Any]) -> StandAlone:
    return StandAlone(
        request.get("asked", question),
        steps=tuple(Step.model_validate(one) for one in request.get("steps", ())),
        warnings=tuple(Trouble.model_validate(one) for one in request.get("warnings", ())),
    )


def _budget_of(request: Mapping[str, Any]) -> BudgetSettings | None:
    recorded = request.get("settings", {}).get("budget")
    return None if recorded is None else BudgetSettings.model_validate(recorded)


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
