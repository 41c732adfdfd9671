"""Replies to greetings and to questions about the library itself, from its catalogue: titles, paths
and counts. Searches nothing and asks no model."""

from __future__ import annotations

import asyncio
from pathlib import PurePath
from textwrap import shorten
from typing import TYPE_CHECKING, Final

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.finish import Finished, assembled
from secondlook.nodes.outline import fits
from secondlook.nodes.state import Asked, Trace, step
from secondlook.roles.wants import wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.context import Titled

MOST_LINES: Final = 12
LONGEST_TITLE: Final = 80
_WORK: Final = (
    "I answer questions from your files, show where each answer stands, and say so when I cannot "
    "find one."
)
_NOTHING: Final = "There is no document here yet: secondlook add FOLDER, or drop files on the page."
_OPENING: Final = {"hello": "Hello.", "thanks": "You are welcome."}


class ToReply(Asked, Trace):
    pass


async def catalogue(state: ToReply, runtime: Runtime[Context]) -> Finished:
    context, want = runtime.context, await asyncio.to_thread(wanted, state["question"])
    assert context.titles is not None  # noqa: S101
    held = await asyncio.to_thread(context.titles, state["scope"])
    tables = 0 if context.desk is None or context.tables_given else len(context.desk.tables())
    text = reply(want.kind, want.about, held, tables)
    runtime.stream_writer({"token": text})
    bare = await assembled({**state, "draft": withheld("answered"), "queries": []}, context)
    update = {"method": "catalogue", "text": text, "status": "answered", "tier": "sure"}
    answer = bare.model_copy(update=update).model_dump(mode="json")
    told = step("catalogue", "Told from the catalogue.", documents=len(held), tables=tables)
    return {"answer": answer, "steps": [told], "warnings": []}


def reply(kind: str, topic: str, held: Sequence[Titled], tables: int) -> str:
    counts = ((len(held), "document"), (tables, "table"))
    have = " and ".join(f"{many:,} {noun}{'s' * (many != 1)}" for many, noun in counts if many)
    about = [one for one in held if fits(topic, " ".join((one.title, *one.paths)), ())]
    there = f"I have {have}"
    if not held:
        return f"{_WORK} {_NOTHING}"
    if kind in _OPENING:
        return f"{_OPENING[kind]} {there}. {_WORK}"
    if about:
        there += f'; these have "{topic}" in their title or path'
    elif topic:
        there = f'No title or path has "{topic}"; ask about it, and I look inside them. {there}'
    listed = f"{there}:\n\n{_listed(about or held)}"
    return f"{_WORK}\n\n{listed}" if kind == "help" else f"{listed}\n\n{_WORK}"


def _listed(held: Sequence[Titled]) -> str:
    """A line for each document by title and file; of several folders each has its share."""
    folders: dict[str, list[str]] = {}
    for one in held:
        path = PurePath(*one.paths[:1])
        title = shorten(one.title, LONGEST_TITLE, placeholder="...")
        file = "" if path.name in {"", title} else f" ({path.name})"
        folders.setdefault(path.parent.name, []).append(f"{title}{file}")
    several, lines, left = len(folders) > 1, [], len(held)
    for folder, titles in list(folders.items())[: MOST_LINES // 2 if several else 1]:
        shown = titles[: max(1, MOST_LINES // len(folders) - several)]
        lines += [f"- {folder or '.'}/"] if several else []
        lines += [f"{'  ' * several}- {title}" for title in shown]
        left -= len(shown)
    return "\n".join([*lines, *([f"... and {left:,} more"] if left else [])])
