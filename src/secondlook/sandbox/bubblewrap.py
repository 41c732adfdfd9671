"""The backend `bubblewrap`: each job in a fresh interpreter, in a world that `bwrap` makes for it.

Independent of the other two in how namespaces and mounts are made; system calls and files are
restricted by the same filters. Nothing is kept warm, so a job takes a second to begin.
"""

from __future__ import annotations

import os
import shutil
import threading
from functools import cache
from typing import TYPE_CHECKING

from secondlook.errors import SandboxError, UsageError
from secondlook.sandbox.bubblewrap_starting import start_job, trial
from secondlook.sandbox.confining import landlock, system
from secondlook.sandbox.outcomes import outcome_of
from secondlook.sandbox.port import Verdict
from secondlook.sandbox.probing import missing_packages
from secondlook.sandbox.requesting import new_request, opened, request_file
from secondlook.sandbox.watching import watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.sandbox.bubblewrap_starting import WrappedJob
    from secondlook.sandbox.port import Limits, Outcome, Sandbox, Supplied, Variation
    from secondlook.sandbox.protocol import Request

_NAME = "bubblewrap"
_PROGRAM = "bwrap"
_INSTALL = "bubblewrap is not installed; for example: apt-get install bubblewrap"


def verdict() -> Verdict:
    missing = missing_packages()
    if missing:
        return Verdict(_NAME, usable=False, why=missing)
    return _of_the_machine(shutil.which(_PROGRAM))


def start(limits: Limits) -> Sandbox:
    program = shutil.which(_PROGRAM)
    if program is None:
        raise SandboxError(f"No sandbox can be made: {_INSTALL}.")
    return WrappingSandbox(program, limits)


@cache
def _of_the_machine(program: str | None) -> Verdict:
    if not system.supported():
        return Verdict(_NAME, usable=False, why="it needs Linux on x86-64 or ARM64")
    if program is None:
        return Verdict(_NAME, usable=False, why=_INSTALL)
    problem = trial(program)
    if problem:
        return Verdict(_NAME, usable=False, why=problem)
    known = landlock.version()
    files = f"Landlock {known}" if known else "no Landlock"
    return Verdict(_NAME, usable=True, why=f"{program}, {files}, seccomp")


class WrappingSandbox:
    """Holds nothing between jobs but the jobs that run."""

    def __init__(self, program: str, limits: Limits) -> None:
        self._program = program
        self._limits = limits
        self._lock = threading.Lock()
        self._running: set[WrappedJob] = set()
        self._closed = False

    @property
    def name(self) -> str:
        return _NAME

    def run(
        self,
        code: str,
        tables: Sequence[Supplied] = (),
        *,
        limits: Limits | None = None,
        vary: Variation | None = None,
        seed: int = 0,
    ) -> Outcome:
        request = new_request(code, tables, limits=limits or self._limits, vary=vary, seed=seed)
        with opened(tables) as descriptors:
            return self._carry_out(request, descriptors)

    def close(self) -> None:
        """With all its jobs: what they would have said is lost."""
        with self._lock:
            self._closed = True
            for job in self._running:
                job.kill()

    def _carry_out(self, request: Request, tables: Sequence[int]) -> Outcome:
        job = self._started(request, tables)
        try:
            seen = watch(job, request.limits)
            job.kill()
            return outcome_of(seen, token=request.token, limits=request.limits, ended=job.ended)
        finally:
            with self._lock:
                self._running.discard(job)
            job.close()

    def _started(self, request: Request, tables: Sequence[int]) -> WrappedJob:
        self._must_be_open()
        content = request_file(request)
        try:
            job = start_job(self._program, content, tables, request.limits)
        finally:
            os.close(content)
        with self._lock:
            self._running.add(job)
            if self._closed:
                job.kill()
        return job

    def _must_be_open(self) -> None:
        if self._closed:
            raise UsageError("This sandbox has been closed.", hint="Open another one.")
