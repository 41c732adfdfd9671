"""Columns and tables that the code names and that are not there.

Told only where it is certain: of a frame that still has the columns it came with, and of a name
that the code mentions nowhere else, where it might create it.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, Final

from secondlook.nodes.coding.frames import COLLECTIONS, Frames, texts
from secondlook.nodes.coding.nearest import listed, nearest
from secondlook.nodes.coding.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_BY_COLUMN: Final = frozenset({"groupby", "sort_values", "set_index", "nlargest", "nsmallest"})
"""Methods that are given names of columns and make none."""
_NAMING: Final = frozenset({"by", "subset", "columns", "keys"})
_FEW_TABLES = 12


def unknown_table(tree: ast.Module, tables: Mapping[str, Collection[str]]) -> Refusal | None:
    stored = _stored_names(tree)
    if not tables:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "df" and len(tables) > 1:
            if "df" not in stored and isinstance(node.ctx, ast.Load):
                return _no_table(
                    f"There are several tables, so `df` is not bound: {_named(tables)}.", node
                )
        elif isinstance(node, ast.Subscript) and _is_collection(node.value, stored):
            key = texts(node.slice) if isinstance(node.slice, ast.Constant) else []
            if key and key[0].value not in tables and not _stores_table(tree, key[0].value):
                return _no_table(f"There is no table {key[0].value!r}: {_named(tables)}.", node)
    return None


def unknown_column(tree: ast.Module, tables: Mapping[str, Collection[str]]) -> Refusal | None:
    frames = Frames(tree, tables)
    read = list(_read(tree))
    everywhere = Counter(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    only_read = Counter(key.value for _, keys in read for key in keys)
    named = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}
    for frame, keys in read:
        source = frames.source(frame)
        for key in keys if source is not None else ():
            name = str(key.value)
            created = everywhere[name] > only_read[name] or name in named
            if not created and not any(name in tables[one] for one in source or ()):
                return _no_column(name, sorted(source or ()), tables, key.lineno)
    return None


def _read(tree: ast.Module) -> Iterator[tuple[ast.expr, list[ast.Constant]]]:
    """Frames, and the columns that are read of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            value = node.value
            if isinstance(value, ast.Attribute) and value.attr == "loc":
                yield value.value, texts(node.slice) if isinstance(node.slice, ast.Tuple) else []
            elif not isinstance(node.slice, ast.Tuple):
                yield value, texts(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            known = node.func.attr in _BY_COLUMN
            yield node.func.value, _given_columns(node) if known else []


def _given_columns(node: ast.Call) -> list[ast.Constant]:
    given = [*node.args, *(one.value for one in node.keywords if one.arg in _NAMING)]
    return [key for one in given if not isinstance(one, ast.Tuple) for key in texts(one)]


def _no_column(
    name: str, source: Collection[str], tables: Mapping[str, Collection[str]], line: int
) -> Refusal:
    known = [column for one in source for column in tables[one]]
    elsewhere = [one for one in tables if name in tables[one]]
    if elsewhere:
        advice = f"Table {elsewhere[0]!r} has it."
    elif near := nearest(name, known):
        advice = f"The nearest: {listed(near)}."
    else:
        advice = f"It has: {listed(known[:_FEW_TABLES])}."
    where = f"Table {next(iter(source))!r}" if len(source) == 1 else "None of the tables"
    verb = "has no" if len(source) == 1 else "has a"
    message = f"{where} {verb} column {name!r}. {advice} Write names exactly as the profile does."
    return Refusal("unknown_column", message, line)


def _no_table(message: str, node: ast.expr) -> Refusal:
    return Refusal("unknown_table", message, node.lineno)


def _named(tables: Mapping[str, Collection[str]]) -> str:
    return "use " + ", ".join(f'`tables["{name}"]`' for name in list(tables)[:_FEW_TABLES])


def _is_collection(node: ast.expr, stored: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in COLLECTIONS - stored


def _stored_names(tree: ast.Module) -> set[str]:
    """Also parameters: they may be anything."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _stores_table(tree: ast.Module, name: object) -> bool:
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.slice, ast.Constant)
        and node.slice.value == name
        for node in ast.walk(tree)
    )
