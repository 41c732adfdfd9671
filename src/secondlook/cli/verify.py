"""`secondlook verify`: does an answer still stand? Offline, and without any language model."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from secondlook.cli.command import (
    FAILED,
    Call,
    argument,
    command,
    counted,
    one_line,
    option,
    print_json,
)
from secondlook.errors import LibraryMissing, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.answer import Answer
    from secondlook.library.library import Library
    from secondlook.settings import Loaded

_RUN_ID = re.compile(r"last|\d{8}(?:-[0-9a-f]*)?")


@command("\b\nExit code 0: it stands; 1: lines say what does not.\n  secondlook verify last\n")
def verify(
    call: Call,
    *,
    file: str = argument(..., "An answer as JSON, - for stdin, or the id of a run.", "FILE"),
    judge: Literal["reader", "coverage"] | None = option(None, "Who judges support of a claim."),
) -> int:
    """Check an answer against the documents it cites; compute one over tables again."""
    from secondlook.reading.support import load_support
    from secondlook.verify import examine

    answer = _read(call, file)
    loaded = call.load()
    with _library_for(call, loaded, answer) as library:
        report = examine(
            answer,
            library,
            support=load_support(judge or loaded.settings.models.servers.support),
            settings=loaded.settings,
        )
    if call.as_json:
        told: dict[str, object] = {"verified": not report.problems, "run": answer.run}
        told["status"] = answer.status
        for name in ("claims", "citations"):
            told[name] = len(getattr(answer, name))
        for name in ("problems", "notes"):
            told[name] = [asdict(one) for one in getattr(report, name)]
        print_json(told)
    else:
        for note in report.notes:
            call.say(f"note: {one_line(str(note))}")
        for problem in report.problems:
            sys.stdout.write(f"{one_line(str(problem))}\n")
        if not report.problems:
            sys.stdout.write(f"{_stands(answer)}\n")
    return FAILED if report.problems else 0


def _read(call: Call, file: str) -> Answer:
    from secondlook.verify.report import load_answer, read_answer

    if file == "-":
        return read_answer(sys.stdin.buffer, name="standard input")
    if not _RUN_ID.fullmatch(file) or Path(file).exists():
        return load_answer(file)
    from secondlook.engine.record import RunStore

    with RunStore(call.load().settings.runs, create=False) as store:
        found = store.get(file)
    if found.answer is None:
        raise UsageError(f"run {found.run!r} has no answer: it was not finished")
    return found.answer


@contextmanager
def _library_for(call: Call, loaded: Loaded, answer: Answer) -> Iterator[Library | None]:
    """None where the answer needs none: tables may also lie with the run, or in their files."""
    from secondlook.verify.analysis import needs_tables
    from secondlook.verify.citations import needs_library

    with ExitStack() as held:
        library: Library | None = None
        if needs_library(answer):
            library = held.enter_context(call.open(loaded))
        elif needs_tables(answer) or call.library is not None:
            with suppress(LibraryMissing):
                library = held.enter_context(call.open(loaded))
        yield library


def _stands(answer: Answer) -> str:
    if not answer.claims:
        return f"Nothing to check: the answer is {answer.status} and claims nothing."
    analysis = answer.analysis
    said = f"{counted(len(answer.citations), 'citation')}, all in place"
    if analysis is not None and not answer.citations:
        said = f"computed again over {counted(len(analysis.inputs), 'table')} with the same result"
        if analysis.kind == "concept":
            said = "from general knowledge and marked as such"
    return f"It stands: {counted(len(answer.claims), 'claim')}, {said}."
