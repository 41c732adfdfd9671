"""Signs that lie in how a text is written instead of in what it says."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from typing import TYPE_CHECKING, NamedTuple

from secondlook.prompts import CONTROL_MARK, EVIDENCE_MARK, without_evidence_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.nodes.screening.plain import Plain

_BASE64 = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/]{20,}={0,2}(?![\w+/=])")
_HEX = re.compile(r"(?<!\w)(?:0x|\\x|%)?(?:[2-7][0-9a-fA-F](?:[ ,]|\\x|%)?){12,}+(?!\w)")
_ENCODED_OUT = re.compile(
    r"\b(?:in|as|to|using|into|through) (?:base ?64|rot ?13|pig latin|reverse(?: order)?"
    r"|hex(?:adecimal)?|morse(?: code)?|binary|leet ?speak)\b"
    r"|\bdecode (?:this|the following|it) and\b"
)
_SQUEEZED = re.compile(
    r"ignore(?:all|the|any)?(?:previous|prior|above|instructions)|forgeteverything|saythat"
    r"|systemprompt|reveal(?:the|your)|yourpassword|yourinstructions|disregard"
)
_BACKWARDS = ("erongi", "tegrof", "dragersid", "laever", "tpmorp", "snoitcurtsni", "drowssap")
_ROTATED = ("vtaber", "sbetrg", "qvfertneq", "erirny", "cebzcg", "vafgehpgvbaf", "cnffjbeq")
_UNSEEN = re.compile(
    r"(?:display ?: ?none|visibility ?: ?hidden|font-size ?: ?0|opacity ?: ?0(?!\.)"
    r"|color ?: ?(?:white|#fff)|\bhidden\b)[^>]{0,40}>(?P<styled>[^<]{12,300})"
    r"|<!--(?P<comment>.{12,600}?)-->",
    re.DOTALL,
)
_ASSIGNED = re.compile(r"\b\w{1,12} ?[:=] ?(?:\"([^\"\n]{1,200})\"|'([^'\n]{1,200})')")
_CARRIES = re.compile(r"!\[[^\]]*\]\(https?://[^)\s]*[?&][^)\s]*=[^)\s]*\)")
_REPEATED = re.compile(r"\b(\w{2,20}+)(?:\W++\1\b){11}")
_PADDED = 6
_SPRINKLED = 3
_LONGEST = 4000


class HowWritten(NamedTuple):
    """A sign of this kind: like `signs.Sign`, but found by code instead of by one pattern."""

    reason: str
    question: float
    passage: float


def signs_in(text: str, shown: Plain) -> Iterator[HowWritten]:
    """What is odd about how the text is written."""
    yield from _marks(text, shown)
    if shown.hidden:
        yield HowWritten("hides text in invisible characters", 0.9, 0.85)
    elif shown.invisible >= _SPRINKLED:
        yield HowWritten("breaks words up by invisible characters", 0.45, 0.2)
    yield from _drawn_apart(shown)
    if shown.breaks >= _PADDED:
        yield HowWritten("is pushed down by empty lines", 0.5, 0.0)
    if _REPEATED.search(shown.text):
        yield HowWritten("repeats a word again and again", 0.45, 0.2)
    if "![" in text and _CARRIES.search(text):
        yield HowWritten("holds an image whose address carries data", 0.3, 0.3)
    if _ENCODED_OUT.search(shown.text):
        yield HowWritten("asks for an encoded reply", 0.3, 0.3)


def _marks(text: str, shown: Plain) -> Iterator[HowWritten]:
    bracketed = "<" in text or "[" in text
    marks = {mark.casefold() for mark in CONTROL_MARK.findall(text)} if bracketed else set()
    if marks:
        worth = 0.9 if len(marks) > 1 else 0.5
        yield HowWritten("holds marks of a chat template", worth, min(worth, 0.8))
    if "evidence" not in shown.text:
        return
    if EVIDENCE_MARK.search(text):
        yield HowWritten("imitates the marks around evidence", 0.95, 0.95)
    elif without_evidence_marks(text) != text:
        yield HowWritten("imitates the marks around evidence", 0.5, 0.4)


def _drawn_apart(shown: Plain) -> Iterator[HowWritten]:
    if any(_SQUEEZED.search(word) for word in shown.set_apart):
        yield HowWritten("hides words by setting their letters apart", 0.9, 0.85)
    elif shown.set_apart:
        yield HowWritten("sets the letters of words apart", 0.4, 0.1)


def payloads(text: str, shown: Plain) -> Iterator[tuple[str, str]]:
    """Texts inside the text that a model might read and a person might not, and what hides them."""
    if shown.hidden:
        yield "in invisible characters", shown.hidden
    for found in _UNSEEN.finditer(text) if "<" in text else ():
        yield "in markup that a page does not show", found["styled"] or found["comment"]
    pieces = [one or other for one, other in _ASSIGNED.findall(shown.text)]
    if len(pieces) > 1:
        yield "in pieces", "".join(pieces)
        yield "in pieces", " ".join(pieces)
    for found in _BASE64.finditer(text):
        if (decoded := _readable(_from_base64(found[0]))) is not None:
            yield "in base64", decoded
    for found in _HEX.finditer(text):
        if (decoded := _readable(_from_hex(found[0]))) is not None:
            yield "in hexadecimal", decoded
    if any(word in shown.text for word in _BACKWARDS):
        yield "written backwards", shown.text[:_LONGEST][::-1]
    if any(word in shown.text for word in _ROTATED):
        yield "in ROT13", codecs.decode(shown.text[:_LONGEST], "rot13")


def _from_base64(written: str) -> bytes:
    try:
        return base64.b64decode(written[:_LONGEST] + "=" * (-len(written) % 4))
    except (binascii.Error, ValueError):
        return b""


def _from_hex(written: str) -> bytes:
    digits = re.sub(r"0x|\\x|[ ,%]", "", written[:_LONGEST])
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _readable(decoded: bytes) -> str | None:
    """As text; None where it is none."""
    try:
        text = decoded.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if len(text) > _SPRINKLED and text.replace("\n", " ").isprintable() else None
