"""The Markdown of an answer: complete, and of its own making whatever the documents say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

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
from secondlook.export.markdown import fenced
from tests.support.memory_runs import full_answer
from tests.support.researched import RECALLED, SAID, choice, guess, research, researched

if TYPE_CHECKING:
    from markdown_it.token import Token

    from secondlook.answer import Operation

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
    "<img src=x onerror=alert(1)>",
    "https://evil.example and www.evil.example and a@evil.example",
    "<https://evil.example>",
    "# Heading\n## Another",
    "Heading\n=======",
    "Heading\n---",
    "- list\n+ list\n* list\n1. list\n2) list",
    "> quote\n>> quote",
    "    code\n\tcode",
    "```\nfence\n```",
    "~~~\nfence",
    "`code` ``code``",
    "**bold** _it_ ~~gone~~ __x__",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "[1]: https://evil.example\n[1]",
    "[1](https://evil.example)",
    "\\[x\\](https://evil.example)",
    "&lt;b&gt; &#60;i&#62; &amp;",
    "line\u2028# heading\u2029- list\x85x",
    "***\n---\n___",
    "trailing #",
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


def answer_of(**analysis: Any) -> Answer:
    return Answer(
        run="20260101-a",
        question="q",
        asked="q",
        workflow="analyst",
        method="computed",
        model="m",
        text="t",
        status="answered",
        stop_reason="answered",
        analysis=Analysis(**{"kind": "computed", **analysis}),
        created="2026-01-01T00:00:00+00:00",
        version="0",
    )


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
    page = to_markdown(answer_of(**WHOLE))
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
    assert "## Analysis" not in to_markdown(answer_of(kind="concept"))
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
        (done("difference", "19", ("1981", None), ("2000", None)), "2000 [2] - 1981 [1] = 19"),
        (done("sum", "5 m", ("2 m", None), ("3 m", None)), "2 m [1] + 3 m [2] = 5 m"),
        (
            done("least", "Ada", ("May 1990", "Bob"), ("1981", "Ada")),
            "1981 (Ada) [2] < May 1990 (Bob) [1]: Ada",
        ),
        (done("same", "yes", ("Dutch", "A"), ("Dutch", None)), "Dutch (A) [1] = Dutch [2]: yes"),
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


def test_the_choice_has_every_option_with_its_verdicts() -> None:
    made = to_markdown(researched())
    assert "**(C) No, because he did not call the harbour office before mooring.**" in made
    assert "Confidence 0.64 (provisional)" in made
    assert '  - met: He must have called \\[1\\] ("without calling the harbour office")' in made
    assert "- (A) Yes, because the harbour owes every boat a safe berth. Reason for A." in made
    assert "Answer: (C)" not in made
    assert "\n**C**\n" not in made


def test_memory_guesses_and_other_orders_are_told() -> None:
    made = to_markdown(researched(research=research(recalled=RECALLED)))
    assert "*From memory: May a skipper who did not call claim damages? (0.97 alike" in made
    made = to_markdown(guess())
    assert "**Ungrounded: the model's own guess, without a source.**" in made
    assert "I couldn't find a clear answer" in made
    assert "Another order" in to_markdown(researched(choice=choice(agreed=False)))
    none = choice(letter=None, text=None, confidence=None, why="nothing tells them apart")
    assert "Nothing chosen: nothing tells them apart." in to_markdown(researched(choice=none))
