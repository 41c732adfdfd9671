"""What an answer itself says, without what the code that prints it adds."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from secondlook.retrieval.sentences import sentence_starts

if TYPE_CHECKING:
    from secondlook.answer import Answer

_CITATION_MARK = re.compile(r"\s*\[\d{1,6}(?:\s?[,;]\s?\d{1,6})*\]")


def is_answered(answer: Answer) -> bool:
    """A letter that was guessed is an answer, whatever the research came to."""
    return answer.status in {"answered", "partial"} or is_guess(answer)


def is_guess(answer: Answer) -> bool:
    """Whether an option was chosen from a model's own knowledge."""
    choice = answer.choice
    return choice is not None and choice.letter is not None and not choice.grounded


def said(answer: Answer) -> str:
    """Its claims in a row, without citation marks and remarks; where there are none, its text
    without the marks."""
    if answer.claims:
        return " ".join(claim.text for claim in answer.claims).strip()
    return _CITATION_MARK.sub("", answer.text).strip()


def sentences(text: str) -> list[str]:
    """The text by sentence, each with single spaces."""
    bounds = pairwise([0, *sentence_starts(text), len(text)])
    found = (" ".join(text[start:end].split()) for start, end in bounds)
    return [sentence for sentence in found if sentence]
