"""A hundred million passages on paper: measured figures per passage, times many.

Only arithmetic: every figure is either read from `benchmarks/results/scale.json` or an assumption
that is named here and in docs/scale.md. Nothing of that size was run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

GB = 1e9
HOURS_PER_MONTH = 730


@dataclass(frozen=True, slots=True)
class Assumed:
    """What nobody measured here: put in your own."""

    passages: int = 100_000_000
    replicas: int = 2
    node_gb: int = 64
    node_cores: int = 16
    usable: float = 0.7
    """Share of a node's memory that passages may fill."""
    node_dollars_hour: float = 0.80
    core_dollars_hour: float = 0.04
    """Of the machines that embed."""
    disk_dollars_gb_month: float = 0.10
    days_to_embed: int = 7


ASSUMED = Assumed()


@dataclass(frozen=True, slots=True)
class PerPassage:
    """What one more passage costs."""

    vector_bytes: int
    words_bytes: float
    """Of the search by words, on disk: taken for what it needs in memory."""
    row_bytes: float
    disk_bytes: float
    index_core_ms: float
    embed_core_ms: float
    parse_core_ms: float
    search_core_ms: tuple[float, float]
    """Processor time of one hybrid search: a fixed part, and per million passages."""


def per_passage(result: dict[str, Any]) -> PerPassage:
    """Time from the two largest sizes, bytes from the largest without copies (texts that repeat
    take less room than others), and the rest from adding files."""
    sizes = sorted(result["sizes"].values(), key=lambda size: size["build"]["passages"])
    small, large = sizes[-2], sizes[-1]
    real = [size for size in sizes if size["build"]["real_texts"] == size["build"]["passages"]]
    whole, bare = result["ingest"]["embedded"], result["ingest"]["without_embedding"]
    return PerPassage(
        vector_bytes=4 * 384,
        words_bytes=bytes_of("terms", real[-1]),
        row_bytes=bytes_of("rows", real[-1]),
        disk_bytes=real[-1]["build"]["disk_bytes"] / real[-1]["build"]["passages"],
        index_core_ms=1000 * building(large["build"]) / large["build"]["passages"],
        embed_core_ms=1000 * whole["embedding_processor_seconds"] / whole["passages"],
        parse_core_ms=1000 * bare["processor_seconds"] / bare["passages"],
        search_core_ms=line(searching(small), searching(large)),
    )


def bytes_of(part: str, size: dict[str, Any]) -> float:
    return float(size["alone"]["disk"][part] / size["build"]["passages"])


def building(built: dict[str, Any]) -> float:
    worked: float = built["add_processor_seconds"] + built["compact_processor_seconds"]
    return worked


def searching(size: dict[str, Any]) -> tuple[int, float]:
    return size["build"]["passages"], size["alone"]["search"]["hybrid"]["cpu_p50_ms"]


def line(first: tuple[int, float], second: tuple[int, float]) -> tuple[float, float]:
    """The straight line through two sizes: its value at none, and its rise per million."""
    rise = (second[1] - first[1]) / (second[0] - first[0])
    return first[1] - rise * first[0], 1e6 * rise


@dataclass(frozen=True, slots=True)
class Plan:
    memory_gb: float
    """Of one replica: vectors as they are and the search by words."""
    shards: int
    nodes: int
    disk_gb: float
    """Of all replicas."""
    embed_core_hours: float
    parse_core_hours: float
    index_core_hours: float
    embed_machines: int
    search_core_ms: float
    """Processor time of one search over all shards."""
    searches_per_second: float
    """That the cores of all nodes allow."""
    nodes_dollars_month: float
    disk_dollars_month: float
    embed_dollars: float


def planned(one: PerPassage, assumed: Assumed = ASSUMED) -> Plan:
    many = assumed.passages
    memory = many * (one.vector_bytes + one.words_bytes) / GB
    shards = math.ceil(memory / (assumed.node_gb * assumed.usable))
    nodes = shards * assumed.replicas
    disk = many * one.disk_bytes * assumed.replicas / GB
    fixed, rise = one.search_core_ms
    search = shards * fixed + rise * many / 1e6
    embedding, parsing = hours(one.embed_core_ms, many), hours(one.parse_core_ms, many)
    available = assumed.node_cores * 24 * assumed.days_to_embed
    return Plan(
        memory_gb=memory,
        shards=shards,
        nodes=nodes,
        disk_gb=disk,
        embed_core_hours=embedding,
        parse_core_hours=parsing,
        index_core_hours=hours(one.index_core_ms, many),
        embed_machines=math.ceil((embedding + parsing) / available),
        search_core_ms=search,
        searches_per_second=nodes * assumed.node_cores * 1000 / search,
        nodes_dollars_month=nodes * assumed.node_dollars_hour * HOURS_PER_MONTH,
        disk_dollars_month=disk * assumed.disk_dollars_gb_month,
        embed_dollars=(embedding + parsing) * assumed.core_dollars_hour,
    )


def hours(core_ms: float, passages: int) -> float:
    return core_ms * passages / 3.6e6


def unit_table(one: PerPassage) -> str:
    fixed, rise = one.search_core_ms
    search = f"{fixed:,.1f} ms of a core + {rise:,.1f} ms per million passages"
    rows = [
        ("vector as it is", f"{one.vector_bytes:,} B", "384 numbers of 4 bytes"),
        ("search by words", f"{one.words_bytes:,.0f} B", "on disk, largest size without copies"),
        ("text, terms and vector as rows", f"{one.row_bytes:,.0f} B", "the same"),
        ("disk in all", f"{one.disk_bytes:,.0f} B", "the same"),
        ("indexing", f"{one.index_core_ms:,.2f} ms of a core", "largest size"),
        ("embedding", f"{one.embed_core_ms:,.0f} ms of a core", "while adding files"),
        ("reading, cutting, storing", f"{one.parse_core_ms:,.1f} ms of a core", "the same"),
        ("one hybrid search", search, "the line through the two largest sizes"),
    ]
    head = "| what | costs | measured where |\n| --- | --- | --- |"
    return "\n".join([head, *(f"| {' | '.join(row)} |" for row in rows)])


def plan_table(plan: Plan, assumed: Assumed = ASSUMED) -> str:
    rows = {
        "memory of one replica (vectors, search by words)": f"{plan.memory_gb:,.0f} GB",
        f"shards, at {assumed.usable:.0%} of {assumed.node_gb} GB each": f"{plan.shards}",
        f"nodes, {assumed.replicas} replicas": f"{plan.nodes}",
        "disk of all replicas": f"{plan.disk_gb:,.0f} GB",
        "embedding": f"{plan.embed_core_hours:,.0f} core hours",
        "reading, cutting, storing": f"{plan.parse_core_hours:,.0f} core hours",
        f"machines of {assumed.node_cores} cores for both in {assumed.days_to_embed} days": (
            f"{plan.embed_machines}"
        ),
        "building the search structures": f"{plan.index_core_hours:,.0f} core hours",
        "processor time of one search, all shards together": f"{plan.search_core_ms:,.0f} ms",
        "the longest part of it, on one shard's core": (
            f"{plan.search_core_ms / plan.shards:,.0f} ms"
        ),
        "searches a second that the cores allow": f"{plan.searches_per_second:,.0f}",
        "nodes, a month": f"${plan.nodes_dollars_month:,.0f}",
        "disk, a month": f"${plan.disk_dollars_month:,.0f}",
        "embedding and reading, once": f"${plan.embed_dollars:,.0f}",
    }
    head = f"| {assumed.passages:,} passages | |\n| --- | --- |"
    return "\n".join([head, *(f"| {name} | {value} |" for name, value in rows.items())])
