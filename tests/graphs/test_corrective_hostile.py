"""`corrective` is bounded, and ends with an answer, whatever models, readers, shelves and the web
do. `make test` makes two hundred runs with fixed seeds, `make soak` ten thousand."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from secondlook.graphs import corrective as bounds
from tests.support.corrective_hostile import hostile_cases
from tests.support.hostile_ends import Asked, contradictions, ended_by, found_in, judged

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from tests.support.hostile_ends import Case

RUNS, UNDER_THE_SAME = (2_000, 10) if os.environ.get("SECONDLOOK_SOAK") else (200, 4)
"""So many runs, of which some are made under the same settings."""


def _inconsistent(answer: Answer) -> list[str]:
    given_up = answer.stop_reason in {"attempts_exhausted", "no_progress"}
    wrong = {
        **contradictions(answer),
        "not for review": given_up and not answer.needs_review,
        "ambiguous, and asks nothing": (answer.stop_reason == "ambiguous")
        != (answer.asks_back is not None),
        "useful, and nothing said": answer.useful.value != "not checked" and not answer.claims,
        "more attempts than queries": answer.attempts > len(answer.queries),
    }
    return found_in(wrong)


def _crashed(answer: Answer) -> list[str]:
    """An index that cannot be read may end a run only before anything was found."""
    last = answer.steps[-1].node if answer.steps else "split"
    early = last in {"split", "ask_part", "combine"}
    return ended_by(answer, *(["LibraryDamaged"] if early else []))


@pytest.mark.unmeasured
def test_every_run_is_bounded_and_ends_with_an_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    asked = Asked(monkeypatch)

    def problems(case: Case) -> list[str]:
        wrong = asked.problems(case, bounds)
        return [*wrong, *_inconsistent(case.answer), *_crashed(case.answer)]

    ends, visited = judged(hostile_cases, problems, RUNS, UNDER_THE_SAME)
    assert len(ends) >= 6, "hostility should end in many ways"
    assert len(visited) == 17, "every node should have been visited"
