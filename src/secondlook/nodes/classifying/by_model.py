"""The kind of a question by a model, in one word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from secondlook.errors import UnusableReply
from secondlook.prompts import load

if TYPE_CHECKING:
    from secondlook.answer import QueryType
    from secondlook.models import Asker

NODE: Final = "classify"
_KIND = re.compile(r"\b(?P<simple>simple)\b|\bmulti[ _-]?(?:hop|step)?\b", re.IGNORECASE)


async def asked_model(models: Asker, question: str, *, choices: int) -> QueryType:
    """What the model says. It is told that there are choices, and how many: not what they say.
    Raises ModelError or BudgetExceeded, also where the reply names no kind or both."""
    prompt = load(NODE)
    reply = await models.ask(
        "plan",
        prompt.render(
            question=" ".join(question.split()), choices=str(choices) if choices else "none"
        ),
        node=NODE,
        max_tokens=prompt.max_tokens,
        temperature=0.0,
    )
    said = {bool(found["simple"]) for found in _KIND.finditer(reply.text)}
    if len(said) != 1:
        name = models.name("plan")
        raise UnusableReply(f"{name} named no kind of question: {reply.text[:60]!r}")
    return "simple" if said.pop() else "multi_hop"
