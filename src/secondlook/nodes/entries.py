"""Lists that a model replies with: a number and a verdict for each thing it was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def usable(value: Any, *, number: str, verdict: str, is_known: Callable[[Any], bool]) -> Any:
    """The list without the entries that are none, unless all are: then the whole is refused."""
    if not isinstance(value, list):
        return value
    return [
        entry
        for entry in value
        if isinstance(entry, dict)
        and _is_number(entry.get(number))
        and is_known(entry.get(verdict))
    ] or value


def _is_number(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and value.strip().isdecimal())
