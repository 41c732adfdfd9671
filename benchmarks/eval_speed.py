"""What an evaluation costs beside the passes of its small models, and what a second one costs.

Runs `secondlook eval` as a person would, with an empty cache: once, then the same again, then with
one configuration more. The figure that counts is the whole command's wall time against the sum of
its reader and embedder passes in the same run.

    SECONDLOOK_DATA=FOLDER python -m benchmarks.eval_speed [--questions 500] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.search_data import data_folder

ROOT = Path(__file__).resolve().parents[1]
DATA = "squad2-dev"
GOAL = 1.3


def run(workflows: str, questions: int, place: Path, out: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "secondlook", "eval", str(data_folder() / DATA)]
    command += ["--workflow", workflows, "--model", "none", "--limit", str(questions)]
    command += ["--json", "--out", str(place / out)]
    environment = os.environ | {"SECONDLOOK_CACHE": str(place / "cache")}
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    wall = time.perf_counter() - began
    passes = json.loads(done.stdout)["passes"]
    models = passes["reader_seconds"] + passes["embedder_seconds"]
    return {
        "wall": round(wall, 2),
        "reader": passes["reader_seconds"],
        "embedder": passes["embedder_seconds"],
        "indexing": passes["indexing_seconds"],
        "pairs read": passes["reader_pairs"],
        "pairs remembered": passes["reader_remembered"],
        "texts embedded": passes["embedder_texts"],
        "wall / passes": round(wall / models, 3) if models else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks/results/eval_speed.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place, count = Path(folder), options.questions
        found = {
            "command": f"python -m benchmarks.eval_speed --questions {count}",
            "data": DATA,
            "questions": count,
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "goal": GOAL,
            "linear,adaptive": run("linear,adaptive", count, place, "first"),
            "the same again": run("linear,adaptive", count, place, "first"),
            "the same, results elsewhere": run("linear,adaptive", count, place, "second"),
        }
    options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
