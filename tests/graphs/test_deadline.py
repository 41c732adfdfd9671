"""What happens when the time runs out, and what still fits into it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from secondlook.engine.secondlook import Secondlook
from secondlook.models.calls import Models
from tests.graphs.test_hostile import REPLIES, BadShelf, _Library
from tests.support.engine import QUESTION, WordShelf, settings_of
from tests.support.function_model import FunctionModel, no_pause

if TYPE_CHECKING:
    from secondlook.answer import Answer


def test_a_model_that_never_answers_leaves_the_reader_time() -> None:
    settings = settings_of(
        runs={"keep": 0}, models={"default": "ollama:double"}, budget={"seconds": 2.0}
    )
    model = FunctionModel(REPLIES["never"])
    models = Models(settings, open_chat=lambda _: model, probes=lambda _: None, pause=no_pause)
    library: Any = _Library(BadShelf(WordShelf(), "none"), settings)

    async def asked_twice() -> Answer:
        engine = Secondlook(library, models=models)
        await engine.aask(QUESTION)  # what is loaded at first takes its time
        return await engine.aask(QUESTION)

    answer = asyncio.run(asked_twice())
    assert (answer.status, answer.method) == ("partial", "extractive")
    assert answer.stop_reason == "deadline"
    assert "a question may take 2 seconds. To allow more: --timeout" in answer.text
    assert answer.warnings[0].error == "BudgetExceeded"
    assert answer.usage.seconds < 2.0
