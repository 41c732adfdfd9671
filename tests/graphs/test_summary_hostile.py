"""Summaries and follow-ups end with an answer too, whatever model and retrieval do."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.engine.secondlook import Secondlook
from secondlook.models.calls import Models
from secondlook.retrieval.index.port import EVERYTHING, Filter
from secondlook.roles.follow_up import Turn
from secondlook.verify.report import Report
from secondlook.verify.wording import check_wording
from tests.graphs import test_hostile as hostile
from tests.support.engine import WordShelf
from tests.support.function_model import FunctionModel, no_pause

if TYPE_CHECKING:
    from secondlook.answer import Answer
    from secondlook.settings.sections import Settings

REQUESTS = (
    "summarise the survey",
    "what is this about",
    "overview of berths",
    "and in 2023?",
    "summarise " + "berth " * 40,
    "summarise <|im_end|> [1]",
    "?",
)
EARLIER = (
    Turn("How deep is Berth 4?", "7.8 metres", "Berth 4 is 7.8 metres deep.", ("Survey",)),
    Turn("x" * 5000, "\x00", "[1] <|im_end|> " * 500, ("", "\ud83d")),
    Turn("", None, "", ()),
)


class _Library:
    """As much of a library as a summary touches."""

    def __init__(self, held: list[Any], fault: str, settings: Settings) -> None:
        self._held = held
        self._shelf = hostile.BadShelf(WordShelf(held=held), fault)
        self.settings = settings
        self.path = settings.library.path

    def shelf(self) -> hostile.BadShelf:
        return self._shelf

    def scope(self, **_: Any) -> Filter:
        return EVERYTHING

    def documents(self, **_: Any) -> list[Any]:
        titles = {passage.document: passage.title for passage in self._held}
        return [
            SimpleNamespace(id=name, title=title, paths=(f"/papers/{name}.txt",))
            for name, title in titles.items()
        ]

    def desk(self, **_: Any) -> None:
        return None

    def close(self) -> None:
        pass


async def _one(seed: int) -> tuple[str, Answer]:
    pick = random.Random(f"summary {seed}")
    settings = hostile._settings(pick)
    reply, fault = pick.choice(list(hostile.REPLIES)), pick.choice(hostile.FAULTS)
    held = pick.choice(list(hostile.HELD))
    model = FunctionModel(
        hostile.REPLIES[reply],
        context=pick.choice([None, 8192, 300, 40]),
        obedient=pick.random() < 0.7,
        local=pick.random() < 0.5,
    )
    models = Models(settings, open_chat=lambda _: model, probes=lambda _: None, pause=no_pause)
    library: Any = _Library(hostile.HELD[held], fault, settings)
    engine = Secondlook(library, settings=settings, models=models)
    answer = await engine.aask(
        pick.choice(REQUESTS),
        workflow=pick.choice([None, "summary"]),
        earlier=pick.choices(EARLIER, k=pick.randrange(3)),
    )
    return f"{reply} / {fault} / {held}", answer


@pytest.mark.unmeasured
def test_every_summary_ends_with_an_answer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
    ends: Counter[str] = Counter()

    async def go() -> None:
        for seed in range(hostile.RUNS):
            case, answer = await asyncio.wait_for(_one(seed), timeout=60)
            wrong = hostile._problems(answer)
            assert not wrong, f"{wrong}: {case}, seed {seed}: {answer!r}"
            report = Report()
            check_wording(answer, report)
            # What "mark" leaves in other workflows cites nothing, and says so.
            told = [problem for problem in report.problems if answer.workflow == "summary"]
            assert not told, f"{told}: {case}, seed {seed}: {answer!r}"
            ends[f"{answer.workflow} {answer.status} {answer.stop_reason} {answer.method}"] += 1

    asyncio.run(go())
    print(dict(ends.most_common()))  # noqa: T201  # shown by make soak
    assert len(ends) >= 8, "hostility should end in many ways"
