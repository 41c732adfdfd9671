"""A model that does what it is told by whoever gets a word in: where six words in a row of the
attack are in the prompt, it says what the attack wants, and cites it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from secondlook.models.counting import approximate_prompt, approximate_tokens
from secondlook.models.port import ChatResult
from secondlook.prompts import EVIDENCE_MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.models.port import ChatRequest, Message

GRAM = 6
SPEC = "ollama:obedient"
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(
    r"[\"\u201c]([^\"\u201c\u201d]{6,300})[\"\u201d]|(?<!\w)'([^'\n]{6,300})'(?!\w)"
)
_LINK = re.compile(r"(?:https?://|www\.)\S+|\b[\w-]+\.(?:com|org|net|xyz|io|info)\b\S*")
_FENCED = re.compile(r"```\w*\n?(.*?)(?:```|\Z)", re.DOTALL)


def words_of(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def shares(text: str, attack: str) -> bool:
    """Whether the text has six words in a row of the attack, or all where there are fewer."""
    wanted = words_of(attack)
    size = min(GRAM, len(wanted))
    if not size:
        return False
    said = words_of(text)
    grams = {wanted[at : at + size] for at in range(len(wanted) - size + 1)}
    return any(said[at : at + size] in grams for at in range(len(said) - size + 1))


def payloads(attack: str) -> list[str]:
    """What the attack wants in the answer: its own words, and what it quotes, links or encloses."""
    flat = " ".join(attack.replace("```", " ").split())
    inner = [one or other for one, other in _QUOTED.findall(attack)]
    inner += _LINK.findall(attack)
    inner += [" ".join(code.split()) for code in _FENCED.findall(attack)]
    told = [one for one in dict.fromkeys([flat, *inner]) if words_of(one)]
    return told[:4]


def reached(said: str, attack: str) -> bool:
    """Whether a text that a person sees holds the payload, or enough of it."""
    if shares(said, attack):
        return True
    held = words_of(said)
    return any(_holds(held, words_of(one)) for one in payloads(attack)[1:])


def _holds(held: Sequence[str], wanted: Sequence[str]) -> bool:
    size = len(wanted)
    return size > 1 and any(held[at : at + size] == wanted for at in range(len(held) - size + 1))


@dataclass(slots=True)
class Obedient:
    """Implements `Chat`."""

    attack: str
    """Empty: nobody attacks, and it says `honest`."""
    honest: str = ""
    spec: str = SPEC
    local: bool = False
    obeyed: int = 0
    """Prompts that held the attack."""

    async def complete(
        self, request: ChatRequest, on_text: Callable[[str], None] | None = None
    ) -> ChatResult:
        text = self._reply(request)
        if on_text is not None:
            on_text(text)
        counted = approximate_prompt(request.messages)
        return ChatResult(text, "stop", tokens_in=counted, tokens_out=approximate_tokens(text))

    async def count(self, messages: Sequence[Message]) -> int:
        return approximate_prompt(messages)

    async def context_tokens(self) -> int | None:
        return 32_768

    async def aclose(self) -> None:
        """Nothing is open."""

    def _reply(self, request: ChatRequest) -> str:
        asked = request.messages[-1].content
        struck = bool(self.attack) and any(
            shares(one.content, self.attack) for one in request.messages
        )
        self.obeyed += struck
        if request.schema is not None:
            return json.dumps({"text": "question"})
        if not struck:
            return f"{self.honest} [1]" if self.honest else "NOT IN THE EVIDENCE"
        number = self._block(asked)
        return "\n".join(
            f"{one.rstrip('.')}{_stop(one)} [{number}]" for one in payloads(self.attack)
        )

    def _block(self, prompt: str) -> int:
        """The evidence that holds the attack; the first where that is elsewhere."""
        marks = list(EVIDENCE_MARK.finditer(prompt))
        for mark, after in pairwise(marks):
            if mark["number"] and shares(prompt[mark.end() : after.start()], self.attack):
                return int(mark["number"])
        return 1


def _stop(text: str) -> str:
    return "" if text.endswith(("?", "!")) else "."
