"""A question as it is typed, parted into what is asked and what there is to choose from.

Nothing is lost: what is not surely a list of choices at the end of the text stays in the question.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from secondlook.nodes.multiple_choice.lettered import Apart, lettered
from secondlook.nodes.multiple_choice.listed import listed
from secondlook.nodes.multiple_choice.objects import from_object

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST: Final = len(string.ascii_uppercase)
"""Choices of one question: there are no more letters."""
HEADING: Final = "Answer choices:"
_WORDED: Final = (
    r"(?:\*\*|#+ )?(?:(?:possible )?answer (?:choices|options)|options|choices|possible answers)"
    r"(?:\*\*)?:(?:\*\*)?(?=\s|\Z)"
)
_HEADINGS: Final = (
    re.compile(rf"^[ \t]*{_WORDED}", re.IGNORECASE | re.MULTILINE),
    re.compile(rf"(?<=\?)[ \t]+{_WORDED}", re.IGNORECASE),
)
"""On a line of its own, or after the question."""
_CUE = re.compile(r"\n\s*(?:(?:your |the )?(?:correct |best )?answer(?: is)?):\s*\Z", re.IGNORECASE)
"""What exam papers end in; it asks for nothing."""


@dataclass(frozen=True, slots=True)
class Parsed:
    stem: str
    """What is asked, without the choices."""
    choices: dict[str, str] = field(default_factory=dict)
    """By letter from A on, in their order; empty where there are none."""


def parsed(text: str) -> Parsed:
    """The question and its choices. Without a list of choices that ends it, the text is whole."""
    tidy = _CUE.sub("", text.replace("\r\n", "\n").strip())
    apart = from_object(tidy) or _under_heading(tidy) or lettered(tidy)
    if apart is None or not 1 < len(apart.texts) <= MOST:
        return Parsed(text.strip())
    return Parsed(apart.stem, by_letter(apart.texts))


def rendered(stem: str, choices: Mapping[str, str]) -> str:
    """The whole in one text, as `parsed` reads it."""
    if not choices:
        return stem
    lines = [f"({letter}) {' '.join(text.split())}" for letter, text in choices.items()]
    return "\n".join([stem.rstrip(), "", HEADING, *lines])


def by_letter(texts: Sequence[str]) -> dict[str, str]:
    return dict(zip(string.ascii_uppercase, texts, strict=False))


def _under_heading(text: str) -> Apart | None:
    """What stands under the last "Answer choices:", where all of it is a list."""
    for heading in _HEADINGS:
        for found in reversed(list(heading.finditer(text))):
            stem, under = text[: found.start()].rstrip(), text[found.end() :]
            apart = stem and (lettered(under, stem=stem) or listed(under, stem=stem))
            if apart:
                return apart
    return None
