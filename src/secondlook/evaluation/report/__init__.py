"""What a person looks at after an evaluation: a spreadsheet, a page and pictures, all of them made
from the results alone and the same every time they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from secondlook.evaluation.records import Results
    from secondlook.evaluation.report.canvas import Plot


def write(results: Results, folder: Path) -> list[Path]:
    """`results.csv`, `report.html` and `plots/*.svg|png` in `folder`, and `review.csv`
    where a person should look at answers; what was written.

    Without matplotlib (the extra `eval`) there are no plots, and the page says how to get them.
    """
    from secondlook.evaluation.report import page, plots, sheets

    drawn = plots.draw(results) if plots.can_draw() else ()
    files = {
        "results.csv": sheets.results_csv(results.rows),
        "report.html": page.as_html(results, drawn),
    }
    needed = sheets.to_review(results.rows)
    if needed:
        files[sheets.FILE] = sheets.review_csv(needed)
    for plot in drawn:
        if plot.svg:
            files |= {f"plots/{plot.name}.svg": plot.svg, f"plots/{plot.name}.png": plot.png}
    try:
        _clear(folder / "plots", drawn)
        if not needed:  # that of an earlier run would tell of other answers
            (folder / sheets.FILE).unlink(missing_ok=True)
        return [_written(folder / name, content) for name, content in files.items()]
    except OSError as error:
        raise UsageError(
            f"the report cannot be written to {str(folder)!r}: {error.strerror or error}",
            hint="make room, or name another folder; the results themselves are kept",
        ) from error


def _written(file: Path, content: bytes) -> Path:
    """Whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
    return file


def _clear(folder: Path, drawn: Sequence[Plot]) -> None:
    """A plot of an earlier report that has no data any more would show something else."""
    for plot in drawn:
        if plot.missing:
            for ending in ("svg", "png"):
                (folder / f"{plot.name}.{ending}").unlink(missing_ok=True)
