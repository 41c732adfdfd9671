"""Evaluation sets made from others: part of the questions, or part of the passages elsewhere.

What is made lies under `.cache`, never in the repository, and comes out the same each time.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "eval"
SEED = 0

Rows = list[dict[str, Any]]


def data_folder() -> Path:
    folder = os.environ.get("SECONDLOOK_DATA")
    if not folder:
        raise SystemExit("set SECONDLOOK_DATA to the folder that holds the evaluation sets")
    return Path(folder)


def read_rows(folder: Path, name: str) -> Rows:
    """`corpus` or `queries` of a set, gzipped or not."""
    plain, packed = folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz"
    if plain.is_file():
        text = plain.read_text("utf-8")
    else:
        with gzip.open(packed, "rt", encoding="utf-8") as file:
            text = file.read()
    # Not splitlines: a text may hold other signs that end lines.
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def each_once(queries: Rows) -> Rows:
    """Some sets ask a question twice; an evaluation takes it once, the first time."""
    return list({row["question"]: row for row in reversed(queries)}.values())[::-1]


def write_set(folder: Path, corpus: Iterable[dict[str, Any]], queries: Rows) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")
    return folder


def chosen(rows: Sequence[dict[str, Any]], most: int | None, *, seed: int = SEED) -> Rows:
    """A random part in the order given; all where there are no more."""
    if most is None or most >= len(rows):
        return list(rows)
    places = random.Random(seed).sample(range(len(rows)), most)
    return [rows[at] for at in sorted(places)]


def by_answerable(
    queries: Sequence[dict[str, Any]], *, answerable: int | None, unanswerable: int | None
) -> Rows:
    """So many of each kind, by chance; None = all of them."""
    can = chosen([row for row in queries if row["answerable"]], answerable)
    cannot = chosen([row for row in queries if not row["answerable"]], unanswerable)
    taken = {row["id"] for row in [*can, *cannot]}
    return [row for row in queries if row["id"] in taken]


@dataclass(frozen=True, slots=True)
class Moved:
    """Two sets of the same questions. In one the library holds every passage; in the other some
    gold passages are on the web instead. Each question says which, in `type`."""

    as_is: Path
    moved: Path
    passages: Rows
    """Those that were moved."""


def some_gold(corpus: Rows, queries: Rows, *, share: float, seed: int = SEED) -> set[str]:
    """That share of the passages that are gold to any of the questions."""
    held = {row["id"] for row in corpus}
    gold = sorted({key for row in queries for key in row["gold"] if key in held})
    return set(random.Random(seed).sample(gold, round(share * len(gold))))


def move(corpus: Rows, queries: Rows, gone: set[str], folder: Path) -> Moved:
    marked = [row | {"type": "moved" if gone & set(row["gold"]) else "kept"} for row in queries]
    left = [row for row in corpus if row["id"] not in gone]
    # Gold is what the library holds: where to find the rest is not for its search to know.
    there = [row | {"gold": [key for key in row["gold"] if key not in gone]} for row in marked]
    return Moved(
        as_is=write_set(folder / "as-is", corpus, marked),
        moved=write_set(folder / "moved", left, there),
        passages=[row for row in corpus if row["id"] in gone],
    )
