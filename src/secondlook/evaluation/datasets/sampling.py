"""A part of the questions, drawn at random."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.evaluation.records import Case


def sample(cases: Sequence[Case], *, limit: int | None, seed: int) -> tuple[Case, ...]:
    """At most `limit` of the cases, in the order of the set.

    The draw goes by a hash of seed and id: it is the same under every version of Python, and a
    larger limit keeps all questions of a smaller one, so that what is done need not be done again.
    """
    if limit is None:
        return tuple(cases)
    if limit < 1:
        raise UsageError(f"a limit of {limit!r} leaves no question", hint="give 1 or more")
    drawn = sorted(range(len(cases)), key=lambda number: _lot(cases[number], seed))[:limit]
    return tuple(cases[number] for number in sorted(drawn))


def _lot(case: Case, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}:{case.id}".encode()).digest()
