"""The part of a passage that is shown with a hit."""

from __future__ import annotations

from secondlook.cli.search import snippet


def marked(text: str, query: str, *, width: int = 320, language: str = "english") -> list[str]:
    cut, matches = snippet(text, query, width=width, language=language)
    return [cut[start:end] for start, end in matches]


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


def test_a_long_text_is_cut_where_most_terms_are() -> None:
    text = "bees " + "filler " * 200 + "bees dance in polarised light " + "filler " * 200
    cut, matches = snippet(text, "bees dance polarised light", width=100)
    assert "bees dance in polarised light" in cut
    assert cut.startswith("…")
    assert cut.endswith("…")
    assert len(cut) <= 102
    assert [cut[a:b] for a, b in matches] == ["bees", "dance", "polarised", "light"]
