"""Words, numbers and kinds of columns, as questions about rows see them."""

from __future__ import annotations

import pytest

from secondlook.tables.understand.drafts import score, shares, weights
from secondlook.tables.understand.sentence import header_words, index, is_year, number, stem, tokens
from tests.support.row_tables import FILMS, GAMES, MEDALS, ORDERS, table_of


def test_tokens_keep_their_places() -> None:
    text = "Caf\u00e9's 1,200.5 \u2265 3rd, -4"
    words = tokens(text)

    assert [word.text for word in words] == ["cafe's", "1,200.5", "\u2265", "3rd", "-4"]
    assert text[words[0].start : words[0].end] == "Caf\u00e9's"
    assert [word.stem for word in words] == ["cafe", "1,200.5", "\u2265", "3", "-4"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("countries", "country"),
        ("boxes", "box"),
        ("games", "game"),
        ("gas", "gas"),
        ("class", "class"),
        ("won", "win"),
        ("27th", "27"),
    ],
)
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_numbers() -> None:
    assert number("seven") == 7
    assert number("1,200") == 1200
    assert number("-4") == -4
    assert number("apple") is None
    assert number("1.2.3") is None
    assert is_year(1996)
    assert not is_year(12)
    assert not is_year(None)


def test_names_of_columns_are_spelled_out() -> None:
    assert header_words("#") == ("number",)
    assert header_words("Pts") == ("point",)
    assert header_words("unitPrice") == ("unit", "price")


def test_kinds_of_columns() -> None:
    def kinds(text: str) -> dict[str, str]:
        return {one.name: one.kind for one in index(table_of(text)).columns}

    assert kinds(FILMS)["Year"] == "year"
    assert kinds(FILMS)["Length"] == "number"
    assert kinds(GAMES)["Date"] == "date"
    assert kinds(GAMES)["Result"] == "text"
    assert kinds(ORDERS)["order_id"] == "label"
    spans = "Reign|Who\n1200-1210|Ada\n1210 to 1230|Bo\n1231|Cy"
    assert kinds(spans)["Reign"] == "year"
    bare = "When it was|Who\n1200 CE|Ada\n1210 CE|Bo\n1231 CE|Cy"
    assert kinds(bare)["When it was"] == "year"


def test_results_of_games_and_rows_of_sums_are_known() -> None:
    assert index(table_of(GAMES)).column("Result").outcomes
    assert index(table_of(MEDALS)).totals == (("Nation", "Total"),)


def test_what_a_row_is_about() -> None:
    assert index(table_of(MEDALS)).subject.name == "Nation"
    assert index(table_of(FILMS)).subject.name == "Title"


def test_shares_of_likelihood() -> None:
    assert shares([]) == []
    assert shares([0.0, 0.0]) == [0.5, 0.5]
    assert shares([1000.0, 0.0])[0] == pytest.approx(1)
    assert score({"a": 2.0, "b": 1.0}, {"a": 0.5}) == 1.0
    assert len(weights()) > 100
