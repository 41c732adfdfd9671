"""`secondlook tables`: the tables a library holds, and what each is like."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.call import Call, command, parse_pairs
from secondlook.cli.call import unless_named
from secondlook.cli.terminal import counted, is_terminal, one_line, print_json
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from secondlook.library import Library
    from secondlook.settings import Loaded
    from secondlook.tables.table import ColumnProfile, Table, TableProfile

EXAMPLES = """\
\b
Examples:
  secondlook add sales.csv book.xlsx    tables, into the library
  secondlook tables                     their names, rows and columns
  secondlook tables show sales          what is in each column
  secondlook ask "mean price by region" --workflow analyst
  secondlook ask "mean price by region" --table sales.csv   without adding it
"""
LIST_EXAMPLES = """\
\b
Examples:
  secondlook tables list
  secondlook tables list --filter folder=2024
  secondlook tables list --json | jq -r ".tables[].name"
"""
SHOW_EXAMPLES = """\
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


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="The tables of the library, and what each is like.")
    group.callback(invoke_without_command=True, epilog=EXAMPLES)(unless_named(list_))
    group.command("list", epilog=LIST_EXAMPLES)(list_)
    group.command("show", epilog=SHOW_EXAMPLES)(show)
    app.add_typer(group, name="tables")


@command()
def list_(
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
def show(
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
    from secondlook.tables.naming import unlike
    from secondlook.tables.reading.headers import identifier_of

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
    from secondlook.library.passing import library_or_passing

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

    from secondlook.cli.terminal import output

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

    from secondlook.cli.terminal import output

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
