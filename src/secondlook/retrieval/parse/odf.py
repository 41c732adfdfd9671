"""OpenDocument texts and presentations, read from their content.xml."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, Encrypted, LimitExceeded
from secondlook.retrieval.parse.compose import Composer, tidy
from secondlook.retrieval.parse.source import Package, as_set, attribute, child_text, local, package

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_SKIPPED = as_set(
    "tracked-changes annotation sequence-decls forms settings page-number "
    "automatic-styles styles master-styles font-face-decls scripts"
)
_TITLE_CLASSES = frozenset(("title",))
_MANIFEST = "META-INF/manifest.xml"


def parse_odt(source: Source) -> Extracted:
    with package(source) as parts:
        composer = Composer(source.budget)
        _write(_body(parts), composer)
        _describe(parts, composer)
        return composer.finish("odt")


def parse_odp(source: Source) -> Extracted:
    with package(source) as parts:
        composer = Composer(source.budget)
        slides = [item for item in _body(parts).iter() if local(item) == "page"]
        source.budget.spend_pages(len(slides))
        for number, slide in enumerate(slides, 1):
            composer.start_page(number)
            _write_slide(slide, composer)
        _describe(parts, composer)
        return composer.finish("odp")


def _body(parts: Package) -> Any:
    manifest = parts.xml(_MANIFEST)
    if manifest is not None and any(local(item) == "encryption-data" for item in manifest.iter()):
        raise Encrypted("it is protected by a password", hint="save a copy without password")
    root = parts.xml("content.xml")
    if root is None:
        raise Damaged("it has no content: content.xml is missing")
    return root


def _describe(parts: Package, composer: Composer) -> None:
    meta = parts.xml("meta.xml")
    about = composer.about
    about.title = child_text(meta, "title")
    about.author = child_text(meta, "initial-creator") or child_text(meta, "creator")
    about.date = child_text(meta, "creation-date") or child_text(meta, "date")


def _write_slide(slide: Any, composer: Composer) -> None:
    frames = [item for item in slide if local(item) != "notes"]
    notes = [item for item in slide if local(item) == "notes"]
    frames.sort(key=lambda frame: attribute(frame, "class") not in _TITLE_CLASSES)
    for frame in frames:
        if attribute(frame, "class") in _TITLE_CLASSES:
            composer.heading(1, " ".join(_texts(frame)))
        else:
            _write(frame, composer)
    for note in notes:
        _write(note, composer)


def _write(root: Any, composer: Composer) -> None:
    """Walks without recursion. Items of a list are marked once, where they begin."""
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
            composer.row(" ".join(_texts(cell)) for cell in element if local(cell) == "table-cell")
        elif name not in _SKIPPED:
            if name == "table":
                composer.end_lines()
            inner = in_list or name == "list-item"
            stack.extend((child, inner) for child in reversed(element))


def _texts(element: Any) -> Iterator[str]:
    for item in element.iter():
        if local(item) in {"p", "h"}:
            yield _flat(item)


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
        if name in _SKIPPED:
            continue
        children: list[Any] = list(item)
        stack.extend(reversed(children))
        if item.text:
            words.append(item.text)
    return "".join(words)


# Rich Text Format.

_INFO = re.compile(r"\{\\(title|author)\s([^{}]{1,500})\}")
_CREATED = re.compile(r"\{\\creatim\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
_PICTURE_DATA = re.compile(r"(?:[0-9a-fA-F]{64,}\s*)+")
_BYTES_PER_CHAR = 20


def parse_rtf(source: Source) -> Extracted:
    from striprtf.striprtf import rtf_to_text

    limit = source.budget.limits.text_chars
    if source.size > limit * _BYTES_PER_CHAR:
        raise LimitExceeded(f"it holds more than {limit:,} characters of text")
    raw = source.read().decode("latin-1")
    # Pictures are megabytes of hexadecimal digits that would only be walked to be dropped.
    raw = _PICTURE_DATA.sub("", raw)
    source.budget.beat()
    composer = Composer(source.budget)
    text: str = rtf_to_text(raw, encoding="cp1252", errors="replace")  # type: ignore[no-untyped-call]
    for paragraph in tidy(text).split("\n"):
        composer.paragraph(paragraph)
    _rtf_describe(raw, composer)
    return composer.finish("rtf")


def _rtf_describe(raw: str, composer: Composer) -> None:
    about = {match.group(1): match.group(2) for match in _INFO.finditer(raw[:100_000])}
    composer.about.title = _plain(about.get("title"))
    composer.about.author = _plain(about.get("author"))
    if created := _CREATED.search(raw[:100_000]):
        year, month, day = map(int, created.groups())
        composer.about.date = f"{year:04}-{month:02}-{day:02}"


def _plain(value: str | None) -> str | None:
    """Escapes such as \\'fc resolved."""
    if value is None:
        return None
    resolved = re.sub(
        r"\\'([0-9a-fA-F]{2})",
        lambda match: bytes.fromhex(match.group(1)).decode("cp1252", "replace"),
        value,
    )
    return re.sub(r"\\u(-?\d{1,5})\s?\??", lambda match: chr(int(match.group(1)) % 65536), resolved)
