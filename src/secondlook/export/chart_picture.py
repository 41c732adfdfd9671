"""A chart as a picture: bars, lines and points drawn by matplotlib, others by Plotly itself."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from secondlook.answer import AnalysisFigure

_SIMPLE = frozenset({"bar", "scatter", "scattergl"})
_SIZE = (8.0, 5.0)
_DPI = 150
_MANY = 8
"""Labels on an axis from which on they are turned."""
_LONG = 10


def drawn(figure: AnalysisFigure) -> bytes:
    data: Any = figure.data if isinstance(figure.data, dict) else {}
    traces = [one for one in data.get("data", []) if isinstance(one, dict)]
    if traces and all(map(_is_simple, traces)):
        return _by_matplotlib(traces, data.get("layout", {}))
    return _by_plotly(data)


def _is_simple(trace: dict[str, Any]) -> bool:
    points = isinstance(trace.get("x"), list) and isinstance(trace.get("y"), list)
    return trace.get("type", "scatter") in _SIMPLE and points and trace.get("orientation") != "h"


def _by_matplotlib(traces: list[dict[str, Any]], layout: dict[str, Any]) -> bytes:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(
            "a chart as a picture needs matplotlib, which is not installed",
            hint="pip install 'secondlook[analyst]', or save the chart as .json",
        ) from None
    picture = Figure(figsize=_SIZE, layout="constrained")
    axes = picture.subplots()
    for at, trace in enumerate(traces):
        _draw(axes, trace, at, len(traces), layout)
    axes.set_title(_text(layout.get("title")))
    axes.set_xlabel(_text(layout.get("xaxis", {}).get("title")))
    axes.set_ylabel(_text(layout.get("yaxis", {}).get("title")))
    if len(traces) > 1:
        axes.legend()
    labels = [str(one) for one in traces[0]["x"]]
    if len(labels) > _MANY or max(map(len, labels), default=0) > _LONG:
        axes.tick_params(axis="x", rotation=45)
    stream = io.BytesIO()
    picture.savefig(stream, format="png", dpi=_DPI)
    return stream.getvalue()


def _draw(axes: Any, trace: dict[str, Any], at: int, of: int, layout: dict[str, Any]) -> None:
    name = str(trace.get("name") or "")
    colours = layout.get("colorway") or [None]
    colour = colours[at % len(colours)]
    x, y = trace["x"], trace["y"]
    if trace.get("type") == "bar":
        width = 0.8 / of
        places = [place + (at - (of - 1) / 2) * width for place in range(len(x))]
        axes.bar(places, _numbers(y), width=width, label=name, color=colour)
        axes.set_xticks(range(len(x)), [str(one) for one in x])
    elif "lines" in str(trace.get("mode", "lines")):
        axes.plot(x, _numbers(y), label=name, color=colour, marker=".")
    else:
        axes.scatter(x, _numbers(y), label=name, color=colour, s=12)


def _numbers(values: list[Any]) -> list[Any]:
    return [float("nan") if one is None else one for one in values]


def _text(title: Any) -> str:
    """With no formula read into it, which a `$` would begin."""
    said = title.get("text", "") if isinstance(title, dict) else title
    return str(said or "").replace("$", r"\$")


def _by_plotly(data: dict[str, Any]) -> bytes:
    """Needs kaleido and a browser; what it misses it says in its own words."""
    try:
        import plotly.io

        return bytes(plotly.io.to_image(data, format="png", validate=False))
    except Exception as error:  # whatever a browser may fail of
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageError(
            f"the chart cannot be drawn as a picture here: {said}",
            hint="pip install plotly kaleido and have Chrome installed, or save it as .html",
        ) from error
