"""Questions that are killed in the middle and taken up again: what was done twice, and what became
of the answer."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from secondlook.engine.record import RunStore
from secondlook.errors import RunMissing
from tests.support.unprivileged import environment

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from secondlook.settings.sections import Settings
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
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def fork(self, job: dict[str, Any]) -> int:
        """The child's pid."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())


class Calls:
    """The requests that a model got, each by the name under which it was asked."""

    def __init__(self, server: ChatServer) -> None:
        self._server = server
        self._reply = server.reply
        self.news = threading.Condition()
        """Told of every request, and of what processes tell."""
        self._seen: dict[str, int] = {}
        server.reply = self._counted

    def _counted(self, body: dict[str, Any]) -> Any:
        with self.news:
            self._seen[body["model"]] = self.many(body["model"]) + 1
            self.news.notify_all()
        return self._reply(body)

    def many(self, model: str) -> int:
        return self._seen.get(model, 0)

    def keys(self, model: str) -> list[str]:
        """Idempotency keys, in the order they came."""
        return [
            request.headers["idempotency-key"]
            for request in list(self._server.requests)
            if request.body.get("model") == model
        ]


@dataclass(frozen=True)
class Moment:
    """When to kill: so many seconds after so many events or calls, counted from one run on."""

    events: int = 0
    calls: int = 0
    then: float = 0.0
    since: int = 0
    """The run among those of the process."""

    @classmethod
    def at_random(cls, pick: random.Random, whole: Trial, *, since: int = 0) -> Moment:
        then = pick.choice([0.0, pick.uniform(0, 0.03)])
        if whole.calls and pick.random() < 0.5:
            return cls(calls=pick.randint(1, whole.calls), then=then, since=since)
        return cls(events=pick.randint(1, whole.events), then=then, since=since)


@dataclass
class Trial:
    """One question on one store of runs, however often it is killed."""

    settings: Settings
    workflow: str
    question: str
    events: int = 0
    """That the last process told of it."""
    last: str = ""
    kills: int = 0
    answer: dict[str, Any] | None = None
    """As it is stored."""
    status: str | None = None
    """None = the record does not know of it."""
    journal: list[tuple[str, Any]] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    """Calls that were made again though their replies were there."""

    @property
    def model(self) -> str:
        return self.settings.models.default.partition(":")[2].partition("@")[0]

    @property
    def calls(self) -> int:
        return sum(entry.state == "sent" for _, entry in self.journal)

    @property
    def lost(self) -> int:
        """Calls that were under way when it was killed."""
        ended = [
            entry
            for _, entry in self.journal
            if entry.kind == "model" and entry.state in {"reply", "failed"}
        ]
        return self.calls - len(ended)

    def look(self) -> None:
        """What the record holds of it by now."""
        with RunStore(self.settings.runs) as store:
            try:
                found = store.get(RUN)
            except RunMissing:
                return
            self.status = found.status
            self.journal = store.journal(RUN).entries()
            if found.answer is not None:
                self.answer = json.loads(found.answer.model_dump_json())

    def forget(self) -> None:
        """Make room for the next one in the same store."""
        with RunStore(self.settings.runs) as store:
            store.remove(RUN)

    def answered(self) -> set[str]:
        """Idempotency keys of calls whose replies are in the journal."""
        entries = dict(self.journal)
        return {
            entry.text
            for key, entry in entries.items()
            if entry.state == "sent" and key.partition("/")[0] in entries
        }

    def job(self) -> dict[str, Any]:
        return {
            "settings": json.loads(self.settings.model_dump_json()),
            "run": RUN,
            "workflow": self.workflow,
            "question": self.question,
            "resumes": self.status is not None,
        }


class Process:
    """One that works on questions one after the other, with one library."""

    def __init__(self, calls: Calls, trials: Sequence[Trial]) -> None:
        self._calls = calls
        self._trials = trials
        self._before = [calls.many(trial.model) for trial in trials]
        self._ended = False

    def work(
        self, forker: Forker, folder: Path, moment: Moment | None = None, *, sign: int = 9
    ) -> bool:
        """Until all have their answers, or until it is killed: then it is true."""
        known = [trial.answered() for trial in self._trials]
        pipe = folder / f"told-{time.monotonic_ns()}"
        os.mkfifo(pipe)
        runs = [trial.job() for trial in self._trials]
        drains = sign == signal.SIGTERM
        process = os.pidfd_open(forker.fork({"runs": runs, "told": str(pipe), "drains": drains}))
        following = threading.Thread(target=self._follow, args=[pipe])
        following.start()
        killed = moment is not None and self._stop(process, moment, sign)
        following.join()
        select.select([process], [], [])  # until it is gone, and not only its end of the pipe
        os.close(process)
        for trial, before, replies in zip(self._trials, self._before, known, strict=True):
            trial.look()
            trial.kills += killed and trial.answer is None and trial.status is not None
            again = self._calls.keys(trial.model)[before:]
            trial.repeated += [key for key in again if key in replies]
        return killed

    def _follow(self, pipe: Path) -> None:
        for trial in self._trials:
            trial.events = 0
        with pipe.open(encoding="utf-8") as told:
            for line in told:
                number, _, event = line.strip().partition(" ")
                trial = self._trials[int(number)]
                with self._calls.news:
                    trial.events += 1
                    trial.last = event
                    self._calls.news.notify_all()
        with self._calls.news:
            self._ended = True
            self._calls.news.notify_all()

    def _stop(self, process: int, moment: Moment, sign: int) -> bool:
        def is_time() -> bool:
            since = range(moment.since, len(self._trials))
            events = sum(self._trials[number].events for number in since)
            made = (self._calls.many(self._trials[at].model) - self._before[at] for at in since)
            return self._ended or (events >= moment.events and sum(made) >= moment.calls)

        with self._calls.news:
            self._calls.news.wait_for(is_time)
            self._calls.news.wait_for(lambda: self._ended, moment.then)
            if self._ended:
                return False
        signal.pidfd_send_signal(process, sign)
        return True


def comparable(value: Any) -> Any:
    """An answer without what depends on the time it took."""
    if isinstance(value, dict):
        return {name: comparable(one) for name, one in value.items() if name not in _OF_TIME}
    if isinstance(value, list):
        return [comparable(one) for one in value]
    if isinstance(value, str):
        return _MODEL.sub("openai:_@", _SECONDS.sub("_ s", value))
    return value
