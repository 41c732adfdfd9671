"""Questions in parts, asked of a shelf: the three nodes one after the other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from langgraph.runtime import Runtime

from secondlook.nodes.combine import combine
from secondlook.nodes.finish import answer_parts, assembled
from secondlook.nodes.split import ask_part, split
from tests.support.engine import WordShelf, passages_of, state_of

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.nodes.context import Context
    from secondlook.nodes.state import Finishing

LIVES = (
    ("vane", "Ada Vane was born in 1981 in Hull. She sings."),
    ("vane", "Ada Vane did win her first Grammy in 2004 at home. It was for a song."),
    ("reed", "Bob Reed was born on 4 May 1979 at sea. He is a musician."),
    ("jaws", "The director of Jaws is Carl and Jaws is a film."),
    ("carl", "The mother of Carl is Dora and the mother is old."),
    ("towers", "The Long Tower is tall: 330 metres it is."),
    ("towers", "The Small Tower is tall: 300 metres it is."),
    ("towers", "The Old Tower is tall: 900 feet it is."),
    ("log", "The mains failed at 20:52. The diesel started and the light never went out."),
)
BIRTH = "How many years between Ada Vane's birth and her first Grammy?"
FIRST = "Who was born first, Ada Vane or Bob Reed?"
MOTHER = "Who is the mother of the director of Jaws?"


def lives() -> WordShelf:
    return WordShelf(passages_of(LIVES))


def in_parts(question: str, context: Context) -> dict[str, Any]:
    """The state after `split` and whatever it leads to, down to `settle` or `retrieve`."""
    state = state_of(question)
    tokens: list[Any] = []
    runtime = Runtime(context=context, stream_writer=tokens.append)
    nodes: dict[str, Any] = {"split": split, "ask_part": ask_part, "combine": combine}
    visited, name = [], "split"
    while name in nodes:
        visited.append(name)
        update = asyncio.run(nodes[name](state, runtime))
        for key in ("steps", "warnings"):
            update[key] = [*state[key], *update[key]]
        state |= update
        name = state["route"]
    return {**state, "visited": visited, "tokens": tokens}


def answered(question: str, context: Context) -> Answer:
    """The answer that the parts amount to."""
    state = in_parts(question, context)
    assert state["route"] == "settle"
    answer = asyncio.run(assembled(cast("Finishing", state), context))
    return answer.model_copy(update={"parts": answer_parts(state["parts"], answer.citations)})
