"""`secondlook add`: take files in, show how it goes, and say what became of each."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.call import Call, command, parse_pairs
from secondlook.cli.failure import FAILED, INTERRUPTED, STOPPED_ADDING
from secondlook.cli.progress import shown_progress
from secondlook.cli.terminal import counted, one_line, print_json
from secondlook.errors import LibraryMissing, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from secondlook.library import Library
    from secondlook.library.report import AddReport, Change
    from secondlook.settings import Loaded

EXAMPLES = """\
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


def register(app: typer.Typer) -> None:
    app.command("add", epilog=EXAMPLES)(add)


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
            from secondlook.library.passing import passing_library

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
