"""Models that do anything at all, in any order: every call ends in a reply or a typed error."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import (
    ContextOverflow,
    ModelTimeout,
    ModelUnavailable,
    SecondlookError,
    UnusableReply,
)
from secondlook.models import replies as bounded
from secondlook.models.chat import ChatRequest, ChatResult
from secondlook.models.prices import Caps
from tests.support.asking import ASKED, GOOD, Grade, replies
from tests.support.function_model import FunctionModel, asker_of

if TYPE_CHECKING:
    from collections.abc import Callable


def endless(request: ChatRequest) -> Any:
    return itertools.repeat("{'bla ")


async def forever(request: ChatRequest) -> str:
    await asyncio.Event().wait()
    return "never"


HOSTILE: list[Callable[[ChatRequest], Any]] = [
    replies(""),
    replies(GOOD),
    replies("x" * 50_000),
    replies("{" * 5_000),
    replies("\ud800"),
    replies(json.dumps(Grade.model_json_schema())),
    replies(None),
    replies(5),
    replies(ChatResult(None, "stop", 1, 1)),  # type: ignore[arg-type]
    replies(ChatResult(GOOD, "stop", -5, -5)),
    replies(RuntimeError()),
    replies(KeyError(1)),
    replies(GeneratorExit()),
    replies(TimeoutError()),
    replies(ModelUnavailable("x")),
    replies(ModelTimeout("x")),
    replies(UnusableReply("x")),
    replies(ContextOverflow("x")),
    endless,
    forever,
]


@pytest.mark.parametrize("seed", range(2))
def test_whatever_a_model_does_an_answer_or_a_typed_error_comes_of_it(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, "_PATIENCE", 0.01)
    chance = random.Random(seed)

    async def one() -> str:
        def capricious(request: ChatRequest) -> Any:
            behave = chance.choice(HOSTILE)
            return behave(request)

        model = FunctionModel(capricious, obedient=chance.random() < 0.5)
        caps = Caps(calls=chance.choice([0, 1, 2]), tokens=chance.choice([0, 300]))
        asker = asker_of(model, caps=caps, timeout=0.01)
        schema: Any = chance.choice([None, Grade])
        try:
            await asker.ask("grade", ASKED, schema, node="n", max_tokens=50)
        except SecondlookError as error:
            return type(error).__name__
        finally:
            # Nothing stays reserved, so that a run can always go on with what is left.
            assert asker.ledger.usage().calls == len(model.requests)
        return "answered"

    async def main() -> set[str]:
        return {await one() for _ in range(100)}

    assert len(asyncio.run(main())) > 3
