"""A worker process as its owner sees it: started, spoken with, and ended."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, Any

from secondlook.models.gguf.failures import died, from_worker
from secondlook.models.gguf.wire import receive, send
from secondlook.processes import APART

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.errors import ModelError, ModelUnavailable

_PROGRAM = (
    "import sys; sys.path[:] = {path!r}; from secondlook.models.gguf.worker import main; main()"
)
_LEAVE_SECONDS = 2.0
_LOG_BYTES = 1 << 16
_GRAMMAR_ERROR = re.compile(r"llg error: (.*)")
_LOG_STAMP = re.compile(r"^[\d.]+ E +")


@dataclass(frozen=True, slots=True)
class Launch:
    """Which model a worker loads, and how. Equal ones share a worker."""

    path: str
    context_tokens: int
    threads: int

    @property
    def spec(self) -> str:
        return f"gguf:{self.path}"


class WorkerProcess:
    """Used by the one thread that started it; `kill` alone may come from any thread."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._log: IO[bytes] = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - closed by end()
        self._logged = 0
        """Where the log ended when the worker was last told something."""
        self._is_doomed = False
        try:
            self._process = _start(self._log)
        except OSError:
            self._log.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        return not self._is_doomed and self._process.poll() is None

    def load(self) -> dict[str, Any]:
        """Waits until the model is there; what the worker knows about it."""
        return self.converse(asdict(self._launch), on_piece=lambda _: None)

    def converse(
        self, message: dict[str, Any], on_piece: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        """The result; pieces of text are passed on as they come. EOFError when the worker died."""
        if self._process.stdin is None or self._process.stdout is None:
            raise EOFError
        self._logged = self._log.seek(0, os.SEEK_END)
        send(self._process.stdin, message)
        while (reply := receive(self._process.stdout)).get("kind") == "text":
            on_piece(reply)
        if reply.get("kind") == "failed":
            raise self._failure(reply)
        if message.get("schema") is not None:
            self._insist_on_grammar()
        return reply

    def _failure(self, reply: dict[str, Any]) -> ModelError:
        if reply.get("reason") == "load":
            reply = {**reply, "why": self._complaint() or reply.get("why")}
        return from_worker(self._launch.spec, reply)

    def _insist_on_grammar(self) -> None:
        """A grammar that llama.cpp cannot make leaves the model free, with a note in the log."""
        if found := _GRAMMAR_ERROR.search(self._new_log()):
            raise from_worker(self._launch.spec, {"reason": "schema", "why": found[1]})

    def _complaint(self) -> str:
        """The first error that llama.cpp wrote down: those after it only repeat that it failed."""
        lines = self._new_log().splitlines()
        errors = [line for line in lines if _LOG_STAMP.match(line)] or lines[-1:]
        return _LOG_STAMP.sub("", errors[0]).strip() if errors else ""

    def _new_log(self) -> str:
        self._log.seek(self._logged)
        return self._log.read(_LOG_BYTES).decode("utf-8", "replace")

    def kill(self) -> None:
        self._is_doomed = True
        with contextlib.suppress(OSError):
            self._process.kill()

    def end(self) -> int:
        """Ends the process and says how it ended; one that ended by itself keeps its status."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        # Its input has ended: it leaves by itself, or it hangs and is made to.
        try:
            status = self._process.wait(_LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._log.close()
        return status

    def died(self) -> ModelUnavailable:
        """What its sudden end means to whoever was waiting for it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE_SECONDS)
        complaint = self._complaint()
        return died(self._launch.spec, self.end(), complaint)


def _start(log: IO[bytes]) -> subprocess.Popen[bytes]:
    program = _PROGRAM.format(path=sys.path)
    # Threads that wait for each other spin by default: next to any other busy program the model
    # then becomes many times slower than on one thread.
    environment = {"OMP_WAIT_POLICY": "PASSIVE", **os.environ}
    return subprocess.Popen(  # noqa: S603 - this very interpreter
        [sys.executable, "-X", "utf8", "-c", program],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment, **APART,
    )  # fmt: skip
