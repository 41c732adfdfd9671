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
from collections import Counter
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from secondlook.errors import Damaged, ExtractionError, LimitExceeded
from secondlook.retrieval.parse.compose import Composer, one_line
from secondlook.retrieval.parse.extract import Carried
from secondlook.retrieval.parse.html import write_html
from secondlook.retrieval.parse.source import (
    BROKEN_ZIP,
    TAR_MARK,
    UNSUPPORTED,
    check_expansion,
    decode,
    read_expanded,
    read_member,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Budget, Source

    Members = Iterator[tuple[str, int, Callable[[], bytes]]]  # name, size, and how to read it

_HIDDEN = re.compile(r"(^|/)(__MACOSX/|\.[^/.])")
_BROKEN = (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError)
_TAR_HEAD = 512


def open_archive(source: Source) -> tuple[None, Iterator[Carried]]:
    """A compressed tar is opened as one; anything else that is compressed is a single file."""
    return None, _carried(_members(source), source.budget)


def _carried(members: Members, budget: Budget) -> Iterator[Carried]:
    """One bad member costs one member. The second of one name becomes "name (2)"."""
    seen: Counter[str] = Counter()
    for given, size, read in members:
        budget.spend("members")
        name = harmless(given)
        seen[name] += 1
        if seen[name] > 1:
            stem, dot, suffix = name.rpartition(".")
            mark = f" ({seen[name]})"
            name = f"{stem}{mark}{dot}{suffix}" if stem else f"{name}{mark}"
        if size > budget.limits.file_bytes:
            reason = f"it has {size:,} bytes, the limit is {budget.limits.file_bytes:,}"
            yield Carried(name, error=LimitExceeded(reason), size=size)
            continue
        try:
            data = read()
        except LimitExceeded:
            raise
        except ExtractionError as error:
            yield Carried(name, error=error, size=size)
        else:
            yield Carried(name, data, size=len(data))


def _members(source: Source) -> Members:
    budget = source.budget
    if source.head.startswith(b"PK"):
        with source.open() as stream:
            try:
                archive = zipfile.ZipFile(stream)
            except BROKEN_ZIP as error:
                raise Damaged(f"it is not a readable zip file: {error}") from error
            with archive:
                check_expansion(archive, budget)
                for info in archive.infolist():
                    if not info.is_dir() and not is_hidden(info.filename):
                        yield (
                            info.filename,
                            info.file_size,
                            partial(read_member, archive, info, budget),
                        )
        return
    known: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
    unpack = known.get(source.head[:2])
    with source.open() as packed, unpack(packed) if unpack else packed as stream:
        with _explained():
            head = stream.read(_TAR_HEAD)
            stream.seek(0)
        if head[TAR_MARK] == b"ustar":
            yield from _tar_members(stream, budget)
        else:
            name = re.sub(r"\.(gz|bz2|xz|z)$", "", source.name, flags=re.IGNORECASE)
            yield name, 0, partial(_expanded, stream, budget)


def _tar_members(stream: IO[bytes], budget: Budget) -> Members:
    with _explained(), tarfile.open(fileobj=stream, mode="r|") as archive:
        for info in archive:
            budget.beat()
            # Headers are counted too: what is skipped still had to be decompressed.
            budget.spend("expanded_bytes", _TAR_HEAD + (info.size if info.isreg() else 0))
            if info.isreg() and not is_hidden(info.name):
                yield info.name, info.size, partial(_tar_data, archive, info)


def _tar_data(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    with _explained():
        stream = archive.extractfile(info)
        data = stream.read() if stream is not None else b""
    if len(data) < info.size:
        raise Damaged("the archive ends in the middle of it")
    return data


def _expanded(stream: IO[bytes], budget: Budget) -> bytes:
    with _explained():
        return read_expanded(stream, budget)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise Damaged(f"the archive is damaged: {error}") from error


def is_hidden(name: str) -> bool:
    clean = name.replace("\\", "/").lstrip("./") if not name.startswith(".") else name
    suffix = clean.rpartition(".")[2].lower() if "." in clean else ""
    return bool(_HIDDEN.search(clean)) or f".{suffix}" in UNSUPPORTED


def harmless(name: str) -> str:
    """A member's name as a plain relative path; it is only ever shown, never opened."""
    parts = name.replace("\\", "/").split("/")
    kept = [part for part in parts if part not in {"", ".", ".."} and not part.endswith(":")]
    path = "/".join(kept).encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"[\x00-\x1f\x7f]", "_", path)[:1000] or "unnamed"


# E-mail: headers and body as one document, attachments as members of it.

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
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
    bodies, attached = _sorted_parts(message)
    for part in bodies:
        data = part.get_payload(decode=True) or b""
        text, notes = decode(data, declared=_asked(part.get_content_charset))
        composer.about.notes.extend(notes)
        if part.get_content_type() == "text/html":
            write_html(text, composer, source, book=True)
        else:
            composer.block(text)

    def members() -> Members:
        for number, part in enumerate(attached, 1):
            suffix = _SUFFIXES.get(part.get_content_type(), "")
            name = _asked(part.get_filename) or f"attachment-{number}{suffix}"
            if part.get_content_maintype() != "image":
                yield name, 0, partial(_attachment, part, source.budget)

    return composer.finish("mail"), _carried(members(), source.budget)


def _asked(what: Callable[[], Any]) -> Any:
    with suppress(*_MALFORMED):
        return what()


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
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        about.date = parsedate_to_datetime(headers.get("Date", "")).date().isoformat()


def _sorted_parts(message: Any) -> tuple[list[Any], list[Any]]:
    """What is read as the body, and what is attached. Walks without recursion."""
    bodies: list[Any] = []
    attached: list[Any] = []
    stack = [message]
    for _ in range(10_000):
        if not stack:
            break
        part = stack.pop()
        kind, inner = part.get_content_type(), part.get_payload()
        is_attached = _asked(part.get_content_disposition) == "attachment"
        is_attached = is_attached or bool(_asked(part.get_filename))
        if is_attached or (kind == "message/rfc822" and part is not message):
            attached.append(part)
        elif kind == "multipart/alternative":
            choices = inner if isinstance(inner, list) else []
            # The plain text, unless it is empty; then the last one.
            plain = [one for one in choices if one.get_content_type() == "text/plain"]
            filled = [one for one in plain if (one.get_payload() or "").strip()]
            stack.extend(filled[:1] or choices[-1:])
        elif part.is_multipart():
            stack.extend(reversed(inner))
        else:
            (bodies if kind in {"text/plain", "text/html"} else attached).append(part)
    return bodies, attached


def _attachment(part: Any, budget: Budget) -> bytes:
    try:
        inner = part.get_payload()
        is_mail = part.get_content_type() == "message/rfc822" and isinstance(inner, list)
        data = bytes(inner[0]) if is_mail and inner else part.get_payload(decode=True) or b""
    except _MALFORMED as error:
        raise Damaged(f"the attachment cannot be decoded: {error}") from error
    budget.spend("expanded_bytes", len(data))
    return data


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
        attached = [(item.file_name, item.file_bytes) for item in message.attachments]

    def members() -> Members:
        for number, (name, data) in enumerate(attached, 1):
            if data:
                source.budget.spend("expanded_bytes", len(data))
                yield name or f"attachment-{number}", 0, partial(bytes, data)

    return composer.finish("mail"), _carried(members(), source.budget)
