"""`secondlook runs export` and `prune`: runs that go elsewhere, and runs that go."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path  # noqa: TC003  # typer reads it
from typing import TYPE_CHECKING, Annotated, Final

import typer

from secondlook.cli.call import Call, command
from secondlook.cli.terminal import counted, is_terminal, print_json
from secondlook.errors import RunError, RunMissing, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from secondlook.memory.runs import RunStore
    from secondlook.settings import RunSettings

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


def register(group: typer.Typer) -> None:
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
    with _opened(call) as store:
        found = [item.run for item in store.list(None)] if every else _named(store, runs or [])
        if out is not None:
            _write_file(call, store, found, out)
        elif call.as_json:
            from secondlook.memory.exporting import exported

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
        with _opened(call) as store:
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


def _opened(call: Call) -> RunStore:
    from secondlook.memory.runs import RunStore

    return RunStore.of(call.load().settings.runs, create=False)


def _named(store: RunStore, runs: Sequence[str]) -> list[str]:
    """All are looked up before the first is written: a mistyped id exports nothing."""
    return list(dict.fromkeys(store.get(run).run for run in runs))


def _write(store: RunStore, runs: Sequence[str], stream: TextIO) -> None:
    from secondlook.memory.exporting import exported

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
    from secondlook.memory.database import ALL
    from secondlook.memory.recorder import oldest_kept

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
