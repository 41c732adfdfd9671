"""How figures are written, and what the terminal shows."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.records import Estimate, Results, Row
from secondlook.evaluation.report import console, numbers
from tests.support.eval_results import make_results

DASH = "\N{EN DASH}"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.81249, "0.812"),
        (-0.00001, "0.000"),
        (12.3456, "12.346"),
        (845.4, "845"),
        (12_345, "12.3k"),
        (None, DASH),
        (float("nan"), DASH),
        (float("inf"), DASH),
    ],
)
def test_a_number(value: float | None, written: str) -> None:
    assert numbers.number(value) == written


def test_a_sign_is_written_where_it_is_wanted() -> None:
    assert numbers.number(0.0312, signed=True) == "+0.031"
    assert numbers.number(-0.0312, signed=True) == "-0.031"
    assert numbers.between(-0.01, 0.02, "f1", signed=True) == "-0.010 to +0.020"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0 ms"),
        (0.00321, "3.2 ms"),
        (0.3124, "312 ms"),
        (1.25, "1.25 s"),
        (75.4, "75 s"),
        (None, DASH),
    ],
)
def test_seconds(value: float | None, written: str) -> None:
    assert numbers.seconds(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, "$0"), (0.0004, "$0.00040"), (0.0000123, "$0.000012"), (1.2, "$1.20"), (None, DASH)],
)
def test_dollars(value: float | None, written: str) -> None:
    assert numbers.dollars(value) == written


def test_a_difference_in_dollars_has_its_sign() -> None:
    assert numbers.dollars(-0.5) == "-$0.50"
    assert numbers.dollars(0.5, signed=True) == "+$0.50"


@pytest.mark.parametrize(
    ("p", "written"), [(0.00099, "<.001"), (0.001, "0.001"), (1.0, "1.000"), (None, DASH)]
)
def test_p(p: float | None, written: str) -> None:
    assert numbers.p_value(p) == written


def test_an_interval_has_its_unit_once() -> None:
    timed = Estimate(value=0.4, low=0.3, high=0.5, n=9)
    assert numbers.estimate(timed, "latency_p50") == f"400 ms 300{DASH}500"
    assert numbers.between(0.9, 1.2, "latency_p50") == f"900 ms{DASH}1.20 s"
    assert numbers.estimate(Estimate(value=1.0, low=0.5, high=2.0), "cost") == (
        f"$1.00 0.50{DASH}2.00"
    )


@pytest.mark.parametrize(
    ("item", "written"),
    [
        (None, DASH),
        (Estimate(value=None, low=0.1, high=0.2), DASH),
        (Estimate(value=0.5), "0.500"),
        (Estimate(value=1.0, low=1.0, high=1.0), "1.000"),
        (Estimate(value=0.5, low=0.4, high=0.6), f"0.500 0.400{DASH}0.600"),
        (Estimate(value=0.5, low=-0.1, high=0.6), "0.500 -0.100 to 0.600"),
    ],
)
def test_an_estimate(item: Estimate | None, written: str) -> None:
    assert numbers.estimate(item, "f1") == written


def test_scalars_of_settings() -> None:
    values = (None, True, False, 0.1 + 0.2, 3, "auto", float("nan"))
    assert [numbers.scalar(value) for value in values] == [
        DASH,
        "yes",
        "no",
        "0.3",
        "3",
        "auto",
        DASH,
    ]
    assert numbers.percent(0.375) == "37.5 %"
    assert numbers.percent(None) == DASH
    assert numbers.count(None) == DASH


def _shown(results: Results, *, width: int = 80) -> str:
    stream = io.StringIO()
    screen = Console(file=stream, width=width, no_color=True, markup=True)
    for item in console.tables(results):
        screen.print(item)
    return stream.getvalue()


def test_it_fits_80_columns_and_shows_each_table() -> None:
    shown = _shown(make_results())
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in shown
    for title in ("Summary", "Hypotheses", "Failed questions", "Ablation: f1 against linear"):
        assert title in lines
    f1 = next(line for line in lines if line.startswith("f1 "))
    assert f1.count(DASH) == 3
    assert "adaptive against linear, on the same questions" not in lines
    assert "report.html compares every pair." in lines
    assert "adaptive.min_rerank_score: f1 against linear" in lines
    assert "adaptive+web: undecided, about 1,480 more questions needed." in lines
    assert lines[-2].endswith("(by f1, margin 0.020): linear.")


def _with_zeros(results: Results, **values: float) -> Results:
    """All of behaviour, cost and graders at 0, but for some."""
    zeros = {
        name: Estimate(value=values.get(name, 0.0), low=0.0, high=0.1, n=9)
        for name, metric in METRICS.items()
        if metric.group in {"behaviour", "cost", "graders"}
    }
    summaries = {
        name: item.model_copy(update={"metrics": {**item.metrics, **zeros}})
        for name, item in results.summaries.items()
    }
    return results.model_copy(update={"summaries": summaries, "ablation": None, "sweep": None})


def test_what_never_happened_is_told_in_one_line() -> None:
    results = _with_zeros(make_results(), latency_p50=0.3)
    (table,) = console.summary(results)
    shown = {row[0] for row in table.rows}
    assert {"latency_p50", "success", "grading_recall"} <= shown  # no success at all is news
    assert not {"llm_calls", "cost", "retry_rate", "false_acceptance"} & shown
    above, below = table.note.splitlines()
    assert below.startswith("All 0: false_rejection_gold, ")
    assert "llm_calls, tokens_in" in below
    assert "llm_calls" not in above


def test_what_happened_in_one_configuration_is_shown_for_all() -> None:
    results = _with_zeros(make_results())
    first, *others = results.summaries
    once = results.summaries[first].metrics | {"llm_calls": Estimate(value=2.0, n=9)}
    summaries = {
        first: results.summaries[first].model_copy(update={"metrics": once}),
        **{name: results.summaries[name] for name in others},
    }
    (table,) = console.summary(results.model_copy(update={"summaries": summaries}))
    assert next(row for row in table.rows if row[0] == "llm_calls")[1:3] == (
        "2.000",
        f"0.000 0.000{DASH}0.100",
    )
    assert "llm_calls" not in table.note.splitlines()[-1]


def test_the_overview_leaves_out_what_never_happened() -> None:
    results = _with_zeros(make_results())
    summaries = {f"c{number}": results.summaries["linear"] for number in range(9)}
    (table,) = console.summary(results.model_copy(update={"summaries": summaries}))
    assert "llm\ncalls" not in table.columns
    assert "llm_calls" in table.note.splitlines()[-1]


def test_one_configuration_leaves_room_to_say_what_each_metric_is() -> None:
    results = make_results()
    alone = results.model_copy(
        update={
            "summaries": {"linear": results.summaries["linear"]},
            "comparisons": (),
            "ablation": None,
            "sweep": None,
        }
    )
    (table,) = console.summary(alone)
    assert next(row for row in table.rows if row[0] == "f1")[-1] == METRICS["f1"].about
    assert max(map(len, _shown(alone).splitlines())) <= 80


@pytest.mark.parametrize(
    ("data", "title"),
    [
        ({}, "Summary"),
        ({"asked": 1, "documents": 1}, "Summary: 1 question about 1 document"),
        ({"asked": 30, "documents": 5183}, "Summary: 30 questions about 5,183 documents"),
    ],
)
def test_the_title_says_what_the_figures_rest_on(data: dict[str, int], title: str) -> None:
    (table, *_) = console.summary(make_results().model_copy(update={"data": data}))
    assert table.title == title


def test_no_word_is_cut_in_the_columns_of_figures() -> None:
    shown = _shown(make_results())
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    assert "0.001" in shown
    assert "nan" not in shown.lower()
    assert "None" not in shown


def test_six_configurations_are_two_blocks_and_more_are_an_overview() -> None:
    results = make_results()
    summary = results.summaries["adaptive"]
    six = {f"adaptive without a.quite_long_flag_{number}": summary for number in range(6)}
    alone = results.model_copy(update={"summaries": six, "ablation": None, "sweep": None})
    blocks = console.summary(alone)
    assert [len(block.columns) for block in blocks] == [4, 4]
    assert max(map(len, _shown(alone).splitlines())) <= 80
    many = {**six, "one more": summary}
    overview = _shown(results.model_copy(update={"summaries": many}))
    assert "report.html has all metrics." in overview
    assert max(map(len, overview.splitlines())) <= 80
    beside_a_study = results.model_copy(update={"summaries": six})
    assert [len(block.rows) for block in console.summary(beside_a_study)] == [6]


def test_without_an_ablation_every_difference_of_a_few_pairs_is_shown() -> None:
    shown = _shown(make_results().model_copy(update={"ablation": None}))
    assert max(map(len, shown.splitlines())) <= 80
    assert "adaptive against linear, on the same questions" in shown
    assert "<.001" in shown


def test_the_overview_begins_with_the_metric_that_decides() -> None:
    results = make_results()
    summaries = {f"c{number}": results.summaries["linear"] for number in range(9)}
    (table,) = console.summary(results.model_copy(update={"summaries": summaries}))
    assert table.columns[1] == "f1"
    assert results.ablation is not None
    by_em = results.ablation.model_copy(update={"metric": "em"})
    (table,) = console.summary(
        results.model_copy(update={"summaries": summaries, "ablation": by_em})
    )
    assert table.columns[1] == "em"
    (table,) = console.summary(Results(summaries=summaries))
    assert table.columns[1] == "f1"


def test_of_many_pairs_the_deciding_metric_is_shown() -> None:
    results = make_results()
    many = results.model_copy(update={"comparisons": results.comparisons * 2})
    (table,) = console.comparisons(many)
    assert table.title == "Comparisons by f1, on the same questions"
    assert len(table.rows) == 6


def test_markup_and_escapes_in_names_do_nothing() -> None:
    results = make_results()
    name = "[red]x[/red]\x1b[31m"
    hostile = results.model_copy(
        update={
            "summaries": {name: results.summaries["linear"]},
            "rows": tuple(_failing(results.rows[:12], name)),
        }
    )
    shown = _shown(hostile)
    assert "[red]x[/red]" in shown
    assert "\x1b" not in shown
    assert "7 more are in report.html." in shown


def _failing(rows: tuple[Row, ...], name: str) -> list[Row]:
    return [row.model_copy(update={"configuration": name, "status": "failed"}) for row in rows]


def test_an_empty_run_shows_nothing() -> None:
    assert _shown(Results()) == ""
