"""A small web on loopback: a search engine of SearXNG's form over a stated corpus, and its pages.

Every document of the corpus is a page with a title, its text and the furniture that pages have
around it. `/search?q=...&format=json` answers as a SearXNG server does
(https://docs.searxng.org/dev/search_api.html), ranked by BM25 over the product's own terms. So
what looking on the web costs and buys can be measured without the web, and again tomorrow.

    python -m benchmarks.eval_web_server CORPUS... [--port 8899]

CORPUS is a folder that holds `corpus.jsonl[.gz]`, or such a file.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import math
import threading
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

import numpy as np

from secondlook.retrieval.outline import sentence_starts
from secondlook.retrieval.terms import query_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

PORT = 8899
"""Fixed, for the address of a page is part of what is remembered about it from run to run."""
EACH_PAGE = 10
"""Results that one answer holds, as a SearXNG server gives about that many from one engine."""
_LONGEST_QUERY = 2000
_MOST_REQUESTS = 32
_LAST_PAGE = 10
_SECONDS = 10.0
_LONGEST_SNIPPET = 200
_SATURATION, _LENGTH_SHARE = 1.2, 0.75
_RELATED = 3


@dataclass(frozen=True, slots=True)
class Page:
    id: str
    title: str
    text: str


def read_pages(path: Path) -> list[Page]:
    """Every document of a corpus: `id`, `title` and `text` on each line."""
    file = _corpus_file(path)
    with (
        gzip.open(file, "rt", encoding="utf-8")
        if file.suffix == ".gz"
        else file.open(encoding="utf-8") as lines
    ):
        rows = [json.loads(line) for line in lines if line.strip()]
    return [Page(str(row["id"]), row.get("title") or "", row["text"]) for row in rows]


def _corpus_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    held = [path / name for name in ("corpus.jsonl", "corpus.jsonl.gz")]
    return next((file for file in held if file.is_file()), held[0])


class WordIndex:
    """BM25 (k1 1.2, b 0.75) over titles and texts, with the terms that a library's index uses."""

    def __init__(self, pages: Sequence[Page], *, language: str = "english") -> None:
        self._language = language
        self._count = len(pages)
        self._postings: dict[str, tuple[array[int], array[int]]] = defaultdict(
            lambda: (array("l"), array("l"))
        )
        lengths = [self._take(at, page) for at, page in enumerate(pages)]
        mean = max(1.0, sum(lengths) / max(1, len(lengths)))
        relative = np.array(lengths, dtype=np.float64) / mean
        self._damping = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * relative)

    def _take(self, at: int, page: Page) -> int:
        counts = Counter(terms(f"{page.title}\n{page.text}", self._language))
        for term, times in counts.items():
            where, how_often = self._postings[term]
            where.append(at)
            how_often.append(times)
        return counts.total()

    def best(self, query: str, *, most: int) -> list[tuple[int, float]]:
        """Places of the pages that share a word with the query, best first, with their scores."""
        scores = np.zeros(self._count)
        # Sorted: sums of floats depend on their order, that of a set on the process.
        for term in sorted(set(query_terms(query, self._language))):
            self._add(term, scores)
        order = np.argsort(-scores, kind="stable")[:most]
        return [(int(at), float(scores[at])) for at in order if scores[at] > 0]

    def _add(self, term: str, scores: NDArray[np.float64]) -> None:
        if term not in self._postings:
            return
        where, times = (np.array(values, dtype=np.int64) for values in self._postings[term])
        rarity = math.log(1 + (self._count - len(where) + 0.5) / (len(where) + 0.5))
        scores[where] += rarity * times * (_SATURATION + 1) / (times + self._damping[where])


class CorpusServer:
    """Use it as a context manager: it listens on loopback from `with` to the end of the block."""

    def __init__(self, pages: Iterable[Page], *, port: int = 0) -> None:
        self._pages = list(pages)
        self._places = {page.id: at for at, page in enumerate(self._pages)}
        self._index = WordIndex(self._pages)
        self._counts: Counter[str] = Counter()
        self._counting = threading.Lock()
        self._server = _Server(port, self)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> dict[str, int]:
        """How many searches were answered and pages given so far."""
        with self._counting:
            return dict(self._counts)

    def __len__(self) -> int:
        return len(self._pages)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def search(self, query: str, *, page: int = 1) -> dict[str, Any]:
        """What a SearXNG server answers."""
        self._count("searches")
        ranked = self._index.best(query, most=EACH_PAGE * page)
        shown = ranked[EACH_PAGE * (page - 1) :]
        return {
            "query": query,
            "number_of_results": len(ranked),
            "results": [
                self._result(self._pages[at], score, query, place)
                for place, (at, score) in enumerate(shown, EACH_PAGE * (page - 1) + 1)
            ],
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": [],
        }

    def _result(self, page: Page, score: float, query: str, place: int) -> dict[str, Any]:
        return {
            "url": f"{self.url}{_path(page)}",
            "title": page.title,
            "content": snippet(page.text, query),
            "engine": "corpus",
            "engines": ["corpus"],
            "positions": [place],
            "category": "general",
            "score": round(score, 6),
        }

    def page(self, key: str) -> str | None:
        """The HTML of one document; None where there is no such document."""
        at = self._places.get(key)
        if at is None:
            return None
        self._count("pages")
        related = [
            self._pages[(at + away) % len(self._pages)]
            for away in range(1, min(_RELATED, len(self._pages) - 1) + 1)
        ]
        return _document(self._pages[at], related)

    def _count(self, what: str) -> None:
        with self._counting:
            self._counts[what] += 1


def _path(page: Page) -> str:
    return f"/page/{quote(page.id, safe='')}"


def snippet(text: str, query: str) -> str:
    """The sentence that shares most words with the query, cut to the length of a snippet."""
    starts = [0, *sentence_starts(text)]
    sentences = [text[a:b].strip() for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    asked = set(query_terms(query))
    best = max(sentences, key=lambda sentence: len(asked & set(terms(sentence))))
    return best if len(best) <= _LONGEST_SNIPPET else best[: _LONGEST_SNIPPET - 1].rstrip() + "…"


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


def _document(page: Page, related: Sequence[Page]) -> str:
    paragraphs = [line.strip() for line in page.text.splitlines() if line.strip()]
    links = (f'<li><a href="{_path(one)}">{html.escape(one.title)}</a></li>' for one in related)
    return _TEMPLATE.format(
        title=html.escape(page.title or page.id),
        paragraphs="\n".join(f"<p>{html.escape(line)}</p>" for line in paragraphs),
        related="".join(links),
    )


class _Server(ThreadingHTTPServer):
    """As many requests at once as are useful, and no more; none of them keeps it from ending."""

    daemon_threads = True
    request_queue_size = _MOST_REQUESTS

    def __init__(self, port: int, corpus: CorpusServer) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.corpus = corpus
        self._slots = threading.BoundedSemaphore(_MOST_REQUESTS)

    def process_request(self, request: Any, client_address: Any) -> None:
        # Who waits here waits in the queue of the socket, at most as long as a request may take.
        if not self._slots.acquire(timeout=_SECONDS):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SECONDS

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path == "/search":
            self._search(parse_qs(address.query))
        elif address.path.startswith("/page/"):
            self._page(unquote(address.path.removeprefix("/page/")))
        elif address.path == "/healthz":
            self._send(HTTPStatus.OK, "OK", "text/plain")
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")

    def _search(self, given: dict[str, list[str]]) -> None:
        query, kind = (given.get(name, [""])[0] for name in ("q", "format"))
        number = given.get("pageno", ["1"])[0]
        if not query.strip() or len(query) > _LONGEST_QUERY:
            self._refuse(HTTPStatus.BAD_REQUEST, "the query is empty or too long")
        elif kind != "json":
            self._refuse(HTTPStatus.FORBIDDEN, "this server answers with format=json alone")
        elif not number.isdecimal() or not 1 <= int(number) <= _LAST_PAGE:
            self._refuse(HTTPStatus.BAD_REQUEST, "there is no such page of results")
        else:
            found = self.server.corpus.search(query, page=int(number))
            self._send(HTTPStatus.OK, json.dumps(found), "application/json")

    def _page(self, key: str) -> None:
        page = self.server.corpus.page(key)
        if page is None:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")
        else:
            self._send(HTTPStatus.OK, page)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._send(status, why, "text/plain")

    def _send(self, status: HTTPStatus, text: str, kind: str = "text/html") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def all_pages(paths: Iterable[Path]) -> Iterator[Page]:
    """Of several corpora; a document that an earlier one holds is not served twice."""
    seen: set[str] = set()
    for path in paths:
        for page in read_pages(path):
            if page.id not in seen:
                seen.add(page.id)
                yield page


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", nargs="+", type=Path, help="folders or files")
    parser.add_argument("--port", type=int, default=PORT)
    options = parser.parse_args()
    with CorpusServer(all_pages(options.corpus), port=options.port) as server:
        print(f"{len(server)} pages at {server.url}; Ctrl-C ends it", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("ended")


if __name__ == "__main__":
    main()
