"""What can be said of an answer without any library: does it agree with itself?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer, ChoiceElement, ChoiceVerdict, Claim, Screening
from secondlook.reading.support import CoverageSupport
from secondlook.verify import examine, verify
from secondlook.verify.citations import needs_library
from tests.support.answers import from_the_web
from tests.support.engine import context_of
from tests.support.parts import BIRTH, MOTHER, answered, lives
from tests.support.parts import FIRST as EARLIER
from tests.support.researched import (
    RECALLED,
    choice,
    guess,
    refused,
    research,
    researched,
    steps,
    text_of,
)

if TYPE_CHECKING:
    from secondlook.verify.report import Problem, Report

FIRST = "Spring tides at Halvermouth reach 4.9 metres."
SECOND = "Neap tides stay below 3.1 metres."


def two_claims(**given_: Any) -> Answer:
    """A true answer of two sentences on one page of the web, each with its own citation."""
    answer = from_the_web()
    one = answer.citations[0]
    start = one.start + (answer.passages[0].text or "").index(SECOND)
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
        f"{FIRST} [1]\n\n- {SECOND} [2]",
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
        ("answered", "deadline", False),
        ("partial", "refused", False),
        ("abstained", "no_evidence", False),
    ],
)
def test_status_and_reason_with_claims(status: Any, reason: Any, fine: bool) -> None:
    assert (verify(two_claims(status=status, stop_reason=reason), None) == []) is fine


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


# A researched answer and its choice agree with themselves; one character that is changed shows.


def report(answer: Answer) -> Report:
    return examine(answer, None, support=CoverageSupport())


def problems(answer: Answer) -> list[str]:
    """All but that there is no library here to look up the quotes in."""
    return [str(one) for one in report(answer).problems if "no library" not in one.message]


def changed(**given_: Any) -> Answer:
    return researched().model_copy(update=given_)


def test_true_answers_stand() -> None:
    whole = researched()
    note = "(1 more sentence was cut: not supported by the evidence.)"
    noted = changed(text=text_of(whole.claims, whole.choice, note), status="partial")
    single = changed(
        text=" ".join(whole.text.replace("### Step 1: Rule", "").split("### Step 3: Duty")),
        research=research(
            weak=0,
            steps=(
                steps()[0].model_copy(update={"claims": (1, 2, 3)}),
                steps()[1],
                steps()[2].model_copy(update={"claims": (), "status": "failed"}),
            ),
            failed=2,
        ),
    )
    recalled = changed(research=research(recalled=RECALLED, cycles=0))
    for answer in (whole, noted, single, recalled, guess(), refused()):
        assert problems(answer) == [], answer.text
    assert report(whole).notes == []


@pytest.mark.parametrize("at", range(len(researched().text)))
def test_every_changed_sign_of_the_text_is_seen(at: int) -> None:
    text = researched().text
    if text[at].isspace():
        return
    other = "x" if text[at] != "x" else "y"
    assert problems(changed(text=text[:at] + other + text[at + 1 :])) != []


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"letter": "E"}, "there is no option 'E'"),
        ({"letter": "A"}, "its words are not option A"),
        ({"text": "No."}, "its words are not option C"),
        ({"letter": None}, "nothing was chosen, but it has words"),
        ({"grounded": False}, "it is a guess"),
        ({"model": None, "agreed": True}, "none can have agreed"),
        ({"elements": choice().elements[:1]}, "judged by element 2, which does not exist"),
        (
            {"elements": (ChoiceElement(text="x", citations=(9,)), choice().elements[1])},
            "element 1: it cites [9], which does not exist",
        ),
        ({"options": choice().options[:3]}, "its options are not those of the question"),
        ({"options": (*choice().options, choice().options[0])}, "have the same letter"),
    ],
)
def test_a_falsified_choice_is_seen(given_: dict[str, Any], told: str) -> None:
    found = problems(changed(choice=choice(**given_)))
    assert any(told in one for one in found), found


def with_option(at: int, **given_: Any) -> Answer:
    options = list(choice().options)
    options[at] = options[at].model_copy(update=given_)
    return changed(choice=choice(options=tuple(options)))


def verdict(met: str, fact: str | None = None, element: int = 1) -> ChoiceVerdict:
    return ChoiceVerdict(element=element, met=met, fact=fact)  # type: ignore[arg-type]


def test_a_falsified_option_is_seen() -> None:
    text = choice().options[0].text
    assert problems(with_option(0, text=f"{text[:-2]}x.")) != []
    assert problems(with_option(0, letter="E")) != []
    told = "option A: 'he was drunk' is not in the question"
    assert told in problems(with_option(0, verdicts=(verdict("not met", "he was drunk"),)))
    assert problems(with_option(0, verdicts=(verdict("not met", " "),))) != []
    twice = (verdict("not met"), verdict("not met"))
    assert "option A: an element was judged twice" in problems(with_option(0, verdicts=twice))


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"completed": 2}, "research: it says that 2 steps are completed, and lists 1"),
        ({"failed": 0}, "it says that 0 steps are failed"),
        ({"cycles": 2}, "it says that 2 steps were tried, and lists 3"),
        ({"screen": Screening(verdict="refused")}, "the screen says refused"),
        ({"steps": steps()[:1], "failed": 0, "weak": 0, "cycles": 1}, "no step of the research"),
    ],
)
def test_a_falsified_research_is_seen(given_: dict[str, Any], told: str) -> None:
    found = problems(changed(research=research(**given_)))
    assert any(told in one for one in found), found


@pytest.mark.parametrize(
    ("at", "given_", "told"),
    [
        (0, {"id": 7}, "step 1: it is not numbered as"),
        (0, {"claims": (1, 2, 9)}, "step 1: it found claim 9, which does not exist"),
        (0, {"phase": "Rulf"}, "stands where '### Step 1: Rulf' belongs"),
        (1, {"claims": (3,)}, "step 2: it is failed, but it has findings"),
        (2, {"retry_of": 3}, "step 3: it is not numbered as"),
        (2, {"confidence": 1.5}, "a confidence of 1.5 is not from 0 to 1"),
    ],
)
def test_a_falsified_step_is_seen(at: int, given_: dict[str, Any], told: str) -> None:
    made = list(steps())
    made[at] = made[at].model_copy(update=given_)
    found = problems(changed(research=research(steps=tuple(made))))
    assert any(told in one for one in found), found


# What code computed is computed again: whatever was changed about it is found.


def answer_to(question: str) -> Answer:
    return answered(question, context_of(shelf=lives(), workflow="corrective", question=question))


def unlike(answer: Answer) -> list[Problem]:
    """All but that there is no library here to look up the quotes in."""
    found = verify(answer, None, support=CoverageSupport())
    return [one for one in found if "no library" not in one.message]


def computed_otherwise(answer: Answer, **made: Any) -> Answer:
    """With the computation of the first claim changed and nothing else."""
    claim = answer.claims[0]
    assert claim.computation is not None
    made = {"computation": claim.computation.model_copy(update=made)}
    claims = (claim.model_copy(update=made), *answer.claims[1:])
    return answer.model_copy(update={"claims": claims})


def kinds(answer: Answer) -> set[str]:
    return {one.kind for one in unlike(answer)}


@pytest.mark.parametrize("question", [BIRTH, EARLIER, MOTHER])
def test_an_answer_in_parts_stands(question: str) -> None:
    assert unlike(answer_to(question)) == []


def test_another_result_is_found() -> None:
    answer = answer_to(BIRTH)
    assert "computation" in kinds(computed_otherwise(answer, result="24 years"))
    consistent = computed_otherwise(answer, result="24 years")
    claim = consistent.claims[0]
    told = claim.model_copy(update={"text": claim.text.replace("23", "24")})
    consistent = consistent.model_copy(
        update={
            "claims": (told, *consistent.claims[1:]),
            "text": consistent.text.replace("23", "24"),
            "short": "24 years",
        }
    )
    assert [one.message for one in unlike(consistent)] == [
        "its result '24 years' comes to '23 years'"
    ]


@pytest.mark.parametrize(
    "change", [{"text": "1980"}, {"citation": 2}, {"citation": 7}, {"name": "Cy Poe"}]
)
def test_another_operand_is_found(change: dict[str, Any]) -> None:
    answer = answer_to(EARLIER)
    made = answer.claims[0].computation
    assert made is not None
    first = made.operands[0].model_copy(update=change)
    assert "computation" in kinds(computed_otherwise(answer, operands=(first, made.operands[1])))
