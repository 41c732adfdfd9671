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
        if node not in {"choose", "screen"}:
            self.leaks += [f"{node}: {text}" for text in OPTIONS.values() if text in told]

    def taken(self) -> tuple[int, list[str]]:
        taken = self.count, self.leaks
        self.count, self.leaks = 0, []
        return taken


def _unkept(case: Case) -> list[str]:
    """Promises about how a run ends, and what is remembered, guessed and kept out."""
    answer, research, chosen = case.answer, case.answer.research, case.settings.research
    ended = any(warning.node == "run" for warning in answer.warnings)
    refused = (answer.status == "refused", answer.stop_reason == "refused")
    wrong = {
        **contradictions(answer),
        "refused for another reason": len(set(refused)) > 1,
        "no report": research is None and not ended,
    }
    if (choice := answer.choice) is not None and not choice.grounded:
        wrong["a guess that nobody asked for"] = not chosen.guess
        wrong["a guess with a confidence"] = choice.confidence is not None
    elif choice is not None:
        wrong["chosen on nothing"] = choice.letter is not None and not answer.claims
    if research is not None:
        guessed = answer.choice is not None and not answer.choice.grounded
        whole = answer.status == "answered" and not guessed
        quoted = any(ORDER in citation.quote for citation in answer.citations)
        wrong |= {
            "remembered what is not whole": research.remembered and not whole,
            "more steps than cycles": len(research.steps) > max(chosen.max_cycles, 1),
            "an order quoted": case.settings.answer.enable_quarantine and quoted,
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
    chosen = case.settings.answer
    # Somebody wants to see what nothing has checked.
    unchecked = not chosen.enable_sentence_check and not chosen.enable_grounded_check
    allowed = ("it cites nothing", "but no claim has a citation") if unchecked else ()
    return [one for one in said if not one.endswith(allowed)]


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
