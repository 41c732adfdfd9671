"""What speaks for the tables: data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.context import Context


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for the tables."""

    likely: float = 0.0
    """How likely the tables give the right answer; 0 where they give none."""
    certain: bool = False
    """Nobody else need be asked."""
    named: bool = False
    """It names what the tables hold, whether or not anybody can compute what it asks."""
    why: str = ""


async def signs_of(context: Context, question: str, *, thorough: bool = False) -> Signs:
    """Where there are no tables nothing speaks for them, and no grammar need be loaded."""
    if context.desk is None or not context.desk.tables():
        return Signs()
    from secondlook.nodes.considering.over_tables import table_signs

    return await table_signs(context, question, thorough=thorough)
