"""Numbers turned into the words that a question asks for, by the rules it gives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from secondlook.tables.asking.options import NUMBER, sentences
from secondlook.tables.asking.port import Bound, Case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    "|".join(f"(?P<s{at}>{words})" for at, (_, words) in enumerate(_COMPARISONS)),
    re.IGNORECASE,
)
AFTER = re.compile(rf"\s*(?:the )?({NUMBER})|\s*({LEVEL})", re.IGNORECASE)
CHAIN = re.compile(rf"({NUMBER})\s*(<=|<|\u2264)\s*([^<>\d]{{1,30}}?)\s*(<=|<|\u2264)\s*({NUMBER})")
BETWEEN = re.compile(rf"(?:between\s+|from\s+)?({NUMBER})\s+(?:and|to)\s+({NUMBER})", re.IGNORECASE)
SUBJECTS: tuple[tuple[str, str], ...] = (
    ("p", r"\bp[- ]?values?\b|\bp\b"),
    (
        "|r|",
        r"absolute (?:value of )?(?:the )?(?:correlation )?(?:coefficient|r\b)?|\|\s*r\s*\|",
    ),
    ("r", r"\br\b|\br[- ]value\b|\bcoefficient\b|\bcorrelation\b|\bskewness\b|\bkurtosis\b"),
)
OTHERWISE = re.compile(r"\b(?:otherwise|else|in (?:all )?other cases)\b", re.IGNORECASE)
NEGATIVE = re.compile(
    r"^(?:not?|non|in|un|false|isn't|doesn't)(?=[\W_]|$)|^(?:non|not|un)\w{3}|\bnot\b",
    re.IGNORECASE,
)
POSITIVE = {"yes", "true"}


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


@dataclass(frozen=True, slots=True)
class _Event:
    at: int
    word: str | None = None
    bounds: tuple[tuple[str, Sign, float], ...] = ()


def cases_in(text: str, words: Sequence[str], measures: Mapping[str, str]) -> tuple[Case, ...]:
    """As the sentences of the text say; nothing where they leave a word open.

    `measures` names the numbers: `p` and `r`, the latter for any other single number.
    """
    found: dict[str, list[tuple[str, Sign, float]]] = {}
    rest: str | None = None
    for start, end in sentences(text):
        sentence = text[start:end]
        events = _events(sentence, words)
        named = [one for one in events if one.word]
        if named and not any(one.bounds for one in events):
            if OTHERWISE.search(sentence):
                rest = rest or named[-1].word
            continue
        for word, bounds in _assigned(events).items():
            found.setdefault(word, list(bounds))
    return _cases(found, rest, words, measures)


def _cases(
    found: Mapping[str, list[tuple[str, Sign, float]]],
    rest: str | None,
    words: Sequence[str],
    measures: Mapping[str, str],
) -> tuple[Case, ...]:
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


def _assigned(events: Sequence[_Event]) -> dict[str, list[tuple[str, Sign, float]]]:
    """Conditions follow their word (`strong if ...`) or come before it (`if ..., strong`)."""
    if not events or not any(one.word for one in events):
        return {}
    ordered = events if events[0].word else list(reversed(events))
    assigned: dict[str, list[tuple[str, Sign, float]]] = {}
    word: str | None = None
    for one in ordered:
        if one.word:
            word = one.word
            assigned.setdefault(word, [])
        elif word:
            assigned[word] += one.bounds
    return assigned


def _events(sentence: str, words: Sequence[str]) -> list[_Event]:
    return sorted([*_words(sentence, words), *_conditions(sentence)], key=lambda one: one.at)


def _words(sentence: str, words: Sequence[str]) -> list[_Event]:
    taken: list[tuple[int, int]] = []
    found = []
    for word in sorted(words, key=lambda one: -len(one)):
        pattern = r"[\s_-]*".join(map(re.escape, re.split(r"[\s_-]+", word)))
        options = rf"(?<![\w-]){pattern}(?:ly)?\b"
        if word.casefold() == "none":
            options += r"|\bno (?:significant |linear )*(?:correlation|relationship|association)\b"
        for match in re.finditer(options, sentence, re.IGNORECASE):
            if all(match.end() <= low or match.start() >= high for low, high in taken):
                taken.append(match.span())
                found.append(_Event(match.start(), word=word))
    return found


def _conditions(sentence: str) -> list[_Event]:
    found: list[_Event] = []
    taken: list[tuple[int, int]] = []

    def free(low: int, high: int) -> bool:
        return all(high <= start or low >= end for start, end in taken)

    for match in CHAIN.finditer(sentence):
        subject = _subject(match[3]) or "r"
        low, high = float(match[1]), float(match[5])
        upper: Sign = "<" if match[4] == "<" else "<="
        lower: Sign = ">" if match[2] == "<" else ">="
        taken.append(match.span())
        found.append(_Event(match.start(), bounds=((subject, lower, low), (subject, upper, high))))
    for match in BETWEEN.finditer(sentence):
        if free(*match.span()):
            subject = _subject(sentence[: match.start()]) or "r"
            low, high = sorted((float(match[1]), float(match[2])))
            taken.append(match.span())
            found.append(
                _Event(match.start(), bounds=((subject, ">=", low), (subject, "<=", high)))
            )
    for match in COMPARED.finditer(sentence):
        value = AFTER.match(sentence, match.end())
        if value is None or not free(match.start(), value.end()):
            continue
        sign = next(sign for at, (sign, _) in enumerate(_COMPARISONS) if match[f"s{at}"])
        subject = _subject(sentence[: match.start()]) or "r"
        limit = float(value[1].replace("\u2212", "-")) if value[1] else alpha(sentence)
        taken.append((match.start(), value.end()))
        found.append(_Event(match.start(), bounds=((subject, sign, limit),)))
    return found


def _subject(before: str) -> str | None:
    """What was named last."""
    last: tuple[int, str] | None = None
    for name, pattern in SUBJECTS:
        for match in re.finditer(pattern, before, re.IGNORECASE):
            if last is None or match.end() > last[0]:
                last = (match.end(), name)
    return last[1] if last else None
