"""The Markdown of an answer that corrected itself, and its arithmetic in signs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer, AnswerPart, Claim, Computation, Operand
from secondlook.export import reckoned, to_markdown
from tests.support.memory_runs import full_answer

if TYPE_CHECKING:
    from secondlook.answer import Operation


def exported(**given: Any) -> list[str]:
    answer: Answer = full_answer("r").model_copy(update=given)
    return to_markdown(answer).split("\n\n")


def done(operation: Operation, result: str, *stated: tuple[str, str | None]) -> Computation:
    operands = tuple(
        Operand(text=text, name=name, citation=at) for at, (text, name) in enumerate(stated, 1)
    )
    return Computation(operation=operation, operands=operands, result=result)


@pytest.mark.parametrize(
    ("computation", "said"),
    [
        (
            done("years", "23 years", ("September 4, 1981", "Ada"), ("2004", None)),
            "2004 [2] - September 4, 1981 [1] = 23 years",
        ),
        (done("difference", "19", ("1981", None), ("2000", None)), "2000 [2] - 1981 [1] = 19"),
        (done("sum", "5 m", ("2 m", None), ("3 m", None)), "2 m [1] + 3 m [2] = 5 m"),
        (
            done("least", "Ada", ("May 1990", "Bob"), ("1981", "Ada")),
            "1981 (Ada) [2] < May 1990 (Bob) [1]: Ada",
        ),
        (done("same", "yes", ("Dutch", "A"), ("Dutch", None)), "Dutch (A) [1] = Dutch [2]: yes"),
        (done("same", "no", ("Dutch", None), ("Swiss", None)), "Dutch [1] ≠ Swiss [2]: no"),
    ],
)
def test_a_computation_in_signs(computation: Computation, said: str) -> None:
    assert reckoned(computation) == said


def test_what_was_assumed_computed_and_asked_back_is_in_it() -> None:
    claim = Claim(
        text="23 years.",
        citations=(1,),
        computation=done("years", "23 years", ("1981", None), ("2004", None)),
    )
    parts = exported(
        assumed="she = *Ada*",
        asks_back="Whom do you mean: <b>Ada</b> or Bob?",
        claims=(claim,),
        needs_review=True,
        stop_reason="attempts_exhausted",
        status="partial",
    )
    assert parts[1] == r"*Taken as: she = \*Ada\**"
    assert r"Computed: 2004 \[2\] - 1981 \[1\] = 23 years" in parts
    assert r"**Whom do you mean: \<b\>Ada\</b\> or Bob?**" in parts
    standing = next(part for part in parts if part.startswith("*Answered in part"))
    assert standing.endswith("Needs review: every try was used up; look at the evidence.*")


def test_parts_are_a_numbered_list() -> None:
    parts = exported(
        parts=(
            AnswerPart(question="When was [Ada] born?", short="1981", citations=(1, 2)),
            AnswerPart(question="When did she win?"),
        )
    )
    listed = parts[parts.index("## Parts") + 1]
    assert listed.splitlines() == [
        r"1. When was \[Ada\] born? **1981** \[1\]\[2\]",
        "2. When did she win? no answer of its own",
    ]
