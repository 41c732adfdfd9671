"""`secondlook add` and `secondlook library`: files in, and the documents of a library."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import typer  # noqa: TC002

from secondlook.cli.command import (
    FAILED,
    INTERRUPTED,
    Call,
    FilterOption,
    YesOption,
    argument,
    command,
    counted,
    flag,
    group_of,
    one_line,
    option,
    output,
    parse_pairs,
    print_json,
    print_rows,
)
from secondlook.cli.progress import shown_progress
from secondlook.cli.search import tables_group
from secondlook.errors import LibraryMissing, UsageError
from secondlook.library.report import is_address, pasted

if TYPE_CHECKING:
    from secondlook.library.library import Library
    from secondlook.library.report import AddReport, Status
    from secondlook.settings import Loaded

STDIN = "-"
_MAX_LINES = 20


@command(
    """\
\b
Examples:
  secondlook add --prune ~/papers                  forgets what is gone
  secondlook add https://example.org/guide --depth 1    and the pages it links to
  secondlook add - --title "Call with the bank" < call.txt
"""
)
def add(  # one parameter per flag
    call: Call,
    *,
    paths: list[str] | None = argument(
        None, "Files, folders, web addresses; - reads standard input.", "PATH"
    ),
    name: str | None = option(None, "File name of what standard input holds: report.pdf.", "NAME"),
    title: str | None = option(None, "Title of the text that standard input holds.", "TITLE"),
    depth: int = option(0, "Also pages of the same site, so many links away.", "N", max=5, min=0),
    meta: list[str] | None = option(None, "Metadata to filter by; repeatable.", "KEY=VALUE"),
    exclude: list[str] | None = option(None, "Leave out, as in .gitignore; repeatable.", "PATTERN"),
    prune: bool = flag("--prune", "Remove documents whose files are gone."),
    follow_links: bool = flag("--follow-links", "Also links that lead out of the folder."),
    dry_run: bool = flag("--dry-run", "Show what would change, change nothing."),
    force: bool = flag("--force", "Read files again even if they look unchanged."),
    jobs: int | None = option(None, "Files to read at once.", "N", "--jobs", "-j"),
) -> int:
    """Make files and folders searchable. Safe to repeat: only what changed is read again."""
    given = paths or []
    about_files = bool(exclude or prune or dry_run or force or follow_links or jobs is not None)
    if not given or not all(path.strip() for path in given):
        raise UsageError("nothing to add", hint="Name files or folders: secondlook add ~/papers")
    if (STDIN in given) != bool(name or title) or (
        (name or title) and (len(given) > 1 or about_files or bool(name) == bool(title))
    ):
        # Standard input has no file name, so its kind is unknown; it is always read, and whole.
        said = "- (standard input) stands alone, with --name or --title and at most --meta"
        raise UsageError(said, hint="For example: secondlook add - --name report.pdf")
    metadata = parse_pairs(meta, "--meta")
    loaded = call.load({"ingest.workers": jobs})
    if name or title:
        with call.open(loaded, create=True) as library:
            report = _from_stdin(library, name, title, metadata)
    elif addresses := [path for path in given if is_address(path)]:
        if about_files or len(addresses) < len(given):
            said = "web addresses are added by themselves, with at most --depth and --meta"
            raise UsageError(said, hint="For example: secondlook add https://example.org --depth 1")
        with call.open(loaded, create=True) as library, shown_progress(call) as progress:
            report = library.add_web(addresses, depth=depth, meta=metadata, progress=progress)
    elif depth:
        raise UsageError("--depth is for web addresses", hint="folders are read whole")
    else:
        how = {"exclude": exclude or [], "prune": prune, "follow_links": follow_links}
        report = _from_disk(call, loaded, given, **how, dry_run=dry_run, force=force, meta=metadata)
    _tell(call, report)
    if report.interrupted:
        sys.stderr.write("Stopped. What is reported is kept; the same command adds the rest.\n")
        return INTERRUPTED
    return FAILED if report.changes and len(report.failed) == len(report.changes) else 0


def _from_disk(call: Call, loaded: Loaded, given: list[str], **how: Any) -> AddReport:
    from secondlook.library.library import passing_library

    files = [_expanded(path) for path in given]
    missing = [str(file) for file in files if not os.path.lexists(file)]
    if missing and not how["prune"]:  # with --prune, a path that is gone may be just what is meant
        said = f"no such file or folder: {', '.join(map(repr, missing))}"
        raise UsageError(said, hint="Check the spelling. For deleted files: add --prune.")
    try:
        held = call.open(loaded, create=not how["dry_run"])
    except LibraryMissing:  # a dry run must not even make one
        held = passing_library(loaded.settings)  # type: ignore[assignment]
    with held as library, shown_progress(call) as progress:
        return library.add(files, progress=progress, **how)


def _from_stdin(
    library: Library, name: str | None, title: str | None, metadata: dict[str, str]
) -> AddReport:
    data = sys.stdin.buffer.read()
    if name:
        return library.add_bytes(data, name, meta=metadata)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "a file of another kind needs its name: secondlook add - --name report.pdf"
        raise UsageError("standard input holds no text in UTF-8", hint=hint) from error
    return library.add_texts([pasted(text, title or "", metadata)])


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # ~nobody: a home folder that does not exist
        return Path(path)


def _tell(call: Call, report: AddReport) -> None:
    if call.as_json:
        from secondlook.library.report import Change

        counts = {kind: report.count(kind) for kind in get_args(Change)}
        seconds, changes = round(report.seconds, 3), [asdict(one) for one in report.changes]
        told = {"counts": counts, "passages": report.passages, "seconds": seconds}
        ended = {"dry_run": report.dry_run, "interrupted": report.interrupted}
        print_json({**told, **ended, "changes": changes})
        return
    if report.dry_run:
        for item in report.changes:
            if item.change != "unchanged":
                reason = f"  ({one_line(item.reason)})" if item.reason else ""
                sys.stdout.write(f"{item.change} {item.path}{reason}\n")
    else:
        print_failed([(item.path, item.reason) for item in report.failed])
    if not call.quiet:
        sys.stdout.write(summary(report) + "\n")


def print_failed(failed: list[tuple[str, str]], *, limit: int | None = _MAX_LINES) -> None:
    for path, reason in failed[:limit]:
        sys.stderr.write(f"failed: {path}: {one_line(reason)}\n")
    if limit is not None and len(failed) > limit:
        sys.stderr.write(f"and {len(failed) - limit:,} more: secondlook library status\n")


def summary(report: AddReport) -> str:
    """`12 added, 1 updated, 340 unchanged, 2 failed; 1,204 passages in 8.3 s`."""
    from secondlook.library.report import Change

    counts = [f"{report.count(kind):,} {kind}" for kind in get_args(Change) if report.count(kind)]
    said = ", ".join(counts) or "no files found"
    if report.dry_run:
        return f"{said} (dry run: nothing was changed)"
    return f"{said}; {counted(report.passages, 'passage')} in {report.seconds:.1f} s"


@command(
    """\
\b
Ctrl-C ends it; the folders stay on the list, for the server too. Examples:
  secondlook watch ~/papers                 from now on
  secondlook watch                          the folders of the list
  secondlook watch --forget ~/papers        no longer; its documents stay
""",
    json=False,
)
def watch(
    call: Call,
    *,
    folders: list[Path] | None = argument(None, "Folders to put on the list.", "FOLDER"),
    forget: bool = flag("--forget", "Take these folders off the list, and end."),
) -> None:
    """Keep the library in step with folders, for as long as it runs."""
    from threading import Event

    from secondlook.library import watch as watching
    from secondlook.library.about import keep_in_step

    if forget and not folders:
        raise UsageError("no folder to forget", hint="secondlook library status lists them")
    if not forget:
        watching.require_watchfiles()
    failing: set[str] = set()

    def compare(folder: Path) -> None:
        with shown_progress(call) as progress:
            report = library.add([folder], prune=True, wary=True, progress=progress)
        if report.interrupted:
            raise KeyboardInterrupt
        below = {path for path in failing if folder in Path(path).parents}
        failed = {item.path: item.reason for item in report.failed}
        print_failed([item for item in failed.items() if item[0] not in below])
        failing.difference_update(below)
        failing.update(failed)
        if len(report.changes) > report.count("unchanged") + len(below & failed.keys()):
            call.say(f"{folder}: {summary(report)}")

    def say(folder: Path, why: str) -> None:
        call.say(f"{folder} waits: {why}." if why else f"{folder} is watched again.")

    with call.open(create=True) as library:
        held = keep_in_step(library.path, folders or [], on=not forget)
        if forget:
            return
        if not held.watched:
            raise UsageError("no folder is watched yet", hint="secondlook watch ~/papers")
        for folder in held.watched:
            call.say(f"Watching {folder}. Ctrl-C ends it.")
        watching.watch(library.path, compare=compare, say=say, stop=Event())


# The documents of a library.


@command()
def list_(call: Call, *, filter_: FilterOption = None) -> None:
    """List the documents of the library."""
    filters = parse_pairs(filter_, "--filter")
    with call.open() as library:
        found = library.documents(filters=filters or None)
    if call.as_json:
        print_json({"documents": [asdict(document) for document in found]})
    else:
        head = ("id", "kind", "passages", "title", "path")
        rows = ((one.id, one.kind, str(one.passages), one.title, *one.paths[:1]) for one in found)
        print_rows(head, rows, right=("passages",))
    if not found:
        call.say("No documents." if filters else "The library is empty: secondlook add ~/papers")


@command("\b\nExample:\n  secondlook library show navigation.pdf --page 3\n")
def show(
    call: Call,
    *,
    doc: str = argument(..., "Id or its start, path, file name or title.", "DOC"),
    page: int | None = option(None, "Only this page.", "N"),
) -> None:
    """Show what is known about a document, and its text."""
    with call.open() as library:
        document = library.document(doc)
        extracted = library.text(document.id)
    wanted = next((one for one in extracted.pages if one.number == page), None)
    if page is not None and wanted is None:
        hint = f"It has {counted(len(extracted.pages), 'page')}."
        raise UsageError(f"{document.title!r} has no page {page}", hint=hint)
    start, end = (wanted.start, wanted.end) if wanted else (0, len(extracted.text))
    text = extracted.text[start:end]
    if call.as_json:
        headings = [
            {"level": item.level, "text": extracted.text[item.start : item.end]}
            | {"start": item.start, "end": item.end}
            for item in extracted.headings
        ]
        place = {"page": page, "start": start, "end": end, "text": text}
        pages = list(map(asdict, extracted.pages))
        print_json(asdict(document) | place | {"page_map": pages, "headings": headings})
        return
    if not call.quiet:
        from rich.text import Text

        held = {"page": document.pages, "character": document.characters}
        held["passage"] = document.passages
        sizes = [counted(number, noun) for noun, number in held.items() if number]
        facts = [
            ("id", document.id),
            *(("path", path) for path in document.paths),
            ("kind", document.kind),
            ("size", ", ".join(sizes)),
            ("tables", ", ".join(document.tables)),
            *((name, getattr(document, name)) for name in ("author", "date", "language")),
            *sorted(document.metadata.items()),
            *(("note", note) for note in document.notes),
            ("added", document.added),
        ]
        console = output()
        console.print(Text(document.title, style="bold"))
        for name, value in facts:
            if value:
                console.print(Text.assemble((f"{name:<11}", "dim"), value))
        console.print()
    sys.stdout.write(text.rstrip("\n") + "\n")


@command("\b\nYour files stay. Example:\n  secondlook library remove ~/papers/old --purge\n")
def remove(
    call: Call,
    *,
    targets: list[str] = argument(..., "Ids, paths, folders, file names or titles.", "TARGET"),
    purge: bool = flag("--purge", "Erase every trace of the text from the disk now."),
    yes: YesOption = False,
) -> int:
    """Remove documents from the library (never your files)."""
    with call.open() as library:
        call.confirm(f"Remove {', '.join(targets)} from {library.path}?", yes=yes)
        changes = library.remove(targets, purge=purge)
    if call.as_json:
        print_json({"changes": [asdict(change) for change in changes]})
    elif not call.quiet:
        for change in changes:
            reason = f": {change.reason}" if change.reason else ""
            sys.stdout.write(f"{change.change} {change.path}{reason}\n")
    if purge:
        call.say("Runs on record, and research remembered, may still quote it: secondlook runs.")
    return FAILED if changes and all(item.change == "failed" for item in changes) else 0


# The library as a whole.


@command()
def status(call: Call) -> None:
    """Show what the library holds and which files failed."""
    with call.open() as library:
        found = library.status()
    if call.as_json:
        print_json(asdict(found))
        return
    facts = {"library": found.path}
    facts |= {name: f"{getattr(found, name):,}" for name in ("documents", "passages", "tables")}
    facts |= {"failed": f"{len(found.failed):,}", "size": size(found.bytes)}
    facts |= {name: getattr(found, name) for name in ("embedder", "language", "format")}
    facts["watched"] = ", ".join(found.watched)
    for name, value in {**facts, "writing": found.writer}.items():
        if value:
            sys.stdout.write(f"{name:<11}{value}\n")
    print_failed([(item.path, item.reason) for item in found.failed], limit=None)
    if found.compact_due:
        why = found.why_compact or "Searches would gain from it"
        call.say(f"hint: {why}: secondlook library compact")


@command(json=False)
def compact(
    call: Call, *, purge: bool = flag("--purge", "Erase every trace of removed documents.")
) -> None:
    """Tidy the index: smaller, faster, and ranked exactly."""
    with call.open() as library:
        before = library.status().bytes
        library.compact(purge=purge)
        after = library.status().bytes
    call.say(f"Compacted: {size(before)} before, {size(after)} now.")


@command("\b\nExample:\n  secondlook library backup ~/library.backup\n")
def backup(call: Call, *, file: Path = argument(..., "File to write.", "FILE")) -> None:
    """Write the whole library to one file, also while it is in use."""
    with call.open() as library:
        written = library.backup(file.expanduser())
    count = written.stat().st_size
    told = {"backup": str(written), "bytes": count}
    call.tell(told, f"Backed up to {written} ({size(count)}).")


@command("\b\nExample:\n  secondlook library restore ~/library.backup --force\n")
def restore(
    call: Call,
    *,
    file: Path = argument(..., "A file that backup wrote.", "FILE"),
    force: bool = flag("--force", "Replace the library that is there."),
    max_gb: int = option(64, "Most gigabytes that it may unpack to.", "N", "--max-gb", min=1),
) -> None:
    """Bring a library back from a backup."""
    from secondlook.library.library import Library

    settings = call.load().settings
    target = settings.library.path
    how: dict[str, Any] = {"force": force, "most_bytes": max_gb << 30, "settings": settings}
    with Library.restore(file.expanduser(), target, **how) as library:
        _tell_whole(call, "Restored", library.status())


@command("\b\nExit code 1: something is damaged. Example:\n  secondlook library check\n")
def check(call: Call) -> int:
    """Compare all that is stored with what was written, and say what to make anew."""
    with call.open() as library, shown_progress(call) as progress:
        found = library.check(progress=progress)
    if call.as_json:
        print_json({"ok": not found, "damage": [asdict(item) for item in found]})
    else:
        for item in found:
            sys.stdout.write(f"{one_line(item.what)}: {item.said}\n    fix: {item.remedy}\n")
        call.say(counted(len(found), "damage") if found else "Everything is as it was written.")
    return FAILED if found else 0


@command()
def rebuild(call: Call) -> None:
    """Make the index anew from the stored texts, as configured now."""
    from secondlook.library.library import Library

    settings = call.load().settings
    with (
        shown_progress(call) as progress,
        Library.rebuild(settings.library.path, settings=settings, progress=progress) as library,
    ):
        _tell_whole(call, "Rebuilt", library.status())


def _tell_whole(call: Call, done: str, found: Status) -> None:
    told = {"path": found.path, "documents": found.documents, "passages": found.passages}
    call.tell(told, f"{done} {found.path}: {counted(found.documents, 'document')}.")


@command("\b\nOnly changes are sent. Example:\n  secondlook library publish s3://papers/library\n")
def publish(call: Call, *, address: str = argument(..., "s3://BUCKET/PREFIX", "ADDRESS")) -> None:
    """Copy the library to object storage, for other machines to read."""
    with call.open() as library:
        done = library.publish(address)
    if call.as_json:
        told = {"address": done.address, "publication": done.number}
        print_json({**told, "files_sent": done.sent, "bytes_sent": done.bytes})
    else:
        files = counted(done.sent, "file")
        call.say(f"Published to {done.address}: {files} sent ({size(done.bytes)}).")


def size(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024:  # noqa: PLR2004
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TB"


COMMANDS = {"list": list_, "show": show, "remove": remove, "status": status, "compact": compact}
COMMANDS |= {"backup": backup, "restore": restore, "rebuild": rebuild, "publish": publish}
COMMANDS |= {"check": check}


def group() -> typer.Typer:
    examples = """\
\b
Examples:
  secondlook library                        what it holds, and what failed
  secondlook library list                   its documents
  secondlook library show navigation.pdf    one of them
"""
    made = group_of("The documents and tables of your library.", examples, status, **COMMANDS)
    made.add_typer(tables_group(), name="tables")
    return made
