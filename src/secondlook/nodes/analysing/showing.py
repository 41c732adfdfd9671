"""The tables as a model is shown them, and what every step's prompt begins with.

The same tables, question and requirements come first and in the same order in every prompt, so that
what one step has paid for the next one finds in the provider's cache.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from secondlook.nodes.analysing.at_hand import asked_tables, desk_of
from secondlook.nodes.analysing.requiring import RULES
from secondlook.nodes.coding.telling import WITHHELD, is_order
from secondlook.prompts import evidence_marks
from secondlook.state import LookedAt, Question, Required
from secondlook.tables.profiling import profile_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.context import Context
    from secondlook.state import RequirementsData, ResolvedData
    from secondlook.tables.table import ColumnProfile, Table, TableProfile

_NOT_SHOWN = frozenset({"by", "wanted"})


class ToShow(Question, Required, LookedAt):
    """What is told of an analysis under way."""


async def tables_shown(context: Context, question: str) -> str:
    """Between the run's marks. Byte for byte the same for the same tables and question."""
    tables = await asked_tables(context, question)
    joins = await asyncio.to_thread(desk_of(context).joins, [one.table.id for one in tables])
    cleaned = [harmless(one.table, one.profile) for one in tables]
    text = profile_text(
        cleaned, question=question, budget=context.settings.analyst.profile_tokens, joins=joins
    )
    return evidence_marks(context.run).wrap([text])


async def shared(
    context: Context,
    question: str,
    requirements: RequirementsData | None = None,
    resolved: Sequence[ResolvedData] = (),
    looked: Sequence[Mapping[str, Any]] = (),
) -> dict[str, str]:
    """The holes that every prompt of an analysis begins with."""
    return {
        "tables": await tables_shown(context, question),
        "question": " ".join(question.split()),
        "requirements": _requirements(requirements, resolved),
        "looked": _looked(looked),
    }


async def shared_by(context: Context, state: ToShow) -> dict[str, str]:
    """The same of an analysis under way."""
    return await shared(
        context, state["question"], state["requirements"], state["resolved"], state["looked"]
    )


def _requirements(data: RequirementsData | None, resolved: Sequence[ResolvedData]) -> str:
    """What a model formulated. What rules read out of the question stands there already, but for
    words that they took for a column of another name."""
    meant = {one["asked"]: one["column"] for one in resolved if one["asked"] != one["column"]}
    shown: dict[str, Any] = {"columns": meant} if meant else {}
    if data is not None and data["by"] != RULES:
        shown |= {key: value for key, value in data.items() if value and key not in _NOT_SHOWN}
    if not shown:
        return ""
    return f"\nRequirements: {json.dumps(shown, sort_keys=True, ensure_ascii=False)}"


def _looked(looked: Sequence[Mapping[str, Any]]) -> str:
    said = [
        f"- {one['column']}: {sentence}"
        for one in looked
        for sentence in one["said"]
        if not is_order(sentence)
    ]
    return "\nA closer look at the data:\n" + "\n".join(said) if said else ""


def harmless(table: Table, profile: TableProfile) -> tuple[Table, TableProfile]:
    """Without names and values that give a model orders: a column so named is shown by its place,
    which is how code can still reach it."""
    columns = tuple(_harmless(at, column) for at, column in enumerate(profile.columns))
    title = WITHHELD if is_order(table.title) else table.title
    return (
        table.model_copy(update={"title": title, "path": None}),
        profile.model_copy(
            update={
                "columns": columns,
                "warnings": tuple(one for one in profile.warnings if not is_order(one)),
            }
        ),
    )


def _harmless(at: int, column: ColumnProfile) -> ColumnProfile:
    name = f"df.columns[{at}]" if is_order(column.name) else column.name
    return column.model_copy(
        update={
            "name": name,
            "top": tuple(one for one in column.top if not is_order(one.value)),
            "examples": tuple(one for one in column.examples if not is_order(one)),
            "minimum": _value(column.minimum),
            "maximum": _value(column.maximum),
            "warnings": tuple(one for one in column.warnings if not is_order(one)),
        }
    )


def _value(value: Any) -> Any:
    return None if isinstance(value, str) and is_order(value) else value
