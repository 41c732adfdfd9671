"""HTML as a stream of tags: no tree is built, so depth costs nothing."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from secondlook.errors import Damaged, Encrypted
from secondlook.retrieval.parse.compose import Composer, one_line
from secondlook.retrieval.parse.source import Package, as_set, child_text, decode, local, package
from secondlook.retrieval.parse.text import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]{2,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"^\s*<\?xml[^>]{0,200}encoding\s*=\s*[\"']([\w-]{2,40})")
_FEED_CHARS = 1 << 18
_DROPPED = as_set(
    "script style noscript template svg math-annotation iframe object embed nav "
    "button select datalist canvas audio video form dialog menu"
)
_DROPPED_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "menu", "menubar"))
_BLOCKS = as_set(
    "address article blockquote body center dd details div dl dt fieldset figcaption "
    "figure footer header hgroup hr html li main ol p section summary table tbody "
    "tfoot thead ul caption aside title option legend"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_VOID = as_set("area base br col embed hr img input link meta param source track wbr")
_DATE_NAMES = (
    "article:published_time", "datepublished", "dc.date", "dcterms.created", "dcterms.issued",
    "dcterms.date", "citation_publication_date", "date", "pubdate", "og:published_time",
)  # fmt: skip
_AUTHOR_NAMES = ("author", "citation_author", "dc.creator", "dcterms.creator", "article:author")
_TITLE_NAMES = ("citation_title", "og:title", "dc.title")


class PageWriter:
    def __init__(self, composer: Composer, *, keep_furniture: bool = False) -> None:
        self._composer = composer
        self._keep_furniture = keep_furniture
        self._words: list[str] = []
        self.title: list[str] = []
        self._skipping, self._skip_tag = 0, ""
        self._in_article = self._heading = self._verbatim = 0
        self._item = ""
        self._row: list[str] | None = None
        self._in_title = False
        self.meta: dict[str, str] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._skipping:
            self._skipping += tag == self._skip_tag
        elif self._is_dropped(tag, attributes):
            self._flush()
            self._skipping, self._skip_tag = 1, tag
        elif tag == "meta":
            names = (attributes.get(key) for key in ("name", "property", "itemprop"))
            name = next(filter(None, names), None)
            if name and attributes.get("content"):
                self.meta.setdefault(name.lower(), attributes["content"])
        elif tag == "title":
            self._in_title = True
        else:
            self._open(tag, attributes)

    def end(self, tag: str) -> None:
        if self._skipping:
            self._skipping -= tag == self._skip_tag
            return
        if tag in {"article", "main"}:
            self._in_article = max(0, self._in_article - 1)
        if tag == "title":
            self._in_title = False
        elif tag in {"td", "th"} and self._row is not None:
            self._row.append(one_line("".join(self._words)))
            self._words.clear()
        elif tag == "tr":
            cells, self._row = self._row, None
            self._flush()
            if any(cells or ()):
                self._composer.row(cells or ())
        elif tag in _HEADINGS or tag == "pre":
            self._flush()
            self._heading = 0
            self._verbatim = max(0, self._verbatim - (tag == "pre"))
        elif tag in _BLOCKS:
            self._break(ends_lines=tag == "table")

    def data(self, words: str) -> None:
        if self._in_title:
            self.title.append(words)
        elif not self._skipping:
            self._words.append(words)

    def comment(self, *_: object) -> None:
        """Not part of the text."""

    pi = comment

    def close(self) -> None:
        self._flush()

    def _is_dropped(self, tag: str, attributes: Mapping[str, str]) -> bool:
        if tag in _VOID or tag in {"body", "html", "main", "article"}:
            return False
        if tag in _DROPPED or "hidden" in attributes or attributes.get("aria-hidden") == "true":
            return tag not in _HEADINGS or "hidden" in attributes
        if self._keep_furniture or self._in_article:
            return False
        return tag in {"header", "footer", "aside"} or attributes.get("role") in _DROPPED_ROLES

    def _open(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._in_article += tag in {"article", "main"}
        if tag == "br":
            self._words.append("\n" if self._verbatim else " ")
        elif tag == "img" and attributes.get("alt"):
            self._words.append(f" {attributes['alt']} ")
        elif tag in {"tr", "pre"} or tag in _HEADINGS:
            self._flush()
            self._row = [] if tag == "tr" else self._row
            self._heading = _HEADINGS.get(tag, self._heading)
            self._verbatim += tag == "pre"
        elif tag in _BLOCKS:
            self._break(ends_lines=tag == "table")
            self._item = "- " if tag == "li" else self._item

    def _break(self, *, ends_lines: bool = False) -> None:
        """The end of a block; inside a table cell only a blank."""
        if self._row is None:
            self._flush()
            if ends_lines:
                self._composer.end_lines()
        else:
            self._words.append(" ")

    def _flush(self) -> None:
        text = "".join(self._words)
        self._words.clear()
        if not text.strip():
            return
        if self._heading:
            self._composer.heading(self._heading, text)
        elif self._verbatim:
            self._composer.block(text)
        elif self._item:
            self._composer.line(self._item + one_line(text))
        else:
            self._composer.paragraph(text)
        self._item = ""


def write_html(text: str, composer: Composer, source: Source, *, book: bool = False) -> PageWriter:
    from lxml import etree

    writer = PageWriter(composer, keep_furniture=book)
    target: Any = writer  # it receives str alone, where the declared protocol allows bytes
    # huge_tree: libxml2 otherwise stops at 256 levels and loses the rest of the page.
    parser = etree.HTMLParser(target=target, encoding="utf-8", no_network=True, huge_tree=True)
    for begin in range(0, len(text), _FEED_CHARS):
        source.budget.beat()
        parser.feed(text[begin : begin + _FEED_CHARS].encode("utf-8", "replace"))
    try:
        parser.close()
    except etree.XMLSyntaxError:  # nothing but blanks or comments
        writer.close()
    return writer


def declared_charset(head: bytes) -> str | None:
    match = _CHARSET.search(head[:4096]) or _XML_ENCODING.match(head)
    if match is None:
        return None
    name = match.group(1).decode("ascii").lower()
    # As browsers do: what calls itself latin-1 is Windows' superset of it.
    return "cp1252" if name in {"iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"} else name


def parse_html(source: Source) -> Extracted:
    charset = declared_charset(source.head)
    # Sixteen-bit text cannot be declared in a readable tag: such a declaration is wrong.
    declared = None if charset and charset.startswith("utf-16") else charset
    text, notes = read_text(source, declared=declared)
    for book in (False, True):  # a page that is nothing but navigation still says something
        composer = Composer(source.budget)
        writer = write_html(text, composer, source, book=book)
        if composer.length:
            break
    about = composer.about
    about.notes.extend(notes)
    about.title = _first(writer.meta, _TITLE_NAMES) or one_line("".join(writer.title))
    about.author = _first(writer.meta, _AUTHOR_NAMES)
    about.date = _first(writer.meta, _DATE_NAMES)
    return composer.finish("html")


def _first(found: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((found[name] for name in names if name in found), None)


# EPUB: the chapters in the order of the spine, as one document with their headings.

_CHAPTER_TYPES = frozenset(("application/xhtml+xml", "text/html", "text/x-oeb1-document"))
_FONT_MANGLING = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


def parse_epub(source: Source) -> Extracted:
    with package(source) as parts:
        # Copy protection encrypts chapters; scrambled fonts are common and harmless.
        for item in _elements(parts, "META-INF/encryption.xml", "EncryptionMethod"):
            if item.get("Algorithm") not in _FONT_MANGLING:
                raise Encrypted("the book is copy protected (DRM)")
        roots = _elements(parts, "META-INF/container.xml", "rootfile")
        named = [name for item in roots if (name := item.get("full-path")) in parts.names]
        if not named:
            raise Damaged("the book has no table of its parts (OPF)")
        opf, composer = parts.xml(named[0]), Composer(source.budget)
        about, missing = composer.about, 0
        for name in _spine(opf, posixpath.dirname(named[0])):
            if name in parts.names:
                data = parts.read(name)
                text, _ = decode(data, declared=declared_charset(data))
                write_html(text, composer, source, book=True)
            else:
                missing += 1
        if missing:
            about.notes.append(f"chapters missing from the file: {missing}")
        about.title, about.author = child_text(opf, "title"), child_text(opf, "creator")
        about.date = child_text(opf, "date")
        return composer.finish("epub")


def _elements(parts: Package, part: str, name: str) -> list[Any]:
    root = parts.xml(part)
    return [item for item in root.iter() if local(item) == name] if root is not None else []


def _spine(opf: Any, folder: str) -> list[str]:
    places: dict[str, str] = {}
    order: list[str] = []
    for item in opf.iter():
        if local(item) == "item" and item.get("media-type") in _CHAPTER_TYPES:
            target = unquote(item.get("href", "")).partition("#")[0]
            if "nav" not in (item.get("properties") or "").split():
                places[item.get("id", "")] = posixpath.normpath(posixpath.join(folder, target))
        elif local(item) == "itemref":
            order.append(item.get("idref", ""))
    spine = [places[key] for key in order if key in places]
    return list(dict.fromkeys(spine)) or list(places.values())
