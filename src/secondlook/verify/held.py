"""What a library holds of all that an answer names, each thing read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from secondlook.errors import UsageError
from secondlook.library.shelf import Shelf

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.document import Extracted
    from secondlook.library import Library
    from secondlook.passage import Passage
    from secondlook.verify.report import Report


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
        from secondlook.library.opening import manifest_time

        try:
            made = datetime.fromisoformat(self.created)
        except ValueError:
            return False
        made = made if made.tzinfo else made.replace(tzinfo=UTC)
        return manifest_time(self.library.path) / 1e9 > made.timestamp() + 1


def _first_passage(document: str) -> str:
    return f"{document}.0"
