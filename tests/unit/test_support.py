"""What the judge of support sees, and what it must not hold against a sentence."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secondlook.reading.numbers import missing_numbers
from secondlook.reading.support import (
    DEFAULT_MIN_SUPPORT,
    MISSING_NAME,
    MISSING_NUMBER,
    ONE_SIDED_NOT,
    load_support,
    without_marks,
)

SURVEY = (
    "The deepest berth is berth 4 at the north quay with 7.8 metres at low water. "
    "Berth 2 has not been dredged since 2016. "
    "Dredging of the inner basin would cost 1.35 million crowns, says Ferris & Daughters."
)


def support(claim: str, evidence: str = SURVEY) -> float:
    return load_support("coverage").support([(claim, evidence)])[0]


@pytest.mark.parametrize(
    "claim",
    [
        "Berth 4 at the north quay is the deepest berth.",
        "At low water berth 4 has 7.8 metres.",
        "Dredging the inner basin costs 1,350,000 crowns.",
        "Berth 2 was not dredged since 2016. [1]",
        "According to Ferris & Daughters, dredging the basin would cost 1.35 million. [1, 2]",
    ],
)
def test_what_the_evidence_says_is_supported(claim: str) -> None:
    assert support(claim) >= 0.7


@pytest.mark.parametrize(
    ("claim", "cap"),
    [
        ("Berth 4 at the north quay has 8.7 metres at low water.", MISSING_NUMBER),
        ("Dredging of the inner basin would cost 1.53 million crowns.", MISSING_NUMBER),
        ("Berth 5 at the north quay is the deepest.", MISSING_NUMBER),
        ("Dredging of the inner basin would cost crowns, says Whitlock.", MISSING_NAME),
        ("Berth 2 has been dredged since 2016.", ONE_SIDED_NOT),
        ("The deepest berth is not berth 4 at the north quay.", ONE_SIDED_NOT),
        ("The deepest berth isn\u2019t berth 4 at the north quay.", ONE_SIDED_NOT),
    ],
)
def test_a_number_name_or_not_that_is_missing_caps_it(claim: str, cap: float) -> None:
    assert support(claim) <= cap < DEFAULT_MIN_SUPPORT


@pytest.mark.parametrize(
    "claim",
    ["The mayor closed a theatre because musicians complained.", "Yes.", "", "  ", "[1]", "***"],
)
def test_what_the_evidence_never_mentions_is_not_supported(claim: str) -> None:
    assert support(claim) < 0.3


def test_a_not_in_another_clause_is_no_contradiction() -> None:
    evidence = "The repair was postponed, as no offer had arrived."
    assert support("The repair was postponed.", evidence) == 1.0
    assert support("The repair was not postponed.", evidence) <= ONE_SIDED_NOT


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("1.386 million", "1,386,000"),
        ("the third of twelve", "3 of 12"),
        ("14 October 2024", "2024-10-14"),
        ("2024-10-14", "on October 14th, 2024"),
        ("5 degrees below zero", "-5 degrees"),
        ("at 18:00", "at 6:00 pm"),
        ("one of the first", "some of them"),
        ("hundreds of people, a million stars", "many people"),
        ("twenty five", "twenty\u2003five"),
        ("25", "twenty\n   five"),
    ],
)
def test_the_same_number_is_found_in_another_form(claim: str, evidence: str) -> None:
    assert missing_numbers(claim, evidence) == []


@pytest.mark.parametrize(
    ("claim", "evidence", "missing"),
    [
        ("7.8", "8.7 and 78", ["7.8"]),
        ("1,386", "1.386", ["1,386"]),
        ("1.4 million", "1.4", ["1.4 million"]),
        ("twelve and 13", "13 eggs", ["twelve"]),
        ("-5", "5", ["-5"]),
        ("2024-10-14", "14 November 2024", ["2024-10-14"]),
        ("HM-2024-08", "HM-2024-07", ["HM-2024-08"]),
        ("twenty-five", "twenty and five", ["twenty-five"]),
    ],
)
def test_another_number_is_missing(claim: str, evidence: str, missing: list[str]) -> None:
    assert missing_numbers(claim, evidence) == missing


_LIVELY = st.text(
    alphabet=st.sampled_from("0123456789.,:-/ \n\t\u00a0\u202fabcdmkMHAtwoelvBp'%[]()\u2212"),
    max_size=60,
)


@given(_LIVELY | st.text(max_size=60))
def test_a_text_holds_its_own_numbers_however_it_is_wrapped(text: str) -> None:
    assert missing_numbers(" ".join(text.split()), text) == []


@given(st.text(max_size=80), st.text(max_size=80))
def test_support_is_a_share_whatever_the_texts(claim: str, evidence: str) -> None:
    assert 0.0 <= support(claim, evidence) <= 1.0


@given(_LIVELY | st.text(max_size=80))
def test_a_text_supports_itself(text: str) -> None:
    if any(sign.isalnum() for sign in without_marks(text)):
        assert support(text, text) >= DEFAULT_MIN_SUPPORT


@pytest.mark.parametrize(
    "piece", ["a", "1", "1,", "not ", "A.", ". ", "\n", "Aa ", "1-", "('", "[1"]
)
def test_hostile_lengths_take_no_time(piece: str) -> None:
    text = piece * 50_000
    began = time.process_time()
    support(text[:5_000], text)
    assert time.process_time() - began < 5
