"""Real jobs in the real sandbox: one on each backend of this machine, all of them on the default
one. `make soak` runs all on each."""

import contextlib
import json
import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from secondlook.errors import UsageError
from secondlook.sandbox import open_sandbox
from secondlook.sandbox.port import Limits, Sandbox, Supplied
from tests.support.sandbox import ROWS, chosen_backends, sales, usable

SMALL = Limits(seconds=20, resident=300 << 20)


@pytest.fixture(scope="module", params=chosen_backends())
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PLANTED", "s3cret")
        with contextlib.closing(open_sandbox(request.param, limits=SMALL)) as opened:
            yield opened


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Supplied:
    return sales(tmp_path_factory.mktemp("tables"))


@pytest.mark.parametrize("backend", usable())
def test_value_frame_output_charts_and_an_error_on_each_backend(
    backend: str, table: Supplied
) -> None:
    code = (
        "print('so')\n"
        "result = {'sum': df['count'].sum(), 'by': df.groupby('city')['count'].max()}\n"
        "plt.plot(df['count'])\n"
        "fig = [px.bar(df, x='city', y='count', title='<b>Counts</b>'), plt.gcf()]\n"
        "fig[0].show()\n"
    )
    with contextlib.closing(open_sandbox(backend, limits=SMALL)) as opened:  # type: ignore[arg-type]
        outcome = opened.run(code, [table])
        failed = opened.run("def mean(frame):\n    return frame['prise']\n\nmean(df)", [table])
        stopped = opened.run("print('on')\nwhile True: pass", limits=replace(SMALL, seconds=0.5))
    assert outcome.status == "ok", outcome.failure
    assert (outcome.result, outcome.stdout) == ({"sum": ROWS * (ROWS + 1) // 2}, "so\n")
    assert outcome.frames["by"].columns == ("city", "count")
    assert outcome.frames["by"].rows == (("Bath", 39), ("Bern", 37), ("Bonn", 38))
    assert [figure.kind for figure in outcome.figures] == ["plotly", "png"]
    assert json.loads(outcome.figures[0].data)["layout"]["title"]["text"] == "<b>Counts</b>"
    assert "<b>" not in outcome.figures[0].data  # safe within a page as it is
    assert failed.failure is not None
    assert (failed.failure.kind, failed.failure.line) == ("KeyError", 2)
    assert (stopped.status, stopped.stdout) == ("timeout", "on\n")
    with pytest.raises(UsageError, match="closed"):
        opened.run("result = 1")


def test_numbers_keep_every_digit_and_draws_are_the_same_again(sandbox: Sandbox) -> None:
    outcome = sandbox.run('result = {"third": 1 / 3, "none": np.nan, "most": -np.inf}')
    assert isinstance(outcome.result, dict)
    assert outcome.result["third"] == 1 / 3
    assert math.isnan(outcome.result["none"])  # type: ignore[arg-type]
    code = "import random\nresult = [random.random(), np.random.rand()]"
    assert sandbox.run(code).result == sandbox.run(code).result


def test_tables_by_name_and_types_as_pandas_gives_them(
    sandbox: Sandbox, table: Supplied, tmp_path: Path
) -> None:
    code = "result = {name: kind.kind for name, kind in df.dtypes.items() if name != 'city'}"
    expected = {"count": "i", "price": "f", "day": "M", "at": "M", "tax": "f", "flag": "i"}
    assert sandbox.run(code, [table]).result == expected
    tables = [sales(tmp_path, "a"), sales(tmp_path, "b c")]
    code = 'result = [sorted(tables), tables is datasets, "df" in globals(), len(tables["b c"])]'
    assert sandbox.run(code, tables).result == [["a", "b c"], True, False, ROWS]


def test_models_of_the_libraries_fit_without_threads(sandbox: Sandbox, table: Supplied) -> None:
    code = """
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import cross_val_score
forest = RandomForestRegressor(10, n_jobs=-1, random_state=0)
result = {
    "forest": forest.fit(df[["count"]], df["price"]).score(df[["count"]], df["price"]),
    "folds": len(cross_val_score(forest, df[["count"]], df["price"], n_jobs=-1, cv=3)),
    "slope": sm.OLS(df["price"], sm.add_constant(df["count"])).fit().params["count"],
    "z": scipy.stats.norm.ppf(0.975),
}
"""
    outcome = sandbox.run(code, [table])
    assert outcome.status == "ok", outcome.failure
    assert isinstance(outcome.result, dict)
    assert outcome.result["forest"] > 0.9  # type: ignore[operator]
    assert outcome.result["folds"] == 3
    assert outcome.result["slope"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    "code",
    [
        "result = np.ones(8 << 27).sum()",
        "kept = []\nwhile True: kept.append(bytearray(1 << 20))",
        "import mmap\nkept = mmap.mmap(-1, 1 << 30)\nfor at in range(1 << 18): kept[at << 12] = 1",
    ],
)
def test_too_much_memory_ends_the_job(sandbox: Sandbox, code: str) -> None:
    outcome = sandbox.run(code)
    refused = outcome.failure is not None and outcome.failure.kind == "OSError"
    assert outcome.status == "memory" or refused, outcome
    assert outcome.memory < 1 << 30


def test_output_and_results_are_bounded(sandbox: Sandbox) -> None:
    outcome = sandbox.run("print('é' * 1_000_000)\nresult = 1")
    assert (outcome.status, outcome.result, outcome.stdout_cut) == ("ok", 1, True)
    assert len(outcome.stdout.encode()) <= SMALL.stdout_bytes + 3
    assert sandbox.run("while True: print('x' * 100_000)").status == "output"
    limits = replace(SMALL, reply_bytes=10_000, frame_rows=5)
    assert sandbox.run("result = ['x' * 1000] * 100", limits=limits).status == "output"
    frame = sandbox.run('result = pd.DataFrame({"a": range(50)})', limits=limits).frame
    assert frame is not None
    assert (len(frame.rows), frame.total_rows) == (5, 50)


def test_a_job_that_ends_without_a_reply_has_crashed(sandbox: Sandbox) -> None:
    for code, said in (
        ("import os\nresult = 1\nos._exit(3)", "exit code 3"),
        ("import ctypes\nctypes.string_at(0)", "ended by signal"),
    ):
        outcome = sandbox.run(code)
        assert outcome.status == "crashed"
        assert outcome.failure is not None
        assert said in outcome.failure.message


def test_jobs_see_neither_one_another_nor_our_environment(sandbox: Sandbox) -> None:
    sandbox.run("import builtins\nbuiltins.kept = 1\npd.kept = 1\nopen('kept', 'w').close()")
    code = "import builtins, os\nresult = [hasattr(builtins, 'kept'), hasattr(pd, 'kept')]"
    code += "\nresult.append(os.path.exists('kept'))"
    assert sandbox.run(code).result == [False, False, False]
    assert "s3cret" in os.environ.values()
    seen = sandbox.run("import os\nresult = dict(os.environ)").result
    assert isinstance(seen, dict)
    assert "PATH" in seen
    assert "s3cret" not in str(seen)


def test_threads_share_one_sandbox(sandbox: Sandbox, table: Supplied) -> None:
    def job(number: int) -> tuple[object, str]:
        outcome = sandbox.run(f'result = {number} + len(df)\nprint("{number}")', [table])
        return outcome.result, outcome.stdout

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(job, range(16)))
    assert outcomes == [(ROWS + number, f"{number}\n") for number in range(16)]
