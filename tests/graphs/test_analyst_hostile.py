"""`analyst` is bounded, and ends with an answer, whatever models, sandboxes and tables do.
`make test` makes a few runs with fixed seeds, `make soak` ten thousand."""

import json
import os
from collections import Counter
from typing import Any

import pytest

from secondlook.answer import Answer
from secondlook.graphs import analyst as bounds
from secondlook.nodes.explain import GENERAL, stray_numbers
from secondlook.sandbox.port import Frame
from tests.support.analyst_hostile import hostile_cases
from tests.support.analyst_wild import ORDER
from tests.support.hostile_ends import Asked, Case, contradictions, ended_by, found_in, judged

SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
RUNS, UNDER_THE_SAME = (2_000, 10) if SOAK else (24, 3)
"""So many runs, of which some are made under the same settings."""
NODES = 16


def _leaks(node: str, told: str) -> list[str]:
    """Orders that a table gives."""
    return [f"an order in a prompt of {node}"] if ORDER in told else []


def _inconsistent(answer: Answer) -> list[str]:
    """What holds of every answer; but a question that cannot be computed is no failure of a run,
    and a table may hold what equals nothing."""
    wrong = contradictions(answer)
    written = answer.model_dump_json()
    wrong["no round trip"] = Answer.model_validate_json(written).model_dump_json() != written
    if answer.stop_reason == "cannot_proceed":
        del wrong["failed for no reason"]
    return found_in(wrong)


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
    return found_in(wrong)


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


@pytest.mark.unmeasured
def test_every_run_is_bounded_and_ends_with_an_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    asked = Asked(monkeypatch, _leaks)
    kinds: Counter[str] = Counter()

    def problems(case: Case) -> list[str]:
        answer = case.answer
        kinds[answer.analysis.kind if answer.analysis else "none"] += 1
        # JSON as others read it has no NaN.
        found: list[str] = []
        json.loads(answer.model_dump_json(), parse_constant=found.append)
        return [
            *asked.problems(case, bounds),
            *_inconsistent(answer),
            *_unkept(case),
            *_strays(case),
            *[f"no JSON: {constant}" for constant in found],
            *ended_by(answer, "LibraryDamaged", "TableError"),
        ]

    ends, visited = judged(hostile_cases, problems, RUNS, UNDER_THE_SAME)
    assert len(ends) >= (6 if SOAK else 3), "hostility should end in many ways"
    if SOAK:
        assert set(kinds) >= {"computed", "generated", "concept", "limitation"}
        assert len(visited) == NODES, "every node should have been visited"
