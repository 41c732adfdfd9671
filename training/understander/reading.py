"""Questions of WikiTableQuestions, read by the understander at several limits of doubt.

    python -m training.understander.reading --data $SECONDLOOK_DATA [--first 2000] [--n 1000]

Forms for questions before the 2000th are training data: questions over their tables are left out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import wikitables
from secondlook.errors import SecondlookError
from secondlook.evaluation.library import GivenTables
from secondlook.tables.resolver import AskedTable
from secondlook.tables.understand import written
from secondlook.tables.understand.readings import queries, values_of, wanted_of
from secondlook.tables.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.evaluation.records import Case
    from secondlook.tables.desk import Desk
    from secondlook.tables.table import Table

LIMITS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    doubt: float
    right: bool


@contextmanager
def desks(data: EvalSet) -> Iterator[Callable[[str], Desk]]:
    """Tables of the set by their names, each read as the product reads a file."""
    with tempfile.TemporaryDirectory() as folder, Worker() as worker:
        yield GivenTables(data.read_table, Path(folder), lambda: worker).desk


def asked_table(desk: Desk, table: Table) -> AskedTable:
    values = partial(desk.values, table.id)
    return AskedTable(table, desk.profile(table.id), values, compute=desk.compute)


def outcome(case: Case, desk: Desk) -> Outcome | None:
    """As `understand` reads it, at any doubt; None where nothing was read or follows from it."""
    asked, wanted = [asked_table(desk, one) for one in desk.tables()], wanted_of(case.question)
    found = written.read(case.question, asked)
    reading = found if found and not found.unplaced else None
    try:
        computed = [desk.compute(one) for one in queries(reading)] if reading else []
        values = values_of(reading, computed, wanted) if reading else {}
    except (SecondlookError, ValueError) as failure:
        sys.stderr.write(f"{case.id}: {failure}\n")
        return None
    if reading is None or not values:
        return None
    cells = [cell for value in values.values() for cell in wikitables.cells(value)]
    right = wikitables.right([wikitables.denotations_said(one) for one in cells], case.answers)
    return Outcome(reading.doubt, right)


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True, help="holds the folder wikitables")
    options.add_argument(
        "--first", type=int, default=wikitables.LEARNED, help="question to begin with"
    )
    options.add_argument("--n", type=int, default=1000, help="how many questions")
    given = options.parse_args(arguments)
    data = wikitables.load(given.data / "wikitables")
    cases = wikitables.unlearned(data, given.first, given.first + given.n)
    with desks(data) as desk_of:
        asked = [(case, desk_of(case.table or "")) for case in cases]
        began = time.monotonic()
        found = [outcome(case, desk) for case, desk in asked]
        took = time.monotonic() - began
    sys.stdout.write(f"{len(cases)} questions, {took:.0f} s\n")
    for limit in LIMITS:
        some = [one for one in found if one is not None and one.doubt <= limit]
        right = sum(one.right for one in some)
        told = f"answered {len(some)}, right {right}, wrong {len(some) - right}"
        sys.stdout.write(f"  doubt at most {limit:.2f}: {told}\n")


if __name__ == "__main__":
    main()
