"""Choices in a JSON object: {"question": "...", "choices": {...} or [...]}."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from secondlook.nodes.multiple_choice.lettered import Apart

if TYPE_CHECKING:
    from collections.abc import Mapping

_ASKING: Final = ("question", "stem")
_CHOOSING: Final = ("choices", "options", "answer_choices")
_BEFORE: Final = ("context", "background", "facts", "passage", "prompt")
"""What the question builds on, put before it."""
_ABOUT: Final = frozenset({"id", "answer", "answer_index", "label", "subject", "topic", "source"})
"""What is told about a question and is no part of it. Who researches is not told the answer."""


def from_object(text: str) -> Apart | None:
    """The question of an object whose every field is known; None for anything else."""
    fields = _fields(text)
    if fields is None:
        return None
    stem, texts = _one_of(fields, _ASKING), _texts(_one_of(fields, _CHOOSING))
    before = [fields[name] for name in _BEFORE if fields.get(name)]
    unknown = set(fields).difference(_ASKING, _CHOOSING, _BEFORE, _ABOUT)
    told = [*before, stem]
    if unknown or texts is None or not all(isinstance(each, str) for each in told):
        return None
    return Apart("\n".join(each.strip() for each in told), texts) if stem.strip() else None


def in_order(choices: Mapping[str, Any]) -> list[Any] | None:
    """The texts in the order of their letters or numbers; None where the names are neither."""
    names = [str(name).strip().strip("().").upper() for name in choices]
    letters = [chr(ord("A") + place) for place in range(len(names))]
    numbers = [str(number) for number in range(1, len(names) + 1)]
    for wanted in (letters, numbers):
        if sorted(names) == sorted(wanted):
            by_name = dict(zip(names, choices.values(), strict=True))
            return [by_name[name] for name in wanted]
    return None


def _fields(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return {name.casefold(): each for name, each in value.items()}


def _one_of(fields: dict[str, Any], names: tuple[str, ...]) -> Any:
    given = [fields[name] for name in names if name in fields]
    return given[0] if len(given) == 1 else None


def _texts(choices: Any) -> tuple[str, ...] | None:
    given = in_order(choices) if isinstance(choices, dict) else choices
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        return None
    tidy = tuple(" ".join(each.split()) for each in given)
    return tidy if all(tidy) else None
