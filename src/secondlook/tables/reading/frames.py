"""Frames handed over in Python. They are the user's own objects, so no other process is needed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from secondlook.errors import UsageError
from secondlook.tables.reading.headers import named
from secondlook.tables.reading.rows import as_text

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.tables.table import ColumnType

_TAKEN = "a DataFrame of pandas or polars, a pyarrow table, a list of dicts or a dict of lists"


def write_frame(name: str, frame: object, target: Path) -> dict[str, Any]:
    """As Parquet with our types; gives back what the worker gives back for a file."""
    import pyarrow as pa
    from pyarrow import parquet

    table = _as_arrow(name, frame)
    columns: list[Any] = []
    described: list[dict[str, str]] = []
    warnings: list[str] = []
    names = named([str(one) for one in table.column_names])
    for column_name, column in zip(names, table.columns, strict=True):
        converted, kind = _converted(pa, column)
        if converted is None:
            warnings.append(f"{column_name!r}: binary data were left out")
            continue
        columns.append(converted)
        described.append({"name": column_name, "type": kind})
    if not columns or not table.num_rows:
        raise UsageError(f"table {name!r} is empty: it has no {'rows' if columns else 'columns'}")
    made = pa.table(columns, names=[one["name"] for one in described])
    parquet.write_table(made, target)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    return {
        "file": str(target),
        "sheet": "",
        "sha256": digest,
        "rows": table.num_rows,
        "columns": described,
        "warnings": warnings,
    }


def _as_arrow(name: str, frame: object) -> Any:
    import pyarrow as pa

    library = type(frame).__module__.partition(".")[0]
    try:
        if isinstance(frame, pa.Table):
            return frame
        if library == "pandas" and hasattr(frame, "columns"):
            return _from_pandas(frame)
        if library == "polars" and hasattr(frame, "to_arrow"):
            return frame.to_arrow()
        if isinstance(frame, dict):
            return pa.table({str(key): _array(list(cells)) for key, cells in frame.items()})
        if isinstance(frame, list) and all(isinstance(row, dict) for row in frame):
            return _from_records(frame)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError) as error:
        raise UsageError(f"table {name!r} cannot be taken over: {error}") from error
    raise UsageError(f"table {name!r} is a {type(frame).__name__!r}", hint=f"give {_TAKEN}")


def _from_records(records: list[dict[Any, Any]]) -> Any:
    import pyarrow as pa

    keys = dict.fromkeys(key for record in records for key in record)
    return pa.table({str(key): _array([row.get(key) for row in records]) for key in keys})


def _from_pandas(frame: Any) -> Any:
    """An index that says something becomes columns; a plain count of rows does not."""
    import pyarrow as pa

    is_counted = type(frame.index).__name__ == "RangeIndex" and frame.index.name is None
    whole = frame if is_counted else frame.reset_index()
    names = named([_flat(name) for name in whole.columns])
    arrays = [_from_series(whole.iloc[:, at]) for at in range(len(names))]
    return pa.table(arrays, names=names) if arrays else pa.table({})


def _flat(name: object) -> str:
    """A name of several levels in one."""
    return " ".join(str(one) for one in name if str(one)) if isinstance(name, tuple) else str(name)


def _from_series(series: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array([None if _is_missing(cell) else as_text(cell) for cell in series])


def _is_missing(cell: object) -> bool:
    return cell is None or cell != cell  # noqa: PLR0124 - only NaN differs from itself


def _array(cells: list[Any]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if _is_missing(cell) else as_text(cell) for cell in cells])


def _converted(pa: Any, column: Any) -> tuple[Any, ColumnType]:
    """The column in one of our types; None for what has no place in a table."""
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        return _converted(pa, column.cast(kind.value_type))
    if any(getattr(types, f"is_{one}")(kind) for one in _BINARY):
        return None, "other"
    if types.is_timestamp(kind):
        in_utc = column.cast(pa.timestamp("us", kind.tz), safe=False)
        return in_utc.cast(pa.timestamp("us")), "datetime"
    for names, wanted, ours in _TYPES:
        if any(getattr(types, f"is_{one}")(kind) for one in names):
            return column.cast(pa.type_for_alias(wanted), safe=False), ours
    texts = [None if cell is None else as_text(cell) for cell in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())]), "text"


_BINARY = ("binary", "large_binary", "fixed_size_binary", "binary_view")
_TYPES: tuple[tuple[tuple[str, ...], str, ColumnType], ...] = (
    (("floating", "decimal", "uint64"), "float64", "number"),
    (("integer", "null"), "int64", "integer"),
    (("boolean",), "bool", "boolean"),
    (("date",), "date32", "date"),
    (("time",), "time64[us]", "time"),
    (("string", "large_string", "string_view"), "string", "text"),
)
