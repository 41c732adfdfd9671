"""Archives and mails: what lies in them, one member after the other, never written to disk."""

from __future__ import annotations

import bz2
import email.policy
import gzip
import lzma
import re
import tarfile
import zipfile
import zlib
from email.utils import parsedate_to_datetime
from typing import IO, TYPE_CHECKING, Any

from secondlook.errors import Damaged, ExtractionError, LimitExceeded
from secondlook.retrieval.parse.compose import Composer, one_line
from secondlook.retrieval.parse.extract import Carried
from secondlook.retrieval.parse.html import write_html
from secondlook.retrieval.parse.source import (
    BROKEN_ZIP,
    UNSUPPORTED,
    check_expansion,
    decode,
    read_member,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Budget, Source

_BLOCK = 1 << 20
_HIDDEN = re.compile(r"(^|/)(__MACOSX/|\.[^/.])")
_BROKEN = (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError)
_TAR_HEAD = 512
_TAR_MARK = slice(257, 262)


def open_zip(source: Source) -> tuple[None, Iterator[Carried]]:
    return None, _named_once(_zip_members(source))


def _zip_members(source: Source) -> Iterator[Carried]:
    budget = source.budget
    with source.open() as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except BROKEN_ZIP as error:
            raise Damaged(f"it is not a readable zip file: {error}") from error
        with archive:
            check_expansion(archive, budget)
            for info in archive.infolist():
                if not info.is_dir() and not is_hidden(info.filename):
                    budget.spend_member()
                    yield _member(
                        harmless(info.filename),
                        info.file_size,
                        budget,
                        lambda info=info: read_member(archive, info, budget),  # type: ignore[misc]
                    )


def _member(name: str, size: int, budget: Budget, read: Callable[[], bytes]) -> Carried:
    try:
        if size > budget.limits.file_bytes:
            reason = f"it has {size:,} bytes, the limit is {budget.limits.file_bytes:,}"
            return Carried(name, error=LimitExceeded(reason), size=size)
        return Carried(name, read(), size=size)
    except LimitExceeded:
        raise
    except ExtractionError as error:
        return Carried(name, error=error, size=size)


def open_tar(source: Source) -> tuple[None, Iterator[Carried]]:
    def members() -> Iterator[Carried]:
        with source.open() as stream:
            yield from _read_tar(stream, source.budget)

    return None, _named_once(members())


def _read_tar(stream: IO[bytes], budget: Budget) -> Iterator[Carried]:
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for info in archive:
                budget.beat()
                # Headers are counted too: what is skipped still had to be decompressed.
                budget.spend_expanded(_TAR_HEAD + (info.size if info.isreg() else 0))
                if info.isreg() and not is_hidden(info.name):
                    budget.spend_member()
                    yield _member(
                        harmless(info.name),
                        info.size,
                        budget,
                        lambda info=info: _tar_data(archive, info),  # type: ignore[misc]
                    )
    except _BROKEN as error:
        raise Damaged(f"the archive is damaged: {error}") from error


def _tar_data(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(info)
    data = stream.read() if stream is not None else b""
    if len(data) < info.size:
        raise Damaged("the archive ends in the middle of it")
    return data


def open_compressed(source: Source) -> tuple[None, Iterator[Carried]]:
    """A compressed tar is opened as one; anything else is a single file without its suffix."""
    return None, _named_once(_decompressed(source))


def _decompressed(source: Source) -> Iterator[Carried]:
    known: dict[bytes, tuple[str, Any]]
    known = {b"\x1f\x8b": ("gzip", gzip.open), b"BZ": ("bzip2", bz2.open)}
    kind, unpack = known.get(source.head[:2], ("xz", lzma.open))
    with source.open() as packed, unpack(packed) as stream:
        try:
            head = stream.read(_TAR_HEAD)
            stream.seek(0)
            if head[_TAR_MARK] != b"ustar":
                source.budget.spend_member()
                blocks: list[bytes] = []
                while block := stream.read(_BLOCK):
                    source.budget.spend_expanded(len(block))
                    source.budget.beat()
                    blocks.append(block)
                name = re.sub(r"\.(gz|bz2|xz|z)$", "", source.name, flags=re.IGNORECASE)
                data = b"".join(blocks)
                yield Carried(name, data, size=len(data))
                return
        except _BROKEN as error:
            raise Damaged(f"its {kind} compression is damaged: {error}") from error
        yield from _read_tar(stream, source.budget)


def is_hidden(name: str) -> bool:
    """Hidden files, macOS's shadow files, and what no parser could read anyway."""
    clean = name.replace("\\", "/").lstrip("./") if not name.startswith(".") else name
    suffix = clean.rpartition(".")[2].lower() if "." in clean else ""
    return bool(_HIDDEN.search(clean)) or f".{suffix}" in UNSUPPORTED


def harmless(name: str) -> str:
    """A member's name as a plain relative path; it is only ever shown, never opened."""
    parts = name.replace("\\", "/").split("/")
    kept = [part for part in parts if part not in {"", ".", ".."} and not part.endswith(":")]
    path = "/".join(kept).encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"[\x00-\x1f\x7f]", "_", path)[:1000] or "unnamed"


def _named_once(members: Iterator[Carried]) -> Iterator[Carried]:
    """Archives may hold two files of one name: the second becomes "name (2)"."""
    seen: dict[str, int] = {}
    for item in members:
        count = seen[item.name] = seen.get(item.name, 0) + 1
        if count == 1:
            yield item
            continue
        stem, dot, suffix = item.name.rpartition(".")
        name = f"{stem} ({count}){dot}{suffix}" if stem else f"{item.name} ({count})"
        yield Carried(name, item.data, item.error, item.size)


# E-mail: headers and body as one document, attachments as members of it.

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_MOST_PARTS = 10_000
_MALFORMED = (ValueError, IndexError, AttributeError, TypeError, LookupError)
"""What Python's parser raises on malformed headers."""
_SUFFIXES = {
    "application/pdf": ".pdf", "text/plain": ".txt", "text/html": ".html", "text/csv": ".csv",
    "message/rfc822": ".eml", "image/png": ".png", "image/jpeg": ".jpg",
}  # fmt: skip


def open_mail(source: Source) -> tuple[Extracted, Iterator[Carried]]:
    message: Any = email.message_from_bytes(source.read(), policy=email.policy.default)
    composer = Composer(source.budget)
    _write_headers({name: _header(message, name) for name in _SHOWN}, composer)
    bodies, attachments = _sorted_parts(message)
    for part in bodies:
        data = part.get_payload(decode=True) or b""
        text, notes = decode(data, declared=_asked(part.get_content_charset))
        composer.about.notes.extend(notes)
        if part.get_content_type() == "text/html":
            write_html(text, composer, source, book=True)
        else:
            composer.block(text)
    return composer.finish("mail"), _attachments(attachments, source)


def _asked(what: Callable[[], Any]) -> Any:
    try:
        return what()
    except _MALFORMED:
        return None


def _header(message: Any, name: str) -> str:
    try:
        return one_line(str(message.get(name, "")))
    except _MALFORMED:
        raw = next((value for key, value in message.raw_items() if key == name), "")
        return one_line(str(raw))


def _write_headers(headers: dict[str, str], composer: Composer) -> None:
    for name in _SHOWN:
        if headers.get(name):
            composer.line(f"{name}: {headers[name]}")
    composer.end_lines()
    about = composer.about
    about.title, about.author = headers.get("Subject"), headers.get("From")
    try:
        about.date = parsedate_to_datetime(headers.get("Date", "")).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        about.date = None


def _sorted_parts(message: Any) -> tuple[list[Any], list[Any]]:
    """What is read as the body, and what is attached. Walks without recursion."""
    bodies: list[Any] = []
    attached: list[Any] = []
    stack = [message]
    for _ in range(_MOST_PARTS):
        if not stack:
            break
        part = stack.pop()
        kind = part.get_content_type()
        is_attached = _asked(part.get_content_disposition) == "attachment"
        is_attached = is_attached or bool(_asked(part.get_filename))
        if is_attached or (kind == "message/rfc822" and part is not message):
            attached.append(part)
        elif kind == "multipart/alternative":
            stack.extend(_preferred(part))
        elif part.is_multipart():
            stack.extend(reversed(part.get_payload()))
        elif kind in {"text/plain", "text/html"}:
            bodies.append(part)
        else:
            attached.append(part)
    return bodies, attached


def _preferred(part: Any) -> list[Any]:
    """Of the alternatives the plain text, unless it is empty; then the last one."""
    choices = part.get_payload()
    if not isinstance(choices, list):
        return []
    for choice in choices:
        if choice.get_content_type() == "text/plain" and (choice.get_payload() or "").strip():
            return [choice]
    return choices[-1:]


def _attachments(parts: list[Any], source: Source) -> Iterator[Carried]:
    seen: dict[str, int] = {}
    for number, part in enumerate(parts, 1):
        source.budget.spend_member()
        kind, given = part.get_content_type(), _asked(part.get_filename)
        name = harmless(given) if given else f"attachment-{number}{_SUFFIXES.get(kind, '')}"
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name = f"{number}-{name}"
        try:
            if kind == "message/rfc822":
                inner = part.get_payload()
                data = bytes(inner[0]) if isinstance(inner, list) and inner else b""
            else:
                data = part.get_payload(decode=True) or b""
        except _MALFORMED as error:
            yield Carried(name, error=Damaged(f"the attachment cannot be decoded: {error}"))
            continue
        source.budget.spend_expanded(len(data))
        if part.get_content_maintype() != "image":
            yield Carried(name, data, size=len(data))


# Outlook's .msg: the same document as a mail in standard form.


def open_msg(source: Source) -> tuple[Extracted, Iterator[Carried]]:
    from oxmsg import Message

    with source.open() as stream:
        message: Any = Message.load(stream)
        composer = Composer(source.budget)
        headers = {name.title(): value for name, value in message.message_headers.items()}
        recipients = ", ".join(
            f"{one.name} <{one.email_address}>" if one.name else str(one.email_address)
            for one in message.recipients
        )
        headers["From"] = message.sender or headers.get("From", "")
        headers["To"] = headers.get("To", "") or recipients
        headers["Date"] = str(message.sent_date or headers.get("Date", ""))
        headers["Subject"] = message.subject or headers.get("Subject", "")
        _write_headers(headers, composer)
        if message.sent_date is not None:
            composer.about.date = message.sent_date.date().isoformat()
        if (message.body or "").strip():
            composer.block(message.body or "")
        elif message.html_body:
            write_html(message.html_body, composer, source, book=True)
        attachments = [(item.file_name, item.file_bytes) for item in message.attachments]

    def carried() -> Iterator[Carried]:
        for number, (name, data) in enumerate(attachments, 1):
            source.budget.spend_member()
            if data:
                source.budget.spend_expanded(len(data))
                yield Carried(harmless(name or f"attachment-{number}"), data, size=len(data))

    return composer.finish("mail"), carried()
