"""Formats that already are text: notes, source code, subtitles, JSON, and markup whose headings
are mapped. Tables become rows of text, or a card where they are long."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, LimitExceeded
from secondlook.retrieval.parse.compose import Composer, one_line, tidy
from secondlook.retrieval.parse.source import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_BYTES_PER_CHAR = 4
_CUE_TIME = re.compile(r"^\s*(\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}\s*-->.*$")
_CUE_TAG = re.compile(r"<[^>\n]{1,60}>|\{\\[^}\n]{1,40}\}")
_ENDS_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*$")  # noqa: RUF001 - as printed
_LONGEST_SUBTITLE_PARAGRAPH = 600
_LONG_LINE = 2000
_PRETTY_BYTES = 20_000_000


def read_text(source: Source, *, declared: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The decoded text of a source, refused early when it must be too long."""
    if source.size > source.budget.limits.text_chars * _BYTES_PER_CHAR:
        limit = source.budget.limits.text_chars
        raise LimitExceeded(f"it holds more than {limit:,} characters of text")
    return decode(source.read(), declared=declared)


def start(source: Source) -> tuple[str, Composer]:
    """Clean text of a source, and a composer that already knows what was lost."""
    text, notes = read_text(source)
    composer = Composer(source.budget)
    composer.about.notes.extend(notes)
    return text, composer


def _as_it_stands(source: Source, *, kind: str) -> Extracted:
    text, composer = start(source)
    composer.block(text)
    return composer.finish(kind)


parse_text = partial(_as_it_stands, kind="text")
parse_code = partial(_as_it_stands, kind="code")
parse_xml = partial(_as_it_stands, kind="xml")


def parse_json(source: Source) -> Extracted:
    """As it stands; one endless line is broken up so that a passage can be shown."""
    text, composer = start(source)
    if not _written_as_table(text, composer):
        if _LONG_LINE * (text.count("\n") + 1) <= len(text) <= _PRETTY_BYTES:
            with suppress(ValueError, RecursionError):
                text = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
        composer.block(text)
    return composer.finish("json")


def _written_as_table(text: str, composer: Composer) -> bool:
    """A long array of objects is a table: it is described, not searched object by object."""
    if not text.lstrip().startswith("[") or text.count("{") <= MOST_ROWS:
        return False
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not all(isinstance(value, dict) for value in values):
        return False
    first = values[:SHOWN_ROWS]
    if not _is_long(first, len(values)):
        return False
    _write_object_card(first, composer, total=f"{len(values):,}")
    return True


def parse_subtitles(source: Source) -> Extracted:
    """Spoken words only; cues are joined up to the end of a sentence."""
    text, composer = start(source)
    spoken: list[str] = []
    for line in _spoken_lines(tidy(text)):
        spoken.append(line)
        length = sum(map(len, spoken))
        if _ENDS_SENTENCE.search(line) and length > _LONGEST_SUBTITLE_PARAGRAPH // 2:
            composer.paragraph(" ".join(spoken))
            spoken = []
    composer.paragraph(" ".join(spoken))
    return composer.finish("subtitles")


def _spoken_lines(text: str) -> list[str]:
    spoken: list[str] = []
    for cue in text.split("\n\n"):
        lines = cue.split("\n")
        times = [index for index, line in enumerate(lines) if _CUE_TIME.match(line)]
        # What has no time is a header, a style sheet or a comment.
        words = lines[times[0] + 1 :] if times else []
        spoken.extend(_CUE_TAG.sub("", word).strip() for word in words)
    return [line for line in spoken if line]


# JSON that is a table: one object a line, or an array of objects. A long one becomes a card.

_Object = dict[str, Any]


def parse_json_lines(source: Source) -> Extracted:
    if source.is_large:
        text, composer = beginning(source)
        rows = f"about {lines_in(source):,}"
        _write_object_card(_objects(text.splitlines()), composer, total=rows)
        return composer.finish("jsonl")
    text, composer = start(source)
    lines = [line for line in text.splitlines() if line.strip()]
    first = _objects(lines)
    if first and _is_long(first, len(lines)):
        _write_object_card(first, composer, total=f"{len(lines):,}")
    else:
        composer.block(text)
    return composer.finish("jsonl")


def _is_long(first: Sequence[_Object], count: int) -> bool:
    """Whether so many rows are no text to search."""
    cells = [[_shown(value) for value in item.values()] for item in first]
    return count > (MOST_PROSE_ROWS if _is_prose(cells) else MOST_ROWS)


def _write_object_card(objects: Sequence[_Object], composer: Composer, *, total: str) -> None:
    names = list(dict.fromkeys(name for item in objects for name in item))
    rows = [[_shown(item.get(name)) for name in names] for item in objects]
    _write_card(names, rows, names, composer, total=total)


def _objects(lines: Iterable[str]) -> list[_Object]:
    """The first of them; what is no object ends them."""
    found: list[_Object] = []
    for line in lines:
        try:
            value = json.loads(line) if len(found) < SHOWN_ROWS else None
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict):
            break
        found.append(value)
    return found


def _shown(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Rows of a table as text. Each row is a line that can be understood alone.

MOST_ROWS = 2_000  # rows of numbers and names beyond which a table is described by a card
MOST_PROSE_ROWS = 20_000
"""The same where rows hold sentences: people search these as they search documents."""
SHOWN_ROWS = 20
_PROSE_CHARS = 80  # a row whose longest cell has so many characters holds a sentence, not a name
_LONGEST_NAME = 60
_LONGEST_CARD_CELL = 200
_MOST_NAMED_COLUMNS = 60
_MOST_LISTED_COLUMNS = 500


def write_rows(rows: Iterable[Sequence[str]], composer: Composer, *, total: str = "") -> None:
    """Rows of text; the first one that is filled decides whether columns have names.

    `total` says how many rows there are where that is known and `rows` are only the first.
    """
    filled = (row for row in rows if any(cell.strip() for cell in row))
    first = next(filled, None)
    if first is None:
        return
    head = list(islice(filled, MOST_ROWS + 1))
    names = _column_names(first, head[0] if head else None)
    if not total and len(head) > MOST_ROWS and _is_prose(head[:SHOWN_ROWS]):
        head.extend(islice(filled, MOST_PROSE_ROWS - len(head) + 1))
        if len(head) <= MOST_PROSE_ROWS:
            _write_lines(first, head, names, composer)
            return
    if total or len(head) > MOST_ROWS:
        count = total or f"{len(head) + sum(1 for _ in filled) + (not names):,}"
        _write_card(first, head, names, composer, total=count)
    else:
        _write_lines(first, head, names, composer)


def write_named(
    columns: Sequence[str], rows: Iterator[Sequence[str]], composer: Composer, *, total: int
) -> None:
    """Rows of a table that knows the names of its columns and how many rows it has."""
    prose = list(islice(rows, SHOWN_ROWS))
    most = MOST_PROSE_ROWS if _is_prose(prose) else MOST_ROWS
    if total > most:
        _write_card(columns, prose, list(columns), composer, total=f"{total:,}")
    else:
        _write_lines(columns, chain(prose, rows), list(columns), composer)


def _write_card(
    first: Sequence[str],
    rows: Sequence[Sequence[str]],
    names: list[str],
    composer: Composer,
    *,
    total: str,
) -> None:
    """What a table holds, for a search to find it; its rows are for computing with."""
    composer.about.card = True
    shown = min(SHOWN_ROWS, len(rows))
    composer.paragraph(
        f"A table of {total} rows and {len(first):,} columns; its first {shown} rows are shown."
    )
    if names:
        listed = [name for name in map(one_line, names) if name]
        more = len(listed) - _MOST_LISTED_COLUMNS
        end = f" and {more:,} more" if more > 0 else ""
        composer.paragraph(f"Columns: {', '.join(listed[:_MOST_LISTED_COLUMNS])}{end}.")
    short = [[cell[:_LONGEST_CARD_CELL] for cell in row] for row in rows[:SHOWN_ROWS]]
    _write_lines(first, short, names, composer)


def _write_lines(
    first: Sequence[str], rows: Iterable[Sequence[str]], names: list[str], composer: Composer
) -> None:
    composer.row(first)
    for row in rows:
        if names:
            composer.line(_named(names, row))
        else:
            composer.row(row)
    composer.end_lines()


def _is_prose(rows: Sequence[Sequence[str]]) -> bool:
    longest = sorted(max(map(len, row), default=0) for row in rows)
    return bool(longest) and longest[len(longest) // 2] >= _PROSE_CHARS


def _column_names(first: Sequence[str], second: Sequence[str] | None) -> list[str]:
    """The first row, if it looks like names: short words, all different, none a number."""
    names = [one_line(cell) for cell in first]
    given = [name for name in names if name]
    if second is None or len(given) < 2 or len(names) > _MOST_NAMED_COLUMNS:  # noqa: PLR2004
        return []
    if len(given) < len([cell for cell in second if cell.strip()]) - 1:
        return []
    for name in given:
        is_number = any(map(str.isdigit, name)) and not any(map(str.isalpha, name))
        if is_number or len(name) > _LONGEST_NAME:
            return []
    return names if len(set(given)) == len(given) else []


def _named(names: list[str], row: Sequence[str]) -> str:
    parts: list[str] = []
    for index, cell in enumerate(row):
        value = one_line(cell)
        if value:
            name = names[index] if index < len(names) else ""
            parts.append(f"{name}: {value}" if name else value)
    return "; ".join(parts)


# The beginning of a text file that is too large to be read whole, and how long it is.

_BEGINNING_BYTES = 1 << 20
_BLOCK = 8 << 20
_WIDEST_CHARACTER = 4


def beginning(source: Source) -> tuple[str, Composer]:
    """Its first lines, whole, and a composer that already knows what was lost."""
    with source.open() as stream:
        data = stream.read(_BEGINNING_BYTES)
    end = data.rfind(b"\n") + 1 or len(data)
    # In an encoding of two or four bytes a character, the end of a line is more than its mark.
    text, notes = decode(
        data[: end + (-end) % _WIDEST_CHARACTER] if 0 in data[:100] else data[:end]
    )
    composer = Composer(source.budget)
    composer.about.notes.extend(notes)
    return text, composer


def lines_in(source: Source) -> int:
    """Line ends in all of it: about the number of its rows, as cells may hold some."""
    count = 0
    with source.open() as stream:
        while block := stream.read(_BLOCK):
            count += block.count(b"\n")
            source.budget.beat()
    return count


# Markdown, reStructuredText and LaTeX: the source as it stands, with a map of its headings.

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
_LATEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_LATEX_ABOUT = re.compile(r"\\(title|author|date)\{([^{}]{1,500})\}")

Found = tuple[int, int, int]  # level, start and end of a heading


def parse_markdown(source: Source) -> Extracted:
    text, composer = start(source)
    text = tidy(text)
    if front := _FRONT_MATTER.match(text):
        # The three fields we show, without a YAML parser: plain values and simple lists.
        block = front.group(1)
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
        _describe({key: value for key, value in found.items() if value}, composer)
        text = text[front.end() :].lstrip("\n")
    return _with_headings(text, _markdown_headings(text), composer, "markdown")


def _with_headings(
    text: str, headings: Iterable[Found], composer: Composer, kind: str
) -> Extracted:
    composer.block(text)
    for level, begin, end in headings:
        composer.mark_heading(level, begin, end)
    return composer.finish(kind)


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
    return _with_headings(text, _rst_headings(text), composer, "rst")


def _rst_headings(text: str) -> Iterator[Found]:
    """Levels in the order in which the underlines first appear, as docutils has it."""
    order: list[str] = []
    lines = list(_lines(text))
    for index in range(1, len(lines)):
        begin, words = lines[index - 1]
        rule = lines[index][1]
        if not _RST_LINE.match(rule) or not words.strip() or _RST_LINE.match(words):
            continue
        above = lines[index - 2][1] if index > 1 else ""
        if len(rule) < len(words.strip()) or (above.strip() and not _RST_LINE.match(above)):
            continue
        style = rule[0] + ("-" if above == rule else "")
        if style not in order:
            order.append(style)
        yield _stretch(order.index(style) + 1, begin, words)


def parse_latex(source: Source) -> Extracted:
    text, composer = start(source)
    text = tidy(text)
    found = [(_LATEX_LEVELS.index(match[1]), *match.span(2)) for match in _LATEX.finditer(text)]
    top = min((level for level, _, _ in found), default=0)
    _describe({match[1]: match[2] for match in _LATEX_ABOUT.finditer(text)}, composer)
    headings = ((level - top + 1, begin, end) for level, begin, end in found)
    return _with_headings(text, headings, composer, "latex")


def _describe(fields: dict[str, str], composer: Composer) -> None:
    about = composer.about
    about.title, about.author = fields.get("title"), fields.get("author")
    about.date = fields.get("date")


# Jupyter notebooks: the prose with its headings, the code, and what it printed.

_LONGEST_OUTPUT = 20_000


def parse_notebook(source: Source) -> Extracted:
    text, composer = start(source)
    try:
        notebook = json.loads(text)
    except ValueError as error:
        raise Damaged(f"the notebook is no valid JSON: {error}") from error
    if not isinstance(notebook, dict):
        raise Damaged("the notebook has no cells")
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
        for level, begin, end in _markdown_headings(text):
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
