"""Every kind of alteration, on rows written by hand: what it makes and when it declines."""

from __future__ import annotations

from random import Random

import pytest

from training.data.articles import Article, View, articles_of, name_use
from training.data.claims import (
    Scene,
    altered,
    passage_claims,
    reordered,
    reworded,
    without_clause,
    without_opening,
)
from training.data.rows import Passage, without
from training.data.squad import Source
from training.data.swaps import (
    NameUse,
    WordUse,
    changed_number,
    exchanged_names,
    number_form,
    swapped_name,
    swapped_word,
)
from training.data.texts import names, numbers
from training.data.unanswerable import (
    MAKERS,
    Asked,
    Usage,
    entity_swapped,
    near_miss,
    negated,
    number_changed,
    sentence_removed,
    unanswerable_rows,
    word_reversed,
    word_swapped,
)
from training.data.wording import negated_question, negated_statement, reversed_word

TEXT = (
    "The college was founded in 1842 by Edward Sorin. Its first library opened in 1873 under"
    " Auguste Lemonnier. The largest building has a golden dome, which was added in 1882."
    " Students from Chicago and visitors from Boston came every autumn to see the old dome."
    " In 1879, a fire destroyed the chapel."
)
OTHER = (
    "The hockey team was coached by Henry Becker until 1931. The stadium was paid for by Anna"
    " Miller. Many players came from Denver. The team moved from Denver to Boston in 1950."
)


@pytest.fixture
def article() -> Article:
    passages = {0: Passage("North College", TEXT), 1: Passage("North College", OTHER)}
    return articles_of(passages)["North College"]


@pytest.fixture
def use(article: Article) -> Usage:
    found = name_use([article])
    for name in ("Edward", "Auguste", "Henry", "Anna"):
        for last in ("Adams", "Baker", "Clark", "Davis", "Sorin", "Lemonnier", "Becker", "Miller"):
            found.learn(names(f"It was {name} {last} who came."))
    for place in ("Denver", "Boston", "Chicago"):
        found.learn(names(f"They lived in {place}."))
    asked = WordUse()
    for noun in ("library", "library", "stadium", "stadium", "chapel", "chapel", "moon", "moon"):
        asked.learn(f"When was the {noun} opened?")
    return Usage(found, asked)


def asked(article: Article, question: str, answer: str, near: tuple[int, ...] = (1,)) -> Asked:
    start = TEXT.index(answer)
    span = (start, start + len(answer))
    return Asked(question, (answer,), span, article.views[0], article, near)


def draws(count: int = 40) -> list[Random]:
    return [Random(seed) for seed in range(count)]


def test_the_sentence_with_the_answer_is_removed(article: Article, use: Usage) -> None:
    row = sentence_removed(asked(article, "Who founded it?", "Edward Sorin"), use, Random(0))
    assert row is not None
    assert row.cut == (0, TEXT.index(" Its"))
    rest = without(TEXT, row.cut)
    assert rest.startswith("Its first library")
    assert "Sorin" not in rest


def test_nothing_is_removed_where_the_answer_stands_elsewhere_too(
    article: Article, use: Usage
) -> None:
    assert sentence_removed(asked(article, "What is golden?", "dome"), use, Random(0)) is None


def test_nothing_is_removed_where_too_little_would_be_left(use: Usage) -> None:
    short = articles_of({0: Passage("T", "Ann wrote it. Bob read it.")})["T"]
    row = Asked("Who wrote it?", ("Ann",), (0, 3), short.views[0], short, ())
    assert sentence_removed(row, use, Random(0)) is None


def test_a_name_is_swapped_for_one_of_its_kind_outside_the_answering_sentence(
    article: Article, use: Usage
) -> None:
    question = asked(article, "In what year did Auguste Lemonnier open the library?", "1873")
    made = {row.question for d in draws() if (row := entity_swapped(question, use, d))}
    assert made
    assert made <= {
        f"In what year did {name} open the library?"
        for name in ("Edward Sorin", "Henry Becker", "Anna Miller")
    }


def test_a_name_is_not_swapped_where_the_passage_does_not_know_it(
    article: Article, use: Usage
) -> None:
    question = asked(article, "In what year did Marie Curie open the library?", "1873")
    assert entity_swapped(question, use, Random(0)) is None


def test_a_place_is_swapped_for_a_place(article: Article, use: Usage) -> None:
    question = "Who came from Chicago?"
    found = names(question)
    pool = names(OTHER) + names(TEXT)
    made = {
        swapped_name(question, targets=found, pool=pool, avoid="Boston", use=use.names, draw=d)
        for d in draws()
    }
    assert made == {"Who came from Denver?"}


def test_a_short_form_is_no_other_name() -> None:
    use = NameUse()
    pool = names("He left the UN and the UK. She left the UN and the UK.")
    use.learn([*pool, *names("It was the EU. It was the EU.")])
    question = "Who led the United Nations and the EU?"
    targets = names(question)
    made = {
        swapped_name(question, targets=targets, pool=pool, avoid="", use=use, draw=d)
        for d in draws()
    }
    assert made == {"Who led the United Nations and the UK?"}


def test_a_year_that_the_passage_states_is_changed(article: Article, use: Usage) -> None:
    question = asked(article, "Who founded the college in 1842?", "Edward Sorin")
    made = {row.question for d in draws() if (row := number_changed(question, use, d))}
    assert "Who founded the college in 1842?" not in made
    assert {"Who founded the college in 1873?", "Who founded the college in 1882?"} <= made
    unstated = asked(article, "Who founded the college in 1999?", "Edward Sorin")
    assert number_changed(unstated, use, Random(0)) is None


@pytest.mark.parametrize(
    ("number", "form"),
    [("two", "word"), ("1950s", "decade"), ("1950", "year"), ("3.5", "3 characters, 1 points")],
)
def test_numbers_keep_their_form(number: str, form: str) -> None:
    text = f"It had {number} of them."
    for draw in draws():
        made = changed_number(text, targets=numbers(text), pool=(), avoid="", draw=draw)
        assert made is not None
        assert made != text
        new = made.removeprefix("It had ").removesuffix(" of them.")
        assert number_form(number) == number_form(new) == form


def test_a_day_stays_a_day_and_which_two_stays_which_two() -> None:
    text = "It opened on June 30."
    made = {changed_number(text, targets=numbers(text), pool=(), avoid="", draw=d) for d in draws()}
    days = {int(sentence.removesuffix(".").split()[-1]) for sentence in made if sentence}
    assert max(days) <= 28
    which = "Which two men came?"
    targets = numbers(which)
    assert changed_number(which, targets=targets, pool=(), avoid="", draw=Random(0)) is None


def test_a_word_is_turned_around_if_the_passage_never_says_the_opposite(
    article: Article, use: Usage
) -> None:
    question = asked(article, "What does the largest building have?", "a golden dome")
    row = word_reversed(question, use, Random(0))
    assert row is not None
    assert row.question == "What does the smallest building have?"
    both = reversed_word(
        "What was the first dome?", absent_from="the last one", draw=Random(0), question=True
    )
    assert both is None


def test_more_than_becomes_fewer_than() -> None:
    made = {
        reversed_word("Who has more than one?", absent_from="", draw=d, question=True)
        for d in draws()
    }
    assert made == {"Who has fewer than one?"}


def test_a_word_is_swapped_for_one_that_only_the_article_has(article: Article, use: Usage) -> None:
    question = asked(article, "When was the library opened?", "1873")
    made = {row.question for d in draws() if (row := word_swapped(question, use, d))}
    assert made <= {"When was the stadium opened?", "When was the chapel opened?"}
    assert made
    known = article.words - {"stadium", "chapel"}
    nothing = swapped_word(
        "When was the library opened?",
        known=known,
        answering="The library opened.",
        use=use.words,
        draw=Random(0),
    )
    assert nothing is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who was awarded the prize?", "Who was not awarded the prize?"),
        ("What did she sing in 2003?", "What didn't she sing in 2003?"),
        ("Who joined the army?", "Who never joined the army?"),
        ("In what year did she leave?", None),
        ("What year did she leave?", None),
        ("What is the name of it?", None),
        ("Why so many?", None),
    ],
)
def test_questions_are_negated_as_people_would(question: str, expected: str | None) -> None:
    assert negated_question(question) == expected


def test_a_negated_question_is_not_negated_again(article: Article, use: Usage) -> None:
    assert negated(asked(article, "Who was not there?", "Edward Sorin"), use, Random(0)) is None


def test_a_near_miss_is_the_nearest_passage_of_the_article(article: Article, use: Usage) -> None:
    row = near_miss(asked(article, "Who?", "Edward Sorin"), use, Random(0))
    assert row is not None
    assert row.passage == 1
    assert near_miss(asked(article, "Who?", "Edward Sorin", ()), use, Random(0)) is None


def test_two_rows_of_different_kinds_and_the_same_on_every_run(
    article: Article, use: Usage
) -> None:
    question = asked(article, "Who founded the college in 1842?", "Edward Sorin")
    for seed in range(20):
        rows = unanswerable_rows(question, use=use, draw=Random(seed), count=2)
        assert len({row.how for row in rows}) == 2
        assert rows == unanswerable_rows(question, use=use, draw=Random(seed), count=2)
        assert {row.how for row in rows} <= set(MAKERS)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The dome was built here.", "The dome was not built here."),
        ("It can fly.", "It cannot fly."),
        ("They did not come.", "They did come."),
        ("She has been seen.", "She has not been seen."),
        ("She sang.", None),
    ],
)
def test_statements_are_negated(sentence: str, expected: str | None) -> None:
    assert negated_statement(sentence) == expected


def test_names_change_places_unless_they_are_a_mere_list(use: Usage) -> None:
    moved = "The team moved from Denver to Boston in 1950."
    turned = exchanged_names(moved, use=use.names, draw=Random(0))
    assert turned == "The team moved from Boston to Denver in 1950."
    for listed in ("They saw Denver, Boston and Chicago.", "She came alone."):
        assert exchanged_names(listed, use=use.names, draw=Random(0)) is None


def test_claims_lose_a_clause_or_change_order() -> None:
    full = "In 1879, the fire, which began at night, destroyed the chapel (built in 1850)."
    assert without_clause(full) == "In 1879, the fire, which began at night, destroyed the chapel."
    assert without_clause("The fire, which began at night, destroyed it.") == (
        "The fire destroyed it."
    )
    assert without_clause("He left the town, taking his books.") == "He left the town."
    assert reordered("In 1879, the fire destroyed it.") == "The fire destroyed it in 1879."
    assert reordered("By 1879, the fire was out.") == "By 1879, the fire was out."
    assert without_opening("By 1879, the fire was out.") == "The fire was out."
    assert without_opening("On May 5, 1779, 20 men came.") == "On May 5, 1779, 20 men came."
    assert reworded("She came home early that day.", Random(0))[0] == "stated"


def test_an_altered_claim_is_not_in_the_passage(article: Article, use: Usage) -> None:
    scene = Scene(article.views[0], article, use.names)
    kinds = set()
    for draw in draws(200):
        sentence = "The college was founded in 1842 by Edward Sorin."
        found = altered(sentence, scene, draw)
        assert found is not None
        how, changed = found
        kinds.add(how)
        assert changed != sentence
        assert changed not in TEXT
    assert kinds == {"number changed", "name swapped", "negated"}


def test_claims_of_a_passage_come_in_pairs_and_name_their_premise(
    article: Article, use: Usage
) -> None:
    scene = Scene(article.views[0], article, use.names)
    start = TEXT.index("Edward Sorin")
    source = Source("q", "Who founded the college?", ("Edward Sorin",), 0, (start, start + 12))
    passages = [view.passage for view in article.views]
    sources = set()
    for draw in draws(60):
        for claim in passage_claims(scene, [source], draw=draw):
            sources.add(claim.source)
            premise = claim.premise_text(passages)
            if claim.source == "own: stated":
                assert claim.label == 1
                assert claim.hypothesis in premise
            if claim.label == 0:
                assert claim.hypothesis not in premise
    assert {
        "own: stated",
        "own: question and answer",
        "own: sentence removed",
        "own: of another passage",
        "own: number changed",
        "own: name swapped",
        "own: negated",
        "own: answer, name swapped",
    } <= sources


def test_a_view_finds_answers(article: Article) -> None:
    view = View(3, Passage("T", "Sung by Beyoncé."))
    assert view.holds_any(["nobody", "beyoncé"])
    assert not view.holds_any([])
