"""Charts and tables of an analysis as files."""

from __future__ import annotations

import base64
import binascii
import csv
import json
from typing import TYPE_CHECKING, Any, Final

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from secondlook.answer import AnalysisFigure, Answer, ResultTable

CHART_FORMS: Final = (".html", ".json", ".png")
TABLE_FORMS: Final = (".csv", ".parquet", ".json")


def check_chart_name(path: Path) -> None:
    _check(path, CHART_FORMS, "a chart")


def check_table_name(path: Path) -> None:
    _check(path, TABLE_FORMS, "a table")


def _check(path: Path, forms: tuple[str, ...], what: str) -> None:
    if path.suffix.casefold() not in forms:
        listed = ", ".join(forms)
        raise UsageError(
            f"{what} cannot be saved as {str(path)!r}", hint=f"its name must end in: {listed}"
        )
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {str(path.absolute().parent)!r}")


def write_charts(answer: Answer, path: Path) -> list[Path]:
    """Every chart of the answer: the first under that name, others as `name-2.html`."""
    check_chart_name(path)
    figures = answer.analysis.figures if answer.analysis else ()
    if not figures:
        raise UsageError("the answer has no chart", hint="ask for one: plot, draw, histogram ...")
    written = []
    for at, figure in enumerate(figures, 1):
        target = path if at == 1 else path.with_stem(f"{path.stem}-{at}")
        _save(target, chart_bytes(figure, path.suffix.casefold()))
        written.append(target)
    return written


def chart_bytes(figure: AnalysisFigure, form: str) -> bytes:
    """The chart as `.html`, which needs no network, `.json` or `.png`."""
    if form == ".html":
        from secondlook.export.chart_page import page_of

        return page_of(figure).encode("utf-8", "replace")
    if form == ".json":
        if figure.kind == "png":
            raise UsageError(
                "the chart is a picture, which has no JSON", hint="save it as .png or .html"
            )
        return json.dumps(figure.data, ensure_ascii=False).encode("utf-8", "replace")
    if figure.kind == "png":
        return picture_bytes(figure)
    from secondlook.export.chart_picture import drawn

    return drawn(figure)


def picture_bytes(figure: AnalysisFigure) -> bytes:
    try:
        return base64.b64decode(str(figure.data), validate=True)
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"the picture of the chart is damaged: {error}") from error


def write_table(answer: Answer, path: Path) -> list[Path]:
    """The result as a table: its rows, or its values by name where it has no rows."""
    check_table_name(path)
    table = _table_of(answer)
    write = _WRITERS[path.suffix.casefold()]
    try:
        write(table, path)
    except OSError as error:
        raise _unwritable(path, error) from error
    return [path]


def _table_of(answer: Answer) -> ResultTable:
    from secondlook.answer import ResultTable

    table = answer.analysis.table if answer.analysis else None
    if table is not None:
        return table
    if not answer.values:
        raise UsageError("the answer has no result to save")
    rows = tuple((name, _cell(value)) for name, value in answer.values.items())
    return ResultTable(columns=("name", "value"), rows=rows, total_rows=len(rows))


def _cell(value: Any) -> Any:
    nested = isinstance(value, list | dict)
    return json.dumps(value, ensure_ascii=False) if nested else value


def _write_csv(table: ResultTable, path: Path) -> None:
    # The mark lets spreadsheets read it as UTF-8.
    with path.open("w", encoding="utf-8-sig", newline="", errors="replace") as stream:
        writer = csv.writer(stream)
        writer.writerow(map(_harmless, table.columns))
        writer.writerows([_harmless(cell) for cell in row] for row in table.rows)


def _harmless(cell: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets a sign that makes it text."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in {"=", "@", "+", "-"} else cell


def _write_json(table: ResultTable, path: Path) -> None:
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=1), "utf-8", "replace")


def _write_parquet(table: ResultTable, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [_column([row[at] for row in table.rows]) for at in range(len(table.columns))]
    pq.write_table(pa.Table.from_arrays(columns, names=list(table.columns)), path)


def _column(values: list[Any]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # numbers and texts mixed
        return pa.array([None if one is None else str(one) for one in values], pa.string())


_WRITERS: Final[dict[str, Callable[[ResultTable, Path], None]]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
}


def _save(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{str(path)!r} cannot be written: {error.strerror or error}")
