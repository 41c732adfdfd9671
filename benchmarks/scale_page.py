"""The tables of docs/scale.md, made from `benchmarks/results/scale.json`.

python -m benchmarks.scale_page
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.scale_sizing import ASSUMED, per_passage, plan_table, planned, unit_table

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = Path(__file__).parent / "results" / "scale.json"
PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
GOAL_MS, GOAL_AT = 50, "700000"
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


def curve(result: dict[str, Any]) -> str:
    """The same as a picture, of what a busy machine distorts least."""
    sizes = sorted(result["sizes"].values(), key=lambda size: size["build"]["passages"])
    hybrid = [size["alone"]["search"]["hybrid"]["cpu_p50_ms"] for size in sizes]
    brute = [size["alone"]["brute_force_numpy"]["cpu_p50_ms"] for size in sizes]
    return "\n".join(
        [
            "```mermaid",
            "xychart-beta",
            '    title "Processor time of one search: hybrid (bars), brute force (line)"',
            f"    x-axis {[size['build']['passages'] for size in sizes]}",
            '    y-axis "ms"',
            f"    bar {hybrid}",
            f"    line {brute}",
            "```",
        ]
    )


def ingest_table(result: dict[str, Any]) -> str:
    """Adding files: with the real embedder, and all but embedding."""
    whole, bare = result["ingest"]["embedded"], result["ingest"]["without_embedding"]
    lines = [["", "as it is", "all but embedding"], ["---"] * 3]
    rows: dict[str, Callable[[Size], str]] = {
        "files, passages": lambda of: f"{of['files']:,}, {of['passages']:,}",
        "passages a second": lambda of: f"{of['passages_per_second']}",
        "processor time per passage": lambda of: core_ms(of, "processor_seconds"),
        "of it embedding": lambda of: core_ms(of, "embedding_processor_seconds"),
        "share of the time that is embedding": lambda of: f"{of['embedding_share']:.0%}",
        "resident at most": lambda of: f"{of['resident_mb']} MB",
    }
    lines += [[name, cell(whole), cell(bare)] for name, cell in rows.items()]
    return as_markdown(lines)


def core_ms(of: Size, what: str) -> str:
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


def measured_on(result: dict[str, Any]) -> str:
    """Where, how many questions, and whether the goal is met."""
    queries = sorted({size["alone"]["queries"] for size in result["sizes"].values()})
    lines = [
        f"Measured on {result['machine']} with {result['embedder']}.",
        f"{' or '.join(map(str, queries))} questions for one process.",
    ]
    if GOAL_AT in result["sizes"]:
        lines.append(
            f"The goal at {int(GOAL_AT):,} passages is a p95 below {GOAL_MS} ms with several"
        )
        readers = result["sizes"][GOAL_AT]["readers"]
        lines.append(f"processes reading: {', '.join(map(judged, readers.items()))}.")
    return "\n".join(lines)


def judged(readers: tuple[str, dict[str, Any]]) -> str:
    count, found = readers
    taken = found["hybrid"]["p95_ms"]
    verdict = "met" if taken < GOAL_MS else "missed"
    return f"{verdict} with {count} ({taken:.0f} ms at a load average of {found['load_average']})"


def disturbed(result: dict[str, Any]) -> str:
    """What a kill costs, and what a search notices of an add."""
    ingest = result["ingest"]
    kill, calm, searched = ingest["killed"], ingest["embedded"], ingest["searched"]
    each = (kill["process_seconds"] - calm["process_seconds"]) / kill["kills"]
    quiet, busy = searched["quiet"], searched["while_adding"]
    rows = {
        f"added with {kill['kills']} kills, then completed": (
            f"{kill['process_seconds']} s against {calm['process_seconds']} s undisturbed, "
            f"{each:.0f} s a kill"
        ),
        "files reported as stored and lost": f"{kill['reported_and_lost']}",
        "files missing, files different, passages twice": (
            f"{kill['files_missing']}, {kill['files_different']}, {kill['passages_twice']}"
        ),
        f"a search of {searched['passages_before']:,} passages in peace": latency(quiet),
        f"the same while {calm['passages']} are added": (
            f"{latency(busy)}: {searched['p50_to_quiet']} x and {searched['p95_to_quiet']} x"
        ),
        "errors while adding": f"{busy['errors']} in {busy['searches']} searches",
        "load average at the beginning": f"{ingest['load_average']}",
    }
    return as_markdown([["disturbed", ""], ["---"] * 2, *([name, rows[name]] for name in rows)])


def latency(found: dict[str, float]) -> str:
    return f"{found['p50_ms']:.0f} / {found['p95_ms']:.0f} ms"


def assumed(_: dict[str, Any]) -> str:
    given = ASSUMED
    return (
        f"- nodes of {given.node_cores} cores and {given.node_gb} GB at "
        f"${given.node_dollars_hour:.2f} an hour, {given.usable:.0%} of the memory for passages\n"
        f"- {given.replicas} replicas\n"
        f"- ${given.disk_dollars_gb_month:.2f} for a GB of disk and month\n"
        f"- ${given.core_dollars_hour:.2f} for an hour of a core that embeds, "
        f"{given.days_to_embed} days to embed everything"
    )


FIGURES: dict[str, Callable[[dict[str, Any]], str]] = {
    "measured on": measured_on,
    "growth": table,
    "curve": curve,
    "adding": ingest_table,
    "disturbed": disturbed,
    "one passage": lambda result: unit_table(per_passage(result)),
    "assumed": assumed,
    "plan": lambda result: plan_table(planned(per_passage(result))),
}


def rewritten(page: str, result: dict[str, Any]) -> str:
    for name, made in FIGURES.items():
        found = re.findall(rf"<!-- {name} -->\n.*?(?=\n\n|\Z)", page, re.DOTALL)
        if len(found) != 1:
            raise SystemExit(f"{PAGE} has {len(found)} places for {name!r}, not one")
        page = page.replace(found[0], f"<!-- {name} -->\n{made(result)}")
    return page


def main() -> None:
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")


if __name__ == "__main__":
    main()
