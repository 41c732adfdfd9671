"""A text as a model would understand it, whatever its letters were dressed up as."""

# ruff: noqa: RUF001  # letters that look like others are the point
from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass

_TAGS = 0xE0000
"""Here begin invisible twins of the ASCII characters (Unicode, block Tags): a text can hide in
them."""
_TAGGED = re.compile("[\U000e0020-\U000e007e]")
_UNSEEN = (
    "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e01ef"
)
"""Format characters, signs of direction and selectors of variants."""
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
_INVISIBLE_WITHIN = re.compile(f"(?<=[A-Za-z])[{_UNSEEN}]+(?=[A-Za-z])")
_LOOKALIKES = str.maketrans(
    "аеіјорсухѕһԁɡіӏοαεικνρτυχАВЕЅІЈКМНОРСТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeijopcyxshdgiloaeiknptuxABESIJKMHOPCTYXABEZHIKMNOPTYX",
)
_QUOTES = str.maketrans("“”„«»‘’‚`´", "\"\"\"\"\"'''''")
_DIGITS = str.maketrans("013457@$", "oieastas")
_DIGIT_WITHIN = re.compile(r"(?<![\w@$])(?=\w*[a-z]{2})[a-z0-9@$]*[013457@$][a-z0-9@$]*[a-z]\b")
_DIGIT_IN_WORD = re.compile(r"[a-z][013457@$]+[a-z]|(?<![\w.,])[013457@$][a-z]{3}")
_MIXED = re.compile(r"\b(?=\w*[A-Za-z])(?=\w*[Ͱ-ӿԀ-ԯɡ])\w+\b")
_SET_APART = re.compile(r"(?<!\w)(?:[^\W\d_][ ._*-]){7,200}+(?:[^\W\d_](?!\w))?")
_WRITTEN_BREAK = re.compile(r"\\ ?[nrt]\b|\\ ?[nrt](?=\\)")
_BLANKS = re.compile(r" ?[^\S \n][^\S\n]*|  +")
_EMPTY = re.compile(r"\n[ \n]+")
_LINES = re.compile(r" ?\n[ \n]*")


@dataclass(frozen=True, slots=True)
class Plain:
    text: str
    """In small letters, with one kind of quotation marks; lines stay lines."""
    hidden: str
    """What was written in characters that nobody sees."""
    invisible: int
    """Invisible characters between letters of a script that has no use for them."""
    set_apart: tuple[str, ...]
    """Words whose letters were set apart, joined again."""
    breaks: int
    """Line breaks in a row, at most."""


def plain(text: str) -> Plain:
    seen, hidden, invisible = _visible(html.unescape(text) if "&" in text else text)
    lined = _WRITTEN_BREAK.sub("\n", seen) if "\\" in seen else seen
    small = _BLANKS.sub(" ", _in_one_script(lined).casefold().replace("`", "'"))
    apart = tuple(re.sub(r"[ ._*-]", "", run[0]) for run in _SET_APART.finditer(small))
    spelled = _DIGIT_WITHIN.sub(_spelled, small) if _DIGIT_IN_WORD.search(small) else small
    return Plain(
        text=_LINES.sub("\n", spelled).strip(),
        hidden=hidden,
        invisible=invisible,
        set_apart=apart,
        breaks=max((run[0].count("\n") for run in _EMPTY.finditer(small)), default=0),
    )


def _visible(text: str) -> tuple[str, str, int]:
    """The text without what nobody sees, that, and how much of it stood inside words."""
    if text.isascii():
        return text, "", 0
    hidden = "".join(chr(ord(one) - _TAGS) for one in _TAGGED.findall(text))
    within = len(_INVISIBLE_WITHIN.findall(text))
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)), hidden, within


def _in_one_script(text: str) -> str:
    """Words that mix letters of two scripts, in the one that they are meant to look like."""
    if text.isascii():
        return text
    return _MIXED.sub(lambda word: word[0].translate(_LOOKALIKES), text.translate(_QUOTES))


def _spelled(word: re.Match[str]) -> str:
    """`1gn0re` as it is read. Where the digits are the greater part it is no word."""
    digits = sum(character.isdigit() for character in word[0])
    return word[0].translate(_DIGITS) if 3 * digits < 2 * len(word[0]) else word[0]
