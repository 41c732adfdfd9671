"""Code is looked at before it runs: it must use the tables, and nothing else."""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from secondlook.nodes.code.flow import COLLECTIONS, MODULES, ROOTS, Flow, Frames, root_of, texts
from secondlook.nodes.desk import is_order
from secondlook.reading.numbers import numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import TypeGuard

_WANTED: Final = ("result", "fig")
_FRAMES_GIVEN = 'the supplied frames (`tables["name"]`, or `df` where there is one table)'
USE_TABLES = f"The data is already loaded: use {_FRAMES_GIVEN} and nothing else."


def check(
    code: str, tables: Mapping[str, Collection[str]], *, question: str = ""
) -> Refusal | None:
    """`tables`: the columns of each supplied table. `question`: its numbers may be repeated.

    None where the code may run.
    """
    if not code.strip():
        return Refusal("syntax", "There is no code. Reply with Python code only.")
    tree = parsed(code)
    if isinstance(tree, Unparsable):
        where = "" if tree.line is None else f" in line {tree.line}"
        last = tree.line is not None and tree.line >= len(code.rstrip().splitlines())
        advice = " If it was cut off, write it shorter." if last else ""
        return Refusal("syntax", f"This is not Python{where}: {tree.said}.{advice}", tree.line)
    columns = {name for names in tables.values() for name in names}
    return (
        _forbidden(tree)
        or _invented(tree, columns)
        or _not_from_tables(tree)
        or _written_value(tree, question)
        or _unknown_table(tree, tables)
        or _unknown_column(tree, tables)
    )


def _not_from_tables(tree: ast.Module) -> Refusal | None:
    flow = Flow()
    flow.follow(tree.body)
    if flow.opaque:
        return None
    bound = [name for name in _WANTED if name in flow.names.bound]
    if not bound:
        stored = any(
            isinstance(node, ast.Name) and node.id in _WANTED and isinstance(node.ctx, ast.Store)
            for node in ast.walk(tree)
        )
        where = " outside of any function" if stored else ""
        return Refusal(
            "no_result",
            f"Assign the value that answers the question to `result`{where}, and a chart to `fig`.",
        )
    free = [name for name in bound if name not in flow.names.dependent]
    if not free or (len(bound) > len(free) and _says_nothing(tree, free[0])):
        return None
    if (built := _builds_data(tree)) is not None:
        said = f"`{free[0]}` comes from values that the code writes out. Compute it from"
        return Refusal("invented", f"{said} {_FRAMES_GIVEN}.", built)
    said = f"`{free[0]}` does not depend on the tables. Compute it from {_FRAMES_GIVEN}"
    line = max((one.lineno for one in _assigned(tree, free[0])), default=None)
    return Refusal("not_from_tables", f"{said}; never write a value in.", line)


def _says_nothing(tree: ast.Module, name: str) -> bool:
    """Beside a chart, `result` may be a text without figures, or nothing."""
    values = [one.value for one in _assigned(tree, name)]
    return bool(values) and all(
        isinstance(value, ast.Constant)
        and (value.value is None or isinstance(value.value, str))
        and not any(map(str.isdigit, str(value.value)))
        for value in values
    )


def _assigned(tree: ast.Module, name: str) -> list[ast.Assign]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why code is not run."""

    rule: str
    message: str
    """For the model: what is wrong, and what to do instead."""
    line: int | None = None
    """Of the code, from 1."""


# Code that reaches for files, the network or Python's insides.

_SCIENCE: Final = frozenset(
    {"pandas", "numpy", "scipy", "sklearn", "statsmodels", "plotly", "matplotlib", "mpl_toolkits"}
    | {"patsy", "dateutil", "pytz"}
)
_STANDARD: Final = frozenset(
    {"__future__", "abc", "array", "base64", "bisect", "calendar", "cmath", "collections", "copy"}
    | {"contextlib", "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions"}
    | {"functools", "hashlib", "heapq", "io", "itertools", "json", "logging", "math", "numbers"}
    | {"operator", "pprint", "random", "re", "statistics", "string", "textwrap", "time", "types"}
    | {"typing", "unicodedata", "warnings", "zoneinfo"}
)
_OTHER_DATA: Final = frozenset(
    {"sklearn.datasets", "statsmodels.datasets", "plotly.data", "scipy.datasets", "seaborn.utils"}
)
_FILES_WITHIN: Final = frozenset(
    {"pandas.io", "numpy.ctypeslib", "numpy.lib.npyio", "scipy.io", "numpy.f2py"}
)
_READERS: Final = frozenset(
    {"read_csv", "read_table", "read_excel", "read_json", "read_html", "read_xml", "read_parquet"}
    | {"read_feather", "read_orc", "read_pickle", "read_hdf", "read_sql", "read_sql_query"}
    | {"read_sql_table", "read_fwf", "read_clipboard", "read_spss", "read_stata", "read_sas"}
    | {"read_gbq", "ExcelFile", "HDFStore", "loadtxt", "genfromtxt", "fromfile", "memmap"}
    | {"read_text", "read_bytes", "urlopen", "urlretrieve", "loadmat", "imread"}
)
_OF_MODULES: Final = frozenset({"load", "loads", "DataSource", "get", "post", "open_memmap"})
"""Readers by names that a frame's own methods have too: refused on a module only."""
_SAFE_MODULES_OF_THOSE: Final = frozenset({"json", "operator", "functools", "collections"})
_SAMPLES: Final = frozenset(
    {"load_dataset", "load_iris", "load_diabetes", "load_wine", "load_breast_cancer", "load_digits"}
    | {"fetch_openml", "fetch_california_housing", "make_classification", "make_regression"}
    | {"make_blobs", "get_rdataset"}
)
_BUILTINS: Final = frozenset(
    {"open", "exec", "eval", "compile", "__import__", "input", "breakpoint"}
)
_INSIDES: Final = frozenset(
    {"__subclasses__", "__globals__", "__builtins__", "__bases__", "__mro__", "__code__"}
    | {"__loader__", "__spec__", "__import__", "__getattribute__", "__reduce__", "__closure__"}
    | {"f_globals", "f_locals", "f_back", "gi_frame", "tb_frame", "func_globals"}
)
_THROUGH_MODULES: Final = frozenset(
    {"os", "sys", "subprocess", "socket", "shutil", "builtins", "importlib", "ctypes", "pathlib"}
)
_MAY_IMPORT = (
    "Only pandas, numpy, scipy, sklearn, statsmodels, plotly, matplotlib and modules such as math, "
    "re, datetime, collections and statistics may be imported."
)


def _forbidden(tree: ast.Module) -> Refusal | None:
    """The first such thing in the code."""
    nodes = list(ast.walk(tree))
    bound = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } | {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    imported = {
        (one.asname or one.name).partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import)
        for one in node.names
    }
    ready_to_do_without = {
        inner
        for node in nodes
        if isinstance(node, ast.Try) and node.handlers
        for statement in node.body
        for inner in ast.walk(statement)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    }
    found: list[Refusal | None] = []
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in ready_to_do_without:
            found += [_import(name, node.lineno) for name in _modules_of(node)]
        elif isinstance(node, ast.Name) and node.id in _BUILTINS - bound:
            found.append(_builtin(node))
        elif isinstance(node, ast.Attribute):
            found.append(_attribute(node, (MODULES | imported) - bound))
    return min(filter(None, found), key=lambda one: one.line or 0, default=None)


def _modules_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    return [f"{node.module or '.'}.{one.name}" for one in node.names]


def _import(name: str, line: int) -> Refusal | None:
    top = name.partition(".")[0]
    if any(f"{name}.".startswith(f"{one}.") for one in _OTHER_DATA):
        return Refusal("invented", f"`{name}` is other data. {USE_TABLES}", line)
    if any(f"{name}.".startswith(f"{one}.") for one in _FILES_WITHIN):
        return Refusal("files", f"`{name}` is not available. {USE_TABLES}", line)
    if top in _SCIENCE or top in _STANDARD:
        return None
    if top == "seaborn":
        return Refusal("import", "seaborn is not available: draw with plotly or matplotlib.", line)
    return Refusal("import", f"`{top}` is not available. {_MAY_IMPORT} {USE_TABLES}", line)


def _builtin(node: ast.Name) -> Refusal:
    if node.id in {"exec", "eval", "compile", "__import__"}:
        return Refusal("insides", f"Do not use `{node.id}`: write the code itself.", node.lineno)
    return Refusal("files", f"Do not use `{node.id}`. {USE_TABLES}", node.lineno)


def _attribute(node: ast.Attribute, modules: Collection[str]) -> Refusal | None:
    root, inner = root_of(node), node.value
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    # Only attributes, from the name of a module on: `pd.io.common`.
    of_module = root in modules and isinstance(inner, ast.Name)
    if node.attr in _INSIDES or (of_module and node.attr in _THROUGH_MODULES):
        return Refusal("insides", f"`.{node.attr}` is not available. {USE_TABLES}", node.lineno)
    if node.attr in _READERS or (
        of_module and node.attr in _OF_MODULES and root not in _SAFE_MODULES_OF_THOSE
    ):
        return Refusal("files", f"Do not read data with `{node.attr}`. {USE_TABLES}", node.lineno)
    sample = node.attr in _SAMPLES or (root == "px" and ast.unparse(node).startswith("px.data."))
    if sample and of_module:
        return Refusal("invented", f"`{node.attr}` is other data. {USE_TABLES}", node.lineno)
    return None


# Data that code makes up instead of taking it from the tables.

_BUILDERS: Final = frozenset(
    {"DataFrame", "Series", "from_dict", "from_records", "array", "asarray", "Index"}
)
_FRAMES: Final = frozenset({"DataFrame", "from_dict", "from_records"})
_MANY_NUMBERS = 20
"""Numbers written out that make data of what is built from them."""
_SHARED_COLUMNS = 2
"""Written-out columns that the tables have too; one is shared by a table to look things up in."""
_MESSAGE = f"Do not write out data yourself: every row must come from {_FRAMES_GIVEN}."


def _invented(tree: ast.Module, columns: Collection[str]) -> Refusal | None:
    known = {name.casefold() for name in columns}
    for node in ast.walk(tree):
        makes_up = isinstance(node, ast.Call) and _makes_up(node, known)
        replaces = (
            isinstance(node, ast.Assign)
            and any(map(_is_supplied, node.targets))
            and _builds_from_literals(node.value)
        )
        if isinstance(node, ast.Call | ast.Assign) and (makes_up or replaces):
            return Refusal("invented", _MESSAGE, node.lineno)
    return None


def _builds_data(tree: ast.Module) -> int | None:
    """The line on which something is built from literals alone, however small."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return next((one.lineno for one in calls if _builder(one) and _builds_from_literals(one)), None)


def _makes_up(node: ast.Call, known: Collection[str]) -> bool:
    builder = _builder(node)
    if builder is None or not _builds_from_literals(node):
        return False
    if sum(isinstance(one.value, int | float) for one in _values(node)) >= _MANY_NUMBERS:
        return True
    shared = {key for key in _written_columns(node) if key.casefold() in known}
    return builder in _FRAMES and len(shared) >= _SHARED_COLUMNS


def _builder(node: ast.Call) -> str | None:
    """How it is built, where it is built of a value."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else None
    if isinstance(node.func, ast.Name):
        name = node.func.id
    return name if name in _BUILDERS and (node.args or node.keywords) else None


def _builds_from_literals(node: ast.AST) -> bool:
    """Whether there are values written out in it, and no name that could stand for other data:
    none but modules, builtins and the variables of comprehensions."""
    inner = list(ast.walk(node))
    if any(isinstance(one, ast.Lambda) for one in inner):
        return False
    names = [one for one in inner if isinstance(one, ast.Name)]
    fine = {one.id for one in names if isinstance(one.ctx, ast.Store)}
    fine |= {"pd", "np", "pandas", "numpy", "range", "list", "dict", "float", "int", "str"}
    if any(one.id not in fine for one in names):
        return False
    written = any(isinstance(one, ast.List | ast.Tuple | ast.Dict) for one in inner)
    random = any(isinstance(one, ast.Attribute) and one.attr == "random" for one in inner)
    return random or (written and bool(_values(node)))


def _values(node: ast.AST) -> list[ast.Constant]:
    constants = (one for one in ast.walk(node) if isinstance(one, ast.Constant))
    return [one for one in constants if not isinstance(one.value, bool | None)]


def _written_columns(node: ast.Call) -> Iterator[str]:
    """Keys of its mappings, and the names in `columns=`."""
    for one in ast.walk(node):
        if isinstance(one, ast.Dict):
            keys = (key.value for key in one.keys if isinstance(key, ast.Constant))
            yield from (key for key in keys if isinstance(key, str))
        if isinstance(one, ast.keyword) and one.arg == "columns":
            yield from (each.value for each in _values(one) if isinstance(each.value, str))


def _is_supplied(target: ast.expr) -> bool:
    """`df = ...`, `tables = ...`, `tables["sales"] = ...`; a column of `df` is none."""
    if isinstance(target, ast.Name):
        return target.id in ROOTS
    return isinstance(target, ast.Subscript) and root_of(target) in ROOTS - {"df"}


# A figure written into one part of a result whose other parts are computed.

_TOLD_DIGITS = 3
"""Digits from which on a number is a finding rather than a setting."""
_SETTING = re.compile(
    r"alpha|level|confidence|threshold|critical|cut_?off|limit|seed|random|window|degree|expected|"
    r"target|assum|param|bin|edge|weight|rate_used|year|version",
    re.IGNORECASE,
)


def _written_value(tree: ast.Module, question: str) -> Refusal | None:
    """`result = {"mean": 42.37, "n": len(df)}`: the mean is no finding of the code."""
    used = Counter(str(node.value) for node in ast.walk(tree) if _is_figure(node))
    asked = {reading for number in numbers(question) for reading in number.readings}
    for key, value in _parts_of_result(tree):
        figure = value.operand if isinstance(value, ast.UnaryOp) else value
        if not _is_figure(figure) or _SETTING.search(key):
            continue
        shown = str(figure.value)
        digits = re.sub(r"\D", "", shown).strip("0")
        if used[shown] == 1 and shown not in asked and len(digits) >= _TOLD_DIGITS:
            said = f"The value of {key!r} is written into `result`. Compute it from the tables."
            return Refusal("not_from_tables", said, value.lineno)
    return None


def _parts_of_result(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Keys and values of `result = {...}`, and of `result["key"] = ...`."""
    for node in ast.walk(tree):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            value = node.value  # type: ignore[attr-defined]
            if isinstance(target, ast.Name) and target.id == "result":
                if isinstance(value, ast.Dict):
                    for key, inner in zip(value.keys, value.values, strict=True):
                        if isinstance(key, ast.Constant):
                            yield str(key.value), inner
            elif isinstance(target, ast.Subscript) and ast.unparse(target.value) == "result":
                yield ast.unparse(target.slice).strip("'\""), value


def _is_figure(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


# Columns and tables that the code names and that are not there.

_BY_COLUMN: Final = frozenset({"groupby", "sort_values", "set_index", "nlargest", "nsmallest"})
"""Methods that are given names of columns and make none."""
_NAMING: Final = frozenset({"by", "subset", "columns", "keys"})
_FEW_TABLES = 12


def _unknown_table(tree: ast.Module, tables: Mapping[str, Collection[str]]) -> Refusal | None:
    if not tables:
        return None
    nodes = list(ast.walk(tree))
    stored = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } | {node.arg for node in nodes if isinstance(node, ast.arg)}
    made = {
        node.slice.value
        for node in nodes
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.slice, ast.Constant)
    }
    use = "use " + ", ".join(f'`tables["{name}"]`' for name in list(tables)[:_FEW_TABLES])
    for node in nodes:
        if isinstance(node, ast.Name) and node.id == "df" and len(tables) > 1:
            if "df" not in stored:
                said = f"There are several tables, so `df` is not bound: {use}."
                return Refusal("unknown_table", said, node.lineno)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            of_tables = isinstance(node.value, ast.Name) and node.value.id in COLLECTIONS - stored
            name = node.slice.value
            if of_tables and isinstance(name, str) and name not in tables and name not in made:
                return Refusal("unknown_table", f"There is no table {name!r}: {use}.", node.lineno)
    return None


def _unknown_column(tree: ast.Module, tables: Mapping[str, Collection[str]]) -> Refusal | None:
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
    one = len(source) == 1
    where = f"Table {next(iter(source))!r} has no" if one else "None of the tables has a"
    message = f"{where} column {name!r}. {advice} Write names exactly as the profile does."
    return Refusal("unknown_column", message, line)


# The names that a wrong one was probably meant to be.

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


# Python as a tree, whatever a model wrote.

LONGEST = 60_000
"""Characters of code that are looked at; nobody needs so many to answer a question."""
DEEPEST = 120
"""Levels of a tree; beyond, walking it would itself run out of stack."""


@dataclass(frozen=True, slots=True)
class Unparsable:
    said: str
    line: int | None = None


def parsed(code: str) -> ast.Module | Unparsable:
    """Never raises."""
    if len(code) > LONGEST:
        return Unparsable(f"The code is longer than {LONGEST:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in a string is no concern of ours
            tree = ast.parse(code)
    except SyntaxError as error:
        return Unparsable(str(error.msg or "invalid syntax"), error.lineno)
    except (ValueError, RecursionError, MemoryError, SystemError) as error:
        return Unparsable(str(error) or type(error).__name__)
    if _depth(tree) > DEEPEST:
        return Unparsable("The code is nested too deeply")
    return tree


def is_python(code: str) -> bool:
    return isinstance(parsed(code), ast.Module)


def does_something(code: str) -> bool:
    """Whether it is Python that is more than bare words and numbers, as `Sure` would be."""

    def acts(statement: ast.stmt) -> bool:
        if not isinstance(statement, ast.Expr):
            return not isinstance(statement, ast.AnnAssign) or statement.value is not None
        return isinstance(statement.value, ast.Call | ast.NamedExpr)

    tree = parsed(code)
    return isinstance(tree, ast.Module) and any(map(acts, tree.body))


def _depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level and depth <= DEEPEST:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth
