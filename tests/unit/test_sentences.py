"""Sentence starts, one rule at a time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from secondlook.retrieval.outline import sentence_starts


def split(text: str) -> list[str]:
    edges = [0, *sentence_starts(text), len(text)]
    return [text[a:b].strip() for a, b in pairwise(edges)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["One ends here.", "Two begins."],
        ["She said “Stop.”", "He did."],
        ["(It was late.)", "They left."],
        ["Dr. Smith met Prof. Jones, e.g. at noon.", "Then he left."],
        ["J. R. R. Tolkien wrote it.", "It sold."],
        ["The U.S. Army, cf. Fig. 3 of vol. 2, grew 3.5 percent.", "It then fell."],
        ["Smith et al. Nature 2001 agree.", "We do not."],
        ["1. First point is made.", "Second sentence."],
        ["これは文です。", "次の文です！", "最後？"],  # noqa: RUF001
        ["「行こう。」", "彼は言った。"],
        ["यह एक वाक्य है।", "यह दूसरा है।"],
        ["Wait… what is this thing?", "No idea."],
        ["Er kam bzw. Ging, vgl. Abb. 3.", "Dann ging er."],
    ],
)
def test_sentences_come_apart_where_a_reader_would_part_them(sentences: list[str]) -> None:
    glue = "" if sentences[0][-1] in "。」" else " "
    assert split(glue.join(sentences)) == sentences


def test_lower_case_after_a_stop_does_not_begin_a_sentence_in_ordinary_text() -> None:
    text = "It was approx. five. Then it rose by a min. of two. All was well."
    assert split(text) == [
        "It was approx. five.",
        "Then it rose by a min. of two.",
        "All was well.",
    ]
