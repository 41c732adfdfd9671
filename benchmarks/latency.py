"""How long a plain question takes, and how much memory it needs, beside another version.

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.latency OTHER_PYTHON [--questions 60]

`OTHER_PYTHON` is the interpreter of an environment in which the other version is installed. Each
version builds a library of the same squad2-dev passages and answers the same questions by `auto`
without a chat model, in a process of its own. The processes take turns, question by question, in
changing order; the ratio is the median of the ratios of single questions. Writes
benchmarks/results/latency.json.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import data_folder, parser, rows, save, spread

SEED = 4
ARTICLES = 400
"""Passages of the library."""
WORKER = """
import json, resource, sys, tempfile, time
from secondlook import Library, Secondlook
folder, documents = sys.argv[1:]
with Library.open(folder) as library:
    library.add(documents)
with Secondlook.open(folder, model="none") as engine:
    engine.ask("What is this about?", workflow="auto")
    print("ready", flush=True)
    for line in sys.stdin:
        began, spent = time.perf_counter(), time.process_time()
        answer = engine.ask(json.loads(line), workflow="auto")
        took, spent = time.perf_counter() - began, time.process_time() - spent
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(json.dumps([took, spent, peak, answer.status]), flush=True)
"""


def started(python: str, name: str, scratch: Path, documents: Path) -> subprocess.Popen[str]:
    homes = ("XDG_CONFIG_HOME", "XDG_DATA_HOME")
    environment = os.environ | {home: str(scratch / f"{name}-home") for home in homes}
    environment.pop("PYTHONPATH", None)
    command = [python, "-c", WORKER, str(scratch / name), str(documents)]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=scratch,
    )


def answered(worker: subprocess.Popen[str], question: str) -> list[Any]:
    if worker.stdin is None or worker.stdout is None:
        raise RuntimeError("a worker has pipes")
    worker.stdin.write(json.dumps(question) + "\n")
    worker.stdin.flush()
    return list(json.loads(worker.stdout.readline()))


def ratio(these: list[float], others: list[float]) -> float:
    each = [this / other for this, other in zip(these, others, strict=True)]
    return round(statistics.median(each), 3)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("other")
    options.add_argument("--questions", type=int, default=60)
    chosen = options.parse_args()
    draw = random.Random(SEED)
    held = rows(data_folder() / "squad2-dev", "corpus")
    questions = [row["question"] for row in rows(data_folder() / "squad2-dev", "queries")]
    draw.shuffle(questions)
    took: dict[str, list[float]] = {"this": [], "other": []}
    cpu: dict[str, list[float]] = {"this": [], "other": []}
    memory: dict[str, int] = {}
    statuses: dict[str, list[str]] = {"this": [], "other": []}
    with tempfile.TemporaryDirectory() as made:
        scratch = Path(made)
        documents = scratch / "documents"
        documents.mkdir()
        for number, row in enumerate(held[:ARTICLES]):
            (documents / f"{number}.txt").write_text(row["text"], "utf-8")
        pythons = {"this": sys.executable, "other": chosen.other}
        workers = {n: started(p, n, scratch, documents) for n, p in pythons.items()}
        for worker in workers.values():
            if worker.stdout is None or worker.stdout.readline().strip() != "ready":
                raise SystemExit("a version could not be started; its message stands above")
        for number, question in enumerate(questions[: chosen.questions]):
            for name in sorted(workers, reverse=bool(number % 2)):
                seconds, spent, memory[name], status = answered(workers[name], question)
                took[name].append(seconds)
                cpu[name].append(spent)
                statuses[name].append(status)
        for worker in workers.values():
            if worker.stdin is not None:
                worker.stdin.close()
            worker.wait()
    found: dict[str, Any] = {
        "ratio": ratio(took["this"], took["other"]),
        "ratio of processor time": ratio(cpu["this"], cpu["other"]),
        "memory_mb": memory,
    }
    for name, seconds in took.items():
        share = statuses[name].count("answered") / len(seconds)
        found[name] = {"seconds": spread(seconds), "answered": round(share, 3)}
    # The results name the command, and no folder of the machine.
    sys.argv = ["OTHER_PYTHON" if one == chosen.other else one for one in sys.argv]
    save("latency", found)


if __name__ == "__main__":
    main()
