"""`secondlook runs`: the questions that were asked, and what became of them."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path  # noqa: TC003
from typing import TYPE_CHECKING, Annotated, Final

import typer

from secondlook.cli.command import (
    Call,
    command,
    counted,
    is_terminal,
    one_line,
    print_json,
    unless_named,
)
from secondlook.errors import RunError, RunMissing, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TextIO

    from secondlook.engine.record import RunStore, RunSummary, StoredRun
    from secondlook.events import Event
    from secondlook.settings.sections import RunSettings
    from secondlook.store.answers import AnswerMemory, Entry

RUNS_EXAMPLES = """\
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
RUNS_LIST_EXAMPLES = """\
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


def register_runs(app: typer.Typer) -> None:
    group = typer.Typer(help="The questions that were asked, and what became of them.")
    group.callback(invoke_without_command=True, epilog=RUNS_EXAMPLES)(unless_named(list_runs))
    group.command("list", epilog=RUNS_LIST_EXAMPLES)(list_runs)
    group.command("show", epilog=SHOW_EXAMPLES)(show_run)
    group.command("resume", epilog=RESUME_EXAMPLES)(resume)
    group.command("remove", epilog=REMOVE_EXAMPLES)(remove_runs)
    register_runs_keeping(group)
    app.add_typer(group, name="runs")


@command()
def list_runs(call: Call, *, limit: LimitOption = 20) -> None:
    """List the latest questions and what became of them."""
    found: list[RunSummary] = []
    with suppress(RunMissing), _opened(call) as store:  # none has been recorded yet
        found = store.list(limit)
    if call.as_json:
        from secondlook.engine.record import summary_form

        print_json({"runs": [summary_form(item) for item in found]})
    elif is_terminal(sys.stdout):
        _print_table(found)
    else:
        _print_lines(found)
    if not found:
        call.say('No runs yet: secondlook ask "how do bees see"')


@command()
def show_run(
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
    from secondlook.cli.ask import draining, show_answer
    from secondlook.engine.secondlook import Secondlook
    from secondlook.engine.tables import handed_to
    from secondlook.library.library import library_or_passing
    from secondlook.settings.sections import Settings

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
def remove_runs(
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
    from secondlook.engine.record import RunStore

    return RunStore.of(call.load().settings.runs, create=False)


def _show_events(call: Call, found: StoredRun, happened: Sequence[Event]) -> None:
    if call.as_json:
        from secondlook.engine.record import summary_form

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

    from secondlook.cli.command import output

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


# `secondlook runs export` and `prune`: runs that go elsewhere, and runs that go.

EXPORT_EXAMPLES: Final = """\
\b
One line of JSON for each run: question, request, events, replies of models,
answer; no password and no key (docs/runs.md). Examples:
  secondlook runs export last --out run.jsonl
  secondlook runs export --all --out runs.jsonl
"""
PRUNE_EXAMPLES: Final = """\
\b
Without options it is what `runs.keep` and `runs.keep_days` say. What runs is
left alone. Examples:
  secondlook runs prune --dry-run
  secondlook runs prune --keep 100
  secondlook runs prune --older-than 30d --yes
"""
_AGE: Final = re.compile(r"(\d{1,6})([hdw])")
_HOURS: Final = {"h": 1, "d": 24, "w": 24 * 7}


def register_runs_keeping(group: typer.Typer) -> None:
    group.command("export", epilog=EXPORT_EXAMPLES)(export)
    group.command("prune", epilog=PRUNE_EXAMPLES)(prune)


@command()
def export(
    call: Call,
    *,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help="Ids of runs or their starts, or `last`."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every run.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="A new file; standard output if none."),
    ] = None,
) -> None:
    """Write runs as JSON, with all that is known of them."""
    if every == bool(runs):
        raise UsageError("name the runs to export, or --all", hint="secondlook runs lists them")
    with _runs_keeping_opened(call) as store:
        found = [item.run for item in store.list(None)] if every else _named(store, runs or [])
        if out is not None:
            _write_file(call, store, found, out)
        elif call.as_json:
            from secondlook.engine.record import exported

            print_json({"runs": [exported(store, run) for run in found]})
        else:
            _write(store, found, sys.stdout)


@command()
def prune(
    call: Call,
    *,
    keep: Annotated[
        int | None, typer.Option("--keep", min=0, metavar="N", help="Keep so many, the newest.")
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="AGE", help="Remove older ones: 12h, 30d or 8w."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove old runs from the record."""
    before = None if older_than is None else _before(older_than)
    most, before = _policy(call.load().settings.runs, keep, before)
    try:
        with _runs_keeping_opened(call) as store:
            gone = store.prunable(most, before=before)
            if gone and not dry_run:
                _confirm(call, len(gone), yes=yes)
                gone = store.prune(most, before=before)
    except RunMissing:  # none has been recorded yet
        gone = []
    if call.as_json:
        print_json({"pruned": gone, "dry_run": dry_run})
    else:
        said = "would be removed" if dry_run else "removed"
        call.say(f"{counted(len(gone), 'run')} {said}.")


def _runs_keeping_opened(call: Call) -> RunStore:
    from secondlook.engine.record import RunStore

    return RunStore.of(call.load().settings.runs, create=False)


def _named(store: RunStore, runs: Sequence[str]) -> list[str]:
    """All are looked up before the first is written: a mistyped id exports nothing."""
    return list(dict.fromkeys(store.get(run).run for run in runs))


def _write(store: RunStore, runs: Sequence[str], stream: TextIO) -> None:
    from secondlook.engine.record import exported

    stream.writelines(json.dumps(exported(store, run)) + "\n" for run in runs)


def _write_file(call: Call, store: RunStore, runs: Sequence[str], out: Path) -> None:
    with _new_file(out) as stream:
        _write(store, runs, stream)
    size = out.stat().st_size
    if call.as_json:
        print_json({"exported": list(runs), "file": str(out.absolute()), "bytes": size})
    else:
        call.say(f"Exported {counted(len(runs), 'run')} to {out}.")


@contextmanager
def _new_file(out: Path) -> Iterator[TextIO]:
    """Its owner's alone, as the record is; there as a whole or not at all."""
    try:
        number = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise UsageError(f"{str(out)!r} is there already", hint="name a new file") from error
    except OSError as error:
        raise _unwritable(out, error) from error
    try:
        with os.fdopen(number, "w", encoding="utf-8") as stream:
            yield stream
    except OSError as error:
        out.unlink(missing_ok=True)
        raise _unwritable(out, error) from error
    except BaseException:
        out.unlink(missing_ok=True)
        raise


def _unwritable(out: Path, error: OSError) -> RunError:
    return RunError(
        f"{str(out)!r} cannot be written: {error.strerror or error}",
        hint="check that its folder is there, has room, and that you may write there",
    )


def _policy(settings: RunSettings, keep: int | None, before: str | None) -> tuple[int, str | None]:
    """What was asked for, or what the settings say where nothing was."""
    from secondlook.engine.record import oldest_kept
    from secondlook.store.database import ALL

    if keep is None and before is None:
        return settings.keep, oldest_kept(settings)
    return ALL if keep is None else keep, before


def _before(age: str) -> str:
    found = _AGE.fullmatch(age.strip())
    if found is None:
        raise UsageError(f"--older-than is {age!r}", hint="write 12h, 30d or 8w")
    hours = int(found[1]) * _HOURS[found[2]]
    try:
        return (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="seconds")
    except OverflowError as error:
        raise UsageError(f"--older-than is {age!r}: before all time") from error


def _confirm(call: Call, count: int, *, yes: bool) -> None:
    if not yes and not call.as_json and is_terminal(sys.stdin):
        typer.confirm(f"Remove {counted(count, 'run')}?", abort=True, err=True)


# `secondlook memory`: research that is remembered, and how to forget it.

MEMORY_EXAMPLES = """\
\b
Where a question is asked again, `ask --workflow research` uses what it found
the first time, as long as every passage it cites still says the same. Each
library has its own. Examples:
  secondlook memory list            what is remembered
  secondlook memory forget 3        forget one
  secondlook memory clear           forget all of it
  secondlook ask --fresh "..."      research anew, and remember that

\b
`research.enable_memory = false` remembers nothing, nor does `runs.keep = 0`.
"""
MEMORY_LIST_EXAMPLES = """\
\b
Examples:
  secondlook memory list
  secondlook memory list --json | jq -r ".memory[].question"
"""
FORGET_EXAMPLES = """\
\b
The ids are those of `secondlook memory list`. The runs stay recorded; your
documents are not touched. Examples:
  secondlook memory forget 3
  secondlook memory forget 3 5 8 --yes
"""
CLEAR_EXAMPLES = """\
\b
Examples:
  secondlook memory clear
  secondlook memory clear --yes
  secondlook memory clear --all     that of every library
"""
_NOTHING = 'Nothing is remembered yet: secondlook ask --workflow research "..."'
_DATE = 10
_MOST_ASKED_ABOUT = 5

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register_memory(app: typer.Typer) -> None:
    group = typer.Typer(help="The research that is remembered, to be used again.")
    group.callback(invoke_without_command=True, epilog=MEMORY_EXAMPLES)(
        unless_named(list_remembered)
    )
    group.command("list", epilog=MEMORY_LIST_EXAMPLES)(list_remembered)
    group.command("forget", epilog=FORGET_EXAMPLES)(forget)
    group.command("clear", epilog=CLEAR_EXAMPLES)(clear)
    app.add_typer(group, name="memory")


@command()
def list_remembered(call: Call) -> None:
    """List the questions whose research is remembered, newest first."""
    with _memory_opened(call) as memory:
        found = memory.list()
    if call.as_json:
        print_json({"memory": [_form(item) for item in found]})
    elif is_terminal(sys.stdout):
        _memory_print_table(found)
    else:
        _memory_print_lines(found)
    if not found:
        call.say(_NOTHING)


@command()
def forget(
    call: Call,
    *,
    ids: Annotated[list[int], typer.Argument(metavar="ID", help="Ids, as the list shows them.")],
    yes: YesOption = False,
) -> None:
    """Forget some of the research that is remembered."""
    with _memory_opened(call) as memory:
        held = {item.id: item for item in memory.list()}
        # All are looked up before the first goes: a mistyped id forgets nothing.
        chosen = [_known(one, held) for one in dict.fromkeys(ids)]
        _memory_confirm(call, f"Forget {_memory_named(chosen)}?", yes=yes)
        gone = memory.forget([item.id for item in chosen])
    _report(call, gone)


@command()
def clear(
    call: Call,
    *,
    yes: YesOption = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Of every library, not only of this one.")
    ] = False,
) -> None:
    """Forget all research that is remembered of the library."""
    with _memory_opened(call) as memory:
        whose = "every library" if everything else f"{memory.library!r}"
        _memory_confirm(call, f"Forget all research in {whose}?", yes=yes)
        gone = memory.clear(every_library=everything)
    if call.as_json:
        print_json({"forgotten": gone})
    else:
        call.say(f"Forgot {counted(gone, 'question')}.")


def _memory_opened(call: Call) -> AnswerMemory:
    from secondlook.store.answers import AnswerMemory

    settings = call.load().settings
    return AnswerMemory.own(settings.runs, settings.library.path)


def _known(wanted: int, held: Mapping[int, Entry]) -> Entry:
    if wanted not in held:
        raise UsageError(
            f"nothing is remembered under {wanted}", hint="secondlook memory list shows what is"
        )
    return held[wanted]


def _memory_confirm(call: Call, question: str, *, yes: bool) -> None:
    if not yes and not call.as_json and is_terminal(sys.stdin):
        typer.confirm(question, abort=True, err=True)


def _memory_named(entries: Sequence[Entry]) -> str:
    shown = [f"{item.id} ({one_line(item.question)})" for item in entries[:_MOST_ASKED_ABOUT]]
    more = len(entries) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _report(call: Call, gone: Sequence[int]) -> None:
    if call.as_json:
        print_json({"forgotten": list(gone)})
    else:
        call.say(f"Forgot {counted(len(gone), 'question')}.")


def _form(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "question": entry.question,
        "created": entry.created,
        "run": entry.run,
        "library": entry.library,
        "steps": len(entry.research.get("plan", [])),
        "passages": [item.passage for item in entry.cited],
    }


def _memory_print_lines(entries: Sequence[Entry]) -> None:
    """One a line, columns separated by tabs, for other programs to cut."""
    for item in entries:
        columns = (str(item.id), item.created, item.run, item.question)
        sys.stdout.write("\t".join(map(one_line, columns)) + "\n")


def _memory_print_table(entries: Sequence[Entry]) -> None:
    from rich.table import Table

    from secondlook.cli.command import output

    if not entries:
        return
    console, table = output(), Table(box=None, pad_edge=False, header_style="dim")
    widths = {"id": max(2, len(str(entries[0].id))), "date": _DATE, "passages": len("passages")}
    # Never cut: an id is what to type. Where there is little room the question is.
    for name, width in widths.items():
        table.add_column(name, no_wrap=True, min_width=width)
    room = console.width - sum(width + 2 for width in widths.values())
    table.add_column("question", overflow="ellipsis", no_wrap=True, max_width=max(1, room))
    for item in entries:
        cells = (str(item.id), item.created[:_DATE], str(len(item.cited)), one_line(item.question))
        table.add_row(*cells)
    console.print(table)
