"""How an answer is written anew: after a complaint, after more was found, after a refusal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from secondlook.errors import ModelUnavailable
from secondlook.nodes.answer import answer_anew, answer_strictly
from secondlook.nodes.check import check_grounded
from tests.support.checking import DEEPEST, INVENTED, asked, blocks, found, visit
from tests.support.engine import context_of, settings_of
from tests.support.function_model import FunctionModel

if TYPE_CHECKING:
    import pytest

    from secondlook.models.chat import ChatRequest
    from secondlook.nodes.context import Context


def _evidence_number(request: ChatRequest) -> int:
    return next(number for number, text in blocks(request).items() if DEEPEST in text)


def inventing(request: ChatRequest) -> str:
    """Adds an invention, unless it is told not to say just that."""
    said = f"{DEEPEST} [{_evidence_number(request)}]"
    told = re.search(r"^Not in the evidence:\n(.*?)\n\n", asked(request), re.MULTILINE | re.DOTALL)
    return said if told and INVENTED in told[1] else f"{said} {INVENTED} [1]"


def tokens(update: dict[str, Any]) -> str:
    return "".join(item.get("token", "") for item in update["emitted"])


def redrafts(update: dict[str, Any]) -> list[str]:
    return [item["redraft"] for item in update["emitted"] if "redraft" in item]


def settled(context: Context) -> tuple[dict[str, Any], dict[str, Any]]:
    """Written, checked and written again, as the graph does."""
    passages = found(context)
    first = visit(answer_anew, context, found=passages)
    check = visit(check_grounded, context, draft=first["draft"], complaints=first["complaints"])
    kept = {name: check[name] for name in ("draft", "drafts", "complaints", "regenerations")}
    return check, visit(answer_anew, context, found=passages, **kept)


def test_who_listens_hears_that_the_words_so_far_no_longer_count() -> None:
    context = context_of(model=FunctionModel(inventing))
    first = visit(answer_anew, context, found=found(context))
    assert redrafts(first) == []
    _, second = settled(context_of(model=FunctionModel(inventing)))
    assert second["emitted"][0] == {"redraft": "the evidence does not carry all of it"}
    assert tokens(second).strip() == DEEPEST


def test_a_model_that_goes_away_leaves_the_readers_answer() -> None:
    def once(request: ChatRequest) -> str:
        if request.temperature:
            raise ModelUnavailable("away")
        return inventing(request)

    _, second = settled(context_of(model=FunctionModel(once)))
    assert second["draft"]["method"] == "extractive"
    assert second["complaints"] == []
    assert second["warnings"][0]["consequence"] == "the reader's own answer was given instead"


def test_a_refused_answer_is_written_by_the_stricter_prompt() -> None:
    model = FunctionModel(inventing)
    context = context_of(model=model)
    for node in (answer_strictly, answer_anew):
        update = visit(node, context, found=found(context), answer_grades=["no"])
        assert redrafts(update) == ["the answer was refused"]
    for grades in ([], ["yes"], ["not graded"]):
        visit(answer_strictly, context, found=found(context), answer_grades=grades)
    strict = ["refused" in request.messages[0].content for request in model.requests]
    # The same words are asked for once in a run: the journal knows the reply.
    assert strict == [True, False]


def test_what_a_model_may_still_let_stand_is_left_in_the_draft_and_not_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("secondlook.nodes.answer.DEFAULT_MIN_SUPPORT", 0.2)
    doubtful = "Berth 4 has been losing depth for years because of a sandbank."

    def doubting(request: ChatRequest) -> str:
        number = _evidence_number(request)
        return f"{DEEPEST} [{number}] {doubtful} [{number}]"

    sections: dict[str, Any] = {"answer": {"judge": "coverage"}}
    plain = context_of(model=FunctionModel(doubting), settings=settings_of(**sections))
    cut = visit(answer_anew, plain, found=found(plain))
    sections["corrective"] = {"grounded_judge": "llm"}
    asking = context_of(model=FunctionModel(doubting), settings=settings_of(**sections))
    left = visit(answer_anew, asking, found=found(asking))
    assert cut["complaints"] == [doubtful]
    assert [one["supported"] for one in left["draft"]["sentences"]] == [True, False]
    assert (left["complaints"], left["draft"]["note"]) == ([], None)
    assert doubtful not in tokens(left)
