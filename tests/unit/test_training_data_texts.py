"""Finding sentences, names and numbers, and saying a question with its answer."""

from __future__ import annotations

import pytest

from training.data.chance import chance, is_dev
from training.data.statements import quoted, statement
from training.data.support import tidy
from training.data.texts import holds, names, normalised, numbers, sentence_at, sentences


def said(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def test_sentences_end_where_a_reader_ends_them() -> None:
    text = 'Dr. Ann Lee met J. Smith in the U.S. Senate. He said "Go." She left! It was 1900. Why?'
    assert said(text) == [
        "Dr. Ann Lee met J. Smith in the U.S. Senate.",
        'He said "Go."',
        "She left!",
        "It was 1900.",
        "Why?",
    ]
    assert said("No full stop at all") == ["No full stop at all"]
    assert said("") == []


def test_a_span_over_two_sentences_takes_both() -> None:
    text = "One is here. Two is there. Three is away."
    assert sentence_at(sentences(text), 8, 16) == (0, 26)
    assert sentence_at([], 3, 5) == (3, 5)


def test_names_are_capitalised_phrases_and_no_openings() -> None:
    text = "The Queen of England met Ann Lee's son in May. In Paris, Otto slept. Then it rained."
    assert [name.text for name in names(text)] == ["Queen of England", "Ann Lee", "Paris", "Otto"]
    assert [name.after for name in names(text)][:3] == ["the", "met", "in"]
    for name in names(text):
        assert text[name.start : name.end] == name.text


def test_a_question_word_is_no_name() -> None:
    assert [name.text for name in names("What did Beyoncé sing with the X-ray tube?")] == [
        "Beyoncé"
    ]


def test_numbers_in_digits_and_words_but_not_in_ranges_or_compounds() -> None:
    text = "In 1950 and the 1960s, 1,200 men, 3.5% and two dogs (1914-1918) took one six-way road."
    assert [number.text for number in numbers(text)] == ["1950", "1960s", "1,200", "3.5", "two"]


def test_an_answer_is_found_as_words_or_as_a_piece() -> None:
    text = "The Taj Mahal, built 1632-1653."
    low = text.lower()
    assert holds(normalised(text), low, "1632")
    assert holds(normalised(text), low, "a Taj-Mahal")
    assert not holds(normalised(text), low, "63")
    assert not holds(normalised(text), low, "...")


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("Who wrote Emma in 1815?", "Jane Austen", "Jane Austen wrote Emma in 1815."),
        ("What is the capital of France?", "Paris", "The capital of France is Paris."),
        ("Which team won the cup in 1990?", "the Reds", "The Reds won the cup in 1990."),
        ("What album was released in 2003?", "Blue", "Blue was released in 2003."),
        ("When was the dome built?", "1879", "The dome was built in 1879."),
        (
            "When was the dome built by Ann?",
            "May 3, 1879",
            "The dome was built by Ann on May 3, 1879.",
        ),
        ("Where was Chopin born?", "near Warsaw", "Chopin was born near Warsaw."),
        ("How many people were killed in it?", "12", "12 people were killed in it."),
        ("How many people were killed?", "12 people", "12 people were killed."),
        ("Why did she leave?", "cold", None),
        ("What is the hotel called?", "Ritz", None),
        ("What did he eat?", "bread", None),
        ("Which two men wrote it?", "Ann and Bob", None),
        ("Who wrote it?", "a very long answer that is a clause of its own", None),
        ("Who wrote it?", ".", None),
    ],
)
def test_questions_become_statements_where_their_form_allows(
    question: str, answer: str, expected: str | None
) -> None:
    assert statement(question, answer) == expected


def test_every_question_can_be_quoted() -> None:
    assert quoted(" Why? ", "because.") == 'The answer to "Why?" is because.'


def test_parser_spelling_becomes_plain_writing() -> None:
    assert tidy("He -LRB- b. 1900 -RRB- said `` go '' , did n't he ?") == (
        'He (b. 1900) said "go", didn\'t he?'
    )


def test_draws_depend_on_seed_and_key_alone() -> None:
    assert chance(0, "a").random() == chance(0, "a").random()
    assert chance(0, "a").random() != chance(1, "a").random()
    held = [is_dev(0, str(number), 0.02) for number in range(5000)]
    assert 60 < sum(held) < 140
