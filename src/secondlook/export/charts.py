"""Charts and tables of an analysis as files."""

from __future__ import annotations

import base64
import binascii
import csv
import html
import io
import json
import re
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.answer import AnalysisFigure, Answer

    Rows = Sequence[Sequence[Any]]

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
        content = chart_bytes(figure, path.suffix.casefold())
        with _writing(target):
            target.write_bytes(content)
        written.append(target)
    return written


def chart_bytes(figure: AnalysisFigure, form: str) -> bytes:
    """The chart as `.html`, which needs no network, `.json` or `.png`."""
    if form == ".html":
        return page_of(figure).encode("utf-8", "replace")
    if form == ".json":
        if figure.kind == "png":
            raise UsageError(
                "the chart is a picture, which has no JSON", hint="save it as .png or .html"
            )
        return json.dumps(figure.data, ensure_ascii=False).encode("utf-8", "replace")
    return picture_bytes(figure) if figure.kind == "png" else drawn(figure)


def picture_bytes(figure: AnalysisFigure) -> bytes:
    try:
        return base64.b64decode(str(figure.data), validate=True)
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"the picture of the chart is damaged: {error}") from error


def write_table(answer: Answer, path: Path) -> list[Path]:
    """The result as a table: its rows, or its values by name where it has no rows."""
    check_table_name(path)
    table = answer.analysis.table if answer.analysis else None
    if table is None and not answer.values:
        raise UsageError("the answer has no result to save")
    columns: Sequence[str] = table.columns if table else ("name", "value")
    rows: Rows = table.rows if table else [(one, _cell(v)) for one, v in answer.values.items()]
    with _writing(path):
        if path.suffix.casefold() == ".csv":
            # The mark lets spreadsheets read it as UTF-8.
            with path.open("w", encoding="utf-8-sig", newline="", errors="replace") as stream:
                csv.writer(stream).writerows(map(harmless, row) for row in [columns, *rows])
        elif path.suffix.casefold() == ".json":
            listed = [dict(zip(columns, row, strict=True)) for row in rows]
            path.write_text(json.dumps(listed, ensure_ascii=False, indent=1), "utf-8", "replace")
        else:
            _write_parquet(columns, rows, path)
    return [path]


def _cell(value: Any) -> Any:
    nested = isinstance(value, list | dict)
    return json.dumps(value, ensure_ascii=False) if nested else value


_FORMULA = ("=", "@", "+", "-", "\t", "\r")


def harmless(cell: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets a sign that makes it text."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def _write_parquet(columns: Sequence[str], rows: Rows, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = []
    for values in [[row[at] for row in rows] for at in range(len(columns))]:
        try:
            arrays.append(pa.array(values))
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # numbers and texts mixed
            texts = [None if one is None else str(one) for one in values]
            arrays.append(pa.array(texts, pa.string()))
    pq.write_table(pa.Table.from_arrays(arrays, names=list(columns)), path)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error


# A chart as a page of its own that needs no network: Plotly's script is part of it.

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; \
worker-src blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
</head>
<body>
{body}
</body>
</html>
"""
_PLOT = """\
<div id="chart" style="width:100%;height:96vh"></div>
<script>{script}</script>
<script>
const figure = {figure};
Plotly.newPlot("chart", figure.data || [], figure.layout || {{}}, {{responsive: true}});
</script>"""

_LINK = re.compile(r"<(?=\s*/?\s*a\b)", re.IGNORECASE)


def page_of(figure: AnalysisFigure) -> str:
    title = html.escape(figure.title or "Chart")
    if figure.kind == "png":
        source = html.escape(str(figure.data), quote=True)
        picture = f'<img alt="{title}" src="data:image/png;base64,{source}">'
        return _PAGE.format(title=title, body=picture)
    # Out of the installed package, which is not imported for it.
    found = find_spec("plotly")
    place = found.origin if found is not None else None
    file = Path(place).parent / "package_data" / "plotly.min.js" if place else None
    if file is None or not file.is_file():
        raise UsageError(
            "a chart as a page needs Plotly, which is not installed",
            hint="pip install plotly, or save the chart as .json",
        )
    script = file.read_text("utf-8").replace("</script", "<\\/script")
    body = _PLOT.format(script=script, figure=in_script(figure.data))
    return _PAGE.format(title=title, body=body)


def in_script(data: object) -> str:
    """JSON that cannot end the script that it stands in, whatever a cell holds; Plotly would make
    links of labels."""
    written = _LINK.sub("&lt;", json.dumps(data, ensure_ascii=True))
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# A chart as a picture: bars, lines and points drawn by matplotlib, others by Plotly itself.

_SIMPLE = frozenset({"bar", "scatter", "scattergl"})
_MANY, _LONG = 8, 10  # labels on an axis, and characters of one, from which on they are turned


def drawn(figure: AnalysisFigure) -> bytes:
    data: Any = figure.data if isinstance(figure.data, dict) else {}
    traces = [one for one in data.get("data", []) if isinstance(one, dict)]
    simple = all(
        one.get("type", "scatter") in _SIMPLE
        and isinstance(one.get("x"), list)
        and isinstance(one.get("y"), list)
        and one.get("orientation") != "h"
        for one in traces
    )
    try:
        if traces and simple:
            return _by_matplotlib(traces, data.get("layout", {}))
        import plotly.io

        return bytes(plotly.io.to_image(data, format="png", validate=False))
    except Exception as error:  # whatever a browser may fail of
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageError(
            f"the chart cannot be drawn as a picture here: {said}",
            hint="pip install matplotlib plotly kaleido and have Chrome installed, or save it as "
            ".html or .json",
        ) from error


def _by_matplotlib(traces: list[dict[str, Any]], layout: dict[str, Any]) -> bytes:
    from matplotlib.figure import Figure

    picture = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = picture.subplots()
    colours = layout.get("colorway") or [None]
    for at, trace in enumerate(traces):
        x, y = trace["x"], [float("nan") if one is None else one for one in trace["y"]]
        looks = {"label": str(trace.get("name") or ""), "color": colours[at % len(colours)]}
        if trace.get("type") == "bar":
            width = 0.8 / len(traces)
            places = [place + (at - (len(traces) - 1) / 2) * width for place in range(len(x))]
            axes.bar(places, y, width=width, **looks)
            axes.set_xticks(range(len(x)), [str(one) for one in x])
        elif "lines" in str(trace.get("mode", "lines")):
            axes.plot(x, y, marker=".", **looks)
        else:
            axes.scatter(x, y, s=12, **looks)
    for tell, title in (
        (axes.set_title, layout.get("title")),
        (axes.set_xlabel, layout.get("xaxis", {}).get("title")),
        (axes.set_ylabel, layout.get("yaxis", {}).get("title")),
    ):
        said = title.get("text", "") if isinstance(title, dict) else title
        tell(str(said or "").replace("$", r"\$"))  # a `$` would begin a formula
    if len(traces) > 1:
        axes.legend()
    labels = [str(one) for one in traces[0]["x"]]
    if len(labels) > _MANY or max(map(len, labels), default=0) > _LONG:
        axes.tick_params(axis="x", rotation=45)
    stream = io.BytesIO()
    picture.savefig(stream, format="png", dpi=150)
    return stream.getvalue()
