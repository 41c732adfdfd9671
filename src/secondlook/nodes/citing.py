"""Places in documents become numbered citations. Code alone writes them, never a model."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.answer import Citation, Claim, Computation, Operand
from secondlook.nodes import ranking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.context import Context
    from secondlook.passage import Passage
    from secondlook.state import Cited, Found, Sentence

Pages = dict[tuple[str, int], int | None]


async def cite(
    context: Context, sentences: Sequence[Sentence], found: Sequence[Found]
) -> tuple[tuple[Citation, ...], tuple[Claim, ...]]:
    """Each sentence with its citations; the same place gets the same number."""
    places = [place for sentence in sentences for place in sentence["cited"]]
    if not places:  # also the way of a run that failed because the library cannot be read
        return (), tuple(_claim(sentence, _Numbers({}, {}, {}, {})) for sentence in sentences)
    held = await ranking.texts(context, sorted({place["passage"] for place in places}))
    numbers = _Numbers(
        held=held,
        found={item["id"]: item for item in found},
        paths=await asyncio.to_thread(
            context.shelf.paths, {passage.document for passage in held.values()}
        ),
        pages=await asyncio.to_thread(_pages, context, places, held),
    )
    claims = tuple(_claim(sentence, numbers) for sentence in sentences)
    return tuple(numbers.given.values()), claims


def _claim(sentence: Sentence, numbers: _Numbers) -> Claim:
    cited = [
        numbers.of(place)
        for place in sentence["cited"]
        if place["passage"] in numbers.held and place["start"] < place["end"]
    ]
    return Claim(
        text=sentence["text"],
        citations=tuple(dict.fromkeys(cited)),
        support=sentence["support"],
        supported=sentence["supported"],
        computation=_computation(sentence, numbers),
    )


def _computation(sentence: Sentence, numbers: _Numbers) -> Computation | None:
    """With the citations of its operands; None where one of them is gone, as nobody could then do
    it again."""
    data, places = sentence.get("computation"), sentence["cited"]
    if data is None or any(place["passage"] not in numbers.held for place in places):
        return None
    return Computation(
        operation=data["operation"],
        operands=tuple(
            Operand(text=one["text"], citation=numbers.of(places[one["cited"]]), name=one["name"])
            for one in data["operands"]
        ),
        result=data["result"],
    )


def _pages(context: Context, places: Sequence[Cited], held: Mapping[str, Passage]) -> Pages:
    """On which page each place begins: a passage may run over the end of its first page."""
    pages: Pages = {}
    for place in places:
        passage = held.get(place["passage"])
        if passage is not None and passage.page is not None:
            key = (passage.document, place["start"])
            pages[key] = context.shelf.page(*key)
    return pages


@dataclass(slots=True)
class _Numbers:
    held: Mapping[str, Passage]
    found: Mapping[str, Found]
    paths: Mapping[str, tuple[str, ...]]
    pages: Pages
    given: dict[tuple[str, int, int], Citation] = field(default_factory=dict)

    def of(self, place: Cited) -> int:
        key = (place["passage"], place["start"], place["end"])
        if key not in self.given:
            self.given[key] = self._citation(len(self.given) + 1, place)
        return self.given[key].number

    def _citation(self, number: int, place: Cited) -> Citation:
        passage = self.held[place["passage"]]
        found = self.found.get(passage.id)
        origin = found["origin"] if found else "library"
        return Citation(
            number=number,
            passage=passage.id,
            document=passage.document,
            sha256=_hash(passage, web=origin == "web"),
            title=passage.title,
            page=self.pages.get((passage.document, place["start"])),
            start=place["start"],
            end=place["end"],
            quote=passage.text[place["start"] - passage.start : place["end"] - passage.start],
            path=next(iter(self.paths.get(passage.document, ())), None),
            origin=origin,
            url=found["url"] if found else None,
            fetched=found["fetched"] if found else None,
        )


def _hash(passage: Passage, *, web: bool) -> str:
    """Of the document; of a web page only the passage is kept to be checked against."""
    return hashlib.sha256(passage.text.encode()).hexdigest() if web else passage.sha256
