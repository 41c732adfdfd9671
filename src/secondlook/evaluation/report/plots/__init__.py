"""The pictures of a report, drawn with matplotlib (the extra `eval`) where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from secondlook.evaluation.report.plots import canvas, fallback, knowing, quality, studies
from secondlook.evaluation.report.plots.canvas import NothingToDraw, Plot

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.evaluation.records import Results
    from secondlook.evaluation.report.plots.canvas import Drawing

INSTALL = 'pip install "secondlook[eval]"'

_PLOTS: dict[str, tuple[str, Callable[[Results], Drawing]]] = {
    "metrics": ("Quality by configuration", quality.metrics),
    "ablation": ("What each change does", studies.ablation),
    "sweep": ("A setting over its range", studies.sweep),
    "rerank_scores": ("Reranker's scores and the trigger", fallback.rerank_scores),
    "f1_changes": ("Change in F1 of each question", fallback.f1_changes),
    "fallback_impact": ("Impact of the fallback", fallback.impact),
    "latency": ("Time", quality.latency),
    "risk_coverage": ("Risk and coverage", knowing.risk_coverage),
    "reliability": ("Reliability of confidence", knowing.reliability),
    "success_by_retry": ("Success by number of retries", knowing.success_by_retry),
}


def can_draw() -> bool:
    return find_spec("matplotlib") is not None


def draw(results: Results) -> tuple[Plot, ...]:
    """All of them; one without data carries the reason instead of a picture."""
    with canvas.plain_style():
        return tuple(_drawn(name, title, make, results) for name, (title, make) in _PLOTS.items())


def _drawn(name: str, title: str, make: Callable[[Results], Drawing], results: Results) -> Plot:
    try:
        drawing = make(results)
    except NothingToDraw as nothing:
        return Plot(name, title, missing=str(nothing))
    svg = canvas.as_svg(drawing.figure)
    drawing.figure.set_layout_engine("none")  # it is laid out: not a second time for the PNG
    return Plot(name, title, drawing.caption, svg=svg, png=canvas.as_png(drawing.figure))
