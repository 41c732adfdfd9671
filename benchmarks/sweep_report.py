"""Sweeps fusion and blend over the cached pools and scores, chooses, prints and saves."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.sweep_grid import FORMS, METRICS, Config, evaluate, load_pool
from benchmarks.sweep_pools import POOL, RRF_KS, TIERS, WEIGHTS
from benchmarks.sweep_score import read_scores, score_folder
from benchmarks.sweep_sets import CACHE, GIVEN, SETS, Given, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.sweep_grid import Pool, Scores

RESULTS = Path(__file__).resolve().parent / "results" / "sweep.json"
MARGIN = 0.01
PARTS = ("all", "chosen", "held")
BLENDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
RERANKED_KS = (5, 10, 20, 60)
Relevance = dict[tuple[str, str], dict[str, float]]
Measured = list[tuple[Config, "Scores"]]


def report(*, save: bool, limit: int | None, depth: int) -> None:
    """Sweep over the questions whose candidates the reader has seen to this depth."""
    from secondlook.reading import load_embedder, load_reader

    reader = load_reader().name
    record: dict[str, Any] = {"reader": reader, "embedder": load_embedder().name, "pool": POOL}
    record["context"] = _context_or_not(limit)
    record["reader sees"] = _reader_context(reader, limit)
    read = _relevance(reader, "context", depth)
    record |= _sweep([load_pool(name, "context", read, limit) for name in SETS], depth)
    if save:
        RESULTS.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def _reader_context(reader: str, limit: int | None) -> dict[str, Any]:
    """The reader with and without the title before the passage, on questions read both ways."""
    read = {given: _relevance(reader, given, 10) for given in GIVEN}
    both = read["context"].keys() & read["text"].keys()
    found: dict[str, Any] = {}
    for given in GIVEN if both else ():
        scores = {key: read[given][key] for key in both}
        pools = [load_pool(name, "context", scores, limit) for name in SETS]
        found["questions"] = {pool.name: len(pool.gold) for pool in pools}
        configs = [Config(0.5, 60, 10, "sigmoid/4", b) for b in BLENDS]
        measured = list(evaluate(pools, configs))
        best = max(measured, key=lambda item: macro(item[1], "all"))
        found[given] = _show(f"reader sees {given}", best)
        found[f"{given}, reader alone"] = _show(f"{given}, reader alone", measured[-1])
    return found


def _context_or_not(limit: int | None) -> dict[str, Any]:
    """Fusion alone, with and without the title before the passage."""
    found: dict[str, Any] = {}
    for given in GIVEN:
        pools = [load_pool(name, given, {}, limit) for name in SETS]
        for label, dense in (("dense", 1.0), ("lexical", 0.0), ("hybrid", 0.5)):
            ((_, scores),) = evaluate(pools, [Config(dense, 60)])
            found[f"{given}, {label}"] = scores
            print(_line(f"{given}, {label}", scores))
    return found


def _relevance(reader: str, given: Given, depth: int) -> Relevance:
    """Relevance by set and question, then by passage, of questions read to this depth."""
    values: Relevance = {}
    for row in read_scores(score_folder(reader, given)):
        readings = dict(zip(row["passages"], (s[0] for s in row["scores"]), strict=True))
        values.setdefault((row["set"], row["query"]), {}).update(readings)
    for row in read_lines(CACHE / "pairs.jsonl.gz"):
        key = (row["set"], row["query"])
        if row["tier"] <= depth and not values.get(key, {}).keys() >= set(row["passages"]):
            values.pop(key, None)
    return values


def _sweep(pools: list[Pool], depth: int) -> dict[str, Any]:
    print("\nquestions: " + ", ".join(f"{p.name} {len(p.gold)}" for p in pools))
    plain = list(evaluate(pools, [Config(dense, k) for k in RRF_KS for dense in WEIGHTS]))
    blended = list(evaluate(pools, _blended(depth)))
    named: dict[str, tuple[Config, Scores] | None] = {
        label: next(item for item in plain if item[0] == Config(dense, 60))
        for label, dense in (("dense", 1.0), ("lexical", 0.0), ("hybrid 0.5", 0.5))
    }
    named["best fusion"] = max(plain, key=lambda item: macro(item[1], "all"))
    for size in (size for size in TIERS if size <= depth):
        some = [item for item in blended if item[0].candidates == size]
        named[f"best of {size}"] = _choose(some, plain, "all")
    for form in FORMS:
        some = [item for item in blended if item[0].form == form]
        named[f"best {form}"] = _choose(some, plain, "all")
    named["reader alone"] = max(
        (item for item in blended if item[0].blend == 1.0), key=lambda item: macro(item[1], "all")
    )
    named["chosen on half"] = _choose(blended, plain, "chosen")
    named["chosen on all"] = _choose(blended, plain, "all")
    named["default"] = next(evaluate(pools, [_default()]))
    record: dict[str, Any] = {"questions": {pool.name: len(pool.gold) for pool in pools}}
    record["best without reader"] = {part: _floor(plain, part) for part in PARTS}
    record |= {label: _show(label, item) for label, item in named.items() if item}
    return record


def _default() -> Config:
    """What the product does when nobody says otherwise."""
    from secondlook.retrieval.fusion import RELEVANCE_SCALE
    from secondlook.retrieval.search import SearchOptions

    options = SearchOptions()
    weight = options.dense / (options.dense + options.lexical)
    form = f"sigmoid/{RELEVANCE_SCALE:g}"
    return Config(round(weight, 3), options.rrf_k, options.candidates, form, options.blend)


def _blended(depth: int) -> Iterator[Config]:
    for dense in WEIGHTS:
        for k in RERANKED_KS:
            for candidates in (size for size in TIERS if size <= depth):
                for form in FORMS:
                    for blend in BLENDS:
                        yield Config(dense, k, candidates, form, blend)


def macro(scores: Scores, part: str, metric: str = "ndcg10") -> float:
    return sum(scores[name][part][metric] for name in SETS) / len(SETS)


def _floor(plain: Measured, part: str) -> dict[str, float]:
    """Each set's best nDCG@10 of dense, lexical and every fusion of the two."""
    return {name: max(scores[name][part]["ndcg10"] for _, scores in plain) for name in SETS}


def _choose(measured: Measured, plain: Measured, part: str) -> tuple[Config, Scores] | None:
    """The best average among those that cost no set more than the margin."""
    floor = _floor(plain, part)
    allowed = [
        item
        for item in measured
        if all(item[1][name][part]["ndcg10"] >= floor[name] - MARGIN for name in SETS)
    ]
    return max(allowed, key=lambda item: macro(item[1], part), default=None)


def _show(label: str, item: tuple[Config, Scores]) -> dict[str, Any]:
    config, scores = item
    told = f"{label}: dense {config.dense} k {config.k}"
    if config.candidates:
        told += f", {config.candidates} read, {config.form} {config.blend}"
    print(_line(told, scores))
    averages = {
        part: {metric: round(macro(scores, part, metric), 4) for metric in METRICS}
        for part in PARTS
    }
    return {"config": asdict(config), "macro": averages, "sets": scores}


def _line(label: str, scores: Scores) -> str:
    per_set = "  ".join(
        f"{name} " + "/".join(f"{scores[name]['all'][m]:.3f}" for m in METRICS[:3]) for name in SETS
    )
    averages = "/".join(f"{macro(scores, part):.4f}" for part in PARTS)
    return f"{label:52} {averages}  {per_set}"
