"""Office documents. Trees are walked without recursion: nesting is as deep as the file likes."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, Encrypted, LimitExceeded
from secondlook.retrieval.parse.compose import Composer, tidy
from secondlook.retrieval.parse.source import Package, as_set, attribute, child_text, local, package

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source


def describe_office(parts: Package, composer: Composer) -> None:
    core, about = parts.xml("docProps/core.xml"), composer.about
    about.title, about.author = child_text(core, "title"), child_text(core, "creator")
    about.date = child_text(core, "created") or child_text(core, "modified")


# Word: the body as written, with tables, footnotes, tracked insertions and content controls.

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING_STYLE = re.compile(r"heading (\d)")
_NO_TEXT = as_set("del moveFrom instrText delText pPr rPr Fallback sectPr tblPr fldData")
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_NOTES = (("word/footnotes.xml", "footnote"), ("word/endnotes.xml", "endnote"))
_BODY_LEVEL = 9


def parse_docx(source: Source) -> Extracted:
    with package(source) as parts:
        composer = Composer(source.budget)
        name = next(
            (part for part in ("word/document.xml", "word/document2.xml") if part in parts.names),
            None,
        )
        if name is None:
            raise Damaged("it has no body: word/document.xml is missing")
        _write_body(parts.xml(name), composer, _heading_levels(parts.xml("word/styles.xml")))
        for part, kind in _NOTES:
            root = parts.xml(part)
            for note in root.iter(f"{_W}{kind}") if root is not None else ():
                if note.get(f"{_W}type") in {None, "normal"}:
                    composer.paragraph(_cell_text(note))
        describe_office(parts, composer)
        return composer.finish("docx")


def _heading_levels(styles: Any) -> dict[str, int]:
    levels: dict[str, int] = {}
    parents: dict[str, str] = {}
    for style in styles.findall(f"{_W}style") if styles is not None else ():
        key, words = style.get(f"{_W}styleId", ""), (_value(style, "name") or "").lower()
        parents[key] = _value(style, "basedOn") or ""
        depth = _value(style, f"pPr/{_W}outlineLvl") or ""
        if match := _HEADING_STYLE.match(words):
            levels[key] = int(match.group(1))
        elif words == "title":
            levels[key] = 1
        elif depth.isdigit() and int(depth) < _BODY_LEVEL:
            levels[key] = int(depth) + 1
    for key, parent in parents.items():
        if key not in levels and parent in levels and "toc" not in key.lower():
            levels[key] = levels[parent]
    return levels


def _value(element: Any, path: str) -> str | None:
    found = element.find(f"{_W}{path}")
    return None if found is None else str(found.get(f"{_W}val", ""))


def _write_body(root: Any, composer: Composer, levels: dict[str, int]) -> None:
    stack = [root]
    while stack:
        element = stack.pop()
        name = local(element)
        if name == "p":
            text, boxes = _run_text(element)
            if level := _level(element, levels):
                composer.heading(level, text)
            elif element.find(f"{_W}pPr/{_W}numPr") is not None:
                composer.line(f"- {text}" if text.strip() else "")
            else:
                composer.paragraph(text)
            stack.extend(reversed(boxes))
        elif name == "tr":
            # Cells of this row alone: a table inside a cell is part of the cell's text.
            inside = f"{_W}sdt/{_W}sdtContent/{_W}tc"
            cells = [*element.findall(f"{_W}tc"), *element.findall(inside)]
            composer.row(map(_cell_text, cells))
        elif name not in _NO_TEXT:
            if name == "tbl":
                composer.end_lines()
            stack.extend(reversed(element))


def _level(paragraph: Any, levels: dict[str, int]) -> int:
    outline = _value(paragraph, f"pPr/{_W}outlineLvl")
    if outline and outline in "012345678":
        return int(outline) + 1
    return levels.get(_value(paragraph, f"pPr/{_W}pStyle") or "", 0)


def _run_text(paragraph: Any) -> tuple[str, list[Any]]:
    words: list[str] = []
    boxes: list[Any] = []
    stack = list(reversed(paragraph))
    while stack:
        element = stack.pop()
        name = local(element)
        if name == "t":
            words.append(element.text or "")
        elif name in _BREAKS:
            words.append(_BREAKS[name])
        elif name == "txbxContent":
            boxes.append(element)
        elif name == "sym":
            code = attribute(element, "char") or ""
            # Symbol fonts sit in the private area; what they show there is unknown.
            if re.fullmatch(r"(?!F0)[0-9A-F]{1,5}", code.upper()):
                words.append(chr(int(code, 16)))
        elif name not in _NO_TEXT:
            stack.extend(reversed(element))
    return "".join(words), boxes


def _cell_text(cell: Any) -> str:
    return " ".join(_run_text(paragraph)[0] for paragraph in cell.iter(f"{_W}p"))


# PowerPoint: a slide is a page; its title is a heading; speaker notes follow the slide.

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_TITLES = frozenset(("title", "ctrTitle"))
_FURNITURE = frozenset(("sldNum", "ftr", "dt", "hdr", "sldImg"))
_PRESENTATION = "ppt/presentation.xml"


def parse_pptx(source: Source) -> Extracted:
    with package(source) as parts:
        composer = Composer(source.budget)
        root = parts.xml(_PRESENTATION)
        if root is None:
            raise Damaged(f"it has no slides: {_PRESENTATION} is missing")
        targets = _related(parts, _PRESENTATION)
        keys = [
            next((value for name, value in slide.attrib.items() if name.endswith("}id")), "")
            for slide in root.iter(f"{_P}sldId")  # in the order in which they are shown
        ]
        slides = [targets[key][1] for key in keys if key in targets]
        slides = [name for name in slides if name in parts.names]
        source.budget.spend_pages(len(slides))
        for number, name in enumerate(slides, 1):
            composer.start_page(number)
            _write_slide(parts, name, composer)
        describe_office(parts, composer)
        return composer.finish("pptx")


def _related(parts: Package, name: str) -> dict[str, tuple[str, str]]:
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
    shapes = [(_placeholder(shape), shape) for shape in _shapes(parts.xml(name))]
    # The title is read first, wherever it is.
    for kind, shape in sorted(shapes, key=lambda item: item[0] not in _TITLES):
        if kind in _FURNITURE:
            continue
        if kind in _TITLES:
            composer.heading(1, " ".join(_paragraphs(shape)))
            continue
        rows = list(shape.iter(f"{_A}tr"))
        for row in rows:
            composer.row(" ".join(_paragraphs(cell)) for cell in row.iter(f"{_A}tc"))
        for text in _paragraphs(shape) if not rows else ():
            composer.line(text)
        composer.end_lines()
    for kind, target in _related(parts, name).values():
        if kind == "notesSlide" and target in parts.names:
            notes = [s for s in _shapes(parts.xml(target)) if _placeholder(s) == "body"]
            for text in (text for shape in notes for text in _paragraphs(shape)):
                composer.paragraph(text)


def _shapes(root: Any) -> Iterator[Any]:
    stack = list(reversed(root))
    while stack:
        element = stack.pop()
        if local(element) in {"sp", "graphicFrame"}:
            yield element
        elif local(element) != "Fallback":
            stack.extend(reversed(element))


def _placeholder(shape: Any) -> str:
    found = next(shape.iter(f"{_P}ph"), None)
    return "" if found is None else found.get("type") or "body"


def _paragraphs(shape: Any) -> Iterator[str]:
    for paragraph in shape.iter(f"{_A}p"):
        words = [
            (item.text or "") if local(item) == "t" else " "
            for item in paragraph.iter(f"{_A}t", f"{_A}br", f"{_A}tab")
        ]
        if text := "".join(words).strip():
            yield text


# OpenDocument texts and presentations, read from their content.xml.

_ODF_SKIPPED = as_set(
    "tracked-changes annotation sequence-decls forms settings page-number "
    "automatic-styles styles master-styles font-face-decls scripts"
)


def parse_odt(source: Source) -> Extracted:
    with package(source) as parts:
        composer = Composer(source.budget)
        _write_odf(_odf_content(parts, composer), composer)
        return composer.finish("odt")


def parse_odp(source: Source) -> Extracted:
    with package(source) as parts:
        composer = Composer(source.budget)
        slides = [item for item in _odf_content(parts, composer).iter() if local(item) == "page"]
        source.budget.spend_pages(len(slides))
        for number, slide in enumerate(slides, 1):
            composer.start_page(number)
            frames = [(attribute(f, "class") == "title" and local(f) != "notes", f) for f in slide]
            # The title is read first, the notes last.
            for is_title, frame in sorted(
                frames, key=lambda item: (local(item[1]) == "notes", not item[0])
            ):
                if is_title:
                    composer.heading(1, " ".join(_odf_texts(frame)))
                else:
                    _write_odf(frame, composer)
        return composer.finish("odp")


def _odf_content(parts: Package, composer: Composer) -> Any:
    manifest = parts.xml("META-INF/manifest.xml")
    if manifest is not None and any(local(item) == "encryption-data" for item in manifest.iter()):
        raise Encrypted("it is protected by a password", hint="save a copy without password")
    root, meta, about = parts.xml("content.xml"), parts.xml("meta.xml"), composer.about
    if root is None:
        raise Damaged("it has no content: content.xml is missing")
    about.title = child_text(meta, "title")
    about.author = child_text(meta, "initial-creator") or child_text(meta, "creator")
    about.date = child_text(meta, "creation-date") or child_text(meta, "date")
    return root


def _write_odf(root: Any, composer: Composer) -> None:
    """Items of a list are marked once, where they begin."""
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        element, in_list = stack.pop()
        name = local(element)
        if name == "h":
            level = attribute(element, "outline-level") or "1"
            composer.heading(int(level) if level.isdigit() else 1, _flat(element))
        elif name == "p":
            text = _flat(element)
            if in_list and text.strip():
                composer.line(f"- {text}")
            else:
                composer.paragraph(text)
        elif name == "table-row":
            cells = (cell for cell in element if local(cell) == "table-cell")
            composer.row(" ".join(_odf_texts(cell)) for cell in cells)
        elif name not in _ODF_SKIPPED:
            if name == "table":
                composer.end_lines()
            inner = in_list or name == "list-item"
            stack.extend((child, inner) for child in reversed(element))


def _odf_texts(element: Any) -> Iterator[str]:
    return (_flat(item) for item in element.iter() if local(item) in {"p", "h"})


def _flat(paragraph: Any) -> str:
    """The words of a paragraph; its blanks and tabs are elements of their own."""
    words: list[str] = []
    stack: list[Any] = [paragraph]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            words.append(item)
            continue
        name = local(item)
        if name in {"s", "tab", "line-break"}:
            words.append(" ")
        if item is not paragraph and item.tail:
            stack.append(item.tail)
        if name not in _ODF_SKIPPED:
            stack.extend(reversed(list(item)))
            words.append(item.text or "")
    return "".join(words)


# Rich Text Format.

_INFO = re.compile(r"\{\\(title|author)\s([^{}]{1,500})\}")
_CREATED = re.compile(r"\{\\creatim\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
_PICTURE_DATA = re.compile(r"(?:[0-9a-fA-F]{64,}\s*)+")


def parse_rtf(source: Source) -> Extracted:
    from striprtf.striprtf import rtf_to_text

    limit = source.budget.limits.text_chars
    if source.size > limit * 20:
        raise LimitExceeded(f"it holds more than {limit:,} characters of text")
    # Pictures are megabytes of hexadecimal digits that would only be walked to be dropped.
    raw = _PICTURE_DATA.sub("", source.read().decode("latin-1"))
    source.budget.beat()
    composer = Composer(source.budget)
    text: str = rtf_to_text(raw, encoding="cp1252", errors="replace")  # type: ignore[no-untyped-call]
    for paragraph in tidy(text).split("\n"):
        composer.paragraph(paragraph)
    about = {match.group(1): _unescaped(match.group(2)) for match in _INFO.finditer(raw[:100_000])}
    composer.about.title, composer.about.author = about.get("title"), about.get("author")
    if created := _CREATED.search(raw[:100_000]):
        year, month, day = map(int, created.groups())
        composer.about.date = f"{year:04}-{month:02}-{day:02}"
    return composer.finish("rtf")


def _unescaped(value: str) -> str:
    value = re.sub(
        r"\\'([0-9a-fA-F]{2})", lambda m: bytes.fromhex(m[1]).decode("cp1252", "replace"), value
    )
    return re.sub(r"\\u(-?\d{1,5})\s?\??", lambda m: chr(int(m[1]) % 65536), value)
