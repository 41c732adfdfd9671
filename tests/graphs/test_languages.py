"""Answers that a model writes from passages in a language the reader was not trained for."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from secondlook.answer import Answer
from secondlook.graphs.registry import workflow
from tests.support.engine import WordShelf, context_of, passages_of, state_of
from tests.support.function_model import FunctionModel

QUESTION = "Wie tief ist der tiefste Liegeplatz am Kai?"
PIECES = [
    ("vermessung", "Der tiefste Liegeplatz am Kai ist die Nummer 4, er ist 7.8 Meter tief."),
    ("tagebuch", "Am Morgen kam Nebel auf, und die Boote blieben bis zum Mittag im Hafen."),
]
WRITTEN = "Der tiefste Liegeplatz am Kai ist 7.8 Meter tief. [1]"
REASON = (
    "the passage is in German; the reader was trained for English: how sure it is cannot be told"
)


def run(file: Path | None = None, **given: Any) -> Answer:
    context = context_of(question=QUESTION, model=FunctionModel(lambda _: WRITTEN), **given)
    context = replace(context, calibration_file=file)
    graph = workflow(context.workflow).build(context.settings).compile()
    state = asyncio.run(graph.ainvoke(state_of(QUESTION), context=context))
    return Answer.model_validate({**state["answer"], "steps": state["steps"]})


def test_a_written_answer_has_no_probability_either() -> None:
    answer = run(shelf=WordShelf(held=passages_of(PIECES)))
    assert (answer.status, answer.method) == ("answered", "generative")
    assert [citation.document for citation in answer.citations] == ["vermessung"]
    assert answer.confidence.value is None
    assert answer.confidence.reasons[0] == REASON
    assert "the evidence covers" in answer.confidence.reasons[1]


def test_a_reader_that_knows_the_language_gives_one() -> None:
    answer = run(shelf=WordShelf(held=passages_of(PIECES), reader_languages=("english", "german")))
    assert answer.confidence.value is not None
    assert REASON not in answer.confidence.reasons
