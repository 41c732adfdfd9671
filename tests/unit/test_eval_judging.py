"""What a reply to a question of an exam counts as, and what all replies amount to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.evaluation.judging import outcome, tallies, words
from secondlook.evaluation.records import Row
from secondlook.evaluation.statistics import wilson
from tests.support.eval_questions import answer, case

if TYPE_CHECKING:
    from secondlook.evaluation.records import Case

LATE = " ".join(["word"] * 60)


def asked(*right: str, kind: str = "fact", need: Any = "any", answerable: bool = True) -> Case:
    return replace(case(right=right, answerable=answerable), type=kind, need=need)


@pytest.mark.parametrize(
    ("question", "short", "text", "counts_as"),
    [
        (asked("18 August"), "18 August", "", "right"),
        (asked("18 August"), None, "They come on 18  AUGUST 2026 [1].", "right"),
        (asked("18 August"), "8 August", "They come on 118 August.", "wrong"),
        (asked("Orr"), None, "Ms Orrwell voted.", "wrong"),
        (asked("Orr"), None, f"{LATE} Orr", "wrong"),
        (asked("1"), None, "It is the second [1].", "wrong"),
        # Numbers, however they are written, within half of a hundredth; but a year is a year.
        (asked("4,867.50"), "£4867.5", "", "right"),
        (asked("1475.90"), "1.475,90 €", "", "right"),
        (asked("4867.50"), "about 4,880", "", "right"),
        (asked("4867.50"), "about 4,900", "", "wrong"),
        (asked("28"), "28.5", "", "wrong"),
        (asked("-12"), "12", "", "wrong"),
        (asked("2024"), "in 2025", "", "wrong"),
        # Every item, in the short answer or in the text.
        (asked("paint", "gas bottles", need="all"), "paint", "Gas bottles stay here.", "right"),
        (asked("paint", "plants", need="all"), "paint", "Paint and liquids.", "wrong"),
        # A reply must commit itself, also where only the answer says that yes or no is asked for.
        (asked("no", kind="yes_no"), "No", "", "right"),
        (asked("no", kind="yes_no"), None, "No, the balcony is too small.", "right"),
        (asked("no", kind="yes_no"), None, "Yes, on the balcony.", "wrong"),
        (asked("no", kind="yes_no"), None, "There is no room for it.", "uncommitted"),
        (asked("no", kind="follow_up"), None, "There is no room for it.", "uncommitted"),
        # Where nothing is to be found.
        (asked(kind="unanswerable", answerable=False), "Rex", "", "wrong"),
        (asked(kind="unanswerable", answerable=False), None, "There is no dog.", "wrong"),
        (asked("0", "none", kind="table_compute", answerable=False), "0", "", "right"),
        (asked(kind="table_compute", answerable=False), None, "There are no parrots.", "right"),
        (asked("0", kind="table_compute", answerable=False), None, "None of them.", "right"),
        (asked("0", kind="table_compute", answerable=False), "3", "", "wrong"),
        (asked(kind="meta"), "Hello", "", None),
        (case(right=["18 August"]), "18 August", "", None),
    ],
)
def test_a_reply_counts_as(
    question: Case, short: str | None, text: str, counts_as: str | None
) -> None:
    assert outcome(question, answer(short, text or short)) == counts_as


def test_nothing_said_is_withheld_and_right_only_where_there_is_no_answer() -> None:
    known, unknown = asked("18 August"), asked(kind="unanswerable", answerable=False)
    silent, failed = (answer(None, "?", status=status) for status in ("abstained", "failed"))
    assert [outcome(one, silent) for one in (known, unknown)] == ["withheld", "right"]
    assert [outcome(one, failed) for one in (known, unknown)] == ["withheld", "withheld"]
    assert [outcome(one, None) for one in (known, unknown)] == ["withheld", "withheld"]


def test_words_and_numbers_are_normalised() -> None:
    assert words("The 1,234,567 boxes, 12,5 kg, \N{MINUS SIGN}3 and LL-20583.") == [
        *("the", "1234567", "boxes", "12.5", "kg", "-3", "and", "ll", "20583"),
    ]


def test_the_table_has_kinds_then_kinds_together_then_tiers() -> None:
    def row(**told: Any) -> Row:
        return Row(configuration="auto", status="answered", stop_reason="answered", **told)

    found = tallies(
        [
            row(case="a", type="fact", outcome="right", tier="sure"),
            row(case="b", type="fact", outcome="wrong", tier="likely", grounded="yes"),
            row(case="c", type="table_lookup", outcome="wrong", tier="likely", grounded="no"),
            row(case="d", type="yes_no", outcome="uncommitted"),
            row(case="e", type="meta"),
        ]
    )
    kinds = ["fact", "table_lookup", "yes_no"]
    assert list(found) == [*kinds, "plain documents", "all kinds", "sure", "likely"]
    every = found["all kinds"]
    assert (every.n, *every.counts.values()) == (4, 1, 2, 0, 1, 1)
    assert found["plain documents"].counts["wrong"] == 1
    share = every.shares["wrong_under_a_seal"]
    assert (share.low, share.high) == wilson(0.25, 4)
    assert (found["sure"].shares["right"].value, found["likely"].shares["right"].value) == (1, 0)
