"""Whether every citation still stands where it says: document, place, quote, page and file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.errors import UsageError
from secondlook.library.library import Library, Shelf
from secondlook.library.report import is_address
from secondlook.nodes.combine import stands_in
from secondlook.reading.numbers import missing_numbers
from secondlook.reading.support import (
    DEFAULT_MIN_SUPPORT,
    LEAST_QUOTED,
    Support,
    joined_evidence,
    without_marks,
)
from secondlook.verify.report import Report, rests_on, shown

if TYPE_CHECKING:
    from secondlook.answer import Answer, Citation, SeenPassage
    from secondlook.document import Extracted
    from secondlook.passage import Passage

_ID_LENGTH = 16  # a document's id is the start of its SHA-256


def needs_library(answer: Answer) -> bool:
    """Whether any of it can only be checked against a library."""
    return any(citation.origin == "library" for citation in answer.citations)


def check_places(answer: Answer, library: Library | None, report: Report) -> None:
    held = Held.of(answer, library) if library is not None else None
    for citation in answer.citations:
        _check_listed(citation, answer, report)
        if citation.origin == "web":
            check_web(citation, answer, report)
        elif held is not None:
            _check_citation(citation, answer, held, report)
    if held is None and needs_library(answer):
        report.wrong("document", "answer", "there is no library to check its quotes against")
    for passage in answer.passages:
        if held is not None and passage.origin == "library":
            _check_passage(passage, held, report)


def _check_listed(citation: Citation, answer: Answer, report: Report) -> None:
    """A citation comes from a passage that was looked at, and lies within it."""
    where, name = f"citation [{citation.number}]", shown(citation.passage)
    listed = [passage for passage in answer.passages if passage.id == citation.passage]
    inside = any(
        (passage.document, passage.title, passage.origin, passage.url)
        == (citation.document, citation.title, citation.origin, citation.url)
        and passage.start <= citation.start <= citation.end <= passage.end
        and passage.kept
        for passage in listed
    )
    if not listed:
        report.wrong("passage", where, f"its passage {name} was never looked at")
    elif not inside:
        message = f"it does not lie in its passage {name} as the answer lists it"
        report.wrong("passage", where, message)


def _check_citation(citation: Citation, answer: Answer, held: Held, report: Report) -> None:
    where = f"citation [{citation.number}]"
    of_document = report.checker("document", where)
    apart = citation.document != citation.sha256[:_ID_LENGTH]
    of_document(apart, "its document and its SHA-256 do not belong together")
    text, document = held.text(citation.document), held.document(citation.document)
    if text is None or document is None:
        named = f"{shown(citation.title)} ({shown(citation.document)})"
        report.wrong("document", where, f"the library does not hold {named}, or holds it changed")
    else:
        other = citation.sha256 != document.sha256
        of_document(other, "the SHA-256 is not that of the document in the library")
        message = f"the document's title is {shown(document.title)}, not {shown(citation.title)}"
        report.wrong_if(citation.title != document.title, "title", where, message)
        message = "it names a web page, but is of a document in the library"
        report.wrong_if(citation.url or citation.fetched, "web", where, message)
        there = text.text[citation.start : citation.end] == citation.quote
        if not citation.quote.strip():
            report.wrong("quote", where, "it quotes nothing")
        elif not there or citation.end - citation.start != len(citation.quote):
            place = f"at {citation.start}-{citation.end} of {shown(citation.title)}"
            really = _whereabouts(citation, text, answer, held)
            report.wrong("quote", where, f"{shown(citation.quote)} is not {place}; {really}")
        _check_place(citation, where, text, held, report)
    check_file(citation, where, held, report)


def _whereabouts(citation: Citation, text: Extracted, answer: Answer, held: Held) -> str:
    at = text.text.find(citation.quote)
    if at >= 0:
        return f"it stands at {at}-{at + len(citation.quote)}"
    for document in dict.fromkeys(passage.document for passage in answer.passages):
        other = held.text(document)
        if other is not None and citation.quote in other.text:
            found = held.document(document)
            return f"it is from {shown(found.title if found else document)}"
    return "it stands nowhere in it"


def _check_place(
    citation: Citation, where: str, text: Extracted, held: Held, report: Report
) -> None:
    """The page and the passage."""
    passage, name = held.passages.get(citation.passage), shown(citation.passage)
    # A passage may begin before the first page, such as in a cover sheet.
    if citation.page is not None or passage is None or passage.page is not None:
        before = [page.number for page in text.pages if page.start <= citation.start]
        number = before[-1] if before else None
        told = "on no page" if number is None else f"on page {number}"
        message = f"the quote stands {told}, not on page {citation.page}"
        report.wrong_if(citation.page != number, "page", where, message)
    if passage is None:
        held.tell_of_cut(report, where, f"the library has no passage {name}")
    elif passage.document != citation.document:
        report.wrong("passage", where, f"passage {name} is of another document")
    elif not passage.start <= citation.start <= citation.end <= passage.end:
        held.tell_of_cut(report, where, f"the quote does not lie in passage {name}")


def _check_passage(listed: SeenPassage, held: Held, report: Report) -> None:
    """The record of what was looked at; a document may have been removed since."""
    where = f"passage {shown(listed.id)}"
    passage = held.passages.get(listed.id)
    if held.document(listed.document) is None:
        report.note("document", where, f"the library holds {shown(listed.title)} no more")
    elif passage is None:
        held.tell_of_cut(report, where, f"there is none in {shown(listed.title)}")
    elif (listed.document, listed.title) != (passage.document, passage.title):
        report.wrong("passage", where, f"it is of {shown(passage.title)}, which is not said")
    elif (listed.start, listed.end, listed.page) != (passage.start, passage.end, passage.page):
        place = f"{passage.start}-{passage.end}, page {passage.page}"
        held.tell_of_cut(report, where, f"it lies at {place}, which is not said")


def check_file(citation: Citation, where: str, held: Held, report: Report) -> None:
    """Whether the original file still is what was read, where it still is there."""
    path = citation.path
    if path is None or path.startswith(("stdin:", "text:")) or "!/" in path or is_address(path):
        return  # what lies in an archive was hashed by itself
    if path not in held.hashes:
        held.hashes[path] = sha256_of(Path(path))
    found, named = held.hashes[path], shown(path, width=200)
    if found is None:
        paths = held.library.paths({citation.document}).get(citation.document, ())
        others = [other for other in paths if other != path and Path(other).is_file()]
        now = f"; a copy is at {shown(others[0], width=200)}" if others else ""
        report.note("file", where, f"{named} is not there any more{now}")
    elif found != citation.sha256:
        report.wrong("file", where, f"the file {named} has changed since")


def sha256_of(path: Path) -> str | None:
    """Of the file there; None where there is none to read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, ValueError):  # gone, a folder, not ours to read, or no path at all
        return None


# What a library holds of all that an answer names, each thing read once.


@dataclass(slots=True)
class Held:
    library: Library
    created: str  # when the answer was made
    passages: dict[str, Passage]
    _texts: dict[str, Extracted | None] = field(default_factory=dict)
    hashes: dict[str, str | None] = field(default_factory=dict)
    """SHA-256 of files on disk, by path; None for those that are not there."""

    @classmethod
    def of(cls, answer: Answer, library: Library) -> Held:
        listed = [passage for passage in answer.passages if passage.origin == "library"]
        cited = [citation for citation in answer.citations if citation.origin == "library"]
        documents = {passage.document for passage in listed}
        documents |= {citation.document for citation in cited}
        ids = {passage.id for passage in listed} | {citation.passage for citation in cited}
        ids |= {_first_passage(document) for document in documents}
        return cls(library, answer.created, Shelf(library).passages(sorted(ids)))

    def text(self, document: str) -> Extracted | None:
        if document not in self._texts:
            try:
                self._texts[document] = self.library.text(document)
            except UsageError:  # it holds no such document
                self._texts[document] = None
        return self._texts[document]

    def document(self, document: str) -> Passage | None:
        """Any passage of the document: it knows the document's title and hash."""
        return self.passages.get(_first_passage(document))

    def tell_of_cut(self, report: Report, where: str, message: str) -> None:
        """Passages are cut anew when a library is rebuilt; quotes stay where they are."""
        from secondlook.library.stores import manifest_time

        try:
            made = datetime.fromisoformat(self.created)
        except ValueError:
            report.wrong("passage", where, message)
            return
        made = made if made.tzinfo else made.replace(tzinfo=UTC)
        if manifest_time(self.library.path) / 1e9 > made.timestamp() + 1:
            report.note("passage", where, f"{message}: the library was rebuilt since")
        else:
            report.wrong("passage", where, message)


def _first_passage(document: str) -> str:
    return f"{document}.0"


def check_web(citation: Citation, answer: Answer, report: Report) -> None:
    """Web pages change: a web citation is checked against the text as it was read."""
    from secondlook.retrieval.web.pages import document_id

    where, start = f"citation [{citation.number}]", citation.start
    if not citation.url or not citation.fetched:
        report.wrong("web", where, "it is of the web, but does not say which page was read when")
    elif citation.document != document_id(citation.url):
        report.wrong("document", where, f"its document is not the page {shown(citation.url)}")
    named = citation.path is not None
    report.wrong_if(named, "web", where, "it is of the web, but names a file")
    listed = [passage for passage in answer.passages if passage.id == citation.passage]
    other = citation.page not in {passage.page for passage in listed}
    report.wrong_if(other, "page", where, f"the page was read without a page {citation.page}")
    texts = [(one.start, one.text) for one in listed if one.text is not None]
    stands = any(
        0 <= start - at < citation.end - at <= len(text)
        and text[start - at : citation.end - at] == citation.quote
        for at, text in texts
    )
    hashes = {
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for _, text in texts
    }
    if not texts:
        report.wrong("web", where, "the text of the page was not kept, so nothing can be checked")
    elif not stands:
        report.wrong("quote", where, f"{shown(citation.quote)} is not there in the page as read")
    elif citation.sha256 not in hashes:
        report.wrong("document", where, "the SHA-256 is not that of the text that was read")


def check_evidence(answer: Answer, report: Report, support: Support) -> None:
    """Whether what an answer cites carries what it claims: by its numbers and by its words. What
    code computed is done again instead, which is more than a judge can do."""
    if rests_on(answer) != "sources":
        return
    given = {citation.number: citation for citation in answer.citations}
    said, pairs = [], []
    for at, claim in enumerate(answer.claims, 1):
        if claim.computation is None:
            # The quotes that a claim cites, in its order, each under its title.
            cited = [given[number] for number in claim.citations if number in given]
            if answer.method == "survey" and any(stands_in(claim.text, one.quote) for one in cited):
                continue  # a value as it stands; what it answers is in the table
            pairs.append((claim.text, joined_evidence((one.title, one.quote) for one in cited)))
            said.append((f"claim {at}", claim))
    scores = support.support(pairs) if pairs else ()
    for (where, claim), (text, evidence), score in zip(said, pairs, scores, strict=True):
        # A sentence that is marked as unsupported says so itself.
        tell = report.note if claim.supported is False else report.wrong
        if missing := missing_numbers(without_marks(text), evidence):
            listed = ", ".join(dict.fromkeys(missing))
            tell("number", where, f"{shown(listed)} stands nowhere in what it cites")
        if score < DEFAULT_MIN_SUPPORT and not (
            claim.answers and _answers(answer, text, evidence, support)
        ):
            least = f"{score:.2f}, less than {DEFAULT_MIN_SUPPORT:.2f}"
            tell("support", where, f"what it cites supports it by {least}: {shown(text)}")


def _answers(answer: Answer, text: str, evidence: str, support: Support) -> bool:
    """Whether what a claim cites says that it answers what was asked, or a part of it: "No." says
    nothing by itself."""
    parts = [part.question for part in answer.parts]
    steps = [step.question for step in answer.research.steps] if answer.research else []
    asked = dict.fromkeys([answer.asked, *answer.queries, *parts, *steps])
    views = [(text, (evidence,))]
    return any(
        value >= LEAST_QUOTED
        for question in asked
        for value in support.answers(question, views) or ()
    )
