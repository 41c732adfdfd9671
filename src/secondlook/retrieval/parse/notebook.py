"""Jupyter notebooks: the prose with its headings, the code, and what it printed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged
from secondlook.retrieval.parse.compose import Composer, tidy
from secondlook.retrieval.parse.markup import markdown_headings
from secondlook.retrieval.parse.plain import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_LONGEST_OUTPUT = 20_000


def parse_notebook(source: Source) -> Extracted:
    text, notes = read_text(source)
    try:
        notebook = json.loads(text)
    except ValueError as error:
        raise Damaged(f"the notebook is no valid JSON: {error}") from error
    if not isinstance(notebook, dict):
        raise Damaged("the notebook has no cells")
    composer = Composer(source.budget)
    composer.about.notes.extend(notes)
    for cell in _cells(notebook):
        _write_cell(cell, composer)
    metadata = notebook.get("metadata")
    if isinstance(metadata, dict):
        composer.about.title = _text(metadata.get("title")) or None
    return composer.finish("notebook")


def _cells(notebook: dict[str, Any]) -> Iterator[dict[str, Any]]:
    sheets = notebook.get("worksheets")  # version 3 kept its cells in sheets
    holders = [notebook, *(sheets if isinstance(sheets, list) else ())]
    for holder in holders:
        cells = holder.get("cells") if isinstance(holder, dict) else None
        if isinstance(cells, list):
            yield from (cell for cell in cells if isinstance(cell, dict))


def _write_cell(cell: dict[str, Any], composer: Composer) -> None:
    kind = cell.get("cell_type")
    text = tidy(_text(cell.get("source", cell.get("input"))))
    if kind == "heading":
        level = cell.get("level")
        composer.heading(level if isinstance(level, int) else 1, text)
        return
    start = composer.block(text)
    if kind == "markdown":
        for level, begin, end in markdown_headings(text):
            composer.mark_heading(level, start + begin, start + end)
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            composer.block(_output(output)[:_LONGEST_OUTPUT])


def _output(output: dict[str, Any]) -> str:
    data = output.get("data")
    shown = data if isinstance(data, dict) else {}
    printed = _text(output.get("text")) or _text(shown.get("text/markdown"))
    if not printed and "image/png" not in shown:
        printed = _text(shown.get("text/plain"))
    if output.get("output_type") in {"error", "pyerr"}:
        return f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    return printed


def _text(value: object) -> str:
    if isinstance(value, list):
        return "".join(str(item) for item in value)
    return value if isinstance(value, str) else ""
