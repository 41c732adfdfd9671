"""What notebooks and chats add to Python, taken off again."""

from __future__ import annotations

import re
import textwrap
from typing import Final

from secondlook.nodes.coding.parsing import is_python

_PROMPT = re.compile(r"^\s*(?:>>> ?|In \[\d*\]: ?)")
_CONTINUED = re.compile(r"^\s*(?:\.\.\.:? ?)")
_TIMED = re.compile(r"^(\s*)%(?:time|prun)\s+(?=\S)")
"""Magics that run the rest of their line."""
_MAGIC = re.compile(r"^(\s*)(?:%%?\w|!|\?\??\w|\w+(?:\s*,\s*\w+)*\s*=\s*[!%]\s*\w)")
_HELP = re.compile(r"^(\s*)[\w.]+\?{1,2}\s*$")
_INVISIBLE: Final = {ord(mark): " " for mark in "\u00a0\u202f\u2007\u3000"} | {
    ord(mark): None for mark in "\ufeff\u200b\u200c\u200d\u2060"
}
_TYPOGRAPHIC: Final = {
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f"), '"'),
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b"), "'"),
    ord("\u2212"): "-",
    ord("\u2013"): "-",
}


def tidied(code: str) -> str:
    """The same code as plain Python, as far as that can be told."""
    code = _dedented(_without_prompts(code.replace("\r\n", "\n").replace("\r", "\n")))
    if not is_python(code):
        code = _first_python(code)
    return code.strip("\n").rstrip()


def _first_python(code: str) -> str:
    """With as few changes as make it Python; as it is where none do."""
    plain = code.translate(_INVISIBLE)
    without_magics = _without_magics(plain)
    for tried in (plain, without_magics, without_magics.translate(_TYPOGRAPHIC)):
        if is_python(tried):
            return tried
    return without_magics


def _dedented(code: str) -> str:
    return textwrap.dedent(code.expandtabs(4) if "\t" in code else code)


def _without_prompts(code: str) -> str:
    """The lines that were typed, where a session is shown; what it printed is left out."""
    lines = code.split("\n")
    if not any(_PROMPT.match(line) for line in lines):
        return code
    typed: list[str] = []
    typing = False
    for line in lines:
        mark = _PROMPT.match(line) or (_CONTINUED.match(line) if typing else None)
        typing = mark is not None
        if mark:
            typed.append(line[mark.end() :])
    return "\n".join(typed)


def _without_magics(code: str) -> str:
    return "\n".join(map(_without_magic, code.split("\n")))


def _without_magic(line: str) -> str:
    if timed := _TIMED.match(line):
        return timed[1] + line[timed.end() :]
    if magic := _MAGIC.match(line) or _HELP.match(line):
        return f"{magic[1]}pass" if magic[1] else ""  # a block must not become empty
    return line
