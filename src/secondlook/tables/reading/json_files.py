"""JSON lines, and a JSON array of objects. Nested objects become columns with dotted names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, TableError
from secondlook.tables.reading.converting import Cells
from secondlook.tables.reading.forms import quoted
from secondlook.tables.reading.headers import named
from secondlook.tables.reading.parquet_files import first_line, typed_columns
from secondlook.tables.reading.parts import Part

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST_OBJECT = 16 << 20
_NOT_A_TABLE = "it is JSON, but no list of objects"
_HINT = "a table in JSON is one object per line, or an array of objects"


def json_part(connection: Any, path: Path) -> Part:
    """Types are taken from all rows where the first ones mislead."""
    layout = _layout(path)

    def read(sampled: int) -> Part:
        relation = (
            f"read_json({quoted(str(path))}, format = {quoted(layout)}, sample_size = {sampled}, "
            f"maximum_object_size = {_LARGEST_OBJECT}, map_inference_threshold = -1, "
            "convert_strings_to_integers = false, dateformat = 'none', timestampformat = 'none')"
        )
        return _part(connection, relation)

    first = read(20_480)
    return Part(first.relation, first.columns, notes=first.notes, otherwise=lambda: read(-1))


def _part(connection: Any, relation: str) -> Part:
    import duckdb

    try:
        columns, notes = typed_columns(connection, relation)
    except duckdb.Error as error:
        raise Damaged(f"it is no readable JSON: {first_line(error)}", hint=_HINT) from error
    if [column.path for column in columns] == [("json",)]:
        raise TableError(_NOT_A_TABLE, hint=_HINT)
    names = named([".".join(column.path) for column in columns])
    cells = [
        Cells(name, column.sql, column.type) for name, column in zip(names, columns, strict=True)
    ]
    return Part(relation, cells, notes=notes)


def _layout(path: Path) -> str:
    with path.open("rb") as stream:
        head = stream.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"["):
        return "array"
    if head.startswith(b"{"):
        return "newline_delimited"
    raise TableError(_NOT_A_TABLE, hint=_HINT)
