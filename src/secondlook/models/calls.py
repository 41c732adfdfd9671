"""The models of one process, and the one door to them: counted, paid for, journaled, validated."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from secondlook.answer import CallUsage
from secondlook.errors import (
    BudgetExceeded,
    ContextOverflow,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    SecondlookError,
    SettingsError,
    UnusableReply,
)
from secondlook.models.budget import Ledger, summed
from secondlook.models.chat import (
    Chat,
    ChatRequest,
    ChatResult,
    Message,
    ModelBusy,
    ModeRefused,
    OutputMode,
    Reply,
    Role,
    T,
    approximate_tokens,
    characters,
    longest_reply,
)
from secondlook.models.journal import Calls, Journal, JournalEntry
from secondlook.models.prices import Price, Prices, Reservation
from secondlook.models.replies import (
    Form,
    Misread,
    SpokenOnly,
    Stream,
    complete,
    corrected,
    counted,
    with_schema,
    without_thoughts,
)
from secondlook.models.specs import Cast, ModelSpec, Part, ladder, window_of
from secondlook.telemetry import SILENT, Observer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from secondlook.models.probe import Probe
    from secondlook.settings.sections import ModelSettings, Settings


class Models:
    """`open_chat` makes a backend of a spec; tests put their doubles there."""

    def __init__(
        self,
        settings: Settings,
        *,
        open_chat: Callable[[ModelSpec], Chat] | None = None,
        probes: Callable[[ModelSpec], Probe | None] | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.settings: ModelSettings = settings.models
        self.cast = Cast(settings.models)
        self.pause = pause
        self._open_chat = open_chat
        self._probes = probes
        self._prices = Prices(settings.models.prices)
        self._chats: dict[str, Chat] = {}
        self._refused: dict[str, set[OutputMode]] = {}
        self._probed: dict[str, Probe | None] = {}

    def asker(
        self, *, run: str, workflow: str, ledger: Ledger, journal: Journal, **more: Any
    ) -> Asker:
        return Asker(self, run, workflow, ledger, journal, **more)

    def chat(self, spec: ModelSpec) -> Chat:
        """The backend of a model, one for all who ask it."""
        if spec.text not in self._chats:
            opened = self._open_chat(spec) if self._open_chat else open_chat(spec, self.settings)
            self._chats[spec.text] = opened
        return self._chats[spec.text]

    def price(self, spec: ModelSpec) -> Price | None:
        return self._prices.of(spec)

    def probe(self, spec: ModelSpec) -> Probe | None:
        """What was measured of a model; None = nothing."""
        if spec.text not in self._probed:
            from secondlook.models.probe import stored_probe

            self._probed[spec.text] = (self._probes or stored_probe)(spec)
        return self._probed[spec.text]

    def modes(self, part: Part) -> tuple[OutputMode, ...]:
        """Ways to get an object out of the model, the best first, without what it refused."""
        modes = ladder(part.spec)
        best: OutputMode | None = part.options.mode
        if best is None and (probe := self.probe(part.spec)):
            best = probe.mode
        if best in modes:
            modes = modes[modes.index(best) :]
        refused = self._refused.get(part.spec.text, set())
        return tuple(mode for mode in modes if mode not in refused) or modes[-1:]

    def refused(self, part: Part, mode: OutputMode) -> None:
        self._refused.setdefault(part.spec.text, set()).add(mode)

    async def context_tokens(self, part: Part) -> int | None:
        """How much the model can see: the least of what is set, measured and said by itself."""
        known = [part.options.context_tokens, await self.chat(part.spec).context_tokens()]
        if not part.options.context_tokens and (probe := self.probe(part.spec)):
            known.append(probe.context_tokens)
        return min(filter(None, known), default=None)

    def refuse_unfit(self) -> None:
        """Whoever names a model wants its answers: where it cannot give any, that is told at once
        and with its remedy. Backends that were handed in are taken as they are."""
        if self._open_chat is not None:
            return
        for spec in filter(lambda one: one.named, self.cast.specs()):
            from secondlook.models.discovery import fitness

            said, remedy = fitness(spec)
            if remedy is not None:
                hint = f"{remedy}; secondlook doctor lists models within reach"
                raise SettingsError(f"{spec.text!r} cannot be used: {said}", hint=hint)

    async def aclose(self) -> None:
        chats, self._chats = list(self._chats.values()), {}
        for chat in chats:
            await chat.aclose()


def open_models(settings: Settings) -> Models:
    """The models that the settings name. Nothing is loaded until one is asked."""
    models = Models(settings)
    models.refuse_unfit()
    return models


def open_chat(spec: ModelSpec, settings: ModelSettings) -> Chat:
    """The backend that serves a spec. Nothing of a provider is imported before that."""
    if not spec.named:
        raise ModelError("there is no model to open: it is set to 'none'")
    if spec.provider == "gguf":
        from secondlook.models.gguf import GgufChat

        return GgufChat(spec.path, context_tokens=window_of(settings))
    from secondlook.models.langchain import LangChainChat

    return LangChainChat(spec, settings)


_MARGIN = 16  # tokens kept free between prompt, reply and the end of the context


class Options(TypedDict, total=False):
    """How one reply is asked for."""

    max_tokens: int  # 512 unless said
    stop: tuple[str, ...]
    temperature: float | None  # in place of the role's own
    on_text: Callable[[str], None] | None  # hears a text as it is written: a preview, never JSON
    final: bool  # it may use what the ledger has set aside


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks models on behalf of one run of one workflow."""

    models: Models
    run: str
    workflow: str
    ledger: Ledger
    journal: Journal
    observer: Observer = SILENT
    visit: Callable[[], str] = str  # names the visit to a node from which it is asked

    def serves(self, role: Role) -> bool:
        """Whether there is a model for this role; False for `none`."""
        return self.models.cast.part(role, self.workflow).spec.named

    def name(self, role: Role) -> str:
        return self._part(role).spec.text

    def temperature(self, role: Role) -> float:
        return self._part(role).options.temperature

    def local(self, role: Role) -> bool:
        """Whether it runs on this machine: then little fits, and reading takes long."""
        part = self._part(role)
        return part.spec.named and self._chat(part).local

    def is_known(self, role: Role) -> bool:
        """Whether it is a hosted one with a name and a price that everybody knows."""
        spec = self._part(role).spec
        return not spec.local and self.models.price(spec) is not None

    async def room(
        self, role: Role, *, max_tokens: int, schema: type[Any] | None = None, final: bool = False
    ) -> int | None:
        """Tokens that a prompt may have beside the reply; None = unknown. A `final` one makes do
        with what the budget still pays for."""
        part = self._part(role)
        longest = part.options.max_tokens or max_tokens
        context = await self.context(part, final=final)
        rooms = [] if context is None else [context - longest]
        if final:
            price, name = self.models.price(part.spec), part.spec.text
            paid = self.ledger.room(model=name, max_tokens_out=longest, price=price, final=True)
            rooms += [] if paid is None else [paid]
        if not rooms:
            return None
        told = 0
        if schema is not None and self.models.modes(part)[0] == "prompted":
            bare = (Message("user", ""),)
            told = await self._chat(part).count(with_schema(bare, Form(schema).text))
            told -= await self._chat(part).count(bare)
        return max(0, min(rooms) - told - _MARGIN)

    @overload
    async def ask(
        self,
        role: Role,
        messages: Sequence[Message],
        schema: type[T],
        *,
        node: str,
        **options: Unpack[Options],
    ) -> Reply[T]: ...

    @overload
    async def ask(
        self, role: Role, messages: Sequence[Message], *, node: str, **options: Unpack[Options]
    ) -> Reply[None]: ...

    async def ask(
        self,
        role: Role,
        messages: Sequence[Message],
        schema: type[Any] | None = None,
        *,
        node: str,
        **options: Unpack[Options],
    ) -> Reply[Any]:
        """One reply: text, or with a schema an object of it in `value`. Raises ContextOverflow
        before anything is sent, BudgetExceeded or a ModelError; nothing else."""
        part = self._part(role)
        temperature = options.get("temperature")
        if temperature is not None:
            chosen = part.options.model_copy(update={"temperature": temperature})
            part = replace(part, options=chosen)
        exchange = Exchange(
            asker=self,
            part=part,
            chat=self._chat(part),
            messages=tuple(messages),
            form=Form(schema) if schema is not None else None,
            node=node,
            max_tokens=part.options.max_tokens or options.get("max_tokens", 512),
            stop=options.get("stop", ()),
            final=options.get("final", False),
            on_text=options.get("on_text"),
            calls=Calls(self.run, self.journal, self.visit),
        )
        usage = CallUsage(node=node, role=part.role, model=part.spec.text)
        error: str | None = None
        began = time.monotonic()
        try:
            reply = await exchange.run()
            usage = reply.usage
        except (SecondlookError, asyncio.CancelledError) as failure:
            if isinstance(failure, BudgetExceeded):
                self.ledger.refuse(failure)
            error = type(failure).__name__
            raise
        else:
            return reply
        finally:
            if exchange.called:  # replies of the journal are nobody's work
                seconds = time.monotonic() - began
                self.observer.called(self.run, usage, seconds=seconds, error=error)

    async def context(self, part: Part, *, final: bool) -> int | None:
        """Within the time of the run; where that ends meanwhile, the ledger will say so."""
        try:
            async with asyncio.timeout(self.ledger.remaining_seconds(final=final)):
                return await self.models.context_tokens(part)
        except TimeoutError:
            return None

    def _part(self, role: Role) -> Part:
        return self.models.cast.part(role, self.workflow)

    def _chat(self, part: Part) -> Chat:
        if not part.spec.named:
            hint = "Name one with --model or models.default; `secondlook models` lists them."
            raise ModelError(f"no model serves the role {part.role!r}", hint=hint)
        return self.models.chat(part.spec)


# One question to one model until there is a usable reply: each try reserved, bounded and settled.

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 20.0


@dataclass(frozen=True, slots=True)
class _Made:
    """A call that gave a reply; its account is settled once the reply has been read."""

    result: ChatResult
    prompt: tuple[Message, ...]
    key: str  # under which the journal keeps the reply
    paid: Reservation | CallUsage  # what an earlier part of the run paid, if the journal had it
    retries: int = 0


@dataclass(slots=True)
class Exchange:
    asker: Asker
    part: Part
    chat: Chat
    messages: tuple[Message, ...]
    form: Form[Any] | None
    node: str
    max_tokens: int
    stop: tuple[str, ...]
    final: bool
    on_text: Callable[[str], None] | None
    calls: Calls
    spent: list[CallUsage] = field(default_factory=list)
    called: bool = False  # whether the model was asked
    heard: bool = False

    async def run(self) -> Reply[Any]:
        """The first usable reply, after at most one correction."""
        modes: list[OutputMode] = ["text"]
        if self.form is not None:
            modes = list(self.asker.models.modes(self.part))
        made = await self._ask(self.messages, modes)
        try:
            return self._read(made)
        except Misread as misread:
            problem = misread
        said, schema = without_thoughts(made.result.text), self.form.text if self.form else None
        cut_off = made.result.finish == "length"
        messages = corrected(self.messages, said, str(problem), schema, cut_off=cut_off)
        # A server that answers with prose where JSON was demanded ignores the mode.
        if modes[0] in {"json_schema", "tool"} and "{" not in made.result.text:
            modes = modes[-1:]
        try:
            return self._read(await self._ask(messages, modes))
        except (Misread, ContextOverflow, BudgetExceeded) as refused:
            if isinstance(refused, BudgetExceeded) and refused.reason == "deadline":
                raise
            # Without room or money for a correction the first problem stands.
            last = refused if isinstance(refused, Misread) else problem
            said = f"{self.chat.spec!r} gave {self.node} a reply that cannot be used: {last}"
            hint = "A larger model may do better; `secondlook models probe` measures this one."
            raise UnusableReply(said, hint=hint) from refused

    async def _ask(self, messages: tuple[Message, ...], modes: list[OutputMode]) -> _Made:
        """In the best mode that the server does; what it refuses is not tried again."""
        while True:
            mode, prompt = modes[0], messages
            if self.form is not None and mode == "prompted":
                prompt = with_schema(messages, self.form.text)
            try:
                return await self._made(prompt, mode)
            except UnusableReply as refusal:  # of the mode, or of this schema in this mode
                if isinstance(refusal, ModeRefused):
                    self.asker.models.refused(self.part, mode)
                if len(modes) == 1:
                    raise
                modes.pop(0)

    def _read(self, made: _Made) -> Reply[Any]:
        """Parse; pay for the reply and keep it before anybody acts on it, of use or not. Raises
        `Misread`."""
        text, value = without_thoughts(made.result.text), None
        parse_failures = 1
        try:
            if self.form is not None:
                text, value = self.form.read(text)
            elif not text.strip():
                raise Misread("it is empty")
            parse_failures = 0
        finally:
            result, usage = made.result, made.paid
            if not isinstance(usage, CallUsage):
                same = ("tokens_in", "tokens_out", "tokens_cached", "seconds")
                usage = self.asker.ledger.settle(
                    usage,
                    **{name: getattr(result, name) for name in same},
                    characters_in=characters(made.prompt),
                    characters_out=len(result.text),
                    retries=made.retries,
                    parse_failures=parse_failures,
                )
                entry = JournalEntry.of(usage, result.text, finish=result.finish)
                self.calls.journal.put(made.key, entry)
            self.spent.append(usage)
        return Reply(text, value, made.result.finish, summed(self.spent))

    async def _made(self, prompt: tuple[Message, ...], mode: OutputMode) -> _Made:
        """Ask until there is a reply, as often as settings and deadline allow."""
        sent = [[message.role, message.content] for message in prompt]
        schema, options = self.form.schema if self.form else None, self.part.options
        who = (self.node, self.part.role, self.part.spec.text)
        how = (mode, self.max_tokens, options.temperature, options.seed, list(self.stop))
        key = self.calls.key(*who, sent, schema, *how)  # everything that shapes the reply
        if (known := self.calls.journal.get(key)) is not None:
            result = ChatResult(known.text, known.finish, known.tokens_in, known.tokens_out)
            return _Made(result, prompt, key, known.usage)
        if self.calls.refusal(key, ModeRefused.__name__):
            raise ModeRefused(f"{self.chat.spec!r} has refused this form of reply before")
        tokens_in: int | None = None
        failed: ModelUnavailable | None = None
        for turn in range(options.retries + 1):
            if failed is not None:  # pause before the next try, if there is time for it
                asked = failed.wait if isinstance(failed, ModelBusy) else None
                pause = _FIRST_PAUSE * 2 ** (turn - 1) if asked is None else asked
                left = self.asker.ledger.remaining_seconds(final=self.final)
                over = pause > _LONGEST_PAUSE or (left is not None and pause >= left)
                if over or not failed.retryable:
                    break
                await self.asker.models.pause(pause)
            try:
                if tokens_in is None:
                    tokens_in = await self._fitting(prompt)
                return await self._once(key, prompt, mode, tokens_in, int(failed is not None))
            except BudgetExceeded as refused:
                if failed is None or refused.reason == "deadline":
                    raise
                break  # it failed, and there is no budget for another try
            except ModelUnavailable as error:
                failed = error
        assert failed is not None  # noqa: S101  # there is at least one turn
        raise failed

    async def _fitting(self, prompt: tuple[Message, ...]) -> int:
        tokens = await counted(self.chat, prompt, self._timeout())
        context = await self.asker.context(self.part, final=self.final)
        if context is not None and tokens + self.max_tokens > context:
            both = f"a prompt of {tokens:,} tokens and a reply of {self.max_tokens:,}"
            seen = f"do not fit into the {context:,} tokens that {self.chat.spec!r} can see"
            hint = "Give less evidence (answer.evidence_tokens), or set all.context_tokens=N."
            raise ContextOverflow(f"{self.node}: {both} {seen}", hint=hint)
        return tokens

    async def _once(
        self, key: str, prompt: tuple[Message, ...], mode: OutputMode, tokens_in: int, retries: int
    ) -> _Made:
        ledger, options, spec = self.asker.ledger, self.part.options, self.part.spec
        who: dict[str, Any] = {"node": self.node, "role": self.part.role, "model": spec.text}
        price = self.asker.models.price(spec)
        taken: dict[str, Any] = {"tokens_in": tokens_in, "max_tokens_out": self.max_tokens}
        reserved = ledger.reserve(**who, **taken, price=price, final=self.final)
        # What a call takes of which nothing more is ever heard: it was read, as far as we know.
        cost = float(price.of(tokens_in=tokens_in, tokens_out=0)) if price else None
        read: dict[str, Any] = {"tokens_in": tokens_in, "characters_in": characters(prompt)}
        expected = CallUsage(**who, **read, calls=1, cost=cost, retries=retries)
        sending, token = self.calls.send(key, expected, reserved)
        self.called = True
        listener = None  # nobody hears JSON, and nobody hears a reply twice
        if self.on_text is not None and not self.heard and self.form is None:
            listener = SpokenOnly(self.on_text)
        stream = Stream(longest_reply(self.max_tokens), listener)
        request = ChatRequest(
            messages=prompt,
            max_tokens=self.max_tokens,
            temperature=options.temperature,
            seed=options.seed,
            schema=self.form.schema if self.form else None,
            mode=mode,
            timeout=self._timeout(),
            stop=self.stop,
            idempotency_key=token,
        )
        started = time.monotonic()
        try:
            result = await complete(self.chat, request, stream, tokens_in=tokens_in)
        except ModeRefused:
            ledger.release(reserved)  # turned away at the door: nothing was read
            nothing = CallUsage(**who, cost=0.0)
            self.calls.failed(sending, JournalEntry.of(nothing, ModeRefused.__name__))
            raise
        except (ModelError, asyncio.CancelledError) as error:
            # What was waited for or begun was worked on, and may be billed whole.
            worked = bool(stream.text) or isinstance(error, ModelTimeout | asyncio.CancelledError)
            usage = ledger.settle(
                reserved,
                tokens_in=tokens_in if worked else 0,
                tokens_out=approximate_tokens(stream.text),
                characters_in=characters(prompt) if worked else 0,
                characters_out=len(stream.text),
                seconds=time.monotonic() - started,
                retries=retries,
                is_certain=not worked,
            )
            self.spent.append(usage)
            if isinstance(error, ModelError):  # a run that is stopped meanwhile asks again
                doubted = reserved if worked else None
                entry = JournalEntry.of(usage, type(error).__name__, promised=doubted)
                self.calls.failed(sending, entry)
            over = ledger.remaining_seconds(final=self.final) == 0.0
            if over and isinstance(error, ModelTimeout):
                said = f"the time was over before {self.chat.spec!r} had answered {self.node}"
                hint = "Give it more: --timeout or budget.seconds (0 = any)."
                raise BudgetExceeded(said, cap="seconds", hint=hint) from error
            raise
        except BaseException:
            ledger.release(reserved)
            raise
        finally:
            self.heard = self.heard or bool(stream.text)
        if listener is not None:
            listener.finish()
        return _Made(result, prompt, key, reserved, retries)

    def _timeout(self) -> float:
        allowed = self.part.options.timeout
        left = self.asker.ledger.remaining_seconds(final=self.final)
        return allowed if left is None else min(allowed, left)
