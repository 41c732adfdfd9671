"""The Markdown of an answer: complete, and of its own making whatever the documents say."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from secondlook.answer import (
    Analysis,
    AnalysisCheck,
    AnalysisFigure,
    AnalysisRemedy,
    Answer,
    Citation,
    Claim,
    Computation,
    Confidence,
    InputTable,
    Operand,
    ResolvedColumn,
    ResultTable,
)
from secondlook.export import reckoned, to_markdown
from secondlook.export.charts import chart_bytes, in_script, write_charts, write_table
from secondlook.export.markdown import fenced
from secondlook.nodes.compute import OKABE_ITO, computed_outcome
from secondlook.tables.resolver import AskedTable
from secondlook.tables.understand.interpreter import understand
from tests.support.analyst import desk_of
from tests.support.memory_runs import full_answer
from tests.support.researched import RECALLED, SAID, choice, guess, research, researched

if TYPE_CHECKING:
    from pathlib import Path

    from markdown_it.token import Token

    from secondlook.answer import Operation
    from secondlook.tables.desk import Desk

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def made(**given_: Any) -> Answer:
    citation = Citation(
        number=1,
        passage="d.0",
        document="d",
        sha256="d" * 64,
        title="Harbour survey",
        page=2,
        start=5,
        end=30,
        quote="Berth 4 has 7.8 metres.",
        path="/papers/survey.pdf",
    )
    web = Citation(
        number=2,
        passage="web-1.0",
        document="web-1",
        sha256="e" * 64,
        title="Tides",
        start=0,
        end=10,
        quote="High water.",
        origin="web",
        url="https://example.org/tides?x=1",
        fetched="2026-01-01T00:00:00+00:00",
    )
    values: dict[str, Any] = {
        "run": "r1",
        "question": "How deep is berth 4?",
        "asked": "How deep is berth 4?",
        "workflow": "linear",
        "method": "generative",
        "model": "gguf:small.gguf",
        "text": "Berth 4 has 7.8 metres. [1][2]",
        "status": "answered",
        "stop_reason": "answered",
        "claims": (Claim(text="Berth 4 has 7.8 metres.", citations=(1, 2)),),
        "citations": (citation, web),
        "confidence": Confidence(value=0.824, reasons=("the reader is sure",)),
        "created": "2026-01-01T00:00:00+00:00",
        "version": "0.1.0",
    }
    return Answer(**values | given_)


def flat(tokens: list[Token]) -> list[Token]:
    return [one for token in tokens for one in (token, *flat(token.children or []))]


def parsed(markdown: str) -> list[Token]:
    return flat(PARSER.parse(markdown))


def words(markdown: str) -> str:
    """All text that a reader sees."""
    return "".join(
        token.content if token.type in {"text", "code_inline"} else "\n"
        for token in parsed(markdown)
    )


def test_says_everything_that_matters() -> None:
    shown = to_markdown(made())
    assert shown == (
        "# How deep is berth 4?\n\n"
        "Berth 4 has 7.8 metres. \\[1\\]\\[2\\]\n\n"
        "*Answered. Confidence 0.82 (provisional): the reader is sure.*\n\n"
        "## References\n\n"
        "\\[1\\] **Harbour survey**, p. 2, `/papers/survey.pdf`\n\n"
        "> Berth 4 has 7.8 metres.\n\n"
        "\\[2\\] **Tides**, <https://example.org/tides?x=1>, read 2026-01-01T00:00:00+00:00\n\n"
        "> High water.\n\n"
        "---\n\n"
        "Run `r1`, linear, generative, `gguf:small.gguf`, 2026-01-01T00:00:00+00:00, "
        "Secondlook 0.1.0.\n"
    )
    assert "Berth 4 has 7.8 metres. [1][2]" in words(shown)


def outline(text: str) -> Answer:
    return made(method="outline", model=None, text=text)


HOSTILE = [
    "[click](https://evil.example)",
    "![x](https://evil.example/pixel.png)",
    "<script>alert(1)</script>",
    "https://evil.example and www.evil.example and a@evil.example",
    "# Heading\n## Another",
    "Heading\n=======",
    "- list\n+ list\n* list\n1. list\n2) list",
    "> quote\n>> quote",
    "```\nfence\n```",
    "**bold** _it_ ~~gone~~ __x__",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "[1]: https://evil.example\n[1]",
    "\\[x\\](https://evil.example)",
    "line\u2028# heading\u2029- list\x85x",
    "\u202egnp.exe",
    "",
    "\x1b[31mred",
]
OWN = {
    "heading_open": 2,
    "link_open": 1,
    "hr": 1,
    "blockquote_open": 2,
    "strong_open": 3,
    "em_open": 1,
}
FORBIDDEN = {
    "image",
    "html_inline",
    "html_block",
    "code_block",
    "fence",
    "table_open",
    "s_open",
    "bullet_list_open",
    "ordered_list_open",
}


@pytest.mark.parametrize("text", HOSTILE)
def test_what_documents_say_stays_words(text: str) -> None:
    shown = to_markdown(hostile(text))
    _is_of_our_own_making(shown, code=3)
    expected = " ".join(text.translate({0x202E: "", 0x1B: ""}).split())
    assert expected in " ".join(words(shown).split()).replace("\u2028", " ")


@given(st.text(max_size=60) | st.text(alphabet="[]()<>!#*_`~|-=+>&;:/. \n\tab1", max_size=40))
def test_no_text_makes_markdown(text: str) -> None:
    _is_of_our_own_making(to_markdown(hostile(text)), code=3)


def hostile(text: str) -> Answer:
    """An answer all of whose strangers' fields say this, and whose addresses are no addresses."""
    first, second = made().citations
    return made(
        question=text,
        short=f"short {text}",
        text=f"{text}\n\n{text}",
        citations=(
            first.model_copy(update={"title": text, "quote": text, "path": text or "x"}),
            second.model_copy(update={"title": text, "quote": text, "fetched": text}),
        ),
        confidence=Confidence(value=0.5, reasons=(text,)),
        workflow=text,
    )


def _is_of_our_own_making(markdown: str, *, code: int) -> None:
    counts: dict[str, int] = {}
    for token in parsed(markdown):
        counts[token.type] = counts.get(token.type, 0) + 1
    assert {kind: counts.get(kind, 0) for kind in OWN} == OWN
    assert FORBIDDEN & counts.keys() == set()
    assert counts.get("code_inline", 0) == code


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http://[", "https:"]
)
def test_only_web_addresses_are_links(url: str) -> None:
    citation = made().citations[1].model_copy(update={"url": url})
    shown = to_markdown(made(citations=(made().citations[0], citation)))
    assert "link_open" not in {token.type for token in parsed(shown)}
    assert url in words(shown)


# An analysis on the screen and as Markdown.


WHOLE: dict[str, Any] = {
    "reading": "mean of price",
    "sql": 'SELECT avg("price")',
    "columns": (
        ResolvedColumn(asked="cost", table="t", column="price", score=0.81, how="fuzzy"),
        ResolvedColumn(asked="Region", table="t", column="region", score=1.0, how="case"),
    ),
    "checks": (
        AnalysisCheck(name="a", passed=True, said="Fine."),
        AnalysisCheck(name="b", passed=False, said="Odd."),
    ),
    "remedies": (AnalysisRemedy(cause="a typo", action="rewrite_code", guidance="mend"),),
    "figures": (AnalysisFigure(kind="plotly", title="Bars", data={}),),
    "inputs": (
        InputTable(name="s", id="i", title="s.csv", sha256="ab" * 32, rows=3, path="/s.csv"),
    ),
    "table": ResultTable(columns=("a|b", "n"), rows=(("<x>", 1), (None, 2.5)), total_rows=2),
}


def test_markdown_holds_all_that_it_takes_to_do_it_again() -> None:
    page = to_markdown(analysed(**WHOLE))
    for line in (
        "| a\\|b | n |",
        "| \\<x\\> | 1 |",
        "Read as: mean of price.",
        '```sql\nSELECT avg("price")\n```',
        "- **failed**: Odd.",
        "- rewrite code: a typo",
        "- Bars (plotly)",
        f"SHA-256 `{'ab' * 32}`",
    ):
        assert line in page
    assert "## Analysis" not in to_markdown(made(analysis=Analysis(kind="concept")))
    assert fenced("a ``` b", "python") == "````python\na ``` b\n````"


# The Markdown of an answer that corrected itself, and its arithmetic in signs.


def exported(**given: Any) -> list[str]:
    answer: Answer = full_answer("r").model_copy(update=given)
    return to_markdown(answer).split("\n\n")


def done(operation: Operation, result: str, *stated: tuple[str, str | None]) -> Computation:
    operands = tuple(
        Operand(text=text, name=name, citation=at) for at, (text, name) in enumerate(stated, 1)
    )
    return Computation(operation=operation, operands=operands, result=result)


@pytest.mark.parametrize(
    ("computation", "said"),
    [
        (
            done("years", "23 years", ("September 4, 1981", "Ada"), ("2004", None)),
            "2004 [2] - September 4, 1981 [1] = 23 years",
        ),
        (
            done("least", "Ada", ("May 1990", "Bob"), ("1981", "Ada")),
            "1981 (Ada) [2] < May 1990 (Bob) [1]: Ada",
        ),
        (done("same", "no", ("Dutch", None), ("Swiss", None)), "Dutch [1] ≠ Swiss [2]: no"),
    ],
)
def test_a_computation_in_signs(computation: Computation, said: str) -> None:
    assert reckoned(computation) == said


def test_what_was_assumed_computed_and_asked_back_is_in_it() -> None:
    claim = Claim(
        text="23 years.",
        citations=(1,),
        computation=done("years", "23 years", ("1981", None), ("2004", None)),
    )
    parts = exported(
        assumed="she = *Ada*",
        asks_back="Whom do you mean: <b>Ada</b> or Bob?",
        claims=(claim,),
        needs_review=True,
        stop_reason="attempts_exhausted",
        status="partial",
    )
    assert parts[1] == r"*Taken as: she = \*Ada\**"
    assert r"Computed: 2004 \[2\] - 1981 \[1\] = 23 years" in parts
    assert r"**Whom do you mean: \<b\>Ada\</b\> or Bob?**" in parts
    standing = next(part for part in parts if part.startswith("*Answered in part"))
    assert standing.endswith("Needs review: every try was used up; look at the evidence.*")


# A research as Markdown: scoped marks, the choice, every step, and nobody else's headings.


def headings(markdown: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(markdown)
    return [tokens[at + 1].content for at, one in enumerate(tokens) if one.type == "heading_open"]


def test_marks_name_the_step_and_its_own_source_and_lead_to_the_references() -> None:
    made = to_markdown(researched())
    assert f"{SAID[0]} \\[Query 1\\]\\[Source 1\\]" in made
    assert f"{SAID[1]} \\[Query 1\\]\\[Source 2\\]" in made
    assert f"{SAID[2]} \\[Query 3\\]\\[Source 1\\] \\[Query 3\\]\\[Source 2\\]" in made
    listed = made.split("## References")[1]
    both = "\\[1\\] **Harbour rules** \\[Query 1\\]\\[Source 1\\] \\[Query 3\\]\\[Source 2\\], p. 2"
    assert both in listed
    assert "\\[3\\] **Harbour rules** \\[Query 3\\]\\[Source 1\\], p. 4" in listed
    assert f"> {SAID[2]}" in listed
    used = re.findall(r"Query \d\\\]\\\[Source \d", made.split("## References")[0])
    assert set(used) == set(re.findall(r"Query \d\\\]\\\[Source \d", listed))


def test_memory_guesses_and_other_orders_are_told() -> None:
    made = to_markdown(researched(research=research(recalled=RECALLED)))
    assert "*From memory: May a skipper who did not call claim damages? (0.97 alike" in made
    made = to_markdown(guess())
    assert "**Ungrounded: the model's own guess, without a source.**" in made
    assert "I couldn't find a clear answer" in made
    assert "Another order" in to_markdown(researched(choice=choice(agreed=False)))
    none = choice(letter=None, text=None, confidence=None, why="nothing tells them apart")
    assert "Nothing chosen: nothing tells them apart." in to_markdown(researched(choice=none))


# Charts: which question asks for one, what it is read as, and what is drawn.

SALES: dict[str, list[Any]] = {
    "region": ["north", "south", "east"] * 10,
    "units": [(at * 7) % 41 for at in range(30)],
    "price": [2.5 + (at % 9) * 0.75 for at in range(30)],
    "day": [f"2024-{at % 12 + 1:02d}-{at % 28 + 1:02d}" for at in range(30)],
}


@cache
def desk() -> Desk:
    import datetime as dt

    days = [dt.date.fromisoformat(day) for day in SALES["day"]]
    return desk_of({"sales": {**SALES, "day": days}})


def drawn(question: str) -> dict[str, Any] | None:
    """The figure that a question comes to; None where it is not read or draws nothing."""
    table = desk().tables()[0]
    asked = AskedTable(table, desk().profile(table.id), lambda name: SALES[name])
    best = understand(question, [asked]).best
    if best is None:
        return None
    outcome, _ = computed_outcome(desk(), question, best)
    assert outcome.status == "ok"
    return json.loads(outcome.figures[0].data) if outcome.figures else None


def test_groups_are_bars() -> None:
    figure = drawn("Plot the mean price by region")
    assert figure is not None
    trace = figure["data"][0]
    assert (trace["type"], trace["x"]) == ("bar", ["east", "north", "south"])
    means = {
        name: sum(p for p, r in zip(SALES["price"], SALES["region"], strict=True) if r == name) / 10
        for name in trace["x"]
    }
    assert trace["y"] == pytest.approx(list(means.values()))
    layout = figure["layout"]
    assert layout["title"]["text"] == "Mean of price by region"
    assert layout["xaxis"]["title"]["text"] == "region"
    assert layout["yaxis"]["title"]["text"] == "mean of price"
    assert layout["colorway"] == list(OKABE_ITO)


def test_time_is_a_line() -> None:
    figure = drawn("draw the total units over time")
    assert figure is not None
    trace = figure["data"][0]
    assert trace["mode"] == "lines+markers"
    assert trace["x"] == sorted(trace["x"])
    assert sum(trace["y"]) == sum(SALES["units"])
    monthly = drawn("plot total units by month")
    assert monthly is not None
    assert monthly["data"][0]["x"] == [f"2024-{month:02}" for month in range(1, 13)]


def test_a_distribution_is_a_histogram() -> None:
    for question in ("histogram of units", "Show the distribution of units"):
        figure = drawn(question)
        assert figure is not None
        assert sum(figure["data"][0]["y"]) == len(SALES["units"])
        assert figure["data"][0]["x"][0] == "0 to 10"
    words = drawn("plot the distribution of region")
    assert words is not None
    assert words["data"][0]["y"] == [10, 10, 10]


def test_two_numbers_are_points() -> None:
    figure = drawn("scatter plot of price against units")
    assert figure is not None
    trace = figure["data"][0]
    assert trace["mode"] == "markers"
    assert trace["x"] == SALES["units"]
    assert trace["y"] == SALES["price"]


@pytest.mark.parametrize(
    "question",
    [
        "plot the mean price by region for Tuesdays only",
        "plot the seasonally adjusted price over time",
        "plot everything",
        "scatter plot of price against region",
        "histogram of price and units",
    ],
)
def test_what_it_cannot_draw_is_not_drawn_otherwise(question: str) -> None:
    assert drawn(question) is None


# As files


def analysed(**analysis: Any) -> Answer:
    values = {"mean": 2.5, "parts": [1, 2]}
    return made(values=values, analysis=Analysis(kind="computed", **analysis))


def chart(question: str = "plot the mean price by region") -> AnalysisFigure:
    return AnalysisFigure(kind="plotly", title="A & B", data=drawn(question))


def test_a_page_needs_no_network_and_no_cell_ends_its_script(tmp_path: Path) -> None:
    evil: Any = {"data": [{"x": ["</script><script>alert(1)</script>"], "y": [1]}], "layout": {}}
    page = chart_bytes(AnalysisFigure(kind="plotly", title="<b>", data=evil), ".html").decode()
    assert "alert(1)</script>" not in page
    assert "<title>&lt;b&gt;</title>" in page
    assert 'src="http' not in page
    assert json.loads(in_script(evil)) == evil
    written = write_charts(analysed(figures=(chart(), chart())), tmp_path / "c.json")
    assert [one.name for one in written] == ["c.json", "c-2.json"]
    assert json.loads(written[0].read_text("utf-8")) == drawn("plot the mean price by region")


def test_simple_charts_are_drawn_as_pictures() -> None:
    for question in ("plot the mean price by region", "scatter plot of price against units"):
        assert chart_bytes(chart(question), ".png").startswith(b"\x89PNG")


def test_tables_as_files(tmp_path: Path) -> None:
    rows: Any = (("=1+1", 1.5, None), ("b", 2, "x"))
    table = ResultTable(columns=("name", "value", "more"), rows=rows, total_rows=2)
    answer = analysed(table=table)
    write_table(answer, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text("utf-8-sig").splitlines() == [
        "name,value,more",
        "'=1+1,1.5,",
        "b,2,x",
    ]
    write_table(answer, tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text("utf-8"))[1] == {
        "name": "b",
        "value": 2,
        "more": "x",
    }
    write_table(answer, tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet").to_pydict()["value"] == [1.5, 2.0]
    write_table(analysed(), tmp_path / "v.csv")
    assert "mean,2.5" in (tmp_path / "v.csv").read_text("utf-8-sig")
