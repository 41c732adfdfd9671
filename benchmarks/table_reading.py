"""Does our reader of tables agree with pandas, and what does it cost?

    export SECONDLOOK_DATA=FOLDER             # for the agreement; holds dabench/tables
    python -m benchmarks.table_reading [--rows 1000000 10000000] [--memory-mb 300] [--output FILE]

The agreement: every CSV file of InfiAgent-DABench (evaluate only; nothing of it is kept here) is
read by pandas.read_csv with its defaults and by us: number of rows, names of columns, which
columns are numbers, their sums to one part in a thousand million, missing cells. Where we
understand more than pandas the reason is counted: a percent sign, a code with leading zeros.

The cost: CSV files of that many rows (seeded; integers, numbers, texts, dates) are read within the
given limit of memory, each in a process of its own whose peak is measured. Needs the extra
`analyst`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from secondlook.tables.read import READER_VERSION, Read, read_tables
from secondlook.tables.worker import Worker, WorkerLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULTS = Path(__file__).parent / "results" / "table_reading.json"
TOLERANCE = 1e-9
UNDERSTOOD = {
    "leading zeros": "digits with leading zeros kept as text",
    "percent sign": "percent sign taken off",
    "currency sign": "currency sign taken off",
    "groups digits": "grouped digits read as numbers",
    "marks decimals": "decimal comma",
    "taken for missing": "marks such as '-' or '?' taken for missing",
}


def compare(read: Read) -> dict[str, Any]:
    """One file by both; counts only, no contents."""
    import pandas as pd

    frame, encoding = _by_pandas(Path(str(read.table.path)))
    ours = pd.read_parquet(read.file)
    types = {column.name: column.type for column in read.table.columns}
    names_agree = list(frame.columns) == list(types)
    both = [name for name in frame.columns if name in types]
    theirs = {name for name in both if _is_number(frame[name])}
    mine = {name for name in both if types[name] in {"integer", "number"}}
    explained = {name for name in theirs ^ mine if _explained(name, read.table.warnings)}
    return {
        "encoding": encoding,
        "columns": len(frame.columns),
        "rows_agree": len(frame) == read.table.rows == len(ours),
        "names_agree": names_agree,
        "numeric": len(theirs),
        "numeric_agree": len(theirs & mine),
        "numeric_explained": len(explained),
        "numeric_unexplained": len((theirs ^ mine) - explained),
        "sums_agree": sum(_close(frame[name].sum(), ours[name].sum()) for name in theirs & mine),
        "missing_agree": sum(_same_gaps(frame[name], ours[name]) for name in both),
        "dates": sum(kind in {"date", "datetime", "time"} for kind in types.values()),
        "reasons": sorted(
            {
                said
                for sign, said in UNDERSTOOD.items()
                for one in read.table.warnings
                if sign in one
            }
        ),
    }


def _by_pandas(path: Path) -> tuple[Any, str]:
    import pandas as pd

    for encoding in ("utf-8", "latin-1"):
        try:
            return pd.read_csv(path, encoding=encoding), encoding
        except UnicodeDecodeError:
            continue
    raise ValueError(f"pandas cannot read {path.name!r}")


def _is_number(column: Any) -> bool:
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(column) and column.dtype != bool)


def _close(one: float, other: float) -> bool:
    return bool(abs(one - other) <= TOLERANCE * max(1.0, abs(one)))


def _same_gaps(one: Any, other: Any) -> bool:
    return bool(one.isna().sum() == other.isna().sum())


def _explained(name: str, said: tuple[str, ...]) -> bool:
    return any(one.startswith(f"{name!r}:") for one in said)


def agreement(folder: Path) -> dict[str, Any]:
    files = sorted(folder.glob("*.csv*"))
    with tempfile.TemporaryDirectory() as into, Worker() as worker:
        found = []
        for file in files:
            (read,) = read_tables(file, Path(into), worker=worker)
            found.append(compare(read))
    totals = {
        key: sum(one[key] for one in found)
        for key in found[0]
        if isinstance(found[0][key], int) and not isinstance(found[0][key], bool)
    }
    return {
        "files": len(found),
        "rows_agree": sum(one["rows_agree"] for one in found),
        "names_agree": sum(one["names_agree"] for one in found),
        **totals,
        "reasons": sorted({reason for one in found for reason in one["reasons"]}),
    }


def make_csv(path: Path, rows: int) -> None:
    """Seeded by DuckDB's hash: the same file everywhere."""
    import duckdb

    columns = (
        "i AS id, hash(i) % 1000000 AS n, round((hash(i + 7) % 1000000) / 997.0, 4) AS x, "
        "'group ' || (hash(i + 3) % 50) AS kind, DATE '2010-01-01' + (i % 5000)::INTEGER AS day, "
        "md5(i::VARCHAR) AS code, i % 3 = 0 AS flag"
    )
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT {columns} FROM range({rows}) t(i)) TO '{path}' (HEADER)"  # noqa: S608
        )


def cost(rows: int, memory: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "made.csv"
        make_csv(source, rows)
        with Worker(WorkerLimits(memory=memory)) as worker:
            worker.call("worker_process:select", seconds=60, sql="SELECT 1")
            begin = time.perf_counter()
            with _Peak(worker) as peak:
                (read,) = read_tables(source, Path(folder) / "out", worker=worker)
            seconds = time.perf_counter() - begin
        return {
            "rows": read.table.rows,
            "csv_mb": round(source.stat().st_size / 1e6, 1),
            "parquet_mb": round(read.file.stat().st_size / 1e6, 1),
            "memory_limit_mb": memory >> 20,
            "seconds": round(seconds, 2),
            "cpu_seconds": round(peak.cpu, 2),
            "peak_rss_mb": round(peak.bytes / 1e6, 1),
        }


class _Peak:
    """Watches the worker's process from outside."""

    def __init__(self, worker: Worker) -> None:
        import psutil  # type: ignore[import-untyped,unused-ignore]

        self._process = psutil.Process(worker.pid)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.bytes = 0
        self.cpu = 0.0

    def _watch(self) -> None:
        while not self._ended.wait(0.05):
            self.bytes = max(self.bytes, self._process.memory_info().rss)

    def __enter__(self) -> Self:
        self._before = self._cpu()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.cpu = self._cpu() - self._before

    def _cpu(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)


def measured(options: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    yield "reader_version", READER_VERSION
    yield "machine", {"cpu_count": os.cpu_count(), "python": platform.python_version()}
    data = os.environ.get("SECONDLOOK_DATA")
    if data:
        yield "agreement_with_pandas", agreement(Path(data) / "dabench" / "tables")
    else:
        print("SECONDLOOK_DATA is not set: agreement left out")
    yield "cost", [cost(rows, options.memory_mb << 20) for rows in options.rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--memory-mb", type=int, default=300)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    report = dict(measured(options))
    options.output.write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
