"""The plots of an evaluation: what they show, that nothing is cut off, and when there is none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from secondlook.evaluation.questions import by_configuration
from secondlook.evaluation.records import Estimate, Results, SweepPoint
from secondlook.evaluation.report import canvas, plots
from secondlook.evaluation.report import numbers as picking
from secondlook.evaluation.report import plots as fallback
from secondlook.evaluation.report import plots as knowing
from secondlook.evaluation.report import plots as quality
from secondlook.evaluation.report import plots as studies
from secondlook.evaluation.report.canvas import NothingToDraw
from secondlook.evaluation.summary import rerank_scores
from tests.support.eval_results import TRIGGER_BELOW, make_results

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

LONG = "adaptive without adaptive.enable_adaptive_retrieval and with a long tail"
MAKERS = {name: make for name, (_, make) in plots._PLOTS.items()}


@pytest.fixture(scope="module")
def results() -> Results:
    return make_results()


@pytest.fixture(scope="module")
def renamed(results: Results) -> Results:
    """Eight configurations, with long names, dollar signs and a script the font lacks."""
    names = {"$\\frac{1}$ \N{CJK UNIFIED IDEOGRAPH-9069}\n": "adaptive+web", "linear": "linear"}
    names |= {f"{LONG} {number}": "adaptive" for number in range(6)}
    rows = [
        row.model_copy(update={"configuration": name})
        for name, of in names.items()
        for row in results.rows
        if row.configuration == of
    ]
    summaries = {name: results.summaries[of] for name, of in names.items()}
    return results.model_copy(update={"rows": tuple(rows), "summaries": summaries})


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    with canvas.plain_style():
        yield


def _bars(axes: Axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def _xs(line: Line2D) -> list[float]:
    return [float(x) for x in np.asarray(line.get_xdata(), dtype=float)]


def _ys(line: Line2D) -> list[float]:
    return [float(y) for y in np.asarray(line.get_ydata(), dtype=float)]


def _upright(axes: Axes) -> list[float]:
    """Where vertical lines stand."""
    lines = [_xs(line) for line in axes.get_lines()]
    return [xs[0] for xs in lines if len(xs) == 2 and xs[0] == xs[1]]


@pytest.mark.parametrize("which", ["results", "renamed"])
@pytest.mark.parametrize("name", MAKERS)
def test_nothing_is_cut_off_and_no_names_overlap(
    name: str, which: str, request: pytest.FixtureRequest
) -> None:
    figure = MAKERS[name](request.getfixturevalue(which)).figure
    figure.draw_without_rendering()
    used, (width, height) = figure.get_tightbbox(), figure.get_size_inches()  # all in inches
    assert min(used.x0, used.y0, width - used.x1, height - used.y1) >= -0.01
    for axes in figure.axes:
        for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
            boxes = [label.get_window_extent() for label in labels if label.get_text()]
            for number, box in enumerate(boxes):
                assert not any(box.overlaps(other) for other in boxes[number + 1 :])


@pytest.mark.parametrize("name", MAKERS)
def test_every_plot_says_how_many_and_has_words_on_its_axes(name: str, results: Results) -> None:
    drawing = MAKERS[name](results)
    assert re.search(r"\bn = \d", drawing.caption)
    titles = [axes.get_title(loc="left") for axes in drawing.figure.axes]
    assert drawing.figure.get_suptitle() or any(titles)
    assert any(axes.get_xlabel() for axes in drawing.figure.axes)


def test_without_data_there_is_a_reason_and_no_picture() -> None:
    drawn = plots.draw(Results())
    assert len(drawn) == len(MAKERS)
    assert all(plot.missing and not plot.svg and not plot.png for plot in drawn)


def test_drawing_leaves_matplotlib_as_it_was(results: Results) -> None:
    before = dict(mpl.rcParams)
    plots.draw(results.model_copy(update={"rows": results.rows[:10]}))
    assert dict(mpl.rcParams) == before


def test_a_persons_own_style_changes_nothing(results: Results) -> None:
    plain = canvas.as_svg(studies.ablation_plot(results).figure)
    with mpl.rc_context({"axes.facecolor": "black", "font.size": 30}), canvas.plain_style():
        assert canvas.as_svg(studies.ablation_plot(results).figure) == plain


def test_svg_keeps_words_as_words_and_carries_no_date(results: Results) -> None:
    svg = canvas.as_svg(quality.metrics_plot(results).figure)
    assert b"adaptive+web</text>" in svg
    assert b"<dc:date>" not in svg
    ET.fromstring(svg)  # noqa: S314  # our own file


def test_ids_of_plots_in_one_page_do_not_clash(results: Results) -> None:
    svg = canvas.as_svg(quality.latency_plot(results).figure)
    first, second = canvas.inline(svg, name="a"), canvas.inline(svg, name="b")
    assert first.startswith("<svg")
    assert not re.search(r"<svg[^>]*\b(width|height)=", first)
    assert "<metadata>" not in first
    ids = [set(re.findall(r'\bid="([^"]*)"', text)) for text in (first, second)]
    assert not ids[0] & ids[1]
    assert set(re.findall(r"url\(#([^)]*)\)", first)) <= ids[0]
    assert set(re.findall(r'href="#([^"]*)"', first)) <= ids[0]


def test_configurations_differ_in_colour_mark_line_and_hatch() -> None:
    for looks in (canvas.COLOURS, canvas.MARKERS, canvas.LINES, canvas.HATCHES):
        assert len(set(looks)) == len(looks) >= canvas.MOST


def test_metrics_are_dots_at_their_values(results: Results) -> None:
    (axes,) = quality.metrics_plot(results).figure.axes
    names = [label.get_text().split("\n")[0] for label in axes.get_yticklabels()]
    dots = axes.containers[1][0]
    place = names.index("f1")
    assert dots.get_xdata()[place] == results.summaries["adaptive"].metrics["f1"].value


def test_more_configurations_than_can_be_told_apart_are_said(renamed: Results) -> None:
    assert "The first 6 configurations; 2 more" in quality.metrics_plot(renamed).caption


def test_bars_of_time_add_up_to_the_mean(results: Results) -> None:
    (axes,) = quality.latency_plot(results).figure.axes
    ends = max(bar.get_x() + bar.get_width() for bar in _bars(axes) if bar.get_y() < 0)
    rows = [row.seconds for row in results.rows if row.configuration == "linear"]
    assert ends == pytest.approx(sum(rows) / len(rows))


def test_quick_steps_are_drawn_together(results: Results) -> None:
    rows = tuple(
        row.model_copy(update={"seconds_by_node": {f"n{i}": 0.01 * (i + 1) for i in range(9)}})
        for row in results.rows
    )
    (axes,) = quality.latency_plot(results.model_copy(update={"rows": rows})).figure.axes
    named = axes.get_legend_handles_labels()[1]
    assert "n8" in named
    assert "n0" not in named
    assert "other steps" in named


def test_the_trigger_stands_at_its_threshold(results: Results) -> None:
    (axes,) = fallback.rerank_scores_plot(results).figure.axes
    assert _upright(axes) == [TRIGGER_BELOW]
    groups = {to_hex(bar.get_facecolor()).upper() for bar in _bars(axes) if bar.get_height()}
    assert groups == {canvas.ORANGE, canvas.BLUE}
    for bar in _bars(axes):
        middle = bar.get_x() + bar.get_width() / 2
        fired = to_hex(bar.get_facecolor()).upper() == canvas.ORANGE
        assert not bar.get_height() or (middle < TRIGGER_BELOW) == fired


def test_a_calibrated_trigger_has_a_panel_of_its_own(results: Results) -> None:
    rows = tuple(
        row.model_copy(update={"trigger": 0.5, "trigger_below": 0.3})
        if row.trigger is not None
        else row
        for row in results.rows
    )
    scores, decision = fallback.rerank_scores_plot(
        results.model_copy(update={"rows": rows})
    ).figure.axes
    assert _upright(scores) == []
    assert _upright(decision) == [0.3]


@pytest.mark.parametrize("threshold", [None, -9.0, 0.25, 9.0])
def test_every_score_falls_between_the_edges(threshold: float | None) -> None:
    edges = fallback._edges([-1.0, 0.2, 1.0], threshold)
    assert edges == sorted(edges)
    assert edges[0] <= -1.0 + 1e-9
    assert edges[-1] >= 1.0
    assert (
        threshold is None
        or any(abs(edge - threshold) < 1e-9 for edge in edges)
        or (abs(threshold) > 1)
    )


def test_changes_are_split_by_whether_the_fallback_fired(results: Results) -> None:
    fired, quiet = fallback.f1_changes_plot(results).figure.axes
    rows = by_configuration(results.rows)
    changes = picking.changes(rows["linear"], rows["adaptive"], "f1")
    those = picking.fell_back(rows["adaptive"])
    up = sum(item.difference > 0 for item in changes if item.base.case in those)
    assert f"{up} improved" in fired.get_title(loc="left")
    assert quiet.get_title(loc="left").startswith("no fallback (n = 64)")


def test_impact_shows_the_same_questions_in_every_configuration(results: Results) -> None:
    f1, faithfulness = fallback.impact_plot(results).figure.axes
    assert len(f1.patches) == len(faithfulness.patches) == 6
    rows = by_configuration(results.rows)
    those = picking.fell_back(rows["adaptive"])
    linear = picking.values(rows["linear"], "f1")
    found = [value for case, value in linear.items() if case in those]
    assert _bars(f1)[0].get_width() == pytest.approx(sum(found) / len(found))


def test_the_fallback_is_shown_against_the_baseline(results: Results) -> None:
    rows = by_configuration(results.rows)
    tried = {"adaptive": rows["adaptive"], "without rerank": rows["linear"], **rows}
    assert picking.base_of(tried, "adaptive") == "linear"
    del tried["linear"]
    assert picking.base_of(tried, "adaptive") == "without rerank"
    assert picking.base_of({"adaptive": []}, "adaptive") is None


def test_scores_are_those_of_the_summary(results: Results) -> None:
    rows = [
        row.model_copy(update={"read": (*reversed(row.read), (0, float("nan")))})
        for row in results.rows[:50]
    ]
    lowest = [score for row in rows if (score := picking.lowest_of_best(row)) is not None]
    spread = rerank_scores(rows)["all"]
    assert (min(lowest), max(lowest), len(lowest)) == (spread.min, spread.max, spread.n)


def test_where_no_f1_changed_that_is_said_instead(results: Results) -> None:
    rows = tuple(row.model_copy(update={"metrics": {"f1": 0.5}}) for row in results.rows)
    with pytest.raises(NothingToDraw, match="the same in linear and adaptive for every question"):
        fallback.f1_changes_plot(results.model_copy(update={"rows": rows}))


def test_one_configuration_alone_has_no_change_to_show(results: Results) -> None:
    rows = tuple(row for row in results.rows if row.configuration == "adaptive")
    alone = results.model_copy(update={"rows": rows})
    with pytest.raises(NothingToDraw, match="only one configuration"):
        fallback.f1_changes_plot(alone)


def test_where_the_fallback_always_fired_a_group_is_empty(results: Results) -> None:
    rows = tuple(
        row.model_copy(update={"fallback": row.configuration == "adaptive"})
        for row in results.rows
        if row.configuration != "adaptive+web"
    )
    always = results.model_copy(update={"rows": rows})
    assert "no fallback (n = 0)" in fallback.f1_changes_plot(always).figure.axes[1].get_title(
        loc="left"
    )
    said = [text.get_text() for text in fallback.impact_plot(always).figure.axes[0].texts]
    assert said.count("no questions") == len(results.summaries) - 1


@pytest.mark.parametrize("make", [fallback.f1_changes_plot, fallback.impact_plot])
def test_no_right_answers_no_picture_of_f1(make: object, results: Results) -> None:
    rows = tuple(
        row.model_copy(update={"metrics": {"mrr": 1.0}, "scored": False}) for row in results.rows
    )
    with pytest.raises(NothingToDraw):
        make(results.model_copy(update={"rows": rows}))  # type: ignore[operator]


def test_a_curve_of_many_points_is_thinned_and_keeps_its_ends(results: Results) -> None:
    points = make_results(questions=900).summaries["linear"].risk_coverage
    thin = knowing._thinned(points)
    assert len(thin) == 300 < len(points)
    assert (thin[0], thin[-1]) == (points[0], points[-1])


def test_reliability_has_its_diagonal_and_its_counts(results: Results) -> None:
    upper, lower = knowing.reliability_plot(results).figure.axes
    assert _xs(upper.get_lines()[0]) == [0, 1]
    assert _ys(upper.get_lines()[0]) == [0, 1]
    counts = [point.n for point in results.summaries["linear"].reliability]
    assert _ys(lower.get_lines()[0]) == counts


def test_success_by_retry_writes_its_counts(results: Results) -> None:
    (axes,) = knowing.success_by_retry_plot(results).figure.axes
    counts = [f"{point.n:,}" for point in results.summaries["adaptive"].success_by_retry]
    assert [text.get_text() for text in axes.texts][: len(counts)] == counts


def test_the_forest_has_its_margin_and_verdicts(results: Results) -> None:
    (axes,) = studies.ablation_plot(results).figure.axes
    assert _upright(axes) == [0, -0.02]
    assert [text.get_text() for text in axes.texts] == ["non-inferior", "undecided"]


def test_nothing_compared_is_no_forest(results: Results) -> None:
    assert results.ablation is not None
    lonely = results.ablation.model_copy(update={"comparisons": ()})
    with pytest.raises(NothingToDraw, match="nothing was compared"):
        studies.ablation_plot(results.model_copy(update={"ablation": lonely}))


def _swept(results: Results, values: tuple[object, ...], rate: float | None) -> Results:
    points = tuple(
        SweepPoint.model_validate(
            {"value": value, "configuration": "x", "fallback_rate": rate}
        ).model_copy(update={"metrics": {"f1": Estimate(value=0.5, low=0.4, n=9)}})
        for value in values
    )
    assert results.sweep is not None
    return results.model_copy(update={"sweep": results.sweep.model_copy(update={"points": points})})


def test_values_that_are_no_numbers_stand_in_a_row(results: Results) -> None:
    (axes,) = studies.sweep_plot(_swept(results, ("merge", "replace"), None)).figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["merge", "replace"]


def test_values_too_close_for_their_names_keep_the_axis(results: Results) -> None:
    upper, lower = studies.sweep_plot(_swept(results, (0.0, 0.001, 1.0), 0.3)).figure.axes
    assert [label.get_text() for label in lower.get_xticklabels()][:1] != ["0"]
    assert _ys(lower.get_lines()[0]) == [0.3] * 3
    assert upper.get_ylabel() == "f1"


def test_a_sweep_without_figures_is_said(results: Results) -> None:
    assert results.sweep is not None
    other = results.sweep.model_copy(update={"metric": "accuracy"})
    with pytest.raises(NothingToDraw, match="accuracy has no figure"):
        studies.sweep_plot(results.model_copy(update={"sweep": other}))


def test_long_names_keep_the_end_that_tells_them_apart() -> None:
    short = canvas.label(f"{LONG}\n 7", longest=30)
    assert len(short) == 30
    assert short.endswith("tail 7")
    assert canvas.label("a\x00b") == "a b"
