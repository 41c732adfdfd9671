"""The `--json` forms: a contract, documented in docs/json.md and held to it by a test."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, get_args

from secondlook.library.report import Change
from secondlook.retrieval.terms import query_terms, terms

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


# The part of a passage that shows why it was found, with the matching words marked.

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Snippet:
    text: str
    matches: tuple[tuple[int, int], ...]
    """Spans of `text` that match the query, in order."""


def snippet(text: str, query: str, *, width: int, language: str = "english") -> Snippet:
    """At most about `width` characters of `text`, where most different query terms stand."""
    flat = " ".join(text.split())
    found = _matches(flat, frozenset(query_terms(query, language)), language)
    start, end = _window(flat, found, width)
    before = _ELLIPSIS if start > 0 else ""
    after = _ELLIPSIS if end < len(flat) else ""
    shift = len(before) - start
    inside = tuple((a + shift, b + shift) for a, b, _ in found if start <= a and b <= end)
    return Snippet(f"{before}{flat[start:end]}{after}", inside)


def _matches(text: str, wanted: frozenset[str], language: str) -> list[tuple[int, int, str]]:
    """Each match as (start, end, term)."""
    found: list[tuple[int, int, str]] = []
    for word in _WORD.finditer(text):
        own = terms(word[0], language)
        hit = next((term for term in own if term in wanted), None)
        if hit is None:
            continue
        if len(own) > 1 and hit in word[0]:  # a run without spaces: only part of it matches
            found.extend(_within(word, wanted))
        else:
            found.append((word.start(), word.end(), hit))
    return found


def _within(word: re.Match[str], wanted: frozenset[str]) -> list[tuple[int, int, str]]:
    pairs = ((at, word[0][at : at + 2]) for at in range(len(word[0]) - 1))
    return [
        (word.start() + at, word.start() + at + 2, pair) for at, pair in pairs if pair in wanted
    ]


def _window(text: str, found: list[tuple[int, int, str]], width: int) -> tuple[int, int]:
    """Where to cut: the stretch with most different terms, with some room in front of it."""
    if len(text) <= width:
        return 0, len(text)
    best = max(
        (start for start, _, _ in found),
        key=lambda start: _different_terms(found, start, start + width * 3 // 4),
        default=0,
    )
    start = _word_start(text, max(0, min(best - width // 4, len(text) - width)))
    return start, _word_end(text, min(len(text), start + width))


def _different_terms(found: list[tuple[int, int, str]], start: int, end: int) -> int:
    return len({term for a, b, term in found if start <= a and b <= end})


def _word_start(text: str, at: int) -> int:
    """Not in the middle of a word, unless it is a long run without spaces."""
    if at == 0 or text[at - 1] == " ":
        return at
    space = text.find(" ", at, at + 40)
    return at if space < 0 else space + 1


def _word_end(text: str, at: int) -> int:
    if at >= len(text) or text[at] == " ":
        return at
    space = text.rfind(" ", max(0, at - 40), at)
    return at if space < 0 else space
