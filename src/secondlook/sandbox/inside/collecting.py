"""What the code leaves in `result`, as plain data that JSON can carry.

Runs in the job, on values of any kind: nothing here may rely on their good behaviour, and what has
no plain form becomes text.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

MOST_DEPTH = 12
MOST_ITEMS = 100_000
MOST_TEXT = 100_000
_MOST_CELLS = 1_000_000
_WIDEST_INTEGER = 2**63
_SEQUENCES = (list, tuple, AbstractSet, range)


def collect(result: Any, most_rows: int) -> dict[str, Any]:
    """The fields `result`, `frame` and `frames` of a reply."""
    result = _without_style(result)
    if _is_frame(result):
        return {"result": None, "frame": frame(result, most_rows), "frames": {}}
    if not isinstance(result, Mapping):
        return {"result": plain(result, most_rows), "frame": None, "frames": {}}
    frames: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for key, value in islice(result.items(), MOST_ITEMS):
        name = _text(_key(key))
        if _is_frame(value):
            frames[name] = frame(value, most_rows)
        else:
            values[name] = plain(value, most_rows)
    return {"result": values, "frame": None, "frames": frames}


def frame(value: Any, most_rows: int) -> dict[str, Any]:
    """A frame or a series: its index becomes columns where it says something."""
    named = _columns(value)
    total = len(value)
    rows = min(total, most_rows, max(1, _MOST_CELLS // max(1, len(named))))
    cells = [[plain(cell, most_rows) for cell in islice(column, rows)] for _, column in named]
    return {
        "columns": [name for name, _ in named],
        "rows": [list(row) for row in zip(*cells, strict=True)] if named else [],
        "total_rows": total,
    }


def plain(value: Any, most_rows: int, depth: int = 0) -> Any:
    """Booleans, numbers, text, lists, mappings; dates as ISO text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -_WIDEST_INTEGER <= value < _WIDEST_INTEGER else _text(int(value))
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return _text(str(value))
    if depth >= MOST_DEPTH:
        return _text(value)
    return _other(value, most_rows, depth)


def _other(value: Any, most_rows: int, depth: int) -> Any:
    import numpy as np
    import pandas as pd

    if value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.generic):
        return _numpy_scalar(value, most_rows, depth)
    if isinstance(value, (dt.date, dt.time)):  # a timestamp of pandas is a date too
        return value.isoformat()
    if isinstance(value, (Decimal, Fraction)):
        return float(value)
    if _is_frame(value):
        return _records(value, most_rows, depth)
    return _container(value, most_rows, depth)


def _numpy_scalar(value: Any, most_rows: int, depth: int) -> Any:
    import numpy as np
    import pandas as pd

    if isinstance(value, np.datetime64):
        return plain(pd.Timestamp(value), most_rows, depth)
    if isinstance(value, np.timedelta64):
        return _text(pd.Timedelta(value))
    if isinstance(value, np.floating):
        return float(value)
    bare = value.item()
    return plain(bare, most_rows, depth) if type(bare) is not type(value) else _text(value)


def _container(value: Any, most_rows: int, depth: int) -> Any:
    import numpy as np
    import pandas as pd

    if isinstance(value, Mapping):
        return {
            _text(_key(key)): plain(each, most_rows, depth + 1)
            for key, each in islice(value.items(), MOST_ITEMS)
        }
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return plain(value.item(), most_rows, depth + 1)
    arrays = (np.ndarray, pd.Index, pd.api.extensions.ExtensionArray)
    if isinstance(value, (*_SEQUENCES, *arrays)) or _is_view(value):
        return [plain(each, most_rows, depth + 1) for each in islice(iter(value), MOST_ITEMS)]
    return _text(value)


def _records(value: Any, most_rows: int, depth: int) -> list[dict[str, Any]]:
    """A frame within a list or deeper in a mapping."""
    named = _columns(value)
    rows = islice(zip(*(column for _, column in named), strict=True), most_rows)
    return [
        {
            name: plain(cell, most_rows, depth + 2)
            for (name, _), cell in zip(named, row, strict=True)
        }
        for row in rows
    ]


def _columns(value: Any) -> list[tuple[str, Iterable[Any]]]:
    import pandas as pd

    named: list[tuple[str, Any]] = []
    if _says_something(value.index):
        for level in range(value.index.nlevels):
            name = value.index.names[level]
            alone = "index" if value.index.nlevels == 1 else f"level_{level}"
            named.append(
                (alone if name is None else _key(name), value.index.get_level_values(level))
            )
    if isinstance(value, pd.Series):
        named.append(("value" if value.name is None else _key(value.name), value))
    else:
        for position, label in enumerate(value.columns):
            named.append((_key(label), value.iloc[:, position]))
    return [(_text(name), _cells(column)) for name, column in named]


def _cells(column: Any) -> Iterable[Any]:
    """What is missing among texts and dates is no number, though pandas says so."""
    if column.dtype.kind in "biufc":
        return column  # type: ignore[no-any-return]
    return (None if _is_nan(each) else each for each in column)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _says_something(index: pd.Index) -> bool:
    """Not so the numbering of rows, which remains where rows were left out or sorted."""
    import pandas as pd

    return not (isinstance(index, pd.RangeIndex) and index.name is None)


def _key(label: Any) -> str:
    if isinstance(label, tuple):  # a column below another, as `agg` with two measures gives
        return "_".join(str(part) for part in label if str(part))
    if isinstance(label, float) and math.isfinite(label) and label.is_integer():
        return str(int(label))
    if isinstance(label, (dt.date, dt.time)):
        return label.isoformat()
    return str(label)


def _is_frame(value: Any) -> bool:
    import pandas as pd

    return isinstance(value, (pd.DataFrame, pd.Series))


def _is_view(value: Any) -> bool:
    return isinstance(value, (type({}.values()), type({}.items())))


def _without_style(value: Any) -> Any:
    """`df.style` is a frame in its best clothes."""
    if type(value).__name__ == "Styler" and _is_frame(getattr(value, "data", None)):
        return value.data
    return value


def _text(value: Any) -> str:
    try:
        written = value if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001 - a class of the code's own may do anything here
        written = f"<{type(value).__name__}>"
    return written if len(written) <= MOST_TEXT else written[:MOST_TEXT] + "…"
