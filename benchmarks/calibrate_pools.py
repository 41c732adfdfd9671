"""The questions of the calibration and what the searches find for them.

Questions that can be answered reuse the pools of the sweep. Added here: the questions of
`squad2-dev` that cannot be answered, and a part of `hotpot-train`.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import sweep_pools
from benchmarks.reading_answers import rows
from benchmarks.sweep_sets import Given, Row, read_lines, shown, shuffled, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from secondlook.reading.port import Embedder
    from secondlook.retrieval.index.lance import LanceIndex

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "calibrate"
HOTPOT_QUESTIONS = 400
"""Of `hotpot-train`; their corpus is their gold passages and what words alone would find."""
_DISTRACTORS = 20
_GIVEN: Given = "context"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question, with the two lists of passages that the searches return for it."""

    set: str
    id: str
    question: str
    answerable: bool
    answers: tuple[str, ...]
    gold: frozenset[str]
    article: str
    """Title of the gold passage, or of the first of them."""
    calibrates: bool
    """On this side thresholds and coefficients are made; on the other they are reported."""
    dense: list[tuple[str, float]]
    lexical: list[tuple[str, float]]


def asked(name: str) -> Iterator[Asked]:
    """The questions of a set, in an order that has nothing to do with their content."""
    articles = {row["id"]: row["title"] for row in rows(name, "corpus")}
    found = {row["query"]: row for file in _pool_files(name) for row in read_lines(file)}
    for row in sorted(rows(name, "queries"), key=lambda row: shuffled(str(row["id"]))):
        if pool := found.get(str(row["id"])):
            article = articles.get(row["gold"][0], "")
            yield Asked(
                set=name,
                id=str(row["id"]),
                question=row["question"],
                answerable=row["answerable"],
                answers=tuple(row["answers"]),
                gold=frozenset(map(str, row["gold"])),
                article=article,
                calibrates=calibrates(name, article),
                dense=[(passage, score) for passage, score in pool["dense"]],
                lexical=[(passage, score) for passage, score in pool["lexical"]],
            )


def calibrates(name: str, article: str) -> bool:
    """Whole articles of `squad2-dev` go to one side or the other, by the parity of a hash."""
    if name == "squad2-dev":
        return int(shuffled(article), 16) % 2 == 0
    return name == "hotpot-train"


def corpus(name: str) -> dict[str, str]:
    """Every passage as the reader sees it."""
    return {
        str(row["id"]): shown(Row(str(row["id"]), row["title"] or "", row["text"]), _GIVEN)
        for row in rows(name, "corpus")
    }


def prepare() -> None:
    """Search for the questions that the sweep has not searched for."""
    jobs = {"squad2-dev": _unanswerable, "hotpot-train": _hotpot}
    for name, job in jobs.items():
        if not _own_pool(name).exists():
            write_lines(_own_pool(name), list(job()))
        print(f"searched {name}", flush=True)


def _pool_files(name: str) -> list[Path]:
    files = [sweep_pools.pool_file(name, _GIVEN), _own_pool(name)]
    return [file for file in files if file.exists()]


def _own_pool(name: str) -> Path:
    return CACHE / f"pool-{name}.jsonl.gz"


def _unanswerable() -> Iterator[dict[str, Any]]:
    questions = [row for row in rows("squad2-dev", "queries") if not row["answerable"]]
    return _search("squad2-dev", list(rows("squad2-dev", "corpus")), questions)


def _hotpot() -> Iterator[dict[str, Any]]:
    everything = {row["id"]: row for row in rows("hotpot-train", "corpus")}
    questions = sorted(rows("hotpot-train", "queries"), key=lambda row: shuffled(row["id"]))
    questions = [row for row in questions if everything.keys() >= set(row["gold"])]
    questions = questions[:HOTPOT_QUESTIONS]
    chosen = {passage for row in questions for passage in row["gold"]}
    chosen.update(_likely(everything, [row["question"] for row in questions]))
    return _search("hotpot-train", [everything[passage] for passage in sorted(chosen)], questions)


def _likely(everything: dict[str, dict[str, Any]], questions: list[str]) -> Iterator[str]:
    """Passages that share rare words with a question: distractors, as HotpotQA picks its own."""
    from secondlook.retrieval.analyse import query_terms, terms

    holding: dict[str, list[str]] = defaultdict(list)
    for passage, row in everything.items():
        for term in set(terms(f"{row['title']} {row['text']}")):
            holding[term].append(passage)
    for question in questions:
        weight: Counter[str] = Counter()
        for term in set(query_terms(question)):
            rarity = math.log(1 + len(everything) / (1 + len(holding.get(term, ()))))
            for passage in holding.get(term, ()):
                weight[passage] += rarity  # type: ignore[assignment]
        yield from (passage for passage, _ in weight.most_common(_DISTRACTORS))


def _search(
    name: str, passages: list[dict[str, Any]], questions: Iterable[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    from secondlook.reading import load_embedder
    from secondlook.retrieval.analyse import query_terms

    embedder = load_embedder()
    index = _index(name, passages, embedder)
    for row in questions:
        vector = embedder.embed_query(row["question"])
        dense = index.dense(vector, sweep_pools.POOL, exact=True)
        lexical = index.lexical(query_terms(row["question"]), sweep_pools.POOL)
        yield {
            "query": row["id"],
            "dense": [[hit.id, hit.score] for hit in dense],
            "lexical": [[hit.id, hit.score] for hit in lexical],
        }


def _index(name: str, passages: list[dict[str, Any]], embedder: Embedder) -> LanceIndex:
    from secondlook.retrieval.analyse import terms
    from secondlook.retrieval.index.lance import LanceIndex
    from secondlook.retrieval.index.port import Entry

    given = [shown(Row(row["id"], row["title"] or "", row["text"]), _GIVEN) for row in passages]
    vectors = CACHE / f"vectors-{name}-{len(given)}-{embedder.name.replace('@', '-')}.npy"
    if not vectors.exists():
        vectors.parent.mkdir(parents=True, exist_ok=True)
        np.save(vectors, embedder.embed_passages(given))
    entries = [
        Entry(row["id"], row["id"], row["text"], terms(text), 0, len(row["text"]))
        for row, text in zip(passages, given, strict=True)
    ]
    index = LanceIndex.open(CACHE / f"index-{name}", dimensions=embedder.dimensions, create=True)
    index.add(entries, np.load(vectors))
    index.compact()
    return index
