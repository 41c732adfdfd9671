"""What a model may be told of data: names and values that give it orders are withheld.

An error quotes what it failed on, so a cell of a table can speak through it.
"""

from __future__ import annotations

import re

from secondlook.nodes.screening import stops

WITHHELD = "(withheld: reads like an order to a model)"
_QUOTED = re.compile(r"""(["'`])(?P<inner>.{4,2000}?)\1""")
_LONGEST = 4_000
_WORDS_BEFORE = 12
"""Behind so many words of a quoted name an order is still looked for."""


def is_order(text: str) -> bool:
    """Whether a name, a cell or what an error quotes of them is kept from a model."""
    return stops(text, channel="table")


def harmless(message: str) -> str:
    """On one line, without what in it reads like an order: quoted, after a colon, or all of it."""
    line = " ".join(message[:_LONGEST].split())
    line = _QUOTED.sub(lambda found: WITHHELD if _holds_order(found["inner"]) else found[0], line)
    head, colon, rest = line.partition(": ")
    if colon and is_order(rest):
        line = f"{head}: {WITHHELD}"
    return WITHHELD if is_order(line) else line


def _holds_order(name: str) -> bool:
    """Names are joined to others, "mean age" and a column's: then the order does not come first."""
    words = name.replace("_", " ").split()
    return any(is_order(" ".join(words[at:])) for at in range(min(len(words), _WORDS_BEFORE)))
