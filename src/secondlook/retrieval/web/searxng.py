"""SearXNG's JSON interface: https://docs.searxng.org/dev/search_api.html."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from secondlook.errors import WebSearchError
from secondlook.retrieval.web.fetch import Fetcher, Limits
from secondlook.retrieval.web.port import WebResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.retrieval.web.fetch import Fetched

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
        return self._results(self._json(answer))[:results]

    def _json(self, answer: Fetched) -> Any:
        if answer.status != _OK:
            raise WebSearchError(
                f"the SearXNG server at {self.url} answered with status {answer.status}",
                hint=_ADVICE.get(answer.status),
            )
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise self._nonsense("no JSON") from error

    def _results(self, answer: Any) -> list[WebResult]:
        found = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(found, list):
            raise self._nonsense("JSON without results")
        usable = (_result(item) for item in found)
        return [result for result in usable if result is not None]

    def _nonsense(self, what: str) -> WebSearchError:
        return WebSearchError(
            f"the SearXNG server at {self.url} answered with {what}",
            hint="is web.url the address of a SearXNG server, without /search?",
        )


_ADVICE = {
    _FORBIDDEN: "allow the format in the server's settings.yml: search.formats: [html, json]",
    _TOO_MANY: "the server limits how often it is asked; wait, or use another one",
}


def _result(item: Any) -> WebResult | None:
    if not isinstance(item, dict) or not isinstance(item.get("url"), str):
        return None
    title, snippet = (item.get(name) for name in ("title", "content"))
    return WebResult(
        url=item["url"],
        title=title if isinstance(title, str) else "",
        snippet=snippet if isinstance(snippet, str) else "",
    )
