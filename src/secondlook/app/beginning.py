"""How a question becomes a run: made stand-alone, with its tables, its scope and its workflow."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from secondlook.answer import Trouble
from secondlook.app.affording import ledger_for, with_budget
from secondlook.app.last_result import last_result
from secondlook.app.requests import (
    SUMMARY,
    check_risk,
    made_stand_alone,
    titles_within,
    usual_workflow,
    with_choices,
    with_risk,
)
from secondlook.app.run import Run
from secondlook.app.tables import handed_over, workflow_for
from secondlook.errors import BudgetExceeded
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.memory.earlier import keep_refusal
from secondlook.nodes.consider import summed_up_without_risk
from secondlook.nodes.considering.summing import summary_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from secondlook.app.affording import Budget
    from secondlook.library import Library
    from secondlook.memory.earlier import Earlier
    from secondlook.memory.journal import Journal
    from secondlook.memory.ledger import Ledger
    from secondlook.models import Models
    from secondlook.nodes.stand_alone import StandAlone, Turn
    from secondlook.retrieval.index.port import Filter
    from secondlook.settings import Settings
    from secondlook.state import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a person asks for; `Secondlook.astream` tells what each of it means."""

    question: str
    choices: Mapping[str, str] | Sequence[str] | None = None
    workflow: str | None = None
    filters: Mapping[str, object] | None = None
    documents: Collection[str] | None = None
    tables: Mapping[str, object] | None = None
    earlier: Sequence[Turn] = ()
    max_risk: float | None = None
    budget: Budget | None = None
    run: str | None = None
    caller: Mapping[str, Any] | None = None
    created: str | None = None
    """When it was asked, ISO 8601; None = now."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What it takes to begin runs."""

    library: Library
    settings: Settings
    models: Models
    journal: Callable[[str], Journal]
    """Of a run, by its id."""

    async def run_of(self, ask: Ask, stopped: Earlier | None = None) -> Run:
        """`stopped` is what it has spent where it was stopped before it had begun."""
        question, workflow = with_choices(ask.question, ask.choices, ask.workflow, self.settings)
        leant_on = last_result(question, ask.earlier)
        tables = leant_on or ask.tables
        workflow = workflow_for(tables, workflow, self.settings)
        chosen = workflow_named(workflow or usual_workflow(self.settings)).name
        settings = with_budget(self.settings, ask.budget)
        ledger = self._account(settings, chosen, question, ask.run, stopped)
        risk = await self._checked_risk(ask.max_risk)
        where = self.library.scope(filters=ask.filters, documents=ask.documents)
        earlier = () if leant_on else ask.earlier
        name = ask.run or run_name()
        worked_on = await made_stand_alone(
            self.models, ledger, chosen, question, earlier, run=name, journal=self.journal(name)
        )
        scope = _scope(where)
        if chosen == SUMMARY:
            scope = self._summed(worked_on.asked, scope)
            worked_on = worked_on if risk is None else _without_risk(worked_on)
        return Run(
            id=name,
            question=question,
            workflow=chosen,
            created=ask.created or now(),
            scope=scope,
            worked_on=worked_on,
            max_risk=risk,
            handed=await self._handed(tables, name, ledger),
            caller=dict(ask.caller or {}),
            budget=None if ask.budget is None else settings.budget,
            counting=self.models.counting(),
            ledger=ledger,
        )

    def _account(
        self,
        settings: Settings,
        workflow: str,
        question: str,
        run: str | None,
        stopped: Earlier | None,
    ) -> Ledger:
        ledger = ledger_for(settings, self.models, workflow, question)
        if stopped is not None:
            ledger.take_up(stopped)
        if run is not None:
            ledger.on_refusal = partial(keep_refusal, self.journal(run))
        return ledger

    async def _checked_risk(self, max_risk: float | None) -> float | None:
        risk = with_risk(self.settings, max_risk).answer.max_risk
        if risk is not None:
            await asyncio.to_thread(check_risk, self.library, risk)
        return risk

    async def _handed(self, tables: object, run: str, ledger: Ledger) -> Any:
        """Who has nothing to hand over waits for no thread: all may be at what nobody waits for."""
        if tables is None:
            return None
        try:
            async with asyncio.timeout(ledger.remaining_seconds()):
                return await asyncio.to_thread(
                    handed_over, tables, run, self.library, self.settings
                )
        except TimeoutError as late:
            raise BudgetExceeded(
                "the tables were not read before the time for this question was over",
                cap="seconds",
                hint="give it more with --timeout or budget.seconds (0 = no cap)",
            ) from late

    def _summed(self, asked: str, scope: Scope) -> Scope:
        """Who chose the workflow by its name is believed that a summary is wanted."""
        titles = titles_within(self.library)
        return summary_scope(asked, scope, titles, certain=True) or scope


def run_name() -> str:
    """One that nobody guesses."""
    return f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(6)}"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _scope(where: Filter) -> Scope:
    return {
        "documents": None if where.documents is None else sorted(where.documents),
        "labels": sorted(where.labels),
    }


def _without_risk(worked_on: StandAlone) -> StandAlone:
    warning = Trouble.model_validate(summed_up_without_risk())
    return replace(worked_on, warnings=(*worked_on.warnings, warning))
