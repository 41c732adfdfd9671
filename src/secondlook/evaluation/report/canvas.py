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
GREY = "#767676"
COLOURS = (BLUE, ORANGE, GREEN, PINK, VERMILION, SKY, BLACK)  # its yellow is too faint for lines
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
HATCHES = ("", "///", "\\\\\\", "xxx", "---", "|||", "+++")
MOST = 6
"""More configurations than this can hardly be told apart in one plot."""
_LINE = 100
"""Characters that fit beside each other in a legend, marks and gaps included."""
WIDTH = 8.0
_LABEL = 40
_DPI = 160


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
    """The same look whatever a person's matplotlibrc says, and text as text in SVG. matplotlib
    reads these when it draws and nowhere else, so they are put back afterwards."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        # A name in a script that the built-in font lacks: a browser has other fonts.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
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
        )
        yield


def new_figure(height: float, *, width: float = WIDTH) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def panels(
    height: float, rows: int = 1, columns: int = 1, **options: object
) -> tuple[Figure, list[Axes]]:
    """A figure and its axes, row by row."""
    figure = new_figure(height)
    grid = figure.subplots(rows, columns, squeeze=False, **options)  # type: ignore[call-overload]
    return figure, [axes for line in grid for axes in line]


def legend_below(figure: Figure, axes: Axes) -> None:
    """Under the plot, where it covers no data, in as many columns as the names allow."""
    handles, labels = axes.get_legend_handles_labels()
    columns = _LINE // (8 + max(map(len, labels)))
    figure.legend(handles, labels, loc="outside lower center", ncols=max(1, min(columns, 4)))


def errors(items: Sequence[Estimate]) -> list[list[float]]:
    """How far each interval reaches below and above its figure: never negative, and 0 where there
    is no interval."""
    reach = [
        (
            max(0.0, middle - (middle if item.low is None else item.low)),
            max(0.0, (middle if item.high is None else item.high) - middle),
        )
        for item in items
        for middle in (item.value or 0.0,)
    ]
    return [[below for below, _ in reach], [above for _, above in reach]]


def label(text: str, *, longest: int = _LABEL) -> str:
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
    figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    return buffer.getvalue()


_IDS = re.compile(r'(\bid="|url\(#|href="#)')
_BEFORE = re.compile(r"\A.*?(?=<svg)", re.DOTALL)
_SIZE = re.compile(r'(<svg[^>]*?) width="[^"]*"')
_HEIGHT = re.compile(r'(<svg[^>]*?) height="[^"]*"')
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)


def inline(svg: bytes, *, name: str) -> str:
    """For the middle of a page: no prolog, no fixed size, and ids that no other plot has."""
    text = _METADATA.sub("", _BEFORE.sub("", svg.decode()))
    text = _HEIGHT.sub(r"\1", _SIZE.sub(r"\1", text, count=1), count=1)
    return _IDS.sub(rf"\g<1>{name}-", text).strip()
