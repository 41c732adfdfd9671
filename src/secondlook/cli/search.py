"""`secondlook search`: the best passages, where they stand, and why they were found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.call import Call, command, parse_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from secondlook.library import Library
    from secondlook.passage import Hit, Passage
    from secondlook.settings import Settings

EXAMPLES = """\
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


def register(app: typer.Typer) -> None:
    app.command("search", epilog=EXAMPLES)(search)


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
            "search.lexical": lexical,
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
            lexical=wanted.lexical,
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
        from secondlook.cli.forms import hit_form
        from secondlook.cli.terminal import print_json

        print_json({"hits": [hit_form(hit, paths.get(hit.passage.document)) for hit in hits]})
    elif hits:
        _print_hits(query, hits, paths, library.language)
    else:
        _print_nothing_found(library, query)


def _print_hits(
    query: str, hits: Sequence[Hit], paths: dict[str, str | None], language: str
) -> None:
    from secondlook.cli.terminal import output

    console = output()
    for rank, hit in enumerate(hits, 1):
        _print_hit(console, rank, hit, paths.get(hit.passage.document), query, language)


def _print_hit(  # noqa: PLR0917
    console: Console, rank: int, hit: Hit, path: str | None, query: str, language: str
) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from secondlook.cli.snippet import snippet

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
