"""How much of a prompt a model really sees: a code word is put at the start of ever longer ones.

A server that cuts prompts silently drops their beginning, and the word with it. A small model may
also just fail to repeat a word it has read. So a missed word counts as cut off only if the same
model finds one at the end of a prompt as long, and the server does not report to have read it all.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.errors import ModelError
from secondlook.models.counting import approximate_prompt
from secondlook.models.port import ChatRequest, Message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from secondlook.models.port import Chat, ChatResult

SHORTEST = 256
_REPLY = 24
_IN_PROPORTION = 0.75
_WORDS = ("amber", "birch", "coral", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty")
_SUBJECTS = ("The harbour", "A lighthouse", "The north quay", "An old ferry", "The tide table")
_VERBS = ("was painted", "was measured", "stood empty", "was repaired", "was described")
_TIMES = ("in the spring", "before the storm", "twice a year", "after the war", "last week")


@dataclass(frozen=True, slots=True)
class Sight:
    seen: int | None
    """Tokens of the longest prompt whose beginning was given back."""
    limit: int | None
    """Tokens beyond which the beginning was cut off; None where that was not met."""


async def look(
    chat: Chat,
    complete: Callable[[ChatRequest], Awaitable[ChatResult]],
    *,
    longest: int,
    seconds: float,
    on_size: Callable[[int], None],
) -> Sight:
    """Double the prompt until the word is lost, the longest is reached or the time is over."""
    ends = time.monotonic() + seconds
    canary = _Canary(chat, complete, ends)
    seen: int | None = None
    for size in _sizes(longest):
        on_size(size)
        if await canary.sings(size, at_start=True):
            seen = size
            continue
        # Too weak to tell, out of time, or it read everything and just did not remember.
        if seen is None or canary.read_all(size, seen):
            break
        if await canary.sings(size, at_start=False):
            return Sight(seen, await canary.narrowed(seen, size))
        break
    return Sight(seen, None)


def _sizes(longest: int) -> list[int]:
    sizes = [SHORTEST]
    while sizes[-1] * 2 <= longest:
        sizes.append(sizes[-1] * 2)
    return sizes if longest - sizes[-1] < SHORTEST else [*sizes, longest]


@dataclass(slots=True)
class _Canary:
    chat: Chat
    complete: Callable[[ChatRequest], Awaitable[ChatResult]]
    ends: float
    _read: dict[int, int | None] = field(default_factory=dict)
    """Tokens that the server says it read, by size of the prompt; None where it does not say."""

    def read_all(self, size: int, before: int) -> bool:
        """Whether the server reports to have read as much more as it was sent."""
        now, then = self._read.get(size), self._read.get(before)
        if not now or not then:
            return False
        return now / then > _IN_PROPORTION * size / before

    async def sings(self, size: int, *, at_start: bool) -> bool:
        """Whether a code word comes back out of a prompt of about so many tokens."""
        chance = random.Random(size * 2 + at_start)  # noqa: S311  # the same prompts every time
        word = f"{chance.choice(_WORDS)}-{chance.randrange(100, 1000)}"
        left = self.ends - time.monotonic()
        if left <= 0:
            return False
        prompt = await self._prompt(size, word, chance, at_start=at_start)
        request = ChatRequest((Message("user", prompt),), _REPLY, timeout=left)
        try:
            result = await self.complete(request)
        except ModelError:  # refused or out of time: not seen
            return False
        reported = result.tokens_in != approximate_prompt(request.messages)
        self._read[size] = result.tokens_in if reported else None
        return word in result.text.casefold()

    async def narrowed(self, seen: int, lost: int) -> int:
        """The limit lies between; one more look halves the doubt."""
        middle = (seen + lost) // 2
        return middle if await self.sings(middle, at_start=True) else seen

    async def _prompt(self, size: int, word: str, chance: random.Random, *, at_start: bool) -> str:
        secret = f"The code word is {word}."
        asked = "What is the code word? Reply with the code word alone."
        one = await self.chat.count([Message("user", _sentence(chance))])
        none = await self.chat.count([Message("user", f"{secret} {asked}")])
        each = max(1, one - await self.chat.count([Message("user", "")]))
        filler = [_sentence(chance) for _ in range(max(0, (size - none - _REPLY) // each))]
        parts = [secret, *filler] if at_start else [*filler, secret]
        return f"{' '.join(parts)}\n\n{asked}"


def _sentence(chance: random.Random) -> str:
    return f"{chance.choice(_SUBJECTS)} {chance.choice(_VERBS)} {chance.choice(_TIMES)}."
