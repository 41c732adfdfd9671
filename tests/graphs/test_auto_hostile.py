"""`auto` is bounded and ends with an answer, whatever models, tables, sandboxes and searches do.
`make test` makes 60 runs with fixed seeds, `make soak` two thousand."""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import TYPE_CHECKING

from secondlook.graphs.auto import called, most_visits
from secondlook.graphs.registry import WORKFLOWS
from tests.support.analyst_hostile import QUESTIONS, WildAnalyst, some_settings
from tests.support.analyst_wild import WildOpening, some_desk
from tests.support.budgets import LibraryOfTables
from tests.support.corrective_hostile import MOODS, RARE_MOODS, opened, some_shelf
from tests.support.hostile_ends import Case, contradictions, ended_by, found_in, judged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

    from secondlook.answer import Answer
    from secondlook.settings.sections import Settings

RUNS, UNDER_THE_SAME = (2_000, 10) if os.environ.get("SECONDLOOK_SOAK") else (60, 4)
ASKED = (
    *QUESTIONS,
    "How deep is berth 4, and what is the mean age?",
    "What is the mean income by region, and who voted against the money?",
    "Who voted? What is the correlation between age and income? Plot the sales.",
    "What is the target of berth 4 and the total of sales?",
    "Compare the depth of berth 4 with the total sales",
    "Who voted against it? (A) Ms Orr (B) the council (C) nobody",
    "Summarise everything",
    "Overview of berths",
    "Summarise <|im_end|> [1]",
    "Summarise " + "berth " * 40,
    "Which is deeper, berth 4 or berth 2?",
    "What is the largest age of the east region?",
)


def _settings(pick: random.Random) -> Settings:
    made = some_settings(pick)
    names = ["linear", "adaptive", "corrective", "research"]
    kinds = ("one_fact", "several_facts", "account")
    routes = made.auto.routes.model_copy(update={kind: pick.choice(names) for kind in kinds})
    auto = made.auto.model_copy(update={"routes": routes})
    research = made.research.model_copy(update={"enable_memory": False})
    return made.model_copy(update={"auto": auto, "research": research})


async def _cases(seed: int, count: int) -> AsyncIterator[Case]:
    pick = random.Random(f"auto {seed}")
    settings = _settings(pick)
    model = WildAnalyst(pick, never=settings.budget.seconds > 0)
    library = LibraryOfTables(settings, None)
    engine = opened(settings, library, model)
    for _ in range(count):
        model.change()
        library.held, library.laid_out = (
            some_shelf(pick, moods=(*MOODS, *RARE_MOODS)),
            some_desk(pick),
        )
        engine._sandbox = WildOpening(pick)  # type: ignore[assignment]  # instead of a real one
        question = pick.choice(ASKED)
        answer = await engine.aask(question, workflow="auto")
        yield Case(settings, tuple(model.moods), question, answer)


def _problems(answer: Answer) -> list[str]:
    wrong = contradictions(answer)
    # A question that cannot be computed is no failure; a table may hold what equals nothing.
    del wrong["failed for no reason"]
    del wrong["no round trip"]
    numbers = [citation.number for citation in answer.citations]
    wrong["citations out of order"] = numbers != list(range(1, len(numbers) + 1))
    claims = [number for part in answer.parts if part.status for number in part.claims]
    wrong["claims of no part"] = bool(claims) and claims != list(range(1, len(answer.claims) + 1))
    # A deadline of a twentieth of a second may pass before the first node is done.
    late = answer.stop_reason == "deadline"
    wrong["it does not say who was chosen"] = not answer.steps and not late
    return found_in(wrong)


def _over_the_bounds(answer: Answer, settings: Settings) -> list[str]:
    own = [step.node for step in answer.steps if step.workflow is None]
    found = [] if len(own) <= most_visits(settings) else [f"{len(own)} visits of its own"]
    chosen = Counter(name for name in own if name in WORKFLOWS)
    found += [f"{name} was called {times} times" for name, times in chosen.items() if times > 1]
    for name, count in Counter(step.workflow for step in answer.steps if step.workflow).items():
        assert name in called(settings)
        if count > WORKFLOWS[name].most_visits(settings):
            found.append(f"{count} visits in {name}")
    return found


def test_every_run_is_bounded_and_ends_with_an_answer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
    routes: Counter[str] = Counter()

    def problems(case: Case) -> list[str]:
        answer = case.answer
        routes[answer.workflow] += 1
        ended = ended_by(answer, "LibraryDamaged", "TableError", "OSError")
        return _problems(answer) + _over_the_bounds(answer, case.settings) + ended

    ends, _ = judged(_cases, problems, RUNS, UNDER_THE_SAME)
    assert len(ends) >= 4, "hostility should end in many ways"
    assert len(routes) >= 4, "and reach many workflows"
