"""What arithmetic alone can say against a result: a correlation of 1.2 is none.

The names of its values and the question decide which bounds hold. Where neither is plain about it,
nothing is said: a false alarm costs a model's whole answer.
"""

from __future__ import annotations

import ast
import json
import math
import re
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from secondlook.nodes.code.guard import parsed
from secondlook.reading.numbers import numbers
from secondlook.tables.table import NUMERIC

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.nodes.state import AnalysisCheckData, RequirementsData, ResolvedData
    from secondlook.sandbox.port import Figure, Frame, Outcome, Plain
    from secondlook.tables.table import ColumnProfile, TableProfile

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
    "correlation": "correlation",
    "share": "share",
    "score": "score",
    "count": "count",
    "middle": "mean or quantile",
    "spread": "spread",
}
_OF_ROWS: Final = frozenset(
    {"rows", "row", "records", "entries", "observations", "samples", "missing", "null", "nulls"}
    | {"nan", "outliers", "outlier", "unique", "distinct", "duplicates", "duplicate"}
)
_ROW_COUNTS: Final = frozenset({"count", "n", "size", "counts"})


@dataclass(frozen=True, slots=True)
class _Asked:
    question: str
    kind: Kind | None
    derived: bool
    columns: tuple[ColumnProfile, ...]
    """Resolved ones that hold numbers."""
    rows: int | None
    """Of the one table in question."""


def checks(
    question: str,
    requirements: RequirementsData | None,
    outcome: Outcome,
    profiles: Mapping[str, TableProfile],
    resolved: Sequence[ResolvedData],
) -> list[AnalysisCheckData]:
    """One line for each rule that applies. `profiles`: by the tables' ids."""
    form = _form_checks(question, requirements, outcome)
    if outcome.status != "ok" or not outcome.has_result:
        return form
    asked = _asked(question, requirements, profiles, resolved)
    by_kind: dict[Kind, list[tuple[Named, str | None]]] = {}
    values = named_values(outcome)
    for value in values:
        kind = _kind(value, asked, alone=len(values) == 1)
        number = value.number
        if kind is None or number is None or not math.isfinite(number):
            continue
        judged, problem = _problem(kind, value.name, number, asked)
        if judged:
            by_kind.setdefault(kind, []).append((value, problem))
    return [*form, *(_line(kind, found) for kind, found in by_kind.items())]


def _asked(
    question: str,
    requirements: RequirementsData | None,
    profiles: Mapping[str, TableProfile],
    resolved: Sequence[ResolvedData],
) -> _Asked:
    constraints = " ".join(requirements["constraints"]) if requirements is not None else ""
    wanted = list(requirements["wanted"]) if requirements is not None else []
    kind = _kind_of_name(wanted[0]) if len(wanted) == 1 else None
    columns = (
        profiles[one["table"]].column(one["column"]) for one in resolved if one["table"] in profiles
    )
    used = {one["table"] for one in resolved}
    meant = [profile for key, profile in profiles.items() if len(profiles) == 1 or key in used]
    return _Asked(
        question=question,
        kind=kind or _kind_of_question(question),
        derived=_is_derived(f"{question} {constraints}"),
        columns=tuple(one for one in columns if one is not None and one.type in NUMERIC),
        rows=meant[0].rows if len(meant) == 1 else None,
    )


def _kind(value: Named, asked: _Asked, *, alone: bool) -> Kind | None:
    """By its name; by the question where the name is that of a column, or says nothing."""
    if (kind := _kind_of_name(value.name)) is not None:
        return kind
    if says_nothing(value.name):
        return asked.kind if alone else None
    if asked.kind == "middle" and _named_column(value.name, asked, exactly=True) is not None:
        return "middle"
    return None


def _problem(kind: Kind, name: str, number: float, asked: _Asked) -> tuple[bool, str | None]:
    """Whether there is a rule to judge by, and what is wrong."""
    if kind == "count":
        judged = not says_nothing(name) or _counts_rows(name, asked)
        return judged, _wrong_count(name, number, asked)
    if kind in _BOUNDS:
        low, high = _BOUNDS[kind]
        return True, _outside(number, low, high)
    column = _named_column(name, asked)
    if kind == "spread":
        return True, _wrong_spread(name, number, None if asked.derived else column)
    if column is None or asked.derived:
        return False, None
    low, high = _range(column)
    return True, _outside(number, low, high, f" of column {column.name!r}")


def _counts_rows(name: str, asked: _Asked) -> bool:
    """Not so `how many goals`, which may be a sum, in thousands or a single cell."""
    if says_nothing(name):
        return bool(set(words_of(asked.question)) & _OF_ROWS)
    words = words_of(name)
    return bool(set(words) & _OF_ROWS) or " ".join(words) in _ROW_COUNTS


def _wrong_count(name: str, number: float, asked: _Asked) -> str | None:
    if number < 0:
        return "is below 0"
    if abs(number - round(number)) > _TOLERANCE:
        return "is not whole"
    if _counts_rows(name, asked) and asked.rows is not None and number > asked.rows:
        return f"is more than the {asked.rows:,} rows of the table"
    return None


def _wrong_spread(name: str, number: float, column: ColumnProfile | None) -> str | None:
    if number < 0:
        return "is below 0"
    if column is None or "var" in "".join(words_of(name)):
        return None
    low, high = _range(column)
    if number <= (high - low) * (1 + 1e-6) + _TOLERANCE:
        return None
    return f"is more than the range {shown(high - low)} of column {column.name!r}"


def _outside(number: float, low: float, high: float, of: str = "") -> str | None:
    slack = 1e-6 * max(1.0, *(abs(one) for one in (low, high) if math.isfinite(one)))
    if low - slack <= number <= high + slack:
        return None
    limits = f"above {shown(high)}" if math.isinf(low) else f"outside {shown(low)} to {shown(high)}"
    return f"is {limits}{of}"


def _named_column(name: str, asked: _Asked, *, exactly: bool = False) -> ColumnProfile | None:
    """The resolved column that the name speaks of; else the only one."""

    def speaks_of(column: ColumnProfile) -> bool:
        some = words_of(column.name)
        return words == some if exactly else bool(some) and set(some) <= set(words)

    words = words_of(name)
    ranged = [column for column in asked.columns if _has_range(column)]
    named = [column for column in ranged if speaks_of(column)]
    if len({one.name for one in named}) == 1:
        return named[0]
    if exactly or named or len({one.name for one in asked.columns}) != 1:
        return None
    return ranged[0] if asked.columns[0] in ranged else None


def _has_range(column: ColumnProfile) -> bool:
    limits = (column.minimum, column.maximum)
    return all(isinstance(one, int | float) and math.isfinite(one) for one in limits)


def _range(column: ColumnProfile) -> tuple[float, float]:
    return float(column.minimum or 0), float(column.maximum or 0)


def _line(kind: Kind, found: Sequence[tuple[Named, str | None]]) -> AnalysisCheckData:
    what = _CALLED[kind]
    for value, problem in found:
        if problem is not None:
            name = f" {value.name[:80]!r}" if value.name else ""
            said = f"The {what}{name} is {shown(value.number or 0.0)}, which {problem}."
            return {"name": kind, "passed": False, "said": said}
    said = (
        f"The {what} {shown(found[0][0].number or 0.0)} is possible."
        if len(found) == 1
        else f"All {len(found):,} values of this kind ({what}) are possible."
    )
    return {"name": kind, "passed": True, "said": said}


# Whether a result has the form of an answer: something is there, and it is what was asked for.

_DRAWING = r"(?:plots?|charts?|graphs?|histograms?|(?:scatter|box) ?plots?|heat ?maps?|diagrams?)"
_CHART = re.compile(
    r"(?:^|[.;:!?,]\s|\band |\bthen |\bto |\bplease |\bcan you |\bcould you )"
    r"(?:plot|draw|visuali[sz]e|graph|chart)\b"
    r"|\b(?:create|make|show|draw|generate|produce|give|build|display|render|present|provide)\s"
    rf"(?:(?!chart|graph|plot)\w+\W+){{0,5}}?{_DRAWING}\b"
    rf"|\b(?:as|with) an? (?:\w+ )?{_DRAWING}\b",
    re.IGNORECASE,
)
_NO_CHART = re.compile(
    rf"\b(?:in|from|on|of|by|to) (?:the|this|that) {_DRAWING}\b|\bto chart\b", re.IGNORECASE
)
_NUMBER_ASKED = re.compile(
    r"^\W*(?:how (?:many|much)\b|(?:what|what's|whats)\s+(?:is|was|are|were)?\s*(?:the )?(?:\w+ )?"
    r"(?:mean|average|median|sum|total|number|count|correlation|percentage|proportion|standard|"
    r"variance|minimum|maximum|p-value|skewness|kurtosis)\b"
    r"|(?:calculate|compute|find|count|determine)\s+(?:the )?(?:\w+ )?(?:mean|average|median|sum|"
    r"total|number|count|correlation|percentage|proportion|standard|variance|minimum|maximum)\b)",
    re.IGNORECASE,
)
_REPRESENTED = re.compile(
    r"\[\d+ rows x \d+ columns\]|\bdtype: \w+|^<[\w. ]+(?: object)? at 0x"
    r"|^<(?:function|class|module)|^(?:Figure|Axes|AxesSubplot)\(|^<Axes|^<pandas\."
    r"|^Empty DataFrame",
    re.MULTILINE,
)
_CODE_LINES = 2
_NEVER: Final = frozenset({"nan", "nat", "inf", "-inf"})
"""What Python prints for no value; `none` may be the answer."""
_FEW_WORDS = 4


def _form_checks(
    question: str, requirements: RequirementsData | None, outcome: Outcome
) -> list[AnalysisCheckData]:
    if outcome.status != "ok":
        said = outcome.failure.message if outcome.failure is not None else "It did not finish."
        return [_check("ran", f"The code ended with {outcome.status!r}: {said}", passed=False)]
    values = named_values(outcome)
    something = any(not isinstance(one.value, str) or one.value.strip() for one in values)
    if not something and not outcome.figures:
        lacking = "The result is empty."
        if not outcome.has_result:
            lacking = "The code left neither a result nor a chart."
        return [_check("present", lacking, passed=False)]
    found = [_missing(values, outcome), _represented(values), _figure(question, outcome)]
    found += [_names(requirements, outcome), _number(question, values, outcome)]
    said = f"The result has {_counted(len(values), 'value')}."
    return [_check("present", said, passed=True), *(one for one in found if one is not None)]


def _missing(values: Sequence[Named], outcome: Outcome) -> AnalysisCheckData | None:
    """Cells of a table may be missing, a whole column of it or a single value may not."""
    frame = outcome.frame
    if not outcome.has_result or not values:
        return None
    if frame is not None:
        cells = zip_longest(*frame.rows)
        pairs = zip_longest(frame.columns, cells if frame.rows else (), fillvalue=())
        bad = [str(column) for column, rest in pairs if frame.rows and all(map(_is_missing, rest))]
    elif isinstance(outcome.result, list):
        bad = ["the result"] if all(_is_missing(one.value) for one in values) else []
    elif outcome.figures and outcome.result is None:
        bad = []
    else:
        in_frames = tuple(f"{name} " for name in outcome.frames)
        single = [one for one in values if not (in_frames and one.name.startswith(in_frames))]
        bad = [one.name or "the result" for one in single if _is_missing(one.value)]
    if bad:
        return _check("no_missing", f"There is no value for {_quoted(bad)}.", passed=False)
    return _check("no_missing", "No value is missing or infinite.", passed=True)


def _is_missing(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().casefold() in _NEVER
    if isinstance(value, int | float):
        number = Named("", value).number
        return number is not None and not math.isfinite(number)
    return True


def _represented(values: Sequence[Named]) -> AnalysisCheckData | None:
    """A text that shows an object of Python, or the code itself, is no answer."""
    for text in (one.value for one in values if isinstance(one.value, str)):
        if _REPRESENTED.search(text[:4_000]):
            said = "A value is the printed form of a Python object, not the data in it."
            return _check("plain", said, passed=False)
        tree = parsed(text) if len(text.splitlines()) >= _CODE_LINES else None
        statements = (ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef)
        if isinstance(tree, ast.Module) and any(isinstance(one, statements) for one in tree.body):
            return _check("plain", "A value is code, not what it computes.", passed=False)
    return None


def _figure(question: str, outcome: Outcome) -> AnalysisCheckData | None:
    if outcome.figures:
        empty = [at for at, one in enumerate(outcome.figures, 1) if not _has_data(one)]
        if empty:
            return _check("figure", f"Chart {empty[0]} shows no data.", passed=False)
        said = f"{_counted(len(outcome.figures), 'chart')} with data."
        return _check("figure", said, passed=True)
    if _CHART.search(question) and not _NO_CHART.search(question):
        return _check("figure", "A chart was asked for, and there is none in `fig`.", passed=False)
    return None


def _names(requirements: RequirementsData | None, outcome: Outcome) -> AnalysisCheckData | None:
    wanted = list(requirements["wanted"]) if requirements is not None else []
    if not wanted:
        return None
    held = {_key(name) for name in _held_names(outcome)}
    lacking = [name for name in wanted if _key(name) not in held]
    if len(wanted) == 1 and not isinstance(outcome.result, dict):
        lacking = []  # a single value has no need of its name
    if lacking:
        said = f"The result must be a mapping with the keys {_quoted(wanted)}; it lacks"
        return _check("names", f"{said} {_quoted(lacking)}.", passed=False)
    return _check("names", "Every value that was asked for is there.", passed=True)


def _held_names(outcome: Outcome) -> Iterator[str]:
    if isinstance(outcome.result, dict):
        yield from outcome.result
    yield from outcome.frames
    if outcome.frame is not None:
        yield from outcome.frame.columns
        yield from (row[0] for row in outcome.frame.rows if row and isinstance(row[0], str))


def _number(question: str, values: Sequence[Named], outcome: Outcome) -> AnalysisCheckData | None:
    if not _NUMBER_ASKED.search(question) or not outcome.has_result:
        return None
    if any(_is_number(one) for one in values):
        return _check("type", "A number was asked for, and there is one.", passed=True)
    if outcome.result is None and outcome.figures and outcome.frame is None:
        return None
    said = "A number was asked for; `result` must hold the number itself, not a text about it."
    return _check("type", said, passed=False)


def _is_number(value: Named) -> bool:
    """A text that is a number and little else will do."""
    if value.number is not None:
        return True
    if not isinstance(value.value, str):
        return False
    return bool(numbers(value.value[:60])) and len(value.value.split()) <= _FEW_WORDS


def _key(name: str) -> str:
    return "".join(words_of(name)) or name.casefold()


def _quoted(names: Sequence[str]) -> str:
    few = ", ".join(repr(name[:60]) for name in names[:6])
    return f"{few} and {len(names) - 6} more" if len(names) > 6 else few  # noqa: PLR2004


def _counted(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"


def _check(name: str, said: str, *, passed: bool) -> AnalysisCheckData:
    return {"name": name, "passed": passed, "said": said}


# What kind of figure a name or a question speaks of.

Kind = Literal["p_value", "r_squared", "correlation", "spread", "score", "share", "count", "middle"]
"""`spread`: deviations and variances. `score`: of a model, such as its accuracy. `middle`: what
lies between the least and the greatest value."""

_KINDS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("p_value", re.compile(r"\bp ?val(?:ue)?s?\b|^p$|\bpval\w*")),
    (
        "r_squared",
        re.compile(r"\br ?2\b|\br ?squared?\b|\brsq\w*|\bcoefficient of determination\b"),
    ),
    (
        "correlation",
        re.compile(
            r"\bcorr(?:elation)?s?\b|\bpearsonr?s?\b|\bspearman\w*|^r$|\br value\b|\bkendall\w*"
        ),
    ),
    ("spread", re.compile(r"\bstd\w*|\bstandard dev\w*|\bsd\b|\bstdev\w*|\bvariance\b|^var\b")),
    ("score", re.compile(r"\baccuracy\b|\bprecision\b|\brecall\b|\bf 1\b|\bf1\b|\broc\b|\bauc\b")),
    ("share", re.compile(r"\bshares?\b|\bpercent\w*|\bpct\b|\bproportions?\b|\bfractions?\b")),
    (
        "middle",
        re.compile(
            r"\bmeans?\b|\baverages?\b|\bavg\b|\bmedians?\b|\bquantiles?\b|\bpercentiles?\b"
            r"|\bquartiles?\b|\bq ?[123]\b|\b(?:25|50|75)%|\bmin(?:imum)?\b|\bmax(?:imum)?\b"
        ),
    ),
    (
        "count",
        re.compile(r"\bcounts?\b|^n\b|\bnum\b|\bnumber of\b|\bhow many\b|\bn (?:rows|records)\b"),
    ),
)
_OTHERWISE: Final[dict[Kind, re.Pattern[str]]] = {
    "correlation": re.compile(
        r"\bmatrix\b|\bstrongest\b|\bauto|\bcovariance\b|\bcount|\bnumber|\binterval\b|\brank\b"
        r"|\bp ?val|\bz\b|\bfisher\b|\bdifference\b|\bpairs?\b|\bt stat|\bn\b"
    ),
    "share": re.compile(
        r"\bchang\w*|\bgrowth\b|\bgrow|\bincreas\w*|\bdecreas\w*|\bdiff\w*|\berror\b|\breturns?\b"
        r"|\byoy\b|\bmom\b|\bmargin|\bdeviation\b|\bhigher\b|\blower\b|\bmore\b|\bless\b|\bratio\b"
        r"|\bprofit|\bgain|\bloss|\bimprov|\breduc|\bpoints?\b|\bcount\b|\bnumber\b|\bstd\b|\bskew"
        r"|\brelative to\b|\bpercentiles?\b|\bshareholders?\b|\bper share\b|\bvariance\b|\bcorr"
    ),
    "count": re.compile(
        r"\bmean\b|\baverages?\b|\bavg\b|\bmedian\b|\bstd\b|\bper\b|\bshare\b|\bpercent|\bratio\b"
        r"|\bproportion\b|\brate\b|\bdiff|\bchange\b|\bcorr|\bskew|\bvariance\b|\bexpected\b"
        r"|\btimes\b|\bpredict|\bestimat|\bforecast|\blog\b|\bnormali[sz]|\bscaled?\b"
    ),
    "spread": re.compile(
        r"\bno of\b|\bdiff|\bchange\b|\bratio\b|\blog\b|\bcovariance\b|\bexplained\b|\bnumber of\b"
        r"|\bcoefficient\b|\bdeviations? (?:from|above|below|away)\b|\bnormali[sz]|\bz ?score"
        r"|\bstandardi[sz]|\bthreshold|\boutlier"
    ),
    "middle": re.compile(
        r"\bdiff\w*|\bchang\w*|\bratio\b|\bgrowth\b|\bdelta\b|\bgap\b|\berrors?\b|\bresiduals?\b"
        r"|\bmse\b|\bmae\b|\brmse\b|\bsquared?\b|\bper\b|\btotals?\b|\bsums?\b|\bnumber\b|\bcounts?\b"
        r"|\blog\w*|\btransform\w*|\bnormali[sz]\w*|\bstandardi[sz]\w*|\bscal\w*|\bz ?scores?\b"
        r"|\bimput\w*|\bfill\w*|\breplac\w*|\bpredict\w*|\bforecast\w*|\bconver\w*|\brank\w*"
        r"|\bencod\w*|\bweight\w*|\bcumul\w*|\bmoving\b|\brolling\b|\brates?\b|\blength\w*"
        r"|\bduration\b|\bdistance\b|\bspeed\b|\btimes?\b|\bmultipl\w*|\bproduct of\b|\bfeature\b"
        r"|\bnew column\b|\binterval\b|\bproportion\b|\bpercent(?:age)?\b|\bshare\b|\bdeviation\b"
        r"|\bsum(?:med|ming)\b|\babs\w*|\breturns?\b|\bvolatil\w*|\bpivot\b|\bcorr\w*|\bconfidence\b"
        r"|\brevenue\b|\bhow many\b|\bfrequen\w*"
    ),
}
_ASKS_OTHERWISE = re.compile(
    r"^\W*(?:(?:in|on|at|for|during|from|by)\s+)?(?:which|who|whose|when|where|why|name|list)\b"
    r"|\b(?:what|which)\s+(?:\w+\s+)?(?:year|date|day|month|one|team|person|country|city|name|type)"
    r"|^\W*(?:year|years|date|month|team|country)\b|\bwho (?:has|had|is|was)\b",
    re.IGNORECASE,
)
_SAYS_NOTHING: Final = frozenset({"", "result", "value", "answer", "output", "res", "0"})


def _kind_of_name(name: str) -> Kind | None:
    """None also where the name speaks of a change, a ratio or the like: other bounds hold then."""
    return _first(" ".join(words_of(name)))


def _kind_of_question(question: str) -> Kind | None:
    """Where it speaks of one kind only, and asks for it: `which year has the highest mean` asks for
    a year."""
    if _ASKS_OTHERWISE.search(question[:2_000]):
        return None
    text = " ".join(words_of(question[:2_000].replace("'", "")))
    found = [kind for kind, form in _KINDS if form.search(text)]
    if len(found) != 1:
        return None
    return _first(text)


def says_nothing(name: str) -> bool:
    return " ".join(words_of(name)) in _SAYS_NOTHING


def _is_derived(text: str) -> bool:
    """Whether it speaks of values that were changed before they were measured."""
    return _OTHERWISE["middle"].search(" ".join(words_of(text[:4_000]))) is not None


def _first(text: str) -> Kind | None:
    for kind, form in _KINDS:
        if form.search(text):
            other = _OTHERWISE.get(kind)
            return None if other is not None and other.search(text) else kind
    return None


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

Scalar: TypeAlias = "bool | int | float | str | None"

_DEEPEST = 6
_MOST = 5_000
"""Values that are looked at; a result of more is a table, not an answer."""
_STATISTICS: Final = frozenset(
    {"count", "mean", "std", "min", "max", "25%", "50%", "75%", "median", "sum", "var", "n"}
)
"""What a row is called in a summary, as of `describe()`."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+%?|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Named:
    name: str
    """Empty where the result is just a value."""
    value: Scalar

    @property
    def number(self) -> float | None:
        """Also where it is missing: NaN; None where it is no number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            return None
        try:
            return float(self.value)
        except OverflowError:
            return math.inf


def named_values(outcome: Outcome) -> list[Named]:
    """Every value of the result, at most as many as are worth looking at."""

    def every() -> Iterator[Named]:
        if outcome.frame is not None:
            yield from _of_frame(outcome.frame)
        elif outcome.has_result:
            yield from _of_plain("", outcome.result, 0)
        for name, frame in outcome.frames.items():
            yield from _of_frame(frame, prefix=name)

    return list(islice(every(), _MOST))


def _of_frame(frame: Frame, *, prefix: str = "") -> Iterator[Named]:
    """Cells under the names of their columns; those of a summary under its rows' names too."""
    for row in frame.rows:
        head = row[0] if row and isinstance(row[0], str) else ""
        of_row = head if head.casefold() in _STATISTICS else ""
        for column, cell in zip(frame.columns, row, strict=False):
            name = " ".join(filter(None, (prefix, of_row, column)))
            yield from _of_plain(name, cell, 0)


def _of_plain(name: str, value: Plain, depth: int) -> Iterator[Named]:
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in value.items():
            yield from _of_plain(f"{name} {key}".strip(), inner, depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for inner in value:
            yield from _of_plain(name, inner, depth + 1)
    elif isinstance(value, dict | list):
        yield Named(name, None)
    else:
        yield Named(name, value)


def words_of(name: str) -> list[str]:
    """`meanFare_class1` is mean, fare, class, 1."""
    return [word.casefold() for word in _WORD.findall(name[:300])]


def shown(value: float) -> str:
    """For people."""
    if math.isnan(value) or math.isinf(value) or not float(value).is_integer():
        return f"{value:.6g}"
    return f"{value:.0f}" if abs(value) < 1e15 else f"{value:.6g}"  # noqa: PLR2004
