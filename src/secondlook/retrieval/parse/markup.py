"""Markdown, reStructuredText and LaTeX: the source as it stands, with a map of its headings."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged
from secondlook.retrieval.parse.compose import Composer, tidy
from secondlook.retrieval.parse.plain import read_text, start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_FIELD = re.compile(r"^(title|author|authors|date)[ \t]*:[ \t]*(.*)$", re.IGNORECASE)
_FRONT_ITEM = re.compile(r"^[ \t]+-[ \t]*(?:name:[ \t]*)?(.+)$|^-[ \t]*(?:name:[ \t]*)?(.+)$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")
_RST_LINE = re.compile(r"^([=\-~^\"'`#*+.:_<>])\1{2,}$")
_LATEX = re.compile(
    r"\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]]{0,300}\])?\{([^{}]{1,300})\}"
)
_LATEX_LEVELS = {
    name: level
    for level, name in enumerate(
        ("part", "chapter", "section", "subsection", "subsubsection", "paragraph"), 1
    )
}
_LATEX_ABOUT = re.compile(r"\\(title|author|date)\{([^{}]{1,500})\}")

Found = tuple[int, int, int]
"""Level, start and end of a heading."""


def parse_markdown(source: Source) -> Extracted:
    text, composer = start(source)
    text = tidy(text)
    if front := _FRONT_MATTER.match(text):
        fields = _front_matter(front.group(1))
        about = composer.about
        about.title, about.author = fields.get("title"), fields.get("author")
        about.date = fields.get("date")
        text = text[front.end() :].lstrip("\n")
    composer.block(text)
    for level, begin, end in _markdown_headings(text):
        composer.mark_heading(level, begin, end)
    return composer.finish("markdown")


def _front_matter(block: str) -> dict[str, str]:
    """The three fields we show, without a YAML parser: plain values and simple lists."""
    found: dict[str, str] = {}
    current = ""
    for line in block.split("\n"):
        if match := _FRONT_FIELD.match(line):
            current = match.group(1).lower().rstrip("s")
            found[current] = match.group(2).strip().strip("\"'[]")
        elif current and (item := _FRONT_ITEM.match(line)):
            name = (item.group(1) or item.group(2)).strip().strip("\"'")
            found[current] = f"{found[current]}, {name}".strip(", ")
        elif line[:1].strip():
            current = ""
    return {key: value for key, value in found.items() if value}


def markdown_headings(text: str) -> list[Found]:
    return list(_markdown_headings(text))


def _markdown_headings(text: str) -> Iterator[Found]:
    fence = ""
    before: tuple[int, str] = (0, "")
    for begin, line in _lines(text):
        mark = _FENCE.match(line)
        if mark and (not fence or mark.group(1).startswith(fence)):
            fence = "" if fence else mark.group(1)
        elif not fence and (match := _ATX.match(line)) and match.group(2):
            yield len(match.group(1)), begin + match.start(2), begin + match.end(2)
        elif not fence and (rule := _SETEXT.match(line)) and before[1].strip():
            yield _stretch(1 if rule.group(1)[0] == "=" else 2, *before)
        is_plain = not fence and not mark and not _ATX.match(line) and not _SETEXT.match(line)
        before = (begin, line if is_plain and not line.startswith((" " * 4, ">", "|")) else "")


def _stretch(level: int, begin: int, line: str) -> Found:
    lead = len(line) - len(line.lstrip())
    return level, begin + lead, begin + len(line.rstrip())


def _lines(text: str) -> Iterator[tuple[int, str]]:
    position = 0
    for line in text.split("\n"):
        yield position, line
        position += len(line) + 1


def parse_rst(source: Source) -> Extracted:
    text, composer = start(source)
    text = tidy(text)
    composer.block(text)
    for level, begin, end in _rst_headings(text):
        composer.mark_heading(level, begin, end)
    return composer.finish("rst")


def _rst_headings(text: str) -> Iterator[Found]:
    """Levels in the order in which the underlines first appear, as docutils has it."""
    order: list[str] = []
    lines = list(_lines(text))
    for index in range(1, len(lines)):
        begin, words = lines[index - 1]
        rule = lines[index][1]
        if not _RST_LINE.match(rule) or not words.strip() or _RST_LINE.match(words):
            continue
        if len(rule) < len(words.strip()) or (index > 1 and _is_words(lines[index - 2][1])):
            continue
        over = index > 1 and lines[index - 2][1] == rule
        style = rule[0] + ("-" if over else "")
        if style not in order:
            order.append(style)
        yield _stretch(order.index(style) + 1, begin, words)


def _is_words(line: str) -> bool:
    return bool(line.strip()) and not _RST_LINE.match(line)


def parse_latex(source: Source) -> Extracted:
    text, composer = start(source)
    text = tidy(text)
    composer.block(text)
    found = [(match.group(1), match.span(2)) for match in _LATEX.finditer(text)]
    top = min((_LATEX_LEVELS[name] for name, _ in found), default=1)
    for name, (begin, end) in found:
        composer.mark_heading(_LATEX_LEVELS[name] - top + 1, begin, end)
    about = {match.group(1): match.group(2) for match in _LATEX_ABOUT.finditer(text)}
    composer.about.title, composer.about.author = about.get("title"), about.get("author")
    composer.about.date = about.get("date")
    return composer.finish("latex")


# Jupyter notebooks: the prose with its headings, the code, and what it printed.

_LONGEST_OUTPUT = 20_000


def parse_notebook(source: Source) -> Extracted:
    text, notes = read_text(source)
    try:
        notebook = json.loads(text)
    except ValueError as error:
        raise Damaged(f"the notebook is no valid JSON: {error}") from error
    if not isinstance(notebook, dict):
        raise Damaged("the notebook has no cells")
    composer = Composer(source.budget)
    composer.about.notes.extend(notes)
    for cell in _cells(notebook):
        _write_cell(cell, composer)
    metadata = notebook.get("metadata")
    if isinstance(metadata, dict):
        composer.about.title = _text(metadata.get("title")) or None
    return composer.finish("notebook")


def _cells(notebook: dict[str, Any]) -> Iterator[dict[str, Any]]:
    sheets = notebook.get("worksheets")  # version 3 kept its cells in sheets
    holders = [notebook, *(sheets if isinstance(sheets, list) else ())]
    for holder in holders:
        cells = holder.get("cells") if isinstance(holder, dict) else None
        if isinstance(cells, list):
            yield from (cell for cell in cells if isinstance(cell, dict))


def _write_cell(cell: dict[str, Any], composer: Composer) -> None:
    kind = cell.get("cell_type")
    text = tidy(_text(cell.get("source", cell.get("input"))))
    if kind == "heading":
        level = cell.get("level")
        composer.heading(level if isinstance(level, int) else 1, text)
        return
    start = composer.block(text)
    if kind == "markdown":
        for level, begin, end in markdown_headings(text):
            composer.mark_heading(level, start + begin, start + end)
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            composer.block(_output(output)[:_LONGEST_OUTPUT])


def _output(output: dict[str, Any]) -> str:
    data = output.get("data")
    shown = data if isinstance(data, dict) else {}
    printed = _text(output.get("text")) or _text(shown.get("text/markdown"))
    if not printed and "image/png" not in shown:
        printed = _text(shown.get("text/plain"))
    if output.get("output_type") in {"error", "pyerr"}:
        return f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    return printed


def _text(value: object) -> str:
    if isinstance(value, list):
        return "".join(str(item) for item in value)
    return value if isinstance(value, str) else ""
