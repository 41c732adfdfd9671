"""An overview without a model: headings and lead sentences, each cited to its exact place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from secondlook.nodes.places import sentence_bounds
from secondlook.retrieval.analyse import query_terms, terms
from secondlook.state import Cited, Sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    return Outline(tuple(_entries(chosen, top=_top(starts))), left_out=len(starts) - len(chosen))


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


def _top(starts: Sequence[Passage]) -> int:
    """How many headings all sections share, such as the document's own title."""
    shallow = [len(passage.heading) for passage in starts if passage.heading]
    return min(shallow, default=0)


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
