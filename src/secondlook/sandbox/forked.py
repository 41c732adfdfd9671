"""The sandbox that forks a process for each job from one that has imported everything."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

from secondlook.errors import SandboxError, UsageError
from secondlook.sandbox.outcomes import request_file, run_job
from secondlook.sandbox.probe import probed
from secondlook.sandbox.server import ServerGone, ServerProcess

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.sandbox.port import Limits, Outcome, Request, Sandbox, Supplied, Verdict
    from secondlook.sandbox.seccomp import Kind
    from secondlook.sandbox.server import StartedJob


def verdict(kind: Kind) -> Verdict:
    return probed(kind)


def start(kind: Kind, limits: Limits) -> Sandbox:
    """`namespaces`: each job in namespaces of its own, with a private folder in memory. `plain`:
    for machines that refuse namespaces; a job has no place to write to."""
    return ForkingSandbox(kind, limits)


class ForkingSandbox:
    def __init__(self, kind: Kind, limits: Limits) -> None:
        self.name = kind
        self._limits = limits
        self._lock = threading.Lock()
        self._closed = False
        self._server = [ServerProcess(kind)]
        """The one in use; stopped also where the sandbox is forgotten."""
        self._end = weakref.finalize(self, lambda held: held[0].stop(), self._server)

    def run(
        self, code: str, tables: Sequence[Supplied] = (), *, limits: Limits | None = None
    ) -> Outcome:
        return run_job(self._started, code, tables, limits or self._limits)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._end()

    def _started(self, request: Request, tables: Sequence[int]) -> StartedJob:
        content = request_file(request)
        try:
            server = self._living_server()
            try:
                return server.start(content, tables)
            except ServerGone:
                return self._living_server(instead_of=server).start(content, tables)
        except ServerGone as error:
            raise SandboxError(
                "The sandbox's server ended twice before it took the job."
            ) from error
        finally:
            os.close(content)

    def _living_server(self, *, instead_of: ServerProcess | None = None) -> ServerProcess:
        with self._lock:
            if self._closed:
                raise UsageError("This sandbox has been closed.", hint="Open another one.")
            current = self._server[0]
            if current is instead_of or not current.alive:
                current.stop()
                self._server[0] = ServerProcess(self.name)
            return self._server[0]
