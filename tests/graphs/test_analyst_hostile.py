"""`analyst` is bounded, and ends with an answer, whatever models, sandboxes and tables do.
`make test` makes a few runs with fixed seeds, `make soak` ten thousand."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer
from secondlook.errors import ContextOverflow
from secondlook.graphs import analyst as bounds
from secondlook.models.calls import Asker
from secondlook.nodes.explain import GENERAL, stray_numbers
from secondlook.sandbox.port import Frame
from tests.support.analyst_hostile import hostile_cases
from tests.support.analyst_wild import ORDER
from tests.support.hostile_ends import contradictions, over_the_bounds

if TYPE_CHECKING:
    from tests.support.analyst_hostile import Case

SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
RUNS, UNDER_THE_SAME = (10_000, 10) if SOAK else (24, 3)
"""So many runs, of which some are made under the same settings."""
NODES = 16


class _Asked:
    """How many questions were put to models, those apart that were longer than a model sees; and
    the prompts in which a table gives orders."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.leaks: list[str] = []
        ask = Asker.ask

        async def counted(
            asker: Asker, role: Any, messages: Any, *more: Any, **options: Any
        ) -> Any:
            self.count += 1
            if any(ORDER in one.content for one in messages):
                self.leaks.append(f"an order in a prompt of {options.get('node')}")
            try:
                return await ask(asker, role, messages, *more, **options)
            except ContextOverflow:
                self.count -= 1
                raise

        monkeypatch.setattr(Asker, "ask", counted)

    def taken(self) -> tuple[int, list[str]]:
        taken = self.count, self.leaks
        self.count, self.leaks = 0, []
        return taken


def _inconsistent(answer: Answer) -> list[str]:
    """What holds of every answer; but a question that cannot be computed is no failure of a run,
    and a table may hold what equals nothing."""
    wrong = contradictions(answer)
    written = answer.model_dump_json()
    wrong["no round trip"] = Answer.model_validate_json(written).model_dump_json() != written
    if answer.stop_reason == "cannot_proceed":
        del wrong["failed for no reason"]
    return [name for name, found in wrong.items() if found]


def _unkept(case: Case) -> list[str]:
    """What an analysis promises."""
    answer, analysis = case.answer, case.answer.analysis
    if analysis is None:
        ended = any(one.node == "run" for one in answer.warnings)
        return [] if ended else ["no account of the analysis"]
    chosen = case.settings.analyst
    shown = bool(answer.claims or answer.values or answer.short)
    last = analysis.attempts[-1] if analysis.attempts else None
    wrong = {
        "shown though a check failed": shown and not all(one.passed for one in analysis.checks),
        "shown though the code failed": shown and last is not None and last.status != "ok",
        "values that no text stands for": bool(answer.values) and not answer.claims,
        "a table or chart that no text stands for": bool(analysis.table or analysis.figures)
        and not answer.claims,
        "an answer about data out of nothing": shown
        and analysis.kind in {"computed", "generated"}
        and last is None,
        "more remedies than allowed": len(analysis.remedies) > chosen.max_remediations,
        "code was run without a model": case.jobs > 0 and answer.usage.calls == 0,
        "an unmarked explanation": analysis.kind == "concept"
        and bool(answer.claims)
        and not answer.citations
        and (GENERAL not in answer.text or answer.confidence.value is not None),
        "a confidence of nothing": answer.confidence.value is not None and not answer.claims,
        "no question back": answer.stop_reason in {"attempts_exhausted", "no_progress"}
        and analysis.kind == "limitation"
        and not answer.asks_back,
    }
    return [name for name, found in wrong.items() if found]


def _strays(case: Case) -> list[str]:
    """Numbers that a model said and the result does not hold. A mapping's frames are not told
    again in an answer: they are left out here."""
    analysis, chosen = case.answer.analysis, case.settings.analyst
    checked = analysis is not None and chosen.enable_arithmetic
    checked = checked and case.settings.models.servers.explain == "model"
    if not checked or analysis is None or analysis.kind != "generated" or "frames" in case.moods:
        return []
    result: Any = analysis.result
    allowed = [case.question, *(one.column for one in analysis.columns)]
    held: list[Any] = [result]
    if analysis.table is not None:
        held.append(Frame(analysis.table.columns, analysis.table.rows, analysis.table.total_rows))
    said = [stray_numbers(one.text, held, allowed=allowed) for one in case.answer.claims]
    return [f"a number of nowhere: {number}" for numbers in said for number in numbers]


def _not_json(answer: Answer) -> list[str]:
    """JSON as others read it has no NaN."""
    found: list[str] = []
    json.loads(answer.model_dump_json(), parse_constant=found.append)
    return [f"no JSON: {constant}" for constant in found]


def _crashed(case: Case) -> list[str]:
    """What ended a run. Only these may: its deadline, and files that cannot be read."""
    ended = [one for one in case.answer.warnings if one.node == "run"]
    allowed = {"TimeoutError", "LibraryDamaged", "TableError"}
    return [f"{one.error}: {one.message}" for one in ended if one.error not in allowed]


@pytest.mark.unmeasured
def test_every_run_is_bounded_and_ends_with_an_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    asked = _Asked(monkeypatch)
    ends: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    visited: Counter[str] = Counter()

    async def go() -> None:
        for seed in range(RUNS // UNDER_THE_SAME):
            async for case in hostile_cases(seed, UNDER_THE_SAME):
                count, leaks = asked.taken()
                problems = [
                    *leaks,
                    *over_the_bounds(case.answer, count, case.settings, bounds),
                    *_inconsistent(case.answer),
                    *_unkept(case),
                    *_strays(case),
                    *_not_json(case.answer),
                    *_crashed(case),
                ]
                assert not problems, f"seed {seed}: {problems}: {case!r}"
                visited.update(step.node for step in case.answer.steps)
                ends[f"{case.answer.status} {case.answer.stop_reason}"] += 1
                kinds[case.answer.analysis.kind if case.answer.analysis else "none"] += 1

    asyncio.run(go())
    assert ends.total() == RUNS
    assert len(ends) >= (6 if SOAK else 3), "hostility should end in many ways"
    if SOAK:
        assert set(kinds) >= {"computed", "generated", "concept", "limitation"}
        assert len(visited) == NODES, "every node should have been visited"
