"""Parquet files, and every other relation whose columns already have types."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged
from secondlook.tables.reading.converting import Cells
from secondlook.tables.reading.forms import identifier, quoted
from secondlook.tables.reading.headers import named
from secondlook.tables.reading.parts import Part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.tables.table import ColumnType

_INTEGERS = re.compile("U?(?:TINYINT|SMALLINT|INTEGER)|BIGINT")
_BROADER = re.compile(r"FLOAT|DOUBLE|UBIGINT|U?HUGEINT|DECIMAL\(.*\)")
_TEXTS = re.compile(r"VARCHAR|UUID|ENUM\(.*\)|INTERVAL|BIT|\"NULL\"|NULL")
_NESTED = re.compile(r".*\[\d*\]|MAP\(.*\)|UNION\(.*\)|VARIANT.*", re.DOTALL)
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Typed:
    """A column of a relation, flattened."""

    path: tuple[str, ...]
    sql: str
    type: ColumnType | None
    """None for text whose cells may be understood further."""


def parquet_part(connection: Any, path: Path) -> Part:
    import duckdb

    relation = f"read_parquet({quoted(str(path))})"
    try:
        columns, notes = typed_columns(connection, relation)
    except duckdb.Error as error:
        raise Damaged(f"it is no readable Parquet file: {first_line(error)}") from error
    names = named([".".join(column.path) for column in columns])
    cells = [
        Cells(name, column.sql, column.type or "text")
        for name, column in zip(names, columns, strict=True)
    ]
    return Part(relation, cells, notes=notes)


def typed_columns(connection: Any, relation: str) -> tuple[list[Typed], list[str]]:
    """Its columns, structs taken apart and lists turned into JSON; and what was left out."""
    described = connection.execute(f"DESCRIBE FROM {relation}").fetchall()
    columns: list[Typed] = []
    notes: list[str] = []
    for name, kind, *_ in described:
        for column in _flattened((name,), identifier(name), kind):
            if column is None:
                notes.append(f"{name!r}: binary data were left out")
            else:
                columns.append(column)
    return columns, notes


def _flattened(path: tuple[str, ...], sql: str, kind: str) -> Iterator[Typed | None]:
    if kind.startswith("STRUCT(") and len(path) < _DEEPEST and not kind.endswith("]"):
        for name, inner in struct_fields(kind):
            yield from _flattened((*path, name), f"struct_extract({sql}, {quoted(name)})", inner)
    else:
        yield _plain(path, sql, kind)


def _plain(path: tuple[str, ...], sql: str, kind: str) -> Typed | None:  # noqa: PLR0911 - one a type
    if kind.startswith("BLOB"):
        return None
    if _INTEGERS.fullmatch(kind):
        return Typed(path, f"CAST({sql} AS BIGINT)", "integer")
    if _BROADER.fullmatch(kind):
        return Typed(path, f"CAST({sql} AS DOUBLE)", "number")
    if kind in {"DATE", "BOOLEAN", "TIME"}:
        return Typed(path, sql, _SAME[kind])
    if kind == "TIMESTAMP WITH TIME ZONE":
        return Typed(path, f"timezone('UTC', {sql})", "datetime")
    if kind.startswith("TIMESTAMP"):
        return Typed(path, f"CAST({sql} AS TIMESTAMP)", "datetime")
    if kind.startswith("TIME"):
        return Typed(path, f"CAST({sql} AS TIME)", "time")
    if kind == "JSON":  # a text without its quotes, anything else as it stands
        return Typed(path, f"json_extract_string({sql}, '$')", "text")
    if _NESTED.fullmatch(kind) or kind.startswith("STRUCT("):
        return Typed(path, f"CAST(to_json({sql}) AS VARCHAR)", "text")
    return Typed(path, f"CAST({sql} AS VARCHAR)", None if _TEXTS.fullmatch(kind) else "text")


_SAME: dict[str, ColumnType] = {"DATE": "date", "BOOLEAN": "boolean", "TIME": "time"}


def struct_fields(kind: str) -> list[tuple[str, str]]:
    """`STRUCT(a INTEGER, "b c" VARCHAR)` taken apart at its outermost commas."""
    fields: list[tuple[str, str]] = []
    depth, is_quoted, start = 0, False, len("STRUCT(")
    for at in range(start, len(kind)):
        char = kind[at]
        if char == '"':
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif char in "([":
            depth += 1
        elif char in ")]" and depth:
            depth -= 1
        elif char in ",)" and not depth:
            fields.append(_field(kind[start:at].strip()))
            start = at + 1
    return fields


def _field(text: str) -> tuple[str, str]:
    if text.startswith('"'):
        end = re.match(r'"(?:[^"]|"")*"', text)
        if end is not None:
            return end.group()[1:-1].replace('""', '"'), text[end.end() :].strip()
    name, _, kind = text.partition(" ")
    return name, kind.strip()


def first_line(error: Exception) -> str:
    """What DuckDB says first, without the path: the file may be a copy that nobody knows."""
    said = str(error).partition("\n")[0].partition(" Error: ")
    return re.sub(r""" ?(?:in|of|for)? ?file ['"][^'"]*['"],?""", "", said[2] or said[0])[:300]
