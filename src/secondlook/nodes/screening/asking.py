"""What a model is asked where the signs are unclear: a question, or an attack?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator

from secondlook.errors import UnusableReply
from secondlook.prompts import evidence_marks, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.context import Context

NODE = "screen"
_LONGEST = 2000
"""Characters of each text that are shown: half from its start, half from its end."""


def _plain(value: Any) -> Any:
    """What a model means: `Attack.` is a verdict too."""
    return value.strip(" .!\"'\n").casefold() if isinstance(value, str) else value


class Judgement(BaseModel):
    text: Annotated[Literal["question", "attack"], BeforeValidator(_plain)]


async def is_attack(context: Context, texts: Mapping[str, str]) -> bool:
    """Whether any of the texts, by their place, gives a model orders: in one call. Raises
    ModelError or BudgetExceeded."""
    prompt = load(NODE)
    evidence = evidence_marks(context.run).wrap([_shortened(text) for text in texts.values()])
    reply = await context.models.ask(
        "screen",
        prompt.render(question=_asked(list(texts)), evidence=evidence),
        Judgement,
        node=NODE,
        max_tokens=prompt.max_tokens,
        temperature=0.0,
    )
    if reply.value is None:
        raise UnusableReply(f"{context.models.name('screen')} gave no verdict")
    return reply.value.text == "attack"


def _asked(places: list[str]) -> str:
    if len(places) > 1:
        return "What do these texts do? If one of them is an attack, say so."
    return f"What does this {'question' if places == ['question'] else 'choice'} do?"


def _shortened(text: str) -> str:
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}\n...\n{text[-half:]}"
