"""What an answer says of the cap that cut it short, and how that is taken off again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.nodes.limits import cut_short_by, without_cut
from secondlook.settings.sections import BudgetSettings

if TYPE_CHECKING:
    from secondlook.errors import Cap

BUDGETS: list[tuple[Cap, BudgetSettings, str]] = [
    ("seconds", BudgetSettings(seconds=1), "1 second."),
    ("seconds", BudgetSettings(seconds=0.5), "0.5 seconds."),
    ("calls", BudgetSettings(calls=1), "1 model call."),
    ("tokens", BudgetSettings(tokens=12_000), "12,000 tokens."),
    ("money", BudgetSettings(money=0.02), "0.02 US dollars."),
    ("price", BudgetSettings(money=0.02), "price is unknown"),
]


@pytest.mark.parametrize(("cap", "budget", "words"), BUDGETS)
def test_it_names_the_cap_and_is_known_for_ours(
    cap: Cap, budget: BudgetSettings, words: str
) -> None:
    said = cut_short_by(cap, budget)
    assert words in said
    assert without_cut(f"The quay is old. [1]\n\n{said}") == "The quay is old. [1]"


def test_the_same_words_within_an_answer_are_the_answers_own() -> None:
    text = f"It says {cut_short_by('calls', BudgetSettings(calls=2))} on page 3. [1]"
    assert without_cut(text) == text
