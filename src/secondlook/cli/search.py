"""`secondlook search` and `secondlook library tables`: passages, and tables with their columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.command import (
    Call,
    DocOption,
    FilterOption,
    argument,
    command,
    counted,
    group_of,
    one_line,
    option,
    output,
    parse_pairs,
    print_json,
    print_rows,
    print_table,
)
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from rich.console import Console

    from secondlook.library.library import Library
    from secondlook.passage import Hit
    from secondlook.settings import Loaded
    from secondlook.settings.sections import Settings
    from secondlook.tables.table import ColumnProfile, Table

_HIT_FIELDS = (
    *("score", "dense_rank", "lexical_rank", "rerank_score"),
    *("dense_score", "lexical_score", "fusion_score"),
)
_PASSAGE_FIELDS = ("id", "document", "title", "page", "start", "end", "text")


@command(
    """\
\b
Examples:
  secondlook search "how do bees find their way home"
  secondlook search "polarised light" -k 3 --doc navigation.pdf
  secondlook search "annual report" --filter kind=pdf --filter project=bees

\b
Filters: kind=pdf, language=en, year=2024, author=..., folder=...,
and your own --meta keys.
"""
)
def search(
    call: Call,
    *,
    query: list[str] = argument(..., "What to look for, in plain words.", "QUERY"),
    k: int | None = option(None, "How many passages to show.", "N", "-k", "--k"),
    dense: float | None = option(None, "Weight of meaning, 0 to 1.", "W"),
    lexical: float | None = option(None, "Weight of exact words, 0 to 1.", "W"),
    rerank: bool | None = option(None, "Look twice at them.", None, "--rerank/--no-rerank"),
    filter_: FilterOption = None,
    doc: DocOption = None,
) -> None:
    """Find passages by meaning and by words."""
    words = " ".join(query)
    filters = parse_pairs(filter_, "--filter")
    if dense == 0 and lexical == 0:
        raise UsageError("--dense and --lexical must not both be 0", hint="weigh one of them")
    flags = {"k": k, "dense": dense, "rerank": rerank}
    loaded = call.load({f"search.{name}": value for name, value in flags.items()})
    wanted = loaded.settings.search
    warm_up(loaded.settings)
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
        found = library.paths({hit.passage.document for hit in hits})
        paths = {document: first for document, (first, *_) in found.items()}
        if call.as_json:
            print_json({"hits": [_form(hit, paths.get(hit.passage.document)) for hit in hits]})
        else:
            for rank, hit in enumerate(hits, 1):
                from rich.text import Text

                passage, console = hit.passage, output()
                page = f", p. {passage.page}" if passage.page is not None else ""
                # The title stands in the first line already.
                headings = " > ".join(one for one in passage.heading if one != passage.title)
                head = ((f"{rank:>2}  ", "dim"), (passage.title, "bold"), page)
                console.print(Text.assemble(*head, (f"  {hit.score:.3f}", "dim")))
                place = f"{paths.get(passage.document) or passage.document}  {headings}".rstrip()
                print_quote(console, place, passage.text, words, library.language)
                console.print()
        if not hits:
            if not call.as_json:
                typer.echo(f"Nothing found for {words!r}.")
            explain_nothing(call, library, filters)


def warm_up(settings: Settings) -> None:
    """Models load on one core while the engines are imported on the other."""
    from secondlook.reading import warm_up as start

    if settings.embedding.model == "embedded":
        start(threads=settings.embedding.threads or None, reader=settings.search.rerank)


def _form(hit: Hit, path: str | None) -> dict[str, object]:
    passage = {name: getattr(hit.passage, name) for name in _PASSAGE_FIELDS}
    scores = {name: getattr(hit, name) for name in _HIT_FIELDS}
    more = {"path": path, "heading": list(hit.passage.heading), "sha256": hit.passage.sha256}
    return {**passage, **scores, **more}


def print_quote(console: Console, place: str | None, text: str, query: str, language: str) -> None:
    from rich.padding import Padding
    from rich.text import Text

    cut, matches = snippet(text, query, language=language)
    quote = Text(cut)
    for start, end in matches:
        quote.stylize("bold yellow", start, end)
    for line in ([Text(place, style="dim")] if place else []) + [quote]:
        console.print(Padding(line, (0, 0, 0, 4), expand=False))


def explain_nothing(call: Call, library: Library, filters: Mapping[str, str]) -> None:
    """A filter that no document passes is most likely a typo, whatever the query."""
    if not library.documents():
        call.say("hint: Add documents first: secondlook add ~/papers")
        return
    if filters and not library.documents(filters=filters):
        told = " and ".join(f"{key}={value}" for key, value in filters.items())
        call.say(f"hint: no document has {told}; secondlook library list --json shows their data")


# The part of a passage that shows why it was found.

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_WIDTH = 320
_ELLIPSIS = "…"


def snippet(text: str, query: str, *, language: str) -> tuple[str, list[tuple[int, int]]]:
    """About `_WIDTH` characters where most query terms stand, and the spans that match."""
    from secondlook.retrieval.terms import query_terms, terms

    flat = " ".join(text.split())
    wanted = frozenset(query_terms(query, language))
    found = [
        (word.start(), word.end(), hit)
        for word in _WORD.finditer(flat)
        if (hit := next((term for term in terms(word[0], language) if term in wanted), None))
    ]

    def different(start: int) -> int:
        return len({term for a, b, term in found if start <= a and b <= start + _WIDTH * 3 // 4})

    start, end = 0, len(flat)
    if end > _WIDTH:  # some room in front of it, and no word cut in the middle
        best = max((start for start, _, _ in found), key=different, default=0)
        start = max(0, min(best - _WIDTH // 4, len(flat) - _WIDTH))
        start = flat.find(" ", start, start + 40) + 1 if start else 0
        end = start + _WIDTH
        end = flat.rfind(" ", end - 40, end) if end < len(flat) else len(flat)
    before, after = _ELLIPSIS if start > 0 else "", _ELLIPSIS if end < len(flat) else ""
    shift = len(before) - start
    inside = [(a + shift, b + shift) for a, b, _ in found if start <= a and b <= end]
    return f"{before}{flat[start:end]}{after}", inside


# Tables of the library, and tables in files.

_FILES = "A file to ask about without adding it: CSV, Parquet, Excel ...; repeatable."
TableOption = Annotated[
    list[str] | None, typer.Option("--table", metavar="[NAME=]FILE", help=_FILES)
]
_WIDEST_VALUES = 60


@command()
def list_tables(call: Call, *, filter_: FilterOption = None) -> None:
    """List the tables of the library."""
    filters = parse_pairs(filter_, "--filter")
    with call.open() as library:
        found = library.tables(filters=filters or None)
        unusable = library.unusable_tables()
    if call.as_json:
        problems = [{"path": item.path, "reason": item.reason} for item in unusable]
        print_json({"tables": [one.model_dump(mode="json") for one in found], "unusable": problems})
        return
    rows = ((one.name, str(one.rows), str(len(one.columns)), one.path or "") for one in found)
    print_rows(("name", "rows", "columns", "from"), rows, right=("rows", "columns"))
    for item in unusable:
        call.say(f"not usable as a table: {item.path}: {one_line(item.reason)}")
    if not found:
        call.say("No tables." if filters else "The library holds no table: secondlook add FILE.csv")


@command("\b\nComputed from the data (docs/tables.md).\n  secondlook library tables show sales\n")
def show_table(
    call: Call, *, name: str = argument(..., "Name of the table, its file or its title.", "NAME")
) -> None:
    """Show what is in each column of a table."""
    with call.open() as library:
        desk = library.desk()
        table = find_table(name, desk.tables())
        profile = desk.profile(table.id)
    if call.as_json:
        told = profile.model_dump(mode="json")
        print_json(table.model_dump(mode="json") | {"profile": told})
    else:
        from rich.text import Text

        console = output()
        size = f"{counted(table.rows, 'row')}, {counted(len(table.columns), 'column')}"
        console.print(Text.assemble((table.name, "bold"), f"  {table.title}: {size}"))
        rows = []
        for column in profile.columns:
            distinct = f"{'' if column.exact else '~'}{column.distinct:,}"
            missing = f"{column.missing:,}" if column.missing else ""
            rows.append((column.name, column.type, missing, distinct, values_of(column)))
        head = ("column", "type", "missing", "different", "values")
        print_table(head, rows, right=("missing", "different"))
        if not call.quiet:
            own = (f"{one.name}: {said}" for one in profile.columns for said in one.warnings)
            for said in (*table.warnings, *profile.warnings, *own):
                console.print(Text(f"! {one_line(said)}"))


def tables_group() -> typer.Typer:
    examples = "\b\nExample:\n  secondlook library tables show sales  what is in each column\n"
    about = "The tables of the library, and what each is like."
    return group_of(about, examples, list_tables, list=list_tables, show=show_table)


def find_table(name: str, tables: Sequence[Table]) -> Table:
    wanted = name.strip().casefold()
    for fits in (
        lambda table: wanted in {table.name.casefold(), table.id},
        lambda table: table.path is not None and name in {table.path, Path(table.path).name},
        lambda table: table.title.casefold() == wanted,
    ):
        found = [table for table in tables if fits(table)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(table.name for table in found)
            raise UsageError(f"{name!r} holds several tables", hint=f"Name one of them: {names}.")
    raise UsageError(f"there is no table {name!r}", hint="secondlook library tables lists them")


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
    """The library; for a question about files only, a temporary one where there is none."""
    from secondlook.library.library import library_or_passing

    settings = loaded.settings
    may_pass = over_tables and call.library is None
    return library_or_passing(settings, settings.library.path, may_pass=may_pass)


def values_of(column: ColumnProfile) -> str:
    if column.type == "text" and column.top:
        shown = ", ".join(f"{one_line(top.value)} ({top.count:,})" for top in column.top)
        return shown[: _WIDEST_VALUES * 5]
    if column.minimum is None:
        return ""
    mean = f", mean {column.mean:.4g}" if column.mean is not None else ""
    low, high = (one_line(str(end))[:_WIDEST_VALUES] for end in (column.minimum, column.maximum))
    return f"{low} to {high}{mean}" + (", a key" if column.key else "")
