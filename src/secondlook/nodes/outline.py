"""An overview without a model: finds what is to be summarised, and shows it by headings and lead
sentences, each cited to its exact place."""

from __future__ import annotations

import asyncio
import re
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from langgraph.runtime import Runtime  # noqa: TC002
from typing_extensions import TypedDict

from secondlook.library.library import search_options
from secondlook.nodes import finish as finishing
from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.finish import Finished  # noqa: TC001
from secondlook.nodes.retrieve import found_by, where
from secondlook.nodes.screen import Retrieved
from secondlook.nodes.state import (
    Cited,
    Draft,
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
from secondlook.roles.sentences import sentence_bounds
from secondlook.roles.wants import summary_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from secondlook.passage import Passage

# Finds what is to be summarised: documents by their names, else passages by a search.

Extent = Literal["documents", "places", "many", "nothing"]
"""Whole documents, places found by a search, a list of many documents, or nothing at all."""
MOST_WHOLE = 3  # Documents that are summarised each as a whole; more are listed
MOST_NAMED = 64
"""Documents whose names are looked at here; who calls narrows the scope to those that fit."""
MOST_DOCUMENTS = 20
MOST_PLACES = 24
LONGEST_DOCUMENT = 4096  # Passages of a document that are looked at
_AT_ONCE = 256


class Chosen(TypedDict):
    extent: Extent
    documents: list[str]  # Those to be summarised whole, or listed
    more: int  # Documents that were left out
    missing: list[str]  # What was named beside them, and is no document


class Choice(Retrieved, Chosen):
    pass


async def choose(state: Query, runtime: Runtime[Context]) -> Choice:
    context, there = runtime.context, state["scope"]["documents"]
    target = _target(state["question"])
    named: list[Passage] = []
    missing: list[str] = []
    if there is not None and len(there) <= MOST_NAMED:
        named = await _firsts(context, there)
        if target:
            firsts = {passage.document: passage for passage in named}
            paths = await asyncio.to_thread(context.shelf.paths, set(firsts))
            known = {name: (one.title, paths.get(name, ())) for name, one in firsts.items()}
            chosen, missing = meant(target, known)
            named = [firsts[name] for name in chosen]
        if len(named) <= MOST_WHOLE and (named or not target):
            titles = ", ".join(f'"{passage.title}"' for passage in named)
            said = f"Chose {titles}." if named else "There is nothing to summarise."
            return _whole("documents" if named else "nothing", named, missing, said)
    elif there is not None and not target:
        named = await _firsts(context, there[:MOST_DOCUMENTS])
    if named:
        total = len(named) if target else len(there or ())
        few = named[:MOST_DOCUMENTS]
        some = f"{len(few)} of {total}" if total > len(few) else f"{total}"
        return _whole("many", few, missing, f"Chose {some} documents.", more=total - len(few))
    # Passages on a topic. Each must have half of its words, in itself or in its title.
    options = search_options(context.settings.search, k=MOST_PLACES, candidates=MOST_PLACES)
    hits = await asyncio.to_thread(context.shelf.find, target, options, where(state["scope"]))
    wanted = set(query_terms(target))
    found: list[Found] = []
    for hit in hits:
        held = {*terms(hit.passage.text), *terms(hit.passage.title)}
        if 2 * len(wanted & held) >= len(wanted) and len(found) < MOST_PLACES:
            found.append({**found_by(hit), "kept": True, "why": "is about it"})
    documents = len({item["document"] for item in found})
    said = "No document has this name, and no passage is about it."
    if found:
        said = f"No document has this name: took {len(found)} passages of {documents} documents."
    told = step("choose", said, passages=len(found), documents=documents)
    return {
        **_whole("places" if found else "nothing", [], [], said),
        "found": found,
        "steps": [told],
    }


def _whole(
    extent: Extent, named: Sequence[Passage], missing: list[str], said: str, *, more: int = 0
) -> Choice:
    return {
        "extent": extent,
        "documents": [passage.document for passage in named],
        "more": more,
        "missing": missing,
        "found": [taken(passage, "begins a chosen document") for passage in named],
        "steps": [step("choose", said, documents=len(named), more=more)],
        "warnings": [],
    }


def _target(question: str) -> str:
    """What is to be summarised; "" means whatever there is."""
    target = summary_of(question)
    return question if target is None else target


_JOINT = re.compile(r"\s*,\s*(?:and\s+)?|\s+(?:and|&|as\s+well\s+as)\s+", re.IGNORECASE)
_ARTICLE = re.compile(r"\A\s*(?:the|this|that|my|our|your)\s+", re.IGNORECASE)


def meant(
    target: str, held: Mapping[str, tuple[str, Collection[str]]]
) -> tuple[list[str], list[str]]:
    """Which of the documents (title and paths by id) are meant, and which parts of "X, Y and Z" are
    none. What is a name as a whole, such as "Terms and Conditions", is not taken apart."""
    whole = any(fits(target, *named) for named in held.values())
    found: list[str] = []
    missing: list[str] = []
    for part in [target] if whole else filter(None, _JOINT.split(target)):
        fitting = [name for name, named in held.items() if fits(part, *named)]
        exact = [name for name in fitting if set(terms(held[name][0])) <= set(terms(part))]
        found += exact or fitting
        if not fitting:
            missing.append(_ARTICLE.sub("", part).strip(" \"'“”"))
    return list(dict.fromkeys(found)), missing if found else []


def fits(target: str, title: str, paths: Collection[str]) -> bool:
    """Whether a document may be meant: all words of the target are in its title or file name."""
    wanted = set(query_terms(target))
    files = " ".join(PurePath(path).name.replace("_", " ") for path in paths)
    held = {*terms(title), *terms(files), *terms(files.replace(".", " "))}
    return bool(wanted) and wanted <= held


async def _firsts(context: Context, documents: Sequence[str]) -> list[Passage]:
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


def taken(passage: Passage, why: str) -> Found:
    return {**unread(passage), "kept": True, "why": why}


# Drafts an overview from headings and lead sentences, and lays it out.


class Layout(TypedDict):
    opening: str  # What stands above an outline; empty for running text
    labels: list[list[str | int]]
    """For each sentence what stands before it, how deep, and the document that it begins."""


class Outlined(Draft, Evidence, Layout, Trace):
    pass


class Overview(Question, Evidence, Chosen):
    pass


class Laid(Finishing, Chosen, Layout):
    pass


class Entry(NamedTuple):
    """One line of an outline."""

    label: str
    depth: int
    sentence: Sentence
    title: str = ""  # of the document that it begins, where there are several


async def outline(state: Overview, runtime: Runtime[Context]) -> Outlined:
    context, found = runtime.context, state["found"]
    entries, left_out, opening = await _made(state, context)
    draft = withheld(
        "no_evidence",
        reasons=["nothing in it reads like a sentence" if found else "nothing was found"],
    )
    said = "There was nothing to make an outline of."
    if entries:
        things = ("document" if state["extent"] == "many" else "section") + "s" * (left_out != 1)
        verb = "is" if left_out == 1 else "are"
        draft = {
            **withheld("answered", reasons=["word for word from the documents"]),
            "method": "outline",
            "sentences": [entry.sentence for entry in entries],
            "note": f"({left_out} more {things} {verb} not shown.)" if left_out else None,
        }
        said = f"Made an outline of {len(entries)} lines."
        known = {item["id"] for item in found}
        cited = [place["passage"] for entry in entries for place in entry.sentence["cited"]]
        held = await ranking.texts(context, [name for name in cited if name not in known])
        found = [*found, *(taken(passage, "begins a section") for passage in held.values())]
    for entry in entries:
        runtime.stream_writer({"token": f"{entry.sentence['text']} "})
    return {
        "draft": draft,
        "found": found,
        "opening": opening if entries else "",
        "labels": [[entry.label, entry.depth, entry.title] for entry in entries],
        "steps": [step("outline", said, lines=len(entries), left_out=left_out)],
        "warnings": [],
    }


async def _made(state: Overview, context: Context) -> tuple[list[Entry], int, str]:
    """The lines, how many sections or documents there was no room for, and what stands above."""
    if state["extent"] == "many":
        firsts = await _firsts(context, state["documents"])
        entries = [Entry(one.title, 0, said) for one in firsts if (said := lead_sentence(one))]
        left_out = state["more"] + len(firsts) - len(entries)
        return entries, left_out, "The documents, each by its first sentence:"
    if state["extent"] == "places":
        ids = [item["id"] for item in ranking.kept(state["found"])]
        held = await ranking.texts(context, ids)
        target = _target(state["question"])
        entries = []
        for passage in [held[name] for name in ids if name in held][:MOST_SECTIONS]:
            if sentence := lead_sentence(passage, target):
                label = " / ".join(dict.fromkeys([passage.title, *passage.heading[-1:]]))
                entries.append(Entry(label, 0, sentence))
        return entries, 0, "What was found on it, a sentence from each place:"
    texts = [await whole_document(context, document) for document in state["documents"]]
    share = MOST_SECTIONS // max(1, len(texts))
    parts = [(passages[0].title, *of_document(passages, share)) for passages in texts if passages]
    entries, several = [], len(parts) > 1  # then each stands under its title
    for title, lines, _ in parts:
        entries += [one._replace(depth=one.depth + several) for one in lines]
        if several and lines:
            entries[-len(lines)] = entries[-len(lines)]._replace(title=title)
    titles = ", ".join(f'"{title}"' for title, _, _ in parts)
    left_out = sum(left for _, _, left in parts)
    return entries, left_out, f"Outline of {titles}, by headings and lead sentences:"


async def finish(state: Laid, runtime: Runtime[Context]) -> Finished:
    """As every workflow ends; an outline keeps its lines, and what is no document is named."""
    gone = [f'There is no document called "{name}".' for name in state["missing"]]
    note = " ".join(filter(None, [*gone, state["draft"]["note"]])) or None
    noted: Laid = {**state, "draft": {**state["draft"], "note": note}}
    done = await finishing.finish(noted, runtime)
    claims = done["answer"]["claims"]
    if claims and (opening := state.get("opening")):
        lines = [opening, ""]
        for (label, depth, title), claim in zip(state["labels"], claims, strict=True):
            lines += [f"- {title}"] if title else []
            marks = "".join(f"[{number}]" for number in claim["citations"])
            before = f"{label}: " if label else ""
            lines.append(f"{'  ' * int(depth)}- {before}{claim['text']} {marks}")
        done["answer"]["text"] = "\n".join([*lines, *(["", note] if note else [])])
    return done


# Which sections of a document are shown, and by which sentence.

MOST_SECTIONS = 40
MOST_PLAIN = 6  # Places that are shown of a text without headings
LONGEST_LEAD = 400
"""Characters. What has no sentence of fewer is shown by its first line, or not at all."""
_FEWEST_WORDS = 4
_Item = TypeVar("_Item")
_PARAGRAPH = re.compile(r"\S(?:.|\n(?![ \t]*\n))*")
_WORD = re.compile(r"[^\W_]+")
_ENDS = (".", "!", "?", "…", "。", "！", "？", ':"', '."', '?"')  # noqa: RUF001


def of_document(passages: Sequence[Passage], most: int = MOST_SECTIONS) -> tuple[list[Entry], int]:
    """A document by its sections, or by places spread over it; and how many are left out."""
    starts = [passages[0]] if passages else []
    starts += [after for before, after in pairwise(passages) if after.heading != before.heading]
    chosen, left_out = starts, 0
    # How many headings all sections share, such as the document's own title.
    top = min((len(one.heading) for one in starts if one.heading), default=0)
    if len(starts) <= 1 and len(passages) > 1:
        chosen, top = evenly(passages, MOST_PLAIN), 0
    elif len(starts) > most:  # as many levels of headings as there is room for
        for level in range(max(len(one.heading) for one in starts), 0, -1):
            chosen = [one for one in starts if len(one.heading) <= level]
            if 0 < len(chosen) <= most:
                break
        else:
            chosen = starts[:most]
        left_out = len(starts) - len(chosen)
    entries: dict[str, Entry] = {}
    for passage in chosen:
        if (sentence := lead_sentence(passage)) is None:
            continue
        label = passage.heading[-1] if passage.heading else ""
        if _flat(sentence["text"]) in _flat(label) or _flat(label) == _flat(passage.title):
            label = ""
        depth = max(0, len(passage.heading) - max(1, top))
        entries.setdefault(sentence["text"], Entry(label, depth, sentence))
    return list(entries.values()), left_out


def evenly(items: Sequence[_Item], most: int) -> list[_Item]:
    """At most so many, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    apart = (len(items) - 1) / max(1, most - 1)
    return [items[round(at * apart)] for at in range(most)]


def lead_sentence(passage: Passage, topic: str = "") -> Sentence | None:
    """The first whole sentence that is more than a heading, or the first that has the most words
    of the topic; a short first line where the passage has no sentences."""
    text, paragraphs = passage.text, list(_paragraphs(passage))
    places = [
        (start + first, start + last)
        for start, end in paragraphs
        for first, last in sentence_bounds(text[start:end])
    ]
    sentences = [
        (start, end)
        for start, end in places
        if text[start:end].endswith(_ENDS) and _is_line(text[start:end])
    ]
    # A passage may begin in the midst of a sentence that the one before it has whole.
    found = [place for place in sentences if not text[place[0]].islower()] or sentences
    if not found:
        lines = (text[start:end].split("\n", 1)[0].rstrip() for start, end in paragraphs)
        starts = (start for start, _ in paragraphs)
        found = [
            (start, start + len(line))
            for start, line in zip(starts, lines, strict=True)
            if _is_line(line)
        ][:1]
    if not found:
        return None
    wanted = set(query_terms(topic))
    first, last = max(found, key=lambda place: len(wanted.intersection(terms(text[slice(*place)]))))
    return Sentence(
        text=" ".join(text[first:last].split()),
        cited=[Cited(passage=passage.id, start=passage.start + first, end=passage.start + last)],
        support=1.0,
        supported=None,
    )


def _is_line(said: str) -> bool:
    return len(_WORD.findall(said)) >= _FEWEST_WORDS and len(said) <= LONGEST_LEAD


def _paragraphs(passage: Passage) -> Iterator[tuple[int, int]]:
    """Where paragraphs lie, without those that are a heading or the title."""
    known = {_flat(words) for words in (*passage.heading, passage.title)}
    for found in _PARAGRAPH.finditer(passage.text):
        start = found.start()
        for line in found[0].split("\n"):
            if _flat(line) not in known and _WORD.search(line):
                break
            start += len(line) + 1
        if start < found.end():
            yield start, found.end()


def _flat(text: str) -> str:
    return " ".join(text.strip("#*=_ \t\n").split()).casefold()
