"""Small sets of questions over tables, in the form that DABench has."""

import json
from pathlib import Path
from typing import Any

_PORTS = "port,depth,country\nOslo,12,Norway\nRome,9,Italy\nBergen,10.5,Norway\n"
_DABENCH: list[dict[str, Any]] = [
    {
        "id": 0,
        "question": "What is the mean depth?",
        "constraints": "Use all rows. Round to two decimal places.",
        "format": '@mean_depth[value] where "value" is a number rounded to two decimal places.',
        "file_name": "ports.csv",
        "level": "easy",
        "answers": [["mean_depth", "10.5"]],
    },
    {
        "id": 1,
        "question": "Why is the sea salty, and what would a poet say of it?",
        "format": "@poem[text]",
        "file_name": "ports.csv",
        "level": "hard",
        "answers": [["poem", "none"]],
    },
]


def dabench_set(folder: Path, *first: dict[str, Any]) -> Path:
    """`first` are rows before the two that are always there."""
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "ports.csv").write_text(_PORTS, encoding="utf-8", newline="")
    _write(folder / "questions.jsonl", [*first, *_DABENCH])
    return folder


def _write(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
