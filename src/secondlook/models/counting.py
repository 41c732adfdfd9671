"""Tokens of models whose tokenizer is not here: counted rather too high than too low."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from secondlook.models.port import Message

_PER_MESSAGE = 8
"""Role, marks and line breaks that a chat template puts around each message."""
_PER_PROMPT = 8
_CHARACTERS_PER_TOKEN = 16
_ALWAYS_ALLOWED = 2000


def approximate_tokens(text: str) -> int:
    from secondlook.reading.approximate import approximate_starts

    return len(approximate_starts(text))


def approximate_prompt(messages: Iterable[Message]) -> int:
    each = (approximate_tokens(message.content) + _PER_MESSAGE for message in messages)
    return _PER_PROMPT + sum(each)


def longest_reply(max_tokens: int) -> int:
    """Characters after which a reply of so many tokens is taken for one that never ends."""
    return _ALWAYS_ALLOWED + max_tokens * _CHARACTERS_PER_TOKEN


def characters(messages: Iterable[Message]) -> int:
    """Of a prompt, as it was sent."""
    return sum(len(message.content) for message in messages)
