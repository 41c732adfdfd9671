"""Words for statistics, words that say nothing about what is asked, words for other work."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.tables.query import Statistic

Kind: TypeAlias = "Statistic | Literal['p_value', 'outliers']"
"""`p_value` and `outliers` become statistics once the test and the method are known."""


@dataclass(frozen=True, slots=True)
class Said:
    """Characters [start, end) of a text name a statistic."""

    start: int
    end: int
    kind: Kind
    at: float | None = None


_SHARE = r"(?:percentages?|proportions?|shares?|percent|fractions?|ratio)"
_GONE = r"(?:missing|nulls?|nan|na|empty|blank)"
_PATTERNS: tuple[tuple[Kind, str], ...] = (
    ("iqr", r"inter-?\s?quartile ranges?|\biqr\b"),
    ("quantile", r"\b(?P<at>\d{1,2}(?:\.\d+)?)(?:st|nd|rd|th)? (?:percentiles?|quantiles?)"),
    ("quantile", r"\b(?:(?P<low>first|lower|1st)|(?P<high>third|upper|3rd)) quartiles?"),
    ("quantile", r"\bq ?(?P<quarter>[13])\b"),
    ("std", r"(?:standard|std)\.? ?dev(?:iation)?s?\b|\bstd\b|\bst(?:d?)dev\b|\bsd\b"),
    ("variance", r"\bvariances?\b|\bvar\b"),
    ("skewness", r"\bskew(?:ness|ed)?\b"),
    ("kurtosis", r"\bkurtosis\b"),
    ("p_value", r"\bp[- ]?values?\b"),
    ("covariance", r"\bcovariances?\b"),
    (
        "correlation",
        (
            r"\b(?:pearson|spearman|kendall)(?:'s)?(?: rank)?(?: \(\w+\))?(?: correlation)?"
            r"(?: coefficients?)?|\b(?:inter)?correlat\w+(?: coefficients?)?|\bcorr\b|\brho\b"
            r"|\btau\b|\b(?:linear )?relationships?\b|\bassociat(?:ion|ed)\b"
        ),
    ),
    ("normality", r"\bnormal(?:ity|cy|ly)\b(?: distributed)?|\bnormal distribution\b|\bgaussian\b"),
    ("outliers", r"\b(?:(?:number|count) of )?(?:outliers?|anomal(?:y|ies|ous))\b"),
    ("missing_share", rf"\b{_SHARE} of (?:the )?{_GONE}\b(?: (?:values?|entries|data|cells))?"),
    ("missing_share", rf"\b{_SHARE} of\b[^.?!\n]{{0,40}}\b{_GONE}\b"),
    (
        "missing",
        rf"\b(?:(?:number|count) of |how many )?{_GONE}(?: (?:values?|entries|data|cells))",
    ),
    ("missing", rf"\b(?:is|are|were|was) {_GONE}\b"),
    ("distinct", r"\b(?:(?:number|count) of |how many )?(?:unique|distinct|different)\b"),
    ("mode", r"\bmode\b|\bmost (?:common|frequent|popular|frequently occurring)\b"),
    ("median", r"\bmedians?\b"),
    ("mean", r"\b(?:means?|averages?|avg|typical)\b(?: (?:number|amount|count) of)?"),
    (
        "range",
        r"(?<!in the )(?<!within the )(?<!date )\branges?\b(?! (?:between|from|of -?\d|-?\d))",
    ),
    ("min", r"\b(?:minimums?|min|lowest|smallest|(?<!at )least)\b"),
    ("max", r"\b(?:maximums?|max|highest|largest|greatest|biggest)\b"),
    ("share", rf"\b{_SHARE} of\b|\bwhat (?:percent|percentage|share|proportion|fraction)\b"),
    ("sum", r"\b(?:total|sum|altogether|combined|summed)\b(?: (?:number|amount|sum) of)?"),
    ("count", r"\bhow many\b|\b(?:number|count) of\b|\bcounts?\b"),
    ("slope", r"\b(?:trends?|slope)\b|\bover time\b"),
)
PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS)


def statistics_in(text: str, taken: Iterable[tuple[int, int]] = ()) -> list[Said]:
    """In the order of the text; none within `taken`, where columns are named."""
    found: list[Said] = []
    spans = list(taken)
    for kind, pattern in PATTERNS:
        for match in pattern.finditer(text):
            if all(match.end() <= low or match.start() >= high for low, high in spans):
                spans.append(match.span())
                found.append(Said(*match.span(), kind, _quantile(match)))
    return sorted(found, key=lambda one: one.start)


def _quantile(match: re.Match[str]) -> float | None:
    parts = match.groupdict()
    if parts.get("at"):
        return float(parts["at"]) / 100
    if parts.get("low") or parts.get("quarter") == "1":
        return 0.25
    return 0.75 if parts.get("high") or parts.get("quarter") == "3" else None


_FILLER = """calculate compute find determine identify give show tell report provide perform conduct
analyse analyze analysis check explore investigate assess evaluate describe get obtain use using
data dataset table file csv column columns row rows record records value values variable variables
feature features field fields entry entries given give available based respectively overall whole
entire result results answer question list name display present return make out output print
distribution distributed distributions test tests tested method methods statistic statistics
statistical statistically coefficient significance significant level alpha explain explanation
separately interpret interpretation summary estimate know want need let see follows follow adheres
adhere according whether if yes so exist exists existing strength direction linear nonlinear
positive negative type kind form appropriate corresponding resulting calculated computed measure
measures metric metrics two one both different observation observations point points following
contain contains include includes including across scores score amount amounts compare comparison
difference terms term note applying assume consider considered detect detection identified them
conclusion briefly findings brief pair pairs rate level levels using via decimal decimals places
round rounded rounding digit digits new feature called created create creates engineering per
differ among those total present corresponding respective strong moderate weak significantly
threshold mean count number maximum minimum value's provided specific"""
FILLER = frozenset(_FILLER.split())
"""Words that ask, order or speak of tables as such."""

OTHER_WORK = re.compile(
    r"""\b(?:machine\ learning|train(?:ed|ing)?|predict\w*|regress\w*|classif(?:y|ier|ication)\w*
    |cluster\w*|forecast\w*|accuracy|mean\ squared\ error|rmse|mse|cross-valid\w*|random\ forest
    |decision\ tree|neural|split\w*|(?:min-?max|feature)\ scal\w*|scal(?:e|ed|ing)|standardi[sz]\w*
    |normali[sz](?:e|ed|ing|ation)|encod(?:e|ed|ing)\w*|one-hot|imput\w*|interpolat\w*|resampl\w*
    |rolling|moving\ average|cumulative|weighted|lag(?:ged)?|pivot\w*|merge\w*|join\w*|t-?tests?
    |anova|chi-squared?|confidence\ intervals?|(?<!null\ )(?<!alternative\ )hypothes\w*
    |bootstrap\w*|pca|duplicat\w*|dedup\w*
    |replac(?:e|ed|ing)|percentage\ change|growth\ rate|remov(?:e|es|ed|ing|al)|drop(?:s|ped|ping)?
    |exclud(?:e|es|ed|ing)|filter\w*|except|categori[sz]\w*|bin(?:s|ned|ning)|log(?:arithm\w*)?
    |transform\w*|z-?scores?|convert\w*|preprocess\w*|clean(?:ed|ing)?|consecutive|previous
    |square[ds]?|power|logarithm|dummy|matrix|(?<!column\ )only(?!\ \w+\ decimal)|quartiles?
    |percentiles?|fill(?:ed|ing)?|same|new\ (?:column|feature|variable)
    |subtract\w*|divid\w*|multipl(?:y|ied|ying|ication)|ratio|dropna|fillna)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Work that changes the result: a reading must have taken account of each of these words."""


def other_work(text: str, understood: Sequence[tuple[int, int]]) -> list[str]:
    """Words for work that no part of a reading accounts for."""
    return [
        match[0]
        for match in OTHER_WORK.finditer(text)
        if not any(low <= match.start() < high for low, high in understood)
    ]
