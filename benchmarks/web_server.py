"""A small web on loopback: a search engine of SearXNG's form over a stated corpus, and its pages.

Every document of the corpus is a page with a title, its text and the furniture that pages have
around it. `/search?q=...&format=json` answers as a SearXNG server does
(https://docs.searxng.org/dev/search_api.html), ranked by BM25 over the product's own terms. So
what looking on the web costs and buys can be measured without the web, and again tomorrow.
"""

from __future__ import annotations

import html
import json
import math
import threading
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

import numpy as np

from secondlook.retrieval.outline import sentence_starts
from secondlook.retrieval.terms import query_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PORT = 8899
"""Fixed, for the address of a page is part of what is remembered about it from run to run."""
MOST = 10
"""Results that one answer holds, as a SearXNG server gives about that many from one engine."""
_LONGEST_SNIPPET = 200
_SATURATION, _LENGTH_SHARE = 1.2, 0.75
_RELATED = 3
_TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>main {{ max-width: 40em }}</style><script>window.visits = 1;</script></head>
<body>
<header><p>The corpus, page by page</p></header>
<nav><ul><li><a href="/">Home</a></li><li><a href="/search">Search</a></li></ul></nav>
<main><article><h1>{title}</h1>
{paragraphs}
</article></main>
<aside><h2>Read also</h2><ul>{related}</ul></aside>
<footer><p>Pages of a corpus, served for measurements. No cookies are set.</p></footer>
</body></html>
"""


@dataclass(frozen=True, slots=True)
class Page:
    id: str
    title: str
    text: str

    @property
    def path(self) -> str:
        return f"/page/{quote(self.id, safe='')}"


class WordIndex:
    """BM25 (k1 1.2, b 0.75) over titles and texts, with the terms that a library's index uses."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._count = len(pages)
        self._postings: dict[str, tuple[array[int], array[int]]] = defaultdict(
            lambda: (array("l"), array("l"))
        )
        lengths = []
        for at, page in enumerate(pages):
            counts = Counter(terms(f"{page.title}\n{page.text}"))
            for term, times in counts.items():
                self._postings[term][0].append(at)
                self._postings[term][1].append(times)
            lengths.append(counts.total())
        relative = np.array(lengths, dtype=np.float64) / max(1.0, float(np.mean(lengths or [1])))
        self._damping = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * relative)

    def best(self, query: str, *, most: int) -> list[tuple[int, float]]:
        """Places of the pages that share a word with the query, best first, with their scores."""
        scores = np.zeros(self._count)
        # Sorted: sums of floats depend on their order, that of a set on the process.
        for term in sorted(set(query_terms(query)) & self._postings.keys()):
            where, times = (np.array(values, dtype=np.int64) for values in self._postings[term])
            rarity = math.log(1 + (self._count - len(where) + 0.5) / (len(where) + 0.5))
            scores[where] += rarity * times * (_SATURATION + 1) / (times + self._damping[where])
        order = np.argsort(-scores, kind="stable")[:most]
        return [(int(at), float(scores[at])) for at in order if scores[at] > 0]


def snippet(text: str, query: str) -> str:
    """The sentence that shares most words with the query, cut to the length of a snippet."""
    starts = [0, *sentence_starts(text)]
    sentences = [text[a:b].strip() for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    asked = set(query_terms(query))
    best = max(sentences, key=lambda sentence: len(asked & set(terms(sentence))))
    return best if len(best) <= _LONGEST_SNIPPET else best[: _LONGEST_SNIPPET - 1].rstrip() + "…"


class CorpusServer(ThreadingHTTPServer):
    """Use it as a context manager: it listens on loopback from `with` to the end of the block."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, pages: Iterable[Page], *, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.port = int(self.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.pages = list(pages)
        self._places = {page.id: at for at, page in enumerate(self.pages)}
        self._index = WordIndex(self.pages)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def search(self, query: str) -> dict[str, Any]:
        """What a SearXNG server answers."""
        ranked = self._index.best(query, most=MOST)
        found = [(self.pages[at], score) for at, score in ranked]
        return {
            "query": query,
            "number_of_results": len(ranked),
            "results": [
                {
                    "url": f"{self.url}{page.path}",
                    "title": page.title,
                    "content": snippet(page.text, query),
                    "engine": "corpus",
                    "score": round(score, 6),
                }
                for page, score in found
            ],
            "unresponsive_engines": [],
        }

    def page(self, key: str) -> str | None:
        """The HTML of one document; None where there is no such document."""
        at = self._places.get(key)
        if at is None:
            return None
        page, others = self.pages[at], self.pages[at + 1 :] + self.pages[:at]
        paragraphs = [line.strip() for line in page.text.splitlines() if line.strip()]
        return _TEMPLATE.format(
            title=html.escape(page.title or page.id),
            paragraphs="\n".join(f"<p>{html.escape(line)}</p>" for line in paragraphs),
            related="".join(
                f'<li><a href="{one.path}">{html.escape(one.title)}</a></li>'
                for one in others[:_RELATED]
            ),
        )

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are no news."""


class _Handler(BaseHTTPRequestHandler):
    server: CorpusServer
    timeout = 10.0

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == "/search":
            given = parse_qs(address.query)
            query, kind = (given.get(name, [""])[0] for name in ("q", "format"))
            if not query.strip():
                self._send(HTTPStatus.BAD_REQUEST, "the query is empty", "text/plain")
            elif kind != "json":
                self._send(HTTPStatus.FORBIDDEN, "only format=json is answered", "text/plain")
            else:
                found = json.dumps(self.server.search(query))
                self._send(HTTPStatus.OK, found, "application/json")
            return
        key = unquote(address.path.removeprefix("/page/"))
        page = self.server.page(key) if address.path.startswith("/page/") else None
        if page is None:
            self._send(HTTPStatus.NOT_FOUND, "there is no such page", "text/plain")
        else:
            self._send(HTTPStatus.OK, page)

    def _send(self, status: HTTPStatus, text: str, kind: str = "text/html") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""
