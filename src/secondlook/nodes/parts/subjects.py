"""What each of several like questions is about: that by which it differs from the others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from secondlook.nodes.follow_up import names

if TYPE_CHECKING:
    from collections.abc import Sequence

_PEOPLE = re.compile(r" [A-Z]\w+(?:an|ish|ese)\Z")
_EDGE = " ?.,;:"


def subjects(questions: Sequence[str]) -> list[str]:
    """ "When was Oslo founded?" and "When was Bergen founded?" are about Oslo and Bergen."""
    split = [question.rstrip(" ?").split() for question in questions]
    first, last = _common(split), _common([words[::-1] for words in split])
    told = []
    for words, question in zip(split, questions, strict=True):
        own = words[first : max(first + 1, len(words) - last)]
        told.append(_whole(" ".join(own).strip(_EDGE), question))
    return told


def _common(split: Sequence[list[str]]) -> int:
    """How many words all begin with; at least one is left to each."""
    most = min(map(len, split)) - 1
    return next((at for at in range(most) if len({words[at] for words in split}) > 1), max(most, 0))


def _whole(own: str, question: str) -> str:
    """The name that the words are part of: of "Battle of Guam" they may be only the last."""
    text = question[:1].lower() + question[1:]
    inside = [name for name in names(text) if re.search(rf"(?<!\w){re.escape(own)}(?!\w)", name)]
    name = inside[0] if len(inside) == 1 and own else own
    if name != own:  # "Is Ada Vane American?" is about Ada Vane
        name = _PEOPLE.sub("", name)
    quoted = f'"{name}"'
    return quoted if quoted in question else re.sub(r"['\u2019]s\Z", "", name)
