"""Workbooks for tests, written as Excel writes them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xlsxwriter  # type: ignore[import-untyped]


def write_workbook(file: Path, sheets: Mapping[str, Sequence[Any]]) -> Path:
    """A workbook with these rows on each sheet."""
    with xlsxwriter.Workbook(str(file)) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return file
