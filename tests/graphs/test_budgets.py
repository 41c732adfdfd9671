"""Hard budgets, whatever the workflow, the model and the caps: no call is begun that could exceed
one, none is exceeded, and there is always an answer. `make test` makes about a hundred runs with
fixed seeds, `make soak` more than two thousand."""

from __future__ import annotations

import asyncio
import math
import os
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.record import RunStore
from secondlook.engine.request import with_budget
from secondlook.errors import UsageError
from secondlook.settings.sections import BudgetSettings, Settings
from secondlook.verify.report import Report
from secondlook.verify.wording import apart, check_wording
from tests.support.budgets import (
    WORKFLOWS,
    Auditor,
    Case,
    LibraryOfTables,
    ScriptedModel,
    cases,
    price_files,
    question_for,
    shelf_for,
    some_moods,
    some_settings,
    supply,
)
from tests.support.corrective_hostile import REPLIES, opened
from tests.support.engine import QUESTION, WordShelf, settings_of
from tests.support.function_model import FunctionModel
from tests.support.hostile_ends import contradictions
from tests.support.research import CodeShelf
from tests.support.research_clerk import honest
from tests.support.research_world import SIMPLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from secondlook.answer import Answer
    from secondlook.engine.secondlook import Secondlook
    from secondlook.models.chat import ChatRequest, ChatResult


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


# A run that dies in the middle of a call and is taken up again keeps to its budget all the same:
# what the provider may bill for the call that was lost stays taken.

KILLED_RUNS = 60 if os.environ.get("SECONDLOOK_SOAK") else 3
RUN = "20261116-0123456789ab"


class Mortal(ScriptedModel):
    """Whoever waits for one of its calls dies; the call is billed whole."""

    def __init__(self, pick: random.Random) -> None:
        super().__init__(pick)
        self.lives = 0
        self.dying = asyncio.Event()

    async def complete(
        self, request: ChatRequest, on_text: Callable[[str], None] | None = None
    ) -> ChatResult:
        self.lives -= 1
        if self.lives == 0:
            worst = self.auditor.begin(await self.count(request.messages), request.max_tokens)
            self.auditor.bill(worst, *worst)
            self.dying.set()
            await asyncio.Event().wait()
        return await super().complete(request, on_text)


class World:
    """What outlives an engine: the record of runs, the library and the model."""

    def __init__(self, workflow: str, seed: int, folder: Path) -> None:
        pick = self.pick = random.Random(f"{workflow} {seed}")
        price, file = pick.choice(list(price_files(folder)))
        told = some_settings(pick, file).model_dump()
        told["runs"] |= {"keep": 5, "path": folder / f"{seed}.db"}
        self.settings: Settings = type(some_settings(pick, file)).model_validate(told)
        # So tight that a call which is lost is missed, but not so that nothing can be asked.
        drawn = {
            "calls": pick.randint(1, 5),
            "tokens": int(10 ** pick.uniform(3, 4.3)),
            "money": round(10 ** pick.uniform(-4, -1.5), 9),
        }
        name = pick.choice(list(drawn))
        self.budget = BudgetSettings.model_validate({"calls": drawn["calls"], name: drawn[name]})
        self.model = Mortal(pick)
        self.model.auditor = Auditor(self.budget, price)
        self.model.moods = some_moods(pick, workflow)
        self.workflow = workflow
        self.question = question_for(pick, workflow)
        self.deaths = 0
        self.first = 1 + seed % 2
        """The call in which it dies first."""

    def engine(self) -> Secondlook:
        """Of a new process: it knows nothing but what is written."""
        library = LibraryOfTables(self.settings, None)
        engine = opened(self.settings, library, self.model)
        supply(engine, library, self.pick, shelf_for(self.pick, self.workflow))
        return engine

    async def answered(self) -> Answer:
        """Stopped up to three times before. What is cancelled in the middle of a call leaves in the
        record what a process leaves that is killed there: that the call was sent."""
        for _ in range(3):
            self.model.lives = self.pick.choice([1, 2, 4]) if self.deaths else self.first
            if (answer := await self._go_on()) is not None:
                return answer
            self.deaths += 1
        self.model.lives = 0
        answer = await self._go_on()
        assert answer is not None
        return answer

    async def _go_on(self) -> Answer | None:
        """None where it died."""
        engine = self.engine()
        self.model.dying.clear()
        working = asyncio.create_task(self._asked(engine))
        dying = asyncio.create_task(self.model.dying.wait())
        await asyncio.wait([working, dying], return_when=asyncio.FIRST_COMPLETED)
        dying.cancel()
        working.cancel()
        await asyncio.wait([working, dying])
        await engine.adetach()
        return None if working.cancelled() else working.result()

    async def _asked(self, engine: Secondlook) -> Answer:
        if self.deaths:
            return await engine.aresume(RUN)
        return await engine.aask(self.question, workflow=self.workflow, budget=self.budget, run=RUN)


@pytest.mark.unmeasured
@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_run_that_was_killed_keeps_to_its_budget(
    workflow: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    seen: Counter[str] = Counter()

    async def go() -> None:
        for seed in range(KILLED_RUNS):
            world = World(workflow, seed, tmp_path)
            answer = await world.answered()
            auditor = world.model.auditor
            told = f"seed {seed}, {world.deaths} deaths, {world.budget!r}"
            assert not auditor.broken, told
            assert not _over(Case(world.question, world.budget, auditor, answer)), told
            assert answer.usage.calls >= world.deaths, told
            seen.update(deaths=world.deaths, runs=1, calls=auditor.calls)
            with RunStore(world.settings.runs) as store:
                assert store.get(RUN).answer == answer

    asyncio.run(go())
    assert seen["deaths"], seen


# The budget of one question: what it is, what is kept of it for the answer, and what is said when
# it is used up.

SPEC = "openai:gpt-4o-mini"
"""One whose price is known."""
FEW = "To allow more: --max-calls or budget.calls."


def _asked(
    reply: Callable[[ChatRequest], Any],
    question: str = QUESTION,
    *,
    workflow: str = "linear",
    shelf: Any = None,
    budget: dict[str, float] | None = None,
    spec: str = SPEC,
    **sections: dict[str, Any],
) -> tuple[Answer, FunctionModel]:
    settings = settings_of(
        runs={"keep": 0},
        models={"default": spec, "retries": 0},
        **{"research": {"enable_memory": False}, **sections},
    )
    model = FunctionModel(reply, spec=spec)
    library = LibraryOfTables(settings, None)
    engine = opened(settings, library, model)
    supply(engine, library, random.Random(1), shelf or WordShelf())
    return asyncio.run(engine.aask(question, workflow=workflow, budget=budget)), model


async def never(_: ChatRequest) -> str:
    await asyncio.Event().wait()
    raise AssertionError("nobody ever sets it")


def _honest(request: ChatRequest) -> Any:
    return REPLIES["honest"](request, random.Random(3))


# What it is


@pytest.mark.parametrize(
    ("own", "asked", "holds"),
    [
        ({"calls": 2}, {"calls": 3}, {"calls": 2}),
        ({"calls": 5, "seconds": 9.0}, {"calls": 3}, {"calls": 3, "seconds": 9.0}),
        ({"money": 0.5}, {"money": 0.1, "seconds": 1e9}, {"money": 0.1, "seconds": 1e9}),
    ],
)
def test_a_question_may_take_less_than_the_settings_allow_and_never_more(
    own: dict[str, float], asked: dict[str, float], holds: dict[str, float]
) -> None:
    settings = with_budget(settings_of(budget=own), asked)
    assert settings.budget == BudgetSettings.model_validate(holds)


@pytest.mark.parametrize("wrong", [{"calls": 1.5}, {"money": math.nan}, {"seconds": math.inf}])
def test_what_is_no_budget_is_told(wrong: Any) -> None:
    with pytest.raises(UsageError, match="this is no budget") as caught:
        with_budget(settings_of(), wrong)
    assert "calls, tokens, money and seconds" in (caught.value.hint or "")


# What is kept for the answer


@pytest.mark.parametrize(
    ("workflow", "question", "shelf", "reply", "node"),
    [
        ("linear", QUESTION, None, _honest, "answer"),
        ("adaptive", QUESTION, None, _honest, "answer"),
        ("corrective", QUESTION, None, _honest, "answer"),
        ("research", SIMPLE, CodeShelf(), honest, "answer"),
        ("summary", "summarise the survey", None, _honest, "summarise"),
        ("auto", QUESTION, None, _honest, "answer"),
    ],
)
def test_the_only_call_is_the_one_that_answers(
    workflow: str, question: str, shelf: Any, reply: Callable[[ChatRequest], Any], node: str
) -> None:
    """Whatever else a workflow would ask a model before or after it."""
    answer, model = _asked(
        reply,
        question,
        workflow=workflow,
        shelf=shelf,
        budget={"calls": 1},
        corrective={"grader": "llm-batch", "grounded_judge": "llm", "useful_judge": "llm"},
    )
    assert [line.node for line in answer.usage.by_node] == [node]
    assert len(model.requests) == 1
    assert answer.claims
    if answer.stop_reason != "answered":
        assert (answer.status, answer.stop_reason) == ("partial", "budget")
        assert FEW in answer.text


# What is said


def test_a_price_that_is_unknown_is_told_with_what_to_do() -> None:
    answer, model = _asked(_honest, spec="openai:nobody-knows", budget={"money": 0.5})
    assert model.requests == []
    assert (answer.status, answer.stop_reason, answer.method) == ("partial", "budget", "extractive")
    assert "a price is unknown, so a cap of 0.5 US dollars cannot be kept" in answer.text
    assert "models.prices" in answer.text


def test_a_model_that_never_answers_leaves_the_reader_time() -> None:
    _asked(never, budget={"seconds": 2.0})  # what is loaded at first takes its time
    answer, _ = _asked(never, budget={"seconds": 2.0})
    assert (answer.status, answer.method) == ("partial", "extractive")
    assert answer.stop_reason == "deadline"
    assert "a question may take 2 seconds. To allow more: --timeout" in answer.text
    assert answer.warnings[0].error == "BudgetExceeded"
    assert answer.usage.seconds < 2.0
