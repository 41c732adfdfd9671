"""What Secondlook itself says to a model about the form of its reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.models.port import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

_IN_WORDS = (
    "Reply with one JSON object and nothing else: no explanation, no code fence. "
    "It must be an instance of this JSON schema, not the schema itself:\n{schema}"
)
_AGAIN = (
    "Your last reply could not be used: {problem}. "
    "Reply again with one JSON object and nothing else. It must follow this JSON schema:\n{schema}"
)
_AGAIN_TEXT = "Your last reply could not be used: {problem}. Reply again, in plain text."
_SHORTER = " Keep it short: the last reply was cut off."
_QUOTED = 1000


def with_schema(messages: Sequence[Message], schema: str) -> tuple[Message, ...]:
    """The schema in words, where it does not change from call to call: in the first message."""
    told = _IN_WORDS.format(schema=schema)
    first, *rest = messages
    if first.role == "system":
        return (Message("system", f"{first.content}\n\n{told}"), *rest)
    return (Message("system", told), first, *rest)


def corrected(
    messages: Sequence[Message], said: str, problem: str, schema: str | None, *, cut_off: bool
) -> tuple[Message, ...]:
    """The same question again, with what was wrong with the reply."""
    form = _AGAIN if schema else _AGAIN_TEXT
    wanted = form.format(problem=problem, schema=schema) + (_SHORTER if cut_off else "")
    quoted = said.strip()[:_QUOTED] or "(nothing)"
    return (*messages, Message("assistant", quoted), Message("user", wanted))
