"""Passages are exact, ordered, complete and within budget, whatever the text."""

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.document import Extracted, Heading, Page
from secondlook.library.library import samples_folder
from secondlook.retrieval.chunk import ChunkOptions, chunk, with_context
from secondlook.retrieval.outline import sentence_starts
from secondlook.retrieval.parse.extract import extract_bytes
from tests.support import files

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
@settings(max_examples=60, deadline=None)
@given(documents(), options)
def test_spans_are_exact_ordered_complete_and_bounded(
    document: Extracted, opts: ChunkOptions
) -> None:
    spans = list(chunk(document, token_starts, opts))
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
    assert list(chunk(document, token_starts, opts)) == spans


@pytest.mark.unmeasured
@settings(max_examples=40, deadline=None)
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
    spans = list(chunk(document, token_starts, ChunkOptions(60, 10)))
    openings = [document.text[span.start :].split("\n")[0] for span in spans]
    assert openings == ["Guide", "Use", "Appendix"]
    assert [span.heading for span in spans] == [
        ("Guide", "Setup"), ("Guide", "Use"), ("Appendix",)
    ]  # fmt: skip


def test_long_sections_are_cut_into_even_parts_at_sentences() -> None:
    text = " ".join(f"Here is sentence number {n} of the text." for n in range(30))
    spans = list(chunk(Extracted(text), token_starts, ChunkOptions(100, 0)))
    passages = [text[span.start : span.end] for span in spans]
    assert all(p.startswith("Here") and p.endswith(".") for p in passages)
    sizes = [len(token_starts(p)) for p in passages]
    assert len(sizes) == 3
    assert max(sizes) - min(sizes) <= 20
    for before, after in pairwise(chunk(Extracted(text), token_starts, ChunkOptions(100, 30))):
        shared = text[after.start : before.end]  # whole sentences are repeated
        assert shared.startswith("Here is sentence")
        assert shared.endswith(".")


def test_code_is_cut_between_definitions() -> None:
    definition = "def name(x):\n    y = x. upper()\n\n    return y + 1. Real\n"
    text = "\n\n".join(definition for _ in range(6))
    spans = list(chunk(Extracted(text, kind="code"), token_starts, ChunkOptions(45, 0)))
    assert len(spans) > 2
    assert all(text[span.start :].startswith("def name") for span in spans)


def test_table_rows_stay_whole() -> None:
    text = "\n".join(f"| row {n} | one. Two | three, four |" for n in range(40))
    for span in chunk(Extracted(text), token_starts, ChunkOptions(60, 15)):
        assert text[span.start : span.end].startswith("| row")
        assert text[span.start : span.end].endswith("|")


@pytest.mark.parametrize(
    "text",
    ["." * 400_000, " \n" * 150_000 + "end", "漢字仮名" * 50_000],
    ids=["dots", "blank", "cjk"],
)
def test_monstrous_texts_take_linear_time(text: str) -> None:
    def seconds(part: str) -> float:
        began = time.process_time()
        spans = list(chunk(Extracted(part), token_starts))
        assert all(len(part[s.start : s.end]) <= 200 * 16 for s in spans)
        return time.process_time() - began

    small = seconds(text[: len(text) // 8])
    assert seconds(text) < 40 * small + 1.0  # quadratic growth would be 64-fold


def test_context_is_short_and_says_nothing_twice() -> None:
    headings = ("GUIDE", "Setup", "Linux\n box", "Setup")
    assert with_context("Guide", headings, "Go.") == "Guide. Setup > Linux box. Go."
    assert len(with_context("t" * 500, ("h" * 500, "g" * 500), "Go.")) <= 245
    assert with_context("", (), "Plain.") == "Plain."
    assert with_context("Guide", ("Use",), "Used in May.") == "Guide. Use. Used in May."
    opens = with_context("Guide", ("A", "B"), "## A ##\n### B\nText.")
    assert opens == "Guide. ## A ##\n### B\nText."


def places(data: bytes, name: str) -> list[tuple[str, int | None, tuple[str, ...]]]:
    """Each passage's text with the page and headings shown for it."""
    extracted = extract_bytes(data, name)[0].extracted
    assert extracted is not None
    spans = list(chunk(extracted, token_starts))
    return [(extracted.text[span.start : span.end], span.page, span.heading) for span in spans]


def test_slides_of_powerpoint() -> None:
    deck = [("Harbour plan", ""), ("Cost", "It costs a million."), ("", "No title here.")]
    assert places(files.pptx(deck), "deck.pptx") == [
        ("Harbour plan", 1, ("Harbour plan",)),
        ("Cost\n\nIt costs a million.", 2, ("Cost",)),
        ("No title here.", 3, ()),
    ]


def test_sheets_of_a_workbook() -> None:
    name = "tides-and-berths-2024.xlsx"
    for text, page, heading in places((samples_folder() / name).read_bytes(), name):
        assert heading == {1: ("Tides 2024",), 2: ("Berth use 2024",)}[page or 0]
        assert ("Berth" in text) == (page == 2)


# Sentence starts, one rule at a time.


def split(text: str) -> list[str]:
    edges = [0, *sentence_starts(text), len(text)]
    return [text[a:b].strip() for a, b in pairwise(edges)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["One ends here.", "Two begins."],
        ["(It was late.)", "They left."],
        ["Dr. Smith met Prof. Jones, e.g. at noon.", "Then he left."],
        ["The U.S. Army, cf. Fig. 3 of vol. 2, grew 3.5 percent.", "It then fell."],
        ["1. First point is made.", "Second sentence."],
        ["これは文です。", "次の文です！", "最後？"],  # noqa: RUF001
        ["「行こう。」", "彼は言った。"],
        ["Wait… what is this thing?", "No idea."],
    ],
)
def test_sentences_come_apart_where_a_reader_would_part_them(sentences: list[str]) -> None:
    assert split(("" if sentences[0][-1] in "。」" else " ").join(sentences)) == sentences


def test_lower_case_after_a_stop_does_not_begin_a_sentence_in_ordinary_text() -> None:
    assert split("It was approx. five. Then it rose by a min. of two. All was well.") == [
        "It was approx. five.",
        "Then it rose by a min. of two.",
        "All was well.",
    ]
