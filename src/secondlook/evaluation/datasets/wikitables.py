"""WikiTableQuestions (Pasupat and Liang, ACL 2015): `questions.jsonl` names for each question its
table and the answers, which are right together; `tables.jsonl` holds header and rows."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.datasets import fields
from secondlook.evaluation.datasets.fields import Malformed
from secondlook.evaluation.datasets.jsonlines import objects
from secondlook.evaluation.datasets.lines import TYPE_FIELDS
from secondlook.evaluation.datasets.tables import TableFile, read_cases, table_set
from secondlook.evaluation.records import Case, Problem

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.evaluation.datasets.evalset import EvalSet

_NO_WORD = re.compile(r"\W+")


def read_wikitables(folder: Path, *, questions: Path, tables: Path) -> EvalSet:
    problems: list[Problem] = []
    held: dict[str, bytes] = {}
    for line, row in objects(tables, problems):
        try:
            held[fields.identifier(row, "table")] = _as_csv(row)
        except Malformed as error:
            problems.append(Problem(tables.name, line, error.message))
    cases = read_cases(questions, problems, lambda row: _case(row, held))
    return table_set(
        folder,
        cases,
        problems,
        {name: hashlib.sha256(content).hexdigest() for name, content in held.items()},
        lambda name: TableFile(_file_name(name), held[name]),
    )


def _as_csv(row: dict[str, Any]) -> bytes:
    header, rows = fields.optional_list(row, "header"), fields.optional_list(row, "rows")
    if not header or not all(isinstance(one, list) for one in rows):
        raise Malformed("a table has a header and rows, each a list")
    text = io.StringIO(newline="")
    csv.writer(text).writerows([header, *rows])
    return text.getvalue().encode()


def _case(row: dict[str, Any], held: dict[str, bytes]) -> Case:
    table = fields.identifier(row, "table")
    if table not in held:
        raise Malformed(f"its table {table!r} is not among the tables")
    return Case(
        id=fields.identifier(row, "id"),
        question=fields.filled_text(row, "question"),
        answers=fields.answers(fields.optional_list(row, "answers")),
        type=fields.first_label(row, TYPE_FIELDS),
        table=table,
    )


def _file_name(name: str) -> str:
    """`csv/203-csv/384.csv` as `csv_203_csv_384.csv`."""
    return _NO_WORD.sub("_", name.removesuffix(".csv")).strip("_") + ".csv"
