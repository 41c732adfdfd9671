"""The services that a run's nodes are given. Frozen; `app` makes it, tests make their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from secondlook.models.budget import Ledger
    from secondlook.models.calls import Asker
    from secondlook.nodes.state import Scope
    from secondlook.passage import Hit, Passage
    from secondlook.reading.calibration import Calibration
    from secondlook.reading.port import Choose, Reading
    from secondlook.reading.support import Support
    from secondlook.retrieval.index.port import Filter
    from secondlook.retrieval.search import SearchOptions
    from secondlook.retrieval.web.port import WebPassage, WebSearch
    from secondlook.sandbox.port import Sandbox
    from secondlook.settings.sections import Settings
    from secondlook.store.answers import AnswerMemory
    from secondlook.tables.query import Computed
    from secondlook.tables.query import Query as TableQuery
    from secondlook.tables.table import Examination, Join, Table, TableProfile


class Shelf(Protocol):
    """What nodes ask of a library (`library.shelf.Shelf` is the real one)."""

    @property
    def reader_name(self) -> str: ...
    @property
    def reader_languages(self) -> tuple[str, ...]: ...
    def find(self, query: str, options: SearchOptions, where: Filter) -> list[Hit]: ...
    def read(
        self, query: str, passages: Sequence[Passage], *, choose: Choose | None = None
    ) -> list[Reading]: ...
    def in_context(self, query: str, passage: Passage) -> str: ...
    def read_text(self, query: str, text: str) -> Reading: ...
    def similarity(self, pairs: Sequence[tuple[str, str]]) -> list[float]: ...
    def vectors(self, texts: Sequence[str]) -> list[list[float]]: ...
    def passages(self, ids: Sequence[str]) -> dict[str, Passage]: ...
    def paths(self, documents: Collection[str]) -> Mapping[str, tuple[str, ...]]: ...
    def page(self, document: str, at: int) -> int | None: ...
    def size(self) -> tuple[int, int]: ...


class Desk(Protocol):
    """What nodes ask of the tables at hand (`tables.desk.Desk` is the real one)."""

    def tables(self) -> tuple[Table, ...]: ...
    def profile(self, table: str) -> TableProfile: ...
    def joins(self, tables: Sequence[str]) -> tuple[Join, ...]: ...
    def examine(self, table: str, columns: Sequence[str]) -> tuple[Examination, ...]: ...
    def compute(self, query: TableQuery) -> Computed: ...
    def values(self, table: str, column: str) -> Sequence[str]: ...
    def file(self, table: str) -> Path: ...


class Kept(Protocol):
    """What a run keeps beside its state because it is long: results of code, figures."""

    def put(self, name: str, text: str) -> None: ...
    def get(self, name: str) -> str | None: ...


class Pages(Protocol):
    """The web pages that a run has read: they outlive a restart of it."""

    def put(self, passages: Sequence[WebPassage]) -> None: ...
    def get(self, ids: Sequence[str]) -> dict[str, WebPassage]: ...


class Titled(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def paths(self) -> tuple[str, ...]: ...
    @property
    def language(self) -> str | None: ...


class Called(Protocol):
    async def ainvoke(self, given: Any, /, *, context: Context) -> Any: ...


@dataclass(frozen=True, slots=True)
class Context:
    run: str
    created: str
    workflow: str
    question: str  # as it was asked; the state holds it as it is worked on
    settings: Settings
    shelf: Shelf
    models: Asker
    ledger: Ledger
    support: Support
    pages: Pages
    web: WebSearch | None = None
    desk: Desk | None = None
    sandbox: Callable[[], Sandbox] | None = None
    """Opens it at the first call; raises SandboxError where none works here."""
    kept: Kept | None = None
    memory: AnswerMemory | None = None  # earlier research; None where nothing may be stored
    calibration_file: Path | None = None  # where a calibration of the library's own would lie
    workflows: Mapping[str, Called] = field(default_factory=dict)
    """Every workflow by name, for the one that calls the others."""
    titles: Callable[[Scope], Sequence[Titled]] | None = None
    """The documents within a scope by their names; None where nobody can tell."""
    tables_given: bool = False  # tables came with the question: it is about them

    @property
    def calibration(self) -> Calibration:
        """What the scores of the reader in use are worth: the library's own, or the shipped one."""
        from secondlook.reading.calibration import load_calibration

        return load_calibration(self.shelf.reader_name, self.calibration_file)
