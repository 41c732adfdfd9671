"""The evaluation sets of the sweep and where its intermediate results are kept."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

SETS = ("squad2-dev", "scifact", "hotpot", "cranfield")
CACHE = Path(__file__).resolve().parent.parent / ".cache" / "sweep"
Given = Literal["text", "context"]
"""What a model sees of a passage: its text alone, or title and text."""
GIVEN: tuple[Given, ...] = ("context", "text")


@dataclass(frozen=True, slots=True)
class Query:
    id: str
    question: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    name: str
    passages: list[Row]
    queries: list[Query]


def load(name: str) -> EvaluationSet:
    """A set with its answerable questions; gold passages that are not in the corpus are dropped."""
    folder = _data() / name
    passages = [
        Row(str(row["id"]), row["title"] or "", row["text"])
        for row in read_lines(folder / "corpus.jsonl.gz")
    ]
    held = {row.id for row in passages}
    queries = [
        Query(str(row["id"]), row["question"], frozenset(map(str, row["gold"])) & held)
        for row in read_lines(folder / "queries.jsonl.gz")
        if row["answerable"]
    ]
    return EvaluationSet(name, passages, [query for query in queries if query.gold])


def shown(row: Row, given: Given) -> str:
    from secondlook.retrieval.chunk import with_context

    return row.text if given == "text" else with_context(row.title, (), row.text)


def shuffled(query: str) -> str:
    """A key that puts questions in an order that has nothing to do with their content."""
    return hashlib.sha256(query.encode()).hexdigest()


def read_lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".part")
    with gzip.open(fresh, "wt", encoding="utf-8", compresslevel=6) as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    fresh.replace(path)


def _data() -> Path:
    folder = os.environ.get("SECONDLOOK_DATA")
    if not folder:
        message = "set SECONDLOOK_DATA to the folder that holds the evaluation sets"
        raise SystemExit(message)
    return Path(folder)
