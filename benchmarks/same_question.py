"""Whether the answer memory takes a question for another one.

    python -m benchmarks.same_question
    SECONDLOOK_DATA=... python -m benchmarks.same_question --natural

The written pairs (`benchmarks/sets/same_question.jsonl`: a question, others that differ in little
and mean something else, and rewordings) fall into two halves. The matcher was tuned on the half
called `tuned`, from which the family `asked` is kept out; all else is `judged`. The vectors are
those of the shipped embedder.

With `--natural` also pairs of SQuAD 2.0 questions on one paragraph (`squad2-dev`): the one has its
answer there, and the other, often a twist of the first, has none. Hardly two of them ask the same.
Counted are those that the vectors alone take for the same, and those that the matcher leaves.
Writes benchmarks/results/same_question.json.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import parser, read_lines, rows, save, share
from secondlook.reading import load_embedder
from secondlook.roles.same_question import same_question
from secondlook.settings.sections import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.reading.port import Embedder

PAIRS = Path(__file__).parent / "sets" / "same_question.jsonl"
LIMITS = (0.90, 0.92, 0.94, 0.96, 0.98)
UNTUNED = "asked"


@dataclass(frozen=True, slots=True)
class Pair:
    one: str
    other: str
    same: bool
    family: str = UNTUNED
    half: str = "judged"


@dataclass(frozen=True, slots=True)
class Judged:
    pair: Pair
    similarity: float
    taken: bool
    """For the same question."""


def read_pairs() -> Iterator[Pair]:
    for row in read_lines(PAIRS):
        for kind, same in (("different", False), ("same", True)):
            for family, other in row[kind]:
                half = "judged" if family == UNTUNED else row["half"]
                yield Pair(row["one"], other, same, family, half)


def judged(pairs: Sequence[Pair], embedder: Embedder, settings: Settings) -> list[Judged]:
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.one, pair.other)))
    vectors = dict(zip(texts, embedder.embed_passages(texts), strict=True))
    found = []
    for pair in pairs:
        similarity = float(vectors[pair.one] @ vectors[pair.other])
        verdict = same_question(pair.one, pair.other, similarity, settings)
        found.append(Judged(pair, similarity, verdict.same))
    return found


def figures(found: Sequence[Judged], limit: float | None = None) -> dict[str, Any]:
    """By the matcher, or by the vectors alone at a limit."""
    return {
        name: share(
            [
                one.taken if limit is None else one.similarity >= limit
                for one in found
                if one.pair.same is same
            ]
        )
        for name, same in (("false_hits", False), ("paraphrase_hits", True))
    }


def written(embedder: Embedder, settings: Settings) -> dict[str, Any]:
    found = judged(list(read_pairs()), embedder, settings)
    families: dict[str, list[Judged]] = defaultdict(list)
    for one in found:
        families[one.pair.family].append(one)
    tuned = [one for one in found if one.pair.half == "tuned"]
    fresh = [one for one in found if one.pair.half == "judged" and one.pair.family != UNTUNED]
    return {
        "all": figures(found),
        "tuned": figures(tuned),
        "judged, families tuned on": figures(fresh),
        f"judged, the family never tuned on ({UNTUNED})": figures(families[UNTUNED]),
        "families": {name: figures(some) for name, some in families.items()},
        "by vectors alone": {f"{limit:.2f}": figures(found, limit) for limit in LIMITS},
        "false": [
            [one.pair.one, one.pair.other] for one in found if one.taken and not one.pair.same
        ],
    }


def natural(embedder: Embedder, settings: Settings) -> dict[str, Any]:
    """Pairs of questions on one paragraph of which one has an answer and the other has none."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows("squad2-dev", "queries"):
        groups[row["gold"][0]].append(row)
    pairs = [
        Pair(one["question"], two["question"], same=False)
        for group in groups.values()
        for one, two in itertools.combinations(group, 2)
        if bool(one["answers"]) != bool(two["answers"])
    ]
    found = judged(pairs, embedder, settings)
    near = [one for one in found if one.similarity >= settings.research.memory_similarity]
    return {
        "pairs": len(found),
        "alike by vectors": len(near),
        "taken for the same, of those": share([one.taken for one in near]),
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--natural", action="store_true", help="also squad2-dev")
    given = options.parse_args()
    embedder, settings = load_embedder(), Settings()
    found: dict[str, Any] = {
        "embedder": embedder.name,
        "memory_similarity": settings.research.memory_similarity,
        "written": written(embedder, settings),
    }
    if given.natural:
        found["natural"] = natural(embedder, settings)
    save("same_question", found)


if __name__ == "__main__":
    main()
