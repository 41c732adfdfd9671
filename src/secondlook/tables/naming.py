"""What tables are called in a question and in code: no two alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from secondlook.tables.table import Table


def named_apart(tables: Iterable[Table], *, taken: Collection[str] = ()) -> list[Table]:
    """The tables with names that differ from each other and from those taken."""
    names = set(taken)
    found: list[Table] = []
    for table in tables:
        name = unlike(table.name, names)
        names.add(name)
        found.append(table if name == table.name else table.model_copy(update={"name": name}))
    return found


def unlike(name: str, taken: Collection[str]) -> str:
    """The name itself, or the first number behind it that makes it different: `sales_2`."""
    number, chosen = 1, name
    while chosen in taken:
        number += 1
        chosen = f"{name}_{number}"
    return chosen
