"""Reliability before and after: how often answers are right, by how likely they were said to be."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from secondlook.calibrating.report import CalibrationReport
    from secondlook.evaluation.records import Point, Results

WIDTH, HEIGHT = 31, 11
_POINT, _DIAGONAL = "●", "·"
_GAP = "   "
_PICTURES = frozenset((".svg", ".png"))


def as_text(report: CalibrationReport) -> str:
    """Both curves side by side; points on the dotted line mean what they say."""
    parts = [("after", report.after)]
    if report.before is not None:
        parts.insert(0, ("before", report.before))
    plots = [_plot(name, judgement.reliability) for name, judgement in parts]
    lines = zip_longest(*plots, fillvalue="")
    return "\n".join(_GAP.join(line).rstrip() for line in lines)


def _plot(name: str, points: Sequence[Point]) -> list[str]:
    marks = {(_row(x / (WIDTH - 1)), x): _DIAGONAL for x in range(WIDTH)}
    marks |= {(_row(point.y), round(point.x * (WIDTH - 1))): _POINT for point in points}
    rows = []
    for row in range(HEIGHT):
        scale = {0: "1.0", HEIGHT // 2: "0.5", HEIGHT - 1: "0.0"}.get(row, "")
        body = "".join(marks.get((row, x), " ") for x in range(WIDTH))
        rows.append(f"{scale:>4} |{body}")
    below = f"{'':>5}0{'probability':^{WIDTH - 2}}1"
    return [f"{'':>6}{f'{name}: share right':<{WIDTH}}", *rows, below]


def _row(share: float) -> int:
    return HEIGHT - 1 - round(share * (HEIGHT - 1))


def check_picture(file: Path) -> None:
    """Told before the long work, not after it."""
    from secondlook.evaluation.report import plots

    if file.suffix.lower() not in _PICTURES:
        raise UsageError(
            f"a plot is written as SVG or PNG, not to {file.name!r}",
            hint="--plot reliability.svg",
        )
    if not plots.can_draw():
        raise UsageError("a plot needs matplotlib", hint=plots.INSTALL)
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {str(file.parent)!r} for the plot")


def draw(report: CalibrationReport, file: Path) -> None:
    """The same plot that `secondlook eval` draws, with both curves."""
    from secondlook.evaluation.report.plots import canvas, knowing

    check_picture(file)
    with canvas.plain_style():
        figure = knowing.reliability(_as_results(report)).figure
        svg = file.suffix.lower() == ".svg"
        content = canvas.as_svg(figure) if svg else canvas.as_png(figure)
    try:
        file.write_bytes(content)
    except OSError as error:
        raise UsageError(
            f"the plot cannot be written to {str(file)!r}: {error.strerror or error}"
        ) from error


def _as_results(report: CalibrationReport) -> Results:
    from secondlook.evaluation.records import Results, Summary

    curves = {"after": report.after.reliability}
    if report.before is not None:
        curves = {"before": report.before.reliability, **curves}
    return Results(
        summaries={
            name: Summary(workflow="linear", reliability=points) for name, points in curves.items()
        }
    )
