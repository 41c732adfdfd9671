"""An unclear question in words: as it reads with its meaning filled in, and as a question back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.nodes.meaning.rivals import Rival
    from secondlook.nodes.meaning.unclear import Unclear


def with_meaning(question: str, unclear: Unclear, meant: Rival) -> str:
    """The question with the name in the word's place: "her group" is "Ada's group"."""
    name = f"the {meant.name}" if meant.takes_the else meant.name
    if unclear.start == 0:
        name = name[:1].upper() + name[1:]
    if unclear.owns:
        name += "'" if name.endswith("s") else "'s"
    if unclear.kind == "place":
        name = f"in {name}"
    return f"{question[: unclear.start]}{name}{question[unclear.end :]}"


def assumption(unclear: Unclear, meant: Rival) -> str:
    return f"{unclear.word.lower()} = {meant.name}"


def question_back(unclear: Unclear, names: Sequence[str]) -> str:
    """What to ask whoever asked."""
    if unclear.kind == "noun":
        return f"Which {unclear.noun} do you mean: {choices(names)}?"
    asking = {"person": "Whom", "place": "Which place"}.get(unclear.kind, "What")
    return f'{asking} do you mean by "{unclear.word.lower()}": {choices(names)}?'


def choices(names: Sequence[str]) -> str:
    """ "A, B or C"."""
    return " or ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
