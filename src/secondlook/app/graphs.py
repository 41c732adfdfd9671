"""Workflows made ready to run: each is compiled once in a process for equal settings, whoever
asks, and lent a checkpointer run by run."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from secondlook.graphs.registry import WORKFLOWS
from secondlook.graphs.registry import workflow as workflow_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.memory.whole_writes import WholeWrites
    from secondlook.settings import Settings

_SHAPES_NO_GRAPH = {"library", "runs", "budget", "serve"}
"""Sections that say where things lie and what may be spent: no graph is built by them, so that
engines over several libraries share one."""
_COMPILED: dict[tuple[str, str], Any] = {}
_LOCK = threading.Lock()


class Graphs:
    """Building and compiling reads every node's source and annotations: ten milliseconds that a
    program which asks thousands of questions pays once."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._shape = settings.model_dump_json(exclude=_SHAPES_NO_GRAPH)

    def ready(self, workflow: str, saver: WholeWrites | None) -> Any:
        """The compiled graph. With a checkpointer it is a copy that shares all but that."""
        graph = self._compiled(workflow)
        return graph if saver is None else graph.copy({"checkpointer": saver})

    def callable_ones(self) -> Mapping[str, Any]:
        """Every workflow by name, as another one calls it: with its own limit, and the checkpointer
        of whoever calls."""
        return _Lazily(self._limited, tuple(WORKFLOWS))

    def _limited(self, workflow: str) -> Any:
        most = workflow_named(workflow).most_visits(self._settings)
        return self._compiled(workflow).with_config(recursion_limit=most + 1)

    def _compiled(self, workflow: str) -> Any:
        key = (workflow, self._shape)
        with _LOCK:  # engines in several threads must not each compile it
            if key not in _COMPILED:
                _COMPILED[key] = workflow_named(workflow).build(self._settings).compile()
            return _COMPILED[key]


class _Lazily(Mapping[str, Any]):
    """Made when asked for: a run calls one or two workflows of many."""

    def __init__(self, make: Callable[[str], Any], names: tuple[str, ...]) -> None:
        self._make = make
        self._names = names

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
