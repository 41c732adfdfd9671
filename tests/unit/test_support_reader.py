"""The trained judge: what it asks its model, what it need not ask, and when words stand in."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from secondlook.errors import ModelUnavailable
from secondlook.reading import support as module
from secondlook.reading import weights
from secondlook.reading.support import (
    MISSING_NUMBER,
    CoverageSupport,
    ReaderSupport,
    SupportHead,
    SupportHeadError,
    is_verbatim,
    joined_evidence,
    load_support,
    read_head,
    stands_in,
)

QUOTE = (
    "The deepest berth is berth 4 at the north quay. It has 7.8 metres at low water.\n\n"
    "It is not true that Dr. Ferris closed the quay! Berth 2 was closed in 2016"
)
EVIDENCE = joined_evidence([("Harbour survey", QUOTE)])
HEAD = SupportHead("reader@0123456789ab", bias=0.0, weight=1.0, caps=("number",))


class Clerk:
    """A judge that believes what shares its last word with the evidence, and notes what it saw."""

    name = "reader@0123456789ab"
    judges = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def judge(self, claims: Sequence[tuple[str, str]]) -> list[float]:
        self.asked += claims
        return [4.0 if claim.split()[-1] in evidence else -4.0 for claim, evidence in claims]


def judged(claim: str, evidence: str = EVIDENCE, head: SupportHead = HEAD) -> tuple[float, Clerk]:
    clerk = Clerk()
    return ReaderSupport(lambda: clerk, head).support([(claim, evidence)])[0], clerk


@pytest.mark.parametrize(
    "claim",
    [
        "The deepest berth is berth 4 at the north quay.",
        "It has 7.8 metres at low water.",
        "The deepest berth is berth 4 at the north quay. It has 7.8 metres at low water.",
        "The deepest berth is berth 4\nat the north quay",
        "Berth 2 was closed in 2016",
        "Harbour survey",
        " ".join(QUOTE.split()),
    ],
)
def test_whole_sentences_of_the_evidence_are_verbatim(claim: str) -> None:
    assert is_verbatim(claim, EVIDENCE)
    support, clerk = judged(claim)
    assert support == 1.0
    assert clerk.asked == []


@pytest.mark.parametrize(
    "claim",
    [
        "",
        "Ferris closed the quay!",
        "closed the quay!",
        "Dr. Ferris closed the quay!",
        "It has 7",
        "It has 7.8 metres",
        "Berth 2 was closed",
        "Berth 4 at the north quay is the deepest berth.",
        "The deepest berth is berth 4 at the south quay.",
    ],
)
def test_pieces_and_changes_of_sentences_are_not_verbatim(claim: str) -> None:
    assert not is_verbatim(claim, EVIDENCE)


def test_a_claim_is_worth_what_its_weakest_sentence_is_worth() -> None:
    true, false = "It has 7.8 metres at low water.", "The quay was sold to a bank."
    support, clerk = judged(f"{true} {false} [1]")
    assert clerk.asked[0] == (false, EVIDENCE)
    assert {claim for claim, _ in clerk.asked} == {false}
    assert support == pytest.approx(HEAD.probability(-4.0), abs=1e-4)


def test_a_number_must_be_there_whatever_the_model_believes() -> None:
    support, _ = judged("Berth 4 has 9.9 metres at low water")
    assert support == MISSING_NUMBER
    free = SupportHead(HEAD.reader, HEAD.bias, HEAD.weight, caps=())
    assert judged("Berth 4 has 9.9 metres at low water", head=free)[0] > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "format 99"),
        ({"weight": -1}, "weight -1.0"),
        ({"bias": float("nan")}, "bias nan"),
        ({"bias": "much"}, "no support head"),
        ({"caps": None}, "no support head"),
        ({"answer": [0.0, -1.0]}, "head of format"),
    ],
)
def test_a_broken_head_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    file = tmp_path / "head.json"
    made = {"format": 1, "reader": "tiny@1", "bias": 0.0, "weight": 1.0, "caps": ["number"]}
    made["answer"] = [0.5, 2.0]
    file.write_text(json.dumps(made), "utf-8")
    assert read_head(file) == SupportHead("tiny@1", 0.0, 1.0, ("number",), (0.5, 2.0))
    file.write_text(json.dumps(made | change), "utf-8")
    with pytest.raises(SupportHeadError, match=message) as caught:
        read_head(file)
    assert "benchmarks.groundedness fit" in str(caught.value.hint)
    with pytest.raises(SupportHeadError, match="No such file"):
        read_head(tmp_path / "none.json")


def test_probabilities_of_another_reader_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "shipped_head", lambda: HEAD)
    judge = load_support("reader")
    assert isinstance(judge, CoverageSupport)
    assert "'reader@0123456789ab'" in str(stands_in(judge))
    assert "words alone" in str(stands_in(judge))
    assert stands_in(load_support("coverage")) is None


def test_without_weights_words_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ModelUnavailable("the embedded reader is not installed")

    monkeypatch.setattr(weights, "find_weights", missing)
    why = stands_in(load_support("reader"))
    assert why == "the embedded reader is not installed, so support is judged by words alone"
