"""`secondlook search`: the best passages, where they stand, and why they were found."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.command import (
    Call,
    command,
    counted,
    is_terminal,
    one_line,
    parse_pairs,
    print_json,
    unless_named,
)
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from rich.console import Console

    from secondlook.library.library import Library
    from secondlook.passage import Hit, Passage
    from secondlook.settings import Loaded
    from secondlook.settings.sections import Settings
    from secondlook.tables.table import ColumnProfile, Table, TableProfile

SEARCH_EXAMPLES = """\
\b
Examples:
  secondlook search "how do bees find their way home"
  secondlook search polarised light     quotes are optional
  secondlook search "polarised light" -k 3 --doc navigation.pdf
  secondlook search "annual report" --filter kind=pdf --filter project=bees
  secondlook search "ERR_4711" --dense 0.1 --lexical 0.9    trust the words
  secondlook search "sleepy" --dense 0.9 --lexical 0.1      trust the meaning
  secondlook search "bees" --json | jq -r ".hits[].path"

\b
Filters: kind=pdf, language=en, year=2024, author=..., folder=...,
and your own --meta keys.
"""

_SNIPPET_WIDTH = 320


def register_search(app: typer.Typer) -> None:
    app.command("search", epilog=SEARCH_EXAMPLES)(search)


@command()
def search(  # one parameter per flag
    call: Call,
    *,
    query: Annotated[
        list[str], typer.Argument(metavar="QUERY", help="What to look for, in plain words.")
    ],
    k: Annotated[
        int | None, typer.Option("-k", "--k", metavar="N", help="How many passages to show.")
    ] = None,
    dense: Annotated[
        float | None, typer.Option(metavar="W", help="Weight of meaning, 0 to 1.")
    ] = None,
    lexical: Annotated[
        float | None, typer.Option(metavar="W", help="Weight of exact words, 0 to 1.")
    ] = None,
    rerank: Annotated[
        bool | None, typer.Option("--rerank/--no-rerank", help="Look twice at the best ones.")
    ] = None,
    filter_: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="KEY=VALUE", help="Only such documents; repeatable."),
    ] = None,
    doc: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this document; repeatable."),
    ] = None,
) -> None:
    """Find passages by meaning and by words."""
    words = " ".join(query)
    filters = parse_pairs(filter_, "--filter")
    loaded = call.load(
        {
            "search.k": k,
            "search.dense": dense,
            "search.rerank": rerank,
        }
    )
    wanted = loaded.settings.search
    _warm_up(loaded.settings)
    with call.open(loaded) as library:
        hits = library.search(
            words,
            k=wanted.k,
            dense=wanted.dense,
            lexical=lexical if lexical is not None else wanted.lexical,
            rerank=wanted.rerank,
            filters=filters or None,
            documents=[library.document(name).id for name in doc] if doc else None,
        )
        show_hits(call, library, words, hits)
        if not hits:
            explain_nothing(call, library, filters)


def _warm_up(settings: Settings) -> None:
    """Models load on one core while the index engine is imported on the other."""
    from secondlook.reading import warm_up

    if settings.embedding.model == "embedded":
        warm_up(threads=settings.embedding.threads or None, reader=settings.search.rerank)


def show_hits(call: Call, library: Library, query: str, hits: Sequence[Hit]) -> None:
    found = library.paths({hit.passage.document for hit in hits})
    paths: dict[str, str | None] = {document: first for document, (first, *_) in found.items()}
    if call.as_json:
        from secondlook.cli.command import print_json
        from secondlook.cli.forms import hit_form

        print_json({"hits": [hit_form(hit, paths.get(hit.passage.document)) for hit in hits]})
    elif hits:
        _print_hits(query, hits, paths, library.language)
    else:
        _print_nothing_found(library, query)


def _print_hits(
    query: str, hits: Sequence[Hit], paths: dict[str, str | None], language: str
) -> None:
    from secondlook.cli.command import output

    console = output()
    for rank, hit in enumerate(hits, 1):
        _print_hit(console, rank, hit, paths.get(hit.passage.document), query, language)


def _print_hit(  # noqa: PLR0917
    console: Console, rank: int, hit: Hit, path: str | None, query: str, language: str
) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from secondlook.cli.forms import snippet

    passage = hit.passage
    page = f", p. {passage.page}" if passage.page is not None else ""
    head = Text.assemble(
        (f"{rank:>2}  ", "dim"),
        (passage.title, "bold"),
        page,
        (f"  {hit.score:.3f}", "dim"),
    )
    place = Text(_place(passage, path), style="dim")
    cut = snippet(passage.text, query, width=_SNIPPET_WIDTH, language=language)
    quote = Text(cut.text)
    for start, end in cut.matches:
        quote.stylize("bold yellow", start, end)
    console.print(head)
    console.print(Padding(place, (0, 0, 0, 4), expand=False))
    console.print(Padding(quote, (0, 0, 0, 4), expand=False))
    console.print()


def _place(passage: Passage, path: str | None) -> str:
    """`/papers/bees.pdf  Navigation > By light`; the title stands above it already."""
    headings = " > ".join(one for one in passage.heading if one != passage.title)
    return f"{path or passage.document}  {headings}".rstrip()


def _print_nothing_found(library: Library, query: str) -> None:
    if library.status().documents == 0:
        typer.echo("The library is empty.")
    else:
        typer.echo(f"Nothing found for {query!r}.")


def explain_nothing(call: Call, library: Library, filters: Mapping[str, str]) -> None:
    """A filter that no document passes is most likely a typo, whatever the query."""
    if not library.documents():
        call.say("hint: Add documents first: secondlook add ~/papers")
        return
    if not filters or library.documents(filters=filters):
        return
    alone = [item for item in filters.items() if not library.documents(filters=dict([item]))]
    told = " and ".join(f"{key}={value}" for key, value in alone or filters.items())
    call.say(f"hint: no document has {told}; secondlook list --json shows what they have")


# `secondlook tables`: the tables a library holds, and what each is like.

TABLES_EXAMPLES = """\
\b
Examples:
  secondlook add sales.csv book.xlsx    tables, into the library
  secondlook tables                     their names, rows and columns
  secondlook tables show sales          what is in each column
  secondlook ask "mean price by region" --workflow analyst
  secondlook ask "mean price by region" --table sales.csv   without adding it
"""
TABLES_LIST_EXAMPLES = """\
\b
Examples:
  secondlook tables list
  secondlook tables list --filter folder=2024
  secondlook tables list --json | jq -r ".tables[].name"
"""
TABLES_SHOW_EXAMPLES = """\
\b
Types, missing and different values, ranges and frequent values are computed
from the data, once; nothing is guessed (docs/tables.md). Examples:
  secondlook tables show sales
  secondlook tables show sales --json
"""
_WIDEST_VALUES = 60
_SHOWN_VALUES = 5

TableOption = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="[NAME=]FILE",
        help="A file to ask about without adding it: CSV, Parquet, Excel ...; repeatable.",
    ),
]


def register_tables(app: typer.Typer) -> None:
    group = typer.Typer(help="The tables of the library, and what each is like.")
    group.callback(invoke_without_command=True, epilog=TABLES_EXAMPLES)(unless_named(list_tables))
    group.command("list", epilog=TABLES_LIST_EXAMPLES)(list_tables)
    group.command("show", epilog=TABLES_SHOW_EXAMPLES)(show_table)
    app.add_typer(group, name="tables")


@command()
def list_tables(
    call: Call,
    *,
    filter_: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="KEY=VALUE", help="Only of such documents; repeatable."),
    ] = None,
) -> None:
    """List the tables of the library."""
    filters = parse_pairs(filter_, "--filter")
    with call.open() as library:
        found = library.tables(filters=filters or None)
        unusable = library.unusable_tables()
    if call.as_json:
        from secondlook.cli.forms import table_form

        problems = [{"path": item.path, "reason": item.reason} for item in unusable]
        print_json({"tables": [table_form(table) for table in found], "unusable": problems})
        return
    _print_list(found)
    for item in unusable:
        call.say(f"not usable as a table: {item.path}: {one_line(item.reason)}")
    if not found:
        call.say("No tables." if filters else "The library holds no table: secondlook add FILE.csv")


@command()
def show_table(
    call: Call,
    *,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the table, its file or its title.")
    ],
) -> None:
    """Show what is in each column of a table."""
    with call.open() as library:
        desk = library.desk()
        table = find_table(name, desk.tables())
        profile = desk.profile(table.id)
    if call.as_json:
        from secondlook.cli.forms import table_form

        print_json(table_form(table) | {"profile": profile.model_dump(mode="json")})
    else:
        _print_profile(call, table, profile)


def find_table(name: str, tables: Sequence[Table]) -> Table:
    """The table that is meant by a name, a file name, a path, a title or an id."""
    wanted = name.strip().casefold()
    for fits in (
        lambda table: table.name.casefold() == wanted,
        lambda table: table.id == wanted,
        lambda table: table.path is not None and Path(table.path).name.casefold() == wanted,
        lambda table: table.path == name,
        lambda table: table.title.casefold() == wanted,
    ):
        found = [table for table in tables if fits(table)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(table.name for table in found)
            raise UsageError(f"{name!r} holds several tables", hint=f"Name one of them: {names}.")
    raise UsageError(f"there is no table {name!r}", hint=_nearest(wanted, tables))


def _nearest(wanted: str, tables: Sequence[Table]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(wanted, [table.name for table in tables], n=3)
    return f"Do you mean {' or '.join(close)}?" if close else "secondlook tables lists them"


def parse_tables(given: Sequence[str] | None) -> dict[str, Path] | None:
    """`["sales.csv", "old=2023.csv"]` as files by name; None where there is none."""
    from secondlook.tables.column_types import identifier_of
    from secondlook.tables.table import unlike

    found: dict[str, Path] = {}
    for item in given or ():
        name, equals, path = item.partition("=")
        # A file's own name may hold the sign.
        if not equals or Path(item).is_file():
            name, path = unlike(identifier_of(Path(item).name.partition(".")[0]), found), item
        if not name.strip() or not path.strip():
            raise UsageError(f"--table {item!r} names no file", hint="--table sales.csv")
        if name in found:
            raise UsageError(f"--table gives {name!r} twice: {str(found[name])!r} and {path!r}")
        found[name] = Path(path)
    return found or None


def library_for(
    call: Call, loaded: Loaded, *, over_tables: bool
) -> AbstractContextManager[Library]:
    """The library; who asks about files of their own and has none gets a passing one."""
    from secondlook.library.library import library_or_passing

    settings = loaded.settings
    may_pass = over_tables and call.library is None
    return library_or_passing(settings, settings.library.path, may_pass=may_pass)


def _print_list(tables: Sequence[Table]) -> None:
    if not is_terminal(sys.stdout):
        for table in tables:
            columns = (table.name, str(table.rows), str(len(table.columns)), table.path or "")
            sys.stdout.write("\t".join(map(one_line, columns)) + "\n")
        return
    from rich.table import Table as Grid

    from secondlook.cli.command import output

    grid = Grid(box=None, pad_edge=False, header_style="dim")
    grid.add_column("name", no_wrap=True)
    grid.add_column("rows", justify="right", no_wrap=True)
    grid.add_column("columns", justify="right", no_wrap=True)
    grid.add_column("from", overflow="ellipsis", no_wrap=True)
    for table in tables:
        grid.add_row(table.name, f"{table.rows:,}", f"{len(table.columns):,}", table.path or "")
    if tables:
        output().print(grid)


def _print_profile(call: Call, table: Table, profile: TableProfile) -> None:
    from rich.table import Table as Grid
    from rich.text import Text

    from secondlook.cli.command import output

    console = output()
    size = f"{counted(table.rows, 'row')}, {counted(len(table.columns), 'column')}"
    console.print(Text.assemble((table.name, "bold"), f"  {table.title}: {size}"))
    grid = Grid(box=None, pad_edge=False, header_style="dim")
    for name in ("column", "type"):
        grid.add_column(name, no_wrap=True)
    for name in ("missing", "different"):
        grid.add_column(name, justify="right", no_wrap=True)
    grid.add_column("values", overflow="ellipsis", no_wrap=True, ratio=1)
    for column in profile.columns:
        different = f"{'' if column.exact else '~'}{column.distinct:,}"
        missing = f"{column.missing:,}" if column.missing else ""
        grid.add_row(_headed(column), column.type, missing, different, values_of(column))
    console.print(grid)
    if not call.quiet:
        for said in (*table.warnings, *profile.warnings, *_warnings(profile)):
            console.print(Text(f"! {one_line(said)}"))


def _headed(column: ColumnProfile) -> str:
    about = column.unit or column.currency
    return f"{one_line(column.name)} [{about}]" if about else one_line(column.name)


def _warnings(profile: TableProfile) -> list[str]:
    return [f"{column.name}: {said}" for column in profile.columns for said in column.warnings]


def values_of(column: ColumnProfile) -> str:
    """What the values of a column look like: its range, or the most frequent ones."""
    if column.type == "text" and column.top:
        shown = ", ".join(f"{one_line(top.value)} ({top.count:,})" for top in column.top)
        return shown[: _WIDEST_VALUES * _SHOWN_VALUES]
    if column.minimum is None:
        return ""
    mean = f", mean {column.mean:.4g}" if column.mean is not None else ""
    low, high = (one_line(str(end))[:_WIDEST_VALUES] for end in (column.minimum, column.maximum))
    return f"{low} to {high}{mean}" + (", a key" if column.key else "")
