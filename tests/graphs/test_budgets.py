"""Hard budgets, whatever the workflow, the model and the caps: no call is begun that could exceed
one, none is exceeded, and there is always an answer. `make test` makes about a hundred runs with
fixed seeds, `make soak` more than two thousand."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from secondlook.verify.report import Report
from secondlook.verify.wording import apart, check_wording
from tests.support.budgets import WORKFLOWS, cases
from tests.support.hostile_ends import contradictions

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.budgets import Case

RUNS, UNDER_THE_SAME = (300, 10) if os.environ.get("SECONDLOOK_SOAK") else (14, 7)


def _over(case: Case) -> list[str]:
    """By our own books, which are the user's."""
    usage, budget = case.answer.usage, case.budget
    taken = {
        "calls": usage.calls,
        "tokens": usage.tokens_in + usage.tokens_out,
        "money": usage.cost if usage.cost is not None else 0.0,
    }
    caps = {name: getattr(budget, name) for name in taken}
    return [
        f"{taken[name]} of {cap} {name}"
        for name, cap in caps.items()
        if cap and taken[name] > cap * (1 + 1e-12)
    ]


def _wrong(case: Case) -> list[str]:
    answer = case.answer
    wrong = contradictions(answer)
    del wrong["no round trip"]  # a table may hold what equals nothing
    if answer.stop_reason == "cannot_proceed":
        del wrong["failed for no reason"]
    capped = any(case.budget.model_dump().values())
    told = "Cut short:" in answer.text
    cut = answer.stop_reason in {"budget", "deadline"}
    wrong["cut short without a cap"] = cut and not capped
    wrong["cut short, and it does not say what to do"] = cut != told
    wrong["a refusal that is not told"] = answer.status == "answered" and any(
        warning.error == "BudgetExceeded" for warning in answer.warnings
    )
    report = Report()
    for part in apart(answer, report):
        check_wording(part, report)
    unsaid = [str(one) for one in report.problems if "Cut short" in str(one)]
    return [*unsaid, *(name for name, found in wrong.items() if found)]


@pytest.mark.unmeasured
@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_no_budget_is_broken_and_there_is_always_an_answer(
    workflow: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    ends: Counter[str] = Counter()
    calls: Counter[str] = Counter()

    async def go() -> None:
        for seed in range(RUNS // UNDER_THE_SAME):
            async for case in cases(workflow, seed, UNDER_THE_SAME, tmp_path):
                problems = [*case.auditor.broken, *_over(case), *_wrong(case)]
                assert not problems, f"seed {seed}: {problems}: {case!r}"
                ends[f"{case.answer.status} {case.answer.stop_reason}"] += 1
                calls["model calls"] += case.auditor.calls

    asyncio.run(go())
    print(workflow, dict(ends.most_common()), dict(calls))  # noqa: T201  # shown by make soak
    assert ends.total() == RUNS
    assert calls["model calls"], "some could be paid for"
    assert any(end.endswith("budget") for end in ends), "and some could not"
