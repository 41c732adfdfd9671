"""The page at an address that a person names and, where they ask for it, the pages of the same site
that it links to: bounded, one after the other, and none that the site's robots.txt forbids."""

from __future__ import annotations

import asyncio
import html
import mimetypes
import re
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote
from urllib.robotparser import RobotFileParser

from secondlook.errors import WebSearchError
from secondlook.retrieval.parse.source import BINARY_DOCUMENTS, IMAGES, TABLES, TEXT_KINDS, as_set
from secondlook.retrieval.web.fetch import USER_AGENT, Fetcher, Limits, as_utf8, parse_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx

    from secondlook.retrieval.web.fetch import Fetched

MOST_DEPTH: Final = 5
PAGE_LIMITS: Final = Limits(seconds=30.0, body_bytes=50 << 20)
_MOST_PAGES, _MOST_BYTES, _MOST_SECONDS = 200, 200 << 20, 900.0  # of one site
_MOST_LINKS = 20_000
_LONGEST_PAUSE = 5.0  # between two pages, where robots.txt asks for one
_OK = 200
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_ARCHIVES = as_set(".zip .tar .gz .tgz .bz2 .xz")
_READ = (frozenset(TEXT_KINDS) | BINARY_DOCUMENTS | TABLES) - IMAGES - _ARCHIVES
_LINK = re.compile(
    r"<(a|area|base)\s(?:[^<>]{0,500}?\s)?href\s*=\s*"
    r"(?:\"([^\"<>]{0,1000})\"|'([^'<>]{0,1000})'|([^\s\"'<>]{1,1000}))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Page:
    url: str  # after all redirects
    file: Path | None = None  # its bytes, under a name that tells the parsers its kind
    problem: str = ""


async def read_site(
    address: str,
    depth: int,
    fetcher: Fetcher,
    folder: Path,
    *,
    looked: Callable[[int, str], None] = lambda _number, _url: None,
) -> list[Page]:
    """The page at `address`, and what it links to so many steps deep, as files in `folder`."""
    return await _Site(fetcher, folder).read(parse_url(address), min(depth, MOST_DEPTH), looked)


class _Site:
    def __init__(self, fetcher: Fetcher, folder: Path) -> None:
        self._fetcher, self._folder = fetcher, folder
        self._rules: dict[str, RobotFileParser] = {}
        self._known: set[str] = set()
        self._origin: tuple[str, int | None] | None = None  # once the first page is there
        self._bytes = self._read = 0

    async def read(
        self, first: httpx.URL, depth: int, looked: Callable[[int, str], None]
    ) -> list[Page]:
        waiting, pages = deque([(first, 0)]), list[Page]()
        self._known.add(_key(first))
        deadline = time.monotonic() + _MOST_SECONDS
        while waiting:
            url, steps = waiting.popleft()
            if reason := self._limit(deadline):
                left = f"{reason}; {len(waiting) + 1:,} more pages that are linked were left out"
                return [*pages, Page(_key(url), problem=left)]
            looked(self._read, str(url))
            try:
                links = await self._take(url, pages, is_linked=steps > 0)
            except _NoDocument as error:
                if not steps:
                    pages.append(Page(_key(url), problem=error.message))
            except WebSearchError as error:
                hint = f" ({error.hint})" if error.hint else ""
                pages.append(Page(_key(url), problem=f"{error.message}{hint}"))
            else:
                for link in links if steps < depth else ():
                    if _site_of(link) == self._origin and _key(link) not in self._known:
                        self._known.add(_key(link))
                        waiting.append((link, steps + 1))
        return pages

    async def _take(
        self, url: httpx.URL, pages: list[Page], *, is_linked: bool
    ) -> Iterator[httpx.URL]:
        """Adds the page to `pages`, and gives what it links to."""
        await self._admit(url, pause=is_linked)
        fetched = await self._fetcher.get(str(url))
        final = parse_url(fetched.url)
        self._origin = self._origin or _site_of(final)
        if final != url:
            if is_linked and (_site_of(final) != self._origin or _key(final) in self._known):
                return iter(())  # it leads to another site, or to a page that is read already
            await self._admit(final)
        self._known.add(_key(final))
        pages.append(self._stored(fetched, final))
        return _links(fetched, final) if fetched.content_type in _HTML else iter(())

    def _limit(self, deadline: float) -> str:
        if self._read >= _MOST_PAGES:
            return f"{_MOST_PAGES} pages were read"
        if self._bytes >= _MOST_BYTES:
            return f"{_MOST_BYTES >> 20} MB were read"
        return (
            f"{_MOST_SECONDS / 60:.0f} minutes have passed" if time.monotonic() > deadline else ""
        )

    async def _admit(self, url: httpx.URL, *, pause: bool = False) -> None:
        origin = str(url.copy_with(raw_path=b"/robots.txt"))
        rules = self._rules.get(origin)
        if rules is None:
            self._rules[origin] = rules = RobotFileParser()
            said = await self._fetcher.get(origin)
            text = as_utf8(said.body[: 1 << 19], "").decode("utf-8-sig", "replace")
            if said.status != _OK:
                # A site without rules allows everything; one that cannot say them, nothing.
                is_without = 400 <= said.status < 500  # noqa: PLR2004
                text = "" if is_without else "User-agent: *\nDisallow: /"
            rules.parse(text.splitlines())
        if not rules.can_fetch(USER_AGENT, str(url)):
            raise WebSearchError(
                "the site's robots.txt asks programs not to read it",
                hint="save the page in your browser and add the file",
            )
        if pause and (seconds := rules.crawl_delay(USER_AGENT)):
            await asyncio.sleep(min(float(seconds), _LONGEST_PAUSE))

    def _stored(self, fetched: Fetched, url: httpx.URL) -> Page:
        if fetched.status != _OK:
            raise WebSearchError(f"the server answered with status {fetched.status}")
        if fetched.is_cut:
            raise WebSearchError(f"it has more than {PAGE_LIMITS.body_bytes >> 20} MB")
        if not fetched.body.strip():
            raise WebSearchError("the page is empty")
        suffix = _suffix(fetched.content_type, url)
        if suffix not in _READ:
            raise _NoDocument(f"it is {fetched.content_type[:80]!r}, which is no document")
        is_text = suffix in TEXT_KINDS
        body = as_utf8(fetched.body, fetched.charset) if is_text else fetched.body
        self._read += 1
        self._bytes += len(fetched.body)
        place = self._folder / str(self._read)
        place.mkdir()
        stem = re.sub(r"[^\w-]+", " ", PurePosixPath(unquote(url.path)).stem).strip()[:80]
        file = place / f"{stem or url.host}{suffix}"
        file.write_bytes(body)
        return Page(_key(url), file)


class _NoDocument(WebSearchError):
    """A picture, a film: passed over where it is linked, an error where it was named."""


def _suffix(kind: str, url: httpx.URL) -> str:
    """Of a file of that kind. An address without one that we know goes by what the server says."""
    if kind in _HTML:
        return ".html"
    own = PurePosixPath(url.path).suffix.lower()
    told = mimetypes.guess_extension(kind) or ""
    is_vague = kind in {"", "text/plain", "application/octet-stream", "binary/octet-stream"}
    return own if own in _READ and (is_vague or told not in _READ) else told


def _may_be_read(url: httpx.URL) -> bool:
    kind = (mimetypes.guess_type(url.path)[0] or "text/html").partition("/")[0]
    suffix = PurePosixPath(url.path).suffix.lower()
    return kind in {"text", "application"} and suffix not in {".css", ".js", *_ARCHIVES}


def _links(fetched: Fetched, page: httpx.URL) -> Iterator[httpx.URL]:
    text = as_utf8(fetched.body, fetched.charset).decode("utf-8-sig", "replace")
    base = page
    for number, found in enumerate(_LINK.finditer(text)):
        if number == _MOST_LINKS:
            return
        tag, *values = found.groups()
        try:
            link = parse_url(html.unescape(next(filter(None, values), "")).strip(), base=base)
        except WebSearchError:
            continue
        if tag.lower() == "base":
            base = link
        elif link.scheme in {"http", "https"} and _may_be_read(link):
            yield link


def _site_of(url: httpx.URL) -> tuple[str, int | None]:
    """A site is a host; whether it is asked with or without encryption does not matter."""
    return url.host, url.port


def _key(url: httpx.URL) -> str:
    """The address as it is kept: `!/` separates a member from its archive there."""
    return str(url).replace("!", "%21")
