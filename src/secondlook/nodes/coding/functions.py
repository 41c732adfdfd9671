"""What a function of the program may read, bind and change."""

from __future__ import annotations

import ast
from typing import TypeAlias

from secondlook.nodes.coding.names import root_of

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def body_of(function: Function) -> list[ast.stmt]:
    if isinstance(function, ast.Lambda):
        return [ast.Return(value=function.body)]
    return function.body


def parameters(function: Function) -> set[str]:
    given = function.args
    alone = [one for one in (given.vararg, given.kwarg) if one is not None]
    return {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, *alone)}


def defaults(function: Function) -> list[ast.expr]:
    given = function.args
    return [*given.defaults, *(one for one in given.kw_defaults if one is not None)]


def declared_outer(function: Function) -> set[str]:
    """Names that it says are not its own: `global result`."""
    return {
        name
        for one in ast.walk(function)
        if isinstance(one, ast.Global | ast.Nonlocal)
        for name in one.names
    }


def own_names(function: Function) -> set[str]:
    """Parameters, and what it binds itself."""
    stored = {
        one.id
        for one in ast.walk(function)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    return (parameters(function) | stored) - declared_outer(function)


def read_names(node: ast.AST) -> set[str]:
    """Names that it reads and that are not its own."""
    read = {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    }
    own = own_names(node) if isinstance(node, Function) else set()
    return read - own


def changed_names(function: Function) -> set[str]:
    """Outer names into which it may put something: `rows.append(x)`, `found["a"] = x`."""
    own = own_names(function)
    changed: set[str] = set()
    for one in ast.walk(function):
        root: str | None = None
        if isinstance(one, ast.Subscript | ast.Attribute) and isinstance(one.ctx, ast.Store):
            root = root_of(one)
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            root = root_of(one.func)
        if root is not None and root not in own:
            changed.add(root)
    return changed
