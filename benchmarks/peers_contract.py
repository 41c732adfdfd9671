"""What a system under comparison offers: parts that are built, and modes that search them.

Imported by every worker, in whichever environment it runs: the standard library alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Search = Callable[[str], list[str]]

WANTED = 10
"""Documents that every search is asked for."""
DEEP = 100
"""How many passages each half of a hybrid search contributes where the pools are made equal."""


@dataclass(frozen=True, slots=True)
class Text:
    id: str
    title: str
    text: str
    whole: str
    """Title and text as Secondlook embeds them; the peers get exactly this as their text."""


class Embedding(Protocol):
    """The shared embedder, as every system's own embedding interface calls it."""

    def passages(self, texts: Sequence[str]) -> Vectors: ...

    def query(self, text: str) -> Vectors: ...


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that is built before a search, such as a vector index."""

    build: Callable[[], None]
    save: Callable[[], None] | None = None
    """Writes it to disk; None where building does, or where the system has no way to."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One way of searching: the ids of the documents found, best first; repeats may occur."""

    parts: tuple[str, ...]
    search: Search


@dataclass(frozen=True, slots=True)
class System:
    parts: dict[str, Part]
    modes: dict[str, Mode]
    distributions: tuple[str, ...]
    """Packages whose versions are reported."""
    passages: Callable[[], int]
    """How many passages the documents became."""
    durable: bool = False
    """Whether building alone already leaves the index on disk."""
    closing: list[Callable[[], None]] = field(default_factory=list)


class Make(Protocol):
    """How a system is set up: over these texts, with this embedder, storing in this folder."""

    def __call__(self, texts: Sequence[Text], embedding: Embedding, folder: Path) -> System: ...


def first_of_each(ids: Sequence[str], wanted: int = WANTED) -> list[str]:
    """The ranking without repeats, no longer than wanted."""
    return list(dict.fromkeys(ids))[:wanted]


def lasting(retriever: Callable[[], Any], search: Callable[[Any, str], list[str]]) -> Search:
    """Searches with a retriever that is set up at the first question and kept from then on."""
    made = cache(retriever)
    return lambda question: search(made(), question)
