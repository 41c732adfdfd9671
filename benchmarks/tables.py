"""Does our reader of tables agree with pandas, and what does a profile of a large table cost?

    SECONDLOOK_DATA=FOLDER python -m benchmarks.tables agreement       # holds dabench/tables
    python -m benchmarks.tables profile [--rows 1000000] [--rounds 3] [--memory 300]

The agreement: every CSV file of InfiAgent-DABench (evaluate only; nothing of it is kept here) is
read by pandas.read_csv with its defaults and by us: number of rows, names of columns, which
columns are numbers, their sums to one part in a thousand million, missing cells. Where we
understand more than pandas we say so in a warning, which explains the difference.

The cost: a CSV file of 20 mixed columns is made from a seed, read into a Parquet file and profiled,
beside DuckDB's SUMMARIZE of the same CSV file and of the same Parquet file, and pandas' `describe`
up to 2,000,000 rows. Each contender works in a process of its own, rounds are interleaved so that a
busy moment hits all of them, and medians are compared. Time is from before the engine is imported
to the last figure; memory is the peak of the process, for ours of the caller and its worker.
Writes benchmarks/results/table_reading.json or profile_ROWS.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.tables.worker import Worker

# Engines are imported where they are used: what a contender does not need must not count for it.

TOLERANCE = 1e-9
SEED, ROWS_AT_ONCE = 20_240_501, 200_000
MOST_ROWS_IN_MEMORY = 2_000_000
TARGET = 1.3
"""Times DuckDB's SUMMARIZE of the same file."""


def agreement(folder: Path) -> Counter[str]:
    """Counts over all files; nothing of their contents."""
    import pandas as pd

    from secondlook.tables.read import read_tables
    from secondlook.tables.worker import Worker

    warnings.simplefilter("ignore")
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as into, Worker() as worker:
        for file in sorted(folder.glob("*.csv*")):
            (read,) = read_tables(file, Path(into), worker=worker)
            try:
                frame = pd.read_csv(file)
            except UnicodeDecodeError:
                frame = pd.read_csv(file, encoding="latin-1")
            ours = pd.read_parquet(read.file)
            types = {column.name: column.type for column in read.table.columns}
            both = [name for name in frame.columns if name in types]
            theirs = {
                name
                for name in both
                if pd.api.types.is_numeric_dtype(frame[name]) and frame[name].dtype != bool
            }
            mine = {name for name in both if types[name] in {"integer", "number"}}
            said = read.table.warnings
            explained = {
                name
                for name in theirs ^ mine
                if any(warning.startswith(f"{name!r}:") for warning in said)
            }
            sums = [(frame[name].sum(), ours[name].sum()) for name in theirs & mine]
            found["files"] += 1
            found["columns"] += len(frame.columns)
            found["rows_agree"] += len(frame) == read.table.rows == len(ours)
            found["names_agree"] += list(frame.columns) == list(types)
            found["numeric"] += len(theirs)
            found["numeric_agree"] += len(theirs & mine)
            found["numeric_explained"] += len(explained)
            found["numeric_unexplained"] += len((theirs ^ mine) - explained)
            found["sums_agree"] += sum(abs(a - b) <= TOLERANCE * max(1.0, abs(a)) for a, b in sums)
            found["missing_agree"] += sum(
                bool(frame[name].isna().sum() == ours[name].isna().sum()) for name in both
            )
    return found


# The cost of a profile


def make_csv(file: Path, rows: int) -> None:
    """20 columns: keys, measures, categories, texts, dates, gaps."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as pc

    chance = np.random.default_rng(SEED)
    with file.open("wb") as stream:
        for start in range(0, rows, ROWS_AT_ONCE):
            n = min(ROWS_AT_ONCE, rows - start)

            def gaps(values: Any, share: float, n: int = n) -> pa.Array:
                return pa.array(values, mask=chance.random(n) < share)

            def some(*values: str, n: int = n) -> Any:
                return chance.choice(np.array(values, dtype=object), n)

            def numbered(prefix: str, most: int, n: int = n) -> list[str]:
                return [f"{prefix}{number}" for number in chance.integers(0, most, n)]

            columns = {
                "order_id": np.arange(start, start + n),
                "customer_id": chance.integers(100_000, 150_000, n),
                "price_eur": chance.uniform(0, 1_000, n).round(2),
                "quantity": chance.integers(0, 100, n),
                "score": chance.random(n).round(6),
                "temperature_c": gaps(chance.normal(12, 8, n).round(1), 0.1),
                "rating": chance.integers(0, 11, n),
                "income": np.exp(chance.uniform(0, 8, n)),
                "region": gaps(some("north", "south", "east", "west"), 0.05),
                "product": numbered("P-", 5_000),
                "token": [chance.bytes(16).hex() for _ in range(n)],
                "seller": numbered("Seller ", 15_000),
                "ordered": np.datetime64("2015-01-01") + chance.integers(0, 3_000, n),
                "shipped": np.datetime64("2020-01-01T00:00:00") + chance.integers(0, 10**8, n),
                "returned": chance.random(n) < 0.3,
                "grade": gaps(some("a", "b", "c"), 0.5),
                "serial": chance.integers(0, 10**9, n),
                "latitude": chance.uniform(-90, 90, n),
                "longitude": chance.uniform(-180, 180, n),
                "note": numbered("note ", 100_000),
            }
            pc.write_csv(pa.table(columns), stream, pc.WriteOptions(include_header=start == 0))


def limited(memory: int) -> Worker:
    from secondlook.tables.worker import Worker, WorkerLimits

    return Worker(WorkerLimits(memory=memory << 20, threads=os.cpu_count() or 1))


def ours_csv(file: Path, memory: int) -> None:
    from secondlook.tables.desk import profile_table
    from secondlook.tables.read import read_tables

    with tempfile.TemporaryDirectory(dir=file.parent) as into, limited(memory) as worker:
        (read,) = read_tables(file, Path(into), worker=worker)
        profile_table(worker, read.table, read.file)


def ours_parquet(file: Path, memory: int) -> None:
    from secondlook.tables.desk import profile_table
    from secondlook.tables.table import Table

    table = Table.model_validate_json((file.parent / "made.json").read_text(encoding="utf-8"))
    with limited(memory) as worker:
        profile_table(worker, table, file)


def summarize(file: Path, memory: int) -> None:
    import duckdb

    with tempfile.TemporaryDirectory() as spill:
        limits: dict[str, Any] = {"memory_limit": f"{memory}MiB", "temp_directory": spill}
        with duckdb.connect(config=limits) as connection:
            connection.execute("SUMMARIZE FROM '" + str(file) + "'").fetchall()


def describe(file: Path, _: int) -> None:
    import pandas as pd

    pd.read_csv(file, parse_dates=["ordered", "shipped"]).describe(include="all")


CONTENDERS: dict[str, Callable[[Path, int], None]] = {
    "SUMMARIZE, CSV": summarize,
    "ours, CSV": ours_csv,
    "SUMMARIZE, Parquet": summarize,
    "ours, Parquet": ours_parquet,
    "pandas describe, CSV": describe,
}


def measured(name: str, file: Path, memory: int) -> dict[str, float]:
    """In a process of its own: seconds, processor seconds and peak memory."""
    import resource

    began = time.perf_counter()
    CONTENDERS[name](file, memory)
    seconds = time.perf_counter() - began
    own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    # On Linux a process begins with the peak of the one that started it: `VmHWM` does not.
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    peak = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")] or [own.ru_maxrss]
    return {
        "seconds": seconds,
        "processor_seconds": sum(each.ru_utime + each.ru_stime for each in (own, children)),
        "peak_mb": (peak[0] + children.ru_maxrss) / 1024,
    }


def profile(rows: int, rounds: int, memory: int) -> dict[str, Any]:
    from secondlook.tables.read import read_tables

    names = [name for name in CONTENDERS if rows <= MOST_ROWS_IN_MEMORY or "pandas" not in name]
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="secondlook-profile-") as folder:
        csv = Path(folder) / "made.csv"
        make_csv(csv, rows)
        with limited(memory) as worker:
            (read,) = read_tables(csv, csv.parent, worker=worker)
        (csv.parent / "made.json").write_text(read.table.model_dump_json(), encoding="utf-8")
        for number in range(rounds):
            for name in names:
                file = read.file if "Parquet" in name else csv
                command = [sys.executable, "-m", "benchmarks.tables", "profile", "--memory"]
                command += [str(memory), "--one", name, "--file", str(file)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise SystemExit(f"{name} failed:\n{done.stderr[-2_000:]}")
                runs[name].append(json.loads(done.stdout.splitlines()[-1]))
                print(f"round {number + 1}, {name}: {runs[name][-1]}", flush=True)
        sizes = {"csv_mb": csv.stat().st_size >> 20, "parquet_mb": read.file.stat().st_size >> 20}
    medians = {
        name: {key: round(statistics.median(run[key] for run in some), 2) for key in some[0]}
        for name, some in runs.items()
    }
    ratios = {
        kind: {
            key: round(medians[f"ours, {kind}"][key] / medians[f"SUMMARIZE, {kind}"][key], 2)
            for key in ("seconds", "processor_seconds", "peak_mb")
        }
        for kind in ("CSV", "Parquet")
    }
    told = {"rows": rows, "rounds": rounds, "memory_limit_mb": memory, **sizes}
    return {**told, "measured": medians, "ratios_to_SUMMARIZE": ratios, "target": TARGET}


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    options.add_argument("what", choices=("agreement", "profile"))
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--memory", type=int, default=300, help="MB for ours and for DuckDB")
    options.add_argument("--one", help="of a process that this one starts")
    options.add_argument("--file", type=Path, help="and its file")
    given = options.parse_args()
    if given.one:
        print(json.dumps(measured(given.one, given.file, given.memory)))
        return
    from benchmarks.common import data_folder, save

    if given.what == "agreement":
        found = agreement(data_folder() / "dabench" / "tables")
        save("table_reading", {name: int(number) for name, number in found.items()})
    else:
        save(f"profile_{given.rows}", profile(given.rows, given.rounds, given.memory))


if __name__ == "__main__":
    main()
