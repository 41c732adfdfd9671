"""How long a job takes in the sandbox, from the call to its result, beside a bare `fork`.

    python -m benchmarks.sandbox [--jobs 200] [--rounds 10] [--starts 3]

Each backend that this machine can run is started `--starts` times (cold: from `open_sandbox` to the
first result, imports included) and then given `--jobs` jobs of each kind (warm: the libraries are
imported, as in use). In the same rounds, by turns, a small Python process forks, ends and is waited
for: once bare, once with the same libraries imported. The ratio of a job to the bare fork is what
can be compared between machines. Writes `benchmarks/results/sandbox.json`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from benchmarks.common import parser, save, spread
from secondlook.sandbox import available, open_sandbox
from secondlook.sandbox.forked import server_environment
from secondlook.sandbox.port import Supplied

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from secondlook.sandbox.port import Sandbox

TARGET = 50.0
"""Milliseconds: p50 of a warm job that uses pandas."""
ROWS = 1_000
JOBS = {
    "pandas": 'result = pd.DataFrame({"a": [1.0, 2.0]})["a"].mean()',
    "table": 'result = df.groupby("group")["value"].mean()',
    "chart": 'fig = px.bar(df.groupby("group", as_index=False)["value"].mean(), x="group")',
}
FORKING = """
import os, sys, time
if sys.argv[1] == "loaded":
    from secondlook.sandbox.inside.preload import preload
    preload()
print("ready", flush=True)
for line in sys.stdin:
    started = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    print(time.perf_counter() - started, flush=True)
"""


def started_cold(name: Any) -> float:
    started = time.perf_counter()
    with closing(open_sandbox(name)) as sandbox:
        checked(sandbox, JOBS["pandas"], ())
        return time.perf_counter() - started


def measure(names: Sequence[Any], options: argparse.Namespace) -> dict[str, list[float]]:
    """By turns, so that other work on the machine slows all alike."""
    seconds: dict[str, list[float]] = defaultdict(list)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        table = written(folder)
        sandboxes = [stack.enter_context(closing(open_sandbox(name))) for name in names]
        forkers = {kind: stack.enter_context(Forker(kind)) for kind in ("bare", "loaded")}
        for sandbox in sandboxes:
            checked(sandbox, JOBS["pandas"], ())
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
            each = max(1, options.jobs // options.rounds)
            for kind, forker in forkers.items():
                seconds[f"fork {kind}"] += [forker.fork() for _ in range(each)]
            for sandbox in sandboxes:
                for kind, code in JOBS.items():
                    tables = () if kind == "pandas" else (table,)
                    took = [checked(sandbox, code, tables) for _ in range(each)]
                    seconds[f"{sandbox.name} {kind}"] += took
    return seconds


def checked(sandbox: Sandbox, code: str, tables: Sequence[Supplied]) -> float:
    started = time.perf_counter()
    outcome = sandbox.run(code, tables)
    took = time.perf_counter() - started
    if outcome.status != "ok":
        raise SystemExit(f"{sandbox.name}: {outcome.failure}")
    return took


class Forker:
    """A small process that forks when told to, and says how long it took."""

    def __init__(self, kind: str) -> None:
        source = str(Path(__file__).resolve().parent.parent / "src")
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKING, kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**server_environment(), "PYTHONPATH": source},
        )

    def __enter__(self) -> Self:
        self._line()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def fork(self) -> float:
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        return self._process.stdout.readline()


def written(folder: Path) -> Supplied:
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = [0.5 * number for number in range(ROWS)]
    table = pa.table({"group": ["a", "b", "c", "d"] * (ROWS // 4), "value": values})
    pq.write_table(table, folder / "table.parquet")
    return Supplied("table", folder / "table.parquet")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--jobs", type=int, default=200, help="of each kind, for each backend")
    options.add_argument("--rounds", type=int, default=10, help="that the jobs are spread over")
    options.add_argument("--starts", type=int, default=3, help="of each backend")
    given = options.parse_args()
    names = [verdict.name for verdict in available() if verdict.usable]
    cold = {name: [started_cold(name) for _ in range(given.starts)] for name in names}
    warm = measure(names, given)
    bare = statistics.median(warm["fork bare"])
    told: dict[str, Any] = {
        name: {
            "jobs": len(seconds),
            "ms": spread([1000 * one for one in seconds], 2),
            "p50_to_bare_fork": round(statistics.median(seconds) / bare, 1),
        }
        for name, seconds in warm.items()
    }
    found = {
        "root": os.geteuid() == 0,
        "cold_start_s": {name: round(statistics.median(each), 2) for name, each in cold.items()},
        "warm": told,
        "target_p50_ms": TARGET,
        "target_met": {
            name: one["ms"]["p50"] < TARGET for name, one in told.items() if "pandas" in name
        },
    }
    save("sandbox", found)


if __name__ == "__main__":
    main()
