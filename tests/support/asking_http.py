"""A server over a small real library, whose model answers when a test lets it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library
from secondlook.library.report import Text
from secondlook.server.libraries import Libraries
from tests.support.function_model import FunctionModel, models_of
from tests.support.serving import Serving, client_of, served, settings_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi.testclient import TestClient

    from secondlook.models.chat import ChatRequest
    from secondlook.settings.sections import Settings

QUESTION = "How deep is berth 4?"
TEXTS = {
    "survey": "Berth 4 remains the deepest berth, at 7.8 metres. It has lost 60 centimetres.",
    "minutes": "The council voted 7 to 2 for dredging. Ms Orr voted against the money.",
}


def library_at(folder: Path) -> None:
    """A library of two short documents."""
    texts = [Text(name=name, text=text) for name, text in TEXTS.items()]
    with Library.open(settings=settings_at(folder)) as library:
        library.add_texts(texts)


@dataclass(slots=True)
class Gate:
    """A model that waits until a test says so; then it says what the passage says."""

    says: str = "Berth 4 is 7.8 metres deep [1]."
    asked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _is_open: threading.Event = field(default_factory=threading.Event)
    _waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = field(default_factory=list)

    async def reply(self, request: ChatRequest) -> str:
        mine = asyncio.Event()
        self._waiting.append((asyncio.get_running_loop(), mine))
        self.asked.release()
        if not self._is_open.is_set():
            await mine.wait()
        return self.says

    def open(self) -> None:
        self._is_open.set()
        for loop, waiting in self._waiting:
            with contextlib.suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(waiting.set)

    def libraries(self, settings: Settings) -> Libraries:
        return Libraries(settings, opening=self._opened)

    def _opened(self, settings: Settings) -> Secondlook:
        library = Library.open(settings.library.path, settings=settings)
        return Secondlook(library, settings=settings, models=models_of(FunctionModel(self.reply)))


@contextmanager
def _behind_a_gate(serving: Any, folder: Path, sections: dict[str, Any]) -> Iterator[Any]:
    gate = Gate()
    sections = {"models": {"default": "ollama:function"}, **sections}
    libraries = gate.libraries(settings_at(folder, **sections))
    try:
        with serving(folder, libraries=libraries, **sections) as server:
            yield server, gate
    finally:
        gate.open()


def gated(folder: Path, **sections: Any) -> AbstractContextManager[tuple[TestClient, Gate]]:
    """A client of a server whose answers wait for the gate."""
    return _behind_a_gate(client_of, folder, sections)


def gated_server(folder: Path, **sections: Any) -> AbstractContextManager[tuple[Serving, Gate]]:
    """The same on a real port."""
    return _behind_a_gate(served, folder, sections)


@dataclass(frozen=True, slots=True)
class Sent:
    """One server-sent event."""

    id: int
    event: str
    data: str


def events_of(text: str) -> list[Sent]:
    """The events of a whole stream; comments are passed over."""
    found = []
    for block in text.strip().split("\n\n"):
        lines = [line.partition(": ") for line in block.splitlines()]
        fields = {name: value for name, _, value in lines if name}
        if fields:
            found.append(Sent(int(fields["id"]), fields["event"], fields["data"]))
    return found
