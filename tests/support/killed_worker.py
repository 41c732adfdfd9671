"""A process that has everything imported and forks a child for each question: to be killed.

One job a line on standard input; the pid of its child is told on standard output. The child tells
what happens in a pipe, one event a line, which ends when the child does, however that is.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from secondlook.app import Secondlook
    from secondlook.events import Event


def main() -> None:
    preload()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they died
    tell("ready")
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            work(json.loads(line))
        tell(pid)


def tell(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def preload() -> None:
    """What starts no thread, for a fork has none but its own; not lance, which forbids it."""
    from importlib import import_module

    for name in ("duckdb", "langchain_openai", "onnxruntime", "secondlook.app", "httpx"):
        import_module(name)
    from secondlook.graphs.registry import WORKFLOWS
    from secondlook.settings import Settings

    for workflow in WORKFLOWS.values():
        workflow.build(Settings()).compile()


def work(job: dict[str, Any]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 1
    try:
        with Path(job["told"]).open("w", encoding="utf-8", buffering=1) as told:
            asyncio.run(answer(job, told))
        code = 0
    finally:
        os._exit(code)


async def answer(job: dict[str, Any], told: Any) -> None:
    from secondlook.app import Secondlook
    from secondlook.errors import RunStopped
    from secondlook.library import Library
    from secondlook.settings import Settings

    settings = Settings.model_validate(job["settings"])
    engine = Secondlook(Library.open(settings=settings, create=False), settings=settings)
    if job.get("drains"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, engine.drain)
    told.write("opened\n")
    try:
        with suppress(RunStopped):
            async for event in events(engine, job):
                told.write(f"{event.type} {getattr(event, 'node', '')}\n")
    finally:
        await engine.aclose()


def events(engine: Secondlook, job: dict[str, Any]) -> AsyncIterator[Event]:
    if job["resumes"]:
        return engine.aresume_stream(job["run"])
    return engine.astream(job["question"], run=job["run"], workflow=job["workflow"])


if __name__ == "__main__":
    main()
