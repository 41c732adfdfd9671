"""`corrective` is bounded, and ends with an answer, whatever models, readers, shelves and the web
do. `make test` makes two hundred runs with fixed seeds, `make soak` ten thousand."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import ContextOverflow
from secondlook.graphs import corrective as bounds
from secondlook.models.calls import Asker
from tests.support.corrective_hostile import Case, hostile_cases
from tests.support.hostile_ends import contradictions, over_the_bounds

if TYPE_CHECKING:
    from secondlook.answer import Answer

RUNS, UNDER_THE_SAME = (10_000, 10) if os.environ.get("SECONDLOOK_SOAK") else (200, 4)
"""So many runs, of which some are made under the same settings."""


class _Asked:
    """How many questions were put to models, those apart that were longer than a model sees."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        ask = Asker.ask

        async def counted(asker: Asker, *given: Any, **options: Any) -> Any:
            self.count += 1
            try:
                return await ask(asker, *given, **options)
            except ContextOverflow:
                self.count -= 1
                raise

        monkeypatch.setattr(Asker, "ask", counted)

    def taken(self) -> int:
        taken, self.count = self.count, 0
        return taken


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
    return [name for name, found in wrong.items() if found]


def _crashed(case: Case) -> list[str]:
    """What ended a run. Only two things may: its deadline, and an index that cannot be read before
    anything was found for the question."""
    allowed = {"TimeoutError"}
    last = case.answer.steps[-1].node if case.answer.steps else "split"
    if last in {"split", "ask_part", "combine"}:
        allowed.add("LibraryDamaged")
    ended = [one for one in case.answer.warnings if one.node == "run"]
    return [f"{one.error}: {one.message}" for one in ended if one.error not in allowed]


@pytest.mark.unmeasured
def test_every_run_is_bounded_and_ends_with_an_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    asked = _Asked(monkeypatch)
    ends: Counter[str] = Counter()
    nearest = (0.0, 0, 0)
    visited: Counter[str] = Counter()

    async def go() -> None:
        nonlocal nearest
        for seed in range(RUNS // UNDER_THE_SAME):
            async for case in hostile_cases(seed, UNDER_THE_SAME):
                problems = [
                    *over_the_bounds(case.answer, asked.taken(), case.settings, bounds),
                    *_inconsistent(case.answer),
                    *_crashed(case),
                ]
                assert not problems, f"seed {seed}: {problems}: {case!r}"
                visits, most = len(case.answer.steps), bounds.most_visits(case.settings)
                nearest = max(nearest, (visits / most, visits, most))
                visited.update(step.node for step in case.answer.steps)
                ends[f"{case.answer.status} {case.answer.stop_reason}"] += 1

    asyncio.run(go())
    print(  # noqa: T201  # shown by make soak
        f"{RUNS} runs; the nearest to its bound made {nearest[1]} visits of {nearest[2]};",
        f"ends {dict(ends.most_common())}; visits {dict(visited.most_common())}",
    )
    assert ends.total() == RUNS
    assert len(ends) >= 6, "hostility should end in many ways"
    assert len(visited) == 17, "every node should have been visited"
