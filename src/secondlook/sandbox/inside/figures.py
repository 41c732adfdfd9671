"""The charts that the code leaves: Plotly's as its JSON, matplotlib's as a picture."""

from __future__ import annotations

import io
import sys
from typing import Any

from secondlook.sandbox.protocol import MOST_FIGURES


def drawn(bound: dict[str, Any]) -> list[tuple[str, bytes]]:
    """Kind and content of each figure in `fig`; where there is none, of the figure in `result` or
    of the one that matplotlib is working on."""
    left = bound.get("fig")
    if left is None:
        left = bound.get("result") if _is_figure(bound.get("result")) else _current()
    each = list(left) if isinstance(left, (list, tuple)) else [left]
    return [_content(figure) for figure in each[:MOST_FIGURES] if figure is not None]


def _is_figure(value: Any) -> bool:
    return _is_plotly(value) or _of_matplotlib(value) is not None


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
    return "png", _as_png(picture)


def _is_plotly(value: Any) -> bool:
    module = sys.modules.get("plotly.basedatatypes")  # without it, nobody has made a figure
    return module is not None and isinstance(value, module.BaseFigure)


def _of_matplotlib(value: Any) -> Any:
    """A figure, or the figure that axes, or a grid of them, belong to."""
    module = sys.modules.get("matplotlib.figure")
    if value is None or module is None:
        return None
    if isinstance(value, module.FigureBase):
        return value
    owner = getattr(value, "figure", None)
    return owner if isinstance(owner, module.FigureBase) else None


def _current() -> Any:
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    active = helpers.Gcf.get_active() if helpers else None
    return active.canvas.figure if active and active.canvas.figure.axes else None


def _as_png(figure: Any) -> bytes:
    written = io.BytesIO()
    figure.savefig(written, format="png", dpi=110, bbox_inches="tight")
    return written.getvalue()
