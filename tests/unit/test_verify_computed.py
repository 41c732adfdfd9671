"""What code computed is computed again: whatever was changed about it is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.reading.support import CoverageSupport
from secondlook.verify import verify
from tests.support.engine import context_of
from tests.support.parts import BIRTH, FIRST, MOTHER, answered, lives

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.verify.report import Problem


def answer_to(question: str) -> Answer:
    context = context_of(shelf=lives(), workflow="corrective", question=question)
    return answered(question, context)


def problems(answer: Answer) -> list[Problem]:
    """All but that there is no library here to look up the quotes in."""
    found = verify(answer, None, support=CoverageSupport())
    return [one for one in found if "no library" not in one.message]


def changed(answer: Answer, **made: Any) -> Answer:
    """With the computation of the first claim changed and nothing else."""
    claim = answer.claims[0]
    assert claim.computation is not None
    made = {"computation": claim.computation.model_copy(update=made)}
    claims = (claim.model_copy(update=made), *answer.claims[1:])
    return answer.model_copy(update={"claims": claims})


def kinds(answer: Answer) -> set[str]:
    return {one.kind for one in problems(answer)}


@pytest.mark.parametrize("question", [BIRTH, FIRST, MOTHER])
def test_an_answer_in_parts_stands(question: str) -> None:
    assert problems(answer_to(question)) == []


def test_another_result_is_found() -> None:
    answer = answer_to(BIRTH)
    assert "computation" in kinds(changed(answer, result="24 years"))
    consistent = changed(answer, result="24 years")
    claim = consistent.claims[0]
    told = claim.model_copy(update={"text": claim.text.replace("23", "24")})
    consistent = consistent.model_copy(
        update={
            "claims": (told, *consistent.claims[1:]),
            "text": consistent.text.replace("23", "24"),
            "short": "24 years",
        }
    )
    assert [one.message for one in problems(consistent)] == [
        "its result '24 years' comes to '23 years'"
    ]


@pytest.mark.parametrize(
    "change", [{"text": "1980"}, {"citation": 2}, {"citation": 7}, {"name": "Cy Poe"}]
)
def test_another_operand_is_found(change: dict[str, Any]) -> None:
    answer = answer_to(FIRST)
    made = answer.claims[0].computation
    assert made is not None
    first = made.operands[0].model_copy(update=change)
    assert "computation" in kinds(changed(answer, operands=(first, made.operands[1])))
