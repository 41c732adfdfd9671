"""Models that count more tokens than we do: learnt for later runs, and the same for all of one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from secondlook.engine.secondlook import Secondlook
from secondlook.models.budget import Ledger
from secondlook.models.chat import ChatResult, Message
from secondlook.models.journal import MemoryJournal
from secondlook.models.prices import Caps
from tests.support.engine import HARBOUR, QUESTION, WordShelf, passages_of, settings_of
from tests.support.function_model import FunctionModel, models_of
from tests.support.research import FakeLibrary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from secondlook.models.calls import Models
    from secondlook.models.chat import ChatRequest

RUN = "20261116-0123456789ab"
SAID = "Berth 4 remains the deepest berth, at 7.8 metres [1]."
CONTEXT = 1000


class Dense(FunctionModel):
    """Counts twice what was estimated."""

    def __init__(self) -> None:
        super().__init__(lambda _: SAID, context=CONTEXT)
        self.asked: list[ChatRequest] = []
        self.came = asyncio.Event()
        self.hangs = False

    async def complete(
        self, request: ChatRequest, on_text: Callable[[str], None] | None = None
    ) -> ChatResult:
        self.asked.append(request)
        self.came.set()
        if self.hangs:
            await asyncio.Event().wait()
        estimate = await self.count(request.messages)
        return ChatResult(SAID, "stop", 2 * estimate, 5, estimate=estimate)


async def counted(models: Models, counting: Mapping[str, float] | None = None) -> int:
    asker = models.asker(
        run="r",
        workflow="linear",
        ledger=Ledger(Caps()),
        journal=MemoryJournal(),
        counting=counting,
    )
    messages = [Message("user", "How deep is it, and since when?")]
    before = await asker.counted(asker._part("answer"), messages)
    await asker.ask("answer", messages, node="answer")
    assert await asker.counted(asker._part("answer"), messages) == before, (
        "the same for all of one run"
    )
    return before


def test_a_run_that_is_taken_up_elsewhere_counts_as_it_began(tmp_path: Path) -> None:
    """Or it would pack other prompts, and not know again what it has paid for."""
    settings = settings_of(runs={"path": tmp_path / "runs.db", "keep": 5})
    long = [(name, f"{text} {text} {text}") for name, text in HARBOUR * 4]

    def engine_of(model: Dense) -> Secondlook:
        library: Any = FakeLibrary(settings, WordShelf(held=passages_of(long)))
        return Secondlook(library, settings=settings, models=models_of(model))

    async def go() -> tuple[ChatRequest, ChatRequest, ChatRequest]:
        here, elsewhere = Dense(), Dense()
        engine = engine_of(here)
        await engine.aask(QUESTION, workflow="linear")
        here.hangs = True
        here.came.clear()
        working = asyncio.create_task(engine.aask(QUESTION, workflow="linear", run=RUN))
        await here.came.wait()
        working.cancel()
        await asyncio.wait([working])
        await engine.adetach()
        engine = engine_of(elsewhere)
        await engine.aresume(RUN)
        await engine.adetach()
        return here.asked[0], here.asked[1], elsewhere.asked[0]

    first, stopped, again = asyncio.run(go())
    assert again.messages == stopped.messages
    assert len(str(stopped.messages)) < len(str(first.messages)), "it had learnt to send less"
