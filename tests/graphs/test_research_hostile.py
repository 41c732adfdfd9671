"""`research` is bounded, and ends with an answer, whatever models, readers, shelves and memories
do. `make test` makes 120 runs with fixed seeds, `make soak` ten thousand."""

import os
from collections import Counter

import pytest

from secondlook.graphs import research as bounds
from secondlook.nodes.research import PART
from secondlook.verify.report import Report
from secondlook.verify.wording import check_choice, check_research, check_wording
from tests.support.hostile_ends import (
    Asked,
    Case,
    contradictions,
    disk_errors,
    ended_by,
    found_in,
    judged,
)
from tests.support.research_hostile import hostile_cases
from tests.support.research_world import OPTIONS, ORDER

RUNS, UNDER_THE_SAME = (2_000, 10) if os.environ.get("SECONDLOOK_SOAK") else (120, 3)
"""So many runs, of which some are made under the same settings."""
NODES = 14


def _leaks(node: str, told: str) -> list[str]:
    """Choices in a prompt that may not have them."""
    if node in {"choose", "screen"}:
        return []
    return [f"{node}: {text}" for text in OPTIONS.values() if text in told]


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
    return found_in(wrong)


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


@pytest.mark.unmeasured
def test_every_run_is_bounded_and_ends_with_an_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    asked = Asked(monkeypatch, _leaks)

    def problems(case: Case) -> list[str]:
        ended = ended_by(case.answer, "LibraryDamaged", *disk_errors(case))
        return [*asked.problems(case, bounds), *_unkept(case), *_unverified(case), *ended]

    ends, visited = judged(hostile_cases, problems, RUNS, UNDER_THE_SAME)
    assert len(ends) >= 6, "hostility should end in many ways"
    assert len(visited) == NODES, "every node should have been visited"
