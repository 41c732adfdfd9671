"""By how much a run passes its deadline, whatever it is that takes the time.

    python -m benchmarks.deadlines [--runs 20] [--seconds 1.0]

Each case has one thing that never comes to an end by itself: a model that does not answer, one that
does not even stop when it is told to, one that goes on writing, a search or a reader that takes
minutes, a web search that hangs, generated code that loops (in the real sandbox). Every run has so
many seconds. Told is by how much the answer comes later than the deadline, and how the run ended.
The first run of each case is not counted: it loads what the others have. Writes
`benchmarks/results/deadlines.json`.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.common import parser, save, spread
from secondlook.engine.secondlook import Secondlook
from secondlook.models.calls import Models
from tests.support.analyst import CUSTOMERS, desk_of, step_of
from tests.support.analyst_engine import TableLibrary
from tests.support.engine import QUESTION, WordShelf, settings_of
from tests.support.function_model import FunctionModel, no_pause
from tests.support.research import FakeLibrary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.models.chat import ChatRequest
    from secondlook.settings.sections import Settings

SPEC = "ollama:double"
LOOPS = "result = df['age'].mean()\nwhile True:\n    result = result + 0"
UNSURE = "which composer wrote the opera"
"""Nothing that is held answers it: the web is looked at."""


async def _never(_: ChatRequest) -> str:
    await asyncio.Event().wait()
    raise AssertionError("nobody ever sets it")


async def _stubborn(_: ChatRequest) -> str:
    """Answers to no cancellation, for longer than anybody waits."""
    until = time.monotonic() + 6
    while (left := until - time.monotonic()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue
    return "too late"


def _endless(_: ChatRequest) -> Iterator[str]:
    return itertools.cycle(["and ", "so on "])


def _looping(request: ChatRequest) -> str:
    step = step_of(request.messages[-1].content)
    return LOOPS if step == "code" else '{"work": "data", "variables": ["age"]}'


@dataclass(slots=True)
class SlowShelf(WordShelf):
    """Takes as long as it is let to search, or to read."""

    released: threading.Event = field(default_factory=threading.Event)
    slow: str = "read"

    def find(self, *given: Any, **options: Any) -> Any:
        if self.slow == "find":
            self.released.wait(120)
        return WordShelf.find(self, *given, **options)

    def read(self, *given: Any, **options: Any) -> Any:
        if self.slow == "read":
            self.released.wait(120)
        return WordShelf.read(self, *given, **options)


class HangingWeb:
    async def find(self, _query: str) -> list[Any]:
        await asyncio.Event().wait()
        raise AssertionError("nobody ever sets it")

    async def search(self, _query: str, **_: Any) -> list[Any]:
        return []

    async def aclose(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Case:
    reply: Callable[[ChatRequest], Any] | None = None
    slow: str | None = None
    workflow: str = "linear"
    question: str = QUESTION
    web: bool = False

    def settings(self, seconds: float) -> Settings:
        return settings_of(
            runs={"keep": 0},
            models={"default": SPEC if self.reply else "none", "servers": {"query": "model"}},
            web={"enable_web_search": self.web},
            budget={"seconds": seconds},
        )


CASES = {
    "a model that never answers": Case(_never),
    "a model that does not stop when told": Case(_stubborn),
    "a model that never stops writing": Case(_endless),
    "a model that never answers, in corrective": Case(_never, workflow="corrective"),
    "a search that takes minutes": Case(slow="find"),
    "a reader that takes minutes": Case(slow="read"),
    "a web search that hangs": Case(workflow="adaptive", question=UNSURE, web=True),
    "code that loops in the sandbox": Case(
        _looping, workflow="analyst", question="Which customers are unlike the others, and why?"
    ),
}


async def overshoots(case: Case, runs: int, seconds: float) -> dict[str, Any]:
    settings = case.settings(seconds)
    model = FunctionModel(case.reply or _never, spec=SPEC)
    models = Models(settings, open_chat=lambda _: model, probes=lambda _: None, pause=no_pause)
    shelf = SlowShelf(slow=case.slow or "nothing")
    library: Any = (
        TableLibrary(settings, desk_of({"customers": CUSTOMERS}))
        if case.workflow == "analyst"
        else FakeLibrary(settings, shelf)
    )
    web: Any = HangingWeb() if case.web else None
    engine = Secondlook(library, settings=settings, models=models, web=web)
    late: list[float] = []
    ends: Counter[str] = Counter()
    try:
        for _ in range(runs + 1):
            began = time.monotonic()
            answer = await engine.aask(case.question, workflow=case.workflow)
            late.append(time.monotonic() - began - seconds)
            ends[f"{answer.status}, {answer.stop_reason}"] += 1
    finally:
        shelf.released.set()
        await engine.aclose()
    told = {"runs": runs, "late": spread(late[1:], 3), "late_max": round(max(late[1:]), 3)}
    return {**told, "ends": dict(ends)}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--seconds", type=float, default=1.0)
    options.add_argument("--case", choices=sorted(CASES))
    given = options.parse_args()
    told: dict[str, Any] = {}
    for name, case in CASES.items():
        if given.case in {None, name}:
            told[name] = asyncio.run(overshoots(case, given.runs, given.seconds))
            print(name, told[name], flush=True)
    if given.case is None:
        save("deadlines", {"seconds": given.seconds, "cases": told})


if __name__ == "__main__":
    main()
