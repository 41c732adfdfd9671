"""Queries computed as pandas and scipy compute them, on random tables."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from secondlook.errors import TableError
from secondlook.tables.compute import incomplete_beta
from secondlook.tables.query import Computed, Filter, Key, Measure, Order, Query, Statistic, Term
from secondlook.tables.resolver import SURE, AskedTable, Resolver
from secondlook.tables.table import Column, ColumnProfile, Table, TableProfile, ValueCount
from tests.support.shop import asked_table, orders, shop

NUMBERS = st.lists(
    st.one_of(st.none(), st.floats(-1e6, 1e6).map(lambda one: round(one, 3))),
    min_size=4,
    max_size=40,
)
QUICK = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
COUNT = Measure(name="n", statistic="count")
ORDERS = orders()


def run(table: AskedTable, **parts: Any) -> Computed:
    assert table.compute is not None
    return table.compute(Query(table=table.table.id, **parts))


def one(table: AskedTable, statistic: Statistic, column: str = "x", **parts: Any) -> Any:
    measure = Measure(name="m", statistic=statistic, of=Term(column=column), **parts)
    ((value,),) = run(table, measures=(measure,)).rows
    return value


def where(column: str, comparison: Any, value: Any = None, **parts: Any) -> Filter:
    return Filter(column=column, comparison=comparison, value=value, **parts)


def frame_of(first: list[float | None], second: list[float | None]) -> pd.DataFrame:
    size = min(len(first), len(second))
    return pd.DataFrame({"x": first[:size], "y": second[:size]}, dtype=float)


@QUICK
@given(first=NUMBERS, second=NUMBERS)
def test_statistics_agree_with_pandas(
    first: list[float | None], second: list[float | None]
) -> None:
    frame = frame_of(first, second)
    x = frame.x
    if x.dropna().nunique() < 4 or x.dropna().abs().max() > 1e3 * (x.std() or 1):
        return
    expected: dict[Any, float] = {
        "sum": x.sum(),
        "mean": x.mean(),
        "median": x.median(),
        "mode": x.mode()[0],
        "min": x.min(),
        "max": x.max(),
        "range": x.max() - x.min(),
        "std": x.std(),
        "variance": x.var(),
        "skewness": x.skew(),
        "kurtosis": x.kurt(),
        "iqr": x.quantile(0.75) - x.quantile(0.25),
        "count": x.count(),
        "distinct": x.nunique(),
        "outliers_z": ((x - x.mean()).abs() > 1.5 * x.std()).sum(),
    }
    of = Term(column="x")
    found = run(
        asked_table(frame),
        measures=tuple(
            Measure(name=name, statistic=name, of=of, at=1.5 if name == "outliers_z" else None)
            for name in expected
        ),
    )
    for value, wanted in zip(found.rows[0], expected.values(), strict=True):
        known = math.isfinite(wanted)
        assert value == (pytest.approx(float(wanted), rel=1e-7, abs=1e-7) if known else None)


@QUICK
@given(first=NUMBERS, second=NUMBERS, at=st.floats(0, 1))
def test_pairs_and_quantiles_agree(
    first: list[float | None], second: list[float | None], at: float
) -> None:
    frame = frame_of(first, second)
    both = frame.dropna()
    if len(both) < 4 or both.x.nunique() < 3 or both.y.nunique() < 3:
        return
    table, other = asked_table(frame), Term(column="y")
    assert one(table, "quantile", at=at) == pytest.approx(frame.x.quantile(at), rel=1e-7, abs=1e-7)
    for method, test in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        expected = test(both.x, both.y)
        found = one(table, "correlation", other=other, method=method)
        assert found == pytest.approx(expected.statistic, abs=1e-6)
        p = one(table, "correlation_p", other=other, method=method)
        assert p == pytest.approx(expected.pvalue, abs=1e-6)
    tau = stats.kendalltau(both.x, both.y)
    assert one(table, "correlation", other=other, method="kendall") == pytest.approx(tau.statistic)
    assert one(table, "covariance", other=other) == pytest.approx(both.x.cov(both.y), rel=1e-7)


def test_other_forms_and_tests_of_normality() -> None:
    table, x = shop(), ORDERS.unit_price.to_numpy()
    standard = (x - x.mean()) / x.std(ddof=1)
    for statistic, method, expected in (
        ("std", "population", x.std()),
        ("variance", "population", x.var()),
        ("normality", "shapiro", stats.shapiro(x).pvalue),
        ("normality", "ks", stats.kstest(standard, "norm").pvalue),
        ("normality", "dagostino", stats.normaltest(x).pvalue),
        ("normality", "jarque_bera", stats.jarque_bera(x).pvalue),
    ):
        found = one(table, statistic, "unit_price", method=method)  # type: ignore[arg-type]
        assert found == pytest.approx(expected, rel=1e-6)
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"normal": random.normal(size=200), "not": random.exponential(size=200)})
    assert one(asked_table(frame), "normality", "normal", method="anderson") > 0.05
    assert one(asked_table(frame), "normality", "not", method="anderson") < 0.05
    for a, at in ((0.5, 0.2), (2.0, 1e-9), (40.0, 0.9), (2.0, 1.0)):
        assert incomplete_beta(a, 0.5, at) == pytest.approx(special.betainc(a, 0.5, at), abs=1e-12)


def test_constant_and_short_columns_have_no_correlation() -> None:
    table = asked_table(pd.DataFrame({"x": [1.0, 1.0, 1.0], "y": [1.0, 2.0, 3.0]}))
    for statistic in ("correlation", "correlation_p"):
        assert one(table, statistic, other=Term(column="y"), method="spearman") is None
    assert one(table, "normality") is None
    assert one(table, "skewness") is None


def test_groups_with_missing_keys_and_arrays() -> None:
    groups = {"g": [*"aaabbb", None], "x": [1.0, 2, 4, 3, 5, 4, 9], "y": [1, 2, 3, 3, 2, 1, 1]}
    of, other = Term(column="x"), Term(column="y")
    rho = Measure(name="rho", statistic="correlation", of=of, other=other, method="spearman")
    found = run(
        asked_table(pd.DataFrame(groups)),
        group_by=(Key(column="g"),),
        measures=(COUNT, rho),
        order=(Order(by="rho", descending=True),),
    )
    assert found.columns == ("g", "n", "rho")
    assert [row[0] for row in found.rows] == ["a", "b", None]
    assert found.rows[0][2] == pytest.approx(1.0)


def test_intervals_having_limit_and_ties() -> None:
    key = Key(column="units", bins=(0, 5, 10, 20), labels=("few", "some", "many"))
    found = run(shop(), group_by=(key,), measures=(COUNT,))
    cut = pd.cut(ORDERS.units, [0, 5, 10, 20], labels=["few", "some", "many"]).value_counts()
    assert dict(found.rows) == cut.to_dict()  # type: ignore[arg-type]
    first = run(shop(), group_by=(key,), measures=(COUNT,), order=(Order(by="n"),), limit=1)
    assert (first.total_rows, len(first.rows)) == (3, 1)
    big = where("n", ">", int(cut.iloc[1]))
    assert run(shop(), group_by=(key,), measures=(COUNT,), having=(big,)).total_rows == 1
    half = Key(column="units", bins=(float("-inf"), 10, float("inf")), right=False)
    counted: Any = run(shop(), group_by=(half,), measures=(COUNT,)).rows
    assert dict(counted)["[-inf, 10)"] == (ORDERS.units < 10).sum()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (where("region", "=", " north "), ORDERS.region == "North"),
        (where("rating", "!=", 3), ORDERS.rating != 3),
        (where("rating", "missing"), ORDERS.rating.isna()),
        (where("region", "in", values=("east", "WEST")), ORDERS.region.isin(["East", "West"])),
        (where("product", "contains", "A"), ORDERS["product"].str.contains("a")),
        (where("returned", "=", "yes"), ORDERS.returned),
        (where("units", ">=", "1,0"), ORDERS.units >= 10),
        (where("date", ">=", "2024-01-01"), ORDERS.date >= "2024-01-01"),
        (where("date", "=", 2, part="month"), ORDERS.date.dt.month == 2),
        (where("date", ">", 20230331, transform="date"), ORDERS.date > "2023-03-31"),
        (
            where("unit_price", "within_z", 1),
            (ORDERS.unit_price - ORDERS.unit_price.mean()).abs() <= ORDERS.unit_price.std(),
        ),
    ],
)
def test_conditions(condition: Any, expected: pd.Series) -> None:
    found = run(shop(), where=(condition,), measures=(COUNT,))
    assert found.rows == ((int(expected.sum()),),)
    assert found.used == int(expected.sum())


def test_a_condition_of_one_measure() -> None:
    returned = (where("returned", "=", True),)
    inside = (where("unit_price", "within_iqr"),)
    units, price = Term(column="units"), Term(column="unit_price")
    measures = (
        Measure(name="share", statistic="share", where=returned),
        Measure(name="units", statistic="sum", of=units, where=returned),
        Measure(name="kept", statistic="mean", of=price, where=inside, decimals=2),
    )
    share, total, kept = run(shop(), measures=measures).rows[0]
    assert share == pytest.approx(100 * ORDERS.returned.mean())
    assert total == ORDERS[ORDERS.returned].units.sum()
    low, high = ORDERS.unit_price.quantile(0.25), ORDERS.unit_price.quantile(0.75)
    near = ORDERS.unit_price.between(low - 1.5 * (high - low), high + 1.5 * (high - low))
    assert kept == round(ORDERS.unit_price[near].mean(), 2)


def test_terms() -> None:
    price, units = ORDERS.unit_price, ORDERS.units
    terms = {
        Term(column="units", operator="*", other="unit_price"): units * price,
        Term(column="unit_price", operator="/", other=2): price / 2,
        Term(column="units", operator="+", other="order_id"): units + ORDERS.order_id,
        Term(column="returned"): ORDERS.returned.astype(int),
        Term(column="returned", transform="number"): ORDERS.returned.astype(int),
        Term(column="date", transform="year"): ORDERS.date.dt.year,
    }
    measures = tuple(Measure(name=str(at), statistic="mean", of=of) for at, of in enumerate(terms))
    found = run(shop(), measures=measures).rows[0]
    assert found == pytest.approx(tuple(float(one.mean()) for one in terms.values()))


def test_rows_in_order_with_ties_neighbours_and_differences() -> None:
    table = asked_table(pd.DataFrame({"name": ["a", "b", "c", "d"], "x": [2, 3, 3, 1]}))
    highest, last = (Order(by="x", descending=True),), (Order(by="", descending=True),)
    b, a = (where("name", "=", "b"),), (where("name", "=", "a"),)
    for parts, expected in (
        ({"order": highest, "limit": 1}, ["b", "c"]),
        ({"order": highest, "limit": 1, "ties": False}, ["b"]),
        ({"order": last, "limit": 1, "ties": False}, ["d"]),
        ({"where": b, "neighbour": "after"}, ["c"]),
        ({"where": a, "neighbour": "before"}, []),
    ):
        found = run(table, select=("name",), **parts)
        assert [row[0] for row in found.rows] == expected
    assert run(table, select=("x",), distinct=True).rows == ((2,), (3,), (1,))


def test_numbers_and_dates_within_texts() -> None:
    texts = ["1,234 km", "W 3-1", "1:02:03", "March 4, 2004", "4 March 2004", "2004-03-04", "none"]
    table = asked_table(pd.DataFrame({"t": texts, "n": range(1, 8)}))
    for transform, value, rows in (
        ("number", 1234, [1]),
        ("number", 3, [2]),
        ("number", 3723, [3]),
        ("date", 20040304, [4, 5, 6]),
        ("year", 2004, [4, 5, 6]),
        ("month", 3, [4, 5, 6]),
    ):
        found = run(table, where=(where("t", "=", value, transform=transform),), select=("n",))
        assert [row[0] for row in found.rows] == rows
    table = asked_table(pd.DataFrame({"t": ["10", "9", "x", "0:30"], "n": [1, 2, 3, 4]}))
    for sign, least, kept in ((">", 9.5, [1, 4]), ("=", 10, [1])):
        found = run(table, where=(where("t", sign, least),), select=("n",))
        assert [row[0] for row in found.rows] == kept
    assert one(table, "sum", "t") == 49


def measured(statistic: Any, **parts: Any) -> dict[str, Any]:
    return {"measures": (Measure(name="m", statistic=statistic, **parts),)}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"select": ("nothing",)}, "no column 'nothing'"),
        (measured("mean"), "needs a column"),
        (measured("correlation", of=Term(column="units")), "needs two columns"),
        (measured("quantile", of=Term(column="units"), at=2), "between 0 and 1"),
        (measured("normality", of=Term(column="units"), method="?"), "test of normality"),
        ({"where": (where("units", "="),)}, "compare"),
    ],
)
def test_what_cannot_be_computed_says_so(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(TableError, match=message):
        run(shop(), **parts)


def test_values_never_reach_the_statement_and_names_are_quoted() -> None:
    name = 'x"; DROP TABLE y; --'
    table = asked_table(pd.DataFrame({name: ["a'; --", "b"]}))
    found = run(table, where=(where(name, "=", "a'; --"),), select=(name,))
    assert found.rows == (("a'; --",),)
    assert "'a''; --'" in found.sql


# Words to columns and values, with a score and how it was found.

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
