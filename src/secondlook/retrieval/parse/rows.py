"""Rows of a table as text. Each row is a line that can be understood alone.

Where the first row names the columns, every row reads "name: value; name: value": a passage cut
out of the middle of a table still says what its numbers are. A long table is no text to search
row by row: it is described by a card, which says what it holds and shows its first rows.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from secondlook.retrieval.parse.compose import Composer, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MOST_ROWS = 2_000
"""Rows of numbers and names beyond which a table is described by a card."""
MOST_PROSE_ROWS = 20_000
"""The same where rows hold sentences: people search these as they search documents."""
SHOWN_ROWS = 20
_PROSE_CHARS = 80
"""A row whose longest cell has so many characters holds a sentence, not a name."""
_LONGEST_NAME = 60
_LONGEST_CARD_CELL = 200
_MOST_NAMED_COLUMNS = 60
_MOST_LISTED_COLUMNS = 500


def write_rows(rows: Iterable[Sequence[str]], composer: Composer, *, total: str = "") -> None:
    """Rows of text; the first one that is filled decides whether columns have names.

    `total` says how many rows there are where that is known and `rows` are only the first.
    """
    filled = (row for row in rows if any(cell.strip() for cell in row))
    first = next(filled, None)
    if first is None:
        return
    head = list(islice(filled, MOST_ROWS + 1))
    names = _column_names(first, head[0] if head else None)
    if not total and len(head) > MOST_ROWS and is_prose(head[:SHOWN_ROWS]):
        head.extend(islice(filled, MOST_PROSE_ROWS - len(head) + 1))
        if len(head) <= MOST_PROSE_ROWS:
            _write_lines(first, head, names, composer)
            return
    if total or len(head) > MOST_ROWS:
        count = total or f"{len(head) + sum(1 for _ in filled) + (not names):,}"
        write_card(first, head, names, composer, total=count)
    else:
        _write_lines(first, head, names, composer)


def write_named(
    columns: Sequence[str], rows: Iterator[Sequence[str]], composer: Composer, *, total: int
) -> None:
    """Rows of a table that knows the names of its columns and how many rows it has."""
    prose = list(islice(rows, SHOWN_ROWS))
    most = MOST_PROSE_ROWS if is_prose(prose) else MOST_ROWS
    if total > most:
        write_card(columns, prose, list(columns), composer, total=f"{total:,}")
    else:
        _write_lines(columns, chain(prose, rows), list(columns), composer)


def write_card(
    first: Sequence[str],
    rows: Sequence[Sequence[str]],
    names: list[str],
    composer: Composer,
    *,
    total: str,
) -> None:
    """What a table holds, for a search to find it; its rows are for computing with."""
    composer.about.card = True
    shown = min(SHOWN_ROWS, len(rows))
    composer.paragraph(
        f"A table of {total} rows and {len(first):,} columns; its first {shown} rows are shown."
    )
    if names:
        listed = [name for name in map(one_line, names) if name]
        more = len(listed) - _MOST_LISTED_COLUMNS
        end = f" and {more:,} more" if more > 0 else ""
        composer.paragraph(f"Columns: {', '.join(listed[:_MOST_LISTED_COLUMNS])}{end}.")
    short = [[cell[:_LONGEST_CARD_CELL] for cell in row] for row in rows[:SHOWN_ROWS]]
    _write_lines(first, short, names, composer)


def _write_lines(
    first: Sequence[str], rows: Iterable[Sequence[str]], names: list[str], composer: Composer
) -> None:
    composer.row(first)
    for row in rows:
        if names:
            composer.line(_named(names, row))
        else:
            composer.row(row)
    composer.end_lines()


def is_prose(rows: Sequence[Sequence[str]]) -> bool:
    longest = sorted(max(map(len, row), default=0) for row in rows)
    return bool(longest) and longest[len(longest) // 2] >= _PROSE_CHARS


def _column_names(first: Sequence[str], second: Sequence[str] | None) -> list[str]:
    """The first row, if it looks like names: short words, all different, none a number."""
    names = [one_line(cell) for cell in first]
    given = [name for name in names if name]
    if second is None or len(given) < 2 or len(names) > _MOST_NAMED_COLUMNS:  # noqa: PLR2004
        return []
    if len(given) < len([cell for cell in second if cell.strip()]) - 1:
        return []
    if any(_is_number(name) or len(name) > _LONGEST_NAME for name in given):
        return []
    return names if len(set(given)) == len(given) else []


def _is_number(text: str) -> bool:
    return not any(char.isalpha() for char in text) and any(char.isdigit() for char in text)


def _named(names: list[str], row: Sequence[str]) -> str:
    parts: list[str] = []
    for index, cell in enumerate(row):
        value = one_line(cell)
        if value:
            name = names[index] if index < len(names) else ""
            parts.append(f"{name}: {value}" if name else value)
    return "; ".join(parts)
