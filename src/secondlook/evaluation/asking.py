"""How a question of a set is put to the engine, and by what its row is known again."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from secondlook import __version__
from secondlook.evaluation.indexing import library_key
from secondlook.nodes.multiple_choice.parsing import by_letter, rendered

if TYPE_CHECKING:
    from secondlook.evaluation.datasets import EvalSet
    from secondlook.evaluation.records import Case
    from secondlook.evaluation.running import Planned

_FORM = 3
"""Counted up when rows tell more than before: those of an earlier form are made again."""
CHOOSING = frozenset({"research", "auto"})
"""Workflows that know choices for what they are."""


def asked(case: Case, workflow: str) -> str:
    """The question as the engine is asked it: with its choices, where it has any."""
    if not case.choices:
        return case.question
    if workflow in CHOOSING:
        return rendered(case.question, by_letter(list(case.choices.values())))
    choices = "\n".join(f"{letter}. {text}" for letter, text in case.choices.items())
    return f"{case.question}\n{choices}"


def run_name(case: Case, repeat: int) -> str:
    """The same for every configuration: the marks around evidence are derived from it, and equal
    prompts must be equal to the letter."""
    digest = hashlib.sha256(f"{case.id}\0{case.question}\0{repeat}".encode()).hexdigest()
    return f"eval-{digest[:12]}"


def configuration_key(data: EvalSet, planned: Planned) -> str:
    """All that shapes the rows of a configuration, but for the question."""
    settings = planned.settings.model_dump(mode="json", exclude={"library", "runs", "ingest"})
    configuration = planned.configuration
    own = [
        __version__,
        _FORM,
        library_key(data, planned.settings),
        configuration.workflow,
        settings,
    ]
    return _digest([configuration.name, *own])


def row_key(configuration: str, case: Case, repeat: int) -> str:
    known = [case.id, case.question, case.answers, dict(case.gold), case.answerable, case.type]
    choices = [dict(case.choices or {}), case.choice, case.subject]
    over = [case.table, case.values] if case.table else []
    return _digest([configuration, known, *choices, *over, repeat])


def _digest(shaping: list[Any]) -> str:
    return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:24]
