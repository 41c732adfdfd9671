"""Looks at the columns that a question needs. The profile is computed when a table is added; a
second look computes what it does not hold, for the columns that a gap or a remedy names."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import TableError
from secondlook.nodes.analysing.at_hand import desk_of
from secondlook.state import (
    Alignment,
    LookedAt,
    Remedies,
    Required,
    ResolvedData,
    Trace,
    step,
    trouble,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class ToLook(Required, LookedAt, Alignment, Remedies):
    pass


class Looked(LookedAt, Trace):
    pass


async def look(state: ToLook, runtime: Runtime[Context]) -> Looked:
    columns = _columns(state)
    if not _is_again(state) or not columns:
        told = step("profile", "The profile holds what is needed so far.", columns=len(columns))
        return {"looked": state["looked"], "steps": [told], "warnings": []}
    warnings: list[dict[str, Any]] = []
    try:
        found = await asyncio.to_thread(_examined, runtime.context, columns)
    except TableError as error:
        found, warnings = [], [trouble("profile", error, "nothing more was found out")]
    new = [one for one in found if one not in state["looked"]]
    said = f"Looked closer at {_named(columns)}." if new else "There is nothing more to find out."
    told = step("profile", said, columns=len(columns), found=len(new))
    return {"looked": [*state["looked"], *new], "steps": [told], "warnings": warnings}


def _is_again(state: ToLook) -> bool:
    wants_data = bool(state["remedies"]) and state["remedies"][-1]["action"] == "reexamine_data"
    return wants_data or any(gap["kind"] == "data" for gap in state["gaps"])


def _columns(state: ToLook) -> list[tuple[str, str]]:
    """Of the gaps, else every one that the question needs: table and column."""
    named = {gap["variable"] for gap in state["gaps"] if gap["kind"] == "data"}
    chosen = [one for one in state["resolved"] if not named or _is_named(one, named)]
    return list(dict.fromkeys((one["table"], one["column"]) for one in chosen))


def _is_named(one: ResolvedData, named: Iterable[str]) -> bool:
    return one["asked"] in named or one["column"] in named


def _examined(context: Context, columns: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    desk = desk_of(context)
    found: list[dict[str, Any]] = []
    for table in dict.fromkeys(table for table, _ in columns):
        names = [column for owner, column in columns if owner == table]
        found += [one.model_dump(mode="json") for one in desk.examine(table, names)]
    return found


def _named(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(column for _, column in columns)
