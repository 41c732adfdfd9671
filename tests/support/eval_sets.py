"""Small evaluation sets written to disk, in the forms in which people have them."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from secondlook.evaluation.datasets.evalset import EvalSet

CORPUS: tuple[dict[str, Any], ...] = (
    {"id": "p1", "title": "North quay", "text": "The north quay was built in 1931."},
    {"id": "p2", "title": "Cape Varn", "text": "The light at Cape Varn was lit in 1868."},
    {"id": 3, "title": "", "text": "Tolham has a weir of oak."},
)
QUERIES: tuple[dict[str, Any], ...] = (
    {"id": "q1", "question": "When was the north quay built?", "answers": ["1931"], "gold": ["p1"]},
    {"id": 2, "question": "Who keeps the light?", "answerable": False, "gold": ["p2"]},
    {"id": "q3", "question": "What is the weir of Tolham made of?", "answers": ["oak", "oak wood"],
     "gold": [3, "p2"], "answerable": True, "type": "bridge", "level": "hard"},
)  # fmt: skip


def as_line(row: object) -> bytes:
    """A row as JSON; bytes and texts stand for themselves, however broken."""
    if isinstance(row, bytes):
        return row
    return (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)).encode()


def write_rows(path: Path, rows: Iterable[object]) -> Path:
    data = b"".join(as_line(row) + b"\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def lines_set(
    folder: Path,
    *,
    corpus: Sequence[object] = CORPUS,
    queries: Sequence[object] = QUERIES,
    end: str = "",
) -> Path:
    write_rows(folder / f"corpus.jsonl{end}", corpus)
    write_rows(folder / f"queries.jsonl{end}", queries)
    return folder


def own_set(folder: Path, table: str | bytes) -> Path:
    for name, text in (
        ("harbour.md", "# Harbour\n\nThe deepest berth has 14.2 metres."),
        ("rules/bakery.txt", "The oven is lit at four."),
        ("rules/Täglich.txt", "Bread is sold from seven."),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    data = table.encode() if isinstance(table, str) else table
    (folder / "questions.csv").write_bytes(data)
    return folder


def told(data: EvalSet) -> list[tuple[str, int | None, str]]:
    return [(problem.file, problem.line, problem.reason) for problem in data.problems]
