"""Secondlook's search beside LlamaIndex, Haystack, LangChain and txtai, in one run.

All systems get the same texts, the same questions and the same embedder, each through its own
embedding interface; docs/results.md says what can and what cannot be compared. The peers live in a
virtual environment of their own under `.cache/peers`; none is a dependency.

    python -m benchmarks.peers install
    SECONDLOOK_DATA=... python -m benchmarks.peers run [--sets squad2-dev,scifact]
                                                       [--questions 300] [--live]
    python -m benchmarks.peers table

A run that was interrupted goes on where it stopped; a finished one starts anew.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from benchmarks.peers_install import PEERS, install, python
from benchmarks.peers_report import summary, table
from benchmarks.peers_run import Plan, forget, measure

RESULTS = Path(__file__).parent / "results" / "peers.json"
OURS = ("secondlook", "secondlook, whole texts")


def main() -> None:
    options = arguments()
    if options.command == "install":
        install(options.peers.split(","))
        return
    if options.command == "table":
        print(tables(options.output))
        return
    if not python().exists():
        raise SystemExit("the peers are not installed: python -m benchmarks.peers install")
    for name in options.sets.split(","):
        plan = Plan(
            name=name,
            systems=(*OURS, *options.peers.split(",")),
            questions=options.questions,
            seed=options.seed,
            builds=options.builds,
            live=options.live,
        )
        found = summary(measure(plan)) | {"load_average": load_average()}
        keep(options.output, name, found)
        forget(plan)
        print(table(name, found), flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("install", "run", "table"))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--sets", default="squad2-dev,scifact")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--builds", type=int, default=3, help="builds counted; the median is told")
    parser.add_argument("--live", action="store_true", help="each system embeds every passage")
    parser.add_argument("--output", type=Path, default=RESULTS)
    return parser.parse_args()


def keep(file: Path, name: str, found: dict[str, Any]) -> None:
    """Replaces this set's figures; those of another set stay."""
    from secondlook.reading import load_embedder

    held = json.loads(file.read_text("utf-8")) if file.exists() else {"sets": {}}
    result = {
        "embedder": load_embedder("embedded").name,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}",
        "sets": held["sets"] | {name: found},
    }
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def tables(file: Path) -> str:
    """What was measured last, for docs/results.md."""
    sets = json.loads(file.read_text("utf-8"))["sets"]
    return "\n\n".join(table(name, found) for name, found in sets.items())


def load_average() -> float | None:
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


if __name__ == "__main__":
    main()
