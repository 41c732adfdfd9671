"""The report of an evaluation: its files, the page, the spreadsheet, the terminal and the plots."""

import csv
import io
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from secondlook.evaluation import report
from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.records import Results
from secondlook.evaluation.report import page, plots, tables
from tests.support.eval_questions import of_all, question, row
from tests.support.eval_results import make_results

HOSTILE = "<script>alert('x')</script><img src=x onerror=alert(1)>&amp;\x1b[31m\x00"
DASH = "\N{EN DASH}"
PLOTS = {"metrics", "rerank_scores", "f1_changes", "fallback_impact", "latency"}
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
        if tag not in _VOID:
            self.open.append(tag)
        self.tags.append(tag)
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


def test_every_file_is_written_and_the_same_elsewhere(written: Path, tmp_path: Path) -> None:
    files = {one.relative_to(written).as_posix() for one in written.rglob("*") if one.is_file()}
    drawn = {f"plots/{name}.{ending}" for name in PLOTS for ending in ("svg", "png")}
    assert files == {"results.csv", "report.html"} | drawn
    code = (
        "import sys; from pathlib import Path; from secondlook.evaluation import report;"
        "from tests.support.eval_results import make_results;"
        "report.write(make_results(), Path(sys.argv[1]));"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    surroundings = {**os.environ, "PYTHONHASHSEED": "12345"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=surroundings)
    for file in files:
        assert (tmp_path / file).read_bytes() == (written / file).read_bytes(), file


def test_without_matplotlib_all_but_the_plots_and_how_to_get_them(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    files = report.write(results, tmp_path)
    assert [file.name for file in files] == ["results.csv", "report.html"]
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "pip install matplotlib" in html
    assert "<svg" not in html


def test_the_page_closes_its_tags_and_reaches_for_nothing(written: Path) -> None:
    html = (written / "report.html").read_text(encoding="utf-8")
    found = _Page(html)
    assert found.open == []
    assert "script" not in found.tags
    assert len(found.ids) == len(set(found.ids))
    assert {one.removeprefix("#") for one in found.references} <= set(found.ids)
    assert "http-equiv" in html
    assert found.tags.count("svg") == len(PLOTS)
    for title in (
        *("In short", "Figures by configuration", "f1 by type", "Comparisons"),
        *("What the difference costs", "Ablation: f1 against linear", "Not tried"),
        "Why runs ended",
        *("Failed questions", "Problems in the data"),
    ):
        assert title in html, title


def test_words_of_others_stay_words(results: Results) -> None:
    rows = tuple(
        row.model_copy(update={"question": HOSTILE, "short": HOSTILE, "error": HOSTILE})
        for row in results.rows
    )
    summaries = {**results.summaries, HOSTILE: results.summaries["linear"]}
    data = {**results.data, "name": HOSTILE}
    hostile = results.model_copy(update={"rows": rows, "summaries": summaries, "data": data})
    plot = plots.Plot("metrics", "metrics", HOSTILE, b"<svg width='1'></svg>", b"")
    html = page.as_html(hostile, (plot,)).decode()
    assert not {"script", "img"} & set(_Page(html).tags)
    assert "&lt;script&gt;alert(&#x27;x&#x27;)" in html
    assert "\x1b" not in html + _shown(hostile)
    assert "\x00" not in html


def test_the_sheet_has_a_line_per_row_and_a_column_per_metric(results: Results) -> None:
    lines = list(csv.DictReader(io.StringIO(report.results_csv(results.rows).decode())))
    assert len(lines) == len(results.rows)
    first, row = lines[0], results.rows[0]
    assert first["configuration"] == row.configuration
    assert float(first["f1"]) == row.metrics["f1"]
    assert float(first["lowest_of_best_5"]) == pytest.approx(min(s for _, s in row.read[:5]))
    assert first["needs_review"] == "false"
    assert float(first["seconds_rerank"]) == row.seconds_by_node["rerank"]
    failed = next(line for line in lines if line["status"] == "failed")
    assert failed["success"] == "0.0"
    assert failed["error"].startswith("ModelTimeout")
    assert next(line for line in lines if line["answerable"] == "false")["f1"] == ""


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+cmd|'/c calc'!A0", "@SUM(A1)", "\t=1"])
def test_no_text_is_taken_for_a_formula(results: Results, text: str) -> None:
    changes = {"question": text, "short": text, "case": text, "expected": (text, "b")}
    row = results.rows[0].model_copy(update=changes)
    (line,) = csv.DictReader(io.StringIO(report.results_csv([row]).decode(), newline=""))
    for column in ("question", "short", "case", "expected"):
        assert line[column].startswith(f"'{text}"), column


# The terminal.


def _shown(results: Results) -> str:
    stream = io.StringIO()
    screen = Console(file=stream, width=80, no_color=True, markup=True)
    for item in tables.render(results):
        screen.print(item)
    return stream.getvalue()


def test_it_fits_80_columns_and_shows_each_table(results: Results) -> None:
    lines = _shown(results).splitlines()
    assert max(map(len, lines)) <= 80
    for title in (
        *("Summary: 120 questions", "f1 by type"),
        *("Failed questions", "Ablation: f1 against linear"),
    ):
        assert title in lines
    assert _shown(Results()) == ""


# The plots: what they show, and when there is none.


@pytest.mark.parametrize("name", sorted(PLOTS))
def test_every_plot_says_how_many_and_has_words_on_its_axes(name: str, results: Results) -> None:
    with plots.plain_style():
        made = plots.PLOTS[name][1](results)
    assert made is not None
    figure, caption = made
    assert re.search(r"\bn = \d", caption)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert figure.get_suptitle() or any(titles)
    assert any(axes.get_xlabel() for axes in figure.axes)


# docs/metrics.

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
_SECTION = re.compile(r"^### ([^\n]*)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"`([^`]+)`")
_EXAMPLE = re.compile(r"`((?:question|of_all)\([^`]*)` = (-?[\d.]*\d)")
SECTIONS = {
    tuple(_NAME.findall(title)): text
    for title, text in _SECTION.findall(PAGE.read_text("utf-8").replace("\r\n", "\n"))
}
EXAMPLES = [
    (" ".join(expression.split()), float(value))
    for text in SECTIONS.values()
    for expression, value in _EXAMPLE.findall(text)
]


def test_every_metric_has_one_section_and_every_section_a_metric() -> None:
    assert sorted([name for names in SECTIONS for name in names]) == sorted(METRICS)


@pytest.mark.parametrize("names", SECTIONS, ids=lambda names: names[0])
def test_section_has_an_example_that_computes_its_metric(names: tuple[str, ...]) -> None:
    found = [expression for expression, _ in _EXAMPLE.findall(SECTIONS[names])]
    assert any(expression.endswith(f'["{name}"]') for expression in found for name in names)


@pytest.mark.parametrize(("expression", "value"), EXAMPLES)
def test_example_comes_out_as_written(expression: str, value: float) -> None:
    names = {"question": question, "of_all": of_all, "row": row}
    assert eval(expression, names) == pytest.approx(value, abs=0.0006)  # noqa: S307 - our own page
