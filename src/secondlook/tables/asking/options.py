"""How a statistic is to be computed, where the question says so: tests, methods, limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

Span = tuple[int, int]
SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]?")
NUMBER = r"[-+\u2212]?\d+(?:\.\d+)?"
_TESTS = (
    ("shapiro", r"shapiro(?:[- ]wilk)?"),
    ("ks", r"kolmogorov(?:[-\u2013 ]smirnov)?|\bk-?s test\b"),
    ("anderson", r"anderson(?:[- ]darling)?"),
    ("dagostino", r"d['\u2019]agostino\w*(?:[- ](?:and )?pearson\w*)?|\bnormaltest\b"),
    ("jarque_bera", r"jarque[- ]bera"),
)
_METHODS = (
    ("spearman", r"\bspearman\w*"),
    ("kendall", r"\bkendall\w*"),
    ("pearson", r"\bpearson\w*"),
)
ZSCORE = re.compile(
    r"\bz[- ]?scores?\b|standard deviations? (?:away )?from the mean", re.IGNORECASE
)
IQR = re.compile(r"\biqr\b|inter-?quartile", re.IGNORECASE)
LIMIT_Z = re.compile(
    r"(?:threshold(?: value)?(?: of| is|:|=)?|(?:greater|more|higher|larger) than|above|exceed\w*"
    r"|>=?|outside (?:of )?(?:the )?(?:range )?(?:of )?|beyond|within)\s*(?:the )?"
    rf"(?:\u00b1|\+/-)?\s*({NUMBER})",
    re.IGNORECASE,
)
LIMIT_DEVIATIONS = re.compile(rf"({NUMBER}|three|two) standard deviations?", re.IGNORECASE)
LIMIT_IQR = re.compile(
    rf"({NUMBER})\s*(?:times|\*|x|\u00d7)\s*(?:the )?(?:iqr|inter-?quartile)", re.IGNORECASE
)
_AWAY = r"remov\w*|exclud\w*|drop\w*|filter\w* out|eliminat\w*"
REMOVED = re.compile(
    rf"\b(?:{_AWAY}|without)\b[^.?!\n]{{0,40}}\b(?:outliers?|them)\b"
    rf"|\boutliers?\b[^.?!\n]{{0,60}}\b(?:{_AWAY})\b"
    r"|\bafter (?:the )?(?:outlier )?removal\b",
    re.IGNORECASE,
)
NOT = re.compile(
    r"\b(?:do not|don't|not to|no need|never|without (?:removing|applying|modifying))\b",
    re.IGNORECASE,
)
GONE = re.compile(
    r"\b(?:missing|nulls?|nans?|empty|blank|non-?numeric|cannot be converted|dropna)\b",
    re.IGNORECASE,
)
LEAVE_OUT = re.compile(
    r"\b(?:ignor\w*|exclud\w*|drop\w*|remov\w*|disregard\w*|skip\w*|without|omit\w*|not consider\w*"
    r"|not include\w*|handl\w*|clean\w*|convert\w*|ensure|only)\b",
    re.IGNORECASE,
)
FILL = re.compile(
    r"\b(?:imput\w*|fill\w*|replac\w*|substitut\w*)\b[^.?!\n]{0,80}?\b(?:with|by|using)\b"
    r"(?: the| their)?[^.?!\n]{0,30}?\b(mean|average|median|zero|0)\b|\b(mean|median) imputation\b",
    re.IGNORECASE,
)
LOG = re.compile(
    r"\b(?:natural )?log(?:arithm\w*)?(?:[- ]?transform\w*)?\b[^.?!\n]{0,40}", re.IGNORECASE
)
POPULATION = re.compile(
    r"\bpopulation (?:standard deviation|std|variance)|\bddof\s*=\s*0", re.IGNORECASE
)
SAMPLE = re.compile(
    r"\bnot the sample\b|\bsample (?:standard deviation|std|variance)", re.IGNORECASE
)
BIASED = re.compile(r"\bscipy\b|\bbiased\b|\bpopulation skew", re.IGNORECASE)
CONVERTED = re.compile(
    r"\bconvert\w*\b[^.?!\n]{0,50}\b(?:to|into|as) (?:numbers?|numeric|floats?|integers?)\b",
    re.IGNORECASE,
)
EXPLAINED = re.compile(
    r"\bdivid\w* (?:it )?by (?:the )?(?:total )?(?:number|count|standard deviation|std|n\b)"
    r"|\bonly (?:the )?(?:available|given|provided|numeric\w*|existing|valid|one|two|these|those)\b"
    r"|\b(?:only|just) (?:use|consider|include)\b(?= (?:the )?(?:available|numeric|valid|non))",
    re.IGNORECASE,
)
"""How a statistic is defined, or that it is of the values there are."""
STEPS = re.compile(r"\b(?:data )?(?:pre-?process\w*|clean(?:ing|ed)?)\b", re.IGNORECASE)
TRANSFORMED = re.compile(r"\btransform\w*\b", re.IGNORECASE)
WORDS = {"two": 2.0, "three": 3.0}


class Placed(Protocol):
    """Something that stands at characters [start, end) of a text."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def spans_of(*several: Iterable[Placed]) -> list[Span]:
    return [(one.start, one.end) for some in several for one in some]


@dataclass(frozen=True, slots=True)
class Options:
    correlation: Literal["pearson", "spearman", "kendall"] = "pearson"
    normality: str = "shapiro"
    outliers: Literal["outliers_z", "outliers_iqr"] | None = None
    limit: float | None = None
    without_outliers: bool = False
    population: bool = False
    biased: bool = False
    fill: Literal["mean", "median", "zero"] | None = None
    log: bool = False
    understood: tuple[Span, ...] = ()
    """Parts of the text that say these things."""
    left_out: tuple[Span, ...] = ()
    """Sentences that leave out rows without a value."""


@dataclass(slots=True)
class _Notes:
    spans: list[Span] = field(default_factory=list)

    def find(self, pattern: re.Pattern[str] | str, text: str) -> re.Match[str] | None:
        found = None
        for match in (
            re.finditer(pattern, text, re.IGNORECASE)
            if isinstance(pattern, str)
            else (pattern.finditer(text))
        ):
            self.spans.append(match.span())
            found = found or match
        return found


def options(text: str) -> Options:
    notes = _Notes()
    test = next((name for name, pattern in _TESTS if notes.find(pattern, text)), "shapiro")
    method = next((name for name, pattern in _METHODS if notes.find(pattern, text)), "pearson")
    outliers, limit = _outliers(text, notes)
    without = _without_outliers(text, notes)
    fill, log = _fill(text, notes), notes.find(LOG, text) is not None
    left_out = [span for span in sentences(text) if _leaves_out(text[slice(*span)])]
    unchanged = [span for span in sentences(text) if NOT.search(text[slice(*span)])]
    population = notes.find(POPULATION, text) is not None
    notes.find(SAMPLE, text)
    notes.find(CONVERTED, text)
    notes.find(EXPLAINED, text)
    if log:
        notes.find(TRANSFORMED, text)
    if log or fill or without or left_out:
        # The steps that it consists of are said, and done.
        notes.find(STEPS, text)
    return Options(
        correlation=method,  # type: ignore[arg-type]
        normality=test,
        outliers=outliers,
        limit=limit,
        without_outliers=without,
        population=population,
        biased=BIASED.search(text) is not None,
        fill=fill,
        log=log,
        understood=(*notes.spans, *left_out, *unchanged),
        left_out=tuple(left_out),
    )


def sentences(text: str) -> list[Span]:
    return [match.span() for match in SENTENCE.finditer(text)]


def _outliers(
    text: str, notes: _Notes
) -> tuple[Literal["outliers_z", "outliers_iqr"] | None, float | None]:
    by_iqr, by_z = notes.find(IQR, text), notes.find(ZSCORE, text)
    deviations = notes.find(LIMIT_DEVIATIONS, text)
    if by_z or (deviations and not by_iqr):
        found = deviations or LIMIT_Z.search(text, by_z.start() if by_z else 0)
        if found is not None:
            notes.spans.append(found.span())
        return "outliers_z", _number(found[1]) if found else None
    if by_iqr:
        found = notes.find(LIMIT_IQR, text)
        notes.find(r"\b(?:quartiles?|\d+th percentiles?)\b", text)
        return "outliers_iqr", _number(found[1]) if found else None
    return None, None


def _number(said: str) -> float:
    return abs(WORDS.get(said.lower()) or float(said.replace("\u2212", "-")))


def _without_outliers(text: str, notes: _Notes) -> bool:
    """Whether outliers are taken away; `do not remove outliers` says that they are not."""
    removed = False
    for start, end in sentences(text):
        if REMOVED.search(text, start, end) and not NOT.search(text, start, end):
            removed = True
            for match in REMOVED.finditer(text, start, end):
                notes.spans.append(match.span())
    return removed


def _leaves_out(sentence: str) -> bool:
    return bool(GONE.search(sentence) and LEAVE_OUT.search(sentence) and not FILL.search(sentence))


def _fill(text: str, notes: _Notes) -> Literal["mean", "median", "zero"] | None:
    found = notes.find(FILL, text)
    if found is None:
        return None
    said = (found[1] or found[2]).lower()
    names: dict[str, Literal["mean", "median", "zero"]] = {
        "mean": "mean",
        "average": "mean",
        "median": "median",
    }
    return names.get(said, "zero")
