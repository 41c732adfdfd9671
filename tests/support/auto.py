"""A run of `auto` without a library: a shelf that searches, a real desk, and every workflow."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from secondlook.answer import Answer
from secondlook.engine.execution import Graphs
from secondlook.graphs.auto import most_visits
from tests.support.analyst import CUSTOMERS, Kept, desk_of
from tests.support.engine import HARBOUR, WordShelf, context_of, passages_of, settings_of, state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.context import Context
    from secondlook.settings.sections import Settings
    from secondlook.tables.desk import Desk

DOCUMENTS = (
    *HARBOUR,
    ("plan", "The plan was approved by Ms Orr. The plan sets a target of 1,200 boxes."),
)


@dataclass(frozen=True, slots=True)
class Title:
    id: str
    title: str
    paths: tuple[str, ...] = ()
    language: str | None = None


TITLES = (Title("survey", "Harbour survey"), Title("plan", "The plan"))


@cache
def customers() -> Desk:
    return desk_of({"customers": CUSTOMERS})


@dataclass
class Ran:
    answer: Answer
    state: dict[str, Any]

    @property
    def nodes(self) -> list[str]:
        """Its own, without those of the workflows it called."""
        return [step["node"] for step in self.state["steps"] if step["workflow"] is None]

    @property
    def called(self) -> list[str]:
        return [call["workflow"] for call in self.state["calls"]]

    @property
    def why(self) -> str:
        return str(self.state["steps"][0]["said"])


def context(
    question: str,
    *,
    settings: Settings | None = None,
    desk: Desk | None = None,
    pieces: Sequence[tuple[str, str]] = DOCUMENTS,
    **given: Any,
) -> Context:
    chosen = settings or settings_of(research={"enable_memory": False})
    shelf = given.pop("shelf", None) or WordShelf(passages_of(pieces))
    more = {name: given.pop(name) for name in ("tables_given", "sandbox") if name in given}
    titles = given.pop("titles", TITLES)
    made = context_of(question=question, workflow="auto", settings=chosen, shelf=shelf, **given)
    return replace(
        made, desk=desk, kept=Kept(), workflows=Graphs(chosen), titles=lambda _: titles, **more
    )


def run(question: str, **given: Any) -> Ran:
    made = context(question, **given)
    graph = Graphs(made.settings).ready("auto", None)
    config = {"recursion_limit": most_visits(made.settings) + 1}

    async def go() -> dict[str, Any]:
        ended: dict[str, Any] = await graph.ainvoke(state_of(question), config, context=made)
        return ended

    state = asyncio.run(go())
    return Ran(Answer.model_validate(state["answer"]), state)
