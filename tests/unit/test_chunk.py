"""Passages are exact, ordered, complete and within budget, whatever the text."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.document import Extracted, Heading, Page
from secondlook.errors import UsageError
from secondlook.passage import Span
from secondlook.retrieval.chunk import ChunkOptions, chunk, context, with_context

_TOKEN = re.compile(r"[一-鿿]|\w{1,8}|[^\w\s]")


def token_starts(text: str) -> list[int]:
    """A tokenizer like the embedder's: pieces of words, single CJK characters, punctuation."""
    return [found.start() for found in _TOKEN.finditer(text)]


WORDS = [
    "alpha", "beta", "gamma", "Dr.", "e.g.", "3.14", "end.", "stop!", "Why?", "“Quoted.”",
    "漢字。", "文章、", "really", "incomprehensibilities", "A.", "x=1;", "|", "a\tb", "- item",
]  # fmt: skip
SPACES = [" ", " ", " ", "\n", "\n\n", "\n  ", "\n \n", "\n- ", "\n1. ", "   ", "\t", "\u3000"]


@st.composite
def documents(draw: st.DrawFn) -> Extracted:
    pieces: list[str] = []
    headings: list[Heading] = []
    pages: list[Page] = []
    length = page_start = 0

    def write(piece: str) -> None:
        nonlocal length
        pieces.append(piece)
        length += len(piece)

    for _ in range(draw(st.integers(0, 12))):
        if draw(st.integers(0, 3)) == 0:
            write("\n\n")
            words = draw(st.sampled_from(["Methods", "A longer heading", "1.2 Results", "結果"]))
            if draw(st.booleans()):
                write("## ")
            headings.append(Heading(draw(st.integers(1, 3)), length, length + len(words)))
            write(words + "\n\n")
        for _ in range(draw(st.integers(0, 25))):
            write(draw(st.sampled_from(WORDS)))
            write(draw(st.sampled_from(SPACES)))
        if draw(st.integers(0, 4)) == 0:
            write("x" * draw(st.integers(0, 900)))
        if draw(st.booleans()) and length > page_start:
            pages.append(Page(len(pages) + 1, page_start, length))
            write("\n\n")
            page_start = length
    kind = draw(st.sampled_from(["text", "pdf", "code", "pptx"]))
    return Extracted("".join(pieces), kind=kind, headings=tuple(headings), pages=tuple(pages))


options = st.integers(16, 60).flatmap(
    lambda tokens: st.integers(0, tokens // 2).map(lambda overlap: ChunkOptions(tokens, overlap))
)


@pytest.mark.unmeasured
@settings(max_examples=300, deadline=None)
@given(documents(), options)
def test_spans_are_exact_ordered_complete_and_bounded(
    document: Extracted, opts: ChunkOptions
) -> None:
    spans = chunk(document, token_starts, opts)
    text = document.text
    covered = 0
    for before, span in zip([None, *spans], spans, strict=False):
        passage = text[span.start : span.end]
        assert passage
        assert passage == passage.strip()
        assert not text[covered : span.start].strip(), "a gap holds words"
        assert len(token_starts(passage)) <= opts.tokens
        if before:
            assert span.start > before.start
            assert span.end > before.end
            assert len(token_starts(text[span.start : before.end])) <= opts.overlap
        covered = span.end
    assert not text[covered:].strip()
    assert chunk(document, token_starts, opts) == spans


@pytest.mark.unmeasured
@settings(max_examples=150, deadline=None)
@given(documents(), options)
def test_page_is_that_of_the_first_character(document: Extracted, opts: ChunkOptions) -> None:
    for span in chunk(document, token_starts, opts):
        pages = [page.number for page in document.pages if page.start <= span.start < page.end]
        assert not pages or span.page == pages[0]


@pytest.mark.unmeasured
@settings(max_examples=200, deadline=None)
@given(documents(), options)
def test_no_passage_reaches_into_another_section_or_slide(
    document: Extracted, opts: ChunkOptions
) -> None:
    text = document.text
    in_heading = {at for h in document.headings for at in range(h.start, h.end)}
    for span in chunk(document, token_starts, opts):
        for heading in document.headings:
            if span.start < heading.start < span.end:
                before = range(span.start, heading.start)
                body = "".join(text[at] for at in before if at not in in_heading)
                assert not body.replace("#", "").strip(), "a heading inside of a passage"
        if document.kind == "pptx":
            for page in document.pages:
                assert not (
                    text[span.start : max(span.start, page.start)].strip()
                    and text[page.start : page.end].strip()
                    and span.start < page.start < span.end
                )


@pytest.mark.unmeasured
@settings(max_examples=150, deadline=None)
@given(documents(), options)
def test_heading_and_page_hold_for_the_last_words_too(
    document: Extracted, opts: ChunkOptions
) -> None:
    for span in chunk(document, token_starts, opts):
        above = [h for h in document.headings if h.start < span.end]
        if document.kind == "pptx":
            above = [h for h in above if _page(document, h.start) == _page(document, span.start)]
            assert span.page == _page(document, span.end - 1)
        last = document.text[above[-1].start : above[-1].end] if above else None
        assert (span.heading[-1] if span.heading else None) == last


def _page(document: Extracted, at: int) -> int | None:
    begun = [page.number for page in document.pages if page.start <= at]
    return begun[-1] if begun else None


@pytest.mark.unmeasured
@settings(max_examples=150, deadline=None)
@given(documents(), options)
def test_no_passage_ends_with_a_heading_that_announces_more(
    document: Extracted, opts: ChunkOptions
) -> None:
    text = document.text
    for span in chunk(document, token_starts, opts):
        for heading in document.headings:
            ends_here = span.start <= heading.start and heading.end == span.end
            whole_run = len(token_starts(text[heading.start : heading.end])) >= opts.tokens
            if ends_here and not whole_run and text[heading.end :].strip():
                headings_only = _strip_headings(document, span) == ""
                assert headings_only, text[span.start : span.end + 30]


def _strip_headings(document: Extracted, span: Span) -> str:
    rest = document.text[span.start : span.end]
    for heading in document.headings:
        rest = rest.replace(document.text[heading.start : heading.end], "")
    return rest.replace("#", "").strip()


def test_empty_and_blank_documents_have_no_passages() -> None:
    assert chunk(Extracted(""), token_starts) == []
    assert chunk(Extracted(" \n\t\u3000\n"), token_starts) == []


def test_a_short_document_is_one_passage_without_its_margins() -> None:
    document = Extracted("\n  Just a line.  \n")
    (span,) = chunk(document, token_starts)
    assert document.text[span.start : span.end] == "Just a line."
    assert span == Span(3, 15)


def sections(*parts: tuple[int, str, str]) -> Extracted:
    text = ""
    headings = []
    for level, words, body in parts:
        headings.append(Heading(level, len(text), len(text) + len(words)))
        text += f"{words}\n\n{body}\n\n" if body else f"{words}\n\n"
    return Extracted(text, headings=tuple(headings))


BODY = " ".join(f"Sentence number {n} has some words." for n in range(4))


def test_headings_start_passages_and_make_the_path() -> None:
    document = sections(
        (1, "Guide", ""), (2, "Setup", BODY), (2, "Use", BODY), (1, "Appendix", BODY)
    )
    spans = chunk(document, token_starts, ChunkOptions(60, 10))
    openings = [document.text[span.start :].split("\n")[0] for span in spans]
    assert openings == ["Guide", "Use", "Appendix"]
    assert [span.heading for span in spans] == [
        ("Guide", "Setup"), ("Guide", "Use"), ("Appendix",)
    ]  # fmt: skip


def test_tiny_sections_are_passages_of_their_own() -> None:
    """What is shown above a passage holds for all of it, however short its section is."""
    tiny = "Two words."
    document = sections((2, "One", tiny), (2, "Two", tiny), (1, "Top", ""), (2, "Sub", tiny))
    spans = chunk(document, token_starts, ChunkOptions(60, 20))
    openings = [document.text[span.start :].split("\n")[0] for span in spans]
    assert openings == ["One", "Two", "Top"]
    assert [span.heading for span in spans] == [("One",), ("Two",), ("Top", "Sub")]


def test_a_run_of_headings_longer_than_a_passage_is_cut_between_them() -> None:
    names = [f"Heading with number {n} here" for n in range(11)]
    document = sections(*((1, name, "") for name in names[:-1]), (1, names[-1], "At last."))
    spans = chunk(document, token_starts, ChunkOptions(16, 8))
    lines = [document.text[span.start : span.end].split("\n\n") for span in spans]
    assert [line for part in lines for line in part] == [*names, "At last."]
    assert spans[-1].heading == (names[-1],)


def test_headings_without_words_are_ignored() -> None:
    text = f"{BODY}\n\n  \n\n{BODY}"
    document = Extracted(text, headings=(Heading(1, len(BODY) + 2, len(BODY) + 4),))
    assert chunk(document, token_starts) == chunk(Extracted(text), token_starts)


def test_marks_of_a_markdown_heading_belong_to_it() -> None:
    text = f"{BODY}\n\n## Results ##\n\n{BODY}\n\nFindings\n--------\n\n{BODY}"
    at, again = text.index("Results"), text.index("Findings")
    headings = (Heading(2, at, at + 7), Heading(2, again, again + 8))
    document = Extracted(text, headings=headings)
    spans = chunk(document, token_starts, ChunkOptions(50, 0))
    assert [text[span.start :][:8] for span in spans] == ["Sentence", "## Resul", "Findings"]
    assert [span.heading for span in spans] == [(), ("Results",), ("Findings",)]


def test_long_sections_are_cut_into_even_parts_at_sentences() -> None:
    text = " ".join(f"Here is sentence number {n} of the text." for n in range(30))
    spans = chunk(Extracted(text), token_starts, ChunkOptions(100, 0))
    passages = [text[span.start : span.end] for span in spans]
    assert all(p.startswith("Here") and p.endswith(".") for p in passages)
    sizes = [len(token_starts(p)) for p in passages]
    assert len(sizes) == 3
    assert max(sizes) - min(sizes) <= 20


def test_overlap_repeats_whole_sentences() -> None:
    text = " ".join(f"Here is sentence number {n} of the text." for n in range(30))
    spans = chunk(Extracted(text), token_starts, ChunkOptions(100, 30))
    for before, after in pairwise(spans):
        shared = text[after.start : before.end]
        assert shared.startswith("Here is sentence")
        assert shared.endswith(".")


def test_code_is_cut_between_definitions() -> None:
    definition = "def name(x):\n    y = x. upper()\n\n    return y + 1. Real\n"
    text = "\n\n".join(definition for _ in range(6))
    spans = chunk(Extracted(text, kind="code"), token_starts, ChunkOptions(45, 0))
    assert len(spans) > 2
    assert all(text[span.start :].startswith("def name") for span in spans)


def test_table_rows_stay_whole() -> None:
    text = "\n".join(f"| row {n} | one. Two | three, four |" for n in range(40))
    for span in chunk(Extracted(text), token_starts, ChunkOptions(60, 15)):
        assert text[span.start : span.end].startswith("| row")
        assert text[span.start : span.end].endswith("|")


def test_a_sentence_that_runs_on_across_pages_is_not_a_paragraph_end() -> None:
    first = "One full sentence of words here. " * 5 + "This sentence goes on over the"
    second = "next page and ends there. " + "More words follow in this one. " * 5
    text = first + "\n\n" + second
    pages = (Page(1, 0, len(first)), Page(2, len(first) + 2, len(text)))
    spans = chunk(Extracted(text, kind="pdf", pages=pages), token_starts, ChunkOptions(50, 0))
    assert all(text[span.start : span.end].endswith(".") for span in spans)
    assert {span.page for span in spans} == {1, 2}


def paged(kind: str, *parts: tuple[str, str]) -> Extracted:
    """A document of pages, each with a title (or none) and text (or none)."""
    text = ""
    pages: list[Page] = []
    headings: list[Heading] = []
    for title, body in parts:
        content = "\n\n".join(filter(None, (title, body)))
        text += "\n\n" if text and content else ""
        if title:
            headings.append(Heading(1, len(text), len(text) + len(title)))
        pages.append(Page(len(pages) + 1, len(text), len(text) + len(content)))
        text += content
    return Extracted(text, kind=kind, pages=tuple(pages), headings=tuple(headings))


@pytest.mark.parametrize("kind", ["pptx", "odp", "sheet"])
def test_slides_and_sheets_are_passages_of_their_own(kind: str) -> None:
    document = paged(
        kind, ("Welcome", ""), ("Plan", "One word."), ("", "No title."), ("", ""), ("", "Last.")
    )
    spans = chunk(document, token_starts)
    assert [document.text[span.start : span.end] for span in spans] == [
        "Welcome", "Plan\n\nOne word.", "No title.", "Last."
    ]  # fmt: skip
    assert [span.page for span in spans] == [1, 2, 3, 5]
    assert [span.heading for span in spans] == [("Welcome",), ("Plan",), (), ()]


def test_long_sheets_are_cut_between_rows() -> None:
    rows = "\n".join(f"Berth: {n}; Remark: Deep. Dredged in May. Use with care" for n in range(20))
    document = paged("sheet", ("Berths", rows))
    spans = chunk(document, token_starts, ChunkOptions(60, 15))
    assert len(spans) > 3
    for span in spans:
        passage = document.text[span.start : span.end]
        assert passage.startswith(("Berth: ", "Berths\n"))
        assert passage.endswith("care")
        assert (span.page, span.heading) == (1, ("Berths",))


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "." * 1_000_000,
        "word " * 200_000,
        "a.b" * 300_000,
        "\n" * 500_000 + "end",
        " \n" * 300_000 + "end",
        "漢字仮名" * 100_000,
        "(" * 500_000,
        "- \n" * 200_000,
    ],
    ids=["run", "dots", "words", "dotted", "lines", "blank", "cjk", "brackets", "items"],
)
def test_monstrous_texts_take_linear_time(text: str) -> None:
    def seconds(part: str) -> float:
        began = time.process_time()
        spans = chunk(Extracted(part), token_starts)
        assert all(len(part[s.start : s.end]) <= 200 * 16 for s in spans)
        return time.process_time() - began

    small = seconds(text[: len(text) // 8])
    assert seconds(text) < 40 * small + 1.0  # quadratic growth would be 64-fold


def test_many_headings_take_linear_time() -> None:
    def seconds(count: int, body: str) -> float:
        document = sections(*((1 + n % 4, f"Part {n}", body) for n in range(count)))
        began = time.process_time()
        chunk(document, token_starts)
        return time.process_time() - began

    for body in ("", "Text."):
        assert seconds(24_000, body) < 40 * seconds(3_000, body) + 1.0


@pytest.mark.parametrize(("tokens", "overlap"), [(4, 0), (0, 0), (100, 51), (100, -1)])
def test_impossible_options_are_refused(tokens: int, overlap: int) -> None:
    with pytest.raises(UsageError) as caught:
        ChunkOptions(tokens, overlap)
    assert caught.value.hint


def test_context_is_short_and_says_nothing_twice() -> None:
    assert context("", ()) == ""
    assert context("Guide.", ()) == "Guide"
    assert context("Guide", ("GUIDE", "Setup", "Linux\n box", "Setup")) == (
        "Guide. Setup > Linux box"
    )
    assert context("", ("Setup", "Linux")) == "Setup. Linux"
    assert len(context("t" * 500, ("h" * 500, "g" * 500))) <= 240


def test_a_passage_that_opens_with_its_heading_is_not_told_it_again() -> None:
    assert with_context("Guide", ("Setup",), "Setup\n\nInstall it.") == (
        "Guide. Setup\n\nInstall it."
    )
    assert with_context("Guide", ("Setup",), "Install it.") == "Guide. Setup. Install it."
    assert with_context("wing in a slipstream .", (), "Wing in a slipstream . More") == (
        "Wing in a slipstream . More"
    )
    assert with_context("", (), "Plain.") == "Plain."
    assert with_context("Guide", ("Use",), "Used in May.") == "Guide. Use. Used in May."
    assert with_context("Guide", ("A", "B"), "## A ##\n### B\nText.") == (
        "Guide. ## A ##\n### B\nText."
    )
