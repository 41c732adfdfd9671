"""Words of the question that a reply quotes: as they stand there, or not at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORD = re.compile(r"\w+(?:[.,'\u2019-]\w+)*")
_FEWEST_LETTERS = 4
"""Less than this stands in any text."""
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u201e\u00ab\u00bb]{2,300})[\"\u201d\u201c\u00bb]"
)


def fact_in(said: str, sources: Sequence[str]) -> str | None:
    """The words as the first source that has them in a row writes them; None where none has.
    Case, spaces and signs around words do not count."""
    wanted = [word.casefold() for word in _WORD.findall(said)]
    if sum(map(len, wanted)) < _FEWEST_LETTERS:
        return None
    for source in sources:
        words = list(_WORD.finditer(source))
        plain = [word[0].casefold() for word in words]
        for at in range(len(plain) - len(wanted) + 1):
            if plain[at : at + len(wanted)] == wanted:
                return source[words[at].start() : words[at + len(wanted) - 1].end()]
    return None


def quoted_in(text: str) -> list[str]:
    """What stands between quotation marks."""
    return _QUOTED.findall(text)
