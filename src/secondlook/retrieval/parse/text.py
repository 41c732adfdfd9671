"""Formats that already are text: notes, source code, subtitles, JSON, notebooks, and markup whose
headings are mapped. Tables become rows of text, or a card where they are long."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import partial
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, LimitExceeded
from secondlook.retrieval.parse.compose import Composer, one_line, tidy
from secondlook.retrieval.parse.source import Source, decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from secondlook.document import Extracted

_CUE_TIME = re.compile(r"^\s*(\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}\s*-->.*$")
_CUE_TAG = re.compile(r"<[^>\n]{1,60}>|\{\\[^}\n]{1,40}\}")
_ENDS_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*$")  # noqa: RUF001 - as printed
_LONGEST_SUBTITLE_PARAGRAPH = 600
_LONG_LINE = 2000
_PRETTY_BYTES = 20_000_000


def read_text(source: Source, *, declared: str | None = None) -> tuple[str, tuple[str, ...]]:
    limit = source.budget.limits.text_chars
    if source.size > limit * 4:
        raise LimitExceeded(f"it holds more than {limit:,} characters of text")
    return decode(source.read(), declared=declared)


def start(source: Source) -> tuple[str, Composer]:
    composer = Composer(source.budget)
    text, composer.about.notes[:] = read_text(source)
    return text, composer


def _as_it_stands(source: Source, *, kind: str) -> Extracted:
    text, composer = start(source)
    composer.block(text)
    return composer.finish(kind)


parse_text = partial(_as_it_stands, kind="text")
parse_code = partial(_as_it_stands, kind="code")
parse_xml = partial(_as_it_stands, kind="xml")


def parse_json(source: Source) -> Extracted:
    """As it stands; one endless line is broken up so that a passage can be shown. A long array of
    objects is a table: it is described, not searched object by object."""
    text, composer = start(source)
    values: list[Any] = []
    if text.lstrip().startswith("[") and text.count("{") > MOST_ROWS:
        with suppress(ValueError, RecursionError):
            values = json.loads(text)
    is_table = bool(values) and all(isinstance(value, dict) for value in values)
    if not is_table or not _is_card(values[:SHOWN_ROWS], len(values), composer):
        if _LONG_LINE * (text.count("\n") + 1) <= len(text) <= _PRETTY_BYTES:
            with suppress(ValueError, RecursionError):
                text = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
        composer.block(text)
    return composer.finish("json")


def parse_subtitles(source: Source) -> Extracted:
    text, composer = start(source)
    spoken: list[str] = []
    for cue in tidy(text).split("\n\n"):
        lines = cue.split("\n")
        times = [index for index, line in enumerate(lines) if _CUE_TIME.match(line)]
        # What has no time is a header, a style sheet or a comment.
        for words in lines[times[0] + 1 :] if times else ():
            if line := _CUE_TAG.sub("", words).strip():
                spoken.append(line)
                length = sum(map(len, spoken))
                if _ENDS_SENTENCE.search(line) and length > _LONGEST_SUBTITLE_PARAGRAPH // 2:
                    composer.paragraph(" ".join(spoken))
                    spoken = []
    composer.paragraph(" ".join(spoken))
    return composer.finish("subtitles")


# JSON that is a table: one object a line, or an array of objects. A long one becomes a card.

_Object = dict[str, Any]


def parse_json_lines(source: Source) -> Extracted:
    text, composer = beginning(source) if source.is_large else start(source)
    lines = [line for line in text.splitlines() if line.strip()]
    first: list[_Object] = []
    for line in lines[:SHOWN_ROWS]:  # what is no object ends them
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict):
            break
        first.append(value)
    if source.is_large:
        _write_object_card(first, composer, total=f"about {lines_in(source):,}")
    elif not first or not _is_card(first, len(lines), composer):
        composer.block(text)
    return composer.finish("jsonl")


def _is_card(first: Sequence[_Object], count: int, composer: Composer) -> bool:
    """Whether so many rows are no text to search; then they are described."""
    cells = [[_shown(value) for value in item.values()] for item in first]
    is_long = count > (MOST_PROSE_ROWS if _is_prose(cells) else MOST_ROWS)
    if is_long:
        _write_object_card(first, composer, total=f"{count:,}")
    return is_long


def _write_object_card(objects: Sequence[_Object], composer: Composer, *, total: str) -> None:
    names = list(dict.fromkeys(name for item in objects for name in item))
    rows = [[_shown(item.get(name)) for name in names] for item in objects]
    _write_card(names, rows, names, composer, total=total)


def _shown(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Rows of a table as text. Each row is a line that can be understood alone.

MOST_ROWS = 2_000  # rows of numbers and names beyond which a table is described by a card
MOST_PROSE_ROWS = 20_000  # where rows hold sentences, which people search
SHOWN_ROWS = 20
_PROSE_CHARS = 80  # a row whose longest cell has so many characters holds a sentence, not a name
_LONGEST_NAME = 60
_MOST_NAMED_COLUMNS = 60
_MOST_LISTED_COLUMNS = 500


def write_rows(rows: Iterable[Sequence[str]], composer: Composer, *, total: str = "") -> None:
    """Rows of text; the first one that is filled decides whether columns have names. `total` says
    how many rows there are where that is known and `rows` are only the first."""
    filled = (row for row in rows if any(cell.strip() for cell in row))
    first = next(filled, None)
    if first is None:
        return
    head = list(islice(filled, MOST_ROWS + 1))
    names = column_names(first, head[0] if head else None)
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
    composer.about.card = True
    short = [[cell[:200] for cell in row] for row in rows[:SHOWN_ROWS]]
    size = f"{total} rows and {len(first):,} columns"
    composer.paragraph(f"A table of {size}; its first {len(short)} rows are shown.")
    if names:
        listed = [name for name in map(one_line, names) if name]
        more = len(listed) - _MOST_LISTED_COLUMNS
        end = f" and {more:,} more" if more > 0 else ""
        composer.paragraph(f"Columns: {', '.join(listed[:_MOST_LISTED_COLUMNS])}{end}.")
    _write_lines(first, short, names, composer)


def _write_lines(
    first: Sequence[str], rows: Iterable[Sequence[str]], names: list[str], composer: Composer
) -> None:
    composer.row(first)
    for row in rows:
        if not names:
            composer.row(row)
            continue
        cells = zip_longest(names[: len(row)], map(one_line, row), fillvalue="")
        filled = ((name, value) for name, value in cells if value)
        composer.line("; ".join(f"{name}: {value}" if name else value for name, value in filled))
    composer.end_lines()


def _is_prose(rows: Sequence[Sequence[str]]) -> bool:
    longest = sorted(max(map(len, row), default=0) for row in rows)
    return bool(longest) and longest[len(longest) // 2] >= _PROSE_CHARS


def column_names(first: Sequence[str], second: Sequence[str] | None) -> list[str]:
    names = [one_line(cell) for cell in first]
    given = [name for name in names if name]
    if second is None or len(given) < 2 or len(names) > _MOST_NAMED_COLUMNS:  # noqa: PLR2004
        return []
    is_wider = len(given) < sum(bool(cell.strip()) for cell in second) - 1
    is_odd = any(
        len(name) > _LONGEST_NAME
        or (any(map(str.isdigit, name)) and not any(map(str.isalpha, name)))
        for name in given
    )
    return [] if is_wider or is_odd or len(set(given)) < len(given) else names


# The beginning of a text file that is too large to be read whole, and how long it is.


def beginning(source: Source) -> tuple[str, Composer]:
    with source.open() as stream:
        data = stream.read(1 << 20)
    end = data.rfind(b"\n") + 1 or len(data)
    if 0 in data[:100]:  # two or four bytes a character: a line's end is more than its mark
        end += (-end) % 4
    composer = Composer(source.budget)
    text, composer.about.notes[:] = decode(data[:end])
    return text, composer


def lines_in(source: Source) -> int:
    """Line ends in all of it: about the number of its rows, as cells may hold some."""
    count = 0
    with source.open() as stream:
        while block := stream.read(8 << 20):
            count += block.count(b"\n")
            source.budget.beat()
    return count


# Markdown: the source as it stands, with a map of its headings.

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_FIELD = re.compile(r"^(title|author|authors|date)[ \t]*:[ \t]*(.*)$", re.IGNORECASE)
_FRONT_ITEM = re.compile(r"^[ \t]+-[ \t]*(?:name:[ \t]*)?(.+)$|^-[ \t]*(?:name:[ \t]*)?(.+)$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")

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
        for name in ("title", "author", "date"):
            setattr(composer.about, name, found.get(name) or None)
        text = text[front.end() :].lstrip("\n")
    composer.block(text)
    for level, begin, end in _markdown_headings(text):
        composer.mark_heading(level, begin, end)
    return composer.finish("markdown")


def _markdown_headings(text: str) -> Iterator[Found]:
    fence, following = "", 0
    before: tuple[int, str] = (0, "")
    for line in text.split("\n"):
        begin, following = following, following + len(line) + 1
        mark, atx, rule = _FENCE.match(line), _ATX.match(line), _SETEXT.match(line)
        if mark and (not fence or mark.group(1).startswith(fence)):
            fence = "" if fence else mark.group(1)
        elif not fence and atx and atx.group(2):
            yield len(atx.group(1)), begin + atx.start(2), begin + atx.end(2)
        elif not fence and rule and before[1].strip():
            at, words = before
            lead = len(words) - len(words.lstrip())
            yield (1 if rule.group(1)[0] == "=" else 2), at + lead, at + len(words.rstrip())
        is_plain = not (fence or mark or atx or rule)
        before = (begin, line if is_plain and not line.startswith((" " * 4, ">", "|")) else "")


# Jupyter notebooks: the prose with its headings, the code, and what it printed.


def parse_notebook(source: Source) -> Extracted:
    text, composer = start(source)
    try:
        notebook = json.loads(text)
    except ValueError as error:
        raise Damaged(f"the notebook is no valid JSON: {error}") from error
    if not isinstance(notebook, dict):
        raise Damaged("the notebook has no cells")
    for cell in _dicts(notebook.get("cells")):
        text = tidy(_text(cell.get("source")))
        begin = composer.block(text)
        if cell.get("cell_type") == "markdown":
            for level, first, last in _markdown_headings(text):
                composer.mark_heading(level, begin + first, begin + last)
        for output in _dicts(cell.get("outputs")):
            composer.block(_output(output)[:20_000])
    metadata = notebook.get("metadata")
    if isinstance(metadata, dict):
        composer.about.title = _text(metadata.get("title")) or None
    return composer.finish("notebook")


def _dicts(values: object) -> list[dict[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def _output(output: dict[str, Any]) -> str:
    if output.get("output_type") == "error":
        return f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    data = output.get("data")
    shown = data if isinstance(data, dict) else {}
    printed = _text(output.get("text")) or _text(shown.get("text/markdown"))
    # The text beside a picture only names its class.
    return printed or ("" if "image/png" in shown else _text(shown.get("text/plain")))


def _text(value: object) -> str:
    if isinstance(value, list):
        return "".join(str(item) for item in value)
    return value if isinstance(value, str) else ""
