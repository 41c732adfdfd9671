"""The web as a last resort: search it, read the pages found, cut them into passages.

Nothing here is imported by a run that does not look on the web. docs/search.md says what is
sent where, and what a page is not allowed to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.retrieval.web.port import WebSearch  # noqa: TC001

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.retrieval.chunk import ChunkOptions
    from secondlook.settings.sections import WebSettings


def open_web(
    settings: WebSettings,
    *,
    token_starts: Callable[[str], list[int]] | None = None,
    chunking: ChunkOptions | None = None,
    language: str = "english",
) -> WebSearch:
    """The web as the settings describe it. Nothing is sent before the first question.

    Pages are cut like the documents of a library: give its `token_starts`, `chunking` and
    `language`. Raises `SettingsError` where the settings do not say enough.
    """
    from secondlook.retrieval.web.service import open_service

    return open_service(settings, token_starts=token_starts, chunking=chunking, language=language)
