"""Whether the answer memory takes a question for another one.

    python -m benchmarks.same_question
    SECONDLOOK_DATA=... python -m benchmarks.same_question --natural

The written pairs (`benchmarks/sets/same_question.jsonl`) differ in little and mean something else,
or are rewordings. The matcher was tuned on the half called `tuned`, from which the family `asked`
is kept out; all else is `judged`. The vectors are those of the shipped embedder.

With `--natural` also pairs of SQuAD 2.0 questions on one paragraph (`squad2-dev`): the one has its
answer there, and the other, often a twist of the first, has none. Hardly two of them ask the same.
Counted are those that the vectors alone take for the same, and those that the matcher leaves.
Writes benchmarks/results/same_question.json.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.sets.same_question_making import UNTUNED, Pair, read_pairs
from secondlook.evaluation.statistics import wilson
from secondlook.reading import load_embedder
from secondlook.roles.same_question import same_question
from secondlook.settings.sections import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.reading.port import Embedder, Vectors

RESULTS = Path(__file__).parent / "results" / "same_question.json"
LIMITS = (0.90, 0.92, 0.94, 0.96, 0.98)
SHOWN = 40


@dataclass(frozen=True, slots=True)
class Judged:
    pair: Pair
    similarity: float
    taken_for_same: bool
    why: str


def judged(pairs: Sequence[Pair], vectors: dict[str, Vectors], settings: Settings) -> list[Judged]:
    made = []
    for pair in pairs:
        similarity = float(vectors[pair.one] @ vectors[pair.other])
        verdict = same_question(pair.one, pair.other, similarity, settings)
        made.append(Judged(pair, similarity, verdict.same, verdict.why))
    return made


def embedded(texts: Sequence[str], embedder: Embedder) -> dict[str, Vectors]:
    unique = list(dict.fromkeys(texts))
    return dict(zip(unique, embedder.embed_passages(unique), strict=True))


def share(rows: Sequence[Judged], *, same: bool) -> dict[str, Any]:
    """How many pairs of the kind were taken for the same question."""
    chosen = [row for row in rows if row.pair.same is same]
    hits = sum(row.taken_for_same for row in chosen)
    return share_of(hits, len(chosen))


def share_of(hits: int, n: int) -> dict[str, Any]:
    value = hits / n if n else 0.0
    low, high = wilson(value, n) if n else (0.0, 1.0)
    return {
        "hits": hits,
        "of": n,
        "share": round(value, 4),
        "interval": [round(low, 4), round(high, 4)],
    }


def figures(rows: Sequence[Judged]) -> dict[str, Any]:
    return {"false_hits": share(rows, same=False), "paraphrase_hits": share(rows, same=True)}


def by_limit(rows: Sequence[Judged]) -> dict[str, Any]:
    """What the vectors alone would do, at several limits."""
    return {
        f"{limit:.2f}": {
            name: share_of(
                sum(row.similarity >= limit for row in rows if row.pair.same is same),
                sum(row.pair.same is same for row in rows),
            )
            for name, same in (("false_hits", False), ("paraphrase_hits", True))
        }
        for limit in LIMITS
    }


def written(embedder: Embedder, settings: Settings) -> dict[str, Any]:
    pairs = read_pairs()
    vectors = embedded([text for pair in pairs for text in (pair.one, pair.other)], embedder)
    rows = judged(pairs, vectors, settings)
    families = list(dict.fromkeys(row.pair.family for row in rows))
    tuned_on = [row for row in rows if row.pair.half == "tuned"]
    fresh = [row for row in rows if row.pair.half == "judged" and row.pair.family != UNTUNED]
    untuned = [row for row in rows if row.pair.family == UNTUNED]
    return {
        "all": figures(rows),
        "tuned": figures(tuned_on),
        "judged, families tuned on": figures(fresh),
        f"judged, the family never tuned on ({UNTUNED})": figures(untuned),
        "families": {
            name: figures([r for r in rows if r.pair.family == name]) for name in families
        },
        "by vectors alone": by_limit(rows),
        "false": [
            [row.pair.one, row.pair.other]
            for row in rows
            if row.taken_for_same and not row.pair.same
        ],
    }


def paragraphs() -> Iterator[list[dict[str, Any]]]:
    """The questions of squad2-dev, those on one paragraph together."""
    file = Path(os.environ["SECONDLOOK_DATA"]) / "squad2-dev" / "queries.jsonl.gz"
    held: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            held[row["gold"][0]].append(row)
    yield from held.values()


def natural(embedder: Embedder, settings: Settings) -> dict[str, Any]:
    groups = list(paragraphs())
    vectors = embedded([row["question"] for group in groups for row in group], embedder)
    pairs = [
        Pair(one["question"], two["question"], same=False, family="asked", half="judged", field="")
        for group in groups
        for one, two in itertools.combinations(group, 2)
        if bool(one["answers"]) != bool(two["answers"])
    ]
    rows = judged(pairs, vectors, settings)
    near = [row for row in rows if row.similarity >= settings.research.memory_similarity]
    hits = [row for row in rows if row.taken_for_same]
    return {
        "pairs": len(rows),
        "alike by vectors": len(near),
        "taken for the same, of those": share_of(len(hits), len(near)),
        "taken": [[row.pair.one, row.pair.other] for row in hits[:SHOWN]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--natural", action="store_true", help="also squad2-dev")
    chosen = parser.parse_args()
    embedder, settings = load_embedder(), Settings()
    found = {
        "embedder": embedder.name,
        "memory_similarity": settings.research.memory_similarity,
        "written": written(embedder, settings),
    }
    if chosen.natural:
        found["natural"] = natural(embedder, settings)
    RESULTS.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", "utf-8")
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
