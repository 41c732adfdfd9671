"""The part of a passage that is shown with a hit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.cli.search import snippet


def marked(text: str, query: str, *, width: int = 320, language: str = "english") -> list[str]:
    cut = snippet(text, query, width=width, language=language)
    return [cut.text[start:end] for start, end in cut.matches]


def test_marks_words_that_the_index_would_match() -> None:
    assert marked("Bees were dancing; a dance of the bee's.", "how do the bees dance") == [
        "Bees",
        "dancing",
        "dance",
        "bee's",
    ]


def test_marks_by_the_language_of_the_library() -> None:
    text = "Die Häuser standen leer."
    assert marked(text, "Haus", language="german") == ["Häuser"]
    assert marked(text, "Haus", language="english") == []


def test_marks_part_of_a_run_without_spaces() -> None:
    assert marked("我喜欢蜜蜂跳舞。", "蜜蜂") == ["蜜蜂"]


def test_a_long_text_is_cut_where_most_terms_are() -> None:
    text = "bees " + "filler " * 200 + "bees dance in polarised light " + "filler " * 200
    cut = snippet(text, "bees dance polarised light", width=100)
    assert "bees dance in polarised light" in cut.text
    assert cut.text.startswith("…")
    assert cut.text.endswith("…")
    assert len(cut.text) <= 102
    assert [cut.text[a:b] for a, b in cut.matches] == ["bees", "dance", "polarised", "light"]


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(max_size=300), st.text(max_size=40), st.integers(10, 120))
def test_any_text_gives_a_short_line_with_spans_inside(text: str, query: str, width: int) -> None:
    cut = snippet(text, query, width=width)
    assert len(cut.text) <= width + 2
    assert "\n" not in cut.text
    assert cut.text.strip("…").strip() in " ".join(text.split())
    assert all(0 <= start < end <= len(cut.text) for start, end in cut.matches)
