"""What a model may be told of data: names and values that give it orders are withheld.

An error quotes what it failed on, so a cell of a table can speak through it.
"""

from __future__ import annotations

import re

from secondlook.nodes.screening import screened

WITHHELD = "(withheld: reads like an order to a model)"
_QUOTED = re.compile(r"""(["'`])(?P<inner>.{4,2000}?)\1""")
_LONGEST = 4_000


def is_order(text: str) -> bool:
    """Names are written with underscores: an order may be, too."""
    return screened(text[:_LONGEST].replace("_", " "), kind="passage").verdict != "safe"


def harmless(message: str) -> str:
    """On one line, without what in it reads like an order: quoted, after a colon, or all of it."""
    line = " ".join(message[:_LONGEST].split())
    line = _QUOTED.sub(lambda found: WITHHELD if is_order(found["inner"]) else found[0], line)
    head, colon, rest = line.partition(": ")
    if colon and is_order(rest):
        line = f"{head}: {WITHHELD}"
    return WITHHELD if is_order(line) else line
