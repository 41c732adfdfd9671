"""InfiAgent-DABench as it is published (Hu et al., ICML 2024): questions with constraints and the
form that their values must have, over CSV files in the folder `tables`."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.datasets import fields
from secondlook.evaluation.datasets.fields import Malformed, shown
from secondlook.evaluation.datasets.jsonlines import opened
from secondlook.evaluation.datasets.tables import TableFile, read_cases, table_set
from secondlook.evaluation.records import Case

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.evaluation.records import Problem

_PACKED = ".gz"
_PAIR = 2


def read_dabench(folder: Path, *, questions: Path, tables: Path) -> EvalSet:
    problems: list[Problem] = []
    files = {
        file.name.removesuffix(_PACKED): file
        for file in sorted(tables.iterdir())
        if file.is_file() and not file.name.startswith(".")
    }

    def read_table(name: str) -> TableFile:
        with opened(files[name]) as file:
            return TableFile(name, file.read())

    cases = read_cases(questions, problems, lambda row: _case(row, files))
    asked = {case.table for case in cases if case.table}
    digests = {name: hashlib.sha256(read_table(name).content).hexdigest() for name in asked}
    return table_set(folder, cases, problems, digests, read_table)


def _case(row: dict[str, Any], files: dict[str, Path]) -> Case:
    name = fields.filled_text(row, "file_name")
    if name not in files:
        raise Malformed(f"its table {name!r} is not in the folder")
    values = tuple(_value(pair) for pair in fields.optional_list(row, "answers"))
    if not values:
        raise Malformed("answers are missing")
    parts = [
        fields.filled_text(row, "question"),
        fields.optional_text(row, "constraints").strip(),
        fields.optional_text(row, "format").strip(),
    ]
    return Case(
        id=fields.identifier(row, "id"),
        question="\n".join(part for part in parts if part),
        answers=tuple(f"@{name}[{value}]" for name, value in dict(values).items()),
        type=fields.first_label(row, ("level",)),
        table=name,
        values=values,
    )


def _value(pair: object) -> tuple[str, str]:
    if not isinstance(pair, list) or len(pair) != _PAIR or not isinstance(pair[0], str):
        raise Malformed(f"an answer is {shown(pair)}, not a name and its value")
    return pair[0], str(pair[1])
