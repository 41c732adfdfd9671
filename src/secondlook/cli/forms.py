"""The `--json` forms: a contract, documented in docs/json.md and held to it by a test."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, get_args

from secondlook.library.report import Change

if TYPE_CHECKING:
    from secondlook.document import Extracted, Page
    from secondlook.library.report import AddReport, DocumentInfo, FileChange, Status
    from secondlook.passage import Hit
    from secondlook.tables.table import Table

Form = dict[str, object]


def hit_form(hit: Hit, path: str | None) -> Form:
    passage = hit.passage
    return {
        "id": passage.id,
        "document": passage.document,
        "title": passage.title,
        "page": passage.page,
        "start": passage.start,
        "end": passage.end,
        "text": passage.text,
        "score": hit.score,
        "dense_rank": hit.dense_rank,
        "lexical_rank": hit.lexical_rank,
        "rerank_score": hit.rerank_score,
        "dense_score": hit.dense_score,
        "lexical_score": hit.lexical_score,
        "fusion_score": hit.fusion_score,
        "path": path,
        "heading": list(passage.heading),
        "sha256": passage.sha256,
    }


def change_form(change: FileChange) -> Form:
    return asdict(change)


def add_form(report: AddReport) -> Form:
    return {
        "counts": {kind: report.count(kind) for kind in get_args(Change)},
        "passages": report.passages,
        "seconds": round(report.seconds, 3),
        "dry_run": report.dry_run,
        "interrupted": report.interrupted,
        "changes": [change_form(change) for change in report.changes],
    }


def document_form(document: DocumentInfo) -> Form:
    return asdict(document) | {
        "paths": list(document.paths),
        "notes": list(document.notes),
        "tables": list(document.tables),
    }


def show_form(document: DocumentInfo, extracted: Extracted, page: Page | None) -> Form:
    start, end = (page.start, page.end) if page else (0, len(extracted.text))
    return document_form(document) | {
        "page": page.number if page else None,
        "start": start,
        "end": end,
        "text": extracted.text[start:end],
        "page_map": [asdict(item) for item in extracted.pages],
        "headings": [
            {"level": item.level, "text": extracted.text[item.start : item.end]}
            | {"start": item.start, "end": item.end}
            for item in extracted.headings
        ],
    }


def table_form(table: Table) -> Form:
    return table.model_dump(mode="json")


def status_form(status: Status) -> Form:
    return asdict(status) | {"failed": [asdict(item) for item in status.failed]}
