"""Code is looked at before it runs: it must use the tables, and nothing else."""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from secondlook.nodes.code.flow import COLLECTIONS, MODULES, ROOTS, Flow, Frames, root_of, texts
from secondlook.nodes.desk import is_order
from secondlook.reading.numbers import numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import TypeGuard

_WANTED: Final = ("result", "fig")


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
        return _unparsable(tree, code)
    columns = {name for names in tables.values() for name in names}
    return (
        forbidden(tree)
        or invented(tree, columns)
        or _not_from_tables(tree)
        or written_value(tree, question)
        or unknown_table(tree, tables)
        or unknown_column(tree, tables)
    )


def _unparsable(problem: Unparsable, code: str) -> Refusal:
    where = "" if problem.line is None else f" in line {problem.line}"
    last = problem.line is not None and problem.line >= len(code.rstrip().splitlines())
    advice = " If it was cut off, write it shorter." if last else ""
    return Refusal("syntax", f"This is not Python{where}: {problem.said}.{advice}", problem.line)


def _not_from_tables(tree: ast.Module) -> Refusal | None:
    flow = Flow()
    flow.follow(tree.body)
    if flow.opaque:
        return None
    bound = [name for name in _WANTED if name in flow.names.bound]
    if not bound:
        return _no_result(tree)
    free = [name for name in bound if name not in flow.names.dependent]
    if not free or (len(bound) > len(free) and _says_nothing(tree, free[0])):
        return None
    return _free_of_tables(tree, free[0])


def _no_result(tree: ast.Module) -> Refusal:
    within = any(
        isinstance(node, ast.Name) and node.id in _WANTED and isinstance(node.ctx, ast.Store)
        for node in ast.walk(tree)
    )
    where = " outside of any function" if within else ""
    return Refusal(
        "no_result",
        f"Assign the value that answers the question to `result`{where}, and a chart to `fig`.",
    )


def _free_of_tables(tree: ast.Module, name: str) -> Refusal:
    line = _last_assignment(tree, name)
    if (built := builds_data(tree)) is not None:
        return Refusal(
            "invented",
            f"`{name}` comes from values that the code writes out. Compute it from the supplied "
            'frames (`tables["name"]`, or `df` where there is one table).',
            built,
        )
    return Refusal(
        "not_from_tables",
        f"`{name}` does not depend on the tables. Compute it from the supplied frames "
        '(`tables["name"]`, or `df` where there is one table); never write a value in.',
        line,
    )


def _says_nothing(tree: ast.Module, name: str) -> bool:
    """Beside a chart, `result` may be a text without figures, or nothing."""
    values = [node.value for node in ast.walk(tree) if _assigns(node, name)]
    return bool(values) and all(
        isinstance(value, ast.Constant)
        and (value.value is None or isinstance(value.value, str))
        and not any(map(str.isdigit, str(value.value)))
        for value in values
    )


def _last_assignment(tree: ast.Module, name: str) -> int | None:
    return max((node.lineno for node in ast.walk(tree) if _assigns(node, name)), default=None)


def _assigns(node: ast.AST, name: str) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == name for target in node.targets
    )


# Why code is not run.

Rule = Literal[
    "syntax",
    "import",
    "files",
    "insides",
    "invented",
    "no_result",
    "not_from_tables",
    "unknown_table",
    "unknown_column",
]


@dataclass(frozen=True, slots=True)
class Refusal:
    rule: Rule
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
USE_TABLES = (
    'The data is already loaded: use the supplied frames (`tables["name"]`, or `df` where there is '
    "one table) and nothing else."
)
_MAY_IMPORT = (
    "Only pandas, numpy, scipy, sklearn, statsmodels, plotly, matplotlib and modules such as math, "
    "re, datetime, collections and statistics may be imported."
)


def forbidden(tree: ast.Module) -> Refusal | None:
    """The first such thing in the code."""
    modules = set(MODULES) | _imported(tree)
    guarded = _guarded_imports(tree)
    bound = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    found = [
        refusal
        for node in ast.walk(tree)
        if node not in guarded and (refusal := _refused(node, modules - bound, bound)) is not None
    ]
    return min(found, key=lambda one: one.line or 0, default=None)


def _refused(node: ast.AST, modules: set[str], bound: set[str]) -> Refusal | None:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return next(filter(None, (_import(name, node.lineno) for name in _modules_of(node))), None)
    if isinstance(node, ast.Name):
        return _builtin(node) if node.id not in bound else None
    if isinstance(node, ast.Attribute):
        return _attribute(node, modules)
    return None


def _modules_of(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (one.name for one in node.names)
        return
    yield from (f"{node.module or '.'}.{one.name}" for one in node.names)


def _import(name: str, line: int) -> Refusal | None:
    top = name.partition(".")[0]
    if any(name == one or name.startswith(f"{one}.") for one in _OTHER_DATA):
        return Refusal("invented", f"`{name}` is other data. {USE_TABLES}", line)
    if any(name == one or name.startswith(f"{one}.") for one in _FILES_WITHIN):
        return Refusal("files", f"`{name}` is not available. {USE_TABLES}", line)
    if top in _SCIENCE or top in _STANDARD:
        return None
    if top == "seaborn":
        return Refusal("import", "seaborn is not available: draw with plotly or matplotlib.", line)
    return Refusal("import", f"`{top}` is not available. {_MAY_IMPORT} {USE_TABLES}", line)


def _builtin(node: ast.Name) -> Refusal | None:
    if node.id not in _BUILTINS:
        return None
    if node.id in {"exec", "eval", "compile", "__import__"}:
        return Refusal("insides", f"Do not use `{node.id}`: write the code itself.", node.lineno)
    return Refusal("files", f"Do not use `{node.id}`. {USE_TABLES}", node.lineno)


def _attribute(node: ast.Attribute, modules: set[str]) -> Refusal | None:
    root = root_of(node)
    of_module = root in modules and _is_plain_chain(node)
    if node.attr in _INSIDES or (of_module and node.attr in _THROUGH_MODULES):
        return Refusal("insides", f"`.{node.attr}` is not available. {USE_TABLES}", node.lineno)
    if node.attr in _READERS or (
        of_module and node.attr in _OF_MODULES and root not in _SAFE_MODULES_OF_THOSE
    ):
        return Refusal("files", f"Do not read data with `{node.attr}`. {USE_TABLES}", node.lineno)
    sample = node.attr in _SAMPLES or (root == "px" and _dotted(node).startswith("px.data."))
    if sample and of_module:
        return Refusal("invented", f"`{node.attr}` is other data. {USE_TABLES}", node.lineno)
    return None


def _is_plain_chain(node: ast.Attribute) -> bool:
    """Only attributes, from a name on: `pd.io.common`."""
    return bool(_dotted(node))


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _imported(tree: ast.Module) -> set[str]:
    return {
        (one.asname or one.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for one in node.names
    }


def _guarded_imports(tree: ast.Module) -> set[ast.AST]:
    """Imports that the code itself is ready to do without."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and node.handlers
        for statement in node.body
        for inner in ast.walk(statement)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    }


# Data that code makes up instead of taking it from the tables.

_BUILDERS: Final = frozenset(
    {"DataFrame", "Series", "from_dict", "from_records", "array", "asarray", "Index"}
)
_FRAMES: Final = frozenset({"DataFrame", "from_dict", "from_records"})
_MANY_NUMBERS = 20
"""Numbers written out that make data of what is built from them."""
_SHARED_COLUMNS = 2
"""Written-out columns that the tables have too; one is shared by a table to look things up in."""
_MESSAGE = (
    "Do not write out data yourself: every row must come from the supplied frames "
    '(`tables["name"]`, or `df` where there is one table).'
)


def invented(tree: ast.Module, columns: Collection[str]) -> Refusal | None:
    known = {name.casefold() for name in columns}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _makes_up(node, known):
            return Refusal("invented", _MESSAGE, node.lineno)
        replaces = isinstance(node, ast.Assign) and any(map(_is_supplied, node.targets))
        if isinstance(node, ast.Assign) and replaces and _builds_from_literals(node.value):
            return Refusal("invented", _MESSAGE, node.lineno)
    return None


def builds_data(tree: ast.Module) -> int | None:
    """The line on which something is built from literals alone, however small."""
    lines = (
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _builder(node) and _builds_from_literals(node)
    )
    return next(lines, None)


def _makes_up(node: ast.Call, known: Collection[str]) -> bool:
    builder = _builder(node)
    if builder is None or not _builds_from_literals(node):
        return False
    if _numbers(node) >= _MANY_NUMBERS:
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
    """Whether there are values written out in it, and no name that could stand for other data."""
    inner = list(ast.walk(node))
    has_values = any(isinstance(one, ast.List | ast.Tuple | ast.Dict) for one in inner)
    random = any(isinstance(one, ast.Attribute) and one.attr == "random" for one in inner)
    return (has_values and bool(_values(node)) and not _other_names(inner)) or (
        random and not _other_names(inner)
    )


def _other_names(inner: list[ast.AST]) -> bool:
    """Names that are neither modules nor builtins, nor the variables of comprehensions."""
    own = {one.id for one in inner if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    fine = own | {"pd", "np", "pandas", "numpy", "range", "list", "dict", "float", "int", "str"}
    return any(isinstance(one, ast.Name) and one.id not in fine for one in inner) or any(
        isinstance(one, ast.Lambda) for one in inner
    )


def _values(node: ast.AST) -> list[ast.Constant]:
    return [
        one
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and not isinstance(one.value, bool | None)
    ]


def _numbers(node: ast.AST) -> int:
    return sum(isinstance(one.value, int | float) for one in _values(node))


def _written_columns(node: ast.Call) -> Iterator[str]:
    """Keys of its mappings, and the names in `columns=`."""
    for one in ast.walk(node):
        if isinstance(one, ast.Dict):
            yield from (
                key.value
                for key in one.keys
                if isinstance(key, ast.Constant) and isinstance(key.value, str)
            )
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


def written_value(tree: ast.Module, question: str) -> Refusal | None:
    """`result = {"mean": 42.37, "n": len(df)}`: the mean is no finding of the code."""
    used = Counter(_shown(node.value) for node in ast.walk(tree) if _is_figure(node))
    asked = {reading for number in numbers(question) for reading in number.readings}
    for key, value in _parts_of_result(tree):
        figure = value.operand if isinstance(value, ast.UnaryOp) else value
        if not _is_figure(figure) or _SETTING.search(key):
            continue
        shown = _shown(figure.value)
        if used[shown] == 1 and shown not in asked and len(_digits(shown)) >= _TOLD_DIGITS:
            return Refusal(
                "not_from_tables",
                f"The value of {key!r} is written into `result`. Compute it from the tables.",
                value.lineno,
            )
    return None


def _parts_of_result(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == "result":
                yield from _entries(node.value)
            elif _is_part(target):
                yield ast.unparse(target.slice).strip("'\""), node.value


def _is_part(target: ast.expr) -> TypeGuard[ast.Subscript]:
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.value, ast.Name)
        and target.value.id == "result"
    )


def _entries(value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(value, ast.Dict):
        for key, inner in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant):
                yield str(key.value), inner


def _is_figure(node: ast.AST) -> TypeGuard[ast.Constant]:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    )


def _shown(value: object) -> str:
    return str(value)


def _digits(shown: str) -> str:
    return re.sub(r"\D", "", shown).strip("0")


# Columns and tables that the code names and that are not there.

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
    tree = parsed(code)
    return isinstance(tree, ast.Module) and any(_acts(one) for one in tree.body)


def _acts(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr):
        return not isinstance(statement, ast.AnnAssign) or statement.value is not None
    return isinstance(statement.value, ast.Call | ast.NamedExpr)


def _depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level and depth <= DEEPEST:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth
