"""`secondlook add`: take files in, show how it goes, and say what became of each."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.command import (
    FAILED,
    INTERRUPTED,
    STOPPED_ADDING,
    Call,
    command,
    counted,
    is_terminal,
    one_line,
    parse_pairs,
    print_json,
)
from secondlook.cli.progress import shown_progress
from secondlook.errors import LibraryMissing, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.document import Extracted, Page
    from secondlook.library.library import Library
    from secondlook.library.report import AddReport, Change, DocumentInfo, Status
    from secondlook.settings import Loaded

ADD_EXAMPLES = """\
\b
Examples:
  secondlook add ~/papers             all of it, also folders and zip files
  secondlook add ~/papers             again: only what changed is read
  secondlook add --prune ~/papers     also forget what is no longer there
  secondlook add --dry-run ~/papers   only say what would change
  secondlook add sales.csv orders.parquet  tables, to search and to ask
  secondlook add notes.md --meta project=bees --meta status=draft
  secondlook add . --exclude "drafts/" --exclude "*.log"
  curl -s https://example.org/a.html | secondlook add - --name a.html
"""

STDIN = "-"
_MAX_LINES = 20
_DIFFERENCE: dict[Change, str] = {
    "added": "+ add",
    "updated": "~ update",
    "moved": "> move",
    "duplicate": "= copy",
    "removed": "- remove",
    "failed": "! fail",
}
_TOLD: tuple[Change, ...] = (
    "added",
    "updated",
    "moved",
    "duplicate",
    "removed",
    "unchanged",
    "failed",
)


def register_add(app: typer.Typer) -> None:
    app.command("add", epilog=ADD_EXAMPLES)(add)


@command()
def add(  # one parameter per flag
    call: Call,
    *,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Files and folders; - reads standard input."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="File name of what standard input holds: report.pdf."),
    ] = None,
    meta: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Metadata to filter searches by; repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Leave out, as in .gitignore; repeatable."),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents whose files are gone.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, change nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Read files again even if they look unchanged.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", metavar="N", help="Files to read at once.")
    ] = None,
) -> int:
    """Make files and folders searchable. Safe to repeat: only what changed is read again."""
    given = paths or []
    metadata = parse_pairs(meta, "--meta")
    _check_paths(given, name)
    if name:
        _refuse_with_stdin(
            {
                "--exclude": exclude,
                "--prune": prune,
                "--dry-run": dry_run,
                "--force": force,
                "--jobs": jobs is not None,
            }
        )
    loaded = call.load({"ingest.workers": jobs})
    files = [] if name else [_expanded(path) for path in given]
    if not prune:  # with it, a path that is gone may be just what is meant
        _check_there(files)
    with _library(call, loaded, dry_run=dry_run) as library:
        if name:
            report = library.add_bytes(sys.stdin.buffer.read(), name, meta=metadata)
        else:
            with shown_progress(call) as progress:
                report = library.add(
                    files,
                    meta=metadata,
                    exclude=exclude or [],
                    prune=prune,
                    dry_run=dry_run,
                    force=force,
                    progress=progress,
                )
    return _tell(call, report)


@contextmanager
def _library(call: Call, loaded: Loaded, *, dry_run: bool) -> Iterator[Library]:
    """The library to add to. A dry run must not even make one, so it may get a passing one."""
    with ExitStack() as stack:
        try:
            library = stack.enter_context(call.open(loaded, create=not dry_run))
        except LibraryMissing:
            from secondlook.library.library import passing_library

            library = stack.enter_context(passing_library(loaded.settings))
        yield library


def _check_paths(paths: list[str], name: str | None) -> None:
    if not paths:
        raise UsageError("nothing to add", hint="Name files or folders: secondlook add ~/papers")
    if not all(path.strip() for path in paths):
        raise UsageError(
            "a path is blank", hint="Name files or folders; . is the folder you are in."
        )
    if STDIN in paths and len(paths) > 1:
        raise UsageError("- (standard input) cannot be mixed with other paths")
    if STDIN in paths and not name:
        raise UsageError(
            "standard input has no file name, so its kind is unknown",
            hint="Name it: secondlook add - --name report.pdf",
        )
    if name and STDIN not in paths:
        raise UsageError("--name goes with - (standard input)")


def _refuse_with_stdin(options: Mapping[str, object]) -> None:
    """Standard input is one document, always taken in: an option about files would mislead."""
    given = [option for option, value in options.items() if value]
    if given:
        raise UsageError(
            f"{', '.join(given)} cannot be used with - (standard input)",
            hint="Save it as a file and add that.",
        )


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # ~nobody: a home folder that does not exist
        return Path(path)


def _check_there(files: list[Path]) -> None:
    """A typo must not make a library, nor stay in it as a file that failed."""
    missing = [str(file) for file in files if not os.path.lexists(file)]
    if missing:
        raise UsageError(
            f"no such file or folder: {', '.join(map(repr, missing))}",
            hint="Check the spelling. For what was deleted: secondlook remove, or add --prune.",
        )


def _tell(call: Call, report: AddReport) -> int:
    if call.as_json:
        from secondlook.cli.forms import add_form

        print_json(add_form(report))
    else:
        _print_report(call, report)
    if report.interrupted:
        sys.stderr.write(STOPPED_ADDING + "\n")
        return INTERRUPTED
    return FAILED if report.changes and len(report.failed) == len(report.changes) else 0


def _print_report(call: Call, report: AddReport) -> None:
    if report.dry_run:
        _print_difference(report)
    else:
        print_failed([(item.path, item.reason) for item in report.failed])
    if not call.quiet:
        sys.stdout.write(summary(report) + "\n")


def _print_difference(report: AddReport) -> None:
    for item in report.changes:
        if item.change in _DIFFERENCE:
            reason = f"  ({one_line(item.reason)})" if item.reason else ""
            sys.stdout.write(f"{_DIFFERENCE[item.change]} {item.path}{reason}\n")


def print_failed(failed: list[tuple[str, str]], *, limit: int | None = _MAX_LINES) -> None:
    """Each file that could not be read, with the reason; a long list is cut."""
    for path, reason in failed[:limit]:
        sys.stderr.write(f"failed: {path}: {one_line(reason)}\n")
    if limit is not None and len(failed) > limit:
        sys.stderr.write(f"and {len(failed) - limit:,} more: secondlook status\n")


def summary(report: AddReport) -> str:
    """`12 added, 1 updated, 340 unchanged, 2 failed; 1,204 passages in 8.3 s`."""
    counts = [f"{report.count(kind):,} {kind}" for kind in _TOLD if report.count(kind)]
    said = ", ".join(counts) or "no files found"
    if report.dry_run:
        return f"{said} (dry run: nothing was changed)"
    return f"{said}; {counted(report.passages, 'passage')} in {report.seconds:.1f} s"


# `secondlook list`, `show` and `remove`: the documents a library holds.

LIST_EXAMPLES = """\
\b
Examples:
  secondlook list
  secondlook list --filter kind=pdf
  secondlook list --json | jq -r ".documents[].title"
"""
SHOW_EXAMPLES = """\
\b
Examples:
  secondlook show navigation.pdf            what is known of it, and its text
  secondlook show navigation.pdf --page 3   one page
  secondlook show 3f2a9c0d                  by the start of its id
  secondlook show "Bees at noon" --json     by its title
"""
REMOVE_EXAMPLES = """\
\b
Your files are not touched. Examples:
  secondlook remove navigation.pdf
  secondlook remove ~/papers/old            everything from a folder
  secondlook remove draft.docx --purge      leave no byte of its text behind
"""
_SHORT_ID = 8
_ROOM_FOR_COUNTS = 60


def register_documents(app: typer.Typer) -> None:
    app.command("list", epilog=LIST_EXAMPLES)(list_)
    app.command("show", epilog=SHOW_EXAMPLES)(show)
    app.command("remove", epilog=REMOVE_EXAMPLES)(remove)


@command()
def list_(
    call: Call,
    *,
    filter_: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="KEY=VALUE", help="Only such documents; repeatable."),
    ] = None,
) -> None:
    """List the documents of the library."""
    filters = parse_pairs(filter_, "--filter")
    with call.open() as library:
        found = library.documents(filters=filters or None)
    if call.as_json:
        from secondlook.cli.forms import document_form

        print_json({"documents": [document_form(document) for document in found]})
    elif is_terminal(sys.stdout):
        _print_table(found)
    else:
        _print_lines(found)
    if not found:
        call.say("No documents." if filters else "The library is empty: secondlook add ~/papers")


@command()
def show(
    call: Call,
    *,
    doc: Annotated[
        str, typer.Argument(metavar="DOC", help="Id or its start, path, file name or title.")
    ],
    page: Annotated[int | None, typer.Option(metavar="N", help="Only this page.")] = None,
) -> None:
    """Show what is known about a document, and its text."""
    with call.open() as library:
        document = library.document(doc)
        extracted = library.text(document.id)
    wanted = _page(document, extracted, page)
    if call.as_json:
        from secondlook.cli.forms import show_form

        print_json(show_form(document, extracted, wanted))
        return
    if not call.quiet:
        _print_facts(document)
    text = extracted.text[wanted.start : wanted.end] if wanted else extracted.text
    sys.stdout.write(text.rstrip("\n") + "\n")


@command()
def remove(
    call: Call,
    *,
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET", help="Ids, paths, folders, file names or titles."),
    ],
    purge: Annotated[
        bool, typer.Option("--purge", help="Erase every trace of the text from the disk now.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> int:
    """Remove documents from the library (never your files)."""
    with call.open() as library:
        if not yes and not call.as_json and is_terminal(sys.stdin):
            typer.confirm(f"Remove {', '.join(targets)} from {library.path}?", abort=True, err=True)
        changes = library.remove(targets, purge=purge)
    if call.as_json:
        from secondlook.cli.forms import change_form

        print_json({"changes": [change_form(change) for change in changes]})
    elif not call.quiet:
        for change in changes:
            reason = f": {change.reason}" if change.reason else ""
            sys.stdout.write(f"{change.change} {change.path}{reason}\n")
    return FAILED if changes and all(item.change == "failed" for item in changes) else 0


def _page(document: DocumentInfo, extracted: Extracted, number: int | None) -> Page | None:
    if number is None:
        return None
    for page in extracted.pages:
        if page.number == number:
            return page
    known = [page.number for page in extracted.pages]
    hint = f"It has pages {known[0]} to {known[-1]}." if known else "It has no pages."
    raise UsageError(f"{document.title!r} has no page {number}", hint=hint)


def _print_facts(document: DocumentInfo) -> None:
    from rich.text import Text

    from secondlook.cli.command import output

    console = output()
    console.print(Text(document.title, style="bold"))
    for name, value in _facts(document):
        console.print(Text.assemble((f"{name:<11}", "dim"), value))
    console.print()


def _facts(document: DocumentInfo) -> list[tuple[str, str]]:
    size = f"{counted(document.characters, 'character')}, {counted(document.passages, 'passage')}"
    facts = [
        ("id", document.id),
        *(("path", path) for path in document.paths),
        ("kind", document.kind),
        ("size", f"{counted(document.pages, 'page')}, {size}" if document.pages else size),
        ("tables", ", ".join(document.tables)),
        ("author", document.author),
        ("date", document.date),
        ("language", document.language),
        *sorted(document.metadata.items()),
        *(("note", note) for note in document.notes),
        ("added", document.added),
    ]
    return [(name, value) for name, value in facts if value]


def _print_lines(documents: Sequence[DocumentInfo]) -> None:
    """One document a line, columns separated by tabs, for other programs to cut."""
    for item in documents:
        columns = (item.id, item.kind, str(item.passages), item.title, *item.paths[:1])
        sys.stdout.write("\t".join(map(one_line, columns)) + "\n")


def _print_table(documents: Sequence[DocumentInfo]) -> None:
    from rich.table import Table

    from secondlook.cli.command import UNWRAPPED, output

    console = output()
    counts = console.width >= _ROOM_FOR_COUNTS
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("id", no_wrap=True, min_width=_SHORT_ID)  # never cut: it is what to type
    table.add_column("kind", no_wrap=True)
    for name in ("pages", "passages") if counts else ():
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("title", overflow="ellipsis", no_wrap=True, ratio=2)
    table.add_column("path", overflow="ellipsis", no_wrap=True, ratio=3)
    for item in documents:
        pages = f"{item.pages:,}" if item.pages else ""
        numbers = (pages, f"{item.passages:,}") if counts else ()
        path = next(iter(item.paths), "")
        table.add_row(item.id[:_SHORT_ID], item.kind, *numbers, item.title, path)
    # Only a table that fills the width has its title and path cut rather than any column.
    whole = console.measure(table, options=console.options.update(width=UNWRAPPED)).maximum
    table.expand = whole > console.width
    if documents:
        console.print(table)


# `secondlook status`, `compact`, `backup`, `restore`, `rebuild`, `publish`: a library's health.

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


def register_upkeep(app: typer.Typer) -> None:
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
    for name, value in _upkeep_facts(found):
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
    from secondlook.library.library import Library

    settings = call.load().settings
    target = settings.library.path
    with Library.restore(file.expanduser(), target, force=force, settings=settings) as library:
        _tell_whole(call, "Restored", library.status())


@command()
def rebuild(call: Call) -> None:
    """Make the index anew from the stored texts, as configured now."""
    from secondlook.library.library import Library

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


def _upkeep_facts(found: Status) -> list[tuple[str, str]]:
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
