"""From extracted text to entries: chunk, analyse, and say what is to be embedded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.library.catalog import DocumentRow
from secondlook.library.labels import document_labels, storable
from secondlook.library.manifest import now
from secondlook.retrieval.analyse import terms
from secondlook.retrieval.chunk import ChunkOptions, chunk, with_context
from secondlook.retrieval.index.port import Entry

if TYPE_CHECKING:
    from secondlook.document import Extracted
    from secondlook.library.manifest import Manifest
    from secondlook.passage import Span
    from secondlook.reading.port import Embedder

ID_LENGTH = 16
_CARD = "-card"
"""Ends the version under which a card is stored: the same parser made a text of the table once."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document with its entries, and the text to embed for each of them."""

    row: DocumentRow
    extracted: Extracted
    entries: list[Entry]
    to_embed: list[str]


def document_id(sha256: str) -> str:
    return sha256[:ID_LENGTH]


def passage_ids(row: DocumentRow) -> list[str]:
    return [f"{row.id}.{ordinal}" for ordinal in range(row.passages)]


def is_made_by(version: str, parser: str) -> bool:
    """Whether what is stored under this version is what the parser would make now."""
    return version_of_parser(version) == parser


def version_of_parser(version: str) -> str:
    return version.removesuffix(_CARD)


def prepare(
    extracted: Extracted,
    *,
    sha256: str,
    size: int,
    parser: str,
    manifest: Manifest,
    embedder: Embedder,
) -> Prepared:
    extracted = _storable(extracted)
    options = ChunkOptions(tokens=manifest.chunk_tokens, overlap=manifest.chunk_overlap)
    spans = chunk(extracted, embedder.token_starts, options)
    title = extracted.title or ""
    document = document_id(sha256)
    to_embed = [
        with_context(title, span.heading, extracted.text[span.start : span.end]) for span in spans
    ]
    entries = [
        _entry(document, ordinal, span, extracted.text, terms(whole, manifest.language))
        for ordinal, (span, whole) in enumerate(zip(spans, to_embed, strict=True))
    ]
    row = DocumentRow(
        id=document,
        sha256=sha256,
        bytes=size,
        parser=f"{parser}{_CARD}" if extracted.card else parser,
        title=title,
        author=extracted.author,
        date=extracted.date,
        language=extracted.language,
        kind=extracted.kind,
        pages=len(extracted.pages),
        passages=len(entries),
        characters=len(extracted.text),
        notes=list(extracted.notes),
        labels=document_labels(extracted),
        added=now(),
    )
    return Prepared(row, extracted, entries, to_embed)


def _storable(extracted: Extracted) -> Extracted:
    return replace(
        extracted,
        text=storable(extracted.text),
        title=storable(extracted.title) if extracted.title else extracted.title,
        author=storable(extracted.author) if extracted.author else extracted.author,
        notes=tuple(map(storable, extracted.notes)),
    )


def _entry(document: str, ordinal: int, span: Span, text: str, analysed: tuple[str, ...]) -> Entry:
    return Entry(
        id=f"{document}.{ordinal}",
        document=document,
        text=text[span.start : span.end],
        terms=analysed,
        start=span.start,
        end=span.end,
        page=span.page,
        heading=span.heading,
    )
