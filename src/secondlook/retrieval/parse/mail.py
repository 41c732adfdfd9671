"""E-mail: headers and body as one document, attachments as members of it."""

from __future__ import annotations

import email.policy
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged
from secondlook.retrieval.parse.archive import harmless
from secondlook.retrieval.parse.compose import Composer, one_line
from secondlook.retrieval.parse.extract import Carried
from secondlook.retrieval.parse.html import write_html
from secondlook.retrieval.parse.source import decode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import EmailMessage

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_MOST_PARTS = 10_000
_SUFFIXES = {
    "application/pdf": ".pdf", "text/plain": ".txt", "text/html": ".html", "text/csv": ".csv",
    "message/rfc822": ".eml", "image/png": ".png", "image/jpeg": ".jpg",
}  # fmt: skip


def open_mail(source: Source) -> tuple[Extracted, Iterator[Carried]]:
    message: Any = email.message_from_bytes(source.read(), policy=email.policy.default)
    composer = Composer(source.budget)
    write_headers({name: header(message, name) for name in _SHOWN}, composer)
    bodies, attachments = _sorted_parts(message)
    for part in bodies:
        _write_body(part, composer, source)
    return composer.finish("mail"), _carried(attachments, source)


def header(message: EmailMessage, name: str) -> str:
    """A header as text; malformed ones raise in Python's parser."""
    try:
        return one_line(str(message.get(name, "")))
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):
        raw = next((value for key, value in message.raw_items() if key == name), "")
        return one_line(str(raw))


def write_headers(headers: dict[str, str], composer: Composer) -> None:
    for name in _SHOWN:
        if headers.get(name):
            composer.line(f"{name}: {headers[name]}")
    composer.end_lines()
    composer.about.title = headers.get("Subject")
    composer.about.author = headers.get("From")
    composer.about.date = mail_date(headers.get("Date", ""))


def mail_date(value: str) -> str | None:
    try:
        return parsedate_to_datetime(value).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


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
        if _is_attached(part) or (kind == "message/rfc822" and part is not message):
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


def _is_attached(part: Any) -> bool:
    try:
        return bool(part.get_content_disposition() == "attachment" or part.get_filename())
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):
        return False


def _preferred(part: Any) -> list[Any]:
    """Of the alternatives the plain text, unless it is empty; then the last one."""
    choices = part.get_payload()
    if not isinstance(choices, list):
        return []
    for choice in choices:
        if choice.get_content_type() == "text/plain" and (choice.get_payload() or "").strip():
            return [choice]
    return choices[-1:]


def _write_body(part: Any, composer: Composer, source: Source) -> None:
    data = part.get_payload(decode=True) or b""
    text, notes = decode(data, declared=_charset(part))
    composer.about.notes.extend(notes)
    if part.get_content_type() == "text/html":
        write_html(text, composer, source, book=True)
    else:
        composer.block(text)


def _charset(part: Any) -> str | None:
    try:
        return part.get_content_charset()  # type: ignore[no-any-return]
    except (ValueError, LookupError, AttributeError, TypeError):
        return None


def _carried(parts: list[Any], source: Source) -> Iterator[Carried]:
    seen: dict[str, int] = {}
    for number, part in enumerate(parts, 1):
        source.budget.spend_member()
        name = _name(part, number)
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name = f"{number}-{name}"
        try:
            data = _payload(part)
        except (ValueError, LookupError, TypeError, AttributeError, KeyError) as error:
            yield Carried(name, error=Damaged(f"the attachment cannot be decoded: {error}"))
            continue
        source.budget.spend_expanded(len(data))
        if part.get_content_maintype() != "image":
            yield Carried(name, data, size=len(data))


def _payload(part: Any) -> bytes:
    if part.get_content_type() == "message/rfc822":
        inner = part.get_payload()
        return bytes(inner[0]) if isinstance(inner, list) and inner else b""
    return part.get_payload(decode=True) or b""


def _name(part: Any, number: int) -> str:
    try:
        given = part.get_filename()
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):
        given = None
    if given:
        return harmless(given)
    return f"attachment-{number}{_SUFFIXES.get(part.get_content_type(), '')}"


# Outlook's .msg: the same document as a mail in standard form.


def open_msg(source: Source) -> tuple[Extracted, Iterator[Carried]]:
    from oxmsg import Message

    with source.open() as stream:
        message = Message.load(stream)
        composer = Composer(source.budget)
        write_headers(_headers(message), composer)
        if message.sent_date is not None:
            composer.about.date = message.sent_date.date().isoformat()
        if (message.body or "").strip():
            composer.block(message.body or "")
        elif message.html_body:
            write_html(message.html_body, composer, source, book=True)
        attachments = [(item.file_name, item.file_bytes) for item in message.attachments]
    return composer.finish("mail"), _msg_carried(attachments, source)


def _headers(message: Any) -> dict[str, str]:
    headers = {name.title(): value for name, value in message.message_headers.items()}
    return {
        **headers,
        "From": message.sender or headers.get("From", ""),
        "To": headers.get("To", "") or ", ".join(_recipient(item) for item in message.recipients),
        "Date": str(message.sent_date or headers.get("Date", "")),
        "Subject": message.subject or headers.get("Subject", ""),
    }


def _recipient(item: Any) -> str:
    return f"{item.name} <{item.email_address}>" if item.name else str(item.email_address)


def _msg_carried(found: list[tuple[str | None, bytes | None]], source: Source) -> Iterator[Carried]:
    for number, (name, data) in enumerate(found, 1):
        source.budget.spend_member()
        if data:
            source.budget.spend_expanded(len(data))
            yield Carried(harmless(name or f"attachment-{number}"), data, size=len(data))
