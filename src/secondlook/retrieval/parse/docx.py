"""Word: the body as written, with tables, footnotes, tracked insertions and content controls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged
from secondlook.retrieval.parse.compose import Composer
from secondlook.retrieval.parse.source import Package, attribute, child_text, local, package

if TYPE_CHECKING:
    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING_STYLE = re.compile(r"heading (\d)")
_SKIPPED = frozenset(
    (
        "del",
        "moveFrom",
        "instrText",
        "delText",
        "pPr",
        "rPr",
        "Fallback",
        "sectPr",
        "tblPr",
        "fldData",
    )
)
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_NOTES = (("word/footnotes.xml", "footnote"), ("word/endnotes.xml", "endnote"))
_BODY_PARTS = ("word/document.xml", "word/document2.xml")


def parse_docx(source: Source) -> Extracted:
    with package(source) as parts:
        composer = Composer(source.budget)
        name = next((part for part in _BODY_PARTS if part in parts.names), None)
        if name is None:
            raise Damaged("it has no body: word/document.xml is missing")
        writer = _Writer(composer, _heading_levels(parts.xml("word/styles.xml")))
        writer.write(parts.xml(name))
        _write_notes(parts, writer)
        describe_office(parts, composer)
        return composer.finish("docx")


def describe_office(parts: Package, composer: Composer) -> None:
    """Title, author and date from the core properties that all Office files share."""
    core = parts.xml("docProps/core.xml")
    composer.about.title = child_text(core, "title")
    composer.about.author = child_text(core, "creator")
    composer.about.date = child_text(core, "created") or child_text(core, "modified")


def _heading_levels(styles: Any) -> dict[str, int]:
    """Style id -> level, by the style's name in English, its outline level or its parent."""
    levels: dict[str, int] = {}
    parents: dict[str, str] = {}
    for style in styles.findall(f"{_W}style") if styles is not None else ():
        key = style.get(f"{_W}styleId", "")
        name = style.find(f"{_W}name")
        words = name.get(f"{_W}val", "").lower() if name is not None else ""
        based = style.find(f"{_W}basedOn")
        if based is not None:
            parents[key] = based.get(f"{_W}val", "")
        outline = style.find(f"{_W}pPr/{_W}outlineLvl")
        if match := _HEADING_STYLE.match(words):
            levels[key] = int(match.group(1))
        elif words == "title":
            levels[key] = 1
        elif outline is not None and (depth := outline.get(f"{_W}val", "9")).isdigit():
            levels.update({key: int(depth) + 1} if int(depth) < 9 else {})  # noqa: PLR2004 - body
    for key, parent in parents.items():
        if key not in levels and parent in levels and "toc" not in key.lower():
            levels[key] = levels[parent]
    return levels


class _Writer:
    """Walks the body without recursion: nesting is as deep as the file likes."""

    def __init__(self, composer: Composer, levels: dict[str, int]) -> None:
        self._composer = composer
        self._levels = levels

    def write(self, root: Any) -> None:
        stack = [root]
        while stack:
            element = stack.pop()
            name = local(element)
            if name == "p":
                self._paragraph(element)
            elif name == "tr":
                self._composer.row(_cell_text(cell) for cell in _cells(element))
            elif name not in _SKIPPED:
                if name == "tbl":
                    self._composer.end_lines()
                stack.extend(reversed(element))

    def note(self, text: str) -> None:
        self._composer.paragraph(text)

    def _paragraph(self, element: Any) -> None:
        text, boxes = _run_text(element)
        level = self._level(element)
        if level:
            self._composer.heading(level, text)
        elif _is_listed(element):
            self._composer.line(f"- {text}" if text.strip() else "")
        else:
            self._composer.paragraph(text)
        for box in boxes:
            self.write(box)

    def _level(self, element: Any) -> int:
        properties = element.find(f"{_W}pPr")
        if properties is None:
            return 0
        outline = properties.find(f"{_W}outlineLvl")
        if outline is not None and outline.get(f"{_W}val", "9") in "012345678":
            return int(outline.get(f"{_W}val")) + 1
        style = properties.find(f"{_W}pStyle")
        return self._levels.get(style.get(f"{_W}val", ""), 0) if style is not None else 0


def _is_listed(element: Any) -> bool:
    return element.find(f"{_W}pPr/{_W}numPr") is not None


def _run_text(paragraph: Any) -> tuple[str, list[Any]]:
    """The words of a paragraph, and the text boxes anchored in it."""
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
            words.append(_symbol(element))
        elif name not in _SKIPPED:
            stack.extend(reversed(element))
    return "".join(words), boxes


def _symbol(element: Any) -> str:
    code = attribute(element, "char") or ""
    try:
        # Symbol fonts sit in the private area; what they show there is unknown.
        return chr(int(code, 16)) if not code.upper().startswith("F0") else ""
    except ValueError:
        return ""


def _cells(row: Any) -> list[Any]:
    """Cells of this row alone: a table inside a cell is part of the cell's text."""
    inside = f"{_W}sdt/{_W}sdtContent/{_W}tc"
    return [*row.findall(f"{_W}tc"), *row.findall(inside)]


def _cell_text(cell: Any) -> str:
    return " ".join(_run_text(paragraph)[0] for paragraph in cell.iter(f"{_W}p"))


def _write_notes(parts: Package, writer: _Writer) -> None:
    for part, name in _NOTES:
        root = parts.xml(part)
        for note in root.iter(f"{_W}{name}") if root is not None else ():
            if note.get(f"{_W}type") in {None, "normal"}:
                writer.note(_cell_text(note))
