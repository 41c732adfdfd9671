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
from urllib.parse import urlencode

from secondlook.errors import SecondlookError, SettingsError, WebSearchError
from secondlook.reading.embedders import approximate_starts
from secondlook.retrieval.chunk import DEFAULT_OPTIONS, ChunkOptions
from secondlook.retrieval.web.fetch import Fetcher, Guard, Limits, aside, parse_url
from secondlook.retrieval.web.pages import ACCEPT, Cutter, PageReader, best_first, snippet
from secondlook.retrieval.web.port import SearchEngine, WebPassage, WebResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.settings.sections import WebSettings

    _Page = tuple[list[WebPassage], str]  # what became of a result, and why it was not read

PAGES = 5  # pages that are read
_SECONDS = 10.0  # for the search, and for each page
_PAGE_LIMITS = Limits(_SECONDS, 2 << 20)  # of a larger page only the start is read


def open_web(
    settings: WebSettings,
    *,
    token_starts: Callable[[str], list[int]] | None = None,
    chunking: ChunkOptions | None = None,
    language: str = "english",
) -> WebService:
    """The web as the settings describe it. Nothing is sent before the first question. Pages are cut
    like the documents of a library: give its `token_starts`, `chunking` and `language`."""

    def open_fetcher(limits: Limits) -> Fetcher:
        return Fetcher(Guard(allow_private=settings.allow_private), limits)

    cutter = Cutter(token_starts or approximate_starts, chunking or DEFAULT_OPTIONS)
    engine = _engine(settings, open_fetcher)
    return WebService(engine, open_fetcher=open_fetcher, cutter=cutter, language=language)


def _engine(settings: WebSettings, open_fetcher: Callable[[Limits], Fetcher]) -> SearchEngine:
    if settings.url:
        return SearxngEngine(settings.url, _SECONDS, open_fetcher)
    if find_spec("ddgs") is None:
        raise SettingsError(
            "searching the web with DuckDuckGo needs the package ddgs",
            hint="pip install ddgs, or name a SearXNG server with web.url",
        )
    return DuckDuckGoEngine(_SECONDS)


_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\s]+")
_TOTAL_SHARE = 3.0  # all pages together, in times of one; what is late is left out
_MOST_PASSAGES = 40


class WebService:
    def __init__(
        self,
        engine: SearchEngine,
        *,
        open_fetcher: Callable[[Limits], Fetcher],
        cutter: Cutter,
        language: str = "english",
        limits: Limits = _PAGE_LIMITS,
    ) -> None:
        self._engine, self._open_fetcher, self._cutter = engine, open_fetcher, cutter
        self._language, self._limits = language, limits
        self._reader = PageReader(seconds=limits.seconds, body_bytes=limits.body_bytes)

    async def search(self, query: str, *, results: int) -> list[WebResult]:
        asked = _UNPRINTABLE.sub(" ", query).strip()[:400]
        return await self._engine.search(asked, results=results) if asked else []

    async def find(self, query: str) -> list[WebPassage]:
        results = _distinct(await self.search(query, results=PAGES))
        turns = asyncio.Semaphore(8)
        async with self._open_fetcher(self._limits) as fetcher:
            tasks = [
                asyncio.create_task(self._read_or_quote(result, fetcher, turns))
                for result in results
            ]
            try:
                if tasks:
                    await asyncio.wait(tasks, timeout=self._limits.seconds * _TOTAL_SHARE)
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
        # Two results may lead to the same page; one that was read counts before a snippet of it.
        kept: dict[str, list[WebPassage]] = {}
        for passages, _ in sorted(pages, key=lambda page: bool(page[1])):
            if passages:
                kept.setdefault(passages[0].document, passages)
        if pages and not kept:
            raise WebSearchError(
                f"none of the {len(pages)} pages found could be read; the first: {pages[0][1]}"
            )
        found = [passage for passages in kept.values() for passage in passages]
        return await aside(
            partial(best_first, found, query, language=self._language, keep=_MOST_PASSAGES)
        )

    async def aclose(self) -> None:
        await aside(self._reader.close)

    async def _read_or_quote(
        self, result: WebResult, fetcher: Fetcher, turns: asyncio.Semaphore
    ) -> _Page:
        try:
            async with turns:
                fetched = await fetcher.get(result.url, accept=ACCEPT)
                extracted = await aside(partial(self._reader.read, fetched))
                return await aside(partial(self._cutter.page, fetched.url, extracted, result)), ""
        except SecondlookError as error:
            return _quoted(result, error.message)
        except Exception as error:  # noqa: BLE001 - one bad page must not spoil the others
            return _quoted(result, f"{type(error).__name__}: {error}"[:300])


def _quoted(result: WebResult, why: str) -> _Page:
    return snippet(result.url, result, why), why


def _distinct(results: Sequence[WebResult]) -> list[WebResult]:
    """Each page once, and only what could be a page at all."""
    kept: dict[str, WebResult] = {}
    for result in results:
        with contextlib.suppress(WebSearchError):
            url = parse_url(result.url)
            if url.scheme in {"http", "https"} and url.host and not url.userinfo:
                kept.setdefault(str(url), replace(result, url=str(url)))
    return list(kept.values())


# DuckDuckGo, through the package `ddgs`: there is no official interface.

_GRACE_SECONDS = 1.0  # the package has a better reason to tell; ours is for when it hangs


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
        try:
            if self.client is None:
                from ddgs import DDGS

                client = DDGS(timeout=max(1, round(self.seconds)))
            else:
                client = self.client(self.seconds)
            return list(client.text(query, max_results=results, backend="duckduckgo"))
        except Exception as error:  # the package and its HTTP client raise what they like
            said = " ".join(str(error).split())[:100]
            raise WebSearchError(
                f"the search with DuckDuckGo failed: {said} ({type(error).__name__})",
                # The package says "No results found." for this as well.
                hint="it may be limiting this address; try later, or use a SearXNG server",
            ) from error


def _results(found: list[Any], *, url: str, snippet: str) -> list[WebResult]:
    kept = []
    for item in found:
        if isinstance(item, dict) and isinstance(item.get(url), str):
            said = (item.get("title"), item.get(snippet))
            title, text = (one if isinstance(one, str) else "" for one in said)
            kept.append(WebResult(item[url], title, text))
    return kept


# SearXNG's JSON interface: https://docs.searxng.org/dev/search_api.html.

_OK = 200


@dataclass(frozen=True, slots=True)
class SearxngEngine:
    url: str
    seconds: float
    open_fetcher: Callable[[Limits], Fetcher]

    async def search(self, query: str, *, results: int) -> list[WebResult]:
        async with self.open_fetcher(Limits(self.seconds, (4 << 20))) as fetcher:
            address = f"{self.url.rstrip('/')}/search?{urlencode({'q': query, 'format': 'json'})}"
            answer = await fetcher.get(address, accept="application/json", trust="server")
        server = f"the SearXNG server at {self.url} answered"
        if answer.status != _OK:
            hint = "its settings.yml must allow JSON: search.formats: [html, json]"
            raise WebSearchError(f"{server} with status {answer.status}", hint=hint)
        hint = "is web.url the address of a SearXNG server, without /search?"
        try:
            said = json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise WebSearchError(f"{server} with no JSON", hint=hint) from error
        found = said.get("results") if isinstance(said, dict) else None
        if not isinstance(found, list):
            raise WebSearchError(f"{server} with JSON without results", hint=hint)
        return _results(found, url="url", snippet="content")[:results]
