"""What all plots share: a figure without global state, colours that differ in grey too, and files
that come out the same every time."""

from __future__ import annotations

import io
import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.evaluation.report.numbers import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from secondlook.evaluation.records import Estimate

# Okabe and Ito, "Color Universal Design" (2008), ordered so that neighbours differ in lightness.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
VERMILION, SKY, BLACK = "#D55E00", "#56B4E9", "#000000"
COLOURS = (BLUE, ORANGE, GREEN, PINK, VERMILION, SKY, BLACK)  # its yellow is too faint for lines
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
HATCHES = ("", "///", "\\\\\\", "xxx", "---", "|||", "+++")
MOST = 6
"""More configurations than this can hardly be told apart in one plot."""
_STYLE = {
    "svg.hashsalt": "secondlook",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.grid.axis": "x",
    "grid.color": "#E3E3E3",
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "font.size": 10,
}


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture with what it shows, or the reason why there is none."""

    name: str
    title: str
    caption: str = ""
    svg: bytes = b""
    png: bytes = b""
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    figure: Figure
    caption: str


class NothingToDraw(Exception):
    """Raised by a plot: its argument is the reason, for the reader of the report."""


@contextmanager
def plain_style() -> Iterator[None]:
    """The same look whatever a person's matplotlibrc says, and text as text in SVG."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        # A name in a script that the built-in font lacks: a browser has other fonts.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)  # type: ignore[arg-type]
        yield


def panels(
    height: float, rows: int = 1, columns: int = 1, **options: object
) -> tuple[Figure, list[Axes]]:
    """A figure and its axes, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **options)  # type: ignore[call-overload]
    return figure, [axes for line in grid for axes in line]


def legend_below(figure: Figure, axes: Axes) -> None:
    """Under the plot, where it covers no data, in as many columns as the names allow."""
    handles, labels = axes.get_legend_handles_labels()
    columns = 100 // (8 + max(map(len, labels)))
    figure.legend(handles, labels, loc="outside lower center", ncols=max(1, min(columns, 4)))


def errors(items: Sequence[Estimate]) -> list[list[float]]:
    """How far each interval reaches below and above its figure; 0 where there is no interval."""
    below, above = [], []
    for item in items:
        middle = item.value or 0.0
        below.append(max(0.0, middle - (middle if item.low is None else item.low)))
        above.append(max(0.0, (middle if item.high is None else item.high) - middle))
    return [below, above]


def label(text: str, *, longest: int = 40) -> str:
    """One printable line: names come from people and from data."""
    shown = one_line(text)
    if len(shown) <= longest:
        return shown
    end = longest * 3 // 5  # long names differ at the end
    return f"{shown[: longest - end - 1]}…{shown[-end:]}"


def as_svg(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue().replace(b"\r\n", b"\n")


def as_png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=160, metadata={"Software": None})
    return buffer.getvalue()


def inline(svg: bytes, *, name: str, start: str = "<svg ") -> str:
    """For the middle of a page: no prolog, no fixed size, and ids that no other plot has."""
    text = svg.decode()
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    for side in ("width", "height"):
        text = re.sub(rf'(<svg[^>]*?) {side}="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    return text.replace("<svg ", start, 1).strip()
