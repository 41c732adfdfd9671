"""Models of the short list, fetched to this machine while the page shows how far it is."""

from __future__ import annotations

import logging
import threading
from typing import Literal

from pydantic import BaseModel, Field

from secondlook.errors import SecondlookError, UsageError
from secondlook.models import hub
from secondlook.server.problems import Problem

log = logging.getLogger(__name__)


class Fetch(BaseModel):
    name: str
    status: Literal["running", "checking", "stopping", "done", "failed", "stopped"] = "running"
    done: int = Field(default=0, description="Bytes that are there.")
    size: int = Field(default=0, description="Bytes in all; 0 = not known yet.")
    error: str | None = None
    hint: str | None = None


class _Stopped(Exception):
    """The person does not want it now. What came stays, and the next fetch goes on there."""


class Fetches:
    """One at a time for each model. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, Fetch] = {}
        self._wanted: set[str] = set()
        self._threads: list[threading.Thread] = []

    def start(self, name: str) -> Fetch:
        if name not in hub.known_models():
            hint = f"known are {', '.join(hub.known_models())}; others: secondlook models get"
            raise UsageError(f"there is no model {name!r} to fetch", hint=hint)
        with self._lock:
            if self._held.get(name, Fetch(name=name, status="done")).status not in _GOING_ON:
                self._held[name] = Fetch(name=name)
                self._wanted.add(name)
                thread = threading.Thread(target=self._work, args=(name,), daemon=True)
                self._threads = [*filter(threading.Thread.is_alive, self._threads), thread]
                thread.start()
            return self._held[name].model_copy()

    def get(self, name: str) -> Fetch:
        with self._lock:
            if name in self._held:
                return self._held[name].model_copy()
        raise Problem(404, "fetch_missing", f"no model {name!r} has been fetched since the start")

    def all(self) -> dict[str, Fetch]:
        with self._lock:
            return {name: fetch.model_copy() for name, fetch in self._held.items()}

    def stop(self, name: str) -> Fetch:
        """It is heard when the next bytes come, or their connection is given up."""
        with self._lock:
            if name in self._wanted:
                self._wanted.discard(name)
                self._held[name] = self._held[name].model_copy(update={"status": "stopping"})
        return self.get(name)

    def close(self) -> None:
        self._wanted.clear()
        for thread in self._threads:
            thread.join(1.0)  # a connection that is silent ends with the process

    def _work(self, name: str) -> None:
        def changed(**values: object) -> None:
            with self._lock:
                if name not in self._wanted:
                    raise _Stopped
                self._held[name] = self._held[name].model_copy(update=values)

        ended: dict[str, object] = {"status": "done"}
        try:
            file = hub.described(name)
            changed(size=file.size)
            hub.fetched(
                file,
                listen=lambda done: changed(done=done),
                checking=lambda: changed(status="checking", done=file.size),
            )
        except _Stopped:
            ended = {"status": "stopped"}
        except SecondlookError as error:
            ended = {"status": "failed", "error": error.message, "hint": error.hint}
        except Exception as error:  # the page waits for an end, whatever it is
            said = f"the file could not be written: {error}"
            ended = {"status": "failed", "error": said, "hint": "Is there room, and is it yours?"}
            if not isinstance(error, OSError):
                log.exception("fetching %r failed", name)
                ended["error"], ended["hint"] = "an unexpected error happened", "see the log"
        with self._lock:
            self._wanted.discard(name)
            self._held[name] = self._held[name].model_copy(update=ended)


_GOING_ON = frozenset({"running", "checking", "stopping"})
