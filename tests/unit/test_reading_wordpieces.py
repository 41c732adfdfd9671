from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.reading.session import Wordpieces, printable
from secondlook.reading.weights import find_weights

WORDPIECES = Wordpieces(find_weights("embedder").tokenizer)


def test_starts_are_python_characters() -> None:
    text = "😀 naïve 漢字 tokenization"
    starts = WORDPIECES.starts(text)
    assert [text[start] for start in starts] == ["😀", "n", "漢", "字", "t", "i"]


def test_a_long_text_is_split_without_changing_its_tokens() -> None:
    text = " ".join(f"unbelievably-{n} tokenised,\n\nwords" for n in range(4_000))
    ((_, offsets),) = WORDPIECES.with_offsets([text])
    assert len(text) > 100_000
    assert WORDPIECES.starts(text) == [start for start, _ in offsets]


def test_a_long_text_without_white_space_still_ends() -> None:
    starts = WORDPIECES.starts("漢" * 50_000)
    assert starts == list(range(50_000))


@given(st.text(alphabet=st.characters(), max_size=300))
def test_any_string_has_increasing_starts_inside_it(text: str) -> None:
    starts = WORDPIECES.starts(text)
    assert starts == sorted(starts)
    assert all(0 <= start < len(text) for start in starts)


def test_ids_stop_at_the_limit() -> None:
    short, cut = WORDPIECES.ids(["one two", "word " * 1_000], limit=5)
    assert len(short) == 2
    assert len(cut) == 5


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff word", "\ud83d\ude00"])
def test_lone_surrogates_keep_their_place(text: str) -> None:
    assert len(printable(text)) == len(text)
    assert printable(text).encode()
    assert all(text[start].isalpha() for start in WORDPIECES.starts(text))
