"""Looks up what the best passage names, where the question asks beyond it: "the mother of the
director of X" is answered by a passage that does not speak of X. Asks no model."""

from __future__ import annotations

import asyncio
import re
from itertools import chain
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.library.shelf import search_options
from secondlook.nodes import ranking
from secondlook.nodes.follow_up import names
from secondlook.nodes.quarantine import kept_clean
from secondlook.nodes.retrieve import Retrieved, found_by, where
from secondlook.retrieval.analyse import query_terms, terms
from secondlook.state import Asked, Found, step, trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.passage import Passage

WORTH_KEEPING = -2.0
"""Relevance, to the question together with the name that led there."""
_NAMES = 8
_HITS = 3
_READ = 4
_SHORTEST = 3
_AND = re.compile(r"\s+(?:and|or)\s+")


async def follow(state: Asked, runtime: Runtime[Context]) -> Retrieved:
    context, found = runtime.context, state["found"]
    try:
        best = await _best(context, found)
        enough = context.settings.corrective.follow_below
        if best is None or covered(state["question"], best) >= enough:
            return _left(found, "The best passage covers the question.")
        linked = await _linked(context, state, best)
        chosen = await _chosen(context, state["question"], best, linked)
    except Exception as error:  # noqa: BLE001 - what was found before is worth keeping
        lost = trouble("follow", error, "nothing was looked up beyond the search")
        return {**_left(found, "Nothing could be looked up."), "warnings": [lost]}
    if chosen is None:
        return _left(found, "Nothing that the best passage names helps.", linked=len(linked))
    settings = context.settings
    rest = [item for item in found if item["id"] != chosen["id"]]
    placed = ranking.ranked([*rest, chosen], blend=settings.search.blend, k=settings.answer.k)
    said = f"{best.title!r} leads to {chosen['title']!r}."
    told = step("follow", said, linked=len(linked), followed=True)
    clean, kept_out = await kept_clean(context, placed)
    return {"found": clean, "steps": [*kept_out, told], "warnings": []}


def covered(question: str, passage: Passage) -> float:
    """Share of the question's words that the passage has."""
    asked = frozenset(query_terms(question))
    said = frozenset(chain(terms(passage.text), terms(passage.title)))
    return len(asked & said) / len(asked) if asked else 1.0


def leads(question: str, best: Passage, titles: Sequence[str]) -> list[str]:
    """Names in the best passage that the question does not say, and names in the question that no
    passage which is kept is about."""
    asked, title = question.casefold(), best.title.casefold()
    shown = [one.casefold() for one in titles]
    told = (
        name for name in names(best.text) if name.casefold() not in asked + title and _long(name)
    )
    unmet = (
        name
        for joined in names(question[:1].lower() + question[1:])
        for name in _AND.split(joined)
        if _long(name) and not any(name.casefold() in one for one in shown)
    )
    return list({name.casefold(): name for name in chain(unmet, told)}.values())[:_NAMES]


def _long(name: str) -> bool:
    return len(name) >= _SHORTEST


async def _best(context: Context, found: Sequence[Found]) -> Passage | None:
    kept = [item for item in ranking.kept(found) if item["relevance"] is not None]
    if not kept:
        return None
    return (await ranking.texts(context, [kept[0]["id"]])).get(kept[0]["id"])


async def _linked(context: Context, state: Asked, best: Passage) -> list[tuple[Found, str]]:
    """Passages about what is named, each with the name, that are not kept already."""
    kept = ranking.kept(state["found"])
    known = {item["id"]: item for item in state["found"]}
    options = search_options(context.settings.search, k=_HITS, dense=0.0, lexical=1.0)
    linked: dict[str, tuple[Found, str]] = {}
    for name in leads(state["question"], best, [item["title"] for item in kept]):
        hits = await asyncio.to_thread(context.shelf.find, name, options, where(state["scope"]))
        for hit in hits[:_HITS]:
            if hit.passage.title != best.title and _is_about(name, hit.passage.title, best.text):
                item = known.get(hit.passage.id) or found_by(hit)
                linked.setdefault(item["id"], (item, name))
    ids = {item["id"] for item in kept}
    return [pair for pair in linked.values() if pair[0]["id"] not in ids][:_READ]


def _is_about(name: str, title: str, text: str) -> bool:
    """Whether a document of that title is about the name: "Ed Wood (film)" is about Ed Wood."""
    topic = title.partition(" (")[0].casefold()
    return bool(topic) and (name.casefold() in topic or topic in text.casefold())


async def _chosen(
    context: Context, question: str, best: Passage, linked: Sequence[tuple[Found, str]]
) -> Found | None:
    """The one that fits best, read for the question alone: who answers sees no other."""
    read = [
        (await ranking.read(context, f"{question} ({best.title}: {name})", [item]), item)
        for item, name in linked
    ]
    worth = [(seen[0]["relevance"], item) for seen, item in read if seen]
    fitting = [(value, item) for value, item in worth if value is not None]
    value, item = max(fitting, key=lambda pair: pair[0], default=(WORTH_KEEPING, None))
    if item is None or value <= WORTH_KEEPING:
        return None
    for seen in await ranking.read(context, question, [item]):
        return {**seen, "pinned": True}
    return None


def _left(found: list[Found], said: str, *, linked: int = 0) -> Retrieved:
    told = step("follow", said, linked=linked, followed=False)
    return {"found": found, "steps": [told], "warnings": []}
