"""Search, fetch, read, cut, rank: from a question to passages of web pages."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from secondlook.errors import SecondlookError, WebSearchError
from secondlook.retrieval.web.aside import aside
from secondlook.retrieval.web.cut import Cutter, snippet
from secondlook.retrieval.web.guard import parse_url
from secondlook.retrieval.web.rank import best_first
from secondlook.retrieval.web.read import ACCEPT, PageReader, check_readable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.retrieval.web.fetch import Fetcher, Limits
    from secondlook.retrieval.web.port import SearchEngine, WebPassage, WebResult

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
    limits: Limits
    """Of one page."""

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
        pages = await self._read_all(results)
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

    async def _read_all(self, results: Sequence[WebResult]) -> list[_Page]:
        """One entry per result, in order. What takes too long is left behind, as its snippet."""
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
                await _cancel(tasks)
        late = "there was no time left to read it"
        return [
            _quoted(result, late) if task.cancelled() else task.result()
            for task, result in zip(tasks, results, strict=True)
        ]

    async def _read_or_quote(
        self, result: WebResult, fetcher: Fetcher, turns: asyncio.Semaphore
    ) -> _Page:
        try:
            async with turns:
                return _Page(await self._read(result, fetcher))
        except SecondlookError as error:
            return _quoted(result, error.message)
        except Exception as error:  # noqa: BLE001 - one bad page must not spoil the others
            return _quoted(result, f"{type(error).__name__}: {error}"[:300])

    async def _read(self, result: WebResult, fetcher: Fetcher) -> list[WebPassage]:
        fetched = await fetcher.get(result.url, accept=ACCEPT)
        check_readable(fetched)
        extracted = await aside(partial(self._reader.read, fetched))
        return await aside(partial(self._cutter.page, fetched.url, extracted, result))


@dataclass(frozen=True, slots=True)
class _Page:
    """What became of one result."""

    passages: list[WebPassage]
    why: str = ""
    """Why it was not read."""


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


async def _cancel(tasks: Sequence[asyncio.Task[_Page]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
