"""A run that dies in the middle of a call and is taken up again keeps to its budget all the same:
what the provider may bill for the call that was lost stays taken."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.record import RunStore
from secondlook.engine.secondlook import Secondlook
from secondlook.models.calls import Models
from secondlook.settings.sections import BudgetSettings
from tests.graphs.test_budgets import _over
from tests.support.analyst_wild import WildDesk, WildOpening
from tests.support.budgets import (
    WORKFLOWS,
    Auditor,
    Case,
    ScriptedModel,
    _Library,
    _none,
    _shelf,
    price_files,
    question_for,
    some_moods,
    some_settings,
)
from tests.support.function_model import no_pause

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from secondlook.answer import Answer
    from secondlook.models.chat import ChatRequest, ChatResult
    from secondlook.settings.sections import Settings

RUNS = 60 if os.environ.get("SECONDLOOK_SOAK") else 3
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


def some_caps(pick: random.Random) -> BudgetSettings:
    """So tight that a call which is lost is missed, but not so that nothing can be asked."""
    drawn = {
        "calls": pick.randint(1, 5),
        "tokens": int(10 ** pick.uniform(3, 4.3)),
        "money": round(10 ** pick.uniform(-4, -1.5), 9),
    }
    name = pick.choice(list(drawn))
    return BudgetSettings.model_validate({"calls": drawn["calls"], name: drawn[name]})


class World:
    """What outlives an engine: the record of runs, the library and the model."""

    def __init__(self, workflow: str, seed: int, folder: Path) -> None:
        pick = self.pick = random.Random(f"{workflow} {seed}")
        price, file = pick.choice(list(price_files(folder)))
        told = some_settings(pick, file).model_dump()
        told["runs"] |= {"keep": 5, "path": folder / f"{seed}.db"}
        self.settings: Settings = type(some_settings(pick, file)).model_validate(told)
        self.budget = some_caps(pick)
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
        models = Models(self.settings, open_chat=lambda _: self.model, probes=_none, pause=no_pause)
        library: Any = _Library(self.settings, None)
        library.held = _shelf(self.pick, self.workflow)
        library.laid_out = WildDesk("customers", self.pick, ("",))
        engine = Secondlook(library, settings=self.settings, models=models)
        engine._sandbox = WildOpening(self.pick)  # type: ignore[assignment]  # no real one
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
        for seed in range(RUNS):
            world = World(workflow, seed, tmp_path)
            answer = await world.answered()
            auditor = world.model.auditor
            told = f"seed {seed}, {world.deaths} deaths, {world.budget!r}"
            assert not auditor.broken, told
            case = Case(world.question, world.budget, auditor, answer)
            assert not _over(case), told
            assert answer.usage.calls >= world.deaths, told
            seen.update(deaths=world.deaths, runs=1, calls=auditor.calls)
            with RunStore(world.settings.runs) as store:
                assert store.get(RUN).answer == answer

    asyncio.run(go())
    assert seen["deaths"], seen
