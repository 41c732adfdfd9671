"""Hostile runs of any workflow: how they are counted, and what holds of each."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from secondlook.answer import Answer, Status, StopReason
from secondlook.errors import ContextOverflow
from secondlook.models.calls import Asker
from secondlook.nodes.finish import FAILED
from tests.support.bounds import most_asked, most_calls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from types import ModuleType

    import pytest

    from secondlook.settings.sections import Settings


DISK_FAILS = ("passages fail", "paths fail")


@dataclass(frozen=True, slots=True)
class Case:
    """One run that was made at random."""

    settings: Settings
    moods: tuple[str, ...]
    question: str
    answer: Answer
    jobs: int = 0
    """That the sandbox was given."""


class Asked:
    """How many questions were put to models, those apart that were longer than a model sees; and
    what `leaks` finds in their prompts, given the node and the prompt."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        leaks: Callable[[str, str], Sequence[str]] = lambda _node, _told: (),
    ) -> None:
        self._count = 0
        self._leaks: list[str] = []
        ask = Asker.ask

        async def counted(
            asker: Asker, role: Any, messages: Any, *more: Any, **options: Any
        ) -> Any:
            self._count += 1
            told = "\n".join(one.content for one in messages)
            self._leaks += leaks(str(options.get("node")), told)
            try:
                return await ask(asker, role, messages, *more, **options)
            except ContextOverflow:
                self._count -= 1
                raise

        monkeypatch.setattr(Asker, "ask", counted)

    def problems(self, case: Case, bounds: ModuleType) -> list[str]:
        """Of the run that ended last."""
        settings = case.settings
        visits = Counter(step.node for step in case.answer.steps)
        most = bounds.most_by_node(settings)
        wrong = {
            f"{node}: {count} visits, of at most {most.get(node, 0)}": count > most.get(node, 0)
            for node, count in visits.items()
        }
        wrong["too many visits"] = visits.total() > bounds.most_visits(settings)
        wrong["too many questions to models"] = self._count > most_asked(bounds, settings)
        wrong["too many calls"] = case.answer.usage.calls > most_calls(bounds, settings)
        found = [*self._leaks, *found_in(wrong)]
        self._count, self._leaks = 0, []
        return found


def found_in(wrong: dict[str, bool]) -> list[str]:
    return [name for name, found in wrong.items() if found]


def ended_by(answer: Answer, *allowed: str) -> list[str]:
    """What ended a run although only its deadline and these errors may."""
    ended = [one for one in answer.warnings if one.node == "run"]
    may = {"TimeoutError", *allowed}
    return [f"{one.error}: {one.message}" for one in ended if one.error not in may]


def disk_errors(case: Case) -> list[str]:
    """With which a shelf whose disk fails may end a run."""
    return ["OSError"] if set(DISK_FAILS) & set(case.moods) else []


def judged(
    hostile_cases: Callable[[int, int], AsyncIterator[Case]],
    problems: Callable[[Case], list[str]],
    runs: int,
    under_the_same: int,
) -> tuple[Counter[str], Counter[str]]:
    """How so many runs end, none of which may have a problem, and the nodes that they visit. Some
    are made under the same settings."""
    ends: Counter[str] = Counter()
    visited: Counter[str] = Counter()

    async def go() -> None:
        for seed in range(runs // under_the_same):
            async for case in hostile_cases(seed, under_the_same):
                wrong = problems(case)
                assert not wrong, f"seed {seed}: {wrong}: {case!r}"
                visited.update(step.node for step in case.answer.steps)
                ends[f"{case.answer.status} {case.answer.stop_reason}"] += 1

    asyncio.run(go())
    said = f"{runs} runs; ends {dict(ends.most_common())}; visits {dict(visited.most_common())}"
    print(said)  # noqa: T201  # shown by make soak
    assert ends.total() == runs
    return ends, visited


def contradictions(answer: Answer) -> dict[str, bool]:
    """What no answer may be, by name, and whether this one is."""
    numbers = {citation.number for citation in answer.citations}
    claimed = answer.status in {"answered", "partial"}
    return {
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
        "no round trip": Answer.model_validate_json(answer.model_dump_json()) != answer,
    }
