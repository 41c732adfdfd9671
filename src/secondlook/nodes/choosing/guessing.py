"""A choice from the model's own knowledge, where nothing was found and somebody asked for it. It
is marked as such and has no confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.errors import BudgetExceeded, ModelError
from secondlook.nodes.choosing.by_model import listed
from secondlook.nodes.choosing.lines_form import read_lines
from secondlook.nodes.choosing.task import NODE, Choosing, Task
from secondlook.nodes.choosing.weighing import derived, settled
from secondlook.prompts import load
from secondlook.state import ChoiceData, OptionData, trouble

if TYPE_CHECKING:
    from secondlook.context import Context

NOTHING = "the research found nothing to choose on"


async def guessed(context: Context, task: Task) -> Choosing:
    prompt = load("choose_guess")
    try:
        reply = await context.models.ask(
            prompt.role,
            prompt.render(question=task.stem, options=listed(task)),
            node=NODE,
            max_tokens=prompt.max_tokens,
            final=True,
        )
    except (ModelError, BudgetExceeded) as error:
        return nothing_chosen(task, trouble(NODE, error, "no option was chosen"))
    weighing = read_lines(reply.text, task)
    letter = None
    if weighing is not None:
        letter = weighing.named or settled(derived(weighing), weighing)[0]
    if weighing is None or letter is None:
        return nothing_chosen(task)
    choice = ChoiceData(
        letter=letter,
        options=[_without_verdicts(one) for one in weighing.options],
        elements=[],
        model=context.models.name("choose"),
        grounded=False,
        agreed=None,
        confidence=None,
        why=f"{NOTHING}; {letter} is the model's own guess, without a source",
    )
    return Choosing(choice, {"form": "guess", "calls": reply.usage.calls})


def nothing_chosen(task: Task, *warnings: dict[str, object]) -> Choosing:
    options = [
        OptionData(letter=letter, text=text, verdicts=[], reason="")
        for letter, text in task.options.items()
    ]
    choice = ChoiceData(
        letter=None,
        options=options,
        elements=[],
        model=None,
        grounded=True,
        agreed=None,
        confidence=None,
        why=NOTHING,
    )
    return Choosing(choice, {"form": "none", "calls": 0}, list(warnings))


def _without_verdicts(option: OptionData) -> OptionData:
    """Nothing was weighed: what the model holds of the option stays as its reason."""
    return {**option, "verdicts": []}
