"""A choice as an answer tells of it, and the words with which it ends the answer's text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.answer import Choice, ChoiceElement, ChoiceOption, ChoiceVerdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Citation
    from secondlook.state import ChoiceData, ElementData, OptionData

UNGROUNDED = "Ungrounded: from the model's own knowledge, without a source."
Numbers = dict[tuple[str, int, int], int]


def choice_of(choice: ChoiceData, citations: Sequence[Citation]) -> Choice:
    """With the numbers that the answer's citations have; a place that it does not cite is left
    out."""
    numbers = {(one.passage, one.start, one.end): one.number for one in citations}
    texts = {one["letter"]: one["text"] for one in choice["options"]}
    return Choice(
        letter=choice["letter"],
        text=texts.get(choice["letter"] or ""),
        options=tuple(map(_option, choice["options"])),
        elements=tuple(_element(one, numbers) for one in choice["elements"]),
        model=choice["model"],
        grounded=choice["grounded"],
        agreed=choice["agreed"],
        confidence=choice["confidence"],
        why=choice["why"],
    )


def choice_text(choice: Choice) -> str:
    """`Answer: (C) its words`, and under a guess that it is one; empty where none was chosen."""
    if choice.letter is None:
        return ""
    said = f"Answer: ({choice.letter}) {' '.join((choice.text or '').split())}".rstrip()
    return said if choice.grounded else f"{said}\n{UNGROUNDED}"


def step_heading(number: int, phase: str) -> str:
    """The line above the findings of a step of research, where there are several."""
    return f"### Step {number}: {' '.join(phase.split())}"


def _option(option: OptionData) -> ChoiceOption:
    return ChoiceOption(
        letter=option["letter"],
        text=option["text"],
        verdicts=tuple(
            ChoiceVerdict(element=one["element"], met=one["met"], fact=one["fact"])
            for one in option["verdicts"]
        ),
        reason=option["reason"],
    )


def _element(element: ElementData, numbers: Numbers) -> ChoiceElement:
    keys = [(place["passage"], place["start"], place["end"]) for place in element["cited"]]
    cited = tuple(dict.fromkeys(numbers[key] for key in keys if key in numbers))
    return ChoiceElement(text=element["text"], citations=cited)
