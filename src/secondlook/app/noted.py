"""A question as it was asked, written down the moment it is: a process that dies before its run has
begun, or while the run waits for its turn, loses nothing that was asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.answer import ResultTable
from secondlook.app.beginning import Ask
from secondlook.errors import UsageError
from secondlook.nodes.stand_alone import Turn
from secondlook.settings import BudgetSettings

if TYPE_CHECKING:
    from secondlook.memory.runs import StoredRun


def plain_ask(ask: Ask) -> dict[str, Any] | None:
    """As JSON can hold it; None where tables came with it that are in no file."""
    tables = ask.tables
    if tables is not None and not all(
        isinstance(one, str | os.PathLike) for one in tables.values()
    ):
        return None
    budget = ask.budget
    return {
        "question": ask.question,
        "choices": dict(ask.choices) if isinstance(ask.choices, Mapping) else ask.choices,
        "workflow": ask.workflow,
        "filters": None if ask.filters is None else dict(ask.filters),
        "documents": None if ask.documents is None else list(ask.documents),
        # Whoever takes it up may stand in another folder.
        "tables": tables and {name: str(Path(str(one)).absolute()) for name, one in tables.items()},
        "earlier": [_plain_turn(turn) for turn in ask.earlier],
        "max_risk": ask.max_risk,
        "budget": budget.model_dump() if isinstance(budget, BudgetSettings) else budget,
    }


def ask_of(stored: StoredRun) -> Ask:
    """What was asked, of a run that had not begun."""
    noted = stored.request.get("ask")
    if noted is None:
        raise UsageError(
            f"run {stored.run!r} was stopped before the tables that came with it were kept",
            hint="ask again, with the tables",
        )
    given = {**noted, "earlier": tuple(_turn(one) for one in noted["earlier"])}
    caller = stored.request.get("caller") or {}
    return Ask(**given, run=stored.run, created=stored.created, caller=caller)


def _plain_turn(turn: Turn) -> dict[str, Any]:
    table = turn.table
    return {**asdict(turn), "table": None if table is None else table.model_dump(mode="json")}


def _turn(noted: Mapping[str, Any]) -> Turn:
    table = noted["table"]
    return Turn(
        **{
            **noted,
            "titles": tuple(noted["titles"]),
            "table": None if table is None else ResultTable.model_validate(table),
        }
    )
