"""Search, fetch, read, cut, rank: from a question to passages of web pages."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from secondlook.errors import SecondlookError, SettingsError, WebSearchError
from secondlook.reading.embedders import approximate_starts
from secondlook.retrieval.chunk import DEFAULT_OPTIONS
from secondlook.retrieval.web.fetch import Fetcher, Guard, Limits, aside, parse_url
from secondlook.retrieval.web.pages import (
    ACCEPT,
    Cutter,
    PageReader,
    best_first,
    check_readable,
    snippet,
)
from secondlook.retrieval.web.port import WebResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.retrieval.chunk import ChunkOptions
    from secondlook.retrieval.web.port import SearchEngine, WebPassage
    from secondlook.settings.sections import WebSettings

# Wires the parts together as the settings say.

PAGES = 5  # pages that are read
_SECONDS = 10.0  # for the search, and for each page
_PAGE_BYTES = 2 << 20  # of a larger page only the start is read


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
        Bounds(PAGES, Limits(_SECONDS, _PAGE_BYTES)),
        open_fetcher=open_fetcher,
        cutter=Cutter(token_starts or approximate_starts, chunking or DEFAULT_OPTIONS),
        language=language,
    )


def _engine(settings: WebSettings, open_fetcher: Callable[[Limits], Fetcher]) -> SearchEngine:
    if settings.url:
        parts = urlsplit(settings.url)
        if parts.username is not None or parts.query or parts.fragment:
            raise SettingsError(
                f"web.url must be a plain address, not {parts._replace(netloc='…').geturl()!r}",
                hint="leave out user names, passwords and everything from ? on",
            )
        return SearxngEngine(settings.url, _SECONDS, open_fetcher)
    if find_spec("ddgs") is None:
        raise SettingsError(
            "searching the web with DuckDuckGo needs the package ddgs",
            hint="pip install ddgs, or name a SearXNG server with web.url",
        )
    return DuckDuckGoEngine(_SECONDS)


_LONGEST_QUERY = 400
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\s]+")
_AT_ONCE = 8
_TOTAL_SHARE = 3.0
"""All pages together may take so many times as long as one; what is not read by then is left."""
_MOST_PASSAGES = 40


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of the web one question may cost."""

    results: int
    limits: Limits  # of one page

    @property
    def total_seconds(self) -> float:
        return self.limits.seconds * _TOTAL_SHARE


class WebService:
    """Implements `WebSearch`. Safe to use from several tasks, threads and event loops."""

    def __init__(
        self,
        engine: SearchEngine,
        bounds: Bounds,
        *,
        open_fetcher: Callable[[Limits], Fetcher],
        cutter: Cutter,
        language: str = "english",
    ) -> None:
        self._engine = engine
        self._bounds = bounds
        self._open_fetcher = open_fetcher
        self._cutter = cutter
        self._language = language
        self._reader = PageReader(
            seconds=bounds.limits.seconds, body_bytes=bounds.limits.body_bytes
        )

    async def search(self, query: str, *, results: int) -> list[WebResult]:
        asked = _UNPRINTABLE.sub(" ", query).strip()[:_LONGEST_QUERY]
        return await self._engine.search(asked, results=results) if asked else []

    async def find(self, query: str) -> list[WebPassage]:
        self._reader.warm_up()
        results = _distinct(await self.search(query, results=self._bounds.results))
        # One entry per result, in order. What takes too long is left behind, as its
        # snippet.
        turns = asyncio.Semaphore(_AT_ONCE)
        async with self._open_fetcher(self._bounds.limits) as fetcher:
            tasks = [
                asyncio.create_task(self._read_or_quote(result, fetcher, turns))
                for result in results
            ]
            try:
                if tasks:
                    await asyncio.wait(tasks, timeout=self._bounds.total_seconds)
            finally:
                for task in tasks:
                    task.cancel()
                if tasks:
                    await asyncio.wait(tasks)
        late = "there was no time left to read it"
        pages = [
            _quoted(result, late) if task.cancelled() else task.result()
            for task, result in zip(tasks, results, strict=True)
        ]
        passages = _once_each(pages)
        if pages and not passages:
            raise WebSearchError(
                f"none of the {len(pages)} pages found could be read; the first: {pages[0].why}"
            )
        return await aside(
            partial(best_first, passages, query, language=self._language, keep=_MOST_PASSAGES)
        )

    async def aclose(self) -> None:
        await aside(self._reader.close)

    async def _read_or_quote(
        self, result: WebResult, fetcher: Fetcher, turns: asyncio.Semaphore
    ) -> _Page:
        try:
            async with turns:
                fetched = await fetcher.get(result.url, accept=ACCEPT)
                check_readable(fetched)
                extracted = await aside(partial(self._reader.read, fetched))
                cut = partial(self._cutter.page, fetched.url, extracted, result)
                return _Page(await aside(cut))
        except SecondlookError as error:
            return _quoted(result, error.message)
        except Exception as error:  # noqa: BLE001 - one bad page must not spoil the others
            return _quoted(result, f"{type(error).__name__}: {error}"[:300])


@dataclass(frozen=True, slots=True)
class _Page:
    """What became of one result."""

    passages: list[WebPassage]
    why: str = ""  # why it was not read


def _quoted(result: WebResult, why: str) -> _Page:
    return _Page(snippet(result.url, result, why), why)


def _distinct(results: Sequence[WebResult]) -> list[WebResult]:
    """Each page once, and only what could be a page at all."""
    kept: dict[str, WebResult] = {}
    for result in results:
        with contextlib.suppress(WebSearchError):
            url = parse_url(result.url)
            if url.scheme in {"http", "https"} and url.host and not url.userinfo:
                kept.setdefault(str(url), replace(result, url=str(url)))
    return list(kept.values())


def _once_each(pages: Sequence[_Page]) -> list[WebPassage]:
    """Two results may lead to the same page; one that was read counts before a snippet of it."""
    kept: dict[str, list[WebPassage]] = {}
    for page in sorted(pages, key=lambda page: bool(page.why)):
        if page.passages:
            kept.setdefault(page.passages[0].document, page.passages)
    return [passage for passages in kept.values() for passage in passages]


# DuckDuckGo, through the package `ddgs`: there is no official interface.

_GRACE_SECONDS = 1.0
"""The package has its own limit and a better reason to tell; ours is for when it hangs."""
_LONGEST_REASON = 100
_DUMPED = re.compile(r"\b([A-Z]\w*(?:Error|Exception))\(|error sending request|\w+ \{ ")
"""An error of another one's printed with its fields; the first group is its class."""


@dataclass(frozen=True, slots=True)
class DuckDuckGoEngine:
    """`client` makes the package's DDGS object, given the seconds; None is the real one."""

    seconds: float
    client: Callable[[float], Any] | None = None

    async def search(self, query: str, *, results: int) -> list[WebResult]:
        try:
            async with asyncio.timeout(self.seconds + _GRACE_SECONDS):
                found = await aside(lambda: self._ask(query, results))
        except TimeoutError as error:
            raise WebSearchError(f"DuckDuckGo did not answer within {self.seconds:g} s") from error
        return _results(found, url="href", snippet="body")[:results]

    def _ask(self, query: str, results: int) -> list[Any]:
        client = (self.client or _real_client)(self.seconds)
        try:
            return list(client.text(query, max_results=results, backend="duckduckgo"))
        except Exception as error:  # the package and its HTTP client raise what they like
            raise WebSearchError(
                f"the search with DuckDuckGo failed: {_reason(error)}",
                # The package says "No results found." for this as well.
                hint="it may be limiting this address; try later, or use a SearXNG server",
            ) from error


def _reason(error: Exception) -> str:
    """In a few words; the package passes on what its HTTP client prints of its own insides."""
    said = " ".join(str(error).split())
    dumped = _DUMPED.search(said)
    if dumped or len(said) > _LONGEST_REASON:
        name = dumped[1] if dumped and dumped[1] else type(error).__name__
        return f"the search engine could not be reached ({name})"
    return f"{said} ({type(error).__name__})" if said else type(error).__name__


def _real_client(seconds: float) -> Any:
    try:
        from ddgs import DDGS
    except ImportError as error:
        raise WebSearchError(
            "searching with DuckDuckGo needs the package ddgs", hint="pip install ddgs"
        ) from error
    return DDGS(timeout=max(1, round(seconds)))


def _results(found: list[Any], *, url: str, snippet: str) -> list[WebResult]:
    def text(item: dict[str, Any], name: str) -> str:
        return said if isinstance(said := item.get(name), str) else ""

    known = (item for item in found if isinstance(item, dict))
    kept = (item for item in known if isinstance(item.get(url), str))
    return [WebResult(item[url], text(item, "title"), text(item, snippet)) for item in kept]


# SearXNG's JSON interface: https://docs.searxng.org/dev/search_api.html.

ANSWER_BYTES = 4 << 20
_OK = 200
_FORBIDDEN = 403
_TOO_MANY = 429


@dataclass(frozen=True, slots=True)
class SearxngEngine:
    """Asks the server that the user named, and nobody else."""

    url: str
    seconds: float
    open_fetcher: Callable[[Limits], Fetcher]

    async def search(self, query: str, *, results: int) -> list[WebResult]:
        async with self.open_fetcher(Limits(self.seconds, ANSWER_BYTES)) as fetcher:
            address = f"{self.url.rstrip('/')}/search?{urlencode({'q': query, 'format': 'json'})}"
            answer = await fetcher.get(address, accept="application/json", trust="server")
        server = f"the SearXNG server at {self.url} answered"
        if answer.status != _OK:
            raise WebSearchError(
                f"{server} with status {answer.status}", hint=_ADVICE.get(answer.status)
            )
        hint = "is web.url the address of a SearXNG server, without /search?"
        try:
            said = json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise WebSearchError(f"{server} with no JSON", hint=hint) from error
        found = said.get("results") if isinstance(said, dict) else None
        if not isinstance(found, list):
            raise WebSearchError(f"{server} with JSON without results", hint=hint)
        return _results(found, url="url", snippet="content")[:results]


_ADVICE = {
    _FORBIDDEN: "allow the format in the server's settings.yml: search.formats: [html, json]",
    _TOO_MANY: "the server limits how often it is asked; wait, or use another one",
}
