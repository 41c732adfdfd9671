"""`secondlook runs`: the questions that were asked, and the research that is remembered."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from secondlook.cli.command import (
    Call,
    YesOption,
    argument,
    command,
    counted,
    flag,
    group_of,
    one_line,
    option,
    print_json,
    print_rows,
)
from secondlook.errors import RunError, RunMissing, UsageError

if TYPE_CHECKING:
    from secondlook.engine.record import RunStore, RunSummary
    from secondlook.events import Event
    from secondlook.store.answers import AnswerMemory

_AGE: Final = re.compile(r"(\d{1,6})([hdw])")
_HOURS: Final = {"h": 1, "d": 24, "w": 24 * 7}
RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="Id of a run or its start, or `last`.")
]


def _opened(call: Call) -> RunStore:
    from secondlook.engine.record import RunStore

    return RunStore(call.load().settings.runs, create=False)


@command()
def list_runs(
    call: Call, *, limit: int = option(20, "How many, newest first.", "N", "--limit", "-n", min=1)
) -> None:
    """List the latest questions and what became of them."""
    found: list[RunSummary] = []
    with suppress(RunMissing), _opened(call) as store:  # None has been recorded yet
        found = store.list(limit)
    if call.as_json:
        from secondlook.engine.record import summary_form

        print_json({"runs": [summary_form(item) for item in found]})
    else:
        print_rows(
            ("id", "time", "workflow", "status", "question"),
            ((one.run, one.created, one.workflow, one.status, one.question) for one in found),
        )
    if not found:
        call.say('No runs yet: secondlook ask "how do bees see"')


@command("\b\nExample:\n  secondlook runs show last --events\n")
def show_run(
    call: Call,
    *,
    run: RunArgument,
    events: bool = flag("--events", "Show what happened on the way, step by step."),
) -> None:
    """Show the answer of a run once more."""
    with _opened(call) as store:
        found = store.get(run)
        happened = store.events(found.run) if events else []
    asked = f"{found.created}  {one_line(found.question)}"
    if events and call.as_json:
        from secondlook.engine.record import summary_form

        told = [event.model_dump(mode="json") for event in happened]
        print_json({**summary_form(found), "events": told})
    elif events:
        call.say(f"{asked}  ({found.status})\n")
        for event in happened:
            sys.stdout.write(f"{event.at:8.2f} s  {event.type:<15}{one_line(_told(event))}\n")
    elif found.answer is None:
        hint = f"secondlook runs resume {found.run} goes on where it stopped"
        raise RunError(f"run {found.run!r} has no answer: it is {found.status}", hint=hint)
    else:
        from secondlook.cli.ask import show_answer

        if not call.as_json:
            call.say(f"{asked}\n")
        show_answer(call, found.answer)


def _told(event: Event) -> str:
    match event.type:
        case "run_started":
            return f"{event.workflow}: {event.question}"
        case "answered":
            return f"{event.answer.status} ({event.answer.stop_reason}): {event.answer.text}"
        case "passages_found":
            return f"{counted(len(event.passages), 'passage')} for {event.query!r}"
        case "warned":
            trouble = event.trouble
            return f"{trouble.node}: {trouble.message}; {trouble.consequence}"
    facts = event.model_dump(exclude={"type", "run", "at", "numbers"}, exclude_none=True)
    return ": ".join(str(fact) for fact in facts.values() if fact)


@command("\b\nReplies that were paid for are not asked for again.\n  secondlook runs resume last\n")
def resume(call: Call, *, run: RunArgument) -> int:
    """Resume a run that was stopped."""
    from secondlook.cli.ask import draining, show_answer
    from secondlook.engine.secondlook import Secondlook
    from secondlook.library.library import library_or_passing
    from secondlook.settings.sections import Settings
    from secondlook.store.tables import handed_to

    with _opened(call) as store:
        found = store.get(run)
    if found.status == "running":  # two at once would pay twice and spoil each other's record
        hint = "secondlook runs shows when it ends"
        raise UsageError(f"run {found.run!r} is still being worked on", hint=hint)
    settings = Settings.model_validate_json(json.dumps(found.request.get("settings", {})))
    settings = settings.model_copy(update={"runs": call.load().settings.runs})
    call.say(f"{found.created}  {one_line(found.question)}\n")
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


@command("\b\nYour documents are not touched. Example:\n  secondlook runs remove last --yes\n")
def remove_runs(
    call: Call,
    *,
    runs: list[str] = argument(..., "Ids of runs or their starts, or `last`.", "RUN"),
    yes: YesOption = False,
) -> None:
    """Remove runs from the record: question, answer and all."""
    with _opened(call) as store:
        # All are looked up before the first goes: a mistyped id removes nothing.
        found = list({item.run: item for item in map(store.get, runs)}.values())
        listed = ", ".join(f"{item.run} ({one_line(item.question)})" for item in found)
        call.confirm(f"Remove {listed}?", yes=yes)
        for item in found:
            store.remove(item.run)
    call.tell({"removed": [item.run for item in found]}, f"Removed {counted(len(found), 'run')}.")


@command("\b\nJSON lines (docs/runs.md).\n  secondlook runs export --all -o runs.jsonl\n")
def export(
    call: Call,
    *,
    runs: list[str] | None = argument(None, "Ids of runs or their starts, or `last`.", "RUN"),
    every: bool = flag("--all", "Every run."),
    out: Path | None = option(None, "A new file; standard output if none.", "FILE", "--out", "-o"),
) -> None:
    """Write runs as JSON, with all that is known of them."""
    from secondlook.engine.record import exported

    if every == bool(runs):
        raise UsageError("name the runs to export, or --all", hint="secondlook runs lists them")
    with _opened(call) as store:
        # All are looked up before the first is written: a mistyped id exports nothing.
        wanted = store.list(None) if every else map(store.get, runs or [])
        found = list(dict.fromkeys(item.run for item in wanted))
        if out is None and call.as_json:
            print_json({"runs": [exported(store, run) for run in found]})
            return
        lines = (json.dumps(exported(store, run)) + "\n" for run in found)
        if out is None:
            sys.stdout.writelines(lines)
            return
        try:  # its owner's alone, as the record is
            number = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(number, "w", encoding="utf-8") as stream:
                stream.writelines(lines)
        except OSError as error:
            said = f"{str(out)!r} cannot be written: {error.strerror or error}"
            raise UsageError(said, hint="name a new file") from error
    told = {"exported": found, "file": str(out.absolute()), "bytes": out.stat().st_size}
    call.tell(told, f"Exported {counted(len(found), 'run')} to {out}.")


@command("\b\nAs runs.keep and runs.keep_days say.\n  secondlook runs prune --keep 100\n")
def prune(
    call: Call,
    *,
    keep: int | None = option(None, "Keep so many, the newest.", "N", "--keep", min=0),
    older_than: str | None = option(None, "Remove older ones: 12h, 30d or 8w.", "AGE"),
    dry_run: bool = flag("--dry-run", "Only say what would be removed."),
    yes: YesOption = False,
) -> None:
    """Remove old runs from the record."""
    from secondlook.engine.record import oldest_kept
    from secondlook.store.database import ALL

    before = None if older_than is None else _before(older_than)
    most = ALL if keep is None else keep
    if keep is None and before is None:
        settings = call.load().settings.runs
        most, before = settings.keep, oldest_kept(settings)
    gone: list[str] = []
    with suppress(RunMissing), _opened(call) as store:  # None has been recorded yet
        gone = store.prune(most, before=before, dry=True)
        if gone and not dry_run:
            call.confirm(f"Remove {counted(len(gone), 'run')}?", yes=yes)
            gone = store.prune(most, before=before)
    said = "would be removed" if dry_run else "removed"
    call.tell({"pruned": gone, "dry_run": dry_run}, f"{counted(len(gone), 'run')} {said}.")


def _before(age: str) -> str:
    found = _AGE.fullmatch(age.strip())
    if found is None:
        raise UsageError(f"--older-than is {age!r}", hint="write 12h, 30d or 8w")
    hours = int(found[1]) * _HOURS[found[2]]
    try:
        return (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="seconds")
    except OverflowError as error:
        raise UsageError(f"--older-than is {age!r}: before all time") from error


def group() -> typer.Typer:
    examples = """\
\b
Examples:
  secondlook runs                      the latest questions
  secondlook runs show last            the latest answer once more
"""
    about = "The questions that were asked, and what became of them."
    commands = {"list": list_runs, "show": show_run, "resume": resume, "remove": remove_runs}
    made = group_of(about, examples, list_runs, **commands, export=export, prune=prune)
    made.add_typer(memory_group(), name="memory")
    return made


# Research that is remembered, and how to forget it.


def _memory(call: Call) -> AnswerMemory:
    from secondlook.store.answers import AnswerMemory

    settings = call.load().settings
    return AnswerMemory.own(settings.runs, settings.library.path)


@command()
def list_remembered(call: Call) -> None:
    """List the questions whose research is remembered, newest first."""
    with _memory(call) as memory:
        found = memory.list()
    if call.as_json:
        names = ("id", "question", "created", "run", "library")
        told = [
            {name: getattr(item, name) for name in names}
            | {"steps": len(item.research.get("plan", []))}
            | {"passages": [one.passage for one in item.cited]}
            for item in found
        ]
        print_json({"memory": told})
    else:
        rows = ((str(one.id), one.created, one.run, one.question) for one in found)
        print_rows(("id", "time", "run", "question"), rows)
    if not found:
        call.say('Nothing is remembered yet: secondlook ask --workflow research "..."')


@command("\b\nThe runs stay recorded. Example:\n  secondlook runs memory forget 3 5\n")
def forget(
    call: Call,
    *,
    ids: list[int] = argument(..., "Ids, as the list shows them.", "ID"),
    yes: YesOption = False,
) -> None:
    """Forget some of the research that is remembered."""
    with _memory(call) as memory:
        held = {item.id: item for item in memory.list()}
        # A mistyped id forgets nothing.
        if unknown := [str(one) for one in ids if one not in held]:
            hint = "secondlook runs memory shows what is"
            raise UsageError(f"nothing is remembered under {', '.join(unknown)}", hint=hint)
        shown = ", ".join(f"{one} ({one_line(held[one].question)})" for one in dict.fromkeys(ids))
        call.confirm(f"Forget {shown}?", yes=yes)
        gone = list(memory.forget(list(dict.fromkeys(ids))))
    call.tell({"forgotten": gone}, f"Forgot {counted(len(gone), 'question')}.")


@command()
def clear(
    call: Call,
    *,
    yes: YesOption = False,
    everything: bool = flag("--all", "Of every library, not only of this one."),
) -> None:
    """Forget all research that is remembered of the library."""
    with _memory(call) as memory:
        whose = "every library" if everything else f"{memory.library!r}"
        call.confirm(f"Forget all research in {whose}?", yes=yes)
        gone = memory.clear(every_library=everything)
    call.tell({"forgotten": gone}, f"Forgot {counted(gone, 'question')}.")


def memory_group() -> typer.Typer:
    examples = """\
\b
`ask --workflow research` uses what it found the first time, as long as every
passage it cites still says the same. Example:
  secondlook runs memory forget 3   forget one
"""
    about = "The research that is remembered, to be used again."
    commands = {"list": list_remembered, "forget": forget, "clear": clear}
    return group_of(about, examples, list_remembered, **commands)
