"""Words as terms: what finds what."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.errors import UsageError
from secondlook.retrieval.terms import language_name, query_terms, terms


def finds(query: str, passage: str, language: str = "english") -> bool:
    return bool(set(query_terms(query, language)) & set(terms(passage, language)))


ENGLISH = {
    "run": "They were running.", "resume": "Two résumés", "NAÏVE": "naive", "email": "an e-mail!",
    "e-mail": "by email", "information": "the infor-\nmation age", "art": "state-of-the-art",
    "USA": "the U.S.A. and Canada", "1000000": "1,000,000 people", "3.5": "version 3.5, released",
    "c++": "written in C++.", "army": "the army\u2019s men", "H2O": "H₂O", "file": "ﬁle",
    "snake": "snake_case_name", "coop\u00aderate": "cooperate", "2024": "2024-05-17",
}  # fmt: skip
OTHERS = [
    ("Haus", "die Häuser", "german"), ("strasse", "Straße", "de"), ("amour", "l'amour", "french"),
    ("canción", "canciones", "es"), ("istanbul", "İSTANBUL", "tr"), ("книга", "книги", "ru"),
    ("東京", "東京都に住む", "ja"), ("猫", "猫。", "ja"), ("한국", "한국어로", "ko"),
    ("学习", "mixed text 机器学习 and more", "english"), ("हिन्दी", "हिन्दी भाषा", "hi"),
    ("ภาษา", "ภาษาไทย", "th"), ("Ångström", "angstrom", "none"),
]  # fmt: skip


def test_a_query_finds_what_a_person_expects() -> None:
    for query, passage in ENGLISH.items():
        assert finds(query, passage), query
    for query, passage, language in OTHERS:
        assert finds(query, passage, language), query


def test_passages_keep_stop_words_and_queries_drop_them() -> None:
    assert terms("The cat of the house") == ("the", "cat", "of", "the", "hous")
    assert query_terms("The cat of the house?") == ("cat", "hous")
    assert query_terms("Who doesn't?") == ("who", "doesnt")


def test_a_query_of_stop_words_alone_still_finds() -> None:
    assert query_terms("To be, or not to be") == ("to", "be", "or", "not", "to", "be")
    assert finds("to be or not to be", "Hamlet: To be, or not to be")


def test_encoded_data_makes_no_terms() -> None:
    assert terms("x" * 65) == terms("ab1" * 5000) == ()
    assert terms("x" * 64) == ("x" * 64,)
    assert terms("a.b." * 100) == ()


def test_compounds() -> None:
    assert terms("non-linear", "none") == ("non", "linear", "nonlinear")
    assert terms("mother-in-law", "none") == ("mother", "in", "law")
    assert terms("gravity-fed", "none") == ("gravity", "fed")
    assert terms("gravi-\n  tation", "none") == ("gravi", "tation", "gravitation")


def test_languages_by_code_or_name_in_any_case() -> None:
    assert language_name("EN") == language_name(" English ") == "english"
    with pytest.raises(UsageError, match="'klingon'") as caught:
        terms("x", "klingon")
    assert "english" in str(caught.value.hint)


@given(st.text(max_size=200), st.sampled_from(["english", "french", "turkish", "ja", "hi", "none"]))
def test_any_text_gives_clean_terms(text: str, language: str) -> None:
    found = terms(text, language)
    assert found == terms(text, language)
    assert all(term and len(term) <= 70 and not any(map(str.isspace, term)) for term in found)
    assert set(query_terms(text, language)) <= set(found)
    assert bool(query_terms(text, language)) == bool(found)


@pytest.mark.parametrize(
    "text", ["a" * 200_000, "a-" * 100_000, "a'" * 100_000, "1," * 100_000, "é\u0301" * 100_000]
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    terms(text)
    assert time.process_time() - started < 2
