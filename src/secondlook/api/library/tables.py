"""Tables: which there are, what each is like, and its first rows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query

from secondlook.api.library.forms import ColumnForm, TableForm, TablePreview
from secondlook.api.library.opened import OpenedLibrary, missing
from secondlook.api.problems import responses
from secondlook.tables.query import Query as TableQuery

if TYPE_CHECKING:
    from secondlook.answer import Scalar
    from secondlook.library import Library
    from secondlook.tables.desk import Desk
    from secondlook.tables.table import ColumnProfile, Table

router = APIRouter(prefix="/api/libraries/{library}/tables", tags=["library"])
_LONGEST_VALUE = 60
_SHOWN_VALUES = 5


@router.get("", summary="The tables of a library", responses=responses(404))
async def list_tables(opened: OpenedLibrary) -> list[TableForm]:
    """Names are what a question or generated code calls them."""
    return await asyncio.to_thread(_listed, opened.library)


@router.get("/{table}", summary="A table's profile and first rows", responses=responses(404, 422))
async def show_table(
    opened: OpenedLibrary,
    table: Annotated[str, Path(max_length=200, description="Id or name of a table.")],
    rows: Annotated[int, Query(ge=0, le=200, description="How many rows to show.")] = 20,
) -> TablePreview:
    """What is said of a column is computed from its values, once."""
    return await asyncio.to_thread(_preview, opened.library, table, rows)


def _listed(library: Library) -> list[TableForm]:
    holders = _holders(library)
    return [
        TableForm(
            id=table.id,
            name=table.name,
            title=table.title,
            rows=table.rows,
            columns=len(table.columns),
            document=holders.get(table.name),
        )
        for table in library.tables()
    ]


def _preview(library: Library, wanted: str, rows: int) -> TablePreview:
    desk = library.desk()
    table = next((one for one in desk.tables() if wanted in {one.id, one.name}), None)
    if table is None:
        raise missing("table", wanted)
    profile = desk.profile(table.id)
    return TablePreview(
        id=table.id,
        name=table.name,
        title=table.title,
        document=_holders(library).get(table.name),
        total_rows=table.rows,
        columns=[_column(column) for column in profile.columns],
        rows=_first_rows(desk, table, rows),
        warnings=[*table.warnings, *profile.warnings],
    )


def _first_rows(desk: Desk, table: Table, rows: int) -> list[list[Scalar]]:
    if not rows or not table.columns:
        return []
    names = tuple(column.name for column in table.columns)
    query = TableQuery(table=table.id, select=names, limit=rows, ties=False)
    return [list(row) for row in desk.compute(query).rows[:rows]]


def _holders(library: Library) -> dict[str, str]:
    """The document of each table, by the table's name."""
    return {name: item.id for item in library.documents() for name in item.tables}


def _column(column: ColumnProfile) -> ColumnForm:
    return ColumnForm(
        name=column.name,
        type=column.type,
        missing=column.missing,
        distinct=column.distinct,
        about=_about(column),
        unit=column.unit or column.currency,
        warnings=list(column.warnings),
    )


def _about(column: ColumnProfile) -> str:
    if column.type == "text" and column.top:
        shown = [f"{_short(top.value)} ({top.count:,})" for top in column.top[:_SHOWN_VALUES]]
        return ", ".join(shown)
    if column.minimum is None:
        return ""
    mean = f", mean {column.mean:.4g}" if column.mean is not None else ""
    return f"{_short(column.minimum)} to {_short(column.maximum)}{mean}"


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return (
        text
        if len(text) <= _LONGEST_VALUE
        else f"{text[: _LONGEST_VALUE - 1]}\N{HORIZONTAL ELLIPSIS}"
    )
