"""`secondlook status`, `compact`, `backup`, `restore`, `rebuild`, `publish`: a library's health."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.add import print_failed
from secondlook.cli.call import Call, command
from secondlook.cli.progress import shown_progress
from secondlook.cli.terminal import counted, print_json

if TYPE_CHECKING:
    from secondlook.library.report import Status

STATUS_EXAMPLES = """\
\b
Examples:
  secondlook status
  secondlook status --json | jq -r ".failed[].path"
"""
COMPACT_EXAMPLES = """\
\b
`secondlook status` says when it is due. Examples:
  secondlook compact
  secondlook compact --purge    also erase what removed documents left behind
"""
BACKUP_EXAMPLES = """\
\b
Example:
  secondlook backup ~/library.backup
"""
RESTORE_EXAMPLES = """\
\b
Examples:
  secondlook restore ~/library.backup
  secondlook restore ~/library.backup --library ~/other
  secondlook restore ~/library.backup --force   replace the one that is there
"""
REBUILD_EXAMPLES = """\
\b
After another embedder, language or passage size was set, or when a newer
version of Secondlook asks for it. The files are not read again. Example:
  secondlook rebuild
"""
PUBLISH_EXAMPLES = """\
\b
Other machines then read it there, if they may read the bucket. Only what
changed since the last time is sent. Examples:
  secondlook publish s3://papers/library
  secondlook ask "..." --library s3://papers/library
"""
_KIB = 1024


def register(app: typer.Typer) -> None:
    app.command("status", epilog=STATUS_EXAMPLES)(status)
    app.command("compact", epilog=COMPACT_EXAMPLES)(compact)
    app.command("backup", epilog=BACKUP_EXAMPLES)(backup)
    app.command("restore", epilog=RESTORE_EXAMPLES)(restore)
    app.command("rebuild", epilog=REBUILD_EXAMPLES)(rebuild)
    app.command("publish", epilog=PUBLISH_EXAMPLES)(publish)


@command()
def status(call: Call) -> None:
    """Show what the library holds and which files failed."""
    with call.open() as library:
        found = library.status()
    if call.as_json:
        from secondlook.cli.forms import status_form

        print_json(status_form(found))
        return
    for name, value in _facts(found):
        sys.stdout.write(f"{name:<11}{value}\n")
    if found.failed:
        print_failed([(item.path, item.reason) for item in found.failed], limit=None)
    if found.compact_due:
        call.say(f"hint: {found.why_compact or 'Searches would gain from it'}: secondlook compact")


@command(json=False)
def compact(
    call: Call,
    *,
    purge: Annotated[
        bool, typer.Option("--purge", help="Erase every trace of removed documents.")
    ] = False,
) -> None:
    """Tidy the index: smaller, faster, and ranked exactly."""
    with call.open() as library:
        before = library.status().bytes
        library.compact(purge=purge)
        after = library.status().bytes
    call.say(f"Compacted: {size(before)} before, {size(after)} now.")


@command()
def backup(
    call: Call, *, file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")]
) -> None:
    """Write the whole library to one file, also while it is in use."""
    with call.open() as library:
        written = library.backup(file.expanduser())
    if call.as_json:
        print_json({"backup": str(written), "bytes": written.stat().st_size})
    else:
        call.say(f"Backed up to {written} ({size(written.stat().st_size)}).")


@command()
def restore(
    call: Call,
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that backup wrote.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace the library that is there.")
    ] = False,
) -> None:
    """Bring a library back from a backup."""
    from secondlook.library import Library

    settings = call.load().settings
    target = settings.library.path
    with Library.restore(file.expanduser(), target, force=force, settings=settings) as library:
        _tell_whole(call, "Restored", library.status())


@command()
def rebuild(call: Call) -> None:
    """Make the index anew from the stored texts, as configured now."""
    from secondlook.library import Library

    settings = call.load().settings
    with (
        shown_progress(call) as progress,
        Library.rebuild(settings.library.path, settings=settings, progress=progress) as library,
    ):
        found = library.status()
    _tell_whole(call, "Rebuilt", found)


def size(count: int) -> str:
    """`3.2 MB` and the like, in powers of 1024."""
    if count < _KIB:
        return f"{count} B"
    value = float(count)
    for unit in ("KB", "MB", "GB"):
        value /= _KIB
        if value < _KIB:
            return f"{value:.1f} {unit}"
    return f"{value / _KIB:.1f} TB"


def _tell_whole(call: Call, done: str, found: Status) -> None:
    if call.as_json:
        print_json({"path": found.path, "documents": found.documents, "passages": found.passages})
    else:
        call.say(f"{done} {found.path}: {counted(found.documents, 'document')}.")


@command()
def publish(
    call: Call,
    *,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="s3://BUCKET/PREFIX")],
) -> None:
    """Copy the library to object storage, for other machines to read."""
    with call.open() as library:
        done = library.publish(address)
    if call.as_json:
        print_json(
            {
                "address": done.address,
                "publication": done.number,
                "files_sent": done.sent,
                "bytes_sent": done.bytes,
            }
        )
    else:
        files = counted(done.sent, "file")
        call.say(f"Published to {done.address}: {files} sent ({size(done.bytes)}).")


def _facts(found: Status) -> list[tuple[str, str]]:
    facts = [
        ("library", found.path),
        ("documents", f"{found.documents:,}"),
        ("passages", f"{found.passages:,}"),
        ("tables", f"{found.tables:,}"),
        ("failed", f"{len(found.failed):,}"),
        ("size", size(found.bytes)),
        ("embedder", found.embedder),
        ("language", found.language),
        ("format", str(found.format)),
    ]
    return [*facts, ("writing", found.writer)] if found.writer else facts
