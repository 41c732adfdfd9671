"""One question from the door to its answer. `Run` carries it all the way: what is asked, then what
is found out before its graph begins."""

from __future__ import annotations

import asyncio
import os
import secrets
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from secondlook.answer import Step, Trouble
from secondlook.engine.request import (
    Budget,
    check_risk,
    check_tables,
    ledger_for,
    made_stand_alone,
    with_budget,
    with_choices,
    with_risk,
    workflow_for,
)
from secondlook.errors import BudgetExceeded, UsageError
from secondlook.graphs.registry import workflow as workflow_named
from secondlook.models.budget import Earlier, Ledger, keep_refusal
from secondlook.nodes.route import summary_scope, summed_up_without_risk
from secondlook.roles.follow_up import StandAlone, Turn
from secondlook.settings.sections import BudgetSettings, RunSettings, Settings
from secondlook.store.tables import Handed, handed_to, take_over

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from secondlook.engine.record import StoredRun
    from secondlook.library.library import Library
    from secondlook.models.calls import Models
    from secondlook.models.journal import Journal
    from secondlook.nodes.context import Context, Titled
    from secondlook.nodes.state import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`Secondlook.astream` says what each part of a request means."""

    question: str
    choices: Mapping[str, str] | Sequence[str] | None = None
    workflow: str | None = None
    filters: Mapping[str, object] | None = None
    documents: Collection[str] | None = None
    tables: Mapping[str, object] | None = None
    trust: Collection[str] | None = None
    earlier: Sequence[Turn] = ()
    max_risk: float | None = None
    budget: Budget | None = None
    caller: Mapping[str, Any] = field(default_factory=dict)
    watch: Callable[[str, dict[str, Any], Context], None] | None = None
    """Is given the state after each node; it is not recorded."""
    id: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(6)}")
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    # What `begun` fills in.
    scope: Scope | None = None
    worked_on: StandAlone = field(default_factory=lambda: StandAlone(""))
    handed: Handed | None = None
    ledger: Ledger | None = None  # its account; None where the run is resumed
    resumed: bool = False

    def settings(self, usual: Settings) -> Settings:
        if self.max_risk is not None:
            usual = with_risk(usual, self.max_risk)
        if self.trust:
            answer = usual.answer.model_copy(
                update={"trusted": (*usual.answer.trusted, *self.trust)}
            )
            usual = usual.model_copy(update={"answer": answer})
        return usual if self.budget is None else with_budget(usual, self.budget)

    def prepared(self, settings: Settings) -> Run:
        # What no encoding can write down, such as bytes that a shell passed on, cannot be recorded.
        question = self.question.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if not question.strip():
            raise UsageError("the question is empty", hint="say what you want to know")
        meant = self.workflow
        if self.choices is not None:
            question, meant = with_choices(question, self.choices, meant, settings)
        if self.tables is not None:
            meant = workflow_for(self.tables, meant, settings)
        self.settings(settings)  # a budget or a risk that makes no sense is told now
        usual = settings.answer.workflow
        if settings.web.enable_web_search and usual == "linear":
            usual = "adaptive"  # the web is no part of `linear`
        name = workflow_named(meant or usual).name
        return replace(self, question=question, choices=None, workflow=name)

    def to_record(self, settings: Settings) -> dict[str, Any]:
        """Enough to begin the run again, and once it has begun to go on with it."""
        request: dict[str, Any] = {
            "caller": dict(self.caller),
            "settings": self.settings(settings).model_dump(mode="json"),
        }
        if self.scope is None or self.ledger is not None:  # else its record has it already
            tables, budget = self.tables or {}, self.budget
            paths = all(isinstance(one, str | os.PathLike) for one in tables.values())
            ask = {
                "question": self.question,
                "choices": None,
                "workflow": self.workflow,
                "filters": None if self.filters is None else dict(self.filters),
                "documents": None if self.documents is None else list(self.documents),
                "trust": None if self.trust is None else list(self.trust),
                # The run may be resumed from another folder.
                "tables": {name: os.path.abspath(str(one)) for name, one in tables.items()}  # noqa: PTH100
                or None,
                "earlier": [asdict(one) for one in self.earlier],
                "max_risk": self.max_risk,
                "budget": budget.model_dump() if isinstance(budget, BudgetSettings) else budget,
            }
            request["ask"] = ask if paths else None
        if self.scope is None:
            return request
        return request | {
            "scope": self.scope,
            "asked": self.worked_on.asked,
            "max_risk": self.max_risk,
            "trust": None if self.trust is None else list(self.trust),
            "steps": [step.model_dump(mode="json") for step in self.worked_on.steps],
            "warnings": [one.model_dump(mode="json") for one in self.worked_on.warnings],
        }

    @classmethod
    def from_record(cls, stored: StoredRun, runs: RunSettings) -> Self:
        """A run that was interrupted, to go on with; where it had not begun, as it was asked."""
        request = stored.request
        known: dict[str, Any] = {
            "id": stored.run,
            "created": stored.created,
            "caller": request.get("caller") or {},
            "resumed": True,
        }
        if "scope" in request:
            budget = request.get("settings", {}).get("budget")
            return cls(
                **known,
                question=stored.question,
                workflow=stored.workflow,
                scope=request["scope"],
                worked_on=StandAlone(
                    request.get("asked", stored.question),
                    steps=tuple(map(Step.model_validate, request.get("steps", ()))),
                    warnings=tuple(map(Trouble.model_validate, request.get("warnings", ()))),
                ),
                max_risk=request.get("max_risk"),
                trust=request.get("trust"),
                handed=handed_to(stored.run, runs),
                budget=None if budget is None else BudgetSettings.model_validate(budget),
            )
        if request.get("ask") is None:
            said = f"run {stored.run!r} was stopped before the tables that came with it were kept"
            raise UsageError(said, hint="ask again, with the tables")
        turns = []
        for turn in request["ask"]["earlier"]:
            turn.pop("table", None)  # of earlier versions
            turns.append(Turn(**{**turn, "titles": tuple(turn["titles"])}))
        return cls(**{**request["ask"], **known, "earlier": tuple(turns)})

    async def begun(
        self,
        library: Library,
        settings: Settings,
        models: Models,
        journal: Journal,
        stopped: Earlier | None = None,
    ) -> Run:
        """Made stand-alone, with its account, scope and tables; `stopped` is spent already."""
        workflow, own = self.workflow or "", self.settings(settings)
        ledger = ledger_for(own, models, workflow, self.question)
        if stopped is not None:
            ledger.take_up(stopped)
        ledger.on_refusal = partial(keep_refusal, journal)
        risk = own.answer.max_risk
        if risk is not None:
            await asyncio.to_thread(check_risk, library, risk)
        where = library.scope(filters=self.filters, documents=self.documents)
        trusted = library.scope(documents=self.trust or ()).documents
        scope: Scope = {
            "documents": None if where.documents is None else sorted(where.documents),
            "labels": sorted(where.labels),
        }
        worked_on = StandAlone(self.question)
        if self.earlier:
            asker = models.asker(run=self.id, workflow=workflow, ledger=ledger, journal=journal)
            worked_on = await made_stand_alone(asker, self.question, self.earlier)
        if workflow == "summary":
            titles = titles_within(library)
            scope = summary_scope(worked_on.asked, scope, titles, certain=True) or scope
            if risk is not None:
                warning = Trouble.model_validate(summed_up_without_risk())
                worked_on = replace(worked_on, warnings=(*worked_on.warnings, warning))
        handed = None
        if self.tables is not None:
            try:
                async with asyncio.timeout(ledger.remaining_seconds()):
                    handed = await asyncio.to_thread(
                        take_over,
                        check_tables(self.tables),
                        run=self.id,
                        runs=settings.runs,
                        worker=library.worker(),
                    )
            except TimeoutError as late:
                said = "the tables were not read before the time for this question was over"
                hint = "give it more with --timeout or budget.seconds (0 = no cap)"
                raise BudgetExceeded(said, cap="seconds", hint=hint) from late
        return replace(
            self,
            scope=scope,
            trust=sorted(trusted or ()),
            worked_on=worked_on,
            max_risk=risk,
            handed=handed,
            budget=None if self.budget is None else own.budget,
            ledger=ledger,
        )


def titles_within(library: Library) -> Callable[[Scope], Sequence[Titled]]:
    def titles(scope: Scope) -> Sequence[Titled]:
        there = scope["documents"]
        # A label is KEY=VALUE, and no key holds the sign.
        filters = dict(label.split("=", 1) for label in scope["labels"])
        found = library.documents(filters=filters)
        return [one for one in found if there is None or one.id in there]

    return titles
