"""What arithmetic alone can say against a result: a correlation of 1.2 is none. The names of its
values and the question decide which bounds hold. Where neither is plain about it, nothing is said:
a false alarm costs a model's whole answer."""

from __future__ import annotations

import ast
import json
import math
import re
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from secondlook.nodes.code.guard import parsed
from secondlook.reading.numbers import numbers
from secondlook.tables.table import NUMERIC, ColumnProfile, TableProfile
from secondlook.tables.words import without_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.nodes.state import AnalysisCheckData, RequirementsData, ResolvedData
    from secondlook.sandbox.port import Figure, Frame, Outcome, Plain

Kind = Literal["p_value", "r_squared", "correlation", "spread", "score", "share", "count", "middle"]
"""`spread`: deviations and variances. `score`: of a model, such as its accuracy. `middle`: what
lies between the least and the greatest value."""

_TOLERANCE = 1e-9
_BOUNDS: Final[dict[Kind, tuple[float, float]]] = {
    "p_value": (0.0, 1.0),
    "r_squared": (-math.inf, 1.0),
    "correlation": (-1.0, 1.0),
    "share": (0.0, 100.0),
    "score": (0.0, 100.0),
}
_CALLED: Final[dict[Kind, str]] = {
    "p_value": "p-value",
    "r_squared": "R squared",
    "middle": "mean or quantile",
}
_OF_ROWS: Final = frozenset(
    {"rows", "row", "records", "entries", "observations", "samples", "missing", "null", "nulls"}
    | {"nan", "outliers", "outlier", "unique", "distinct", "duplicates", "duplicate"}
)
_ROW_COUNTS: Final = frozenset({"count", "n", "size", "counts"})


class _Asked(NamedTuple):
    question: str
    kind: Kind | None
    derived: bool  # Whether it speaks of values that were changed before they were measured
    columns: list[ColumnProfile]  # Resolved ones that hold numbers
    rows: int | None  # Of the one table in question


class _Named(NamedTuple):
    name: str  # Empty where the result is just a value
    value: Plain


def checks(
    question: str,
    requirements: RequirementsData | None,
    outcome: Outcome,
    profiles: Mapping[str, TableProfile],
    resolved: Sequence[ResolvedData],
    *,
    code: str = "",
) -> list[AnalysisCheckData]:
    """One line for each rule that applies. `profiles`: by the tables' ids; `code`: that a model
    wrote."""
    values = _named_values(outcome)
    wanted = requirements["wanted"] if requirements is not None else []
    names = (one["asked"] for one in resolved)  # such as "revenue", which says nothing of a change
    question = without_names(question, [one for one in names if _kind_of_name(one) is None])
    # None where it asks for something else: `which year has the highest mean`.
    kind_asked = (
        None if _ASKS_OTHERWISE.search(question) else _kind_of_name(question.replace("'", ""))
    )
    form = _form_checks(question, kind_asked, wanted, outcome, values)
    if outcome.status != "ok" or not outcome.has_result:
        return form
    if requirements is not None and code and any(one.value is not None for one in values):
        every = {column.name for profile in profiles.values() for column in profile.columns}
        form += _method_checks(question, requirements, code, every)
    constraints = " ".join(requirements["constraints"]) if requirements is not None else ""
    used = {one["table"] for one in resolved}
    meant = [profile for key, profile in profiles.items() if len(profiles) == 1 or key in used]
    columns = (
        profiles[one["table"]].column(one["column"]) for one in resolved if one["table"] in profiles
    )
    asked = _Asked(
        question,
        (_kind_of_name(wanted[0]) if len(wanted) == 1 else None) or kind_asked,
        _CHANGED.search(_plain(f"{question} {constraints}")) is not None,
        [one for one in columns if one is not None and one.type in NUMERIC],
        meant[0].rows if len(meant) == 1 else None,
    )
    by_kind: dict[Kind, list[tuple[_Named, str | None]]] = {}
    for value in values:
        kind, number = _kind_of_name(value.name), _number(value.value)
        if kind is None and _plain(value.name) in _SAYS_NOTHING:
            kind = asked.kind if len(values) == 1 else None
        elif kind is None and asked.kind == "middle":
            kind = "middle" if _named_column(value.name, asked, exactly=True) else None
        if kind is not None and number is not None and math.isfinite(number):
            judged, problem = _problem(kind, value.name, number, asked)
            if judged:
                by_kind.setdefault(kind, []).append((value, problem))
    return [*form, *(_line(kind, found) for kind, found in by_kind.items())]


def _problem(kind: Kind, name: str, number: float, asked: _Asked) -> tuple[bool, str | None]:
    """Whether there is a rule to judge by, and what is wrong."""
    if kind == "count":
        return _count_problem(name, number, asked)
    if kind in _BOUNDS:
        return True, _outside(number, *_BOUNDS[kind])
    column = None if asked.derived else _named_column(name, asked)
    if kind == "spread" and (number < 0 or column is None or "var" in "".join(_words_of(name))):
        return True, "is below 0" if number < 0 else None
    if column is None:
        return False, None
    low, high = float(column.minimum or 0), float(column.maximum or 0)
    if kind == "middle":
        return True, _outside(number, low, high, f" of column {column.name!r}")
    wide = number > (high - low) * (1 + 1e-6) + _TOLERANCE
    said = f"is more than the range {_shown(high - low)} of column {column.name!r}"
    return True, said if wide else None


def _count_problem(name: str, number: float, asked: _Asked) -> tuple[bool, str | None]:
    """`how many goals` may be a sum, in thousands or a single cell: only rows are bounded."""
    unnamed = _plain(name) in _SAYS_NOTHING
    of_rows = bool(set(_words_of(asked.question if unnamed else name)) & _OF_ROWS)
    of_rows = of_rows or _plain(name) in _ROW_COUNTS
    problem = None
    if number < 0:
        problem = "is below 0"
    elif abs(number - round(number)) > _TOLERANCE:
        problem = "is not whole"
    elif of_rows and asked.rows is not None and number > asked.rows:
        problem = f"is more than the {asked.rows:,} rows of the table"
    return of_rows or not unnamed, problem


def _outside(number: float, low: float, high: float, of: str = "") -> str | None:
    slack = 1e-6 * max(1.0, *(abs(one) for one in (low, high) if math.isfinite(one)))
    if low - slack <= number <= high + slack:
        return None
    limits = f"outside {_shown(low)} to {_shown(high)}"
    return f"is {f'above {_shown(high)}' if math.isinf(low) else limits}{of}"


def _named_column(name: str, asked: _Asked, *, exactly: bool = False) -> ColumnProfile | None:
    """The resolved column that the name speaks of; else the only one. It must have a range."""
    words = _words_of(name)
    ranged, named = [], []
    for column in asked.columns:
        limits = (column.minimum, column.maximum)
        if all(isinstance(one, int | float) and math.isfinite(one) for one in limits):
            ranged.append(column)
            its = _words_of(column.name)
            if words == its if exactly else its and set(its) <= set(words):
                named.append(column)
    if len({one.name for one in named}) == 1:
        return named[0]
    if exactly or named or len({one.name for one in asked.columns}) != 1:
        return None
    return ranged[0] if asked.columns[0] in ranged else None


def _line(kind: Kind, found: Sequence[tuple[_Named, str | None]]) -> AnalysisCheckData:
    what = _CALLED.get(kind, kind)
    for (name, value), problem in found:
        if problem is not None:
            named = f" {name[:80]!r}" if name else ""
            said = f"The {what}{named} is {_shown(_number(value) or 0.0)}, which {problem}."
            return _check(kind, said, passed=False)
    said = f"All {len(found):,} values of this kind ({what}) are possible."
    if len(found) == 1:
        said = f"The {what} {_shown(_number(found[0][0].value) or 0.0)} is possible."
    return _check(kind, said, passed=True)


def _shown(value: float) -> str:
    whole = math.isfinite(value) and float(value).is_integer() and abs(value) < 1e15  # noqa: PLR2004
    return f"{value:.0f}" if whole else f"{value:.6g}"


# Whether a result has the form of an answer: something is there, and it is what was asked for.

_DRAWING = r"(?:plots?|charts?|graphs?|histograms?|(?:scatter|box) ?plots?|heat ?maps?|diagrams?)"
_CHART = re.compile(
    r"(?:^|[.;:!?,]\s|\b(?:and|then|to|please|can you|could you) )"
    r"(?:plot|draw|visuali[sz]e|graph|chart)\b"
    r"|\b(?:create|make|show|draw|generate|produce|give|build|display|render|present|provide)\s"
    rf"(?:(?!chart|graph|plot)\w+\W+){{0,5}}?{_DRAWING}\b|\b(?:as|with) an? (?:\w+ )?{_DRAWING}\b",
    re.IGNORECASE,
)
_NO_CHART = re.compile(
    rf"\b(?:in|from|on|of|by|to) (?:the|this|that) {_DRAWING}\b|\bto chart\b", re.IGNORECASE
)
_REPRESENTED = re.compile(
    r"\[\d+ rows x \d+ columns\]|\bdtype: \w+|^<[\w. ]+(?: object)? at 0x"
    r"|^<(?:function|class|module)|^(?:Figure|Axes|AxesSubplot)\(|^<Axes|^<pandas\."
    r"|^Empty DataFrame",
    re.MULTILINE,
)
_NEVER: Final = frozenset({"nan", "nat", "inf", "-inf"})
"""What Python prints for no value; `none` may be the answer."""
_NUMBER_ASKED = re.compile(
    r"^\W*(?:how (?:many|much)|what(?:'?s)?|calculate|compute|find|count|determine)\b",
    re.IGNORECASE,
)
_FEW_WORDS = 4


def _form_checks(  # noqa: C901 - one line a rule
    question: str,
    kind: Kind | None,
    wanted: Sequence[str],
    outcome: Outcome,
    values: Sequence[_Named],
) -> list[AnalysisCheckData]:
    if outcome.status != "ok":
        said = outcome.failure.message if outcome.failure is not None else "It did not finish."
        return [_check("ran", f"The code ended with {outcome.status!r}: {said}", passed=False)]
    texts = [one.value for one in values if isinstance(one.value, str)]
    if len(texts) == len(values) and not any(map(str.strip, texts)) and not outcome.figures:
        return [_check("present", "The code left neither a result nor a chart.", passed=False)]
    found = [_check("present", f"The result has {_counted(len(values), 'value')}.", passed=True)]
    if outcome.has_result and values:
        lacking = _missing(values, outcome)
        said = f"There is no value for {_quoted(lacking)}."
        said = said if lacking else "No value is missing or infinite."
        found.append(_check("no_missing", said, passed=not lacking))
    if any(_REPRESENTED.search(text[:4_000]) for text in texts):
        said = "A value is the printed form of a Python object, not the data in it."
        found.append(_check("plain", said, passed=False))
    if outcome.figures:
        empty = [at for at, one in enumerate(outcome.figures, 1) if not _has_data(one)]
        said = f"{_counted(len(outcome.figures), 'chart')} with data."
        said = f"Chart {empty[0]} shows no data." if empty else said
        found.append(_check("figure", said, passed=not empty))
    elif _CHART.search(question) and not _NO_CHART.search(question):
        said = "A chart was asked for, and there is none in `fig`."
        found.append(_check("figure", said, passed=False))
    if wanted:
        lacking = _unnamed(wanted, outcome)
        said = f"The result must be a mapping with the keys {_quoted(wanted)}; it lacks"
        said = f"{said} {_quoted(lacking)}." if lacking else "Every value asked for is there."
        found.append(_check("names", said, passed=not lacking))
    only_drawn = outcome.result is None and outcome.figures and outcome.frame is None
    if kind and outcome.has_result and _NUMBER_ASKED.search(question):
        # A text that is a number and little else will do.
        short = (text[:60] for text in texts if len(text.split()) <= _FEW_WORDS)
        if any(_number(one.value) is not None for one in values) or any(map(numbers, short)):
            found.append(_check("type", "A number was asked for, and there is one.", passed=True))
        elif not only_drawn:
            said = "A number was asked for; `result` must hold the number itself, not a text."
            found.append(_check("type", said, passed=False))
    return found


def _missing(values: Sequence[_Named], outcome: Outcome) -> list[str]:
    """Cells of a table may be missing, a whole column of it or a single value may not."""

    def is_missing(value: Plain) -> bool:
        if isinstance(value, str | bool):
            return isinstance(value, str) and value.strip().casefold() in _NEVER
        number = _number(value)
        return number is None or not math.isfinite(number)

    if (frame := outcome.frame) is not None:
        cells = zip_longest(*frame.rows)
        pairs = zip_longest(frame.columns, cells if frame.rows else (), fillvalue=())
        return [str(column) for column, rest in pairs if frame.rows and all(map(is_missing, rest))]
    if isinstance(outcome.result, list):
        return ["the result"] if all(is_missing(one.value) for one in values) else []
    if outcome.figures and outcome.result is None:
        return []
    in_frames = tuple(f"{name} " for name in outcome.frames)
    single = [one for one in values if not (in_frames and one.name.startswith(in_frames))]
    return [one.name or "the result" for one in single if is_missing(one.value)]


def _unnamed(wanted: Sequence[str], outcome: Outcome) -> list[str]:
    """The names that the result lacks. A single value has no need of its name."""

    def key(name: str) -> str:
        return "".join(_words_of(name)) or name.casefold()

    if len(wanted) == 1 and not isinstance(outcome.result, dict):
        return []
    names = [*(outcome.result if isinstance(outcome.result, dict) else ()), *outcome.frames]
    if outcome.frame is not None:
        firsts = (row[0] for row in outcome.frame.rows if row)
        names += [*outcome.frame.columns, *(one for one in firsts if isinstance(one, str))]
    held = set(map(key, names))
    return [name for name in wanted if key(name) not in held]


def _quoted(names: Sequence[str]) -> str:
    few = ", ".join(repr(name[:60]) for name in names[:6])
    return f"{few} and {len(names) - 6} more" if len(names) > 6 else few  # noqa: PLR2004


def _counted(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"


def _check(name: str, said: str, *, passed: bool) -> AnalysisCheckData:
    return {"name": name, "passed": passed, "said": said}


# What kind of figure a name or a question speaks of.

_KINDS: Final[dict[Kind, re.Pattern[str]]] = {
    "p_value": re.compile(r"\bp ?val(?:ue)?s?\b|^p$|\bpval\w*"),
    "r_squared": re.compile(r"\br ?2\b|\br ?squared?\b|\brsq\w*|\bcoefficient of determination\b"),
    "correlation": re.compile(
        r"\bcorr(?:elation)?s?\b|\bpearsonr?s?\b|\bspearman\w*|^r$|\br value\b|\bkendall\w*"
    ),
    "spread": re.compile(r"\bstd\w*|\bstandard dev\w*|\bsd\b|\bstdev\w*|\bvariance\b|^var\b"),
    "score": re.compile(r"\baccuracy\b|\bprecision\b|\brecall\b|\bf ?1\b|\broc\b|\bauc\b"),
    "share": re.compile(r"\bshares?\b|\bpercent\w*|\bpct\b|\bproportions?\b|\bfractions?\b"),
    "middle": re.compile(
        r"\bmeans?\b|\baverages?\b|\bavg\b|\bmedians?\b|\bquantiles?\b|\bpercentiles?\b"
        r"|\bquartiles?\b|\bq ?[123]\b|\b(?:25|50|75)%|\bmin(?:imum)?\b|\bmax(?:imum)?\b"
    ),
    "count": re.compile(r"\bcounts?\b|^n\b|\bnum(?:ber)?\b|\bhow many\b"),
}
_CHANGED: Final = re.compile(
    r"\b(?:abs|auto|chang|conver|covar|cumul|decreas|delta|diff|encod|error|estimat|expect|fill"
    r"|forecast|frequen|gain|gap|grow|higher|imput|improv|increas|interval|length|less|log|loss"
    r"|lower|mae\b|margin|matrix|mom\b|more\b|moving|ms[ed]\b|multipl|new column|normali[sz]"
    r"|outlier|pairs?\b|per\b|pivot|point|predict|product of|profit|rank|rate|ratio|reduc|relative"
    r"|replac|residual|return|revenue|rmse|rolling|scal|shareholder|skew|speed|squared?\b"
    r"|standardi[sz]|strongest|sum|t stat|threshold|times?\b|total|transform|volatil|weight|yoy\b"
    r"|z\b)"
)
"""What a name or a question says of values that are not simply of that kind."""
_ASKS_OTHERWISE = re.compile(
    r"^\W*(?:(?:in|on|at|for|during|from|by)\s+)?(?:which|who|whose|when|where|why|name|list)\b"
    r"|\b(?:what|which)\s+(?:\w+\s+)?(?:year|date|day|month|one|team|person|country|city|name|type)"
    r"|^\W*(?:year|years|date|month|team|country)\b|\bwho (?:has|had|is|was)\b",
    re.IGNORECASE,
)
_SAYS_NOTHING: Final = frozenset({"", "result", "value", "answer", "output", "res", "0"})


def _kind_of_name(name: str) -> Kind | None:
    """None where it speaks of two kinds, of a change or the like: other bounds hold then."""
    text = _plain(name)
    kinds = [kind for kind, form in _KINDS.items() if form.search(text)]
    if kinds and kinds[0] in {"p_value", "r_squared"}:
        return kinds[0]
    return kinds[0] if len(kinds) == 1 and not _CHANGED.search(text) else None


# Whether the code that led to the result does the analysis that was asked for.

_METHODS: Final = {
    "correlation": r"corr|cov\b|pearson|spearman|kendall|regress|cramer|contingency|crosstab"
    r"|mutual|\bfit|ols\b|\bdot\b|\* [a-z(]",
    "regression": r"fit|ols\b|regress|lstsq|coef|glm|logit|predict|corr|cov\b|solve|\* [a-z(]",
    "test": r"test|stats|scipy|\bsmf?\b|anova|ols\b|fit|permut|cdf|corr",
    "distribution": r"hist|count|cut\b|quantile|percentile|describe|skew|kurt|box|violin|kde|dist"
    r"|norm|group|size|std|var\b|unique|test|stats|crosstab|pivot|agg",
    "trend": r"fit|lstsq|ols\b|regress|corr|cov\b|diff|pct_change|group|resample|rolling|ewm|cum"
    r"|shift|sort|pivot|kendall|theil|season|stats|[-/*] [a-z(]",
}
"""What is called, or done with two values, where code does such an analysis."""
_NAME: Final = re.compile(r"[^\W\d]\w*")


def _method_checks(
    question: str, requirements: RequirementsData, code: str, columns: set[str]
) -> list[AnalysisCheckData]:
    """None of an analysis that could be done by anything. What rules took for one by a word is
    left where the question asks for a plain measure too."""
    asked = requirements["analysis"].casefold()
    kind = next((one for one in _METHODS if one in asked), None)
    by_rules = requirements["by"] == "rules" and kind != "correlation"
    plain = (_KINDS[one].search(_plain(question)) for one in ("middle", "count", "spread"))
    if kind is None or (by_rules and any(plain)):
        return []
    passed = re.search(_METHODS[kind], _behind(code, columns), re.IGNORECASE) is not None
    done = "one" if passed else "none"
    said = f"A {kind} was asked for, and the code behind the result computes {done}."
    return [_check("method", said, passed=passed)]


def _behind(code: str, columns: set[str]) -> str:
    """The statements behind the result, without texts, columns and the names that the code gives:
    whatever it calls its result, what it does is left."""
    if not isinstance(tree := parsed(code), ast.Module):
        return code
    text, rest, needed = "", list(map(ast.unparse, tree.body)), {"result", "fig", "plt"}
    while more := [one for one in rest if needed & _changed(one)]:
        text, rest = "\n".join([text, *more]), [one for one in rest if one not in more]
        needed |= set(_NAME.findall(text))
    if not re.search(r"\.(?:agg|aggregate|apply|transform)\(", text):  # what to do may be a text
        text = re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", "''", text)
    given = {x.id for x in ast.walk(tree) if isinstance(x, ast.Name) and type(x.ctx) is ast.Store}
    text = re.sub(rf"\.(?:{'|'.join(map(re.escape, columns))})\b(?!\()", ".x", text)
    return re.sub(r"(?<![.\w])[^\W\d]\w*", lambda one: "x" if one[0] in given else one[0], text)


def _changed(statement: str) -> set[str]:
    """The names that it binds or may put something into."""
    return set(_NAME.findall((re.match(r"[\w, ()]+(?= = )", statement) or [statement])[0]))


# Whether a chart shows anything.

_LONGEST = 24_000_000
_DATA: Final = (
    *("x", "y", "z", "values", "labels", "lat", "lon", "locations", "r", "theta", "a", "b", "c"),
    *("open", "close", "high", "low", "ids", "parents", "u", "v", "w", "dimensions", "cells"),
    *("node", "link", "intensity", "geojson", "carpet", "value", "text", "q1", "median", "real"),
)
_LOOKED_AT = 2_000


def _has_data(figure: Figure) -> bool:
    """A picture is believed: what is on it cannot be told. So is nothing that cannot be read."""
    if figure.kind == "png":
        return bool(figure.data)
    if len(figure.data) > _LONGEST:
        return False
    try:
        whole = json.loads(figure.data)
    except (ValueError, RecursionError):
        return False
    traces = whole.get("data") if isinstance(whole, dict) else None
    return isinstance(traces, list) and any(
        _holds(one.get(name)) for one in traces if isinstance(one, dict) for name in _DATA
    )


def _holds(value: Any) -> bool:
    if isinstance(value, list):
        return any(one is not None for one in value[:_LOOKED_AT])
    if isinstance(value, dict):  # numbers as Plotly packs them, or the parts of a table
        packed = value.get("bdata")
        return bool(packed) if isinstance(packed, str) else any(map(_holds, value.values()))
    return isinstance(value, int | float) and not isinstance(value, bool)


# The single values of a result, with their names.

_DEEPEST = 6
_MOST = 5_000  # Values that are looked at; a result of more is a table, not an answer
_STATISTICS: Final = frozenset(
    {"count", "mean", "std", "min", "max", "25%", "50%", "75%", "median", "sum", "var", "n"}
)
"""What a row is called in a summary, as of `describe()`."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+%?|[^\W\d_]+")


def _named_values(outcome: Outcome) -> list[_Named]:
    """Every value of the result, at most as many as are worth looking at."""

    def every() -> Iterator[_Named]:
        if outcome.frame is not None:
            yield from _of_frame(outcome.frame)
        elif outcome.has_result:
            yield from _of_plain("", outcome.result, 0)
        for name, frame in outcome.frames.items():
            yield from _of_frame(frame, name)

    return list(islice(every(), _MOST))


def _of_frame(frame: Frame, prefix: str = "") -> Iterator[_Named]:
    """Cells under the names of their columns; those of a summary under its rows' names too."""
    for row in frame.rows:
        head = row[0] if row and isinstance(row[0], str) else ""
        of_row = head if head.casefold() in _STATISTICS else ""
        for column, cell in zip(frame.columns, row, strict=False):
            yield from _of_plain(" ".join(filter(None, (prefix, of_row, column))), cell, 0)


def _of_plain(name: str, value: Plain, depth: int) -> Iterator[_Named]:
    if not isinstance(value, dict | list):
        yield _Named(name, value)
    elif depth >= _DEEPEST:
        yield _Named(name, None)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _of_plain(f"{name} {key}".strip(), inner, depth + 1)
    else:
        for inner in value:
            yield from _of_plain(name, inner, depth + 1)


def _number(value: Plain) -> float | None:
    """Also where it is missing: NaN; None where it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _words_of(name: str) -> list[str]:
    """`meanFare_class1` is mean, fare, class, 1."""
    return [word.casefold() for word in _WORD.findall(name[:300])]


def _plain(name: str) -> str:
    return " ".join(_words_of(name))
