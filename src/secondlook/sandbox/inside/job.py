"""One job, in a process of its own that gives up its rights, runs the code, replies and ends."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import math
import mmap
import os
import random
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from secondlook.sandbox.inside.preload import bindings
from secondlook.sandbox.port import CODE_NAME, MOST_FIGURES, Limits, Request, encode_reply

if TYPE_CHECKING:
    import pandas as pd


_MOST_MESSAGE = 4_000
_ENVIRONMENT = ("PATH", "LANG", "TZ", "MPLBACKEND", "JOBLIB_MULTIPROCESSING")


def serve(
    request_file: int,
    reply_file: int,
    table_files: Sequence[int],
    confine: Callable[[Limits], None],
) -> NoReturn:
    """Never returns: the process ends with the job. Standard output already leads to the reader."""
    code = 1
    try:
        with os.fdopen(request_file, "rb") as file:
            request = Request.decoded(file.read())
        try:
            confine(request.limits)
        except Exception as error:
            message = f"The job could not give up its rights, so the code was not run ({error})."
            failure = {"kind": "NotConfined", "message": message}
            _send(reply_file, _encoded(request, {"status": "crashed", "failure": failure}, []))
            raise
        reply = answered(request, table_files)
        # Output ends before the reply: the reader then need not wait until we are cleared away.
        with contextlib.suppress(Exception):  # the code may have put anything in its place
            sys.stdout.flush()
        with contextlib.suppress(OSError):
            os.close(1)
        _send(reply_file, reply)
        code = 0
    finally:
        os._exit(code)


def answered(request: Request, table_files: Sequence[int]) -> bytes:
    try:
        names = _names(request, table_files)
        _run(request.code, names)
        has_result = "result" in names
        collected = collect(names.get("result"), request.limits.frame_rows) if has_result else {}
        document = {"status": "ok", "has_result": has_result, **collected}
        reply = _encoded(request, document, drawn(names))
    except BaseException as error:  # noqa: BLE001 - code may raise anything, also at the very end
        return _encoded(request, _failed(error, request.code), [])
    if len(reply) > (most := request.limits.reply_bytes):
        message = f"What the code left is larger than {most} bytes."
        failure = {"kind": "OutputLimit", "message": message}
        return _encoded(request, {"status": "output", "failure": failure}, [])
    return reply


def _names(request: Request, table_files: Sequence[int]) -> dict[str, Any]:
    import numpy as np

    pairs = zip(request.tables, table_files, strict=True)
    tables = {name: load(file) for name, file in pairs}
    random.seed(0)  # code that draws at random gives the same again
    np.random.seed(0)  # noqa: NPY002 - the one that the code will use
    names: dict[str, Any] = {**bindings(request.code), "tables": tables, "datasets": tables}
    if len(tables) == 1:
        names["df"] = next(iter(tables.values()))
    return names


def _run(code: str, names: dict[str, Any]) -> None:
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module  # so that classes of the code find their home
    module.__dict__.update(names)
    try:
        exec(compile(code, CODE_NAME, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    except SystemExit as ended:
        if ended.code not in (None, 0):
            raise
    finally:
        names.clear()
        names.update(module.__dict__)


def _failed(error: BaseException, code: str) -> dict[str, Any]:
    """With the last line of the code itself on the way to the error, not one of a library."""
    line, message = None, _text(error)
    if isinstance(error, SyntaxError):
        message = error.msg
    if isinstance(error, SyntaxError) and error.filename == CODE_NAME:
        line = error.lineno
    else:
        for frame, number in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename == CODE_NAME:
                line = number
    lines = code.splitlines()
    return {
        "status": "memory" if isinstance(error, MemoryError) else "error",
        "failure": {
            "kind": type(error).__name__,
            "message": message[:_MOST_MESSAGE],
            "line": line,
            "code": lines[line - 1] if line is not None and 0 < line <= len(lines) else None,
        },
    }


def _encoded(
    request: Request, document: dict[str, Any], figures: Sequence[tuple[str, bytes]]
) -> bytes:
    import resource

    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    kinds = [kind for kind, _ in figures]
    whole = {**document, "token": request.token, "memory": memory, "figures": kinds}
    return encode_reply(whole, [content for _, content in figures])


def prepare_streams(output_file: int) -> None:
    """What the code prints goes to our reader, its warnings nowhere."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 2):
        os.dup2(nothing, number)
    os.dup2(output_file, 1)
    raw = io.FileIO(1, "w", closefd=False)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw), "utf-8", errors="replace", line_buffering=True
    )


def clean_environment(scratch: str | None) -> None:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _ENVIRONMENT or name.endswith("_THREADS")  # there are none to be had
    }
    os.environ.clear()
    os.environ.update(kept, HOME=scratch or "/", TMPDIR=scratch or "/")


def _send(file: int, reply: bytes) -> None:
    view = memoryview(reply)
    while view:
        view = view[os.write(file, view) :]
    os.close(file)


# Tables as the code finds them: frames of pandas, read from open files.


def load(descriptor: int) -> pd.DataFrame:
    """One Parquet file, decimals as floats and categories as text, so that the usual operations
    work on them. Reads on this thread alone: a job can make no other."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = mmap.mmap(descriptor, os.fstat(descriptor).st_size, access=mmap.ACCESS_READ)
    try:
        reader = pq.ParquetFile(pa.BufferReader(pa.py_buffer(content)), pre_buffer=False)
        table = reader.read(use_threads=False)
    finally:
        os.close(descriptor)
    wanted = [
        column.with_type(pa.float64())
        if pa.types.is_decimal(column.type)
        else column.with_type(column.type.value_type)
        if pa.types.is_dictionary(column.type)
        else column
        for column in table.schema
    ]
    return table.cast(pa.schema(wanted)).to_pandas(
        use_threads=False, date_as_object=False, ignore_metadata=True, split_blocks=True
    )


# What the code leaves in `result`, as plain data that JSON can carry.

MOST_DEPTH = 12
MOST_ITEMS = 100_000
MOST_TEXT = 100_000
_MOST_CELLS = 1_000_000
_WIDEST_INTEGER = 2**63
_SEQUENCES = (list, tuple, AbstractSet, range)


def collect(result: Any, most_rows: int) -> dict[str, Any]:
    """The fields `result`, `frame` and `frames` of a reply."""
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


def frame(value: Any, most_rows: int, depth: int = 0) -> dict[str, Any]:
    named = _columns(value)
    total = len(value)
    rows = min(total, most_rows, max(1, _MOST_CELLS // max(1, len(named))))
    cells = [
        [plain(cell, most_rows, depth) for cell in islice(column, rows)] for _, column in named
    ]
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
    if isinstance(value, str) or depth >= MOST_DEPTH:
        return _text(value)
    return _other(value, most_rows, depth)


def _other(value: Any, most_rows: int, depth: int) -> Any:  # noqa: PLR0911 - one line a kind
    import numpy as np
    import pandas as pd

    if value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.datetime64 | np.timedelta64):
        dated = isinstance(value, np.datetime64)
        return pd.Timestamp(value).isoformat() if dated else _text(pd.Timedelta(value))
    if isinstance(value, (np.floating, Decimal, Fraction)):
        return float(value)
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        bare = value.item()
        return plain(bare, most_rows, depth + 1) if type(bare) is not type(value) else _text(value)
    if isinstance(value, (dt.date, dt.time)):  # a timestamp of pandas is a date too
        return value.isoformat()
    if _is_frame(value):  # within a list or deeper in a mapping
        made = frame(value, most_rows, depth + 2)
        return [dict(zip(made["columns"], row, strict=True)) for row in made["rows"]]
    if isinstance(value, Mapping):
        return {
            _text(_key(key)): plain(each, most_rows, depth + 1)
            for key, each in islice(value.items(), MOST_ITEMS)
        }
    arrays = (np.ndarray, pd.Index, pd.api.extensions.ExtensionArray)
    several: Any = (*_SEQUENCES, *arrays, type({}.values()), type({}.items()))
    if isinstance(value, several):
        return [plain(each, most_rows, depth + 1) for each in islice(iter(value), MOST_ITEMS)]
    return _text(value)


def _columns(value: Any) -> list[tuple[str, Iterable[Any]]]:
    import pandas as pd

    named: list[tuple[str, Any]] = []
    index = value.index
    # The numbering of rows says nothing; it remains where rows were left out or sorted.
    if not (isinstance(index, pd.RangeIndex) and index.name is None):
        for level in range(index.nlevels):
            name = index.names[level]
            alone = "index" if index.nlevels == 1 else f"level_{level}"
            named.append((alone if name is None else _key(name), index.get_level_values(level)))
    if isinstance(value, pd.Series):
        named.append(("value" if value.name is None else _key(value.name), value))
    else:
        for position, label in enumerate(value.columns):
            named.append((_key(label), value.iloc[:, position]))
    # What is missing among texts and dates is no number, though pandas says so.
    return [
        (_text(name), column if column.dtype.kind in "biufc" else map(_or_none, column))
        for name, column in named
    ]


def _or_none(cell: Any) -> Any:
    return None if isinstance(cell, float) and math.isnan(cell) else cell


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


def _text(value: Any) -> str:
    try:
        written = value if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001 - a class of the code's own may do anything here
        written = f"<{type(value).__name__}>"
    return written if len(written) <= MOST_TEXT else written[:MOST_TEXT] + "…"


# The charts that the code leaves: Plotly's as its JSON, matplotlib's as a picture.


def drawn(bound: dict[str, Any]) -> list[tuple[str, bytes]]:
    """Kind and content of each figure in `fig`, else in `result`, else matplotlib's current one."""
    left, result = bound.get("fig"), bound.get("result")
    if left is None and (_is_plotly(result) or _of_matplotlib(result) is not None):
        left = result
    if left is None and (helpers := sys.modules.get("matplotlib._pylab_helpers")):
        active = helpers.Gcf.get_active()
        left = active.canvas.figure if active and active.canvas.figure.axes else None
    each = list(left) if isinstance(left, (list, tuple)) else [left]
    return [_content(figure) for figure in each[:MOST_FIGURES] if figure is not None]


def _content(figure: Any) -> tuple[str, bytes]:
    if isinstance(figure, dict) and "data" in figure:
        import plotly.graph_objects as go

        figure = go.Figure(figure)
    if _is_plotly(figure):
        return "plotly", figure.to_json().encode("utf-8", "replace")
    picture = _of_matplotlib(figure)
    if picture is None:
        raise TypeError(
            f"`fig` must be a figure of plotly or matplotlib, not {type(figure).__name__!r}"
        )
    written = io.BytesIO()
    picture.savefig(written, format="png", dpi=110, bbox_inches="tight")
    return "png", written.getvalue()


def _is_plotly(value: Any) -> bool:
    module = sys.modules.get("plotly.basedatatypes")  # without it, nobody has made a figure
    return module is not None and isinstance(value, module.BaseFigure)


def _of_matplotlib(value: Any) -> Any:
    """A figure, or the figure that axes, or a grid of them, belong to."""
    module = sys.modules.get("matplotlib.figure")
    if value is None or module is None:
        return None
    owner = value if isinstance(value, module.FigureBase) else getattr(value, "figure", None)
    return owner if isinstance(owner, module.FigureBase) else None
