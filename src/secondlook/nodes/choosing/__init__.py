"""Chooses among the options of a question by what the research found.

A model says what must hold and for which option it does; code derives the letter. Without a model
the reader weighs the options. Nothing here is shown to whoever plans, searches or writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.nodes.choosing.by_model import chosen_by_model
from secondlook.nodes.choosing.by_reader import chosen_by_reader
from secondlook.nodes.choosing.guessing import guessed, nothing_chosen
from secondlook.nodes.choosing.task import Choosing, Task, task_of
from secondlook.nodes.choosing.telling import choice_of, choice_text, step_heading

if TYPE_CHECKING:
    from secondlook.context import Context

__all__ = [
    "Choosing",
    "Task",
    "choice_of",
    "choice_text",
    "chosen",
    "step_heading",
    "task_of",
]


async def chosen(context: Context, task: Task) -> Choosing:
    serves = context.models.serves("choose")
    if not task.research:
        guessing = serves and context.settings.research.guess
        return await guessed(context, task) if guessing else nothing_chosen(task)
    if not serves:
        return await chosen_by_reader(context, task)
    made = await chosen_by_model(context, task)
    return made if isinstance(made, Choosing) else await chosen_by_reader(context, task, made)
