"""`secondlook verify`: does an answer still stand? Offline, and without any language model."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from secondlook.cli.command import FAILED, Call, command, counted, one_line, print_json
from secondlook.errors import LibraryMissing, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.answer import Analysis, Answer
    from secondlook.library.library import Library
    from secondlook.settings import Loaded
    from secondlook.verify.report import Problem, Report

EXAMPLES = """\
\b
Examples:
  secondlook ask "how deep is berth 4" --json > answer.json
  secondlook verify answer.json
  secondlook verify last                the latest answer of all
  secondlook ask "mean price by region" --table sales.csv --json > sales.json
  secondlook verify sales.json          computes it, or runs its code, again
  secondlook ask "how deep is berth 4" --json | secondlook verify -
  secondlook verify answer.json --json | jq -r ".problems[].message"

\b
Exit code 0: it stands. 1: one line for each thing that does not.
2: it is not an answer.
"""

_RUN_ID = re.compile(r"last|\d{8}(?:-[0-9a-f]*)?")


def register(app: typer.Typer) -> None:
    app.command("verify", epilog=EXAMPLES)(verify)


@command()
def verify(
    call: Call,
    *,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="An answer as JSON, - for standard input, or the id of a run."
        ),
    ],
    judge: Annotated[
        Literal["reader", "coverage"] | None,
        typer.Option(
            help="Who judges support: the trained reader, or coverage, which counts words.",
        ),
    ] = None,
) -> int:
    """Check an answer against the documents it cites; compute one over tables again."""
    answer = _read(call, file)
    report = _examined(call, answer, judge)
    if call.as_json:
        print_json(_form(answer, report))
    else:
        _print(call, answer, report)
    return FAILED if report.problems else 0


def _read(call: Call, file: str) -> Answer:
    from secondlook.verify.report import load_answer, read_answer

    if file == "-":
        return read_answer(sys.stdin.buffer, name="standard input")
    if _RUN_ID.fullmatch(file) and not Path(file).exists():
        return _stored(call, file)
    return load_answer(file)


def _stored(call: Call, run: str) -> Answer:
    from secondlook.engine.record import RunStore

    with RunStore.of(call.load().settings.runs, create=False) as store:
        found = store.get(run)
    if found.answer is None:
        raise UsageError(f"run {found.run!r} has no answer: it was not finished")
    return found.answer


def _examined(call: Call, answer: Answer, judge: str | None) -> Report:
    from secondlook.reading.support import load_support
    from secondlook.verify import examine

    loaded = call.load()
    support = load_support(judge or loaded.settings.models.servers.support)
    with _library_for(call, loaded, answer) as library:
        return examine(
            answer,
            library,
            support=support,
            settings=loaded.settings,
        )


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


def _print(call: Call, answer: Answer, report: Report) -> None:
    for note in report.notes:
        call.say(f"note: {one_line(str(note))}")
    for problem in report.problems:
        sys.stdout.write(f"{one_line(str(problem))}\n")
    if not report.problems:
        sys.stdout.write(f"{_stands(answer)}\n")


def _stands(answer: Answer) -> str:
    if not answer.claims:
        return f"Nothing to check: the answer is {answer.status} and claims nothing."
    claims, citations = len(answer.claims), len(answer.citations)
    if answer.analysis is not None and not citations:
        return f"It stands: {counted(claims, 'claim')}, {_done_again(answer.analysis)}."
    return f"It stands: {counted(claims, 'claim')}, {counted(citations, 'citation')}, all in place."


def _done_again(analysis: Analysis) -> str:
    if analysis.kind == "concept":
        return "from general knowledge and marked as such"
    how = "computed again" if analysis.kind == "computed" else "its code run again"
    return f"{how} over {counted(len(analysis.inputs), 'table')} with the same result"


def _form(answer: Answer, report: Report) -> dict[str, object]:
    return {
        "verified": not report.problems,
        "run": answer.run,
        "status": answer.status,
        "claims": len(answer.claims),
        "citations": len(answer.citations),
        "problems": list(map(_problem_form, report.problems)),
        "notes": list(map(_problem_form, report.notes)),
    }


def _problem_form(problem: Problem) -> dict[str, str]:
    return {"kind": problem.kind, "where": problem.where, "message": problem.message}
