"""Whether a result has the form of an answer: something is there, and it is what was asked for."""

from __future__ import annotations

import ast
import math
import re
from typing import TYPE_CHECKING, Final

from secondlook.nodes.coding.parsing import parsed
from secondlook.nodes.judging.figures import has_data
from secondlook.nodes.judging.values import Named, named_values, words_of
from secondlook.reading.numbers import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.sandbox.port import Outcome
    from secondlook.state.analysis import AnalysisCheckData, RequirementsData

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


def form_checks(
    question: str, requirements: RequirementsData | None, outcome: Outcome
) -> list[AnalysisCheckData]:
    if outcome.status != "ok":
        said = outcome.failure.message if outcome.failure is not None else "It did not finish."
        return [_check("ran", f"The code ended with {outcome.status!r}: {said}", passed=False)]
    values = named_values(outcome)
    if (empty := _empty(values, outcome)) is not None:
        return [empty]
    found = [_missing(values, outcome), _represented(values), _figure(question, outcome)]
    found += [_names(requirements, outcome), _number(question, values, outcome)]
    said = f"The result has {_counted(len(values), 'value')}."
    return [_check("present", said, passed=True), *(one for one in found if one is not None)]


def _empty(values: Sequence[Named], outcome: Outcome) -> AnalysisCheckData | None:
    drawn = bool(outcome.figures)
    if any(_is_something(one) for one in values) or drawn:
        return None
    if not outcome.has_result:
        return _check("present", "The code left neither a result nor a chart.", passed=False)
    return _check("present", "The result is empty.", passed=False)


def _is_something(value: Named) -> bool:
    return not (isinstance(value.value, str) and not value.value.strip())


def _missing(values: Sequence[Named], outcome: Outcome) -> AnalysisCheckData | None:
    """Cells of a table may be missing, a whole column of it or a single value may not."""
    if not outcome.has_result or not values:
        return None
    bad = _missing_columns(outcome) if _is_table(outcome) else _missing_values(values, outcome)
    if bad:
        return _check("no_missing", f"There is no value for {_quoted(bad)}.", passed=False)
    return _check("no_missing", "No value is missing or infinite.", passed=True)


def _is_table(outcome: Outcome) -> bool:
    return outcome.frame is not None or isinstance(outcome.result, list)


def _missing_values(values: Sequence[Named], outcome: Outcome) -> list[str]:
    in_frames = tuple(f"{name} " for name in outcome.frames)
    single = [one for one in values if not (in_frames and one.name.startswith(in_frames))]
    if outcome.figures and outcome.result is None:
        return []
    return [one.name or "the result" for one in single if _is_missing(one)]


def _missing_columns(outcome: Outcome) -> list[str]:
    if outcome.frame is None:
        values = named_values(outcome)
        return ["the result"] if values and all(map(_is_missing, values)) else []
    frame = outcome.frame
    return [
        column
        for at, column in enumerate(frame.columns)
        if frame.rows and all(_is_missing(Named("", _scalar(row, at))) for row in frame.rows)
    ]


def _scalar(row: Sequence[object], at: int) -> bool | int | float | str | None:
    cell = row[at] if at < len(row) else None
    return cell if isinstance(cell, bool | int | float | str) else None


def _is_missing(value: Named) -> bool:
    if isinstance(value.value, str):
        return value.value.strip().casefold() in _NEVER
    number = value.number
    return value.value is None or (number is not None and not math.isfinite(number))


def _represented(values: Sequence[Named]) -> AnalysisCheckData | None:
    """A text that shows an object of Python, or the code itself, is no answer."""
    for text in (one.value for one in values if isinstance(one.value, str)):
        if _REPRESENTED.search(text[:4_000]):
            said = "A value is the printed form of a Python object, not the data in it."
            return _check("plain", said, passed=False)
        if _is_code(text):
            return _check("plain", "A value is code, not what it computes.", passed=False)
    return None


def _is_code(text: str) -> bool:
    if len(text.splitlines()) < _CODE_LINES:
        return False
    tree = parsed(text)
    return isinstance(tree, ast.Module) and any(
        isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.FunctionDef)
        for node in tree.body
    )


def _figure(question: str, outcome: Outcome) -> AnalysisCheckData | None:
    if outcome.figures:
        empty = [at for at, one in enumerate(outcome.figures, 1) if not has_data(one)]
        if empty:
            return _check("figure", f"Chart {empty[0]} shows no data.", passed=False)
        return _check(
            "figure", f"{_counted(len(outcome.figures), 'chart')} with data.", passed=True
        )
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
