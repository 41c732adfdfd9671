"""The corpus of a set: rows with id, title and text, read one at a time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.datasets.fields import Malformed, identifier, optional_text, text
from secondlook.evaluation.datasets.jsonlines import objects
from secondlook.evaluation.records import Problem
from secondlook.library import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Passage:
    id: str
    title: str
    text: str

    def as_text(self) -> Text | None:
        """What a library is given. Some sets have rows of a title alone: that is their text."""
        said = self.text if self.text.strip() else self.title
        return Text(self.id, said, self.title or None) if said.strip() else None


@dataclass(slots=True)
class Corpus:
    """What is known of the passages after reading them once; the passages are not kept."""

    ids: set[str] = field(default_factory=set)
    blank: set[str] = field(default_factory=set)
    """Rows without any text: no library can hold them."""
    fingerprint: str = ""

    @classmethod
    def survey(cls, passages: Iterable[Passage]) -> Corpus:
        corpus, digest = cls(), hashlib.sha256()
        for passage in passages:
            if found := passage.as_text():
                corpus.ids.add(passage.id)
                fingerprint(digest, found.name, found.title or "", found.text)
            else:
                corpus.blank.add(passage.id)
        corpus.fingerprint = digest.hexdigest()
        return corpus

    def why_not(self, identifier_: str) -> str | None:
        """Why this passage cannot be found, if it cannot."""
        if identifier_ in self.ids:
            return None
        return "is a passage without text" if identifier_ in self.blank else "is not in the corpus"

    @property
    def notes(self) -> tuple[str, ...]:
        count = len(self.blank)
        return (f"{count:,} passages without text are not indexed",) if count else ()


def fingerprint(digest: hashlib._Hash, *parts: str) -> None:
    """Each part with its length, so that no two sequences of parts look alike."""
    for part in parts:
        data = part.encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)


def read_passages(path: Path, problems: list[Problem], *, id_field: str) -> Iterator[Passage]:
    """The usable rows of a corpus file. Of two with the same id the first stands."""
    first: dict[str, int] = {}
    for line, row in objects(path, problems):
        try:
            passage = _passage(row, id_field, first)
        except Malformed as error:
            problems.append(Problem(path.name, line, error.message))
        else:
            first[passage.id] = line
            yield passage


def _passage(row: Mapping[str, Any], id_field: str, first: Mapping[str, int]) -> Passage:
    passage = Passage(identifier(row, id_field), optional_text(row, "title"), text(row, "text"))
    if passage.id in first:
        raise Malformed(f"id {passage.id!r} is that of line {first[passage.id]} already")
    return passage


def as_texts(passages: Iterable[Passage]) -> Iterator[Text]:
    return (found for passage in passages if (found := passage.as_text()))


def read_texts(path: Path, id_field: str) -> Iterator[Text]:
    """The texts of a corpus file whose problems are known already."""
    return as_texts(read_passages(path, [], id_field=id_field))
