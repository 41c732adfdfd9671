"""Measure a model once: how to get objects out of it, what it sees, how fast it is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, Field

from secondlook.errors import ContextOverflow, ModelTimeout
from secondlook.models import bounded
from secondlook.models.canary import SHORTEST, look
from secondlook.models.counting import longest_reply
from secondlook.models.modes import ladder
from secondlook.models.port import ChatRequest, Message, ModeRefused
from secondlook.models.probe_store import Probe
from secondlook.models.replies import Form, Misread
from secondlook.models.thinking import without_thoughts
from secondlook.models.wording import with_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.models.port import Chat, ChatResult, OutputMode
    from secondlook.models.specs import ModelSpec

_JSON_TOKENS = 160
_SPEED_TOKENS = 64
_CALL_SECONDS = 120.0
_GOOD_ENOUGH = 0.95
"""A mode that is this reliable is not traded for one further down."""
_HOPELESS = 3
"""After so many failures at the start a mode is given up."""
_LONGEST = 16_384


class Ship(BaseModel):
    """A ship as a sentence describes it."""

    name: str = Field(max_length=40, description="Name of the ship.")
    year: int = Field(ge=1000, le=2100, description="Year in which it was built.")
    kind: Literal["ferry", "tug", "trawler"]
    ports: list[Annotated[str, Field(max_length=30)]] = Field(
        max_length=4, description="Ports it calls at."
    )


_SENTENCES = (
    "The ferry Marit was built in 1987 and calls at Bergen and Stavanger.",
    'The tug "Iron Duke" of 2003 works in Hull.',
    "Built in 1964, the trawler Aurora still lands in Peterhead and in Lerwick.",
    "Since 2011 the ferry Isla has run from Oban to Craignure.",
    "The Dolphin, a tug from 1999, serves Rotterdam, Antwerp and Vlissingen.",
    "A trawler called Nordlys (1972) is moored in Tromsø.",
)
_TASK = "Describe the ship in this sentence as JSON with name, year, kind and ports."
_COUNTING = "Count from 1 to 40 in words, separated by commas."


@dataclass(frozen=True, slots=True)
class Progress:
    said: str
    done: int
    total: int


@dataclass(slots=True)
class Prober:
    """`seconds` bounds the search for the end of the context, the rest is a few short calls."""

    chat: Chat
    spec: ModelSpec
    on_progress: Callable[[Progress], None]
    seconds: float = 120.0
    longest: int = _LONGEST
    _results: list[ChatResult] = field(default_factory=list)
    _done: int = 0

    async def run(self) -> Probe:
        started = time.monotonic()
        first, decode = await self._speed()
        rates = {mode: await self._json_rate(mode) for mode in ladder(self.spec)}
        declared = await self.chat.context_tokens()
        sight = await look(
            self.chat,
            self._call,
            longest=min(declared or self.longest, self.longest),
            seconds=self.seconds,
            on_size=lambda size: self._say(f"context: a prompt of {size:,} tokens"),
        )
        self._say("log probabilities")
        return Probe(
            spec=self.spec.text,
            mode=best_mode(rates),
            json_rates={str(mode): rate for mode, rate in rates.items()},
            context_tokens=sight.limit,
            seen_tokens=sight.seen,
            declared_tokens=declared,
            logprobs=await _has_logprobs(self.chat),
            prefill_rate=self._prefill_rate(),
            decode_rate=decode,
            first_token_seconds=first,
            calls=len(self._results),
            tokens_in=sum(result.tokens_in for result in self._results),
            tokens_out=sum(result.tokens_out for result in self._results),
            seconds=time.monotonic() - started,
            measured=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    async def _speed(self) -> tuple[float | None, float | None]:
        """Seconds to the first token and tokens per second after it, once it is loaded."""
        self._say("loading and greeting")
        await self._call(ChatRequest((Message("user", "Say hello."),), 8, timeout=_CALL_SECONDS))
        self._say("speed")
        asked = (Message("user", _COUNTING),)
        result = await self._call(ChatRequest(asked, _SPEED_TOKENS, timeout=_CALL_SECONDS))
        first = result.first_token_seconds
        writing = result.seconds - (first or 0.0)
        if first is None or result.tokens_out < 2 or writing <= 0:  # noqa: PLR2004
            return first, None
        return first, (result.tokens_out - 1) / writing

    async def _json_rate(self, mode: OutputMode) -> float | None:
        """Share of replies that are what was asked for, as they come; None = mode refused."""
        form = Form(Ship)
        valid = 0
        for number, sentence in enumerate(_SENTENCES, 1):
            self._say(f"JSON by {mode}: {number} of {len(_SENTENCES)}")
            messages = (Message("system", _TASK), Message("user", sentence))
            prompt = with_schema(messages, form.text) if mode == "prompted" else messages
            request = ChatRequest(
                prompt, _JSON_TOKENS, schema=form.schema, mode=mode, timeout=_CALL_SECONDS
            )
            try:
                form.read(without_thoughts((await self._call(request)).text))
                valid += 1
            except ModeRefused:
                return None
            except (Misread, ModelTimeout, ContextOverflow):
                if number == _HOPELESS and not valid:
                    return 0.0
        return valid / len(_SENTENCES)

    async def _call(self, request: ChatRequest) -> ChatResult:
        tokens = await self.chat.count(request.messages)
        stream = bounded.Stream(longest_reply(request.max_tokens), None)
        result = await bounded.complete(self.chat, request, stream, tokens_in=tokens)
        self._results.append(result)
        return result

    def _prefill_rate(self) -> float | None:
        """By the longest prompt: short ones measure the overhead."""
        longest = max(self._results, key=lambda result: result.tokens_in)
        fresh = longest.tokens_in - longest.tokens_cached
        if longest.tokens_in < SHORTEST // 2 or not longest.first_token_seconds:
            return None
        return fresh / longest.first_token_seconds

    def _say(self, said: str) -> None:
        self._done += 1
        steps = 3 + len(ladder(self.spec)) * len(_SENTENCES) + 7
        self.on_progress(Progress(said, min(self._done, steps), steps))


def best_mode(rates: dict[OutputMode, float | None]) -> OutputMode:
    """The first that is good enough, else the most reliable, the earlier of equals."""
    known = {mode: rate for mode, rate in rates.items() if rate is not None}
    for mode, rate in known.items():
        if rate >= _GOOD_ENOUGH:
            return mode
    return max(known, key=lambda mode: known[mode]) if known else "prompted"


async def _has_logprobs(chat: Chat) -> bool:
    ask = getattr(chat, "has_logprobs", None)
    return bool(await ask()) if ask is not None else False
