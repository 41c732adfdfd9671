"""A process that has everything imported and forks a child for each job: to be killed. One job a
line on standard input; the pid of its child is told on standard output. The child works on the
questions of the job one after the other, with one library, and tells what happens in a pipe: one
event a line, the number of its question first. The pipe ends when the child does, however that
is."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from secondlook.engine.secondlook import Secondlook
    from secondlook.events import Event
    from secondlook.library.library import Library


def main() -> None:
    preload()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how they died
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            work(json.loads(line))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
    os._exit(0)  # to take down all that was imported takes seconds


def preload() -> None:
    """What starts no thread, for a fork has none but its own; not lance, which forbids it."""
    from importlib import import_module

    names = "duckdb", "langchain_openai", "onnxruntime", "secondlook.engine", "httpcore", "psycopg"
    for name in names:
        import_module(name)
    from secondlook.graphs.registry import WORKFLOWS
    from secondlook.settings.sections import Settings

    for workflow in WORKFLOWS.values():
        workflow.build(Settings()).compile()


def work(job: dict[str, Any]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 1
    try:
        with Path(job["told"]).open("w", encoding="utf-8", buffering=1) as told:
            asyncio.run(answer_all(job, told))
        code = 0
    except BaseException:  # noqa: BLE001  # whoever reads the test's output learns why
        traceback.print_exc()
    finally:
        os._exit(code)


async def answer_all(job: dict[str, Any], told: Any) -> None:
    from secondlook.library.library import Library
    from secondlook.settings.sections import Settings

    usual = Settings.model_validate(job["runs"][0]["settings"])
    with Library.open(settings=usual, create=False) as library:
        for number, run in enumerate(job["runs"]):
            await answer(library, run, lambda event, at=number: told.write(f"{at} {event}\n"), job)


async def answer(library: Library, run: dict[str, Any], tell: Any, job: dict[str, Any]) -> None:
    from secondlook.engine.secondlook import Secondlook
    from secondlook.errors import RunStopped
    from secondlook.settings.sections import Settings

    engine = Secondlook(library, settings=Settings.model_validate(run["settings"]))
    if job["drains"]:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, engine.drain)
    tell("opened")
    try:
        with suppress(RunStopped):
            async for event in events(engine, run):
                tell(f"{event.type} {getattr(event, 'node', '')}")
    finally:
        await engine.adetach()


def events(engine: Secondlook, run: dict[str, Any]) -> AsyncIterator[Event]:
    if run["resumes"]:
        return engine.aresume_stream(run["run"])
    return engine.astream(run["question"], run=run["run"], workflow=run["workflow"])


if __name__ == "__main__":
    main()
