"""Outlook's .msg: the same document as a mail in standard form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from secondlook.retrieval.parse.archive import harmless
from secondlook.retrieval.parse.compose import Composer
from secondlook.retrieval.parse.html import write_html
from secondlook.retrieval.parse.mail import write_headers
from secondlook.retrieval.parse.registry import Carried

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.document import Extracted
    from secondlook.retrieval.parse.source import Source


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
    return composer.finish("mail"), _carried(attachments, source)


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


def _carried(found: list[tuple[str | None, bytes | None]], source: Source) -> Iterator[Carried]:
    for number, (name, data) in enumerate(found, 1):
        source.budget.spend_member()
        if data:
            source.budget.spend_expanded(len(data))
            yield Carried(harmless(name or f"attachment-{number}"), data, size=len(data))
