"""Bytes to text, whatever the encoding; bytes that are no text are refused."""

from __future__ import annotations

import codecs
import re

from secondlook.errors import Unsupported

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like UTF-16's mark, so it is asked first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 64 << 10
_TOLERATED_DAMAGE = 0.002
"""Share of bytes that may be broken in what is otherwise UTF-8."""
_LEGACY = (
    "cp1252", "cp932", "gb18030", "big5", "euc_jp", "cp949", "koi8_r",
    "cp1251", "cp866", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256",
)  # fmt: skip
_CONTROL = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_BINARY_SHARE = 0.01
_LATIN_WORD_HIGH = re.compile(rb"[A-Za-z][\xc0-\xff]|[\xc0-\xff][A-Za-z]")
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]{3,}")


def decode(data: bytes, *, declared: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The text, and notes about what was lost. Raises `Unsupported` for binary data."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _decode_as(data[len(mark) :], encoding)
    if wide := _wide_encoding(data):
        return _decode_as(data, wide)
    if looks_binary(data):
        raise Unsupported("it holds binary data, not text")
    if declared and (text := _strictly(data, declared)) is not None:
        return text, ()
    if (text := _strictly(data, "utf-8")) is not None:
        return text, ()
    return _decode_legacy(data)


def looks_binary(data: bytes) -> bool:
    sample = data[:_SAMPLE]
    return len(_CONTROL.findall(sample)) > _BINARY_SHARE * len(sample)


def is_text(data: bytes) -> bool:
    """Whether the beginning of a file looks like text in some encoding."""
    if any(data.startswith(mark) for mark, _ in _BOMS):
        return True
    return bool(_wide_encoding(data)) or not looks_binary(data)


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _decode_as(data: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    text = data.decode(encoding, "replace")
    return text, _damage_note(text.count("\ufffd"))


def _damage_note(lost: int) -> tuple[str, ...]:
    return (f"{lost:,} characters could not be decoded",) if lost else ()


def _wide_encoding(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: bytes no other text has, and sense when read so."""
    sample = data[:_SAMPLE]
    if not sample or (0 not in sample and not looks_binary(sample)):
        return None
    for encoding, width in (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2)):
        whole = sample[: len(sample) - len(sample) % width]
        if len(data) % width == 0 and _reads_well(whole, encoding):
            return encoding
    return None


def _reads_well(sample: bytes, encoding: str) -> bool:
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeError:
        return False
    if not text:
        return False
    # Real text has blanks, and hardly any control or unassigned character.
    odd = sum(not (char.isprintable() or char in "\r\n\t\f") for char in text)
    blanks = sum(char in " \n\r\t\u3000" or char in ".,\u3002\u3001" for char in text)
    return odd <= len(text) * _BINARY_SHARE and blanks * 60 >= len(text)


def _decode_legacy(data: bytes) -> tuple[str, tuple[str, ...]]:
    text = data.decode("utf-8", "replace")
    lost = text.count("\ufffd")
    if lost <= max(1, len(data) * _TOLERATED_DAMAGE) and _mostly_utf8(text, lost):
        return text, _damage_note(lost)
    encoding = _guess(data[: _SAMPLE * 4])
    return _decode_as(data, encoding)


def _mostly_utf8(text: str, lost: int) -> bool:
    """Broken UTF-8 still shows more whole multi-byte characters than broken ones."""
    whole = sum(ord(char) > 0x7F for char in text) - lost  # noqa: PLR2004 - end of ASCII
    return whole > lost


def _guess(sample: bytes) -> str:
    if _is_western(sample):
        return "cp1252"
    import charset_normalizer

    matches = charset_normalizer.from_bytes(sample, cp_isolation=list(_LEGACY))
    best = matches.best()
    return best.encoding if best is not None else "cp1252"


def _is_western(sample: bytes) -> bool:
    """Accents between ASCII letters, never in long runs: detectors confuse these pages."""
    high = len(_HIGH_BYTE.findall(sample))
    in_words = len(_LATIN_WORD_HIGH.findall(sample))
    return not _HIGH_RUN.search(sample) and in_words * 2 >= high
