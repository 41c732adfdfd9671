"""Sentences of a document that say something by themselves, so that one can ask about them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.nodes.places import lines_of, sentence_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

FEWEST_WORDS, MOST_WORDS = 7, 40
_AROUND = 700
"""Characters before and after a sentence that stand for its passage."""
_AT_ONCE = 20_000
"""Characters looked at together; a book is looked at in parts."""
_LEANS_ON_OTHERS = re.compile(
    r"(?:it|its|he|his|she|her|they|their|this|these|that|those|such|there|here|both|another|"
    r"other|and|but|or|so|also|then|see|we|our|you|your|i|my|one)\b",
    re.IGNORECASE,
)
_CLUTTER = re.compile(r"https?:|www\.|[|<>{}\\=_~^@#]|\.\.|\[\d|[\u0400-\uffff]{3}")
_ENGLISH = frozenset(
    "the of and to was were is are has had have been by with for from that which its their".split()  # noqa: SIM905
)
_FEWEST_ENGLISH = 2
_VERBLIKE = re.compile(
    r"\b(?:is|was|are|were|has|have|had|can|could|will|would|must|may|\w+ed|\w{2,}s|began|made|"
    r"took|became|went|gave|found|held|led|won|wrote|built|said|came|lost|rose|fell)\b"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence on one line, where it stands in its document, and what stands around it."""

    document: str
    text: str
    start: int
    end: int
    around: str


def statements(document: str, text: str) -> Iterator[Statement]:
    """Those sentences of a text that can be understood alone; rows, lists and headings are none."""
    for first in range(0, len(text), _AT_ONCE):
        part = text[first : first + _AT_ONCE]
        alone = [line for line in lines_of(part) if line.kind != "text"]
        for start, end in sentence_bounds(part):
            if any(line.start < end and start < line.end for line in alone):
                continue
            said = " ".join(part[start:end].split())
            if stands_alone(said):
                at, to = first + start, first + end
                around = text[max(0, at - _AROUND) : to + _AROUND]
                yield Statement(document, said, at, to, around)


def stands_alone(sentence: str) -> bool:
    words = sentence.split()
    return (
        FEWEST_WORDS <= len(words) <= MOST_WORDS
        and sentence[0].isupper()
        and sentence[-1] == "."
        and not _LEANS_ON_OTHERS.match(sentence)
        and not _CLUTTER.search(sentence)
        and sum(word in _ENGLISH for word in words) >= _FEWEST_ENGLISH
        and _VERBLIKE.search(sentence) is not None
        and sum(word[:1].isalpha() for word in words) >= 0.7 * len(words)
    )
