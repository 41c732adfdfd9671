"""From what was measured to figures: quality, times, and both as ratios to Secondlook's."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers_run import way_name
from secondlook.evaluation.metrics import retrieval_metrics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.peers_run import Measured

BASE = way_name("secondlook", "hybrid + rerank")
"""The product as it comes."""
ALIKE = "secondlook, whole texts"
"""The product over the same passages as the peers."""
MEASURES = {"recall_at_5": "recall@5", "ndcg_at_10": "ndcg@10"}
RATIOS = ("recall_at_5", "ndcg_at_10", "index_seconds", "own_seconds", "query_p50_ms")
RESAMPLES = 10_000


def summary(measured: Measured) -> dict[str, Any]:
    rankings = rankings_by_way(measured.rows)
    scores = {way: scored(measured.gold, found) for way, found in rankings.items()}
    ways: dict[str, dict[str, Any]] = {
        way: quality(scores[way]) | times(measured.rows, way) | building(measured, way)
        for way in sorted(rankings)
    }
    return {
        "documents": measured.passages,
        "questions": len(measured.rows),
        "questions_held": measured.questions_held,
        "seed": measured.plan.seed,
        "vectors": "made by every system" if measured.plan.live else "kept, shared by all",
        "builds": len(next(iter(measured.builds.values()))),
        "embedding_ms_per_passage": {
            digest: round(seconds * 1000, 2)
            for digest, seconds in embedding_costs(measured.builds).items()
        },
        "systems": {system: about_system(measured, system) for system in measured.plan.systems},
        "ways": {
            way: found | compared(way, ways, scores) for way, found in ways.items()
        },
    }  # fmt: skip


def rankings_by_way(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list[str]]]:
    rankings: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        for way, answer in row["found"].items():
            rankings.setdefault(way, {})[row["id"]] = answer["ids"]
    return rankings


def scored(
    gold: Mapping[str, frozenset[str]], rankings: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """By measure, then by question. A question for which nothing was found scores 0."""
    figures = {
        query: retrieval_metrics(dict.fromkeys(gold[query], 1), ids)
        for query, ids in rankings.items()
    }
    return {
        name: {query: of_query[metric] for query, of_query in figures.items()}
        for name, metric in MEASURES.items()
    }


def quality(scores: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    return {
        name: round(statistics.fmean(by_query.values()), 4) for name, by_query in scores.items()
    }


def times(rows: Sequence[Mapping[str, Any]], way: str) -> dict[str, Any]:
    wall = [row["found"][way]["ms"] for row in rows]
    work = [row["found"][way]["cpu_ms"] for row in rows]
    return {
        "query_p50_ms": round(float(np.median(wall)), 2),
        "query_p95_ms": round(float(np.percentile(wall, 95)), 2),
        "query_cpu_p50_ms": round(float(np.median(work)), 2),
    }


def embedding_costs(builds: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, float]:
    """Seconds per passage for each distinct collection of texts, the median over all who had
    it: what another process did meanwhile should not count for one system alone."""
    samples: dict[str, list[float]] = {}
    for rounds in builds.values():
        for build in rounds:
            for digest in {part["digest"] for part in build["parts"].values() if part["embedded"]}:
                samples.setdefault(digest, []).append(build["seconds_per_passage"])
    return {digest: statistics.median(found) for digest, found in samples.items()}


def building(measured: Measured, way: str) -> dict[str, Any]:
    """Seconds until the first question can be asked, the system's own share of them, and
    seconds until the index is on disk as well."""
    system, mode = way.split(": ", 1)
    about, costs = measured.about[system], embedding_costs(measured.builds)
    rounds = [
        [build["parts"][name] for name in about["modes"][mode]] for build in measured.builds[system]
    ]
    own = statistics.median(sum(own_seconds(part) for part in parts) for parts in rounds)
    embedding = statistics.median(
        sum(embedding_seconds(part, costs, live=measured.plan.live) for part in parts)
        for parts in rounds
    )
    saving = [[part["save_seconds"] for part in parts] for parts in rounds]
    saved = None if any(None in times for times in saving) else statistics.median(map(sum, saving))
    if about["durable"]:
        saved = 0.0
    return {
        "index_seconds": round(own + embedding, 2),
        "own_seconds": round(own, 3),
        "saved_own_seconds": None if saved is None else round(own + saved, 3),
    }


def own_seconds(part: Mapping[str, Any]) -> float:
    return float(part["seconds"] - part["embedding_seconds"])


def embedding_seconds(part: Mapping[str, Any], costs: Mapping[str, float], *, live: bool) -> float:
    """As it took, where the system embedded; as it would have taken, where vectors were kept."""
    if live or not part["embedded"]:
        return float(part["embedding_seconds"])
    return float(part["embedded"] * costs[part["digest"]])


def about_system(measured: Measured, system: str) -> dict[str, Any]:
    about = measured.about[system]
    return {
        "versions": about["versions"],
        "passages": measured.builds[system][-1]["passages"],
        "start_seconds": round(about["start_seconds"], 2),
        "peak_mb": about["peak_mb"],
        "connections_refused": sorted(set(about["refused"])),
    }


def compared(
    way: str,
    ways: Mapping[str, Mapping[str, Any]],
    scores: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> dict[str, Any]:
    """Beside the product as it comes, and beside its search of the same kind over the same
    passages."""
    alike = counterpart(way)
    return {
        name: {"way": base}
        | ratios(ways[way], ways[base])
        | {"ndcg_difference": difference(scores[base]["ndcg_at_10"], scores[way]["ndcg_at_10"])}
        for name, base in (("to_secondlook", BASE), ("to_alike", alike))
        if base in ways and base != way
    }


def counterpart(way: str) -> str:
    """Secondlook's search of the same kind, over whole texts."""
    mode = way.split(": ", 1)[1]
    kind = mode if mode == "hybrid + rerank" else mode.split(",")[0]
    return way_name(ALIKE, kind)


def ratios(way: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, float]:
    """Of the one's figures to the other's: above 1 is better in quality, slower in time."""
    return {name: round(way[name] / base[name], 3) for name in RATIOS if base[name]}


def difference(
    base: Mapping[str, float], other: Mapping[str, float], *, seed: int = 0
) -> dict[str, float]:
    """The mean of the paired differences and the bounds between which 95 % of its resamples lie."""
    pairs = np.array([other[query] - base[query] for query in sorted(base)])
    chance = np.random.default_rng(seed)
    means = [float(chance.choice(pairs, len(pairs)).mean()) for _ in range(RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return {
        "mean": round(float(pairs.mean()), 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
    }


def table(name: str, found: Mapping[str, Any]) -> str:
    """As docs/results.md shows it. In brackets: the ratio to Secondlook as it comes."""
    told = (
        f"`{name}`: {found['documents']} documents, {found['questions']} of "
        f"{found['questions_held']} questions; load average {found.get('load_average')}."
    )
    columns = (
        "recall@5", "nDCG@10", "nDCG@10 less Secondlook's (95 %)", "indexing s", "own part s",
        "query p50 ms", "p50 to its like",
    )  # fmt: skip
    head = [told, "", f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    best_first = sorted(found["ways"].items(), key=lambda item: -item[1]["ndcg_at_10"])
    return "\n".join([*head, *(line(way, row) for way, row in best_first)])


def line(way: str, row: Mapping[str, Any]) -> str:
    beside, alike = row.get("to_secondlook", {}), row.get("to_alike", {})

    def cell(name: str) -> str:
        return f"{row[name]:g}" + (f" ({beside[name]:.2f})" if name in beside else "")

    cells = [
        f"**{way}**" if way == BASE else way,
        cell("recall_at_5"),
        cell("ndcg_at_10"),
        bounds(beside["ndcg_difference"]) if beside else "",
        cell("index_seconds"),
        cell("own_seconds"),
        cell("query_p50_ms"),
        f"{alike['query_p50_ms']:.2f}" if alike else "",
    ]
    return f"| {' | '.join(cells)} |"


def bounds(found: Mapping[str, float]) -> str:
    return f"{found['mean']:+.3f} ({found['low']:+.3f} to {found['high']:+.3f})"
