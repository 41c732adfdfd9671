"""A run is bounded, and ends with an answer, whatever models, readers, shelves and the web do.
`make test` makes a hundred or two of each workflow with fixed seeds, `make soak` two thousand;
workflows that are asked of more than a shelf have suites of their own."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import pytest

from secondlook.graphs import corrective
from secondlook.graphs.registry import WORKFLOWS
from tests.support.corrective_hostile import hostile_cases
from tests.support.hostile_ends import (
    Asked,
    contradictions,
    disk_errors,
    ended_by,
    found_in,
    judged,
)

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from tests.support.hostile_ends import Case

SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
OF_THEIR_OWN = frozenset({"analyst", "auto", "research", "summary"})
"""test_analyst_hostile, test_auto_hostile (which calls `summary`), test_research_hostile."""
NODES = {"linear": 5, "adaptive": 8, "corrective": 17, "survey": 4}


def _inconsistent(answer: Answer) -> list[str]:
    given_up = answer.stop_reason in {"attempts_exhausted", "no_progress"}
    wrong = {
        **contradictions(answer),
        "not for review": given_up and not answer.needs_review,
        "ambiguous, and asks nothing": (answer.stop_reason == "ambiguous")
        != (answer.asks_back is not None),
        "useful, and nothing said": answer.useful.value != "not checked" and not answer.claims,
        "more attempts than queries": answer.attempts > len(answer.queries),
        "a chat mark in a model's words": answer.method == "generative"
        and "<|im" in " ".join(claim.text for claim in answer.claims),
    }
    return found_in(wrong)


def _crashed(case: Case) -> list[str]:
    """An index that cannot be read may end a run only before anything was found."""
    last = case.answer.steps[-1].node if case.answer.steps else "split"
    allowed = ["LibraryDamaged"] if last in {"split", "ask_part", "combine"} else []
    return ended_by(case.answer, *allowed, *disk_errors(case))


@pytest.mark.unmeasured
@pytest.mark.parametrize("workflow", [name for name in WORKFLOWS if name not in OF_THEIR_OWN])
def test_every_run_is_bounded_and_ends_with_an_answer(
    workflow: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    asked = Asked(monkeypatch)

    def problems(case: Case) -> list[str]:
        over = asked.problems(case, corrective) if workflow == "corrective" else []
        most = WORKFLOWS[workflow].most_visits(case.settings)
        over += [f"more than {most} visits"] * (len(case.answer.steps) > most)
        return [*over, *_inconsistent(case.answer), *_crashed(case)]

    few = 200 if workflow == "corrective" else 80
    runs, under_the_same = (2_000, 10) if SOAK else (few, 4)
    cases = partial(hostile_cases, workflow=workflow)
    ends, visited = judged(cases, problems, runs, under_the_same)
    assert len(ends) >= 5, "hostility should end in many ways"
    assert len(visited) == NODES[workflow], "every node should have been visited"
