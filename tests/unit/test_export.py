"""The Markdown of an answer: complete, and of its own making whatever the documents say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from secondlook.answer import Answer, Citation, Claim, Confidence
from secondlook.export import to_markdown

if TYPE_CHECKING:
    from markdown_it.token import Token

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


def test_an_outline_is_a_list_that_nests() -> None:
    text = "Outline:\n\n- Dues: *All* pay. [1]\n  - Yachts: 3 crowns. [2]\n- 1. Storms\nand more"
    shown = to_markdown(outline(text))
    assert "\n- Dues: \\*All\\* pay. \\[1\\]\n  - Yachts: 3 crowns." in shown
    kinds = [token.type for token in parsed(shown)]
    assert kinds.count("bullet_list_open") == 2
    assert kinds.count("list_item_open") == 3
    assert "ordered_list_open" not in kinds


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
