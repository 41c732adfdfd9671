"""`secondlook runs`: the questions that were asked, and what became of them."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secondlook.cli import runs_keeping
from secondlook.cli.call import unless_named
from secondlook.cli.call import Call, Common, command
from secondlook.cli.terminal import counted, is_terminal, one_line, print_json
from secondlook.errors import RunError, RunMissing, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.events import Event
    from secondlook.memory.runs import RunStore, RunSummary, StoredRun

EXAMPLES = """\
\b
Examples:
  secondlook runs                      the latest questions
  secondlook runs show last            the latest answer once more
  secondlook runs show 20261115-4f     by the start of its id
  secondlook runs show last --events   every step of it
  secondlook runs resume last          take up one that was stopped
  secondlook runs remove 20261115-4f   forget one
  secondlook runs export --all -o all.jsonl   take them elsewhere
  secondlook runs prune --keep 100     remove the oldest

\b
`runs.keep` sets how many are kept, 0 keeps none; `runs.keep_days` how long
(docs/settings.md).
"""
LIST_EXAMPLES = """\
\b
Examples:
  secondlook runs list
  secondlook runs list --limit 100 --json | jq -r ".runs[].question"
"""
SHOW_EXAMPLES = """\
\b
Examples:
  secondlook runs show last
  secondlook runs show 20261115-4f --json > answer.json
  secondlook runs show last --events
"""
RESUME_EXAMPLES = """\
\b
It goes on where it stopped, with the library, model and settings it began
with; replies that were paid for are not asked for again. Examples:
  secondlook runs resume last
  secondlook runs resume 20261115-4f --json
"""
REMOVE_EXAMPLES = """\
\b
Question, answer, steps and replies of the models go; your documents are not
touched. Examples:
  secondlook runs remove last
  secondlook runs remove 20261115-4f 20261115-80 --yes
"""

_LAYOUTS = (
    ("time", "id", "workflow", "status", "question"),
    ("time", "id", "status", "question"),
    ("id", "status", "question"),
)
"""Columns of the table, for a wide terminal and for narrower ones; times without a year where
there is no workflow."""
_ENOUGH_QUESTION = 60
_LEAST_QUESTION = 20

LimitOption = Annotated[
    int, typer.Option("--limit", "-n", min=1, metavar="N", help="How many, newest first.")
]
RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="Id of a run or its start, or `last`.")
]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="The questions that were asked, and what became of them.")
    group.callback(invoke_without_command=True, epilog=EXAMPLES)(unless_named(list_))
    group.command("list", epilog=LIST_EXAMPLES)(list_)
    group.command("show", epilog=SHOW_EXAMPLES)(show)
    group.command("resume", epilog=RESUME_EXAMPLES)(resume)
    group.command("remove", epilog=REMOVE_EXAMPLES)(remove)
    runs_keeping.register(group)
    app.add_typer(group, name="runs")


@command()
def list_(call: Call, *, limit: LimitOption = 20) -> None:
    """List the latest questions and what became of them."""
    found: list[RunSummary] = []
    with suppress(RunMissing), _opened(call) as store:  # none has been recorded yet
        found = store.list(limit)
    if call.as_json:
        from secondlook.memory.exporting import summary_form

        print_json({"runs": [summary_form(item) for item in found]})
    elif is_terminal(sys.stdout):
        _print_table(found)
    else:
        _print_lines(found)
    if not found:
        call.say('No runs yet: secondlook ask "how do bees see"')


@command()
def show(
    call: Call,
    *,
    run: RunArgument,
    events: Annotated[
        bool, typer.Option("--events", help="Show what happened on the way, step by step.")
    ] = False,
) -> None:
    """Show the answer of a run once more."""
    with _opened(call) as store:
        found = store.get(run)
        happened = store.events(found.run) if events else []
    if events:
        _show_events(call, found, happened)
    elif found.answer is None:
        raise RunError(
            f"run {found.run!r} has no answer: it is {found.status}",
            hint=f"secondlook runs resume {found.run} takes it up where it stopped",
        )
    else:
        from secondlook.cli.ask import show_answer

        if not call.as_json and not call.quiet:
            call.say(f"{_local(found.created)}  {one_line(found.question)}\n")
        show_answer(call, found.answer)


@command()
def resume(call: Call, *, run: RunArgument) -> int:
    """Take up a run that was stopped, where it stopped."""
    from secondlook.app import Secondlook
    from secondlook.app.tables import handed_to
    from secondlook.cli.ask import show_answer
    from secondlook.cli.draining import draining
    from secondlook.library.passing import library_or_passing
    from secondlook.settings import Settings

    with _opened(call) as store:
        found = store.get(run)
    if found.status == "running":  # two at once would pay twice and spoil each other's record
        raise UsageError(
            f"run {found.run!r} is still being worked on", hint="secondlook runs shows when it ends"
        )
    settings = Settings.model_validate_json(json.dumps(found.request.get("settings", {})))
    settings = settings.model_copy(update={"runs": call.load().settings.runs})
    call.say(f"{_local(found.created)}  {one_line(found.question)}\n")
    noted = found.request.get("ask") or {}
    may_pass = handed_to(found.run, settings.runs) is not None or bool(noted.get("tables"))
    with (
        library_or_passing(settings, may_pass=may_pass) as library,
        Secondlook(library, settings=library.settings) as engine,
        draining(engine),
    ):
        answer = engine.resume(found.run)
    show_answer(call, answer)
    return answer.exit_code


@command()
def remove(
    call: Call,
    *,
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN", help="Ids of runs or their starts, or `last`.")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove runs from the record: question, answer and all."""
    with _opened(call) as store:
        # All are looked up before the first goes: a mistyped id removes nothing.
        found = list({item.run: item for item in map(store.get, runs)}.values())
        if not yes and not call.as_json and is_terminal(sys.stdin):
            listed = ", ".join(f"{item.run} ({one_line(item.question)})" for item in found)
            typer.confirm(f"Remove {listed}?", abort=True, err=True)
        for item in found:
            store.remove(item.run)
    if call.as_json:
        print_json({"removed": [item.run for item in found]})
    else:
        call.say(f"Removed {counted(len(found), 'run')}.")


def _opened(call: Call) -> RunStore:
    from secondlook.memory.runs import RunStore

    return RunStore.of(call.load().settings.runs, create=False)


def _show_events(call: Call, found: StoredRun, happened: Sequence[Event]) -> None:
    if call.as_json:
        from secondlook.memory.exporting import summary_form

        told = [event.model_dump(mode="json") for event in happened]
        print_json({**summary_form(found), "events": told})
        return
    call.say(f"{_local(found.created)}  {one_line(found.question)}  ({found.status})\n")
    for event in happened:
        sys.stdout.write(f"{event.at:8.2f} s  {event.type:<15}{_told(event)}\n")


def _told(event: Event) -> str:
    match event.type:
        case "run_started":
            said = f"{event.workflow}: {event.question}"
        case "node_started":
            said = event.node
        case "node_finished":
            said = f"{event.node}: {event.said}"
        case "routed":
            said = f"{event.source} -> {event.to}: {event.why}"
        case "passages_found":
            said = f"{counted(len(event.passages), 'passage')} for {event.query!r}"
        case "token":
            said = event.text
        case "redrafted":
            said = f"what was written so far is withdrawn: {event.why}"
        case "warned":
            trouble = event.trouble
            said = f"{trouble.node}: {trouble.message}; {trouble.consequence}"
        case "answered":
            said = f"{event.answer.status} ({event.answer.stop_reason}): {event.answer.text}"
    return one_line(said)


def _print_lines(runs: Sequence[RunSummary]) -> None:
    """One run a line, columns separated by tabs, for other programs to cut."""
    for item in runs:
        columns = (item.run, item.created, item.workflow, item.status, item.question)
        sys.stdout.write("\t".join(map(one_line, columns)) + "\n")


def _print_table(runs: Sequence[RunSummary]) -> None:
    from rich.table import Table

    from secondlook.cli.terminal import output

    if not runs:
        return
    console = output()
    columns, room = _fitting(runs, console.width)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in columns[:-1]:
        table.add_column(name, no_wrap=True)
    table.add_column("question", overflow="ellipsis", no_wrap=True, max_width=room)
    for item in runs:
        table.add_row(*(_cell(item, name, columns) for name in columns))
    console.print(table)


def _fitting(runs: Sequence[RunSummary], width: int) -> tuple[tuple[str, ...], int]:
    """The columns that fit, the most complete first, and the room for the question.

    Id and status are never cut: the one is what to type, the other what to know.
    """
    from rich.cells import cell_len

    longest = max(cell_len(one_line(item.question)) for item in runs)
    wanted = min(longest, _ENOUGH_QUESTION)
    for columns in _LAYOUTS:
        others = (
            max(map(cell_len, [name, *(_cell(item, name, columns) for item in runs)]))
            for name in columns[:-1]
        )
        room = width - sum(taken + 2 for taken in others)  # two blanks between columns
        if room >= (wanted if columns == _LAYOUTS[0] else _LEAST_QUESTION):
            break
    return columns, max(room, 1)


def _cell(item: RunSummary, column: str, columns: Sequence[str]) -> str:
    match column:
        case "time":
            return _local(item.created, year="workflow" in columns)
        case "id":
            return item.run
        case "question":
            return one_line(item.question)
        case _:
            return str(getattr(item, column))


def _local(created: str, *, year: bool = True) -> str:
    """In the reader's own time; as it was written where that is not a time."""
    from datetime import datetime

    form = "%Y-%m-%d %H:%M" if year else "%m-%d %H:%M"
    try:
        return datetime.fromisoformat(created).astimezone().strftime(form)
    except ValueError:
        return created
