"""Real jobs in the real sandbox, in every backend of ours that this machine can run."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil  # type: ignore[import-untyped,unused-ignore]
import pytest

from secondlook.errors import SandboxError, UsageError
from secondlook.sandbox import open_sandbox
from secondlook.sandbox.port import Limits, Supplied
from tests.support.sandbox import ROWS, forking, sales

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from secondlook.sandbox.port import Outcome, Sandbox

SMALL = Limits(seconds=20, resident=300 << 20)


@pytest.fixture(scope="module", params=forking())
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PLANTED", "s3cret")
        with contextlib.closing(open_sandbox(request.param, limits=SMALL)) as opened:
            yield opened


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Supplied:
    return sales(tmp_path_factory.mktemp("tables"))


def test_value_of_a_supplied_table(sandbox: Sandbox, table: Supplied) -> None:
    outcome = sandbox.run('print("so")\nresult = df["count"].sum()', [table])
    assert outcome.status == "ok", outcome.failure
    assert outcome.result == ROWS * (ROWS + 1) // 2
    assert outcome.has_result
    assert outcome.stdout == "so\n"
    assert outcome.seconds > 0
    assert outcome.memory > 1 << 20


def test_numbers_keep_every_digit(sandbox: Sandbox) -> None:
    outcome = sandbox.run('result = {"third": 1 / 3, "none": np.nan, "most": -np.inf}')
    assert isinstance(outcome.result, dict)
    assert outcome.result["third"] == 1 / 3
    assert math.isnan(outcome.result["none"])  # type: ignore[arg-type]
    assert outcome.result["most"] == -math.inf


def test_types_are_as_pandas_gives_them(sandbox: Sandbox, table: Supplied) -> None:
    code = "result = {name: kind.kind for name, kind in df.dtypes.items() if name != 'city'}"
    expected = {"count": "i", "price": "f", "day": "M", "at": "M", "tax": "f", "flag": "i"}
    assert sandbox.run(code, [table]).result == expected


def test_frame_with_its_groups(sandbox: Sandbox, table: Supplied) -> None:
    outcome = sandbox.run('result = df.groupby("city")["count"].max()', [table])
    assert outcome.frame is not None
    assert outcome.frame.columns == ("city", "count")
    assert outcome.frame.rows == (("Bath", 39), ("Bern", 37), ("Bonn", 38))


def test_only_so_many_rows_come_back(sandbox: Sandbox) -> None:
    limits = replace(SMALL, frame_rows=5)
    outcome = sandbox.run('result = pd.DataFrame({"a": range(50)})', limits=limits)
    assert outcome.frame is not None
    assert (len(outcome.frame.rows), outcome.frame.total_rows) == (5, 50)


def test_several_tables_by_name(sandbox: Sandbox, tmp_path: Path) -> None:
    tables = [sales(tmp_path, "a"), sales(tmp_path, "b c")]
    code = 'result = [sorted(tables), tables is datasets, "df" in globals(), len(tables["b c"])]'
    assert sandbox.run(code, tables).result == [["a", "b c"], True, False, ROWS]


def test_charts_of_plotly_and_matplotlib(sandbox: Sandbox, table: Supplied) -> None:
    code = """
fig = [px.bar(df, x="city", y="count", title="<b>Counts</b>"), plt.figure()]
fig[0].show()
fig[1].gca().plot(df["price"])
"""
    outcome = sandbox.run(code, [table])
    assert [figure.kind for figure in outcome.figures] == ["plotly", "png"], outcome.failure
    drawn = json.loads(outcome.figures[0].data)
    assert drawn["layout"]["title"]["text"] == "<b>Counts</b>"
    assert "<b>" not in outcome.figures[0].data  # safe within a page as it is


def test_chart_that_matplotlib_is_working_on(sandbox: Sandbox, table: Supplied) -> None:
    outcome = sandbox.run('df["price"].plot()\nplt.show()', [table])
    assert [figure.kind for figure in outcome.figures] == ["png"], outcome.failure


def test_models_of_the_libraries_fit_without_threads(sandbox: Sandbox, table: Supplied) -> None:
    code = """
from sklearn.ensemble import RandomForestRegressor
from sklearn.cluster import KMeans
from sklearn.model_selection import cross_val_score
forest = RandomForestRegressor(10, n_jobs=-1, random_state=0)
result = {
    "forest": forest.fit(df[["count"]], df["price"]).score(df[["count"]], df["price"]),
    "folds": len(cross_val_score(forest, df[["count"]], df["price"], n_jobs=-1, cv=3)),
    "groups": len(set(KMeans(2, n_init=1).fit_predict(df[["count", "price"]]))),
    "slope": sm.OLS(df["price"], sm.add_constant(df["count"])).fit().params["count"],
    "p": stats.shapiro(df["price"]).pvalue,
    "z": scipy.stats.norm.ppf(0.975),
}
"""
    outcome = sandbox.run(code, [table])
    assert outcome.status == "ok", outcome.failure
    assert isinstance(outcome.result, dict)
    assert outcome.result["forest"] > 0.9  # type: ignore[operator]
    assert (outcome.result["folds"], outcome.result["groups"]) == (3, 2)
    assert outcome.result["slope"] == pytest.approx(0.1)
    assert outcome.result["z"] == pytest.approx(1.959964)


def test_error_names_the_line_of_the_code(sandbox: Sandbox, table: Supplied) -> None:
    code = 'def mean(frame):\n    return frame["prise"].mean()\n\nresult = mean(df)\n'
    outcome = sandbox.run(code, [table])
    assert outcome.status == "error"
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.line) == ("KeyError", 2)
    assert outcome.failure.code == '    return frame["prise"].mean()'
    assert "prise" in outcome.failure.message


def test_endless_code_is_stopped(sandbox: Sandbox) -> None:
    code = "import signal\nsignal.signal(15, signal.SIG_IGN)\nprint('on')\nwhile True: pass"
    started = time.monotonic()
    outcome = sandbox.run(code, limits=replace(SMALL, seconds=0.5))
    assert outcome.status == "timeout"
    assert outcome.stdout == "on\n"
    assert time.monotonic() - started < 10
    assert outcome.failure is not None
    assert "0.5 seconds" in outcome.failure.message


@pytest.mark.parametrize(
    "code",
    [
        "result = np.ones(8 << 27).sum()",
        "import mmap\nresult = len(mmap.mmap(-1, 8 << 30))",
        "kept = []\nwhile True: kept.append(bytearray(1 << 20))",
        "import mmap\nkept = mmap.mmap(-1, 1 << 30)\nfor at in range(1 << 18): kept[at << 12] = 1",
    ],
)
def test_too_much_memory_ends_the_job(sandbox: Sandbox, code: str) -> None:
    outcome = sandbox.run(code)
    refused = outcome.failure is not None and outcome.failure.kind == "OSError"
    assert outcome.status == "memory" or refused, outcome
    assert outcome.memory < 1 << 30


def test_more_output_than_is_kept_is_cut(sandbox: Sandbox) -> None:
    outcome = sandbox.run("print('é' * 1_000_000)\nresult = 1")
    assert (outcome.status, outcome.result, outcome.stdout_cut) == ("ok", 1, True)
    assert len(outcome.stdout.encode()) <= SMALL.stdout_bytes + 3


def test_output_without_end_ends_the_job(sandbox: Sandbox) -> None:
    outcome = sandbox.run("while True: print('x' * 100_000)")
    assert outcome.status == "output"
    assert len(outcome.stdout) == SMALL.stdout_bytes


def test_result_that_is_too_large_is_refused(sandbox: Sandbox) -> None:
    limits = replace(SMALL, reply_bytes=10_000)
    outcome = sandbox.run("result = ['x' * 1000] * 100", limits=limits)
    assert outcome.status == "output"
    assert outcome.failure is not None
    assert "10000 bytes" in outcome.failure.message


def test_job_that_just_ends_has_crashed(sandbox: Sandbox) -> None:
    outcome = sandbox.run("import os\nresult = 1\nos._exit(3)")
    assert outcome.status == "crashed"
    assert outcome.failure is not None
    assert "exit code 3" in outcome.failure.message


def test_segmentation_fault_has_crashed(sandbox: Sandbox) -> None:
    outcome = sandbox.run("import ctypes\nctypes.string_at(0)")
    assert outcome.status == "crashed"
    assert outcome.failure is not None
    assert "SIG" in outcome.failure.message


def test_reply_that_the_code_wrote_is_not_believed(sandbox: Sandbox) -> None:
    code = """
import json, os, struct
fake = json.dumps({"status": "ok", "result": 42, "has_result": True, "figures": [], "memory": 0})
for descriptor in range(3, 64):
    try:
        os.write(descriptor, struct.pack(">Q", len(fake)) + fake.encode())
    except OSError:
        pass
os._exit(0)
"""
    outcome = sandbox.run(code)
    assert outcome.status == "crashed"
    assert outcome.result is None


def test_jobs_keep_nothing_of_one_another(sandbox: Sandbox) -> None:
    sandbox.run("import builtins\nbuiltins.kept = 1\npd.kept = 1")
    code = "import builtins\nresult = [hasattr(builtins, 'kept'), hasattr(pd, 'kept')]"
    assert sandbox.run(code).result == [False, False]


def test_environment_of_the_program_is_not_there(sandbox: Sandbox) -> None:
    outcome = sandbox.run("import os\nresult = dict(os.environ)")
    assert "s3cret" in os.environ.values()
    assert isinstance(outcome.result, dict)
    assert "PATH" in outcome.result
    assert "s3cret" not in str(outcome.result)


def test_random_draws_are_the_same_again(sandbox: Sandbox) -> None:
    code = "import random\nresult = [random.random(), np.random.rand()]"
    assert sandbox.run(code).result == sandbox.run(code).result


def test_threads_share_one_sandbox(sandbox: Sandbox, table: Supplied) -> None:
    def job(number: int) -> object:
        return sandbox.run(f'result = {number} + len(df)\nprint("{number}")', [table])

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(job, range(24)))
    assert [outcome.result for outcome in outcomes] == [ROWS + n for n in range(24)]  # type: ignore[attr-defined]
    assert [outcome.stdout for outcome in outcomes] == [f"{n}\n" for n in range(24)]  # type: ignore[attr-defined]


def test_no_descriptor_is_left_open(sandbox: Sandbox, table: Supplied) -> None:
    sandbox.run("result = 1", [table])
    before = len(list(Path("/proc/self/fd").iterdir()))
    for code in ("result = 1", "1 / 0", "import os\nos._exit(1)"):
        sandbox.run(code, [table])
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_table_that_is_no_file_of_ours_is_an_error(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not at all")
    outcome = sandbox.run("result = 1", [Supplied("broken", tmp_path / "broken.parquet")])
    assert outcome.status == "error"
    with pytest.raises(SandboxError, match="'gone' cannot be opened"):
        sandbox.run("result = 1", [Supplied("gone", tmp_path / "gone.parquet")])


def test_two_tables_of_one_name_are_refused(sandbox: Sandbox, table: Supplied) -> None:
    with pytest.raises(UsageError, match="same name"):
        sandbox.run("result = 1", [table, table])


def test_killed_server_takes_its_jobs_along_and_is_replaced(sandbox: Sandbox) -> None:
    sandbox.run("result = 1")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(sandbox.run, "while True: pass")
        job = _job_of(running)
        server = job.parent()
        assert server is not None
        server.send_signal(signal.SIGKILL)
        assert running.result().status == "crashed"
    assert not psutil.wait_procs([job, server], timeout=10)[1]
    assert sandbox.run("result = 2").result == 2


def test_closing_leaves_no_process_and_no_second_life() -> None:
    before = psutil.Process().children(recursive=True)
    opened = open_sandbox(limits=SMALL)
    opened.run("result = 1")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(opened.run, "while True: pass")
        _job_of(running)
        family = [each for each in psutil.Process().children(recursive=True) if each not in before]
        opened.close()
        assert running.result().status == "crashed"
    assert not psutil.wait_procs(family, timeout=10)[1]
    with pytest.raises(UsageError, match="closed"):
        opened.run("result = 1")


def _job_of(running: Future[Outcome]) -> psutil.Process:
    """The process that computes: no other one of the family does for long."""
    while not running.done():
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.cpu_times().user > 0.2 and not process.children() and _is_job(process):
                    return process
    raise AssertionError(running.result())


def _is_job(process: psutil.Process) -> bool:
    """Only jobs have given up the right to any more system calls, and none is a child of ours."""
    if process.ppid() == os.getpid():
        return False
    lines = Path(f"/proc/{process.pid}/status").read_text("utf-8").splitlines()
    return "Seccomp:\t2" in lines
