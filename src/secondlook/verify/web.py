"""Web pages change: a web citation is checked against the text as it was read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from secondlook.verify.report import Report, shown

if TYPE_CHECKING:
    from secondlook.answer import Answer, Citation


def check_web(citation: Citation, answer: Answer, report: Report) -> None:
    from secondlook.retrieval.web.cut import document_id

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
