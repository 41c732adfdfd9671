"""Says what the tables cannot answer, what is missing, and what could be asked instead."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes.analysing.at_hand import asked_tables, measures, resolver
from secondlook.nodes.analysing.requiring import LIKELY, matched, measured
from secondlook.nodes.explain_result import Explained  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.state import Analysed, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.tables.resolving import AskedTable

_SUGGESTED = 3


async def limit(state: Analysed, runtime: Runtime[Context]) -> Explained:
    tables = await asked_tables(runtime.context, state["question"])
    missing = " ".join(gap["said"] for gap in state["gaps"]) or await asyncio.to_thread(
        _unread, runtime.context, state["question"], tables
    )
    instead = _instead(tables)
    draft = {
        **withheld("no_evidence", reasons=[gap["said"] for gap in state["gaps"]]),
        "note": " ".join(part for part in (missing, instead) if part),
    }
    told = step("limitation", "The tables cannot answer this.", gaps=len(state["gaps"]))
    return {
        "draft": draft,  # type: ignore[typeddict-item]
        "assumed": None,
        "asks_back": None,
        "steps": [told],
        "warnings": [],
    }


def _unread(context: Context, question: str, tables: Sequence[AskedTable]) -> str:
    found = matched(resolver(context, tables), measured(question), least=LIKELY) if tables else None
    if found is not None and found.unresolved:
        names = ", ".join(map(repr, found.unresolved))
        return f"No column is called {names}, or anything like it."
    hint = (
        " Name a model that can write code, such as --model gguf:FILE, to have others answered."
        if not context.models.serves("code")
        else ""
    )
    return f"The question is none of those, in English, that are computed without a model.{hint}"


def _instead(tables: Sequence[AskedTable]) -> str:
    if not tables:
        return "Add a table with `secondlook add sales.csv`."
    first = tables[0]
    numbers = measures(tables[:1])
    groups = [one.name for one in first.profile.columns if one.type == "text" and one.top]
    asked = [f"the mean of {name}" for name in numbers[:_SUGGESTED]]
    if numbers and groups:
        asked.append(f"the mean of {numbers[0]} for each {groups[0]}")
    if not asked:
        asked = [f"how many rows {first.table.name} has"]
    return f"You could ask for {', '.join(asked[:-1])}{' or ' if asked[1:] else ''}{asked[-1]}."
