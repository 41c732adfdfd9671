"""An empty library for a question that needs none of its own."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.errors import LibraryMissing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.library import Library
    from secondlook.settings import Settings


@contextmanager
def library_or_passing(
    settings: Settings, path: str | Path | None = None, *, may_pass: bool
) -> Iterator[Library]:
    """The library at that path, or the configured one. Where there is none, a question over tables
    that came with it gets a passing one."""
    from secondlook.library import Library

    with ExitStack() as held:
        try:
            library = held.enter_context(Library.open(path, create=False, settings=settings))
        except LibraryMissing:
            if not may_pass:
                raise
            library = held.enter_context(passing_library(settings, recorded=True))
        yield library


@contextmanager
def passing_library(settings: Settings, *, recorded: bool = False) -> Iterator[Library]:
    """One that is gone afterwards. Its questions are recorded only if they make sense without it:
    those over tables that are kept with their run."""
    from secondlook.library import Library

    # ignore_cleanup_errors: Windows keeps files alive that are still mapped
    with tempfile.TemporaryDirectory(prefix="secondlook-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "library"
        keep = settings.runs.keep if recorded else 0
        own = settings.model_copy(
            update={
                "library": settings.library.model_copy(update={"path": path}),
                "runs": settings.runs.model_copy(update={"keep": keep}),
            }
        )
        with Library.open(path, settings=own) as library:
            yield library
