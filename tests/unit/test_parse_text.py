"""Decoding, cleaning and composing: what every format ends in."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.retrieval.parse.compose import (
    Composer,
    clean,
    iso_date,
    language_of,
    one_line,
    tidy,
)
from secondlook.retrieval.parse.extract import extract_bytes
from secondlook.retrieval.parse.source import Budget, decode
from tests.support.files import PROSE

GERMAN = (
    "Der Leuchtturmwärter schrieb jeden Abend in ein dickes Heft. Er notierte den Wind, die Höhe "
    "der Wellen und die Namen der Schiffe, die am nördlichen Kap vorüberfuhren. Später fügte er "
    "hinzu, was ihm große Mühe machte."
)
RUSSIAN = (
    "Смотритель маяка каждый вечер писал в толстой тетради. Он записывал ветер, высоту волн и "
    "названия кораблей, которые проходили мимо северного мыса. Позже он добавлял своё мнение."
)
JAPANESE = (
    "灯台守は毎晩、厚い帳面に書き込みました。風の強さ、波の高さ、そして北の岬を通り過ぎる船の名前を"
    "記録しました。後になって、彼は自分の考えも書き加えました。これは長い冬の間の楽しみでした。"
)
CHINESE = (
    "灯塔看守人每天晚上都在一本厚厚的笔记本上写字。他记录风力、海浪的高度以及经过北角的船只的名字。"
    "后来他还加上了自己的想法。这是漫长冬天里的乐趣。"
)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((GERMAN, encoding) for encoding in ("cp1252", "utf-8-sig", "utf-32-be")),
        *((JAPANESE, encoding) for encoding in ("utf-16-le", "shift_jis")),
        *((CHINESE, "gb18030"), (RUSSIAN, "koi8-r")),
    ],
)
def test_any_encoding_is_read(text: str, encoding: str) -> None:
    parsed = extract_bytes(text.encode(encoding) * 3, "note.txt")[0]
    assert parsed.extracted is not None
    assert parsed.extracted.text.startswith(text[:60])
    assert parsed.extracted.notes == ()


def test_broken_utf8_keeps_the_rest_and_says_so() -> None:
    data = (GERMAN * 5).encode() + b"\xc3"
    text, notes = decode(data)
    assert text.startswith(GERMAN)
    assert notes == ("1 characters could not be decoded",)


@given(st.text(max_size=300))
def test_clean_text_has_no_surprises(text: str) -> None:
    result = clean(text)
    assert "\r" not in result
    assert "\x00" not in result
    assert unicodedata.is_normalized("NFC", result)
    result.encode("utf-8")
    assert clean(result) == result
    assert tidy(tidy(text)) == tidy(text)
    assert "\n\n\n" not in tidy(text)
    assert one_line(one_line(text)) == one_line(text)


pieces = st.lists(
    st.tuples(
        st.sampled_from(["heading", "paragraph", "block", "line", "page", "join"]),
        st.text(max_size=40),
    ),
    max_size=30,
)


@given(pieces)
@settings(max_examples=150)
def test_maps_are_exact(actions: list[tuple[str, str]]) -> None:
    composer = Composer(Budget())
    headings: list[str] = []
    page = 0
    for action, text in actions:
        if action == "page":
            page += 1
            composer.start_page(page)
        elif action == "heading":
            composer.heading(2, text)
            headings.extend([one_line(text)] if one_line(text) else [])
        elif action == "join":
            composer.paragraph(text, " ")
        else:
            getattr(composer, action)(text)
    result = composer.finish("text")
    assert [result.text[item.start : item.end] for item in result.headings] == headings
    assert [item.number for item in result.pages] == list(range(1, page + 1))
    for before, after in zip(result.pages, result.pages[1:], strict=False):
        assert before.start <= before.end <= after.start
    assert result.text == result.text.strip("\n")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-05-17T10:00:00Z", "2024-05-17"), ("2024", "2024"), ("May 2024", "2024-05"),
        ("D:20240517120000+02'00'", "2024-05-17"), ("20240231", "2024-02"), ("yesterday", None),
    ],
)  # fmt: skip
def test_dates_become_iso(value: str, expected: Any) -> None:
    assert iso_date(value) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (PROSE, "en"), (GERMAN, "de"), (RUSSIAN, "ru"), (JAPANESE, "ja"),
        (CHINESE, "zh"), ("Too short to tell.", None), (PROSE * 100, "en"),
    ],
)  # fmt: skip
def test_language_is_detected(text: str, code: str | None) -> None:
    assert language_of(text) == code
