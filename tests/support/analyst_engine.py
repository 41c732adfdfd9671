"""An engine over tables without a library: what it takes to stop runs, resume them and run out of
time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from secondlook.engine.secondlook import Secondlook
from secondlook.errors import SandboxError
from secondlook.models.calls import Models
from secondlook.sandbox.port import Limits, Outcome, Sandbox, Supplied
from tests.support.analyst import CUSTOMERS
from tests.support.engine import WordShelf, settings_of
from tests.support.function_model import FunctionModel, no_pause
from tests.support.research import FakeLibrary

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from secondlook.models.chat import ChatRequest

SPEC = "ollama:function"
MEAN_AGE = sum(CUSTOMERS["age"]) / len(CUSTOMERS["age"])


class TableLibrary(FakeLibrary):
    """As much of a library as a run over tables touches."""

    def __init__(self, settings: Any, desk: Any) -> None:
        super().__init__(settings, WordShelf([]))
        self._desk = desk

    def desk(self, **_: Any) -> Any:
        return self._desk


@dataclass
class Watched:
    """Opens a sandbox, which does what is asked of it before and after each job."""

    inner: Callable[[], Sandbox] | None = None
    """Without one every job comes to the mean of the customers' ages."""
    most: int = 10**9
    """After so many jobs it breaks."""
    waits: threading.Event | None = None
    """For which every job waits."""
    jobs: list[str] = field(default_factory=list)
    name: str = "watched"
    opened: None = None

    def __call__(self) -> Watched:
        return self

    def run(
        self, code: str, tables: Sequence[Supplied] = (), *, limits: Limits | None = None
    ) -> Outcome:
        if len(self.jobs) >= self.most:
            raise SandboxError("the server of the sandbox died", hint="secondlook sandbox check")
        self.jobs.append(code)
        if self.waits is not None:
            self.waits.wait(60)
        if self.inner is None:
            return Outcome("ok", result=MEAN_AGE, has_result=True)
        return self.inner().run(code, tables, limits=limits)

    def close(self) -> None:
        pass


def engine_of(
    model: Callable[[ChatRequest], Any] | None,
    desk: Any,
    opened: Any,
    *,
    runs: Path | None = None,
    seconds: float = 0.0,
    **analyst: Any,
) -> Secondlook:
    """Runs are recorded where `runs` is."""
    settings = settings_of(
        models={"default": SPEC if model else "none", "retries": 0},
        runs={"path": runs, "keep": 20} if runs else {"keep": 0},
        budget={"seconds": seconds},
        analyst=analyst,
    )
    library: Any = TableLibrary(settings, desk)
    chat = FunctionModel(model) if model else None
    models = Models(settings, open_chat=lambda _: chat, probes=lambda _: None, pause=no_pause)  # type: ignore[arg-type,return-value]
    engine = Secondlook(library, settings=settings, models=models)
    engine._sandbox = opened  # instead of one of its own, which takes seconds to open
    return engine
