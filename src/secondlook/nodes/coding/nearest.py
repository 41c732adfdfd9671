"""The names that a wrong one was probably meant to be."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from secondlook.nodes.coding.telling import is_order

if TYPE_CHECKING:
    from collections.abc import Collection

_LONGEST = 120
_ENOUGH = 0.4


def nearest(name: str, known: Collection[str], *, most: int = 3) -> list[str]:
    """Without regard to case, blanks and underscores; the order of `known` decides ties."""
    by_key: dict[str, str] = {}
    for one in known:
        by_key.setdefault(_key(one), one)
    wanted = _key(name)
    within = [key for key in by_key if len(wanted) > 2 and (wanted in key or key in wanted)]  # noqa: PLR2004
    close = difflib.get_close_matches(wanted, by_key, n=most, cutoff=_ENOUGH)
    exact = [wanted] if wanted in by_key else []
    keys = list(dict.fromkeys([*exact, *close, *within]))
    return [by_key[key] for key in keys if key][:most]


def listed(names: Collection[str]) -> str:
    """For a model."""
    return ", ".join(repr(name[:_LONGEST]) for name in names if not is_order(name))


def _key(name: str) -> str:
    return "".join(one for one in name.casefold()[:_LONGEST] if one.isalnum())
