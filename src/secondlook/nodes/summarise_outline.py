"""Drafts an overview from headings and lead sentences, and lays it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations
from typing_extensions import TypedDict

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes import finish as finishing
from secondlook.nodes import outline as outlines
from secondlook.nodes import ranking
from secondlook.nodes.extract import withheld
from secondlook.nodes.finish import Finished  # noqa: TC001
from secondlook.nodes.summarise_choose import Chosen, first_passages, target_of, whole_document
from secondlook.state import (
    Draft,
    DraftData,
    Evidence,
    Finishing,
    Question,
    Trace,
    step,
    unread,
)

if TYPE_CHECKING:
    from secondlook.nodes.outline import Outline
    from secondlook.passage import Passage
    from secondlook.state import Found


class Layout(TypedDict):
    opening: str
    """What stands above an outline; empty for running text."""
    labels: list[list[str | int]]
    """For each sentence what stands before it, and how deep."""


class Outlined(Draft, Evidence, Layout, Trace):
    pass


class Overview(Question, Evidence, Chosen):
    """What an outline is made from."""


class Laid(Finishing, Layout):
    pass


async def outline(state: Overview, runtime: Runtime[Context]) -> Outlined:
    context = runtime.context
    made, opening = await _made(state, context)
    if not made.entries:
        reasons = ["nothing in it reads like a sentence" if state["found"] else "nothing was found"]
        draft = withheld("no_evidence", reasons=reasons)
        return _outlined(draft, state["found"], "", made)
    for entry in made.entries:
        runtime.stream_writer({"token": f"{entry.sentence['text']} "})
    draft = DraftData(
        method="outline",
        model=None,
        sentences=[entry.sentence for entry in made.entries],
        short=None,
        stop="answered",
        confidence=None,
        reasons=["word for word from the documents"],
        note=_note(made.left_out, many=state["extent"] == "many"),
    )
    found = [*state["found"], *await _further(context, state["found"], made)]
    return _outlined(draft, found, opening, made)


async def finish(state: Laid, runtime: Runtime[Context]) -> Finished:
    """As every workflow ends; an outline keeps its lines."""
    done = await finishing.finish(state, runtime)
    claims = done["answer"]["claims"]
    if state["opening"] and claims:
        marked = [
            f"{claim['text']} {''.join(f'[{number}]' for number in claim['citations'])}"
            for claim in claims
        ]
        labels = [(str(label), int(depth)) for label, depth in state["labels"]]
        note = state["draft"]["note"]
        text = outlines.laid_out(state["opening"], labels, marked)
        done["answer"]["text"] = f"{text}\n\n{note}" if note else text
    return done


async def _made(state: Overview, context: Context) -> tuple[Outline, str]:
    if state["extent"] == "many":
        firsts = await first_passages(context, state["documents"])
        made = outlines.of_documents(firsts, left_out=state["more"])
        return made, "The documents, each by its first sentence:"
    if state["extent"] == "places":
        ids = [item["id"] for item in ranking.kept(state["found"])]
        held = await ranking.texts(context, ids)
        passages = [held[name] for name in ids if name in held]
        made = outlines.of_places(passages, target_of(state["question"]))
        return made, "What was found on it, a sentence from each place:"
    texts = [await whole_document(context, document) for document in state["documents"]]
    parts = [(passages[0].title, outlines.of_document(passages)) for passages in texts if passages]
    titles = ", ".join(f'"{title}"' for title, _ in parts)
    entries = [
        entry if len(parts) == 1 or at else _titled(entry, title)
        for title, part in parts
        for at, entry in enumerate(part.entries)
    ]
    left_out = sum(part.left_out for _, part in parts)
    return (
        outlines.Outline(tuple(entries), left_out),
        f"Outline of {titles}, by headings and lead sentences:",
    )


def _titled(entry: outlines.Entry, title: str) -> outlines.Entry:
    """Of several documents, each begins with its title."""
    label = f"{title} / {entry.label}" if entry.label else title
    return outlines.Entry(label, entry.depth, entry.sentence)


async def _further(context: Context, found: list[Found], made: Outline) -> list[Found]:
    """The passages that are cited and not among those found yet."""
    known = {item["id"] for item in found}
    cited = [place["passage"] for entry in made.entries for place in entry.sentence["cited"]]
    held = await ranking.texts(context, [name for name in cited if name not in known])
    return [_shown(passage) for passage in held.values()]


def _shown(passage: Passage) -> Found:
    return {**unread(passage), "kept": True, "why": "begins a section"}


def _outlined(draft: DraftData, found: list[Found], opening: str, made: Outline) -> Outlined:
    said = (
        f"Made an outline of {len(made.entries)} lines."
        if draft["sentences"]
        else "There was nothing to make an outline of."
    )
    labels: list[list[str | int]] = [[entry.label, entry.depth] for entry in made.entries]
    told = step("outline", said, lines=len(made.entries), left_out=made.left_out)
    return {
        "draft": draft,
        "found": found,
        "opening": opening,
        "labels": labels if draft["sentences"] else [],
        "steps": [told],
        "warnings": [],
    }


def _note(left_out: int, *, many: bool) -> str | None:
    if not left_out:
        return None
    things = ("document" if many else "section") + ("" if left_out == 1 else "s")
    verb = "is" if left_out == 1 else "are"
    return f"({left_out} more {things} {verb} not shown.)"
