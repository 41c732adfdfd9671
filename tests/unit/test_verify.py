"""What can be said of an answer without any library: does it agree with itself?"""

from __future__ import annotations

from typing import Any

import pytest

from secondlook.answer import Answer, Claim
from secondlook.verify import examine, verify
from secondlook.verify.citations import needs_library
from tests.support.answers import from_the_web

FIRST = "Spring tides at Halvermouth reach 4.9 metres."
SECOND = "Neap tides stay below 3.1 metres."


def two_claims(**given_: Any) -> Answer:
    """A true answer of two sentences on one page of the web, each with its own citation."""
    answer = from_the_web()
    one = answer.citations[0]
    text = answer.passages[0].text or ""
    start = one.start + text.index(SECOND)
    two = one.model_copy(
        update={"number": 2, "quote": SECOND, "start": start, "end": start + len(SECOND)}
    )
    claims = (
        Claim(text=FIRST, citations=(1,), support=1.0, supported=True),
        Claim(text=SECOND, citations=(2,), support=1.0, supported=True),
    )
    values = {
        "citations": (one, two),
        "claims": claims,
        "text": f"{FIRST} [1] {SECOND} [2]",
        "method": "generative",
        **given_,
    }
    return answer.model_copy(update=values)


def lines(answer: Answer, **options: Any) -> list[str]:
    return [str(problem) for problem in verify(answer, None, **options)]


def test_it_stands() -> None:
    assert lines(from_the_web()) == []
    assert lines(two_claims()) == []
    assert not needs_library(two_claims())


@pytest.mark.parametrize(
    "text",
    [
        f"{FIRST} [1] {SECOND} [2]",
        f"{FIRST}[1]\n{SECOND}[2]\n",
        f"{FIRST} [1]\n\n- {SECOND} [2]",
        f"{FIRST} {SECOND}",
        f"{FIRST} [1]\n\n{SECOND} [2]\n\nOne sentence was cut [1].",
        f"{FIRST.replace(' ', chr(10))} [1] {SECOND} [2]",
    ],
)
def test_texts_may_be_set_out_in_many_ways(text: str) -> None:
    assert lines(two_claims(text=text)) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{FIRST} [2] {SECOND} [1]", "claim 1: the text cites [2] for it, the claim [1]"),
        (f"{FIRST} [1, 2] {SECOND} [2]", "claim 1: the text cites [1][2] for it, the claim [1]"),
        (f"{FIRST} [1] {SECOND}", "answer: the text does not cite [2], a claim does"),
        (f"{FIRST} [1] {SECOND} [2][3]", "claim 2: the text cites [2][3] for it, the claim [2]"),
        (f"{FIRST} [1] {SECOND} [2]\n\nSee [7].", "answer: the text cites [7], which does not"),
        (f"{SECOND} [2] {FIRST} [1]", "is not in the text"),
        (f"{FIRST} [1]", "claim 2: 'Neap tides stay below 3.1 metres.' is not in the text"),
        (f"Listen: {FIRST} [1] {SECOND} [2]", "answer: 'Listen:' is in the text, but in no claim"),
        (
            f"{FIRST} [1] It is wet. {SECOND} [2]",
            "answer: 'It is wet.' is in the text, but in no claim",
        ),
    ],
)
def test_texts_that_say_something_else(text: str, told: str) -> None:
    assert any(told in line for line in lines(two_claims(text=text)))


def test_a_claim_that_admits_its_weakness_is_noted() -> None:
    weak = Claim(text="It was 9 metres in Paris.", citations=(), support=0.0, supported=False)
    answer = two_claims(
        claims=(*two_claims().claims, weak),
        text=f"{FIRST} [1] {SECOND} [2] {weak.text} (not supported by the evidence)",
        status="partial",
    )
    report = examine(answer, None)
    assert report.problems == []
    assert {note.kind for note in report.notes} == {"number", "numbering", "support"}


@pytest.mark.parametrize(
    ("status", "reason", "fine"),
    [
        ("answered", "answered", True),
        ("partial", "answered", True),
        ("partial", "budget", True),
        ("answered", "deadline", False),
        ("partial", "refused", False),
        ("abstained", "no_evidence", False),
        ("failed", "error", False),
        ("refused", "refused", False),
    ],
)
def test_status_and_reason_with_claims(status: Any, reason: Any, fine: bool) -> None:
    answer = two_claims(status=status, stop_reason=reason)
    assert (verify(answer, None) == []) is fine


def test_short_forms_stand_in_the_text_or_a_quote() -> None:
    assert lines(two_claims(short="spring  TIDES")) == []
    assert lines(two_claims(short=None)) == []
    assert lines(two_claims(short="4.9 metres. Neap tides")) == [], "a mark stands between"
    assert lines(two_claims(short="high tide")) != []
    assert lines(two_claims(short=" ")) != []


@pytest.mark.parametrize("short", ["9 metres", "1 metres", "reach 4", "4.8 metres"])
def test_short_forms_have_their_numbers_whole(short: str) -> None:
    told = f"answer: the short form '{short}' is in no text or quote"
    assert lines(two_claims(short=short)) == [told]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"url": None}, "web"),
        ({"fetched": None}, "web"),
        ({"path": "/etc/passwd"}, "web"),
        ({"url": "https://example.org/other"}, "document"),
        ({"sha256": "0" * 64}, "document"),
        ({"page": 3}, "page"),
        ({"start": 0}, "quote"),
    ],
)
def test_web_citations_stand_on_the_text_as_read(change: dict[str, Any], kind: str) -> None:
    answer = from_the_web()
    citation = answer.citations[0].model_copy(update=change)
    changed = answer.model_copy(update={"citations": (citation,)})
    assert kind in {problem.kind for problem in verify(changed, None)}


def test_a_web_page_whose_text_was_changed_with_its_quote_has_another_hash() -> None:
    answer = from_the_web()
    text = (answer.passages[0].text or "").replace("4.9", "5.9")
    citation = answer.citations[0].model_copy(
        update={"quote": answer.citations[0].quote.replace("4.9", "5.9")}
    )
    claim = answer.claims[0].model_copy(update={"text": citation.quote})
    changed = answer.model_copy(
        update={
            "passages": (answer.passages[0].model_copy(update={"text": text}),),
            "citations": (citation,),
            "claims": (claim,),
            "text": f"{claim.text} [1]",
            "short": "5.9 metres",
        }
    )
    assert lines(changed) == ["citation [1]: the SHA-256 is not that of the text that was read"]
