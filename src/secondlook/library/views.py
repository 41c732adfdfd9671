"""How rows and ranked entries look from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.library.report import DocumentInfo
from secondlook.passage import Hit, Passage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.library.catalog import DocumentRow, FileRow
    from secondlook.retrieval.search import Ranked
    from secondlook.tables.table import Table


def document_info(row: DocumentRow, files: list[FileRow], tables: Sequence[Table]) -> DocumentInfo:
    metadata: dict[str, str] = {}
    for file in files:
        metadata.update(file.metadata)
    return DocumentInfo(
        id=row.id,
        sha256=row.sha256,
        title=row.title,
        kind=row.kind,
        paths=tuple(file.path for file in files),
        author=row.author,
        date=row.date,
        language=row.language,
        pages=row.pages,
        passages=row.passages,
        characters=row.characters,
        metadata=metadata,
        notes=tuple(row.notes),
        added=row.added,
        tables=tuple(table.name for table in tables),
    )


def hit(ranked: Ranked, row: DocumentRow) -> Hit:
    entry = ranked.entry
    return Hit(
        passage=Passage(
            id=entry.id,
            document=row.id,
            sha256=row.sha256,
            title=row.title,
            text=entry.text,
            start=entry.start,
            end=entry.end,
            page=entry.page,
            heading=entry.heading,
        ),
        score=ranked.score,
        fusion_score=ranked.fusion_score,
        dense_rank=ranked.dense_rank,
        dense_score=ranked.dense_score,
        lexical_rank=ranked.lexical_rank,
        lexical_score=ranked.lexical_score,
        rerank_score=ranked.rerank_score,
    )
