"""Parts as an answer tells of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.answer import AnswerPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Citation
    from secondlook.state import PartData


def answer_parts(
    parts: Sequence[PartData], citations: Sequence[Citation]
) -> tuple[AnswerPart, ...]:
    """Those that were asked, with the numbers of what they rest on."""
    numbers = {(one.passage, one.start, one.end): one.number for one in citations}
    return tuple(_told(part, numbers) for part in parts if part["asked"] is not None)


def _told(part: PartData, numbers: dict[tuple[str, int, int], int]) -> AnswerPart:
    draft = part["draft"]
    places = [place for one in draft["sentences"] for place in one["cited"]] if draft else []
    keys = [(place["passage"], place["start"], place["end"]) for place in places]
    return AnswerPart(
        question=part["asked"] or part["question"],
        short=draft["short"] if draft else None,
        citations=tuple(dict.fromkeys(numbers[key] for key in keys if key in numbers)),
    )
