"""Values are taken from where they are cited, as they are written there."""

from __future__ import annotations

from typing import Any

import pytest

from secondlook.nodes.combine import combined
from secondlook.nodes.state import Cited, DraftData, PartData, Sentence
from tests.support.engine import passages_of


def part(question: str, short: str | None, passage: Any, **more: Any) -> PartData:
    place = Cited(passage=passage.id, start=passage.start, end=passage.end)
    sentence = Sentence(text=passage.text, cited=[place], support=1.0, supported=True)
    values: dict[str, Any] = {
        "method": "generative",
        "model": "m",
        "sentences": [sentence],
        "short": short,
        "stop": "answered",
        "confidence": 0.5,
        "reasons": [],
        "note": None,
        **more,
    }
    return PartData(question=question, asked=question, draft=DraftData(**values))  # type: ignore[typeddict-item]


def pair(
    texts: tuple[str, str], shorts: tuple[str | None, str | None], asks: str = "When was {} born?"
) -> tuple[list[PartData], dict[str, Any]]:
    passages = passages_of([("a", texts[0]), ("b", texts[1])])
    questions = [asks.format(name) for name in ("Ada Vane", "Bo Reed")]
    parts = [part(*one) for one in zip(questions, shorts, passages, strict=True)]
    return parts, {passage.id: passage for passage in passages}


def test_a_value_is_quoted_as_its_place_writes_it() -> None:
    texts = ("Born\nSeptember 4,\n1981.", "Born in 1979.")
    draft = combined(*_with("earliest", *pair(texts, ("4 September 1981", "1979"))))
    assert draft is not None
    made = draft["sentences"][0]["computation"]
    assert made is not None
    assert made["operands"][0]["text"].split() == ["September", "4,", "1981"]
    assert draft["short"] == "Bo Reed"


def _with(combining: Any, parts: Any, held: Any) -> Any:
    return parts, combining, held


@pytest.mark.parametrize(
    "shorts", [("1999", "1979"), ("then", "1979"), (None, "1979"), ("198", "1979")]
)
def test_a_value_that_its_place_does_not_state_is_refused(shorts: Any) -> None:
    texts = ("Born in 1981.", "Born in 1979.")
    assert combined(*_with("earliest", *pair(texts, shorts))) is None


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (("It is 330 metres high.", "It is 300 m high."), "30 metres"),
        (("It is 330 metres high.", "It is 300 feet high."), None),
        (("It cost $330 million.", "It cost $300 million."), None),
    ],
)
def test_the_unit_is_taken_from_the_place(texts: tuple[str, str], result: str | None) -> None:
    draft = combined(*_with("difference", *pair(texts, ("330", "300"), "How high is {}?")))
    assert (draft and draft["short"]) == result


def test_a_date_that_the_reader_cut_is_taken_whole() -> None:
    texts = ("Born on 4 May 1979 at sea.", "Born on 5 May 1979, died on 6 June 1979.")
    draft = combined(*_with("earliest", *pair(texts, ("4 May", "5 May 1979"))))
    assert draft is not None
    assert draft["short"] == "Ada Vane"
    unclear = combined(*_with("earliest", *pair(texts, ("4 May", "1979"))))
    assert unclear is None


@pytest.mark.parametrize("second", ["Bo Reed is an actor.", "Bo Reed is no director."])
def test_that_both_are_is_never_guessed(second: str) -> None:
    texts = ("Ada Vane is a director.", second)
    assert combined(*_with("both", *pair(texts, ("x", "y"), "Is {} a director?"))) is None
