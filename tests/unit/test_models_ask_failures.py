"""The one door when something goes wrong, when it is stopped, and when it is asked again."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import (
    ModelError,
    ModelTimeout,
    ModelUnavailable,
)
from secondlook.models import replies as bounded_module
from secondlook.models.budget import Ledger
from secondlook.models.chat import ChatRequest, ModelBusy
from secondlook.models.journal import MemoryJournal
from secondlook.models.prices import Caps
from tests.support.asking import ASKED, GOOD, Grade, ask, replies, spent
from tests.support.function_model import FunctionModel, asker_of

if TYPE_CHECKING:
    from secondlook.models.calls import Asker


# Failures


def test_a_model_that_was_away_is_asked_again() -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    model = FunctionModel(
        replies(ModelUnavailable("away"), ModelBusy("busy", wait=3.5), "back again")
    )
    asker = asker_of(model)
    asker.models.pause = pause
    assert ask(asker).text == "back again"
    assert pauses == [0.5, 3.5]
    assert (spent(asker).calls, spent(asker).retries) == (3, 2)


def test_no_retry_beyond_the_budget_or_the_deadline() -> None:
    model = FunctionModel(replies(ModelUnavailable("away"), "here"))
    with pytest.raises(ModelUnavailable, match="away"):
        ask(asker_of(model, caps=Caps(calls=1)))
    ledger = Ledger(Caps(seconds=0.4), clock=lambda: 0.0)
    with pytest.raises(ModelUnavailable, match="away"):
        ask(asker_of(FunctionModel(replies(ModelUnavailable("away"), "x")), ledger=ledger))


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("boom"),
        ValueError(),
        KeyError("choices"),
        OSError("reset"),
        MemoryError(),
        RecursionError(),
        asyncio.CancelledError(),
        json.JSONDecodeError("x", "y", 0),
    ],
)
def test_whatever_a_backend_raises_becomes_a_model_error(error: BaseException) -> None:
    asker = asker_of(FunctionModel(replies(error)))
    with pytest.raises(ModelError):
        ask(asker)
    assert spent(asker).calls == 1


async def forever(request: ChatRequest) -> str:
    await asyncio.Event().wait()
    return "never"


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_module, "_PATIENCE", 0.01)


@pytest.mark.usefixtures("no_grace")
def test_a_model_that_never_answers_is_given_up() -> None:
    asker = asker_of(FunctionModel(forever), timeout=0.02, retries=1)
    with pytest.raises(ModelTimeout, match=re.escape("did not answer within 0.02 s")):
        ask(asker)
    assert (spent(asker).calls, spent(asker).retries) == (2, 1)
    assert spent(asker).tokens_in > 0  # it may have been read, and billed


def test_stopping_the_run_stops_the_model() -> None:
    stopped: list[bool] = []
    begun = asyncio.Event()

    async def working(request: ChatRequest) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)
        return "never"

    async def main() -> Asker:
        asker = asker_of(FunctionModel(working))
        asking = asyncio.ensure_future(asker.ask("grade", ASKED, node="n"))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        return asker

    asker = asyncio.run(main())
    assert stopped == [True]
    assert spent(asker).calls == 1
    assert spent(asker).tokens_in > 0


def test_nobody_hears_a_reply_twice() -> None:
    def function(request: ChatRequest) -> Any:
        if len(model.requests) == 1:
            return broken()
        return "The quay is seven metres deep."

    def broken() -> Any:
        yield "The quay is "
        raise ModelUnavailable("the line broke")

    model = FunctionModel(function)
    heard: list[str] = []
    reply = ask(asker_of(model), on_text=heard.append)
    assert reply.text == "The quay is seven metres deep."
    assert heard == ["The quay is "]
    assert reply.usage.tokens_in > 30  # both tries were read


# Roles, options, journal


@pytest.mark.parametrize("schema", [None, Grade])
def test_a_call_of_the_same_run_is_paid_once(schema: Any) -> None:
    model = FunctionModel(lambda request: GOOD)
    journal = MemoryJournal()
    first = ask(asker_of(model, journal=journal), schema)
    resumed = asker_of(model, journal=journal)
    assert ask(resumed, schema) == first
    assert len(model.requests) == 1
    assert resumed.ledger.usage().calls == 0
    ask(resumed, schema, node="another")
    ask(resumed, schema, max_tokens=100)
    assert len(model.requests) == 3
