"""Questions that are killed in the middle and taken up again: what was done twice, and what became
of the answer."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from secondlook.memory.runs import RunStore
from tests.support.unprivileged import environment

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from secondlook.settings import Settings
    from tests.support.chat_server import ChatServer

ROOT = Path(__file__).parents[2]
RUN = "20261116-0123456789ab"
"""The same in every trial: marks are made of it, and equal prompts are told by equal replies."""
_SECONDS = re.compile(r"\b\d+(?:\.\d+)? s\b")
_MODEL = re.compile(r"openai:[\w-]+@")
"""Each trial asks under a name of its own."""
_OF_TIME = frozenset({"seconds", "created", "fetched", "usage", "memory", "model"})


class Forker:
    """The process that forks them. Use it as a context manager."""

    def __init__(self) -> None:
        told = environment()
        told["PYTHONPATH"] = os.pathsep.join([told["PYTHONPATH"], str(ROOT)])
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.killed_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=told,
        )

    def __enter__(self) -> Self:
        assert self._line() == "ready"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def fork(self, job: dict[str, Any]) -> int:
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


class Calls:
    """The requests that a model got, each by the name under which it was asked."""

    def __init__(self, server: ChatServer) -> None:
        self._server = server
        self._reply = server.reply
        self._came = threading.Condition()
        self._seen: dict[str, int] = {}
        server.reply = self._counted

    def _counted(self, body: dict[str, Any]) -> Any:
        with self._came:
            self._seen[body["model"]] = self._seen.get(body["model"], 0) + 1
            self._came.notify_all()
        return self._reply(body)

    def wait_for(self, model: str, many: int, ended: threading.Event) -> None:
        with self._came:
            self._came.wait_for(lambda: ended.is_set() or self._seen.get(model, 0) >= many)

    def wake(self) -> None:
        with self._came:
            self._came.notify_all()

    def keys(self, model: str) -> list[str]:
        """Idempotency keys, in the order they came."""
        return [
            request.headers["idempotency-key"]
            for request in list(self._server.requests)
            if request.body.get("model") == model
        ]


@dataclass(frozen=True)
class Moment:
    """When to kill: so many seconds after so many events or calls."""

    events: int = 0
    calls: int = 0
    then: float = 0.0

    @classmethod
    def at_random(cls, pick: random.Random, *, events: int, calls: int) -> Moment:
        then = pick.choice([0.0, pick.uniform(0, 0.03)])
        if calls and pick.random() < 0.5:
            return cls(calls=pick.randint(1, calls), then=then)
        return cls(events=pick.randint(2, events), then=then)


@dataclass
class Trial:
    """One question on one store of runs, however often it is killed."""

    forker: Forker
    calls: Calls
    settings: Settings
    workflow: str
    question: str
    folder: Path
    lost: int = 0
    """Calls that were under way when it was killed."""
    repeated: list[str] = field(default_factory=list)
    """Calls that were made again though their replies were there."""
    kills: int = 0
    events: list[str] = field(default_factory=list)

    @property
    def model(self) -> str:
        return self.settings.models.default.partition(":")[2].partition("@")[0]

    def run(self, moment: Moment | None = None, *, resumes: bool = False, sign: int = 9) -> None:
        """Until its answer, or until it is killed."""
        told = self.folder / f"told-{time.monotonic_ns()}"
        os.mkfifo(told)
        job = {
            "settings": json.loads(self.settings.model_dump_json()),
            "run": RUN,
            "workflow": self.workflow,
            "question": self.question,
            "told": str(told),
            "resumes": resumes,
            "drains": sign == signal.SIGTERM,
        }
        answered, begun = self._answered(), len(self.calls.keys(self.model))
        pid = self.forker.fork(job)
        if moment is None:
            self.events = list(_lines(told))
        else:
            self._stop(pid, told, moment, begun, sign)
        self.repeated += [key for key in self.calls.keys(self.model)[begun:] if key in answered]

    def _stop(self, pid: int, told: Path, moment: Moment, begun: int, sign: int) -> None:
        ended, enough = threading.Event(), threading.Event()

        def follow() -> None:
            for number, _ in enumerate(_lines(told), 1):
                if number >= moment.events:
                    enough.set()
            ended.set()
            enough.set()
            self.calls.wake()

        following = threading.Thread(target=follow)
        following.start()
        enough.wait() if moment.events else None
        self.calls.wait_for(self.model, begun + moment.calls, ended)
        ended.wait(moment.then)
        if not ended.is_set():
            os.kill(pid, sign)
            self.kills += 1
        following.join()
        self.lost = self._under_way()

    @property
    def answer(self) -> dict[str, Any] | None:
        """As it is stored."""
        with RunStore.of(self.settings.runs, create=False) as store:
            stored = store.get(RUN).answer
        return None if stored is None else json.loads(stored.model_dump_json())

    def journal(self) -> list[tuple[str, Any]]:
        with RunStore.of(self.settings.runs, create=False) as store:
            return store.journal(RUN).entries()

    def status(self) -> str:
        with RunStore.of(self.settings.runs, create=False) as store:
            return store.get(RUN).status

    def _answered(self) -> set[str]:
        """Idempotency keys of calls whose replies are in the journal."""
        if not self.kills:
            return set()
        entries = dict(self.journal())
        return {
            entry.text
            for key, entry in entries.items()
            if entry.state == "sent" and key.partition("/")[0] in entries
        }

    def _under_way(self) -> int:
        entries = dict(self.journal())
        sent = [key for key, entry in entries.items() if entry.state == "sent"]
        ended = [
            key
            for key, entry in entries.items()
            if entry.kind == "model" and entry.state in {"reply", "failed"}
        ]
        return len(sent) - len(ended)


def _lines(pipe: Path) -> Iterator[str]:
    with pipe.open(encoding="utf-8") as told:
        yield from (line.strip() for line in told)


def comparable(value: Any) -> Any:
    """An answer without what depends on the time it took."""
    if isinstance(value, dict):
        return {name: comparable(one) for name, one in value.items() if name not in _OF_TIME}
    if isinstance(value, list):
        return [comparable(one) for one in value]
    if isinstance(value, str):
        return _MODEL.sub("openai:_@", _SECONDS.sub("_ s", value))
    return value
