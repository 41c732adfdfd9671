"""Whether every citation still stands where it says: document, place, quote, page and file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.verify.files import check_file
from secondlook.verify.held import Held
from secondlook.verify.report import Report, shown
from secondlook.verify.web import check_web

if TYPE_CHECKING:
    from secondlook.answer import Answer, Citation, SeenPassage
    from secondlook.document import Extracted
    from secondlook.library import Library
    from secondlook.passage import Passage

_ID_LENGTH = 16
"""A document's id is the start of its SHA-256."""


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
    where = f"citation [{citation.number}]"
    listed = [passage for passage in answer.passages if passage.id == citation.passage]
    if not listed:
        report.wrong("passage", where, f"its passage {shown(citation.passage)} was never looked at")
    elif not any(_is_of(citation, passage) for passage in listed):
        report.wrong(
            "passage",
            where,
            f"it does not lie in its passage {shown(citation.passage)} as the answer lists it",
        )


def _is_of(citation: Citation, passage: SeenPassage) -> bool:
    return (
        (passage.document, passage.title, passage.origin, passage.url)
        == (citation.document, citation.title, citation.origin, citation.url)
        and passage.start <= citation.start <= citation.end <= passage.end
        and passage.kept
    )


def _check_citation(citation: Citation, answer: Answer, held: Held, report: Report) -> None:
    where = f"citation [{citation.number}]"
    if citation.document != citation.sha256[:_ID_LENGTH]:
        report.wrong("document", where, "its document and its SHA-256 do not belong together")
    text = held.text(citation.document)
    document = held.document(citation.document)
    if text is None or document is None:
        named = f"{shown(citation.title)} ({shown(citation.document)})"
        report.wrong("document", where, f"the library does not hold {named}, or holds it changed")
    else:
        _check_document(citation, where, document, report)
        _check_quote(citation, where, text, answer, held, report)
        _check_page(citation, where, text, held, report)
        _check_in_passage(citation, where, held, report)
    check_file(citation, where, held, report)


def _check_document(citation: Citation, where: str, document: Passage, report: Report) -> None:
    if citation.sha256 != document.sha256:
        report.wrong("document", where, "the SHA-256 is not that of the document in the library")
    if citation.title != document.title:
        there = f"the document's title is {shown(document.title)}"
        report.wrong("title", where, f"{there}, not {shown(citation.title)}")
    if citation.url or citation.fetched:
        report.wrong("web", where, "it names a web page, but is of a document in the library")


def _check_quote(  # noqa: PLR0917
    citation: Citation, where: str, text: Extracted, answer: Answer, held: Held, report: Report
) -> None:
    if not citation.quote.strip():
        report.wrong("quote", where, "it quotes nothing")
    elif text.text[citation.start : citation.end] != citation.quote or (
        citation.end - citation.start != len(citation.quote)
    ):
        place = f"at {citation.start}-{citation.end} of {shown(citation.title)}"
        really = _whereabouts(citation, text, answer, held)
        report.wrong("quote", where, f"{shown(citation.quote)} is not {place}; {really}")


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


def _check_page(
    citation: Citation, where: str, text: Extracted, held: Held, report: Report
) -> None:
    passage = held.passages.get(citation.passage)
    if citation.page is None and passage is not None and passage.page is None:
        return  # the passage begins before the first page, such as in a cover sheet
    number = None
    for page in text.pages:
        if page.start <= citation.start:
            number = page.number
    if citation.page != number:
        told = "on no page" if number is None else f"on page {number}"
        report.wrong("page", where, f"the quote stands {told}, not on page {citation.page}")


def _check_in_passage(citation: Citation, where: str, held: Held, report: Report) -> None:
    passage = held.passages.get(citation.passage)
    if passage is None:
        message = f"the library has no passage {shown(citation.passage)}"
    elif passage.document != citation.document:
        message = f"passage {shown(citation.passage)} is of another document"
        report.wrong("passage", where, message)
        return
    elif not passage.start <= citation.start <= citation.end <= passage.end:
        message = f"the quote does not lie in passage {shown(citation.passage)}"
    else:
        return
    held.tell_of_cut(report, where, message)


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
