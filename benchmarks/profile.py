"""What a profile of a large table costs, beside what others take for less.

A CSV file of mixed columns is made from a seed. Each contender then works on it in a process of
its own, rounds are interleaved so that a busy moment hits all of them, and medians are compared.
Time is from before the engine is imported to the last figure; memory is the peak of the process,
for ours of the caller and its worker together.

- ours: the file is read into a Parquet file and profiled (`from CSV`), or that Parquet file is
  profiled alone (`from Parquet`).
- DuckDB: SUMMARIZE of the same CSV file, and of the same Parquet file.
- pandas: `describe(include="all")`; skrub: `TableReport`; ydata-profiling: `minimal=True`; the
  last two where they are installed.

    python benchmarks/profile.py [--rows 1000000] [--rounds 3] [--memory 300] [--output FILE]

`--rows 10000000` shows that memory stays flat: above 2,000,000 rows only ours and DuckDB's own are
run. Results of other sizes in FILE are kept.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import pyarrow as pa

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "profile.json"
SEED = 20_240_501
ROWS_AT_ONCE = 200_000
MOST_ROWS_IN_MEMORY = 2_000_000
"""Above that only contenders that stream are run."""
TARGET = 1.3
SUMMARIZE_CSV, SUMMARIZE_PARQUET = "DuckDB SUMMARIZE, CSV", "DuckDB SUMMARIZE, Parquet"
OURS_CSV, OURS_PARQUET = "ours, from CSV", "ours, from Parquet"
PANDAS, SKRUB, YDATA = "pandas describe", "skrub TableReport", "ydata-profiling"


def main() -> None:
    options = _options()
    if options.one:
        print(json.dumps(_measured(options.one, options.file, options.memory)))
        return
    with tempfile.TemporaryDirectory(prefix="secondlook-profile-") as folder:
        csv = Path(folder) / "made.csv"
        make_csv(csv, options.rows)
        parquet = _our_parquet(csv, options.memory)
        report = _compare(csv, parquet, options)
    _tell(report)
    _keep(options.output, options.rows, report)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", type=int, default=300, help="MB for ours and for DuckDB")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def make_csv(file: Path, rows: int) -> None:
    """20 columns: keys, measures, categories, texts, dates, gaps."""
    import numpy as np
    import pyarrow.csv as pc

    random = np.random.default_rng(SEED)
    with file.open("wb") as stream:
        for start in range(0, rows, ROWS_AT_ONCE):
            count = min(ROWS_AT_ONCE, rows - start)
            some = _made_rows(random, start, count)
            pc.write_csv(some, stream, pc.WriteOptions(include_header=start == 0))


def _made_rows(random: np.random.Generator, start: int, count: int) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    def gaps(values: Any, share: float) -> pa.Array:
        return pa.array(values, mask=random.random(count) < share)

    def some(values: Sequence[str]) -> Any:
        return random.choice(np.array(values, dtype=object), count)

    def numbered(prefix: str, most: int) -> list[str]:
        return [f"{prefix}{number}" for number in random.integers(0, most, count)]

    day = np.datetime64("2015-01-01") + random.integers(0, 3_000, count)
    second = np.datetime64("2020-01-01T00:00:00") + random.integers(0, 10**8, count)
    columns = {
        "order_id": np.arange(start, start + count),
        "customer_id": random.integers(100_000, 150_000, count),
        "price_eur": random.uniform(0, 1_000, count).round(2),
        "quantity": random.integers(0, 100, count),
        "score": random.random(count).round(6),
        "temperature_c": gaps(random.normal(12, 8, count).round(1), 0.1),
        "rating": random.integers(0, 11, count),
        "income": np.exp(random.uniform(0, 8, count)),
        "region": gaps(some(["north", "south", "east", "west"]), 0.05),
        "product": numbered("P-", 5_000),
        "token": [random.bytes(16).hex() for _ in range(count)],
        "seller": numbered("Seller ", 15_000),
        "ordered": day,
        "shipped": second,
        "returned": random.random(count) < 0.3,
        "grade": gaps(some(["a", "b", "c"]), 0.5),
        "serial": random.integers(0, 10**9, count),
        "latitude": random.uniform(-90, 90, count),
        "longitude": random.uniform(-180, 180, count),
        "note": numbered("note ", 100_000),
    }
    return pa.table(columns)


def _our_parquet(csv: Path, memory: int) -> Path:
    from secondlook.tables.read import read_tables

    with _worker(memory) as worker:
        (read,) = read_tables(csv, csv.parent, worker=worker)
    (csv.parent / "made.json").write_text(read.table.model_dump_json(), encoding="utf-8")
    return read.file


def _worker(memory: int) -> Any:
    from secondlook.tables.worker import Worker, WorkerLimits

    return Worker(WorkerLimits(memory=memory << 20, threads=os.cpu_count() or 1))


def _ours_from_csv(file: Path, memory: int) -> int:
    from secondlook.tables.desk import profile_table
    from secondlook.tables.read import read_tables

    with tempfile.TemporaryDirectory(dir=file.parent) as into, _worker(memory) as worker:
        (read,) = read_tables(file, Path(into), worker=worker)
        return len(profile_table(worker, read.table, read.file).columns)


def _ours_from_parquet(file: Path, memory: int) -> int:
    from secondlook.tables.desk import profile_table
    from secondlook.tables.table import Table

    table = Table.model_validate_json((file.parent / "made.json").read_text(encoding="utf-8"))
    with _worker(memory) as worker:
        return len(profile_table(worker, table, file).columns)


def _summarize(file: Path, memory: int) -> int:
    import duckdb

    with tempfile.TemporaryDirectory() as spill:
        limits: dict[str, Any] = {"memory_limit": f"{memory}MiB", "temp_directory": spill}
        with duckdb.connect(config=limits) as connection:
            return len(connection.execute("SUMMARIZE FROM '" + str(file) + "'").fetchall())


def _pandas(file: Path, memory: int) -> int:  # noqa: ARG001  # it knows no limit
    import pandas as pd

    frame = pd.read_csv(file, parse_dates=["ordered", "shipped"])
    return len(frame.describe(include="all").columns)


def _skrub(file: Path, memory: int) -> int:  # noqa: ARG001  # likewise
    import matplotlib as mpl
    import pandas as pd

    mpl.use("Agg")
    from skrub import TableReport  # type: ignore[import-untyped,unused-ignore]

    frame = pd.read_csv(file, parse_dates=["ordered", "shipped"])
    return len(TableReport(frame, verbose=0).json())


def _ydata(file: Path, memory: int) -> int:  # noqa: ARG001  # likewise
    import pandas as pd
    from ydata_profiling import ProfileReport  # type: ignore[import-not-found,unused-ignore]

    frame = pd.read_csv(file, parse_dates=["ordered", "shipped"])
    return len(ProfileReport(frame, minimal=True, progress_bar=False).get_description().variables)


CONTENDERS: dict[str, Callable[[Path, int], int]] = {
    SUMMARIZE_CSV: _summarize,
    OURS_CSV: _ours_from_csv,
    SUMMARIZE_PARQUET: _summarize,
    OURS_PARQUET: _ours_from_parquet,
    PANDAS: _pandas,
    SKRUB: _skrub,
    YDATA: _ydata,
}
STREAMING = (SUMMARIZE_CSV, OURS_CSV, SUMMARIZE_PARQUET, OURS_PARQUET)
PACKAGES = {PANDAS: "pandas", SKRUB: "skrub", YDATA: "ydata_profiling"}


def _measured(name: str, file: Path, memory: int) -> dict[str, float]:
    """In a process of its own: seconds, processor seconds and peak memory."""
    import resource

    began = time.perf_counter()
    CONTENDERS[name](file, memory)
    seconds = time.perf_counter() - began
    own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return {
        "seconds": seconds,
        "processor_seconds": sum(each.ru_utime + each.ru_stime for each in (own, children)),
        "peak_mb": _own_peak_mb(own.ru_maxrss / unit) + children.ru_maxrss / unit,
    }


def _own_peak_mb(otherwise: float) -> float:
    """On Linux a process begins with the peak of the one that started it: `VmHWM` does not."""
    status = Path("/proc/self/status")
    if not status.exists():
        return otherwise
    lines = status.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def _compare(csv: Path, parquet: Path, options: argparse.Namespace) -> dict[str, Any]:
    names = _contenders(options.rows)
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for number in range(options.rounds):
        for name in names:
            file = parquet if name in {SUMMARIZE_PARQUET, OURS_PARQUET} else csv
            measured[name].append(_in_a_process(name, file, options.memory))
            print(f"round {number + 1}, {name}: {measured[name][-1]['seconds']:.2f} s", flush=True)
    found = {name: _medians(runs) for name, runs in measured.items()}
    return {
        "rows": options.rows,
        "columns": 20,
        "seed": SEED,
        "rounds": options.rounds,
        "memory_limit_mb": options.memory,
        "csv_mb": round(csv.stat().st_size / 1e6, 1),
        "parquet_mb": round(parquet.stat().st_size / 1e6, 1),
        "machine": {"processors": os.cpu_count(), "system": platform.platform(terse=True)},
        "versions": _versions(),
        "not_installed": [name for name, package in PACKAGES.items() if not _is_there(package)],
        "measured": found,
        "ratios": _ratios(found),
        "target": TARGET,
    }


def _contenders(rows: int) -> list[str]:
    if rows > MOST_ROWS_IN_MEMORY:
        return list(STREAMING)
    return [name for name in CONTENDERS if name not in PACKAGES or _is_there(PACKAGES[name])]


def _is_there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _in_a_process(name: str, file: Path, memory: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", name, "--file", str(file)]
    run = subprocess.run(
        [*command, "--memory", str(memory)], capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise SystemExit(f"{name} failed:\n{run.stderr[-2_000:]}")
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return found


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {key: round(statistics.median(run[key] for run in runs), 2) for key in runs[0]}


def _ratios(found: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Ours to DuckDB's on the same input."""
    pairs = {"CSV": (OURS_CSV, SUMMARIZE_CSV), "Parquet": (OURS_PARQUET, SUMMARIZE_PARQUET)}
    return {
        on: {key: round(found[ours][key] / found[theirs][key], 2) for key in found[ours]}
        for on, (ours, theirs) in pairs.items()
    }


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    packages = ["duckdb", *(name for name in PACKAGES.values() if _is_there(name))]
    return {name: version(name.replace("_", "-")) for name in packages}


def _tell(report: dict[str, Any]) -> None:
    print(f"\n{report['rows']:,} rows, {report['columns']} columns, CSV of {report['csv_mb']} MB")
    for name, each in report["measured"].items():
        print(
            f"  {name:28} {each['seconds']:8.2f} s  {each['processor_seconds']:8.2f} s of "
            f"processors  {each['peak_mb']:7.0f} MB"
        )
    for on, ratio in report["ratios"].items():
        print(
            f"  ours / SUMMARIZE, {on}: {ratio['seconds']:.2f} in time, "
            f"{ratio['processor_seconds']:.2f} in processor time (target {TARGET})"
        )
    for name in report["not_installed"]:
        print(f"  {name}: not installed")


def _keep(file: Path, rows: int, report: dict[str, Any]) -> None:
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    known[str(rows)] = report
    file.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
