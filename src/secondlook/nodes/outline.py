"""An overview without a model: headings and lead sentences, each cited to its exact place."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from langgraph.runtime import Runtime  # noqa: TC002
from typing_extensions import TypedDict

from secondlook.library.library import search_options
from secondlook.nodes import finish as finishing
from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.finish import Finished  # noqa: TC001
from secondlook.nodes.retrieve import Retrieved, found_by, where
from secondlook.nodes.state import (
    Cited,
    Draft,
    DraftData,
    Evidence,
    Finishing,
    Found,
    Query,
    Question,
    Sentence,
    Trace,
    step,
    unread,
)
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.route import summary_request
from secondlook.roles.sentences import sentence_bounds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from secondlook.passage import Passage

MOST_SECTIONS = 40
MOST_PLAIN = 6
"""Places that are shown of a text without headings."""
MOST_DOCUMENTS = 20
LONGEST_LEAD = 400
"""Characters. What has no sentence of fewer is shown by its first line, or not at all."""
_FEWEST_WORDS = 4
_PARAGRAPH = re.compile(r"\S(?:.|\n(?![ \t]*\n))*")
_WORD = re.compile(r"[^\W_]+")
_ENDS = (".", "!", "?", "…", "。", "！", "？", ':"', '."', '?"')  # noqa: RUF001
_FIELD = re.compile(r"[A-Z][\w-]{1,20}:\s")
"""The head of a letter or a row of fields: From: ..., Month: ..."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of an outline."""

    label: str
    depth: int
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Outline:
    entries: tuple[Entry, ...]
    left_out: int
    """Sections or documents for which there was no room."""


def of_document(passages: Sequence[Passage]) -> Outline:
    """A document by its sections; where it has none, by places evenly spread over it."""
    starts = [passages[0]] if passages else []
    starts += [after for before, after in pairwise(passages) if after.heading != before.heading]
    if len(starts) <= 1 and len(passages) > 1:
        starts = evenly(passages, MOST_PLAIN)
        return Outline(tuple(_entries(starts, top=0)), left_out=0)
    chosen = _by_level(starts)
    # How many headings all sections share, such as the document's own title.
    shallow = [len(passage.heading) for passage in starts if passage.heading]
    return Outline(
        tuple(_entries(chosen, top=min(shallow, default=0))), left_out=len(starts) - len(chosen)
    )


def of_documents(first: Sequence[Passage], *, left_out: int) -> Outline:
    """One line for each document: its title and its lead sentence."""
    made = [
        Entry(passage.title, 0, sentence)
        for passage in first
        if (sentence := lead_sentence(passage)) is not None
    ]
    return Outline(tuple(made), left_out=left_out + len(first) - len(made))


def of_places(passages: Sequence[Passage], topic: str) -> Outline:
    """Places in several documents, in the order given, each under its title and heading and by
    the sentence that says most of the topic."""
    made = []
    for passage in passages[:MOST_SECTIONS]:
        if sentence := lead_sentence(passage, topic):
            label = " / ".join(dict.fromkeys([passage.title, *passage.heading[-1:]]))
            made.append(Entry(label, 0, sentence))
    return Outline(tuple(made), left_out=0)


def lead_sentence(passage: Passage, topic: str = "") -> Sentence | None:
    """The first whole sentence that is more than a heading, or the first that has the most words
    of the topic; a short first line where the passage has no sentences."""
    paragraphs = list(_paragraphs(passage))
    sentences = [
        (start + first, start + last)
        for start, end in paragraphs
        for first, last in sentence_bounds(passage.text[start:end])
        if _is_sentence(passage.text[start + first : start + last])
    ]
    # A passage may begin in the midst of a sentence that the one before it has whole.
    whole = [place for place in sentences if not passage.text[place[0]].islower()]
    if found := whole or sentences:
        wanted = set(query_terms(topic)) if topic else set()
        held = [len(wanted.intersection(terms(passage.text[slice(*place)]))) for place in found]
        return _cited(passage, *found[held.index(max(held))])
    for start, end in paragraphs:
        line = passage.text[start:end].split("\n", 1)[0].rstrip()
        if len(_WORD.findall(line)) >= _FEWEST_WORDS and len(line) <= LONGEST_LEAD:
            return _cited(passage, start, start + len(line))
    return None


def evenly(passages: Sequence[Passage], most: int) -> list[Passage]:
    """At most so many, the first and the last among them."""
    if len(passages) <= most:
        return list(passages)
    step = (len(passages) - 1) / max(1, most - 1)
    return [passages[round(at * step)] for at in range(most)]


def laid_out(opening: str, entries: Sequence[tuple[str, int]], marked: Sequence[str]) -> str:
    """The outline as text: `marked` are the sentences with the numbers of their citations."""
    lines = [
        f"{'  ' * depth}- {label}: {said}" if label else f"{'  ' * depth}- {said}"
        for (label, depth), said in zip(entries, marked, strict=True)
    ]
    return "\n".join([opening, "", *lines])


def _by_level(starts: Sequence[Passage]) -> list[Passage]:
    """As many levels of headings as there is room for."""
    deepest = max((len(passage.heading) for passage in starts), default=0)
    for level in range(deepest, 0, -1):
        chosen = [passage for passage in starts if len(passage.heading) <= level]
        if 0 < len(chosen) <= MOST_SECTIONS:
            return chosen
    return list(starts)[:MOST_SECTIONS]


def _entries(starts: Sequence[Passage], *, top: int) -> Iterator[Entry]:
    said: set[str] = set()
    for passage in starts:
        if (sentence := lead_sentence(passage)) is None or sentence["text"] in said:
            continue
        said.add(sentence["text"])
        label = passage.heading[-1] if passage.heading else ""
        if _flat(sentence["text"]) in _flat(label) or _flat(label) == _flat(passage.title):
            label = ""
        yield Entry(label, max(0, len(passage.heading) - max(1, top)), sentence)


def _paragraphs(passage: Passage) -> Iterator[tuple[int, int]]:
    """Where paragraphs lie, without those that are a heading or the title."""
    known = {_flat(words) for words in (*passage.heading, passage.title)}
    for found in _PARAGRAPH.finditer(passage.text):
        start = found.start()
        for line in found[0].split("\n"):
            if not (_flat(line) in known or not _WORD.search(line)):
                break
            start += len(line) + 1
        if start < found.end():
            yield start, found.end()


def _is_sentence(said: str) -> bool:
    whole = said.endswith(_ENDS) and not _FIELD.match(said)
    return whole and len(_WORD.findall(said)) >= _FEWEST_WORDS and len(said) <= LONGEST_LEAD


def _cited(passage: Passage, start: int, end: int) -> Sentence:
    return Sentence(
        text=" ".join(passage.text[start:end].split()),
        cited=[Cited(passage=passage.id, start=passage.start + start, end=passage.start + end)],
        support=1.0,
        supported=True,
    )


def _flat(text: str) -> str:
    return " ".join(text.strip("#*=_ \t\n").split()).casefold()


# Finds what is to be summarised: documents by their names, else passages by a search.

Extent = Literal["documents", "places", "many", "nothing"]
"""Whole documents, places found by a search, a list of many documents, or nothing at all."""

MOST_WHOLE = 3
"""Documents that are summarised each as a whole; more are listed."""
MOST_NAMED = 64
"""Documents whose names are looked at here; who calls narrows the scope to those that fit."""
MOST_PLACES = 24
LONGEST_DOCUMENT = 4096
"""Passages of a document that are looked at."""
_AT_ONCE = 256


class Chosen(TypedDict):
    extent: Extent
    documents: list[str]
    """Those to be summarised whole, or listed."""
    more: int
    """Documents that were left out."""


class Choice(Retrieved, Chosen):
    pass


async def choose(state: Query, runtime: Runtime[Context]) -> Choice:
    context, scope = runtime.context, state["scope"]
    target = target_of(state["question"])
    there = scope["documents"]
    if there is not None and len(there) <= MOST_NAMED:
        firsts = await first_passages(context, there)
        named = await _named(context, target, firsts) if target else firsts
        if len(named) <= MOST_WHOLE and (named or not target):
            return _whole(named)
    elif there is not None and not target:
        firsts = await first_passages(context, there[:MOST_DOCUMENTS])
        named = firsts
    else:
        named = []
    if named:
        return _listed(named[:MOST_DOCUMENTS], len(there or ()) if not target else len(named))
    # Passages on a topic. Each must have half of its words, in itself or in its title.
    options = search_options(context.settings.search, k=MOST_PLACES, candidates=MOST_PLACES)
    hits = await asyncio.to_thread(context.shelf.find, target, options, where(state["scope"]))
    wanted = set(query_terms(target))
    found: list[Found] = []
    for hit in hits:
        held = {*terms(hit.passage.text), *terms(hit.passage.title)}
        if 2 * len(wanted & held) >= len(wanted) and len(found) < MOST_PLACES:
            found.append(_kept(found_by(hit), "is about it"))
    documents = len({item["document"] for item in found})
    said = (
        f"No document is called so: took {len(found)} passages of {documents} documents about it."
        if found
        else "No document is called so, and no passage is about it."
    )
    return {
        "extent": "places" if found else "nothing",
        "documents": [],
        "more": 0,
        "found": found,
        "steps": [step("choose", said, passages=len(found), documents=documents)],
        "warnings": [],
    }


def target_of(question: str) -> str:
    """What is to be summarised; "" means whatever there is."""
    asked = summary_request(question)
    return question if asked is None else asked


def fits(target: str, title: str, paths: Collection[str]) -> bool:
    """Whether a document may be meant: all words of the target are in its title or file name."""
    wanted = set(query_terms(target))
    files = " ".join(PurePath(path).name.replace("_", " ") for path in paths)
    return bool(wanted) and wanted <= {*terms(title), *terms(files.replace(".", " "))} | set(
        terms(files)
    )


async def first_passages(context: Context, documents: Sequence[str]) -> list[Passage]:
    """The beginning of each document that is there."""
    ids = [f"{document}.0" for document in documents]
    held = await asyncio.to_thread(context.shelf.passages, ids)
    return [held[name] for name in ids if name in held]


async def whole_document(context: Context, document: str) -> list[Passage]:
    """All passages of a document, in order; of an endless one the first."""
    found: list[Passage] = []
    for start in range(0, LONGEST_DOCUMENT, _AT_ONCE):
        ids = [f"{document}.{at}" for at in range(start, start + _AT_ONCE)]
        held = await asyncio.to_thread(context.shelf.passages, ids)
        found += [held[name] for name in ids if name in held]
        if len(held) < _AT_ONCE:
            break
    return found


async def _named(context: Context, target: str, firsts: Sequence[Passage]) -> list[Passage]:
    paths = await asyncio.to_thread(context.shelf.paths, {passage.document for passage in firsts})
    fitting = [
        passage
        for passage in firsts
        if fits(target, passage.title, paths.get(passage.document, ()))
    ]
    exact = [item for item in fitting if set(terms(item.title)) <= set(terms(target))]
    return exact or fitting


def _whole(named: Sequence[Passage]) -> Choice:
    titles = ", ".join(f'"{passage.title}"' for passage in named)
    said = f"Chose {titles}." if named else "There is nothing to summarise."
    return _choice("documents" if named else "nothing", named, said)


def _listed(named: Sequence[Passage], total: int) -> Choice:
    more = total - len(named)
    said = f"Chose {len(named)} of {total} documents." if more else f"Chose {total} documents."
    return _choice("many", named, said, more=more)


def _choice(extent: Extent, named: Sequence[Passage], said: str, *, more: int = 0) -> Choice:
    return {
        "extent": extent,
        "documents": [passage.document for passage in named],
        "more": more,
        "found": [_kept(unread(passage), "begins a chosen document") for passage in named],
        "steps": [step("choose", said, documents=len(named), more=more)],
        "warnings": [],
    }


def _kept(item: Found, why: str) -> Found:
    return {**item, "kept": True, "why": why}


# Drafts an overview from headings and lead sentences, and lays it out.


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
        text = laid_out(state["opening"], labels, marked)
        done["answer"]["text"] = f"{text}\n\n{note}" if note else text
    return done


async def _made(state: Overview, context: Context) -> tuple[Outline, str]:
    if state["extent"] == "many":
        firsts = await first_passages(context, state["documents"])
        made = of_documents(firsts, left_out=state["more"])
        return made, "The documents, each by its first sentence:"
    if state["extent"] == "places":
        ids = [item["id"] for item in ranking.kept(state["found"])]
        held = await ranking.texts(context, ids)
        passages = [held[name] for name in ids if name in held]
        made = of_places(passages, target_of(state["question"]))
        return made, "What was found on it, a sentence from each place:"
    texts = [await whole_document(context, document) for document in state["documents"]]
    parts = [(passages[0].title, of_document(passages)) for passages in texts if passages]
    titles = ", ".join(f'"{title}"' for title, _ in parts)
    entries = [
        entry if len(parts) == 1 or at else _titled(entry, title)
        for title, part in parts
        for at, entry in enumerate(part.entries)
    ]
    left_out = sum(part.left_out for _, part in parts)
    return (
        Outline(tuple(entries), left_out),
        f"Outline of {titles}, by headings and lead sentences:",
    )


def _titled(entry: Entry, title: str) -> Entry:
    """Of several documents, each begins with its title."""
    label = f"{title} / {entry.label}" if entry.label else title
    return Entry(label, entry.depth, entry.sentence)


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
