"""Names of columns that code writes almost right are put right: a model drops the blank at the end
of a header, or its capitals, and nobody else is meant."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


def with_real_names(code: str, tables: Mapping[str, Collection[str]]) -> str:
    """The code, with every text that differs from one column's name by capitals, blanks and signs
    alone as that name. What the code itself creates keeps its name."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    real = {name for names in tables.values() for name in names}
    meant = _by_plain_name(real)
    created = set(_created(tree))
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value not in real
        and node.value not in created
        and _plain(node.value) in meant
    ]
    return _replaced(code, found, meant)


def _by_plain_name(real: Collection[str]) -> dict[str, str]:
    """Those that no other column is like."""
    plain = [_plain(name) for name in real]
    return {_plain(name): name for name in real if plain.count(_plain(name)) == 1 and _plain(name)}


def _plain(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def _created(tree: ast.AST) -> Iterator[str]:
    """Names of columns that are assigned to, and keys of what is built."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield from _texts(node.slice)
        elif isinstance(node, ast.Dict):
            yield from (text for key in node.keys if key is not None for text in _texts(key))


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _replaced(code: str, found: list[ast.Constant], meant: Mapping[str, str]) -> str:
    """From the end, so that places stay right. Columns count bytes of a line."""
    lines = [line.encode() for line in code.splitlines(keepends=True)]
    for node in sorted(found, key=lambda one: (one.lineno, one.col_offset), reverse=True):
        if node.end_lineno != node.lineno or node.end_col_offset is None:
            continue  # a text over several lines names no column
        line = lines[node.lineno - 1]
        name = repr(meant[_plain(str(node.value))]).encode()
        lines[node.lineno - 1] = line[: node.col_offset] + name + line[node.end_col_offset :]
    return b"".join(lines).decode()
