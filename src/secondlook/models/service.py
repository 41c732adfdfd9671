"""The models of one process: opened when first asked, shared by all runs, closed together."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.errors import SettingsError
from secondlook.models.asker import Asker
from secondlook.models.modes import ladder
from secondlook.models.prices import Prices
from secondlook.models.roles import Cast
from secondlook.telemetry.port import SILENT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from secondlook.memory.journal import Journal
    from secondlook.memory.ledger import Ledger, Price
    from secondlook.models.port import Chat, OutputMode
    from secondlook.models.probe_store import Probe
    from secondlook.models.roles import Part
    from secondlook.models.specs import ModelSpec
    from secondlook.settings import ModelSettings, Settings
    from secondlook.telemetry.port import Observer


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
        self._open_chat = open_chat or self._open
        self._probes = probes or _stored_probe
        self._prices = Prices(settings.models.prices)
        self._chats: dict[str, Chat] = {}
        self._refused: dict[str, set[OutputMode]] = {}
        self._probed: dict[str, Probe | None] = {}
        self._counting: dict[str, float] = {}

    def asker(
        self,
        *,
        run: str,
        workflow: str,
        ledger: Ledger,
        journal: Journal,
        observer: Observer = SILENT,
        visit: Callable[[], str] = str,
        counting: Mapping[str, float] | None = None,
    ) -> Asker:
        return Asker(self, run, workflow, ledger, journal, observer, visit, counting or {})

    def chat(self, spec: ModelSpec) -> Chat:
        """The backend of a model, one for all who ask it."""
        if spec.text not in self._chats:
            self._chats[spec.text] = self._open_chat(spec)
        return self._chats[spec.text]

    def price(self, spec: ModelSpec) -> Price | None:
        return self._prices.of(spec)

    def probe(self, spec: ModelSpec) -> Probe | None:
        """What was measured of a model; None = nothing."""
        if spec.text not in self._probed:
            self._probed[spec.text] = self._probes(spec)
        return self._probed[spec.text]

    def modes(self, part: Part) -> tuple[OutputMode, ...]:
        """Ways to get an object out of the model, the best first, without what it refused."""
        modes = ladder(part.spec)
        best = part.options.mode or self._probed_mode(part.spec)
        if best in modes:
            modes = modes[modes.index(best) :]
        refused = self._refused.get(part.spec.text, set())
        return tuple(mode for mode in modes if mode not in refused) or modes[-1:]

    def refused(self, part: Part, mode: OutputMode) -> None:
        self._refused.setdefault(part.spec.text, set()).add(mode)

    def counting(self) -> dict[str, float]:
        """How many tokens models were seen to count for each that we do, where it is more; by name.

        A run goes by what was known when it began: what it packs by it must come out the same when
        it is taken up again, or calls that it has paid for would not be known again."""
        return dict(self._counting)

    def counted(self, spec: ModelSpec, *, estimate: int, told: int) -> None:
        """A model has told how long a prompt was."""
        if told > estimate > 0:
            known = self._counting.get(spec.text, 1.0)
            self._counting[spec.text] = max(known, told / estimate)

    async def context_tokens(self, part: Part) -> int | None:
        """How much the model can see: the least of what is set, measured and said by itself."""
        known = [part.options.context_tokens, self.settings.context_tokens]
        known.append(await self.chat(part.spec).context_tokens())
        if not self.settings.context_tokens and (probe := self.probe(part.spec)):
            known.append(probe.context_tokens)
        return min(filter(None, known), default=None)

    async def aclose(self) -> None:
        chats, self._chats = list(self._chats.values()), {}
        for chat in chats:
            await chat.aclose()

    def _probed_mode(self, spec: ModelSpec) -> OutputMode | None:
        probe = self.probe(spec)
        return probe.mode if probe else None

    def _open(self, spec: ModelSpec) -> Chat:
        from secondlook.models.opening import open_chat

        return open_chat(spec, self.settings)


def open_models(settings: Settings) -> Models:
    """The models that the settings name. Nothing is loaded or reached until one is asked."""
    models = Models(settings)
    refuse_missing_files(models)
    return models


def refuse_missing_files(models: Models) -> None:
    """A path that was mistyped is told at once, not by a run that goes on without the model."""
    for spec in models.cast.specs():
        if spec.provider == "gguf" and not Path(spec.model).expanduser().is_file():
            raise SettingsError(
                f"there is no model file {spec.model!r}",
                hint="name one as gguf:PATH; secondlook doctor lists those within reach",
            )


def _stored_probe(spec: ModelSpec) -> Probe | None:
    from secondlook.models.probe_store import stored_probe

    return stored_probe(spec)
