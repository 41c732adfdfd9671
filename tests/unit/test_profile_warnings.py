"""What is doubtful about a table is said."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from secondlook.tables import profile as facts
from tests.support.profiled import TODAY, make_table

if TYPE_CHECKING:
    from pathlib import Path


def warned(folder: Path, values: Any, *, name: str = "c") -> tuple[str, ...]:
    return make_table(folder, {name: values}).profile().columns[0].warnings


def test_nothing_is_said_of_a_plain_column(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    assert warned(tmp_path, random.normal(size=500)) == ()
    assert warned(tmp_path, random.integers(0, 100, 500)) == ()
    assert warned(tmp_path, ["red", "green", "blue", None]) == ()


def test_missing_and_constant(tmp_path: Path) -> None:
    assert warned(tmp_path, [1, None, None]) == ("67 % missing",)
    assert warned(tmp_path, ["a", "a"]) == ("always the same value",)


def test_numbers_among_texts(tmp_path: Path) -> None:
    said = "67 % of the texts are numbers, others are not: 'about 3'"
    assert warned(tmp_path, ["1", " 2.5", "about 3"]) == (said,)
    assert warned(tmp_path, ["01", "02"]) == ("numbers kept as text",)
    assert warned(tmp_path, [f"word {at}" for at in range(99)] + ["7"]) == ()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([3, 5, 8, -999, -999], "may stand for missing: '-999' (2)"),
        ([0.5, 0.7, 9999.0], "may stand for missing: '9999' (1)"),
        (["a", "b", "N/A", "unknown", "N/A"], "may stand for missing: 'N/A' (2), 'unknown' (1)"),
    ],
)
def test_placeholders(tmp_path: Path, values: list[Any], said: str) -> None:
    assert said in warned(tmp_path, values)


def test_an_end_among_its_neighbours_is_no_placeholder(tmp_path: Path) -> None:
    assert warned(tmp_path, list(range(9_000, 10_000))) == ()
    assert warned(tmp_path, list(range(100))) == ()


def test_placeholders_among_many_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "PROBED_ROWS", 1_000)
    names = [f"name {at}" for at in range(4_000)] + ["Unknown"] * 400
    assert warned(tmp_path, names) == ("may stand for missing: 'Unknown' (400)",)


def test_spellings(tmp_path: Path) -> None:
    (said,) = warned(
        tmp_path, ["Berlin", "berlin ", "BERLIN", "Rome", "Paris", "New York", "New  York"]
    )
    assert said == (
        "spelled in several ways: 'BERLIN' = 'Berlin' = 'berlin '; 'New  York' = 'New York'"
    )
    many = [word for at in range(5) for word in (f"city {at}", f"City {at}")]
    (said,) = warned(tmp_path, many)
    assert said.endswith(" and 2 more")


def test_outliers_far_away(tmp_path: Path) -> None:
    values = [float(at % 100) for at in range(1_000)]
    assert warned(tmp_path, values) == ()
    (said,) = warned(tmp_path, [*values, 1e6])
    assert said.startswith("1 value lies far from the rest (90 % are between ")
    (said,) = warned(tmp_path, [*values, 1e6, -1e6])
    assert said.startswith("2 values lie far from the rest")


def test_dates_in_the_future(tmp_path: Path) -> None:
    today = date.fromisoformat(TODAY)
    days = [today - timedelta(days=at) for at in range(5)]
    assert warned(tmp_path, days) == ()
    later = [*days, today + timedelta(days=1), date(2099, 1, 1)]
    assert warned(tmp_path, later) == ("2 dates lie in the future, up to 2099-01-01",)


def test_a_percentage_that_is_a_share(tmp_path: Path) -> None:
    made = make_table(tmp_path, {"on_base_percentage": [0.1, 0.4], "pct": [10.0, 40.0]})
    share, percentage = made.profile().columns
    assert (share.unit, share.warnings) == (None, ("named a percentage, but between 0 and 1",))
    assert (percentage.unit, percentage.warnings) == ("%", ())


def test_headers_that_are_hard_to_tell_apart(tmp_path: Path) -> None:
    made = make_table(tmp_path, {"Total": [1, 2], "total_": [3, 4]})
    assert made.profile().warnings == ("headers are hard to tell apart: 'Total', 'total_'",)
