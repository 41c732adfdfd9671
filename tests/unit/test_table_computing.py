"""Queries computed as pandas and scipy compute them, on random tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from secondlook.errors import TableError
from secondlook.tables.compute import compute_task, incomplete_beta, ranks, run_query
from secondlook.tables.query import AnyOf, Computed, Filter, Key, Measure, Order, Query, Term
from tests.support.shop import asked_table, database, orders, shop

if TYPE_CHECKING:
    from secondlook.tables.query import Statistic
    from secondlook.tables.resolver import AskedTable

NUMBERS = st.lists(
    st.one_of(st.none(), st.floats(-1e6, 1e6).map(lambda one: round(one, 3))),
    min_size=4,
    max_size=40,
)
QUICK = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def run(table: AskedTable, **parts: Any) -> Computed:
    assert table.compute is not None
    return table.compute(Query(table=table.table.id, **parts))


def one(table: AskedTable, statistic: Statistic, column: str = "x", **parts: Any) -> Any:
    measure = Measure(name="m", statistic=statistic, of=Term(column=column), **parts)
    ((value,),) = run(table, measures=(measure,)).rows
    return value


def frame_of(first: list[float | None], second: list[float | None]) -> pd.DataFrame:
    size = min(len(first), len(second))
    frame = pd.DataFrame({"x": first[:size], "y": second[:size]}, dtype=float)
    return frame.assign(g=[str(at % 3) for at in range(size)])


def same(found: Any, expected: float) -> None:
    if expected is None or not math.isfinite(expected):
        assert found is None
    else:
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-7)


@QUICK
@given(first=NUMBERS, second=NUMBERS)
def test_statistics_agree_with_pandas(
    first: list[float | None], second: list[float | None]
) -> None:
    frame = frame_of(first, second)
    x = frame.x
    if x.dropna().nunique() < 4 or x.dropna().abs().max() > 1e3 * (x.std() or 1):
        return
    table = asked_table(frame)
    expected = {
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
        "missing": x.isna().sum(),
        "missing_share": 100 * x.isna().mean(),
        "outliers_z": ((x - x.mean()).abs() > 1.5 * x.std()).sum(),
    }
    names: list[Any] = list(expected)
    measures = tuple(
        Measure(
            name=name,
            statistic=name,
            of=Term(column="x"),
            at=1.5 if name == "outliers_z" else None,
        )
        for name in names
    )
    found = run(table, measures=measures)
    for name, value in zip(found.columns, found.rows[0], strict=True):
        same(value, float(expected[name]))


@QUICK
@given(first=NUMBERS, second=NUMBERS, at=st.floats(0, 1))
def test_pairs_and_quantiles_agree(
    first: list[float | None], second: list[float | None], at: float
) -> None:
    frame = frame_of(first, second)
    both = frame.dropna()
    if len(both) < 4 or both.x.nunique() < 3 or both.y.nunique() < 3:
        return
    table = asked_table(frame)
    same(one(table, "quantile", at=at), frame.x.quantile(at))
    other = Term(column="y")
    for method, test in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        expected = test(both.x, both.y)
        found = one(table, "correlation", other=other, method=method)
        assert found == pytest.approx(expected.statistic, abs=1e-6)
        p = one(table, "correlation_p", other=other, method=method)
        assert p == pytest.approx(expected.pvalue, abs=1e-6)
    tau = stats.kendalltau(both.x, both.y)
    assert one(table, "correlation", other=other, method="kendall") == pytest.approx(tau.statistic)
    same(one(table, "covariance", other=other), both.x.cov(both.y))
    assert one(table, "slope", other=other) == pytest.approx(
        stats.linregress(both.y, both.x).slope, rel=1e-5, abs=1e-9
    )


def test_biased_and_population_forms() -> None:
    table, x = asked_table(orders()), orders().unit_price
    assert one(table, "skewness", "unit_price", method="biased") == pytest.approx(stats.skew(x))
    assert one(table, "kurtosis", "unit_price", method="biased") == pytest.approx(stats.kurtosis(x))
    assert one(table, "std", "unit_price", method="population") == pytest.approx(x.std(ddof=0))
    assert one(table, "variance", "unit_price", method="population") == pytest.approx(x.var(ddof=0))


@pytest.mark.parametrize("method", ["shapiro", "ks", "dagostino", "jarque_bera"])
def test_normality(method: str) -> None:
    x = orders().unit_price.to_numpy()
    standard = (x - x.mean()) / x.std(ddof=1)
    expected = {
        "shapiro": lambda: stats.shapiro(x).pvalue,
        "ks": lambda: stats.kstest(standard, "norm").pvalue,
        "dagostino": lambda: stats.normaltest(x).pvalue,
        "jarque_bera": lambda: stats.jarque_bera(x).pvalue,
    }[method]()
    found = one(shop(), "normality", "unit_price", method=method)
    assert found == pytest.approx(expected, rel=1e-6)


def test_anderson_darling_tells_the_side_of_five_percent() -> None:
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"normal": random.normal(size=200), "not": random.exponential(size=200)})
    table = asked_table(frame)
    assert one(table, "normality", "normal", method="anderson") > 0.05
    assert one(table, "normality", "not", method="anderson") < 0.05


def test_constant_and_short_columns_have_no_correlation() -> None:
    table = asked_table(pd.DataFrame({"x": [1.0, 1.0, 1.0], "y": [1.0, 2.0, 3.0]}))
    for method in ("pearson", "spearman"):
        assert one(table, "correlation", other=Term(column="y"), method=method) is None
        assert one(table, "correlation_p", other=Term(column="y"), method=method) is None
    assert one(table, "normality") is None
    assert one(table, "skewness") is None


def test_groups_with_missing_keys_and_arrays() -> None:
    frame = pd.DataFrame(
        {
            "g": ["a", "a", "a", "b", "b", "b", None],
            "x": [1.0, 2, 4, 3, 5, 4, 9],
            "y": [1, 2, 3, 3, 2, 1, 1],
        }
    )
    found = run(
        asked_table(frame),
        group_by=(Key(column="g"),),
        measures=(
            Measure(name="n", statistic="count"),
            Measure(
                name="rho",
                statistic="correlation",
                of=Term(column="x"),
                other=Term(column="y"),
                method="spearman",
            ),
        ),
        order=(Order(by="rho", descending=True),),
    )
    assert found.columns == ("g", "n", "rho")
    assert [row[0] for row in found.rows] == ["a", "b", None]
    assert found.rows[0][2] == pytest.approx(1.0)


def test_intervals_having_limit_and_ties() -> None:
    key = Key(column="units", bins=(0, 5, 10, 20), labels=("few", "some", "many"))
    count = Measure(name="n", statistic="count")
    found = run(shop(), group_by=(key,), measures=(count,), order=(Order(by="n", descending=True),))
    cut = pd.cut(orders().units, [0, 5, 10, 20], labels=["few", "some", "many"]).value_counts()
    assert {row[0]: row[1] for row in found.rows} == cut.to_dict()
    first = run(shop(), group_by=(key,), measures=(count,), order=(Order(by="n"),), limit=1)
    assert first.total_rows == 3
    assert len(first.rows) == 1
    big = Filter(column="n", comparison=">", value=int(cut.iloc[1]))
    assert run(shop(), group_by=(key,), measures=(count,), having=(big,)).total_rows == 1


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        (Filter(column="n", comparison="missing"), 0),
        (Filter(column="n", comparison="present"), 4),
        (Filter(column="region", comparison="in", values=("East", "West")), 2),
        (Filter(column="region", comparison="=", value="East", negated=True), 3),
        (
            AnyOf(
                filters=(
                    Filter(column="region", comparison="=", value="East"),
                    Filter(column="n", comparison=">", value=1000),
                )
            ),
            1,
        ),
    ],
)
def test_groups_that_are_left(condition: Any, left: int) -> None:
    count = Measure(name="n", statistic="count")
    found = run(shop(), group_by=(Key(column="region"),), measures=(count,), having=(condition,))
    assert found.total_rows == left
    wrong = Filter(column="region", comparison="starts", value="E")
    with pytest.raises(TableError, match="cannot be compared"):
        run(shop(), group_by=(Key(column="region"),), measures=(count,), having=(wrong,))


def test_unlabelled_intervals_name_their_bounds() -> None:
    key = Key(column="units", bins=(float("-inf"), 10, float("inf")), right=False)
    count = Measure(name="n", statistic="count")
    rows = run(shop(), group_by=(key,), measures=(count,)).rows
    found = {row[0]: row[1] for row in rows}
    assert found["[-inf, 10)"] == (orders().units < 10).sum()


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ((Filter(column="region", comparison="=", value=" north "),), orders().region == "North"),
        ((Filter(column="region", comparison="!=", value="North"),), orders().region != "North"),
        ((Filter(column="rating", comparison="!=", value=3),), orders().rating != 3),
        ((Filter(column="rating", comparison="missing"),), orders().rating.isna()),
        ((Filter(column="rating", comparison="present"),), orders().rating.notna()),
        (
            (Filter(column="region", comparison="in", values=("east", "WEST")),),
            orders().region.isin(["East", "West"]),
        ),
        (
            (Filter(column="product", comparison="contains", value="A"),),
            orders()["product"].str.contains("a"),
        ),
        (
            (Filter(column="product", comparison="starts", value="l"),),
            orders()["product"].str.startswith("l"),
        ),
        (
            (Filter(column="product", comparison="ends", value="k"),),
            orders()["product"].str.endswith("k"),
        ),
        ((Filter(column="returned", comparison="=", value="yes"),), orders().returned),
        ((Filter(column="returned", comparison="=", value="perhaps"),), orders().units < 0),
        ((Filter(column="units", comparison=">=", value="1,0"),), orders().units >= 10),
        (
            (Filter(column="date", comparison=">=", value="2024-01-01"),),
            orders().date >= "2024-01-01",
        ),
        (
            (Filter(column="date", comparison="=", value=2, part="month"),),
            orders().date.dt.month == 2,
        ),
        (
            (Filter(column="date", comparison=">", value=20230331, transform="date"),),
            orders().date > "2023-03-31",
        ),
        (
            (Filter(column="region", comparison="=", value="North", negated=True),),
            orders().region != "North",
        ),
        (
            (
                AnyOf(
                    filters=(
                        Filter(column="units", comparison="<", value=3),
                        Filter(column="units", comparison=">", value=17),
                    )
                ),
            ),
            (orders().units < 3) | (orders().units > 17),
        ),
        (
            (Filter(column="unit_price", comparison="within_z", value=1),),
            (orders().unit_price - orders().unit_price.mean()).abs() <= orders().unit_price.std(),
        ),
    ],
)
def test_conditions(filters: tuple[Any, ...], expected: pd.Series) -> None:
    found = run(shop(), where=filters, measures=(Measure(name="n", statistic="count"),))
    assert found.rows == ((int(expected.sum()),),)
    assert found.used == int(expected.sum())


def test_a_condition_of_one_measure() -> None:
    where = (Filter(column="returned", comparison="=", value=True),)
    measures = (
        Measure(name="share", statistic="share", where=where),
        Measure(name="units", statistic="sum", of=Term(column="units"), where=where),
        Measure(
            name="kept",
            statistic="mean",
            of=Term(column="unit_price"),
            where=(Filter(column="unit_price", comparison="within_iqr"),),
            decimals=2,
        ),
    )
    share, units, kept = run(shop(), measures=measures).rows[0]
    assert share == pytest.approx(100 * orders().returned.mean())
    assert units == orders()[orders().returned].units.sum()
    price = orders().unit_price
    low, high = price.quantile(0.25), price.quantile(0.75)
    inside = price.between(low - 1.5 * (high - low), high + 1.5 * (high - low))
    assert kept == round(price[inside].mean(), 2)


def test_terms() -> None:
    price, units, rating = orders().unit_price, orders().units, orders().rating
    terms = {
        Term(column="units", operator="*", other="unit_price"): units * price,
        Term(column="unit_price", operator="/", other=2): price / 2,
        Term(
            column="units", operator="+", other="order_id", rest=(("-", "units"),)
        ): orders().order_id,
        Term(column="unit_price", transform="log"): np.log(price),
        Term(column="product", transform="length"): orders()["product"].str.len(),
        Term(column="product", transform="letters"): orders()["product"].str.len(),
        Term(column="rating", fill="mean"): rating.fillna(rating.mean()),
        Term(column="rating", fill="median", transform="abs"): rating.fillna(rating.median()),
        Term(column="rating", fill="zero"): rating.fillna(0),
        Term(column="returned"): orders().returned.astype(int),
        Term(column="date", transform="year"): orders().date.dt.year,
    }
    measures = tuple(Measure(name=str(at), statistic="mean", of=of) for at, of in enumerate(terms))
    found = run(shop(), measures=measures).rows[0]
    assert found == pytest.approx(tuple(float(one.mean()) for one in terms.values()))


def test_rows_in_order_with_ties_neighbours_and_differences() -> None:
    frame = pd.DataFrame({"name": ["a", "b", "c", "d"], "x": [2, 3, 3, 1]})
    table = asked_table(frame)
    top = run(table, select=("name",), order=(Order(by="x", descending=True),), limit=1)
    assert top.rows == (("b",), ("c",))
    single = run(
        table, select=("name",), order=(Order(by="x", descending=True),), limit=1, ties=False
    )
    assert single.rows == (("b",),)
    last = run(table, select=("name",), order=(Order(by="", descending=True),), limit=1, ties=False)
    assert last.rows == (("d",),)
    after = run(
        table,
        select=("name",),
        where=(Filter(column="name", comparison="=", value="b"),),
        neighbour="after",
    )
    assert after.rows == (("c",),)
    before = run(
        table,
        select=("name",),
        where=(Filter(column="name", comparison="=", value="a"),),
        neighbour="before",
    )
    assert before.rows == ()
    assert run(table, select=("x",), distinct=True).rows == ((2,), (3,), (1,))
    assert run(table, offset=3).rows == (("d", 1),)


TEXTS = pd.DataFrame(
    {
        "t": [
            "1,234 km",
            "W 3-1",
            "1:02:03",
            "March 4, 2004",
            "4 March 2004",
            "2004-03-04",
            "none",
        ],
        "n": [1, 2, 3, 4, 5, 6, 7],
    }
)


@pytest.mark.parametrize(
    ("transform", "value", "rows"),
    [
        ("number", 1234, [1]),
        ("number", 3, [2]),
        ("number", 3723, [3]),
        ("date", 20040304, [4, 5, 6]),
        ("year", 2004, [4, 5, 6]),
        ("month", 3, [4, 5, 6]),
    ],
)
def test_numbers_and_dates_within_texts(transform: Any, value: int, rows: list[int]) -> None:
    where = (Filter(column="t", comparison="=", value=value, transform=transform),)
    found = run(asked_table(TEXTS), where=where, select=("n",))
    assert [row[0] for row in found.rows] == rows


def test_texts_against_numbers_and_times_as_seconds() -> None:
    table = asked_table(pd.DataFrame({"t": ["10", "9", "x", "0:30"], "n": [1, 2, 3, 4]}))
    above = run(table, where=(Filter(column="t", comparison=">", value=9.5),), select=("n",))
    assert [row[0] for row in above.rows] == [1, 4]
    equal = run(table, where=(Filter(column="t", comparison="=", value=10),), select=("n",))
    assert [row[0] for row in equal.rows] == [1]
    assert one(table, "sum", "t") == 49


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"select": ("nothing",)}, "no column 'nothing'"),
        ({"measures": (Measure(name="m", statistic="mean"),)}, "needs a column"),
        (
            {"measures": (Measure(name="m", statistic="correlation", of=Term(column="units")),)},
            "needs two columns",
        ),
        (
            {"measures": (Measure(name="m", statistic="quantile", of=Term(column="units"), at=2),)},
            "between 0 and 1",
        ),
        ({"where": (Filter(column="units", comparison="="),)}, "compare"),
        (
            {
                "measures": (Measure(name="m", statistic="count"),),
                "group_by": (Key(column="region"),),
                "order": (Order(by="nothing"),),
            },
            "order by",
        ),
        (
            {
                "measures": (
                    Measure(name="m", statistic="normality", of=Term(column="units"), method="?"),
                )
            },
            "test of normality",
        ),
    ],
)
def test_what_cannot_be_computed_says_so(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(TableError, match=message):
        run(shop(), **parts)


def test_a_file_that_is_gone_says_so() -> None:
    query = Query(table=shop().table.id, select=("units",))
    with pytest.raises(TableError, match="cannot be computed"):
        run_query(database(), query, shop().table, "nowhere.parquet")


def test_values_never_reach_the_statement_and_names_are_quoted() -> None:
    name = 'x"; DROP TABLE y; --'
    table = asked_table(pd.DataFrame({name: ["a'; --", "b"]}))
    found = run(table, where=(Filter(column=name, comparison="=", value="a'; --"),), select=(name,))
    assert found.rows == (("a'; --",),)
    assert "'a''; --'" in found.sql


def test_as_a_task_of_the_worker() -> None:
    import json

    query = Query(table=shop().table.id, measures=(Measure(name="n", statistic="count"),))
    assert shop().compute is not None
    file = _file()
    found = compute_task(
        database(),
        query=json.loads(query.model_dump_json()),
        table=json.loads(shop().table.model_dump_json()),
        file=file,
    )
    assert Computed.model_validate(found).rows == ((300,),)


def _file() -> str:
    from pathlib import Path
    from tempfile import mkdtemp

    from secondlook.tables.read import table_from_frame

    return str(table_from_frame("orders", orders(), Path(mkdtemp())).file)


@pytest.mark.parametrize("a", [0.5, 2.0, 40.0])
@pytest.mark.parametrize("x", [0.0, 1e-9, 0.2, 0.5, 0.9, 1.0])
def test_incomplete_beta(a: float, x: float) -> None:
    assert incomplete_beta(a, 0.5, x) == pytest.approx(special.betainc(a, 0.5, x), abs=1e-12)


def test_ranks_share_ties() -> None:
    values = np.array([3.0, 1.0, 3.0, 2.0])
    assert list(ranks(values)) == list(stats.rankdata(values))
