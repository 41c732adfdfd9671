"""The tables of docs/scale.md, made from `benchmarks/results/scale.json`.

python -m benchmarks.scale_page
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.scale_sizing import sizing

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = Path(__file__).parent / "results" / "scale.json"
Size = dict[str, Any]


def table(result: dict[str, Any]) -> str:
    """What each size costs: one column for each."""
    sizes = {int(size): held for size, held in result["sizes"].items()}
    columns = [sizes[size] for size in sorted(sizes)]
    head = [f"{size:,}" for size in sorted(sizes)]
    lines = [["", *head], ["---"] * (len(head) + 1)]
    lines += [[name, *(cell(column) for column in columns)] for name, cell in ROWS.items()]
    return as_markdown(lines)


def as_markdown(lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


def ingest_table(result: dict[str, Any]) -> str:
    """Adding files: with the real embedder, and all but embedding."""
    whole, bare = result["ingest"]["embedded"], result["ingest"]["without_embedding"]
    lines = [["", "as it is", "all but embedding"], ["---"] * 3]
    rows: dict[str, Callable[[Size], str]] = {
        "files, passages": lambda of: f"{of['files']:,}, {of['passages']:,}",
        "passages a second": lambda of: f"{of['passages_per_second']}",
        "processor time per passage": lambda of: per_passage(of, "processor_seconds"),
        "of it embedding": lambda of: per_passage(of, "embedding_processor_seconds"),
        "share of the time that is embedding": lambda of: f"{of['embedding_share']:.0%}",
        "resident at most": lambda of: f"{of['resident_mb']} MB",
    }
    lines += [[name, cell(whole), cell(bare)] for name, cell in rows.items()]
    return as_markdown(lines)


def per_passage(of: Size, what: str) -> str:
    return f"{1000 * of[what] / of['passages']:.1f} ms"


def _made_of(size: Size) -> str:
    built = size["build"]
    return f"{built['real_texts']:,} / {built['real_vectors']:,}"


def _building(size: Size) -> str:
    built = size["build"]
    worked = built["add_processor_seconds"] + built["compact_processor_seconds"]
    return f"{built['add_seconds']} + {built['compact_seconds']} s ({worked:.0f} s)"


def _disk(size: Size) -> str:
    return f"{size['build']['disk_bytes'] / size['build']['passages']:,.0f} B"


def _memory(size: Size) -> str:
    return f"{size['alone']['resident_mb']} MB ({size['alone']['index_resident_mb']} MB)"


def _latency(found: dict[str, float]) -> str:
    return (
        f"{found['p50_ms']:.0f} / {found['p95_ms']:.0f} ms, {found['p50_to_brute_force']:.2f} x "
        f"({found['cpu_p50_ms']:.0f} ms, {found['cpu_to_brute_force']:.2f} x)"
    )


def _brute_force(size: Size) -> str:
    found = size["alone"]["brute_force_numpy"]
    return f"{found['p50_ms']:.0f} / {found['p95_ms']:.0f} ms"


def _several(count: str) -> Callable[[Size], str]:
    def cell(size: Size) -> str:
        found = size["readers"][count]
        return f"{_latency(found['hybrid'])}, {found['searches_per_second']:.0f} a second"

    return cell


def _cold(size: Size) -> str:
    found = size["cold_start"]
    return f"{found['cached_seconds']} s ({found['cached_index_seconds']} s)"


def _cold_disk(size: Size) -> str:
    found = size["cold_start"]
    return f"{found['uncached_seconds']} s ({found['uncached_index_seconds']} s)"


def _load(size: Size) -> str:
    readers = [found["load_average"] for found in size["readers"].values()]
    return " / ".join(str(load) for load in [size["alone"]["load_average"], *readers])


ROWS: dict[str, Callable[[Size], str]] = {
    "real texts / vectors": _made_of,
    "add + compact (processor time)": _building,
    "resident at most while building": lambda size: f"{size['build']['build_resident_mb']} MB",
    "disk per passage": _disk,
    "resident while searching (the index's part)": _memory,
    "brute force in numpy": _brute_force,
    "hybrid, one process": lambda size: _latency(size["alone"]["search"]["hybrid"]),
    "as `search` does it, one process": lambda size: _latency(size["alone"]["search"]["find"]),
    "hybrid, 2 processes": _several("2"),
    "hybrid, 4 processes": _several("4"),
    "recall@10 of the approximate search": lambda size: f"{size['alone']['recall_at_10']:.3f}",
    "cold start (the index's part)": _cold,
    "the same, files not in memory": _cold_disk,
    "load average before each (1, 2, 4 processes)": _load,
}


def main() -> None:
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    print(table(result), ingest_table(result), sizing(result), sep="\n\n")


if __name__ == "__main__":
    main()
