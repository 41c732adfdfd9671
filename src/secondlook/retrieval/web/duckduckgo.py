"""DuckDuckGo, through the package `ddgs`: there is no official interface."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.errors import WebSearchError
from secondlook.retrieval.web.aside import aside
from secondlook.retrieval.web.port import WebResult

if TYPE_CHECKING:
    from collections.abc import Callable

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
        usable = (_result(item) for item in found)
        return [result for result in usable if result is not None][:results]

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
            "searching with DuckDuckGo needs the package ddgs",
            hint="pip install 'secondlook[web]'",
        ) from error
    return DDGS(timeout=max(1, round(seconds)))


def _result(item: Any) -> WebResult | None:
    if not isinstance(item, dict) or not isinstance(item.get("href"), str):
        return None
    return WebResult(
        url=item["href"], title=str(item.get("title") or ""), snippet=str(item.get("body") or "")
    )
