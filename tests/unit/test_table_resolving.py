"""Words to columns and values, with a score and how it was found."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from secondlook.tables.resolver import SURE, AskedTable, Resolver
from secondlook.tables.table import Column, ColumnProfile, Table, TableProfile, ValueCount

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = {
    "Pclass": "integer",
    "importance.score": "number",
    "WINDSPEED": "number",
    "num. calls abandoned": "integer",
    "Sex": "text",
    "temp": "number",
    "in": "number",
    "Weight (kg)": "number",
    "HouseAge": "number",
    "discount_pct": "number",
    "City": "text",
}
VALUES = {"Sex": ["male", "female"], "City": ["New York", "Bath", "Of"]}


def table(identity: str = "t") -> AskedTable:
    columns = tuple(Column(name=name, type=kind) for name, kind in NAMES.items())  # type: ignore[arg-type]
    profiles = tuple(
        ColumnProfile(
            name=one.name,
            type=one.type,
            rows=9,
            top=tuple(ValueCount(value=value, count=1) for value in VALUES.get(one.name, [])),
        )
        for one in columns
    )
    return AskedTable(
        Table(id=identity, name="t", title="t.csv", sha256="0", rows=9, columns=columns),
        TableProfile(table=identity, rows=9, columns=profiles),
        lambda name: VALUES.get(name, []),
    )


@pytest.mark.parametrize(
    ("text", "column", "how"),
    [
        ("the importance.score", "importance.score", "exact"),
        ("the mean wind speed", "WINDSPEED", "case"),
        ("the passenger class", "Pclass", "fuzzy"),
        ("the gender", "Sex", "fuzzy"),
        ("the discount", "discount_pct", "fuzzy"),
        ("the windsped", "WINDSPEED", "fuzzy"),
        ('the "in" column', "in", "exact"),
    ],
)
def test_mentions(text: str, column: str, how: str) -> None:
    (found,) = Resolver([table()]).mentions(text)
    assert (found.resolved.column, found.resolved.how) == (column, how)
    assert text[found.start : found.end] == found.resolved.asked
    assert 0.7 <= found.resolved.score <= 1


def test_mentions_come_in_order_without_overlap() -> None:
    text = "Weight (kg) by Pclass, in cities with wind speed"
    found = Resolver([table()]).mentions(text)
    assert [one.resolved.column for one in found] == ["Weight (kg)", "Pclass", "City", "WINDSPEED"]
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))
    assert Resolver([table()]).mentions("rows in the table") == []
    assert Resolver([table()]).column("quarterly turnover") == []


@pytest.mark.parametrize(
    ("phrase", "column", "how"),
    [
        ("calls that were abandoned by callers", "num. calls abandoned", "fuzzy"),
        ("weight", "Weight (kg)", "case"),
        ("female", "Sex", "value"),
    ],
)
def test_phrases(phrase: str, column: str, how: str) -> None:
    best = Resolver([table()]).column(phrase)[0]
    assert (best.column, best.how) == (column, how)


def test_meaning_finds_what_letters_do_not() -> None:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        """Breeze and wind lie together, all else apart."""
        return [
            [1.0, 0.0] if "wind" in text.lower() or "breeze" in text else [0.7, 0.714]
            for text in texts
        ]

    best = Resolver([table()], embed=embed).column("breeze")[0]
    assert (best.column, best.how) == ("WINDSPEED", "meaning")
    assert best.score == pytest.approx(SURE)


def test_values() -> None:
    text = "males in new york, not in Bath or of 'Of'"
    found = Resolver([table()]).values(text)
    assert [(text[one.start : one.end], one.column, one.value) for one in found] == [
        ("males", "Sex", "male"),
        ("new york", "City", "New York"),
        ("Bath", "City", "Bath"),
        ("Of", "City", "Of"),
    ]
    assert found[0].score < found[1].score == 1.0
