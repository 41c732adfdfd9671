"""`research` is bounded, and ends with an answer, whatever models, readers, shelves and memories
do. `make test` makes 120 runs with fixed seeds, `make soak` ten thousand."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.errors import ContextOverflow
from secondlook.graphs import research as bounds
from secondlook.models.calls import Asker
from secondlook.nodes.research import PART
from secondlook.verify.report import Report
from secondlook.verify.wording import check_choice, check_research, check_wording
from tests.support.hostile_ends import contradictions, over_the_bounds
from tests.support.research_hostile import hostile_cases
from tests.support.research_world import OPTIONS, ORDER

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.settings.sections import Settings
    from tests.support.corrective_hostile import Case

RUNS, UNDER_THE_SAME = (10_000, 10) if os.environ.get("SECONDLOOK_SOAK") else (120, 3)
"""So many runs, of which some are made under the same settings."""
NODES = 14


class _Asked:
    """How many questions were put to models, those apart that were longer than a model sees; and
    the prompts in which something stood that may not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.leaks: list[str] = []
        ask = Asker.ask

        async def counted(
            asker: Asker, role: Any, messages: Any, *more: Any, **options: Any
        ) -> Any:
            self.count += 1
            self._look(str(options.get("node")), messages)
            try:
                return await ask(asker, role, messages, *more, **options)
            except ContextOverflow:
                self.count -= 1
                raise

        monkeypatch.setattr(Asker, "ask", counted)

    def _look(self, node: str, messages: Any) -> None:
        told = "\n".join(one.content for one in messages)
        if node not in {"choose", "screen", "issues"}:
            self.leaks += [f"{node}: {text}" for text in OPTIONS.values() if text in told]

    def taken(self) -> tuple[int, list[str]]:
        taken = self.count, self.leaks
        self.count, self.leaks = 0, []
        return taken


def _inconsistent(answer: Answer) -> list[str]:
    wrong = {
        **contradictions(answer),
        "refused for another reason": (answer.status == "refused")
        != (answer.stop_reason == "refused"),
        "no report": answer.research is None
        and not any(warning.node == "run" for warning in answer.warnings),
    }
    return [name for name, found in wrong.items() if found]


def _unkept(case: Case) -> list[str]:
    """Promises about what is remembered, guessed and kept out."""
    answer, research, choice = case.answer, case.answer.research, case.answer.choice
    if research is None:
        return []
    chosen = case.settings.research
    wrong = {
        "remembered what is not whole": research.remembered and answer.status != "answered",
        "a guess that nobody asked for": choice is not None
        and not choice.grounded
        and not chosen.guess,
        "a guess with a confidence": choice is not None
        and not choice.grounded
        and (choice.confidence is not None or research.remembered),
        "chosen on nothing": choice is not None
        and choice.letter is not None
        and choice.grounded
        and not answer.claims,
        "more steps than cycles": len(research.steps) > max(chosen.max_cycles, 1),
        "an order quoted": case.settings.answer.enable_quarantine
        and any(ORDER in citation.quote for citation in answer.citations),
        "two steps shown one passage": chosen.enable_fresh_evidence and _shown_twice(case),
    }
    return [name for name, found in wrong.items() if found]


def _shown_twice(case: Case) -> bool:
    """Retries apart, parts of a question, and shelves that find what they were told to leave
    out."""
    research = case.answer.research
    if research is None or "excludes nothing" in case.moods:
        return False
    steps = [step for step in research.steps if step.retry_of is None and step.phase != PART]
    shown = Counter(item.passage for step in steps for item in step.evidence if item.kept)
    return any(count > 1 for count in shown.values())


def _unverified(case: Case) -> list[str]:
    report = Report()
    for check in (check_wording, check_research, check_choice):
        check(case.answer, report)
    said = [str(problem) for problem in report.problems]
    allowed = _UNCITED if _may_be_uncited(case.settings) else ()
    return [one for one in said if not one.endswith(allowed)]


def _may_be_uncited(settings: Settings) -> bool:
    """Somebody wants to see what nothing has checked."""
    answer = settings.answer
    return not answer.enable_sentence_check and not answer.enable_grounded_check


_UNCITED = ("it cites nothing", "but no claim has a citation")


def _crashed(case: Case) -> list[str]:
    """What ended a run. Only two things may: its deadline, and an index that cannot be read."""
    ended = [one for one in case.answer.warnings if one.node == "run"]
    allowed = {"TimeoutError", "LibraryDamaged"}
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
                count, leaks = asked.taken()
                problems = [
                    *leaks,
                    *over_the_bounds(case.answer, count, case.settings, bounds),
                    *_inconsistent(case.answer),
                    *_unkept(case),
                    *_unverified(case),
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
    assert len(visited) == NODES, "every node should have been visited"
