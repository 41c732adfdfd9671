"""Measuring how well a model grades: what is counted, who passes, and that it is remembered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from secondlook.nodes.grade import fit_of, unfit, unfit_for_answers
from secondlook.nodes.probe import probe_passages
from secondlook.roles.verdicts import answers_identity, passage_cases
from tests.support.function_model import FunctionModel, asker_of
from tests.support.grading import by_words, figures, probed, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.models.chat import ChatRequest
    from secondlook.models.probe import GradingFigures, Progress

LABELS = {
    (case.question, passage.text): passage.id in case.relevant
    for case in passage_cases()
    for passage in case.passages
}


def knowing(question: str, text: str) -> str:
    return "about" if LABELS[question, text.split("\n", 1)[1]] else "no"


def passages(function: Callable[[ChatRequest], Any]) -> tuple[GradingFigures, FunctionModel]:
    model = FunctionModel(function)
    said: list[Progress] = []
    found = asyncio.run(probe_passages(asker_of(model, retries=0), said.append))
    assert all(0 < step.done <= step.total for step in said)
    return found, model


# Passages


def test_a_good_grader_passes_without_examples() -> None:
    found, model = passages(by_words(knowing))
    assert (found.precision, found.recall, found.ungraded) == (1.0, 1.0, 0)
    assert (found.fit, found.few_shot, found.pairs) == (True, False, len(LABELS))
    assert len(model.requests) == len(passage_cases())
    assert len(shown(model.requests[0])) == len(passage_cases()[0].passages)


def test_yes_to_everything_is_measured_again_with_examples_and_fails() -> None:
    found, model = passages(by_words(lambda question, text: "answers"))
    assert (found.precision, found.recall) == (0.5, 1.0)
    assert (found.fit, found.few_shot) == (False, True)
    assert len(model.requests) == 2 * len(passage_cases())


# Remembering


def test_figures_made_with_another_prompt_say_nothing() -> None:
    assert fit_of(probed(grading=figures(fit=True, made_with="older"))) is None
    fit = fit_of(probed(answer_grading=figures(fit=False, made_with=answers_identity())))
    assert fit is not None
    assert fit.passages is None
    assert unfit(fit) is None
    objection = unfit_for_answers(fit)
    assert objection is not None
    assert "judges answers badly: precision 0.50" in objection.message
