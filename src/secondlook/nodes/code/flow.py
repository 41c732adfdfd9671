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
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

_DEEPEST_CALL = 6
_MOST_CALLS = 400
"""Calls of the program's own functions that are followed; beyond, dependence is assumed."""
_PURE: Final = frozenset(
    {"print", "len", "round", "str", "float", "int", "bool", "min", "max", "sum", "sorted", "map"}
    | {"isinstance", "range", "zip", "enumerate", "list", "dict", "tuple", "set", "frozenset"}
    | {"abs", "any", "all", "format", "type", "repr", "reversed", "pow", "divmod", "filter"}
)
"""Builtins that put nothing into what they are given."""
_OPAQUE: Final = frozenset({"globals", "locals", "vars", "setattr"})
_DRAWS: Final = frozenset(
    {"plot", "hist", "boxplot", "bar", "barh", "scatter", "line", "pie", "area", "hexbin", "kde"}
    | {"density", "violinplot", "histplot", "barplot", "lineplot", "scatterplot", "heatmap"}
)


class Flow:
    def __init__(self, names: Names | None = None) -> None:
        self.names = names or Names()
        self.opaque = False
        """It reaches its names in ways that cannot be followed."""
        self._functions: dict[str, Function] = {}
        self._deciding = False
        """Whether what is followed is run only because of what is in the tables."""
        self._returned: list[bool] = []
        self._active: list[Function] = []
        self._calls = 0

    def follow(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    # Statements

    def _statement(self, node: ast.stmt) -> None:
        follow = getattr(self, f"_{type(node).__name__.lower()}", None)
        if follow is not None:
            follow(node)
        else:
            for child in ast.iter_child_nodes(node):
                self.depends(child)

    def _assign(self, node: ast.Assign) -> None:
        depends = self.depends(node.value)
        for target in node.targets:
            self._bind(target, node.value, depends=depends)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, node.value, depends=self.depends(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        depends = self._any([node.value, node.target]) or self._deciding
        root = root_of(node.target)
        if root is None:
            return
        self.names.bound.add(root)
        if depends:
            self.names.constant.discard(root)
            self.names.fill(root)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.names.forget(target.id)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        depends = self.depends(node.iter)
        before = self.names.copy()
        for _ in range(2):  # what the first pass puts in, the second may take out
            self._bind(node.target, node.iter, depends=depends, linked=names_in(node.iter))
            with self._decided(depends=depends):
                self.follow(node.body)
        self.names.join(before)
        self.follow(node.orelse)

    _asyncfor = _for

    def _while(self, node: ast.While) -> None:
        before = self.names.copy()
        for _ in range(2):
            with self._decided(depends=self.depends(node.test)):
                self.follow(node.body)
        self.names.join(before)
        self.follow(node.orelse)

    def _if(self, node: ast.If) -> None:
        depends = self.depends(node.test)
        if isinstance(node.test, ast.Constant):
            self.follow(node.body if node.test.value else node.orelse)
            return
        self._fork([node.body, node.orelse], depends=depends)

    def _fork(self, ways: Sequence[Sequence[ast.stmt]], *, depends: bool) -> None:
        before = self.names
        after: Names | None = None
        for way in ways:
            self.names = before.copy()
            with self._decided(depends=depends):
                self.follow(way)
            if after is None:
                after = self.names
            else:
                after.join(self.names)
        self.names = after or before

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

    def _match(self, node: ast.Match) -> None:
        depends = self.depends(node.subject)
        for case in node.cases:
            for name in _captured(case.pattern):
                self.names.bind(name, depends=depends)
        self._fork([*(case.body for case in node.cases), []], depends=depends)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for one in node.names:
            name = one.asname or one.name.partition(".")[0]
            self.names.forget(name)
            self.names.modules.add(name)

    _importfrom = _import

    def _functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Where it will be called is not known yet: what it may change, it may fill."""
        self._functions[node.name] = node
        reads = self._reads_tables(node)
        self.names.bind(node.name, depends=reads)
        if reads or parameters(node):
            for name in changed_names(node) - self.names.modules:
                self.names.fill(name)
        for name in declared_outer(node):
            self.names.bind(name, depends=True)

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
        if isinstance(node, ast.NamedExpr):
            depends = self.depends(node.value)
            self._bind(node.target, node.value, depends=depends)
            return depends
        if isinstance(node, ast.Lambda):
            return self._reads_tables(node)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            return self._comprehension(node)
        found = self._any(ast.iter_child_nodes(node))
        if isinstance(node, ast.Yield | ast.YieldFrom):
            self._returned.append(found or self._deciding)
        return found

    def _any(self, nodes: Iterable[ast.AST]) -> bool:
        """All are looked at, whatever the first says: each may bind something."""
        return True in list(map(self.depends, nodes))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> bool:
        outer = self.names
        self.names = outer.copy()
        found = False
        for each in node.generators:
            depends = self.depends(each.iter)
            self._bind(each.target, each.iter, depends=depends)
            found |= depends | self._any(each.ifs)
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        found |= self._any(made)
        inner, self.names = self.names, outer
        own = {name for each in node.generators for name in names_in(each.target)}
        for name in (inner.dependent & outer.bound) - own:
            self.names.fill(name)
        return found

    def _call(self, node: ast.Call) -> bool:
        given = [*node.args, *(one.value for one in node.keywords)]
        dependent = self._any(given)
        function = self._called(node.func)
        if function is not None:
            found = self._invoke(function, dependent=dependent)
        else:
            found = dependent = dependent | self.depends(node.func)
        self._spread(node, given, filled=dependent)
        return found

    def _spread(self, node: ast.Call, given: Sequence[ast.expr], *, filled: bool) -> None:
        """A call may put what it is given, or what it is a method of, into the rest."""
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if not filled or name in _PURE:
            return
        method = isinstance(node.func, ast.Attribute)
        for one in [*given, *([node.func] if method else [])]:
            root = root_of(one)
            if root is not None and (root in DRAWING or root not in self.names.modules):
                self.names.fill(root)
            self._called_back(one)
        if isinstance(node.func, ast.Attribute) and _is_drawing(node.func):
            for module in DRAWING & self.names.modules:
                self.names.fill(module)

    def _called(self, node: ast.expr) -> Function | None:
        """The function of the program that it stands for."""
        if isinstance(node, ast.Lambda):
            return node
        return self._functions.get(node.id) if isinstance(node, ast.Name) else None

    def _called_back(self, node: ast.expr) -> None:
        """A function that is handed over may be called with what is in the tables."""
        function = self._called(node)
        if function is not None:
            for name in changed_names(function) - self.names.modules:
                self.names.fill(name)
            for name in declared_outer(function):
                self.names.bind(name, depends=True)

    def _invoke(self, function: Function, *, dependent: bool) -> bool:
        """Whether what it returns depends on the tables, called like this."""
        self._calls += 1
        too_far = len(self._active) >= _DEEPEST_CALL or self._calls > _MOST_CALLS
        if function in self._active or too_far:
            return dependent or self._reads_tables(function)
        dependent |= self._any(defaults(function))
        outer, returned, deciding = self.names, self._returned, self._deciding
        self.names, self._returned = outer.copy(), []
        for name in own_names(function):
            self.names.forget(name)
            self.names.bound.add(name)
        for name in parameters(function):
            self.names.bind(name, depends=dependent)
        self._active.append(function)
        self.follow(body_of(function))
        self._active.pop()
        found = any(self._returned)
        # Back outside: what it declared as outer is as it left it, the rest may be fuller.
        inner, self.names = self.names, outer
        declared = declared_outer(function)
        for name in declared:
            outer.bind(name, depends=name in inner.dependent)
        for name in (inner.dependent & outer.bound) - own_names(function) - declared:
            outer.fill(name)
        self._returned, self._deciding = returned, deciding
        return found

    def _bind(
        self, target: ast.expr, value: ast.expr, *, depends: bool, linked: set[str] | None = None
    ) -> None:
        if isinstance(target, ast.Starred):
            self._bind(target.value, value, depends=depends, linked=linked)
        elif isinstance(target, ast.Tuple | ast.List):
            self._bind_each(target, value, depends=depends, linked=linked)
        elif not isinstance(target, ast.Name):
            root = root_of(target)
            if root is not None and depends | self._deciding | self.depends(target):
                self.names.fill(root)
        else:
            name = target.id
            self._functions.pop(name, None)
            if isinstance(value, ast.Lambda):
                self._functions[name] = value
            others = names_in(value) if linked is None else linked
            seen = {one for one in others if one in DRAWING or one not in self.names.modules}
            seen = {one for one in seen if one in self.names.bound or one in DRAWING} - {name}
            depends = depends or self._deciding
            constant = is_constant(value) and not self._deciding
            self.names.bind(name, depends=depends, constant=constant, linked=seen)

    def _bind_each(
        self,
        target: ast.Tuple | ast.List,
        value: ast.expr,
        *,
        depends: bool,
        linked: set[str] | None,
    ) -> None:
        """`a, b = 1, df` each by itself; what comes out of one call is linked."""
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            each = [self.depends(one) for one in value.elts]
            for one, source, its in zip(target.elts, value.elts, each, strict=True):
                self._bind(one, source, depends=its, linked=linked)
            return
        for one in target.elts:
            self._bind(one, value, depends=depends, linked=linked)
        names = [one.id for one in target.elts if isinstance(one, ast.Name)]
        for name in names[1:]:
            self.names.link(names[0], name)

    # Conditions

    @contextmanager
    def _decided(self, *, depends: bool) -> Iterator[None]:
        before = self._deciding
        self._deciding = before or depends
        yield
        self._deciding = before

    def _reads_tables(self, node: ast.AST) -> bool:
        return any(self.names.depends(name) for name in read_names(node))


def _is_drawing(node: ast.Attribute) -> bool:
    """`df.plot(...)`, `df["a"].plot.hist()`: they draw into the current figure."""
    if node.attr in _DRAWS:
        return True
    return isinstance(node.value, ast.Attribute) and node.value.attr == "plot"


def _captured(pattern: ast.AST) -> set[str]:
    captured: set[str] = set()
    for one in ast.walk(pattern):
        if isinstance(one, ast.MatchAs | ast.MatchStar) and one.name:
            captured.add(one.name)
        elif isinstance(one, ast.MatchMapping) and one.rest:
            captured.add(one.rest)
    return captured


# Which names of a program certainly stand for a supplied table, with the columns it came with.

Source: TypeAlias = "frozenset[str] | None"
"""The tables that it may be; None where it may be anything."""

COLLECTIONS: Final = frozenset({"tables", "datasets"})
_SAME_COLUMNS: Final = frozenset(
    {"copy", "dropna", "head", "tail", "query", "sort_values", "sort_index", "drop_duplicates"}
    | {"fillna", "sample", "astype", "replace", "nlargest", "nsmallest", "convert_dtypes"}
    | {"infer_objects", "round"}
)
_RENAMES_IN_PLACE: Final = frozenset({"rename", "reset_index", "set_axis", "rename_axis"})


class Frames:
    def __init__(self, tree: ast.Module, tables: Mapping[str, Collection[str]]) -> None:
        self._known: dict[str, Source] = {}
        if len(tables) == 1:
            self._known["df"] = frozenset(tables)
        self._tables = tables
        self._uncertain = _uncertain(tree)
        assigned = [(target.id, value) for target, value in _assignments(tree)]
        for _ in range(3):  # frame of a frame of a frame
            self._learn(assigned)

    def source(self, node: ast.AST) -> Source:  # noqa: PLR0911 - one line a form
        if isinstance(node, ast.Name):
            return None if node.id in self._uncertain else self._known.get(node.id)
        if isinstance(node, ast.Subscript):
            name, of = _text(node.slice), node.value
            if isinstance(of, ast.Name) and of.id in COLLECTIONS:
                return self._table(of.id, name)
            if isinstance(of, ast.Attribute) and of.attr == "loc":
                return None if isinstance(node.slice, ast.Tuple) else self.source(of.value)
            named = name is not None or isinstance(node.slice, ast.Tuple)
            return None if named else self.source(of)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of, method = node.func.value, node.func.attr
            if method in _SAME_COLUMNS:
                return self.source(of)
            of_tables = isinstance(of, ast.Name) and of.id in COLLECTIONS
            if of_tables and method == "get" and len(node.args) == 1:  # `tables.get("sales")`
                return self._table(str(root_of(of)), _text(node.args[0]))
        return None

    def _table(self, collection: str, name: str | None) -> Source:
        sure = collection not in self._uncertain and name in self._tables
        return frozenset({name}) if sure and name is not None else None

    def _learn(self, assigned: list[tuple[str, ast.expr]]) -> None:
        found: dict[str, list[Source]] = {}
        for name, value in assigned:
            found.setdefault(name, []).append(self.source(value))
        for name, sources in found.items():
            before = self._known.get(name)
            certain = [one for one in sources if one is not None]
            if len(certain) < len(sources):
                self._known[name] = None
            else:
                self._known[name] = frozenset().union(*certain, before or ())


def _assignments(tree: ast.Module) -> Iterator[tuple[ast.Name, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            names = (target for target in node.targets if isinstance(target, ast.Name))
            yield from ((name, node.value) for name in names)


def _uncertain(tree: ast.Module) -> set[str]:
    """Names bound in other ways than by assignment, or whose columns are changed unseen."""
    plain = {id(target) for target, _ in _assignments(tree)}
    own = {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in plain:
            found.add(node.id)
        elif isinstance(node, Function):
            found |= parameters(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in own:
            found |= {name for one in (*node.args, *node.keywords) for name in names_in(one)}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            in_place = any(one.arg == "inplace" for one in node.keywords)
            if in_place and node.func.attr in _RENAMES_IN_PLACE:
                found.add(str(root_of(node.func)))
        elif isinstance(node, ast.Attribute | ast.Subscript) and _adds_unseen(node):
            found.add(str(root_of(node)))
    return found


def _adds_unseen(node: ast.Attribute | ast.Subscript) -> bool:
    """`df[name] = ...`, `df.columns = ...`; under a name that stands there, it is seen."""
    if not isinstance(node.ctx, ast.Store):
        return False
    return isinstance(node, ast.Attribute) or not texts(node.slice)


def texts(node: ast.AST) -> list[ast.Constant]:
    """`"a"`, `["a", "b"]`, and the column in `mask, "a"`; nothing where one is no plain text."""
    if isinstance(node, ast.Tuple) and node.elts:
        return texts(node.elts[-1])
    inner = node.elts if isinstance(node, ast.List) else [node]
    found = [one for one in inner if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return found if len(found) == len(inner) else []


def _text(node: ast.AST) -> str | None:
    found = texts(node) if isinstance(node, ast.Constant) else []
    return str(found[0].value) if found else None


# What a function of the program may read, bind and change.

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


# Which names of a program depend on the supplied tables, at one place of it.

ROOTS: Final = frozenset({"tables", "datasets", "df"})
"""What the sandbox binds to the tables."""
MODULES: Final = frozenset(
    {"pd", "np", "px", "go", "plt", "make_subplots", "scipy", "stats", "sklearn", "statsmodels"}
    | {"sm", "smf", "math", "re", "datetime", "plotly", "pandas", "numpy", "matplotlib"}
)
"""What it binds beside them, and what is commonly taken to be there."""
DRAWING: Final = frozenset({"plt", "sns", "pylab"})
"""Modules that keep the figure that is being drawn."""
_BUILTINS: Final = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}


@dataclass(slots=True)
class Names:
    """Changed as the program is followed; copied where it forks."""

    dependent: set[str] = field(default_factory=lambda: set(ROOTS))
    bound: set[str] = field(default_factory=lambda: set(ROOTS))
    constant: set[str] = field(default_factory=set)
    """Hold a number or a text: nothing can be put into them."""
    links: dict[str, set[str]] = field(default_factory=dict)
    """What is put into one of them may be seen through the other: `fig, ax = plt.subplots()`."""
    modules: set[str] = field(default_factory=lambda: set(MODULES))

    def depends(self, name: str) -> bool:
        """A name that nobody bound counts as dependent: running will tell."""
        if name in self.dependent:
            return True
        return not (name in self.bound or name in self.modules or name in _BUILTINS)

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


def is_constant(node: ast.AST | None) -> bool:
    """A number, a text, or arithmetic on such."""
    if isinstance(node, ast.UnaryOp):
        return is_constant(node.operand)
    if isinstance(node, ast.BinOp):
        return is_constant(node.left) and is_constant(node.right)
    return isinstance(node, ast.Constant)


def names_in(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
