"""Code in the real sandbox, run again on other rows: honest code follows its data, and what looks
like it does is found out."""

from __future__ import annotations

import contextlib
import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from secondlook.nodes.code.guard import check
from secondlook.nodes.code.write import guidance_for
from secondlook.nodes.explain import stray_numbers, values_of
from secondlook.nodes.judge.arithmetic import checks
from secondlook.nodes.judge.result import CHANGED, SHUFFLED, follows, variations
from secondlook.sandbox import open_sandbox
from secondlook.sandbox.port import Supplied
from tests.support.judging import profiles
from tests.support.sandbox import usable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.sandbox.port import Outcome, Sandbox, Variation

ROWS = 240
COLUMNS = {"people": ["Fare", "Age", "Sex", "Pclass"]}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    assert usable()
    with contextlib.closing(open_sandbox()) as opened:
        yield opened


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Supplied:
    return Supplied("people", written(tmp_path_factory.mktemp("people")))


def written(folder: Path) -> Path:
    draw = random.Random(7)
    table = {
        "Fare": [round(draw.lognormvariate(3, 0.8), 2) for _ in range(ROWS)],
        "Age": [None if draw.random() < 0.1 else float(draw.randint(1, 80)) for _ in range(ROWS)],
        "Sex": [draw.choice(["male", "female"]) for _ in range(ROWS)],
        "Pclass": [draw.randint(1, 3) for _ in range(ROWS)],
    }
    pq.write_table(pa.table(table), folder / "people.parquet")
    return folder / "people.parquet"


def verdicts(sandbox: Sandbox, people: Supplied, question: str, code: str) -> dict[str, bool]:
    assert check(code, COLUMNS) is None
    base = sandbox.run(code, [people])
    assert base.failure is None
    varied: list[tuple[Variation, Outcome]] = [
        (how, sandbox.run(code, [people], vary=how, seed=at))
        for at, how in enumerate(variations(question, code), 1)
    ]
    return {one["name"]: one["passed"] for one in follows(question, code, base, varied)}


FOLLOWS = [
    ("What is the mean fare?", "result = round(df['Fare'].mean(), 2)"),
    ("Mean fare by sex?", "result = df.groupby('Sex')['Fare'].mean()"),
    ("Who pays more than 50?", "result = df[df['Fare'] > 50][['Sex', 'Fare']]"),
    ("Share of women?", "result = {'share': (df['Sex'] == 'female').mean() * 100}"),
]


@pytest.mark.parametrize(("question", "code"), FOLLOWS)
def test_honest_code_follows_its_data(
    sandbox: Sandbox, people: Supplied, question: str, code: str
) -> None:
    assert verdicts(sandbox, people, question, code) == {SHUFFLED: True, CHANGED: True}


def test_a_value_written_in_is_found_out(sandbox: Sandbox, people: Supplied) -> None:
    code = "result = 34.6512 if len(df) else df['Fare'].mean()"
    assert verdicts(sandbox, people, "Mean fare?", code)[CHANGED] is False


def test_what_takes_the_rows_as_they_come_is_found_out(sandbox: Sandbox, people: Supplied) -> None:
    code = (
        "total = 0\nfor _, fare in zip(range(50), df['Fare']):\n    total += fare\nresult = total"
    )
    assert verdicts(sandbox, people, "Total fare?", code)[SHUFFLED] is False


def test_a_chart_follows_its_data(sandbox: Sandbox, people: Supplied) -> None:
    code = "fig = px.histogram(df, x='Fare', title='Fares')\nresult = None"
    assert verdicts(sandbox, people, "Plot the fares", code)[CHANGED] is True
    drawn = sandbox.run(code, [people])
    found = {one["name"]: one["passed"] for one in checks("Plot it", None, drawn, {}, [])}
    assert found["figure"] is True


def test_a_failure_is_told_with_its_line_and_columns(sandbox: Sandbox, people: Supplied) -> None:
    code = "x = 1\nresult = df['Sex'].mean()"
    failed = sandbox.run(code, [people])
    assert failed.failure is not None
    told = guidance_for(failed.failure, code, {"people": profiles()["t1"]})
    assert told.startswith("Line 2: `result = df['Sex'].mean()`")
    assert "- people['Sex']: text" in told


def test_what_is_said_of_a_frame_is_in_it(sandbox: Sandbox, people: Supplied) -> None:
    ended = sandbox.run("result = df.groupby('Pclass')['Fare'].agg(['mean', 'count'])", [people])
    assert ended.frame is not None
    mean = ended.frame.rows[0][1]
    assert isinstance(mean, float)
    assert stray_numbers(f"Class 1 pays {mean:.2f} on average.", values_of(ended)) == []
    assert stray_numbers(f"Class 1 pays {mean + 5:.2f}.", values_of(ended)) != []
