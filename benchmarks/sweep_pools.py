"""Embedding, candidate pools through the product's own index, and the pairs to be read."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.sweep_sets import (
    CACHE,
    GIVEN,
    SETS,
    Given,
    load,
    read_lines,
    shown,
    shuffled,
    write_lines,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from benchmarks.sweep_sets import EvaluationSet
    from secondlook.reading.port import Embedder

POOL = 100
"""Passages that each of the two searches returns."""
TIERS = (5, 10, 20, 30, 50)
"""Numbers of candidates given to the reader; pairs are read tier by tier."""
WEIGHTS = tuple(round(step / 10, 1) for step in range(11))
RRF_KS = (5, 10, 20, 60, 100)


def embed(given: Given) -> None:
    """Vectors of every question, and of every passage with or without its title."""
    from secondlook.reading import load_embedder

    embedder = load_embedder()
    for name in SETS:
        data = load(name)
        path = _vector_file(name, "queries", embedder)
        if not path.exists():
            _save(path, np.stack([embedder.embed_query(q.question) for q in data.queries]))
        _passage_vectors(data, given, embedder)
        print(f"embedded {name} ({given})", flush=True)


def pools(given: Given) -> None:
    """The best passages of each question, dense and lexical."""
    from secondlook.reading import load_embedder

    embedder = load_embedder()
    for name in SETS:
        path = pool_file(name, given)
        if not path.exists():
            write_lines(path, _search_all(load(name), given, embedder))
        print(f"searched {name} ({given})", flush=True)


def pairs() -> None:
    """For each question what the reader must see, cheapest tier first, with the texts beside."""
    asked: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    for name in SETS:
        data = load(name)
        needed: set[str] = set()
        for query, row in zip(data.queries, read_lines(pool_file(name, "context")), strict=True):
            for tier, ids in _tiers(row).items():
                asked.append(
                    {"set": name, "query": query.id, "question": query.question}
                    | {"tier": tier, "passages": ids}
                )
                needed.update(ids)
        texts += [
            {"set": name, "id": row.id} | {form: shown(row, form) for form in GIVEN}
            for row in data.passages
            if row.id in needed
        ]
    # A run that is cut short has whole tiers, and a run with a limit a fair sample of questions.
    asked.sort(key=lambda row: (row["tier"], shuffled(row["query"])))
    write_lines(CACHE / "pairs.jsonl.gz", asked)
    write_lines(CACHE / "texts.jsonl.gz", texts)
    total = sum(len(row["passages"]) for row in asked)
    print(f"{total} pairs of {sum(row['tier'] == TIERS[0] for row in asked)} questions")
    for tier in TIERS:
        print(tier, sum(len(row["passages"]) for row in asked if row["tier"] == tier))


def pool_file(name: str, given: Given) -> Path:
    return CACHE / f"pool-{name}-{given}.jsonl.gz"


def _tiers(row: dict[str, Any]) -> dict[int, list[str]]:
    """The passages that some fusion ranks within each tier and none ranks higher."""
    from secondlook.retrieval.fusion import fuse
    from secondlook.retrieval.index.port import Scored

    dense = [Scored(*hit) for hit in row["dense"]]
    lexical = [Scored(*hit) for hit in row["lexical"]]
    best: dict[str, int] = {}
    for weight in WEIGHTS:
        for k in RRF_KS:
            fused = fuse(
                dense, lexical, dense_weight=weight, lexical_weight=round(1 - weight, 1), k=k
            )
            for rank, entry in enumerate(fused[: TIERS[-1]], start=1):
                best[entry.id] = min(rank, best.get(entry.id, rank))
    tiers: dict[int, list[str]] = {}
    for passage, rank in sorted(best.items()):
        tier = next(size for size in TIERS if rank <= size)
        tiers.setdefault(tier, []).append(passage)
    return tiers


def _search_all(data: EvaluationSet, given: Given, embedder: Embedder) -> list[dict[str, Any]]:
    from secondlook.retrieval.index.lance import LanceIndex
    from secondlook.retrieval.index.port import Entry
    from secondlook.retrieval.terms import query_terms, terms

    folder = CACHE / f"index-{data.name}-{given}"
    shutil.rmtree(folder, ignore_errors=True)
    index = LanceIndex.open(folder, dimensions=embedder.dimensions, create=True)
    entries = [
        Entry(row.id, row.id, row.text, terms(shown(row, given)), 0, len(row.text))
        for row in data.passages
    ]
    index.add(entries, _passage_vectors(data, given, embedder))
    index.compact()
    found = []
    questions = np.load(_vector_file(data.name, "queries", embedder))
    for query, vector in zip(data.queries, questions, strict=True):
        dense = index.dense(vector, POOL, exact=True)
        lexical = index.lexical(query_terms(query.question), POOL)
        found.append(
            {"query": query.id}
            | {"dense": [[hit.id, hit.score] for hit in dense]}
            | {"lexical": [[hit.id, hit.score] for hit in lexical]}
        )
    return found


def _passage_vectors(data: EvaluationSet, given: Given, embedder: Embedder) -> NDArray[np.float32]:
    path = _vector_file(data.name, given, embedder)
    if not path.exists():
        _save(path, embedder.embed_passages([shown(row, given) for row in data.passages]))
    vectors: NDArray[np.float32] = np.load(path)
    return vectors


def _vector_file(name: str, what: str, embedder: Embedder) -> Path:
    return CACHE / "vectors" / embedder.name.replace("@", "-") / f"{name}-{what}.npy"


def _save(path: Path, vectors: NDArray[np.float32]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".part.npy")
    np.save(fresh, vectors)
    fresh.replace(path)
