"""What a person looks at after an evaluation: a spreadsheet, a page and pictures."""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from secondlook.errors import UsageError
from secondlook.evaluation.metrics import METRICS
from secondlook.evaluation.questions import lowest_of_best, question_values
from secondlook.evaluation.records import Results, Row
from secondlook.evaluation.report import tables

_INSIDE = {"metrics", "read", "judged", "graded", "graded_by", "research", "analysed"}
_FIELDS = [one for one in Row.model_fields if one not in _INSIDE and not one.endswith("_by_node")]


def write(results: Results, folder: Path) -> list[Path]:
    """Without matplotlib there are no plots, and the page says how to get them."""
    from secondlook.evaluation.report import page, plots

    drawn = plots.draw(results) if plots.can_draw() else ()
    files = {"results.csv": results_csv(results.rows), "report.html": page.as_html(results, drawn)}
    try:
        for name in plots.PLOTS:  # that of an earlier report would show something else
            for ending in ("svg", "png"):
                (folder / "plots" / f"{name}.{ending}").unlink(missing_ok=True)
        for plot in drawn:
            files |= {f"plots/{plot.name}.svg": plot.svg, f"plots/{plot.name}.png": plot.png}
        for name, content in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    except OSError as error:
        raise UsageError(
            f"the report cannot be written to {str(folder)!r}: {error.strerror or error}",
            hint="make room, or name another folder; the results themselves are kept",
        ) from error
    return [folder / name for name in files]


def results_csv(rows: Sequence[Row]) -> bytes:
    grouped: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row.configuration, row.repeat].append(row)
    wanted = [name for name, item in METRICS.items() if item.per_question and name not in _FIELDS]
    figures = {
        key: {name: question_values(those, name) for name in wanted}
        for key, those in grouped.items()
    }
    metrics = [name for name in wanted if any(found[name] for found in figures.values())]
    nodes = sorted({node for row in rows for node in row.seconds_by_node})
    sheet = io.StringIO(newline="")
    writer = csv.writer(sheet, lineterminator="\r\n")
    heads = [*_FIELDS, "accepted", "lowest_of_best_5", *tables.in_order(metrics)]
    writer.writerow([*heads, *(_cell(f"seconds_{node}") for node in nodes)])
    for row in rows:
        found = figures[row.configuration, row.repeat]
        accepted = sum(was for _, was in row.graded) if row.graded else None
        cells = [
            *(getattr(row, name) for name in _FIELDS),
            accepted,
            lowest_of_best(row),
            *(found[name].get(row.case) for name in tables.in_order(metrics)),
            *(row.seconds_by_node.get(node) for node in nodes),
        ]
        writer.writerow(map(_cell, cells))
    return sheet.getvalue().encode("utf-8", "replace")


def _cell(value: object) -> str:
    """A value as a spreadsheet shows it. Words of others must not be taken for a formula."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(round(value, 9))
    if isinstance(value, int):
        return str(value)
    text = "; ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
