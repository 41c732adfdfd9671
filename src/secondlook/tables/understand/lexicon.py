"""Words for statistics, words that say nothing about what is asked, words for other work."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from secondlook.tables.understand.readings import Bound, Case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
round rounded rounding digit digits new feature called created create creates per
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


# How a statistic is to be computed, where the question says so: tests, methods, limits.

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
FILL = re.compile(r"\b(?:imput\w*|fill\w*|replac\w*|substitut\w*)\b", re.IGNORECASE)
POPULATION = re.compile(
    r"\bpopulation (?:standard deviation|std|variance)|\bddof\s*=\s*0", re.IGNORECASE
)
SAMPLE = re.compile(
    r"\bnot the sample\b|\bsample (?:standard deviation|std|variance)", re.IGNORECASE
)
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
WORDS = {"two": 2.0, "three": 3.0}


def spans_of(*several: Iterable[Any]) -> list[Span]:
    """Where things with a `start` and an `end` stand in a text."""
    return [(one.start, one.end) for some in several for one in some]


@dataclass(frozen=True, slots=True)
class Options:
    correlation: Literal["pearson", "spearman", "kendall"] = "pearson"
    normality: str = "shapiro"
    outliers: Literal["outliers_z", "outliers_iqr"] | None = None
    limit: float | None = None
    without_outliers: bool = False
    population: bool = False
    understood: tuple[Span, ...] = ()
    """Parts of the text that say these things."""


def options(text: str) -> Options:
    spans: list[Span] = []

    def find(pattern: re.Pattern[str] | str) -> re.Match[str] | None:
        compiled = re.compile(pattern, re.IGNORECASE) if isinstance(pattern, str) else pattern
        found = list(compiled.finditer(text))
        spans.extend(match.span() for match in found)
        return found[0] if found else None

    test = next((name for name, pattern in _TESTS if find(pattern)), "shapiro")
    method = next((name for name, pattern in _METHODS if find(pattern)), "pearson")
    outliers: Literal["outliers_z", "outliers_iqr"] | None = None
    limit = None
    by_iqr, by_z, deviations = find(IQR), find(ZSCORE), find(LIMIT_DEVIATIONS)
    if by_z or (deviations and not by_iqr):
        outliers = "outliers_z"
        limit = deviations or LIMIT_Z.search(text, by_z.start() if by_z else 0)
        if limit is not None:
            spans.append(limit.span())
    elif by_iqr:
        outliers = "outliers_iqr"
        limit = find(LIMIT_IQR)
        find(r"\b(?:quartiles?|\d+th percentiles?)\b")
    removed = [
        match.span()
        for start, end in sentences(text)
        if not NOT.search(text, start, end)  # `do not remove outliers`
        for match in REMOVED.finditer(text, start, end)
    ]
    left_out = [  # rows without a value are left out, as they are anyway
        (start, end)
        for start, end in sentences(text)
        if all(one.search(text[start:end]) for one in (GONE, LEAVE_OUT))
        and not FILL.search(text[start:end])
    ]
    unchanged = [span for span in sentences(text) if NOT.search(text[slice(*span)])]
    population = find(POPULATION) is not None
    for pattern in (SAMPLE, CONVERTED, EXPLAINED):
        find(pattern)
    if left_out or removed:  # the steps that it consists of are said, and done
        find(STEPS)
    said = limit[1].lower().replace("\u2212", "-") if limit else ""
    return Options(
        correlation=method,  # type: ignore[arg-type]
        normality=test,
        outliers=outliers,
        limit=None if limit is None else abs(WORDS.get(said) or float(said)),
        without_outliers=bool(removed),
        population=population,
        understood=(*spans, *removed, *left_out, *unchanged),
    )


def sentences(text: str) -> list[Span]:
    return [match.span() for match in SENTENCE.finditer(text)]


# Numbers turned into the words that a question asks for, by the rules it gives.

Sign = Literal["<", "<=", ">", ">="]
USUAL_ALPHA = 0.05
ALPHA = re.compile(
    rf"(?:significance level|alpha|\u03b1)[^.\n\d]{{0,30}}({NUMBER})"
    rf"|({NUMBER}) (?:significance )?level",
    re.IGNORECASE,
)
P_AGAINST = re.compile(
    rf"p[- ]?values?[^.\n\d]{{0,40}}(?:than|<|>|=|to)\s*({NUMBER})", re.IGNORECASE
)
LEVEL = r"(?:the )?(?:significance level|alpha)(?: level)?"
_COMPARISONS: tuple[tuple[Sign, str], ...] = (
    ("<=", r"(?:less|smaller|lower) than or equal to|<=|\u2264|at most|no more than"),
    (">=", r"(?:greater|larger|more|higher) than or equal to|>=|\u2265|at least|no less than"),
    ("<", r"(?:less|smaller|lower) than|<|below|under"),
    (">", r"(?:greater|larger|more|higher) than|>|above|over|exceeds?"),
)
COMPARED = re.compile(
    "|".join(f"(?P<s{at}>{words})" for at, (_, words) in enumerate(_COMPARISONS)), re.IGNORECASE
)
AFTER = re.compile(rf"\s*(?:the )?({NUMBER})|\s*({LEVEL})", re.IGNORECASE)
CHAIN = re.compile(rf"({NUMBER})\s*(<=|<|\u2264)\s*([^<>\d]{{1,30}}?)\s*(<=|<|\u2264)\s*({NUMBER})")
BETWEEN = re.compile(rf"(?:between\s+|from\s+)?({NUMBER})\s+(?:and|to)\s+({NUMBER})", re.IGNORECASE)
SUBJECTS: tuple[tuple[str, str], ...] = (
    ("p", r"\bp[- ]?values?\b|\bp\b"),
    ("|r|", r"absolute (?:value of )?(?:the )?(?:correlation )?(?:coefficient|r\b)?|\|\s*r\s*\|"),
    ("r", r"\br\b|\br[- ]value\b|\bcoefficient\b|\bcorrelation\b|\bskewness\b|\bkurtosis\b"),
)
OTHERWISE = re.compile(r"\b(?:otherwise|else|in (?:all )?other cases)\b", re.IGNORECASE)
NEGATIVE = re.compile(
    r"^(?:not?|non|in|un|false|isn't|doesn't)(?=[\W_]|$)|^(?:non|not|un)\w{3}|\bnot\b",
    re.IGNORECASE,
)


def alpha(text: str) -> float:
    for pattern in (P_AGAINST, ALPHA):
        found = pattern.search(text)
        if found is not None:
            said = float(next(one for one in found.groups() if one))
            if 0 < said < 1:
                return said
    return USUAL_ALPHA


def polar(words: Sequence[str]) -> tuple[str, str] | None:
    """The word that affirms and the word that denies, where there are just these two."""
    if len(words) != 2:  # noqa: PLR2004
        return None
    denied = [one for one in words if NEGATIVE.search(one.replace("_", " "))]
    if len(denied) != 1:
        return None
    (affirmed,) = [one for one in words if one not in denied]
    return affirmed, denied[0]


def p_cases(
    words: Sequence[str], measure: str, text: str, *, small: Literal["yes", "no"]
) -> tuple[Case, ...]:
    """By a p-value: `small` says whether a small one affirms (a correlation) or denies (that the
    values are normal)."""
    pair = polar(words)
    if pair is None:
        return ()
    affirmed, denied = pair
    if_small, if_not = (affirmed, denied) if small == "yes" else (denied, affirmed)
    return Case(if_small, (Bound(measure, "<", alpha(text)),)), Case(if_not)


Told: TypeAlias = tuple[str, Sign, float]
"""A number of the rules (`p`, `r`, `|r|`), and what it is compared with."""
Event: TypeAlias = "tuple[int, str | None, tuple[Told, ...]]"
"""Where in a sentence a word stands, or the bounds that it is for."""


def cases_in(text: str, words: Sequence[str], measures: Mapping[str, str]) -> tuple[Case, ...]:
    """As the sentences of the text say; nothing where they leave a word open.

    `measures` names the numbers: `p` and `r`, the latter for any other single number.
    """
    found: dict[str, list[Told]] = {}
    rest: str | None = None
    for start, end in sentences(text):
        sentence = text[start:end]
        events = sorted([*_words(sentence, words), *_conditions(sentence)], key=lambda one: one[0])
        named = [word for _, word, _ in events if word]
        if named and not any(bounds for _, _, bounds in events):
            if OTHERWISE.search(sentence):
                rest = rest or named[-1]
            continue
        for word, bounds in _assigned(events).items():
            found.setdefault(word, bounds)
    cases = [Case(word, _bounds(bounds, measures)) for word, bounds in found.items() if bounds]
    if any(len(case.bounds) == 0 for case in cases):
        return ()
    open_words = [word for word in words if word not in {case.word for case in cases}]
    if rest in open_words:
        open_words.remove(rest)
        cases.append(Case(rest))
    elif len(open_words) == 1 and cases:
        cases.append(Case(open_words.pop()))
    return () if open_words or not cases else tuple(cases)


def _bounds(
    bounds: Sequence[tuple[str, Sign, float]], measures: Mapping[str, str]
) -> tuple[Bound, ...]:
    """`below -0.6 or above 0.6` is about the size of the number."""
    values = {value for subject, _, value in bounds if subject != "p"}
    mirrored = any(value < 0 and -value in values for value in values)
    made = []
    for subject, sign, value in bounds:
        name = measures.get(subject.strip("|"))
        if name is None:
            return ()
        if mirrored and value < 0 and subject != "p":
            continue
        made.append(
            Bound(name, sign, value, absolute=subject == "|r|" or (mirrored and subject != "p"))
        )
    return tuple(made)


def _assigned(events: Sequence[Event]) -> dict[str, list[Told]]:
    """Conditions follow their word (`strong if ...`) or come before it (`if ..., strong`)."""
    assigned: dict[str, list[Told]] = {}
    current: str | None = None
    for _, word, bounds in events if events and events[0][1] else reversed(events):
        if word:
            current = word
            assigned.setdefault(word, [])
        elif current:
            assigned[current] += bounds
    return assigned


def _words(sentence: str, words: Sequence[str]) -> Iterator[Event]:
    taken: list[Span] = []
    for word in sorted(words, key=lambda one: -len(one)):
        pattern = r"[\s_-]*".join(map(re.escape, re.split(r"[\s_-]+", word)))
        options = rf"(?<![\w-]){pattern}(?:ly)?\b"
        if word.casefold() == "none":
            options += r"|\bno (?:significant |linear )*(?:correlation|relationship|association)\b"
        for match in re.finditer(options, sentence, re.IGNORECASE):
            if all(match.end() <= low or match.start() >= high for low, high in taken):
                taken.append(match.span())
                yield match.start(), word, ()


def _conditions(sentence: str) -> Iterator[Event]:
    taken: list[Span] = []

    def free(low: int, high: int) -> bool:
        is_free = all(high <= start or low >= end for start, end in taken)
        taken.extend([(low, high)] if is_free else [])
        return is_free

    for match in CHAIN.finditer(sentence):
        subject = _subject(match[3]) or "r"
        lower: Sign = ">" if match[2] == "<" else ">="
        upper: Sign = "<" if match[4] == "<" else "<="
        taken.append(match.span())
        both = ((subject, lower, float(match[1])), (subject, upper, float(match[5])))
        yield match.start(), None, both
    for match in BETWEEN.finditer(sentence):
        if free(*match.span()):
            subject = _subject(sentence[: match.start()]) or "r"
            low, high = sorted((float(match[1]), float(match[2])))
            yield match.start(), None, ((subject, ">=", low), (subject, "<=", high))
    for match in COMPARED.finditer(sentence):
        value = AFTER.match(sentence, match.end())
        if value is not None and free(match.start(), value.end()):
            sign = next(sign for at, (sign, _) in enumerate(_COMPARISONS) if match[f"s{at}"])
            subject = _subject(sentence[: match.start()]) or "r"
            limit = float(value[1].replace("\u2212", "-")) if value[1] else alpha(sentence)
            yield match.start(), None, ((subject, sign, limit),)


def _subject(before: str) -> str | None:
    """What was named last."""
    named = [
        (match.end(), name)
        for name, pattern in SUBJECTS
        for match in re.finditer(pattern, before, re.IGNORECASE)
    ]
    return max(named, key=lambda one: one[0])[1] if named else None
