"""The same table with other rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from secondlook.sandbox.inside.job import varied


@pytest.fixture
def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": [f"n{number}" for number in range(50)],
            "whole": range(50),
            "gaps": [None if number % 5 == 0 else float(number) for number in range(50)],
            "part": [number * 0.37 for number in range(50)],
            "flag": [number % 2 for number in range(50)],
            "yes": [number % 3 == 0 for number in range(50)],
            "day": pd.date_range("2024-01-01", periods=50),
            "empty": [np.nan] * 50,
            "tiny": np.arange(50, dtype="uint8") * 5,
            "huge": np.full(50, 2**63 - 1),
        }
    )


def test_shuffled_rows_stay_whole(table: pd.DataFrame) -> None:
    mixed = varied(table, "shuffled", 1)
    assert list(mixed.index) == list(range(50))
    assert list(mixed["name"]) != list(table["name"])
    pd.testing.assert_frame_equal(
        mixed.sort_values("name").reset_index(drop=True),
        table.sort_values("name").reset_index(drop=True),
    )


def test_resampled_rows_come_from_the_table(table: pd.DataFrame) -> None:
    drawn = varied(table, "resampled", 1)
    assert len(drawn) == 50
    assert drawn["name"].nunique() < 50
    assert (drawn["name"] == "n" + drawn["whole"].astype(str)).all()


def test_perturbed_columns_keep_their_type(table: pd.DataFrame) -> None:
    changed = varied(table, "perturbed", 1)
    assert list(changed.dtypes) == list(table.dtypes)
    assert list(changed.columns) == list(table.columns)


def test_perturbed_numbers_move_a_little(table: pd.DataFrame) -> None:
    changed = varied(table, "perturbed", 1)
    for name in ("whole", "part", "gaps"):
        nonzero = table[name].fillna(0) != 0
        moved = (changed[name] - table[name])[nonzero]
        assert (moved != 0).all(), name
        assert (moved.abs() <= np.maximum(1, 0.06 * table[name][nonzero])).all(), name
    assert (changed["gaps"].dropna() % 1 == 0).all()
    assert list(changed["gaps"].isna()) == list(table["gaps"].isna())
    assert changed["part"].iloc[0] == 0


def test_perturbed_flags_stay_flags_but_their_share_changes(table: pd.DataFrame) -> None:
    changed = varied(table, "perturbed", 1)
    assert set(changed["flag"]) == {0, 1}
    assert changed["flag"].sum() != table["flag"].sum()
    assert changed["yes"].sum() != table["yes"].sum()


def test_perturbed_texts_and_days_are_swapped_between_rows(table: pd.DataFrame) -> None:
    changed = varied(table, "perturbed", 1)
    for name in ("name", "day"):
        assert list(changed[name]) != list(table[name])
        assert sorted(changed[name]) == sorted(table[name])


def test_same_seed_gives_the_same_and_the_table_is_left_alone(table: pd.DataFrame) -> None:
    before = table.copy()
    for how in ("shuffled", "perturbed", "resampled"):
        first = varied(table, how, 7)
        pd.testing.assert_frame_equal(first, varied(table, how, 7))
        assert not first.equals(varied(table, how, 8))
    pd.testing.assert_frame_equal(table, before)


def test_tables_without_rows_or_with_two_columns_of_one_name() -> None:
    empty = pd.DataFrame({"a": pd.Series([], dtype="float64"), "t": pd.Series([], dtype="str")})
    double = pd.DataFrame([[1.5, 2.5], [3.5, 4.5]], columns=["a", "a"])
    for how in ("shuffled", "perturbed", "resampled"):
        assert varied(empty, how, 1).shape == (0, 2)
        assert varied(double, how, 1).shape == (2, 2)
