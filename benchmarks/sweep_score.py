"""Reads pairs of question and passage with the reader, in parts, resumable at any moment."""

from __future__ import annotations

import gzip
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "sweep"


def score(
    given: str, *, part: int, parts: int, threads: int | None, limit: int | None, depth: int
) -> None:
    """Append the reader's scores of every pair of this part that no earlier run has read."""
    from secondlook.reading import load_reader

    reader = load_reader(threads=threads)
    texts = {(row["set"], row["id"]): row[given] for row in _rows(CACHE / "texts.jsonl.gz")}
    folder = score_folder(reader.name, given)
    folder.mkdir(parents=True, exist_ok=True)
    done = {
        (row["set"], row["query"], passage)
        for row in read_scores(folder)
        for passage in row["passages"]
    }
    mine = [
        group
        for at, group in enumerate(_limited(_rows(CACHE / "pairs.jsonl.gz"), limit))
        if at % parts == part - 1 and group["tier"] <= depth
    ]
    for group in mine:
        keys = [(group["set"], group["query"], passage) for passage in group["passages"]]
        group["passages"] = [key[-1] for key in keys if key not in done]
    groups = [group for group in mine if group["passages"]]
    began, pairs = time.monotonic(), 0
    with (folder / f"{part}-of-{parts}.jsonl").open("a", encoding="utf-8") as file:
        if file.tell():
            file.write("\n")  # ends a line that a kill cut short
        for at, group in enumerate(groups, start=1):
            passages = [texts[group["set"], passage] for passage in group["passages"]]
            readings = reader.read(group["question"], passages)
            pairs += len(passages)
            values = [
                [
                    round(value, 4)
                    for value in (r.relevance, r.answerable, r.span_score - r.null_score)
                ]
                for r in readings
            ]
            del group["question"]
            file.write(json.dumps(group | {"scores": values}) + "\n")
            file.flush()
            if at % 100 == 0 or at == len(groups):
                rate = pairs / (time.monotonic() - began)
                print(
                    f"part {part}/{parts}: {at}/{len(groups)} groups, {rate:.0f} pairs/s",
                    flush=True,
                )


def score_folder(reader: str, given: str) -> Path:
    return CACHE / "scores" / f"{reader.replace('@', '-')}-{given}"


def read_scores(folder: Path) -> Iterator[dict[str, Any]]:
    """Every whole line of every part; a line that a kill cut short is read again later."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in filter(None, path.read_text("utf-8").splitlines()):
            try:
                yield json.loads(line)
            except ValueError:
                print(f"skipping a torn line in {path.name}", file=sys.stderr)


def _limited(groups: Iterator[dict[str, Any]], limit: int | None) -> Iterator[dict[str, Any]]:
    """The groups of the first `limit` questions of each set."""
    seen: dict[str, dict[str, None]] = {}
    for group in groups:
        queries = seen.setdefault(group["set"], {})
        if limit is None or group["query"] in queries or len(queries) < limit:
            queries[group["query"]] = None
            yield group


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)
