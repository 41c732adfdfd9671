"""Words as terms: what finds what."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.errors import UsageError
from secondlook.retrieval import terms as analyse
from secondlook.retrieval.terms import LANGUAGES, STOP_WORDS, language_name, query_terms, terms


def finds(query: str, passage: str, language: str = "english") -> bool:
    return bool(set(query_terms(query, language)) & set(terms(passage, language)))


@pytest.mark.parametrize(
    ("query", "passage"),
    [
        ("run", "They were running."),
        ("resume", "Two résumés"),
        ("NAÏVE", "naive"),
        ("email", "Send an e-mail!"),
        ("e-mail", "by email"),
        ("information", "the infor-\nmation age"),
        ("art", "state-of-the-art"),
        ("USA", "the U.S.A. and Canada"),
        ("1000000", "1,000,000 people"),
        ("3.5", "version 3.5, released"),
        ("c++", "written in C++."),
        ("C#", "a C# class"),
        ("army", "the army's men"),
        ("army", "the army\u2019s men"),
        ("O'Neil", "o\u2019neil"),
        ("H2O", "H₂O"),
        ("file", "ﬁle"),  # a ligature, as PDFs have them
        ("ＡＢＣ", "abc"),  # noqa: RUF001 - full width on purpose
        ("snake", "snake_case_name"),
        ("d41d8cd98f00b204e9800998ecf8427e", "md5 d41d8cd98f00b204e9800998ecf8427e"),
        ("coop\u00aderate", "cooperate"),
        ("2024", "2024-05-17"),
        ("αβγ", "ΑΒΓ"),
    ],
)
def test_a_query_finds_what_a_person_expects(query: str, passage: str) -> None:
    assert finds(query, passage)


@pytest.mark.parametrize(
    ("query", "passage", "language"),
    [
        ("Haus", "die Häuser", "german"),
        ("strasse", "Straße", "de"),
        ("élève", "les élèves", "fr"),
        ("amour", "l'amour", "french"),
        ("canción", "canciones", "es"),
        ("ışık", "IŞIK", "tr"),  # noqa: RUF001 - the dotless i
        ("istanbul", "İSTANBUL", "tr"),
        ("книга", "книги", "ru"),
        ("все", "всё", "ru"),
        ("東京", "東京都に住む", "ja"),
        ("京都", "京都です。", "japanese"),
        ("猫", "猫。", "ja"),
        ("カ", "ｶ", "ja"),
        ("한국", "한국어로", "ko"),
        ("機器學習", "什麼是機器學習？", "zh"),  # noqa: RUF001 - Chinese punctuation
        ("学习", "mixed text 机器学习 and more", "english"),
        ("हिन्दी", "हिन्दी भाषा", "hi"),
        ("ภาษา", "ภาษาไทย", "th"),
        ("Ångström", "angstrom", "none"),
    ],
)
def test_other_languages(query: str, passage: str, language: str) -> None:
    assert finds(query, passage, language)


def test_isolated_characters_stand_alone_and_runs_become_overlapping_pairs() -> None:
    assert terms("東京都 and 犬", "ja") == ("東京", "京都", "and", "犬")
    assert terms("第3章", "zh") == ("第", "3", "章")


def test_passages_keep_stop_words_and_queries_drop_them() -> None:
    assert terms("The cat of the house") == ("the", "cat", "of", "the", "hous")
    assert query_terms("The cat of the house?") == ("cat", "hous")
    assert query_terms("Who doesn't?") == ("who", "doesnt")


def test_a_query_of_stop_words_alone_still_finds() -> None:
    assert query_terms("To be, or not to be") == ("to", "be", "or", "not", "to", "be")
    assert finds("to be or not to be", "Hamlet: To be, or not to be")


def test_none_neither_stems_nor_drops() -> None:
    assert query_terms("The running men", "none") == ("the", "running", "men")


def test_order_and_repetitions_are_kept() -> None:
    assert terms("b a b") == ("b", "a", "b")


@pytest.mark.parametrize("text", ["", "   ", "!?… —", "_", "''", "-", "\u200b", "\u0301"])
def test_nothing_to_find(text: str) -> None:
    assert terms(text) == query_terms(text) == ()


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


@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
def test_every_language_works(language: str) -> None:
    assert terms("Berlin 1989", language)
    assert len(terms("Berlin 1989", language)) == 2


def test_stop_words_are_written_as_the_analyser_sees_them() -> None:
    for language, words in STOP_WORDS.items():
        assert language in LANGUAGES.values()
        for word in words:
            assert list(analyse._words(word, language)) == [word]
            assert (
                query_terms(f"{word} zzz", language)[:1] != terms(word, language) or word == "zzz"
            )


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
