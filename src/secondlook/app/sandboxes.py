"""The sandbox of an engine: opened when the first code is to run, and shared by all runs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.sandbox import Sandbox
    from secondlook.settings import SandboxSettings


class OneSandbox:
    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._open: Sandbox | None = None

    def __call__(self) -> Sandbox:
        """Raises SandboxError where none works here."""
        with self._lock:
            if self._open is None:
                from secondlook.sandbox.opening import open_sandbox

                self._open = open_sandbox(self._settings.backend)
            return self._open

    def close(self) -> None:
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None
