"""Talking to a worker: a process that holds one system and answers one request at a time."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, Self

from benchmarks.peers_install import CACHE, ROOT, environment, interpreter

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


class Worker:
    def __init__(self, system: str, corpus: Path, folder: Path, kept: Path | None) -> None:
        self.system = system
        folder.mkdir(parents=True, exist_ok=True)
        log = CACHE / "logs" / f"{folder.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        command = [interpreter(system), "-m", "benchmarks.peers_worker"]
        command += [system, str(corpus), str(folder)]
        command += ["--kept", str(kept)] if kept else []
        self._log = log.open("w", encoding="utf-8")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
            cwd=ROOT,
            env=environment(),
        )
        self.about = self._answer()

    def request(self, **request: Any) -> dict[str, Any]:
        if self._process.stdin is None:
            raise SystemExit(f"{self.system}: no way to ask")
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def leave(self) -> dict[str, Any]:
        """Its last words. It may take its time to end, and is ended when this block is left."""
        return self.request(do="leave")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
        self._log.close()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise SystemExit(f"{self.system} ended without an answer: see {self._log.name}")
        answer: dict[str, Any] = json.loads(line)
        return answer
