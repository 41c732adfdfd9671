"""Answers over a real library of the sample documents, made by code as the workflows make them."""

from __future__ import annotations

import hashlib
import re
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from secondlook.answer import Answer, Citation, Claim, Confidence, Method, SeenPassage, Status
from secondlook.library.library import Library, samples_folder
from secondlook.reading.support import joined_evidence, load_support
from secondlook.retrieval.outline import sentence_starts
from secondlook.retrieval.web.pages import document_id

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.passage import Hit, Passage

PAGE_URL = "https://example.org/tides"
PAGE_TEXT = (
    "Spring tides at Halvermouth reach 4.9 metres. Neap tides stay below 3.1 metres. "
    "The tables are made by the Hydrographic Office in Lessing."
)


def sample_library(folder: Path) -> Library:
    """The sample documents, copied so that a test may change them, in a library of their own."""
    shutil.copytree(samples_folder(), folder / "papers")
    library = Library.open(folder / "library")
    assert not library.add([folder / "papers"]).failed
    return library


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(slots=True)
class Desk:
    """Where one answer is put together from what searches find."""

    library: Library
    hits: dict[str, Hit] = field(default_factory=dict)
    places: dict[tuple[str, int, int], Citation] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)

    def search(self, query: str, k: int = 8) -> list[Hit]:
        found = self.library.search(query, k=k, rerank=False)
        for hit in found:
            self.hits.setdefault(hit.passage.id, hit)
        return found

    def quote(self, query: str, words: str) -> int:
        """Cite the sentence that holds `words` in the best passage that has them."""
        for hit in self.search(query):
            # Where `words` begin in a text whose lines may be broken anywhere.
            found = re.search(r"\s+".join(map(re.escape, words.split())), hit.passage.text)
            at = found.start() if found else None
            if at is not None:
                return self.cite(hit.passage, *_sentence(hit.passage.text, at))
        raise AssertionError(f"{words!r} is in no passage found by {query!r}")

    def cite(self, passage: Passage, start: int, end: int) -> int:
        """Cite characters [start, end) of the passage's text."""
        key = (passage.id, passage.start + start, passage.start + end)
        if key not in self.places:
            self.places[key] = Citation(
                number=len(self.places) + 1, passage=passage.id, document=passage.document,
                sha256=passage.sha256, title=passage.title,
                page=_page(self.library, passage, key[1]), start=key[1], end=key[2],
                quote=passage.text[start:end],
                path=self.library.paths({passage.document})[passage.document][0],
            )  # fmt: skip
        return self.places[key].number

    def claim(self, text: str | None, *numbers: int, supported: bool | None = True) -> None:
        """Say something; without words of its own it says what the first citation quotes."""
        cited = [place for place in self.places.values() if place.number in numbers]
        said = " ".join((text if text is not None else cited[0].quote).split())
        evidence = joined_evidence((place.title, place.quote) for place in cited)
        score = load_support().support([(said, evidence)])[0]
        self.claims.append(Claim(text=said, citations=numbers, support=score, supported=supported))

    def answer(self, method: Method, *, note: str | None = None, **given: Any) -> Answer:
        text = " ".join(map(_marked, self.claims))
        status: Status = "partial" if note else "answered"
        return Answer(
            **{
                "run": "20260101-000000-abcdef",
                "question": "What does it say?",
                "asked": "What does it say?",
                "workflow": "linear",
                "method": method,
                "text": f"{text}\n\n{note}" if note else text,
                "status": status,
                "stop_reason": "answered",
                "claims": tuple(self.claims),
                "citations": tuple(self.places.values()),
                "confidence": Confidence(value=0.8, reasons=("the reader is sure",)),
                "passages": tuple(map(seen, self.hits.values())),
                "queries": ("What does it say?",),
                "created": now(),
                "version": "0.1.0",
                **given,
            }
        )


def seen(hit: Hit) -> SeenPassage:
    passage = hit.passage
    return SeenPassage(
        id=passage.id, document=passage.document, title=passage.title, page=passage.page,
        start=passage.start, end=passage.end, score=hit.score, fusion_score=hit.fusion_score,
        dense_rank=hit.dense_rank, dense_score=hit.dense_score, lexical_rank=hit.lexical_rank,
        lexical_score=hit.lexical_score, rerank_score=hit.rerank_score, kept=True,
        why="among the best",
    )  # fmt: skip


def extractive(library: Library, question: str, words: str) -> Answer:
    """A span, shown in its sentence."""
    desk = Desk(library)
    desk.claim(None, desk.quote(question, words))
    return desk.answer("extractive", question=question, asked=question, short=words)


def generative(library: Library) -> Answer:
    """A model's sentences, one of them on two documents."""
    desk = Desk(library)
    depth = desk.quote("How deep is the deepest berth at the north quay?", "7.8 metres")
    offer = desk.quote("What does the dredging of the inner basin cost?", "1.386 million")
    votes = desk.quote("Who voted against the money for dredging?", "Whitlock")
    money = desk.quote("Who approved the dredging money?", "1.42 million")
    desk.claim("The deepest berth of the harbour has 7.8 metres.", depth)
    desk.claim("The dredging was offered for 1,386,000 crowns.", offer)
    desk.claim(
        "The council approved up to 1.42 million crowns for the dredging; "
        "Councillor Whitlock voted against.",
        money,
        votes,
    )
    return desk.answer("generative", model="gguf:small", short="7.8 metres")


def outline(library: Library, name: str) -> Answer:
    """Headings and the first sentence under each, labelled so."""
    desk = Desk(library)
    document = library.document(name)
    lines = [f"Outline of {document.title}, not a summary:"]
    for hit in sorted(
        library.search(document.title, k=20, rerank=False, documents=[document.id]),
        key=lambda hit: hit.passage.start,
    ):
        passage = hit.passage
        desk.hits[passage.id] = hit
        desk.claim(None, desk.cite(passage, *_sentence(passage.text, 0)))
        lines.append(
            f"{passage.heading[-1] if passage.heading else '-'}: {_marked(desk.claims[-1])}"
        )
    return desk.answer("outline", text="\n".join(lines))


def summary(library: Library, name: str) -> Answer:
    desk = Desk(library)
    document = library.document(name)
    for hit in library.search(document.title, k=4, rerank=False, documents=[document.id]):
        desk.hits[hit.passage.id] = hit
        desk.claim(None, desk.cite(hit.passage, *_sentence(hit.passage.text, 0)))
    return desk.answer("summary", model="gguf:small", workflow="summary")


def abstained(library: Library, question: str) -> Answer:
    desk = Desk(library)
    desk.search(question)
    return desk.answer(
        "none",
        question=question,
        text="I couldn't find a clear answer.",
        status="abstained",
        stop_reason="no_evidence",
    )


def from_the_web() -> Answer:
    """An answer on a page that was read while answering."""
    sentence = PAGE_TEXT.split(". ", maxsplit=1)[0] + "."
    document = document_id(PAGE_URL)
    source: dict[str, Any] = {
        "document": document,
        "title": "Tides",
        "origin": "web",
        "url": PAGE_URL,
    }
    citation = Citation(
        number=1, passage=f"{document}.0", sha256=hashlib.sha256(PAGE_TEXT.encode()).hexdigest(),
        start=100, end=100 + len(sentence), quote=sentence, fetched=now(), **source,
    )  # fmt: skip
    passage = SeenPassage(
        id=f"{document}.0", start=100, end=100 + len(PAGE_TEXT), score=1.0, kept=True,
        why="from the web", text=PAGE_TEXT, **source,
    )  # fmt: skip
    return Answer(
        run="20260101-000000-fedcba",
        question="How high are spring tides?",
        asked="How high are spring tides?",
        workflow="adaptive",
        method="extractive",
        text=f"{sentence} [1]",
        short="4.9 metres",
        status="answered",
        stop_reason="answered",
        claims=(Claim(text=sentence, citations=(1,), support=1.0, supported=True),),
        citations=(citation,),
        passages=(passage,),
        web_used=True,
        created=now(),
        version="0.1.0",
    )


def _marked(claim: Claim) -> str:
    marks = "".join(f"[{number}]" for number in claim.citations)
    doubt = " (not supported by the evidence)" if claim.supported is False else ""
    return f"{claim.text} {marks}{doubt}"


def _sentence(text: str, at: int) -> tuple[int, int]:
    starts = [0, *sentence_starts(text), len(text)]
    first = max(start for start in starts[:-1] if start <= at)
    piece = text[first : min(start for start in starts[1:] if start > at)]
    return first + len(piece) - len(piece.lstrip()), first + len(piece.rstrip())


def _page(library: Library, passage: Passage, at: int) -> int | None:
    pages = library.text(passage.document).pages
    return next((page.number for page in pages if page.start <= at < page.end), None)
