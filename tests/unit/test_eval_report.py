"""The report of an evaluation: its files, the page and the spreadsheet."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from secondlook.errors import UsageError
from secondlook.evaluation import report
from secondlook.evaluation.records import Estimate, Problem, Results, Row
from secondlook.evaluation.report import canvas, page
from secondlook.evaluation.report import sheets as sheet
from secondlook.evaluation.report import tables as figures
from secondlook.evaluation.report import tables as run
from secondlook.evaluation.report import tables as studies
from tests.support.eval_results import CONFIGURATIONS, make_results

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>&amp;\x1b[31m\x00"
_VOID = {"meta", "img", "br", "link", "path", "use", "rect", "circle"}


class _Page(HTMLParser):
    """What a browser would make of it: tags that close, ids, references, words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in _VOID:
            self.open.append(tag)
        self._note(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._note(attrs)

    def _note(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            assert not name.startswith("on"), f"{name} would run a script"
            if name == "id":
                self.ids.append(value or "")
            if name in {"href", "xlink:href", "src"}:
                self.references.append(value or "")
            self.references += re.findall(r"url\(([^)]*)\)", value or "")

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


@pytest.fixture(scope="module")
def results() -> Results:
    return make_results()


@pytest.fixture(scope="module")
def written(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    report.write(results, folder)
    return folder


def _hostile(results: Results) -> Results:
    rows = tuple(
        row.model_copy(update={"question": HOSTILE, "short": HOSTILE, "error": HOSTILE})
        for row in results.rows
    )
    summaries = {**results.summaries, HOSTILE: results.summaries["linear"]}
    data = {**results.data, "name": HOSTILE}
    return results.model_copy(update={"rows": rows, "summaries": summaries, "data": data})


def test_every_file_is_written_and_none_is_left_half_done(written: Path) -> None:
    files = [file for file in written.rglob("*") if file.is_file()]
    names = {file.relative_to(written).as_posix() for file in files}
    assert {"results.csv", "report.html", "plots/metrics.svg", "plots/metrics.png"} <= names
    assert len(names) == 22
    assert all(file.stat().st_size for file in files)
    assert not [name for name in names if "partial" in name]


def test_made_again_elsewhere_it_is_the_same_to_the_byte(written: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from secondlook.evaluation import report;"
        "from tests.support.eval_results import make_results;"
        "report.write(make_results(), Path(sys.argv[1]));"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    surroundings = {**os.environ, "PYTHONHASHSEED": "12345"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=surroundings)
    files = [file for file in written.rglob("*") if file.is_file()]
    assert len(files) == 22
    for file in files:
        again = tmp_path / file.relative_to(written)
        assert again.read_bytes() == file.read_bytes(), file.name


def test_the_report_needs_no_matplotlib_until_it_draws() -> None:
    code = (
        "import sys; from secondlook.evaluation.report import console, page, plots, sheet;"
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_all_but_the_plots_and_how_to_get_them(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    files = report.write(results, tmp_path)
    assert [file.name for file in files] == ["results.csv", "report.html"]
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "pip install matplotlib" in html
    assert "<svg" not in html


def test_a_plot_that_has_no_data_any_more_goes(results: Results, tmp_path: Path) -> None:
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "sweep.svg").write_text("of an earlier report")
    report.write(results.model_copy(update={"sweep": None}), tmp_path)
    assert not (tmp_path / "plots" / "sweep.svg").exists()
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "A setting over its range: no setting was swept." in html


def test_a_folder_that_cannot_be_written_is_said(results: Results, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(UsageError, match="cannot be written to"):
        report.write(results.model_copy(update={"rows": ()}), tmp_path / "taken")


def test_the_page_closes_its_tags_and_reaches_for_nothing(written: Path) -> None:
    html = (written / "report.html").read_text(encoding="utf-8")
    found = _Page(html)
    assert found.open == []
    assert "script" not in found.tags
    assert all(item.startswith("#") for item in found.references)
    assert len(found.ids) == len(set(found.ids))
    assert {item.removeprefix("#") for item in found.references} <= set(found.ids)
    assert "http-equiv" in html
    assert "prefers-color-scheme: dark" in html
    assert found.tags.count("svg") == 10


def test_every_part_is_in_the_page(written: Path) -> None:
    html = (written / "report.html").read_text(encoding="utf-8")
    for title in (
        "In short",
        "Figures by configuration",
        "By type",
        "Comparisons",
        "What the difference costs",
        "Change by whether the fallback fired",
        "Reranker&#x27;s scores",
        "Ablation",
        "Not tried",
        "Sweep of adaptive.min_rerank_score",
        "Hypotheses",
        "Why runs ended",
        "Time per step",
        "Failed questions",
        "Most changed questions",
        "Configurations",
        "Problems in the data",
        "All settings",
    ):
        assert title in html, title


def test_words_of_others_stay_words(results: Results) -> None:
    with_plots = tuple(
        canvas.Plot(name, name, HOSTILE, svg=b"<svg width='1'></svg>") for name in ("metrics",)
    )
    html = page.as_html(_hostile(results), with_plots).decode()
    found = _Page(html)
    assert "script" not in found.tags
    assert "img" not in found.tags
    assert "&lt;script&gt;alert(&#x27;x&#x27;)" in html
    assert "\x1b" not in html
    assert "\x00" not in html


def test_what_is_not_there_is_a_dash_and_never_nan(results: Results) -> None:
    summary = results.summaries["linear"]
    odd = {
        **summary.metrics,
        "f1": Estimate(value=float("nan"), low=float("nan"), high=float("inf"), n=3),
        "em": Estimate(value=None),
    }
    broken = results.model_copy(
        update={
            "summaries": {
                **results.summaries,
                "linear": summary.model_copy(update={"metrics": odd}),
            }
        }
    )
    words = " ".join(_Page(page.as_html(broken, ()).decode()).words)
    assert not re.search(r"\b(nan|NaN|inf|None)\b", words)
    line = next(row for row in figures.summary(broken).rows if row[0].startswith("f1"))
    assert line[3] == "\N{EN DASH}"


@pytest.mark.parametrize("empty", [Results(), make_results(questions=1)])
def test_little_or_nothing_still_makes_a_page(empty: Results, tmp_path: Path) -> None:
    report.write(empty, tmp_path)
    assert _Page((tmp_path / "report.html").read_text(encoding="utf-8")).open == []


def test_the_sheet_has_a_line_per_row_and_a_column_per_metric(results: Results) -> None:
    lines = list(csv.DictReader(io.StringIO(sheet.results_csv(results.rows).decode(), newline="")))
    assert len(lines) == len(results.rows)
    first, row = lines[0], results.rows[0]
    assert first["configuration"] == row.configuration
    assert float(first["f1"]) == row.metrics["f1"]
    assert float(first["lowest_of_best_5"]) == pytest.approx(min(s for _, s in row.read[:5]))
    assert first["right"] == {True: "true", False: "false", None: ""}[row.right]
    assert float(first["seconds_rerank"]) == row.seconds_by_node["rerank"]
    failed = next(line for line in lines if line["status"] == "failed")
    assert failed["success"] == "0.0"
    assert failed["error"].startswith("ModelTimeout")
    unanswerable = next(line for line in lines if line["answerable"] == "false")
    assert unanswerable["f1"] == ""
    assert unanswerable["refused_unanswerable"] in {"0.0", "1.0"}


def test_repeats_keep_their_own_figures() -> None:
    rows = make_results(questions=12, repeats=2).rows
    lines = list(csv.DictReader(io.StringIO(sheet.results_csv(rows).decode(), newline="")))
    told = [line["f1"] for line in lines]
    assert told == [str(row.metrics["f1"]) if "f1" in row.metrics else "" for row in rows]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+cmd|'/c calc'!A0", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_text_is_taken_for_a_formula(results: Results, text: str) -> None:
    row = results.rows[0].model_copy(
        update={"question": text, "short": text, "case": text, "expected": (text, "b")}
    )
    (line,) = csv.DictReader(io.StringIO(sheet.results_csv([row]).decode(), newline=""))
    for column in ("question", "short", "case", "expected"):
        assert line[column].startswith("'"), column
        assert line[column].removeprefix("'").startswith(text)


def test_numbers_below_zero_stay_numbers(results: Results) -> None:
    row = results.rows[-1].model_copy(update={"trigger": -3.25, "metrics": {"odd": -0.5}})
    (line,) = csv.DictReader(io.StringIO(sheet.results_csv([row]).decode(), newline=""))
    assert (line["trigger"], line["odd"]) == ("-3.25", "-0.5")


def test_a_figure_that_is_no_number_leaves_its_cell_empty(results: Results) -> None:
    row = results.rows[0].model_copy(update={"seconds": float("nan"), "cost": None})
    (line,) = csv.DictReader(io.StringIO(sheet.results_csv([row]).decode(), newline=""))
    assert (line["seconds"], line["cost"]) == ("", "")


def test_the_most_changed_come_first_and_no_more_than_fifty() -> None:
    table = studies.most_changed(make_results(questions=400))
    sizes = [abs(float(row[-1])) for row in table.rows]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == studies.MOST_CHANGED
    assert table.note.startswith("50 of ")


def test_a_withheld_answer_shows_why(results: Results) -> None:
    table = studies.most_changed(results)
    cells = {cell for row in table.rows for cell in row[3:5]}
    assert any(cell.startswith("(abstained: low_confidence") for cell in cells)


def test_nothing_changed_is_no_table(results: Results) -> None:
    same = tuple(row.model_copy(update={"metrics": {"f1": 1.0}}) for row in results.rows)
    assert studies.most_changed(results.model_copy(update={"rows": same})).rows == ()


def test_problems_are_told_whatever_holds_them() -> None:
    problems = [Problem("q.csv", 3, "no answer"), {"file": "c", "line": None, "reason": "r"}, "odd"]
    rows = run.problems(Results(data={"problems": problems})).rows
    dash = "\N{EN DASH}"
    assert rows == (("q.csv", "3", "no answer"), ("c", dash, "r"), (dash, dash, "odd"))
    assert run.problems(Results(data={"problems": 4})).rows == ()


def test_settings_are_told_by_their_dotted_names() -> None:
    rows = run.shared_settings(Results(settings={"a": {"b": {"c": True}, "d": []}, "e": None})).rows
    assert rows == (("a.b.c", "yes"), ("a.d", "\N{EN DASH}"), ("e", "\N{EN DASH}"))


def test_the_short_story_names_cheapest_differences_and_failures(results: Results) -> None:
    said = page.findings(results)
    assert said[0].startswith("Cheapest that is not inferior to linear")
    assert "2 changes against linear: 1 non-inferior, 1 undecided." in said
    assert any("no clear difference" in item for item in said)
    assert "1 answer failed and counted as wrong." in said
    many = results.model_copy(update={"comparisons": results.comparisons * 3})
    assert "6 more comparisons below." in page.findings(many)
    counted = results.model_copy(update={"data": {**results.data, "problem_count": 1234}})
    assert "1,234 rows of the data could not be used." in page.findings(counted)


def test_so_many_failures_that_the_page_names_the_first() -> None:
    many = make_results(questions=180)
    rows = tuple(row.model_copy(update={"status": "failed"}) for row in many.rows)
    html = page.as_html(many.model_copy(update={"rows": rows}), ()).decode()
    assert "A failed question counts as wrong. 40 more are in results.csv." in html
    assert "540 answers failed and counted as wrong." in html


def test_long_texts_are_cut_in_the_page_and_whole_in_the_sheet(results: Results) -> None:
    rows = tuple(row.model_copy(update={"short": "word " * 500}) for row in results.rows)
    long = results.model_copy(update={"rows": rows})
    assert "word " * 100 not in page.as_html(long, ()).decode()
    assert "word " * 500 in sheet.results_csv(rows).decode()


def test_the_rows_of_the_maker_are_consistent(results: Results) -> None:
    """Others build on it: the same questions everywhere, a fallback in some, a failure in one."""
    cases = {name: _cases(results.rows, name) for name in CONFIGURATIONS}
    assert len({tuple(of) for of in cases.values()}) == 1
    assert sum(row.fallback for row in results.rows if row.configuration == "adaptive") > 20
    assert [row.case for row in results.rows if row.status == "failed"] == ["q040"]
    assert Results.model_validate_json(results.model_dump_json()) == results


def _cases(rows: tuple[Row, ...], name: str) -> list[str]:
    return [row.case for row in rows if row.configuration == name]
