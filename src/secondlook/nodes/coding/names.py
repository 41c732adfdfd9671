"""Which names of a program depend on the supplied tables, at one place of it."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

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
