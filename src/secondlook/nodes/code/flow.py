"""Which names depend on the supplied tables when a program has run, by following its data.

A program's last word on a name counts: `result = df.a.mean(); result = 42.3` depends on nothing.
Wherever it cannot be told, dependence is assumed: to refuse honest code is the worse mistake. What
a condition on the tables decides depends on them too.
"""

from __future__ import annotations

import ast
import builtins
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp

ROOTS: Final = frozenset({"tables", "datasets", "df"})
"""What the sandbox binds to the tables."""
MODULES: Final = frozenset(
    {"pd", "np", "px", "go", "plt", "make_subplots", "scipy", "stats", "sklearn", "statsmodels"}
    | {"sm", "smf", "math", "re", "datetime", "plotly", "pandas", "numpy", "matplotlib"}
)
"""What it binds beside them, and what is commonly taken to be there."""
_DRAWING: Final = frozenset({"plt", "sns", "pylab"})
"""Modules that keep the figure that is being drawn."""
_DRAWS: Final = frozenset(
    {"plot", "hist", "boxplot", "bar", "barh", "scatter", "line", "pie", "area", "hexbin", "kde"}
    | {"density", "violinplot", "histplot", "barplot", "lineplot", "scatterplot", "heatmap"}
)
_BUILTINS: Final = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}
_PURE: Final = frozenset(
    {"print", "len", "round", "str", "float", "int", "bool", "min", "max", "sum", "sorted", "map"}
    | {"isinstance", "range", "zip", "enumerate", "list", "dict", "tuple", "set", "frozenset"}
    | {"abs", "any", "all", "format", "type", "repr", "reversed", "pow", "divmod", "filter"}
)
"""Builtins that put nothing into what they are given."""
_OPAQUE: Final = frozenset({"globals", "locals", "vars", "setattr"})
_DEEPEST_CALL = 6
_MOST_CALLS = 400
"""Calls of the program's own functions that are followed; beyond, dependence is assumed."""


class Flow:
    def __init__(self) -> None:
        self.names = Names()
        self.opaque = False
        """It reaches its names in ways that cannot be followed."""
        self._functions: dict[str, Function] = {}
        self._deciding = False
        """Whether what is followed is run only because of what is in the tables."""
        self._returned: list[bool] = []
        self._active: list[Function] = []
        self._calls = 0

    # Statements

    def follow(self, statements: Sequence[ast.stmt]) -> None:
        for node in statements:
            known = getattr(self, f"_{type(node).__name__.lower()}", None)
            if known is not None:
                known(node)
            else:
                self._any(ast.iter_child_nodes(node))

    def _assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        if node.value is not None:
            depends = self.depends(node.value)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._bind(target, node.value, depends=depends)

    _annassign = _assign

    def _augassign(self, node: ast.AugAssign) -> None:
        depends = self._any([node.value, node.target]) or self._deciding
        if (root := root_of(node.target)) is not None:
            self.names.bound.add(root)
            if depends:
                self.names.constant.discard(root)
                self.names.fill(root)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.names.forget(target.id)

    def _for(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        before = self.names.copy()
        for _ in range(2):  # what the first pass puts in, the second may take out
            if isinstance(node, ast.While):
                depends = self.depends(node.test)
            else:
                depends = self.depends(node.iter)
                self._bind(node.target, node.iter, depends=depends)
            with self._decided(depends=depends):
                self.follow(node.body)
        self.names.join(before)
        self.follow(node.orelse)

    _asyncfor = _while = _for

    def _if(self, node: ast.If | ast.Match) -> None:
        depends = self.depends(node.test if isinstance(node, ast.If) else node.subject)
        if isinstance(node, ast.Match):
            for one in (inner for case in node.cases for inner in ast.walk(case.pattern)):
                if captured := getattr(one, "name", None) or getattr(one, "rest", None):
                    self.names.bind(captured, depends=depends)
            ways: list[list[ast.stmt]] = [*(case.body for case in node.cases), []]
        elif isinstance(node.test, ast.Constant):
            ways = [node.body if node.test.value else node.orelse]
        else:
            ways = [node.body, node.orelse]
        before, after = self.names, []
        for way in ways:
            self.names = before.copy()
            with self._decided(depends=depends):
                self.follow(way)
            after.append(self.names)
        self.names, *others = after
        for other in others:
            self.names.join(other)

    _match = _if

    def _try(self, node: ast.Try) -> None:
        before = self.names.copy()
        self.follow(node.body)
        tried = any(self._reads_tables(one) for one in node.body)
        failed = self.names.copy()
        failed.join(before)
        self.follow(node.orelse)
        for handler in node.handlers:
            done, self.names = self.names, failed.copy()
            if handler.name:
                self.names.bind(handler.name, depends=True)
            with self._decided(depends=tried):
                self.follow(handler.body)
            self.names.join(done)
        self.follow(node.finalbody)

    _trystar = _try

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            depends = self.depends(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, item.context_expr, depends=depends)
        self.follow(node.body)

    _asyncwith = _with

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for one in node.names:
            name = one.asname or one.name.partition(".")[0]
            self.names.forget(name)
            self.names.modules.add(name)

    _importfrom = _import

    def _functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._functions[node.name] = node
        reads = self._reads_tables(node)
        self.names.bind(node.name, depends=reads)
        self._may_be_called(node, filled=reads or bool(_parameters(node)))

    _asyncfunctiondef = _functiondef

    def _classdef(self, node: ast.ClassDef) -> None:
        self.names.bind(node.name, depends=self._reads_tables(node))

    def _return(self, node: ast.Return) -> None:
        depends = node.value is not None and self.depends(node.value)
        self._returned.append(depends or self._deciding)

    # Expressions

    def depends(self, node: ast.AST) -> bool:
        """Also takes note of what evaluating it binds and changes."""
        if isinstance(node, ast.Name):
            self.opaque |= node.id in _OPAQUE
            return self.names.depends(node.id)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Lambda):
            return self._reads_tables(node)
        if isinstance(node, _Comprehension):
            return self._comprehension(node)
        if isinstance(node, ast.NamedExpr):
            found = self.depends(node.value)
            self._bind(node.target, node.value, depends=found)
            return found
        found = self._any(ast.iter_child_nodes(node))
        if isinstance(node, ast.Yield | ast.YieldFrom):
            self._returned.append(found or self._deciding)
        return found

    def _any(self, nodes: Iterable[ast.AST]) -> bool:
        """All are looked at, whatever the first says: each may bind something."""
        return True in list(map(self.depends, nodes))

    def _comprehension(self, node: _Comprehension) -> bool:
        outer = self.names
        self.names = outer.copy()
        found = False
        for each in node.generators:
            depends = self.depends(each.iter)
            self._bind(each.target, each.iter, depends=depends)
            found |= depends | self._any(each.ifs)
        found |= self._any([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        inner, self.names = self.names, outer
        own = {name for each in node.generators for name in _names_in(each.target)}
        for name in (inner.dependent & outer.bound) - own:
            outer.fill(name)
        return found

    def _call(self, node: ast.Call) -> bool:
        given = [*node.args, *(one.value for one in node.keywords)]
        filled = self._any(given)
        if (function := self._called(node.func)) is not None:
            found = self._invoke(function, dependent=filled)
        else:
            found = filled = filled | self.depends(node.func)
        if not filled or (isinstance(node.func, ast.Name) and node.func.id in _PURE):
            return found
        # A call may put what it is given, or what it is a method of, into the rest.
        method = node.func if isinstance(node.func, ast.Attribute) else None
        for one in [*given, *([method] if method else [])]:
            root = root_of(one)
            if root is not None and (root in _DRAWING or root not in self.names.modules):
                self.names.fill(root)
            if (handed_over := self._called(one)) is not None:
                self._may_be_called(handed_over, filled=True)
        # `df.plot(...)`, `df["a"].plot.hist()`: they draw into the current figure.
        of_plot = method and isinstance(method.value, ast.Attribute) and method.value.attr == "plot"
        if method and (of_plot or method.attr in _DRAWS):
            for module in _DRAWING & self.names.modules:
                self.names.fill(module)
        return found

    def _called(self, node: ast.expr) -> Function | None:
        """The function of the program that it stands for."""
        if isinstance(node, ast.Lambda):
            return node
        return self._functions.get(node.id) if isinstance(node, ast.Name) else None

    def _may_be_called(self, function: Function, *, filled: bool) -> None:
        """When and with what is not known: what it may change, it may fill."""
        for name in _changed_names(function) - self.names.modules if filled else ():
            self.names.fill(name)
        for name in _declared_outer(function):
            self.names.bind(name, depends=True)

    def _invoke(self, function: Function, *, dependent: bool) -> bool:
        """Whether what it returns depends on the tables, called like this."""
        self._calls += 1
        too_far = len(self._active) >= _DEEPEST_CALL or self._calls > _MOST_CALLS
        if function in self._active or too_far:
            return dependent or self._reads_tables(function)
        defaults = [*function.args.defaults, *filter(None, function.args.kw_defaults)]
        dependent |= self._any(defaults)
        outer, returned, deciding = self.names, self._returned, self._deciding
        self.names, self._returned = outer.copy(), []
        own, declared = _own_names(function), _declared_outer(function)
        for name in own:
            self.names.forget(name)
            self.names.bound.add(name)
        for name in _parameters(function):
            self.names.bind(name, depends=dependent)
        self._active.append(function)
        self.follow(
            [ast.Return(value=function.body)] if isinstance(function, ast.Lambda) else function.body
        )
        self._active.pop()
        found = any(self._returned)
        # Back outside: what it declared as outer is as it left it, the rest may be fuller.
        inner, self.names = self.names, outer
        for name in declared:
            outer.bind(name, depends=name in inner.dependent)
        for name in (inner.dependent & outer.bound) - own - declared:
            outer.fill(name)
        self._returned, self._deciding = returned, deciding
        return found

    def _bind(self, target: ast.expr, value: ast.expr, *, depends: bool) -> None:
        if isinstance(target, ast.Starred):
            self._bind(target.value, value, depends=depends)
        elif isinstance(target, ast.Tuple | ast.List):
            self._bind_each(target.elts, value, depends=depends)
        elif not isinstance(target, ast.Name):
            root = root_of(target)
            if root is not None and depends | self._deciding | self.depends(target):
                self.names.fill(root)
        else:
            name = target.id
            self._functions.pop(name, None)
            if isinstance(value, ast.Lambda):
                self._functions[name] = value
            known = self.names.bound - self.names.modules | _DRAWING
            linked = _names_in(value) & known - {name}
            depends = depends or self._deciding
            constant = _is_constant(value) and not self._deciding
            self.names.bind(name, depends=depends, constant=constant, linked=linked)

    def _bind_each(self, targets: list[ast.expr], value: ast.expr, *, depends: bool) -> None:
        """`a, b = 1, df` each by itself; what comes out of one call is linked."""
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(targets):
            each = [self.depends(one) for one in value.elts]
            for one, source, its in zip(targets, value.elts, each, strict=True):
                self._bind(one, source, depends=its)
            return
        for one in targets:
            self._bind(one, value, depends=depends)
        first, *others = [one.id for one in targets if isinstance(one, ast.Name)] or [""]
        for name in others:
            self.names.link(first, name)

    @contextmanager
    def _decided(self, *, depends: bool) -> Iterator[None]:
        before = self._deciding
        self._deciding = before or depends
        yield
        self._deciding = before

    def _reads_tables(self, node: ast.AST) -> bool:
        own = _own_names(node) if isinstance(node, Function) else set()
        return any(self.names.depends(name) for name in _names_in(node, ast.Load) - own)


# What a function of the program may bind and change.


def _parameters(function: Function) -> set[str]:
    given = function.args
    alone = [one for one in (given.vararg, given.kwarg) if one is not None]
    return {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, *alone)}


def _declared_outer(function: Function) -> set[str]:
    """Names that it says are not its own: `global result`."""
    inner = (one for one in ast.walk(function) if isinstance(one, ast.Global | ast.Nonlocal))
    return {name for one in inner for name in one.names}


def _own_names(function: Function) -> set[str]:
    return (_parameters(function) | _names_in(function, ast.Store)) - _declared_outer(function)


def _changed_names(function: Function) -> set[str]:
    """Outer names into which it may put something: `rows.append(x)`, `found["a"] = x`."""
    changed: set[str | None] = set()
    for one in ast.walk(function):
        if isinstance(one, ast.Subscript | ast.Attribute) and isinstance(one.ctx, ast.Store):
            changed.add(root_of(one))
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            changed.add(root_of(one.func))
    return {name for name in changed if name is not None} - _own_names(function)


@dataclass(slots=True)
class Names:
    """Which names depend on the tables at one place of the program. Copied where it forks."""

    dependent: set[str] = field(default_factory=lambda: set(ROOTS))
    bound: set[str] = field(default_factory=lambda: set(ROOTS))
    constant: set[str] = field(default_factory=set)
    """Hold a number or a text: nothing can be put into them."""
    links: dict[str, set[str]] = field(default_factory=dict)
    """What is put into one of them may be seen through the other: `fig, ax = plt.subplots()`."""
    modules: set[str] = field(default_factory=lambda: set(MODULES))

    def depends(self, name: str) -> bool:
        """A name that nobody bound counts as dependent: running will tell."""
        known = name in self.bound or name in self.modules or name in _BUILTINS
        return name in self.dependent or not known

    def bind(
        self, name: str, *, depends: bool, constant: bool = False, linked: Iterable[str] = ()
    ) -> None:
        """The name means something new: what it meant before is forgotten."""
        self.forget(name)
        self.bound.add(name)
        self.modules.discard(name)
        if constant:
            self.constant.add(name)
        for other in linked:
            self.link(name, other)
        if depends:
            self.dependent.add(name)

    def link(self, one: str, other: str) -> None:
        if one != other and not (one in self.constant or other in self.constant):
            self.links.setdefault(one, set()).add(other)
            self.links.setdefault(other, set()).add(one)

    def fill(self, name: str) -> None:
        """Something dependent was put into what it names."""
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in self.dependent and one not in self.constant:
                self.dependent.add(one)
                waiting.extend(self.links.get(one, ()))

    def forget(self, name: str) -> None:
        for held in (self.dependent, self.bound, self.constant):
            held.discard(name)
        for other in self.links.pop(name, set()):
            self.links.get(other, set()).discard(name)

    def copy(self) -> Names:
        links = {name: set(others) for name, others in self.links.items()}
        return Names(
            set(self.dependent), set(self.bound), set(self.constant), links, set(self.modules)
        )

    def join(self, other: Names) -> None:
        """Either may have happened."""
        self.dependent |= other.dependent
        self.bound |= other.bound
        self.constant &= other.constant
        self.modules |= other.modules
        for name, linked in other.links.items():
            self.links.setdefault(name, set()).update(linked)


def root_of(node: ast.AST) -> str | None:
    """The name that a chain of attributes, subscripts and calls begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_constant(node: ast.AST) -> bool:
    """A number, a text, or arithmetic on such."""
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    return isinstance(node, ast.Constant)


def _names_in(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    inner = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in inner if isinstance(one.ctx, context)}
