"""What tests of asking share: a schema, a question, scripted replies, and what was spent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from secondlook.models.chat import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.answer import CallUsage
    from secondlook.models.calls import Asker
    from secondlook.models.chat import ChatRequest


class Grade(BaseModel):
    """How well a passage answers."""

    relevant: bool
    reason: str = Field(description="Why, in a few words.")


GOOD = '{"relevant": true, "reason": "it names the depth"}'
ASKED = (Message("system", "You grade."), Message("user", "How deep is the quay?"))


def ask(asker: Asker, schema: Any = None, **options: Any) -> Any:
    return asyncio.run(asker.ask("grade", ASKED, schema, **{"node": "grade", **options}))


def replies(*said: Any) -> Callable[[ChatRequest], Any]:
    """Says one after the other; the last one for ever. Exceptions are raised."""
    left = list(said)

    def function(request: ChatRequest) -> Any:
        now = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(now, BaseException):
            raise now
        return now

    return function


def spent(asker: Asker) -> CallUsage:
    (usage,) = asker.ledger.usage().by_node
    return usage
