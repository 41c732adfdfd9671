"""WikiTableQuestions (Pasupat and Liang, ACL 2015): its files, and when an answer is right.

`questions.jsonl` names for each question its table and the answers, which are right together;
`tables.jsonl` holds header and rows.
"""

from __future__ import annotations

import csv
import html
import io
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from benchmarks.common import read_lines
from secondlook.evaluation import metrics
from secondlook.evaluation.datasets.evalset import EvalSet, TableFile
from secondlook.evaluation.records import Case

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from secondlook.answer import Answer

_NEAR = 1e-6
LEARNED = 2000
"""Forms for questions before this one are training data of the understander."""


def load(folder: Path) -> EvalSet:
    held: dict[str, bytes] = {}
    for row in read_lines(folder / "tables.jsonl"):
        text = io.StringIO(newline="")
        csv.writer(text).writerows([row["header"], *row["rows"]])
        held[row["table"]] = text.getvalue().encode()

    def read_table(name: str) -> TableFile:
        """`csv/203-csv/384.csv` as `csv_203_csv_384.csv`."""
        plain = re.sub(r"\W+", "_", name.removesuffix(".csv")).strip("_")
        return TableFile(f"{plain}.csv", held[name])

    cases = tuple(
        Case(str(row["id"]), row["question"], tuple(row["answers"]), table=row["table"])
        for row in read_lines(folder / "questions.jsonl")
    )
    return EvalSet(
        name=folder.name,
        path=folder,
        form="tables",
        cases=cases,
        problems=(),
        fingerprint="wikitables",
        has_corpus=False,
        tables=len(held),
        read_table=read_table,
    )


def unlearned(data: EvalSet, first: int, last: int) -> list[Case]:
    """Those over tables that no training data is about."""
    learned = {case.table for case in data.cases[:LEARNED]}
    return [case for case in data.cases[first:last] if case.table not in learned]


def parts_right(case: Case, answer: Answer) -> dict[str, bool]:
    """Of each value that the question names, whether it is right; of a question that names none,
    whether every cell of the answer is, by whatever names they came."""
    if case.values:
        return metrics.parts_right(case, answer)
    if not metrics.is_answered(answer):
        return {"answer": False}
    said = [denotations_said(cell) for value in answer.values.values() for cell in cells(value)]
    return {"answer": right(said, case.answers)}


# As the set's own evaluator has it: both sides are sets; texts are compared in lower case without
# accents, notes and brackets at the end; numbers as numbers; dates as dates.

_QUOTES = str.maketrans(
    {
        **dict.fromkeys((0x2018, 0x2019, 0xB4, 0x60), "'"),
        **dict.fromkeys((0x201C, 0x201D), '"'),
        **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2212), "-"),
    }
)
_ENDINGS = (
    re.compile(r"((?<!^)\[[^\]]*\]|\[\d+\]|[\u2022\u2666\u2020\u2021*#+])*$"),
    re.compile(r"(?<!^)( \([^)]*\))*$"),
)
_QUOTED = re.compile(r'^"([^"]*)"$')
_NAMES = "january february march april may june july august september october november december"
_MONTHS = {written: at for at, name in enumerate(_NAMES.split(), 1) for written in (name, name[:3])}
_DATES = (
    re.compile(r"^(?P<y>\d{4})-(?P<m>\d\d?)-(?P<d>\d\d?)(?: 00:00:00)?$"),
    re.compile(r"^(?P<m>[a-z]+)\.? (?P<d>\d{1,2})(?:st|nd|rd|th)?(?:,? (?P<y>\d{4}))?$"),
    re.compile(r"^(?P<d>\d{1,2})(?:st|nd|rd|th)? (?P<m>[a-z]+)\.?(?:,? (?P<y>\d{4}))?$"),
)


@lru_cache(maxsize=100_000)
def normal(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", html.unescape(text).translate(_QUOTES))
    text = " ".join("".join(c for c in decomposed if not unicodedata.combining(c)).split())
    before = None
    while text != before:
        before = text
        for ending in _ENDINGS:
            text = ending.sub("", text.strip())
        text = _QUOTED.sub(r"\1", text.strip())
    return text.removesuffix(".").lower().strip()


@lru_cache(maxsize=100_000)
def as_number(text: str) -> float | None:
    try:
        return float(normal(text).replace(",", ""))
    except ValueError:
        return None


@lru_cache(maxsize=100_000)
def as_date(text: str) -> tuple[int, int, int] | None:
    """Year, month and day; the year 0 where it is not said."""
    for form in _DATES:
        if found := form.match(normal(text)):
            written = found["m"]
            month = int(written) if written.isdecimal() else _MONTHS.get(written)
            if month is not None:
                return int(found["y"] or 0), month, int(found["d"])
    return None


def same(one: str, other: str) -> bool:
    if normal(one) == normal(other):
        return True
    numbers = as_number(one), as_number(other)
    if numbers[0] is not None and numbers[1] is not None:
        return abs(numbers[0] - numbers[1]) < _NEAR
    date = as_date(one)
    return date is not None and date == as_date(other)


def right(answers: Sequence[str], expected: Sequence[str]) -> bool:
    if len(answers) > 4 * len(expected) + 4:
        return False
    found, wanted = list[str](), list[str]()
    for texts, kept in ((answers, found), (expected, wanted)):
        for text in texts:
            if not any(same(text, other) for other in kept):
                kept.append(text)
    return len(found) == len(wanted) and all(
        any(same(one, other) for other in found) for one in wanted
    )


def cells(value: object) -> list[object]:
    """What a value holds. A mapping stands for its names, unless those only count rows."""
    if isinstance(value, list | tuple):
        return [cell for one in value for cell in cells(one)]
    if isinstance(value, dict):
        counts_rows = all(str(name).isdecimal() for name in value)
        return [cell for one in value.values() for cell in cells(one)] if counts_rows else [*value]
    return [] if value is None else [value]


def denotations_said(value: object) -> str:
    """A value as an answer of the set is written."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
