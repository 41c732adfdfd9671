"""`secondlook list`, `show` and `remove`: the documents a library holds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.call import Call, command, parse_pairs
from secondlook.cli.failure import FAILED
from secondlook.cli.terminal import counted, is_terminal, one_line, print_json
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.document import Extracted, Page
    from secondlook.library.report import DocumentInfo

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


def register(app: typer.Typer) -> None:
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

    from secondlook.cli.terminal import output

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

    from secondlook.cli.terminal import UNWRAPPED, output

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
