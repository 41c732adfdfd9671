"""Wires the parts together as the settings say."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from secondlook.errors import SettingsError
from secondlook.reading.approximate import approximate_starts
from secondlook.retrieval.chunk import DEFAULT_OPTIONS
from secondlook.retrieval.web.cut import Cutter
from secondlook.retrieval.web.duckduckgo import DuckDuckGoEngine
from secondlook.retrieval.web.fetch import Fetcher, Limits
from secondlook.retrieval.web.guard import Guard
from secondlook.retrieval.web.searxng import SearxngEngine
from secondlook.retrieval.web.service import Bounds, WebService

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.retrieval.chunk import ChunkOptions
    from secondlook.retrieval.web.port import SearchEngine
    from secondlook.settings import WebSettings

_KB = 1024


def open_service(
    settings: WebSettings,
    *,
    token_starts: Callable[[str], list[int]] | None = None,
    chunking: ChunkOptions | None = None,
    language: str = "english",
) -> WebService:
    guard = Guard(allow_private=settings.allow_private)

    def open_fetcher(limits: Limits) -> Fetcher:
        return Fetcher(guard, limits)

    return WebService(
        _engine(settings, open_fetcher),
        Bounds(settings.results, Limits(settings.timeout, settings.max_kb * _KB)),
        open_fetcher=open_fetcher,
        cutter=Cutter(token_starts or approximate_starts, chunking or DEFAULT_OPTIONS),
        language=language,
    )


def _engine(settings: WebSettings, open_fetcher: Callable[[Limits], Fetcher]) -> SearchEngine:
    if settings.backend == "searxng":
        return SearxngEngine(_server(settings.url), settings.timeout, open_fetcher)
    if find_spec("ddgs") is None:
        raise SettingsError(
            "searching the web with DuckDuckGo needs the package ddgs",
            hint="pip install 'secondlook[web]', or use a SearXNG server with web.backend",
        )
    return DuckDuckGoEngine(settings.timeout)


def _server(url: str | None) -> str:
    if not url:
        raise SettingsError(
            "web.backend is 'searxng', but web.url does not say where the server is",
            hint="set web.url, such as http://127.0.0.1:8888, or use web.backend = 'duckduckgo'",
        )
    parts = urlsplit(url)
    if parts.username is not None or parts.query or parts.fragment:
        raise SettingsError(
            f"web.url must be a plain address, not {parts._replace(netloc='…').geturl()!r}",
            hint="leave out user names, passwords and everything from ? on",
        )
    return url
