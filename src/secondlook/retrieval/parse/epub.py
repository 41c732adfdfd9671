"""EPUB: the chapters in the order of the spine, as one document with their headings."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from secondlook.errors import Damaged, Encrypted
from secondlook.retrieval.parse.charset import decode
from secondlook.retrieval.parse.compose import Composer
from secondlook.retrieval.parse.html import declared_charset, write_html
from secondlook.retrieval.parse.packed import Package, child_text, local, package

if TYPE_CHECKING:
    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_CHAPTER_TYPES = frozenset(("application/xhtml+xml", "text/html", "text/x-oeb1-document"))
_FONT_MANGLING = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_ENCRYPTION = "META-INF/encryption.xml"


def parse_epub(source: Source) -> Extracted:
    with package(source) as parts:
        _refuse_locked(parts)
        opf_name = _opf_name(parts)
        opf = parts.xml(opf_name)
        composer = Composer(source.budget)
        chapters = _spine(opf, posixpath.dirname(opf_name))
        missing = [name for name in chapters if name not in parts.names]
        for name in chapters:
            if name in parts.names:
                _write_chapter(parts, name, composer, source)
        if missing:
            composer.about.notes.append(f"chapters missing from the file: {len(missing)}")
        composer.about.title = child_text(opf, "title")
        composer.about.author = child_text(opf, "creator")
        composer.about.date = child_text(opf, "date")
        return composer.finish("epub")


def _refuse_locked(parts: Package) -> None:
    """Copy protection encrypts chapters; scrambled fonts are common and harmless."""
    root = parts.xml(_ENCRYPTION)
    for item in root.iter() if root is not None else ():
        if local(item) == "EncryptionMethod" and item.get("Algorithm") not in _FONT_MANGLING:
            raise Encrypted("the book is copy protected (DRM)")


def _opf_name(parts: Package) -> str:
    container = parts.xml("META-INF/container.xml")
    for item in container.iter() if container is not None else ():
        if local(item) == "rootfile" and item.get("full-path") in parts.names:
            return str(item.get("full-path"))
    raise Damaged("the book has no table of its parts (OPF)")


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


def _write_chapter(parts: Package, name: str, composer: Composer, source: Source) -> None:
    data = parts.read(name)
    text, _ = decode(data, declared=declared_charset(data))
    write_html(text, composer, source, book=True)
