"""PowerPoint: a slide is a page; its title is a heading; speaker notes follow the slide."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged
from secondlook.retrieval.parse.compose import Composer
from secondlook.retrieval.parse.docx import describe_office
from secondlook.retrieval.parse.source import Package, attribute, local, package

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_TITLES = frozenset(("title", "ctrTitle"))
_FURNITURE = frozenset(("sldNum", "ftr", "dt", "hdr", "sldImg"))
_SHAPES = frozenset(("sp", "graphicFrame"))
_PRESENTATION = "ppt/presentation.xml"


def parse_pptx(source: Source) -> Extracted:
    with package(source) as parts:
        composer = Composer(source.budget)
        slides = list(_slides(parts))
        source.budget.spend_pages(len(slides))
        for number, name in enumerate(slides, 1):
            composer.start_page(number)
            _write_slide(parts, name, composer)
        describe_office(parts, composer)
        return composer.finish("pptx")


def _slides(parts: Package) -> Iterator[str]:
    """Names of the slides in the order in which they are shown."""
    root = parts.xml(_PRESENTATION)
    if root is None:
        raise Damaged(f"it has no slides: {_PRESENTATION} is missing")
    targets = _related(parts, _PRESENTATION)
    for slide in root.iter(f"{_P}sldId"):
        key = next((value for name, value in slide.attrib.items() if name.endswith("}id")), "")
        target = targets.get(key, ("", ""))[1]
        if target in parts.names:
            yield target


def _related(parts: Package, name: str) -> dict[str, tuple[str, str]]:
    """Relation id -> its type and the part it points to."""
    folder, base = posixpath.split(name)
    root = parts.xml(f"{folder}/_rels/{base}.rels")
    found: dict[str, tuple[str, str]] = {}
    for relation in root if root is not None else ():
        target = relation.get("Target", "")
        place = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
        kind = relation.get("Type", "").rpartition("/")[2]
        found[relation.get("Id", "")] = (kind, posixpath.normpath(place))
    return found


def _write_slide(parts: Package, name: str, composer: Composer) -> None:
    root = parts.xml(name)
    shapes = list(_shapes(root))
    shapes.sort(key=lambda shape: not _is_title(shape))  # the title is read first, wherever it is
    for shape in shapes:
        _write_shape(shape, composer)
    for kind, target in _related(parts, name).values():
        if kind == "notesSlide" and target in parts.names:
            _write_speaker_notes(parts.xml(target), composer)


def _shapes(root: Any) -> Iterator[Any]:
    stack = list(reversed(root))
    while stack:
        element = stack.pop()
        if local(element) in _SHAPES:
            yield element
        elif local(element) != "Fallback":
            stack.extend(reversed(element))


def _placeholder(shape: Any) -> str:
    for element in shape.iter(f"{_P}ph"):
        return element.get("type") or "body"
    return ""


def _is_title(shape: Any) -> bool:
    return _placeholder(shape) in _TITLES


def _write_shape(shape: Any, composer: Composer) -> None:
    if _placeholder(shape) in _FURNITURE:
        return
    if _is_title(shape):
        composer.heading(1, " ".join(_paragraphs(shape)))
        return
    rows = list(shape.iter(f"{_A}tr"))
    for row in rows:
        composer.row(" ".join(_paragraphs(cell)) for cell in row.iter(f"{_A}tc"))
    if not rows:
        for text in _paragraphs(shape):
            composer.line(text)
    composer.end_lines()


def _paragraphs(shape: Any) -> Iterator[str]:
    for paragraph in shape.iter(f"{_A}p"):
        words = [
            (item.text or "") if local(item) == "t" else " "
            for item in paragraph.iter(f"{_A}t", f"{_A}br", f"{_A}tab")
        ]
        if text := "".join(words).strip():
            yield text


def _write_speaker_notes(root: Any, composer: Composer) -> None:
    for shape in _shapes(root):
        if attribute(shape, "type") not in _FURNITURE and _placeholder(shape) == "body":
            for text in _paragraphs(shape):
                composer.paragraph(text)
