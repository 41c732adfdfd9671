"""The messages of a chat as a question and the turns before it.

The last message of the user is the question. Nothing else is obeyed: what a `system` message says
reaches no prompt, and what an assistant said before is only leant on to make a follow-up
stand-alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.api.openai.errors import Refused
from secondlook.app.conversation import MOST_TURNS, turn_of
from secondlook.nodes.stand_alone import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.answer import Answer
    from secondlook.api.openai.forms import Message

_OUR_RUN = re.compile(r"/#/runs/([\w-]{1,80})(?:/|\b)")
_LINK = re.compile(r"\s*\[(?:\[\d{1,6}\]|how this answer was made)\]\([^)\s]*\)")
_OUR_SOURCES = re.compile(r"\n\s*Sources:\n.*\Z", re.DOTALL)
_LONGEST_REPLY = 4_000
"""Characters of a reply that are looked at: what is leant on stands at its beginning."""


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    earlier: tuple[Turn, ...] = ()


def read(messages: Sequence[Message], answer_of: Callable[[str], Answer | None]) -> Asked:
    """`answer_of` finds a run that an earlier reply of ours links to, so that a follow-up leans on
    the answer itself, and not on what a chat made of it."""
    last = len(messages) - 1
    while last >= 0 and messages[last].role in {"system", "developer"}:
        last -= 1  # some clients put their instructions at the end
    if last < 0 or messages[last].role != "user":
        raise Refused(
            "the last message must be the user's question", param="messages", code="no_question"
        )
    question = _question(messages[last], last)
    return Asked(question, tuple(_turns(messages[:last], answer_of)))


def _question(message: Message, at: int) -> str:
    for place, part in enumerate(message.content if isinstance(message.content, list) else ()):
        if part.type != "text":
            raise Refused(
                f"a part of type {part.type!r} cannot be read: send text alone",
                param=f"messages[{at}].content[{place}].type",
                code="unsupported_content",
            )
    text = _said(message).strip()
    if not text:
        raise Refused("the question is empty", param=f"messages[{at}].content", code="no_question")
    return text


def _said(message: Message) -> str:
    if isinstance(message.content, list):
        return "\n".join(part.text or "" for part in message.content if part.type == "text")
    return message.content or ""


def _turns(messages: Sequence[Message], answer_of: Callable[[str], Answer | None]) -> list[Turn]:
    """Each question with what came of it; a question without a reply leaves itself alone."""
    said: list[tuple[str, str]] = []
    for message in messages:
        text = _said(message).strip()
        if message.role == "user" and text:
            said.append((text, ""))
        elif message.role == "assistant" and text and said:
            said[-1] = (said[-1][0], text)
    return [_turn(asked, reply, answer_of) for asked, reply in said[-MOST_TURNS:]]


def _turn(asked: str, reply: str, answer_of: Callable[[str], Answer | None]) -> Turn:
    ours = _OUR_RUN.findall(reply)
    answer = answer_of(ours[-1]) if ours else None
    if answer is not None:
        return turn_of(answer)
    text = _LINK.sub("", _OUR_SOURCES.sub("", reply[:_LONGEST_REPLY]))
    return Turn(asked=asked, text=" ".join(text.split()))
