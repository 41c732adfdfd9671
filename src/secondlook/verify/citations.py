"""Whether every citation still stands where it says: document, place, quote, page and file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.errors import UsageError
from secondlook.library.library import Shelf
from secondlook.reading.numbers import missing_numbers
from secondlook.reading.support import joined_evidence, without_marks
from secondlook.verify.report import Report, rests_on, shown

if TYPE_CHECKING:
    from secondlook.answer import Answer, Citation, Claim, SeenPassage
    from secondlook.document import Extracted
    from secondlook.library.library import Library
    from secondlook.passage import Passage
    from secondlook.reading.support import Support

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


# Whether the original file still is what was read, where it still is there.

_IN_NO_FILE = ("stdin:", "text:")
_INSIDE_ANOTHER = "!/"


def check_file(citation: Citation, where: str, held: Held, report: Report) -> None:
    path = citation.path
    if path is None or path.startswith(_IN_NO_FILE) or _INSIDE_ANOTHER in path:
        return  # what lies in an archive was hashed by itself
    if path not in held.hashes:
        held.hashes[path] = sha256_of(Path(path))
    found = held.hashes[path]
    if found is None:
        report.note(
            "file", where, f"{shown(path, width=200)} is not there any more{_now(citation, held)}"
        )
    elif found != citation.sha256:
        report.wrong("file", where, f"the file {shown(path, width=200)} has changed since")


def _now(citation: Citation, held: Held) -> str:
    paths = held.library.paths({citation.document}).get(citation.document, ())
    others = [path for path in paths if path != citation.path and Path(path).is_file()]
    return f"; a copy is at {shown(others[0], width=200)}" if others else ""


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
    created: str
    """When the answer was made."""
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
        if self._was_indexed_since():
            report.note("passage", where, f"{message}: the library was rebuilt since")
        else:
            report.wrong("passage", where, message)

    def _was_indexed_since(self) -> bool:
        from secondlook.library.stores import manifest_time

        try:
            made = datetime.fromisoformat(self.created)
        except ValueError:
            return False
        made = made if made.tzinfo else made.replace(tzinfo=UTC)
        return manifest_time(self.library.path) / 1e9 > made.timestamp() + 1


def _first_passage(document: str) -> str:
    return f"{document}.0"


# Web pages change: a web citation is checked against the text as it was read.


def check_web(citation: Citation, answer: Answer, report: Report) -> None:
    from secondlook.retrieval.web.pages import document_id

    where = f"citation [{citation.number}]"
    if not citation.url or not citation.fetched:
        report.wrong("web", where, "it is of the web, but does not say which page was read when")
    elif citation.document != document_id(citation.url):
        report.wrong("document", where, f"its document is not the page {shown(citation.url)}")
    if citation.path is not None:
        report.wrong("web", where, "it is of the web, but names a file")
    listed = [passage for passage in answer.passages if passage.id == citation.passage]
    if citation.page not in {passage.page for passage in listed}:
        report.wrong("page", where, f"the page was read without a page {citation.page}")
    texts = [(passage.start, passage.text) for passage in listed if passage.text is not None]
    if not texts:
        report.wrong("web", where, "the text of the page was not kept, so nothing can be checked")
    elif not any(_stands(citation, start, text) for start, text in texts):
        report.wrong("quote", where, f"{shown(citation.quote)} is not there in the page as read")
    elif citation.sha256 not in {_sha256(text) for _, text in texts}:
        report.wrong("document", where, "the SHA-256 is not that of the text that was read")


def _stands(citation: Citation, start: int, text: str) -> bool:
    first, last = citation.start - start, citation.end - start
    return 0 <= first < last <= len(text) and text[first:last] == citation.quote


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# Whether what an answer cites carries what it claims: by its numbers and by its words.


def check_evidence(answer: Answer, report: Report, *, support: Support, min_support: float) -> None:
    """What code computed is done again instead, which is more than a judge can do."""
    if rests_on(answer) != "sources":
        return
    said = [(at, claim) for at, claim in enumerate(answer.claims, 1) if claim.computation is None]
    pairs = [(claim.text, evidence_of(claim, answer)) for _, claim in said]
    judged = zip(said, pairs, support.support(pairs) if pairs else (), strict=True)
    for (at, claim), (_, evidence), score in judged:
        _check_claim(claim, f"claim {at}", evidence, score, min_support, report)


def evidence_of(claim: Claim, answer: Answer) -> str:
    """The quotes that a claim cites, in its order, each under its title."""
    given = {citation.number: citation for citation in answer.citations}
    cited = [given[number] for number in claim.citations if number in given]
    return joined_evidence((citation.title, citation.quote) for citation in cited)


def _check_claim(  # noqa: PLR0917
    claim: Claim, where: str, evidence: str, score: float, min_support: float, report: Report
) -> None:
    # A sentence that is marked as unsupported says so itself.
    tell = report.note if claim.supported is False else report.wrong
    if missing := missing_numbers(without_marks(claim.text), evidence):
        listed = ", ".join(dict.fromkeys(missing))
        tell("number", where, f"{shown(listed)} stands nowhere in what it cites")
    if score < min_support:
        tell(
            "support",
            where,
            f"what it cites supports it by {score:.2f}, less than {min_support:.2f}: "
            f"{shown(claim.text)}",
        )
