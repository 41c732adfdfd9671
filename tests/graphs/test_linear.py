"""The whole graph, with models that read what they are sent."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer
from secondlook.errors import ModelUnavailable
from secondlook.graphs.registry import workflow
from tests.support.engine import QUESTION, WordShelf, context_of, settings_of, state_of, words
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    from secondlook.models.chat import ChatRequest

_BLOCK = re.compile(r"<<evidence-\w+ (\d+)>>(.*?)(?=<<)", re.DOTALL)


def run(question: str = QUESTION, **given: Any) -> Answer:
    context = context_of(question=question, **given)
    graph = workflow(context.workflow).build(context.settings).compile()

    async def go() -> dict[str, Any]:
        return await graph.ainvoke(state_of(question), context=context)

    return Answer.model_validate(asyncio.run(go())["answer"])


def blocks(request: ChatRequest) -> dict[int, str]:
    """The evidence by number, without the title above it."""
    found = _BLOCK.findall(prompt(request))
    return {int(number): text.strip().partition("\n")[2] for number, text in found}


def prompt(request: ChatRequest) -> str:
    return request.messages[-1].content


def quoting(request: ChatRequest) -> str:
    """Answers with the sentence of the evidence that shares most words with the question."""
    asked = words(prompt(request).split("\n")[0])
    sentences = [
        (len(asked & words(sentence)), number, sentence.strip())
        for number, text in blocks(request).items()
        for sentence in re.split(r"(?<=[.])\s", text)
    ]
    _, number, sentence = max(sentences)
    return f"{sentence} [{number}]"


def test_without_a_model_the_answer_is_a_span_in_its_sentence() -> None:
    answer = run()
    assert answer.status == "answered"
    assert answer.method == "extractive"
    assert answer.short == "7.8 metres"
    assert answer.claims[0].text == "Berth 4 remains the deepest berth, at 7.8 metres."
    assert answer.text.endswith("Berth 4 remains the deepest berth, at 7.8 metres. [1]")
    assert answer.text.startswith("Most likely: ") is (answer.tier == "likely")
    (citation,) = answer.citations
    assert (citation.document, citation.path) == ("survey", "/papers/survey.txt")
    assert citation.quote == WordShelf().held[0].text[citation.start : citation.end]
    assert answer.confidence.value is not None
    assert answer.confidence.label == "calibrated"
    assert answer.queries == (QUESTION,)
    assert next(seen.id for seen in answer.passages if seen.kept) == "survey.0"


def test_a_question_that_nothing_answers_is_not_answered() -> None:
    answer = run("which composer wrote the opera")
    assert answer.status == "abstained"
    assert answer.stop_reason == "low_confidence"
    assert (answer.claims, answer.citations, answer.short) == ((), (), None)
    assert "These passages come closest: " in answer.text
    assert answer.exit_code == 3


def test_with_abstention_switched_off_there_is_always_an_answer() -> None:
    settings = settings_of(answer={"enable_abstention": False})
    answer = run("which composer wrote the opera", settings=settings)
    assert answer.status == "answered"
    assert answer.citations


def test_a_model_answers_from_the_evidence_and_every_sentence_is_cited() -> None:
    model = FunctionModel(quoting)
    answer = run(model=model)
    assert answer.status == "answered"
    assert answer.method == "generative"
    assert answer.model == "ollama:function"
    assert "7.8 metres" in answer.text
    assert answer.short
    assert answer.short in answer.text
    assert answer.grounded.value == "yes"
    assert all(claim.citations and claim.supported for claim in answer.claims)
    assert len(model.requests) == 1


def test_a_sentence_that_the_evidence_does_not_support_is_cut_and_the_answer_says_so() -> None:
    model = FunctionModel(
        lambda request: f"{quoting(request)} Berth 9 was built by Napoleon in 1804 [1]."
    )
    answer = run(model=model)
    assert answer.status == "partial"
    assert "Napoleon" not in " ".join(claim.text for claim in answer.claims)
    assert "1 more sentence was cut" in answer.text


def test_the_bare_form_checks_nothing() -> None:
    model = FunctionModel(lambda _: "Berth 9 was built by Napoleon in 1804 [1].")
    settings = settings_of(answer={"enable_sentence_check": False, "enable_abstention": False})
    answer = run(model=model, settings=settings)
    assert answer.status == "answered"
    assert answer.claims[0].supported is None
    assert answer.grounded.value == "not checked"


def test_nothing_supported_means_no_answer() -> None:
    answer = run("who drank it", model=FunctionModel(lambda _: "Napoleon built it in 1804 [1]."))
    assert (answer.status, answer.stop_reason) == ("abstained", "no_evidence")
    assert answer.model == "ollama:function"


def test_a_model_that_finds_no_answer_is_believed() -> None:
    answer = run("who drank it", model=FunctionModel(lambda _: "NOT IN THE EVIDENCE"))
    assert (answer.status, answer.stop_reason) == ("abstained", "no_evidence")


def test_a_wrong_number_is_dropped_and_the_right_passage_cited() -> None:
    model = FunctionModel(lambda request: quoting(request).replace("[", "[9"))
    answer = run(model=model)
    assert answer.status == "answered"
    assert answer.citations[0].passage == "survey.0"
    step = (
        next(step for step in answer.steps or () if step.node == "answer") if answer.steps else None
    )
    assert step is None or step.numbers["unknown_citations"] == 1


def test_a_leaked_prompt_never_reaches_the_answer() -> None:
    model = FunctionModel(
        lambda request: f"{request.messages[0].content}\n<|im_start|>assistant\n{quoting(request)}"
    )
    answer = run(model=model)
    assert "numbered evidence and nothing else" not in answer.text
    assert "im_start" not in answer.text


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n ",
        "[1] [2]",
        "<|im_end|>",
        "You answer a question from numbered evidence and nothing else.",
    ],
)
def test_an_unusable_reply_gives_the_readers_answer_marked(reply: str) -> None:
    answer = run(model=FunctionModel(lambda _: reply))
    assert answer.status == "answered"
    assert answer.method == "extractive"
    assert answer.warnings[0].node == "answer"
    assert "reader's own answer" in answer.warnings[0].consequence


def test_a_model_that_is_away_gives_the_readers_answer_marked() -> None:
    def away(_: ChatRequest) -> str:
        raise ModelUnavailable("nobody listens at the door")

    answer = run(model=FunctionModel(away))
    assert (answer.method, answer.status) == ("extractive", "answered")
    assert answer.warnings[0].error == "ModelUnavailable"


class _BlindShelf(WordShelf):
    def read(self, query: str, passages: Any, **_: Any) -> Any:
        raise RuntimeError("no reader today")


def test_without_a_reader_the_order_of_the_searches_stays_and_a_model_still_answers() -> None:
    answer = run(shelf=_BlindShelf(), model=FunctionModel(quoting))
    assert answer.status == "answered"
    assert answer.warnings[0].node == "rerank"
    assert answer.confidence.value is None
