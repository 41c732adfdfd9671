"""What the sets of questions over tables have in common: a table each, and nothing to search."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.evaluation.datasets.evalset import EvalSet
from secondlook.evaluation.datasets.fields import Malformed
from secondlook.evaluation.datasets.gathering import Gathering
from secondlook.evaluation.datasets.jsonlines import objects
from secondlook.evaluation.datasets.passages import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from secondlook.evaluation.records import Case, Problem

NOTE = "every question is about one table, and is given that one alone"


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table as a file would hold it."""

    file: str
    """Its name, such as `sales.csv`."""
    content: bytes


def read_cases(
    path: Path,
    problems: list[Problem],
    case_of: Callable[[dict[str, Any]], Case],
) -> tuple[Case, ...]:
    """Every question of a file; a row that cannot be used is told."""
    gathering = Gathering(path.name, problems)
    for line, row in objects(path, problems):
        try:
            gathering.take(case_of(row), line=line, where=f"line {line}")
        except Malformed as error:
            gathering.tell(line, error.message)
    return tuple(gathering.cases)


def table_set(
    folder: Path,
    cases: tuple[Case, ...],
    problems: list[Problem],
    digests: Mapping[str, str],
    read_table: Callable[[str], TableFile],
) -> EvalSet:
    """`digests` are of the tables' contents, by name."""
    digest = hashlib.sha256()
    for name, content in sorted(digests.items()):
        fingerprint(digest, name, content)
    return EvalSet(
        name=folder.name,
        path=folder,
        form="tables",
        cases=cases,
        problems=tuple(problems),
        fingerprint=digest.hexdigest(),
        has_corpus=False,
        tables=len(digests),
        notes=(NOTE,),
        read_table=read_table,
    )
