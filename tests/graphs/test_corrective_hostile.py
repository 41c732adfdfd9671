"""`corrective` is bounded, and ends with an answer, whatever models, readers, shelves and the web
do. `make test` makes two hundred runs with fixed seeds, `make soak` ten thousand."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, get_args

from secondlook.answer import Answer, Status, StopReason
from secondlook.errors import ContextOverflow
from secondlook.graphs.corrective_bounds import most_asked, most_by_node, most_calls, most_visits
from secondlook.models import Asker
from secondlook.nodes.finish import FAILED
from tests.support.corrective_hostile import Case, hostile_cases

if TYPE_CHECKING:
    import pytest

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


def _over_the_bounds(case: Case, asked: int) -> list[str]:
    visits = Counter(step.node for step in case.answer.steps)
    most = most_by_node(case.settings)
    wrong = {
        f"{node}: {count} visits, of at most {most.get(node, 0)}": count > most.get(node, 0)
        for node, count in visits.items()
    }
    wrong["too many visits"] = visits.total() > most_visits(case.settings)
    wrong["too many questions to models"] = asked > most_asked(case.settings)
    wrong["too many calls"] = case.answer.usage.calls > most_calls(case.settings)
    return [name for name, found in wrong.items() if found]


def _inconsistent(answer: Answer) -> list[str]:
    numbers = {citation.number for citation in answer.citations}
    claimed = answer.status in {"answered", "partial"}
    given_up = answer.stop_reason in {"attempts_exhausted", "no_progress"}
    wrong = {
        "untyped end": answer.status not in get_args(Status)
        or answer.stop_reason not in get_args(StopReason),
        "no text": not answer.text.strip(),
        "an answer without claims": claimed and not answer.claims,
        "withheld, and yet claimed": not claimed and bool(answer.claims or answer.citations),
        "answered for another reason": (answer.status == "answered")
        and answer.stop_reason != "answered",
        "withheld because it was answered": not claimed and answer.stop_reason == "answered",
        "failed for no reason": (answer.status == "failed")
        != (answer.stop_reason in FAILED and not claimed),
        "a citation that does not exist": any(
            number not in numbers for claim in answer.claims for number in claim.citations
        ),
        "an empty quote": any(not citation.quote for citation in answer.citations),
        "not for review": given_up and not answer.needs_review,
        "ambiguous, and asks nothing": (answer.stop_reason == "ambiguous")
        != (answer.asks_back is not None),
        "useful, and nothing said": answer.useful.value != "not checked" and not answer.claims,
        "more attempts than queries": answer.attempts > len(answer.queries),
        "no round trip": Answer.model_validate_json(answer.model_dump_json()) != answer,
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
                    *_over_the_bounds(case, asked.taken()),
                    *_inconsistent(case.answer),
                    *_crashed(case),
                ]
                assert not problems, f"seed {seed}: {problems}: {case!r}"
                visits, most = len(case.answer.steps), most_visits(case.settings)
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
