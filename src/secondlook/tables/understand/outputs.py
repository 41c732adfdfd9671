"""Values under the names, and in the words, that a question wants: `@mean_fare[value]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from secondlook.tables.understand.methods import NUMBER
from secondlook.tables.understand.readings import Bound, Case, Output
from secondlook.tables.words import atoms, stem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.tables.query import Measure, Query
    from secondlook.tables.resolver import AskedTable
    from secondlook.tables.understand.readings import Wanted

Span = tuple[int, int]
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]?")
Paired: TypeAlias = "list[tuple[str, str, tuple[Scalar, ...]]]"
"""Names with their measures, and of which group."""
_TESTED: dict[str, Literal["yes", "no"]] = {"normality": "no", "correlation_p": "yes"}
"""What a small p-value says of the question."""


def named_outputs(
    wanted: Wanted, query: Query, asked: AskedTable, text: str
) -> tuple[Output, ...] | None:
    """One for each wanted name, in the order of the measures, or of the groups that names hold;
    None where they do not come out even."""
    numbers = [one for one in wanted.names if one not in wanted.forms]
    worded = [_worded(one, wanted.forms[one], query.measures, text) for one in wanted.forms]
    if None in worded or not query.measures:
        return None
    if query.limit is not None:
        pairs = _of_first(wanted, query)
    elif query.group_by:
        pairs = _of_groups(numbers, query, asked)
    else:
        pairs = [] if wanted.texts & {*numbers} else _in_order(numbers, query.measures)
    if len(pairs) != len(numbers):
        return None
    places = {name: wanted.each.get(name, wanted.decimals) for name in numbers}
    return (
        *(Output(name, one, group=group, decimals=places[name]) for name, one, group in pairs),
        *filter(None, worded),
    )


def _in_order(names: Sequence[str], measures: Sequence[Measure]) -> Paired:
    """A p-value goes to the name that says so, and may go without one."""
    tested = [one for one in measures if one.statistic in _TESTED]
    plain = [one for one in measures if one.statistic not in _TESTED]
    found: Paired = []
    for name in names:
        said = "p" in {one.text for one in atoms(name)}
        some = tested if tested and (said or not plain) else plain
        if not some:
            return []
        found.append((name, some.pop(0).name, ()))
    return [] if plain else found


def _worded(
    name: str, words: Sequence[str], measures: Sequence[Measure], text: str
) -> Output | None:
    """A word that follows from a number by the rules of the text, or from a p-value."""
    tested = next((one for one in measures if one.statistic in _TESTED), None)
    number = next((one.name for one in measures if one.statistic not in _TESTED), None)
    named = {"r": number, "p": tested.name if tested else None}
    cases = cases_in(text, words, {key: one for key, one in named.items() if one})
    if not cases and tested:
        cases = p_cases(words, tested.name, text, small=_TESTED[tested.statistic])
    return Output(name, cases[0].bounds[0].measure, cases=cases) if cases else None


def _of_first(wanted: Wanted, query: Query) -> Paired:
    """The group that has the most, and how much that is."""
    if query.limit != 1 or len(query.group_by) != 1:
        return []
    texts = [one for one in wanted.names if one in wanted.texts]
    numbers = [one for one in wanted.names if one not in wanted.texts]
    if not texts and len(numbers) == 2:  # noqa: PLR2004
        texts, numbers = numbers[:1], numbers[1:]
    columns = [query.group_by[0].column, query.measures[0].name]
    return [(one, column, ()) for one, column in zip((*texts, *numbers), columns, strict=False)]


def _of_groups(names: Sequence[str], query: Query, asked: AskedTable) -> Paired:
    """`mean_fare_class1`: the group whose words the name holds, its figures in their order."""
    if len(query.group_by) != 1:
        return []
    column = asked.profile.column(query.group_by[0].column)
    values = [one.value for one in column.top] if column else []
    found: Paired = []
    for name in names:
        words = {stem(one.text) for one in atoms(name)}
        own = [x for x in values if {stem(one.text) for one in atoms(str(x))} <= words]
        if len(own) != 1:
            return []
        place = sum(group == (own[0],) for *_, group in found)
        if place >= len(query.measures):
            return []
        found.append((name, query.measures[place].name, (own[0],)))
    return found


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
    for start, end in _sentences(text):
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


def _sentences(text: str) -> list[Span]:
    return [match.span() for match in _SENTENCE.finditer(text)]
