"""What happens when the time runs out, and what still fits into it."""

from __future__ import annotations

import asyncio
from typing import Any

from secondlook.app import Secondlook
from secondlook.models import Models
from tests.graphs.test_hostile import REPLIES, BadShelf, _Library
from tests.support.engine import QUESTION, WordShelf, settings_of
from tests.support.function_model import FunctionModel, no_pause


def test_a_model_that_never_answers_leaves_the_reader_time() -> None:
    settings = settings_of(
        runs={"keep": 0}, models={"default": "ollama:double"}, budget={"seconds": 2.0}
    )
    model = FunctionModel(REPLIES["never"])
    models = Models(settings, open_chat=lambda _: model, probes=lambda _: None, pause=no_pause)
    library: Any = _Library(BadShelf(WordShelf(), "none"), settings)
    answer = asyncio.run(Secondlook(library, models=models).aask(QUESTION))
    assert (answer.status, answer.method) == ("answered", "extractive")
    assert answer.warnings[0].error == "BudgetExceeded"
    assert answer.usage.seconds < 2.0
