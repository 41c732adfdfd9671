"""The tables of a library as they are asked: each under a name of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.tables.naming import named_apart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secondlook.library.catalog import DocumentRow, FileRow
    from secondlook.library.change import Stores
    from secondlook.retrieval.index.port import Filter
    from secondlook.tables.table import Table


def tables_by_document(stores: Stores) -> dict[str, tuple[Table, ...]]:
    """Every table, by the document that holds it.

    Names are given in the order of paths, whoever asks: what a table is called does not depend on
    which part of the library a question is about.
    """
    files = _first_files(stores.catalog.files_of(stores.tables.holders()))
    held = {
        document: tuple(
            table.model_copy(update={"path": file.path}) for table in stores.tables.tables(document)
        )
        for document, file in sorted(files.items(), key=lambda item: item[1].path)
    }
    named = iter(named_apart([table for tables in held.values() for table in tables]))
    return {
        document: tuple(next(named) for _ in tables) for document, tables in held.items() if tables
    }


def tables_within(stores: Stores, where: Filter) -> list[Table]:
    """Those of the documents in scope."""
    held = tables_by_document(stores)
    rows = {row.id: row for row in stores.catalog.documents_by_id(held)}
    return [
        table
        for document, tables in held.items()
        if document in rows and _in_scope(rows[document], where)
        for table in tables
    ]


def unusable(stores: Stores) -> list[tuple[str, str]]:
    """Paths of what looks like a table and cannot be used as one, with the reason."""
    problems = {
        document: problem
        for document in stores.tables.holders()
        if (problem := stores.tables.problem(document))
    }
    kinds = {row.id: row.kind for row in stores.catalog.documents_by_id(problems)}
    files = _first_files(stores.catalog.files_of(problems))
    return sorted(
        (file.path, problems[document])
        for document, file in files.items()
        if kinds.get(document) not in {None, "json", "jsonl"}  # most JSON is no table to anybody
    )


def _first_files(files: Iterable[FileRow]) -> dict[str, FileRow]:
    found: dict[str, FileRow] = {}
    for file in sorted(files, key=lambda item: item.path):
        found.setdefault(file.document or "", file)
    return found


def _in_scope(row: DocumentRow, where: Filter) -> bool:
    if where.documents is not None and row.id not in where.documents:
        return False
    return where.labels <= set(row.labels)
