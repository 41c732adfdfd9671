"""Measure a model once: how to get objects out of it, what it sees, how fast it is."""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import BaseModel, Field

from secondlook.errors import ContextOverflow, ModelError, ModelTimeout
from secondlook.models import replies
from secondlook.models.chat import (
    Chat,
    ChatRequest,
    ChatResult,
    Message,
    ModeRefused,
    OutputMode,
    approximate_prompt,
    longest_reply,
)
from secondlook.models.replies import Form, Misread, with_schema, without_thoughts
from secondlook.models.specs import ModelSpec, ladder
from secondlook.settings.sections import APP_NAME

_JSON_TOKENS = 160
_SPEED_TOKENS = 64
_CALL_SECONDS = 120.0
_GOOD_ENOUGH = 0.95  # a mode that is this reliable is not traded for one further down
_HOPELESS = 3  # after so many failures at the start a mode is given up
_LONGEST = 16_384


class Ship(BaseModel):
    """A ship as a sentence describes it."""

    name: str = Field(max_length=40, description="Name of the ship.")
    year: int = Field(ge=1000, le=2100, description="Year in which it was built.")
    kind: Literal["ferry", "tug", "trawler"]
    ports: list[Annotated[str, Field(max_length=30)]] = Field(max_length=4)


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
SHORTEST = 256
_REPLY = 24
_IN_PROPORTION = 0.75
_WORDS = ("amber", "birch", "coral", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty")
_SUBJECTS = ("The harbour", "A lighthouse", "The north quay", "An old ferry", "The tide table")
_VERBS = ("was painted", "was measured", "stood empty", "was repaired", "was described")
_TIMES = ("in the spring", "before the storm", "twice a year", "after the war", "last week")


@dataclass(slots=True)
class Prober:
    """`seconds` bounds the search for the end of the context, the rest is a few short calls."""

    chat: Chat
    spec: ModelSpec
    on_progress: Callable[[str], None]
    seconds: float = 120.0
    longest: int = _LONGEST
    _results: list[ChatResult] = field(default_factory=list)
    _ends: float = 0.0
    _read: dict[int, int | None] = field(default_factory=dict)  # tokens told, by size of the prompt

    async def run(self) -> Probe:
        started = time.monotonic()
        first, decode = await self._speed()
        rates = {mode: await self._json_rate(mode) for mode in ladder(self.spec)}
        declared = await self.chat.context_tokens()
        seen, limit = await self._look(min(declared or self.longest, self.longest))
        # The first that is good enough, else the most reliable, the earlier of equals.
        known = {mode: min(rate, _GOOD_ENOUGH) for mode, rate in rates.items() if rate is not None}
        return Probe(
            spec=self.spec.text,
            mode=(max(known, key=lambda mode: known[mode]) if known else "prompted"),
            json_rates={str(mode): rate for mode, rate in rates.items()},
            context_tokens=limit,
            seen_tokens=seen,
            declared_tokens=declared,
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
        self.on_progress("loading and greeting")
        await self._call(ChatRequest((Message("user", "Say hello."),), 8, timeout=_CALL_SECONDS))
        self.on_progress("speed")
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
            self.on_progress(f"JSON by {mode}: {number} of {len(_SENTENCES)}")
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

    async def _look(self, longest: int) -> tuple[int | None, int | None]:
        """How much of a prompt the model really sees: a code word starts ever longer ones.
        The longest whose beginning came back, and where it was cut off (None: not met)."""
        self._ends = time.monotonic() + self.seconds
        sizes = [SHORTEST]
        while sizes[-1] * 2 <= longest:
            sizes.append(sizes[-1] * 2)
        seen: int | None = None
        for size in sizes if longest - sizes[-1] < SHORTEST else [*sizes, longest]:
            self.on_progress(f"context: a prompt of {size:,} tokens")
            if await self._recalls(size, at_start=True):
                seen = size
                continue
            # Too weak to tell, out of time, or it read everything and just did not remember.
            now, then = self._read.get(size), self._read.get(seen or 0)
            if seen is None or (now and then and now / then > _IN_PROPORTION * size / seen):
                break
            if await self._recalls(size, at_start=False):
                middle = (seen + size) // 2  # the limit lies between: one more look halves it
                return seen, middle if await self._recalls(middle, at_start=True) else seen
            break
        return seen, None

    async def _recalls(self, size: int, *, at_start: bool) -> bool:
        """Whether a code word comes back out of a prompt of about so many tokens."""
        chance = random.Random(size * 2 + at_start)  # noqa: S311  # the same prompts every time
        word = f"{chance.choice(_WORDS)}-{chance.randrange(100, 1000)}"
        left = self._ends - time.monotonic()
        if left <= 0:
            return False
        secret = f"The code word is {word}."
        asked = "What is the code word? Reply with the code word alone."
        empty, one, bare = [
            await self.chat.count([Message("user", text)])
            for text in ("", _sentence(chance), f"{secret} {asked}")
        ]
        many = max(0, (size - bare - _REPLY) // max(1, one - empty))
        filler = [_sentence(chance) for _ in range(many)]
        parts = [secret, *filler] if at_start else [*filler, secret]
        prompt = (Message("user", f"{' '.join(parts)}\n\n{asked}"),)
        try:
            result = await self._call(ChatRequest(prompt, _REPLY, timeout=left))
        except ModelError:  # refused or out of time: not seen
            return False
        reported = result.tokens_in != approximate_prompt(prompt)
        self._read[size] = result.tokens_in if reported else None
        return word in result.text.casefold()

    async def _call(self, request: ChatRequest) -> ChatResult:
        tokens = await self.chat.count(request.messages)
        stream = replies.Stream(longest_reply(request.max_tokens), None)
        result = await replies.complete(self.chat, request, stream, tokens_in=tokens)
        self._results.append(result)
        return result

    def _prefill_rate(self) -> float | None:
        """By the longest prompt: short ones measure the overhead."""
        longest = max(self._results, key=lambda result: result.tokens_in)
        if longest.tokens_in < SHORTEST // 2 or not longest.first_token_seconds:
            return None
        return (longest.tokens_in - longest.tokens_cached) / longest.first_token_seconds


def _sentence(chance: random.Random) -> str:
    return f"{chance.choice(_SUBJECTS)} {chance.choice(_VERBS)} {chance.choice(_TIMES)}."


# What was measured of a model, kept for the calls that follow.

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class GradingFigures:
    """How well a model tells right from wrong, on the labelled pairs that are shipped."""

    pairs: int
    precision: float | None  # of what it accepted, the share that is right; None = nothing accepted
    recall: float  # of what is right, the share that it accepted: the rest it rejected falsely
    ungraded: int  # pairs of which it said nothing that can be used
    few_shot: bool  # whether it was shown examples, and is from then on
    fit: bool  # whether it may be asked
    made_with: str  # which prompt and which pairs: of others these figures say nothing
    measured: str


@dataclass(frozen=True, slots=True)
class Probe:
    spec: str
    mode: OutputMode
    json_rates: dict[str, float | None]  # share of valid replies by mode; None = refused
    context_tokens: int | None  # beyond it the beginning of a prompt was not seen; None = no limit
    seen_tokens: int | None  # the longest prompt whose beginning it gave back; None = of none
    declared_tokens: int | None  # as its server or file says
    prefill_rate: float | None
    decode_rate: float | None
    first_token_seconds: float | None
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    measured: str
    grading: GradingFigures | None = None  # of passages; None = not measured, as by older versions
    answer_grading: GradingFigures | None = None


def probes_folder() -> Path:
    return Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)) / "probes"


def stored_probe(spec: ModelSpec) -> Probe | None:
    """None where it was never measured, or not by a version that measured the same."""
    try:
        content: dict[str, Any] = json.loads(_file(spec).read_text("utf-8"))
        if (content.pop("format"), content.pop("identity")) != (_FORMAT, identity(spec)):
            return None
        content.pop("logprobs", None)  # an earlier version measured it
        for name in ("grading", "answer_grading"):
            try:
                content[name] = GradingFigures(**content.get(name))  # type: ignore[arg-type]
            except TypeError:  # another version measured it otherwise
                content[name] = None
        return Probe(**content)
    except (OSError, ValueError, AttributeError, TypeError, LookupError):
        return None


def store_probe(spec: ModelSpec, probe: Probe) -> Path:
    file = _file(spec)
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {"format": _FORMAT, "identity": identity(spec), **asdict(probe)}
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=file.parent, suffix=".tmp", delete=False
    ) as writing:
        json.dump(content, writing, indent=2)
    Path(writing.name).replace(file)  # never half written
    return file


def identity(spec: ModelSpec) -> str:
    """What must be the same for a measurement to hold."""
    if spec.provider != "gguf":
        return f"{spec.provider}:{spec.model}@{spec.base_url or ''}"
    try:
        found = spec.path.stat()
    except OSError:
        return f"gguf:{spec.path}"
    return f"gguf:{spec.path.absolute()}:{found.st_size}:{found.st_mtime_ns}"


def _file(spec: ModelSpec) -> Path:
    place = str(spec.path.absolute()) if spec.provider == "gguf" else identity(spec)
    return probes_folder() / f"{hashlib.sha256(place.encode()).hexdigest()[:16]}.json"
