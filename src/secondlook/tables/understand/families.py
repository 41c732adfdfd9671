"""Questions for a number of rows, and for one of two values: counts, totals, differences."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from secondlook.tables.query import Filter, Key, Measure, Order, Statistic, Term
from secondlook.tables.understand.drafts import Draft, Parsed, Target, places_of
from secondlook.tables.understand.filters import slots
from secondlook.tables.understand.sentence import RANKS
from secondlook.tables.words import NUMBER_WORDS, ORDINALS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.tables.understand.filters import Choice, ConditionSet
    from secondlook.tables.understand.sentence import ColumnFacts

HOW_MANY = re.compile(
    r"\b(?:how many(?: total| different)?(?: number of)?|(?:what (?:is|was|are|were) )?(?:the )?"
    r"(?:total )?(?:number|amount|count) of|how many times|how often)\b"
)
TOTAL = re.compile(r"\b(?:total|combined|altogether|in all|sum|add(?:ed)?(?: up)?|overall)\b")
MEAN = re.compile(r"\b(?:average|mean|on average)\b")
DIFFERENT = re.compile(r"\b(?:different|unique|distinct|separate)\b")
TIMES = re.compile(r"\b(?:how many times|how often|number of times)\b")
_COMPARED = "more|less|fewer|longer|older|taller|higher|larger|bigger|greater"
DIFFERENCE = re.compile(rf"\b(?:difference|how (?:many|much) (?:\w+ ){{0,3}}?(?:{_COMPARED}))\b")
BETWEEN = re.compile(r"\b(?:how (?:many years|long)|number of years|years|time)\b.*\bbetween\b")
ASKS = re.compile(r"^(?:is|was|were|are|did|does|do|has|have|had|can|could|will)\b")
MORE = re.compile(
    r"\b(?:more|most|higher|highest|larger|largest|bigger|biggest|greater|longer|longest|taller"
    r"|tallest|better|best|older|later|last|farther)\b"
)
LESS = re.compile(
    r"\b(?:less|least|fewer|fewest|lower|lowest|smaller|smallest|shorter|shortest|worse|earlier"
    r"|first|younger|before|faster)\b"
)
KEY = 0.95
"""Share of different values from which a column names its rows."""


def counting_drafts(parsed: Parsed) -> list[Draft]:
    counted = parsed.asked.search(HOW_MANY)
    total = parsed.asked.search(TOTAL)
    mean = parsed.asked.search(MEAN)
    found: list[Draft] = []
    for conditions in parsed.sets:
        both = places_of(counted, total)
        if counted:
            found += _counts(parsed, conditions, both, total=bool(total))
        if total or counted:
            found += _totals(parsed, conditions, both, "sum", total=bool(total))
        if mean:
            used = places_of(counted, mean)
            found += _totals(parsed, conditions, used, "mean", total=bool(total))
    return [*found, *_differences(parsed)]


def _counts(
    parsed: Parsed, conditions: ConditionSet, used: frozenset[int], *, total: bool
) -> Iterator[Draft]:
    where = f" where {conditions.said}" if conditions.choices else ""
    different, times = parsed.asked.search(DIFFERENT), parsed.asked.search(TIMES)
    # What is counted, where it is named like a column. Seats are not what a list of chairs has.
    named = {"exact", "part", "kin"}
    nouns = (one for one in parsed.targets if one.how in named and one.distance <= 1)
    noun = next(nouns, None)
    traits = ["count"]
    traits += ["count:different"] if different else []
    traits += ["count:times"] if times else []
    traits += ["count:total"] if total else []
    traits += [] if conditions.choices else ["count:all_rows"]
    of = None
    if noun is None:
        traits.append("counted:none")
    else:
        kind = "number" if noun.column.kind == "number" else "other"
        key = "key" if noun.column.distinct > KEY else "repeated"
        traits += [f"counted:{noun.how}:{kind}", f"counted:{kind}:{key}"]
        if 0 < noun.column.missing < 0.5:  # noqa: PLR2004
            # A column with gaps is counted itself: a row without it is none of what is counted.
            of = Term(column=noun.column.name)
    counted = Measure(name="count", statistic="count", of=of)
    query = parsed.query(where=conditions.conditions, measures=(counted,))
    said = f"number of {of.column if of else 'rows'}{where}"
    places = places_of(used, conditions.used, noun.used if noun else None, times)
    yield Draft("count", "counting", query, said, places, "value", conditions, noun, (*traits,))
    for target in parsed.targets[:2]:
        if target.column.kind == "number" and target.column.distinct == 1:
            continue
        of = Term(column=target.column.name)
        counted = Measure(name="count", statistic="distinct", of=of)
        query = parsed.query(where=conditions.conditions, measures=(counted,))
        said = f"number of different {target.column.name}{where}"
        places = places_of(used, conditions.used, target.used, different)
        trait = f"distinct:{'asked' if different else 'unasked'}"
        yield Draft(
            "distinct", "counting", query, said, places, "value", conditions, target, (trait,)
        )


def _totals(
    parsed: Parsed,
    conditions: ConditionSet,
    used: frozenset[int],
    statistic: Statistic,
    *,
    total: bool,
) -> Iterator[Draft]:
    where = f" where {conditions.said}" if conditions.choices else ""
    columns = {mention.column.name: mention for mention in reversed(parsed.asked.mentions)}
    ranked = sorted(columns.values(), key=lambda mention: -mention.score)
    for mention in [one for one in ranked if one.column.kind == "number"][:3]:
        column = mention.column
        of = Term(column=column.name, transform=column.transform)
        measure = Measure(name=statistic, statistic=statistic, of=of)
        query = parsed.query(where=conditions.conditions, measures=(measure,))
        said = f"{statistic} of {column.name}{where}"
        places = places_of(used, conditions.used, mention.places)
        target = Target(column, mention.places, mention.how)
        traits = (
            f"{statistic}:{'total' if total else 'plain'}",
            f"{statistic}:{'some' if conditions.choices else 'all'}",
            f"{statistic}:{'label' if column.typed and column.distinct == 1 else 'amount'}",
        )
        yield Draft(statistic, "counting", query, said, places, "value", conditions, target, traits)


def _pairs(parsed: Parsed) -> Iterator[tuple[Choice, Choice]]:
    """Two values of one column that the question names."""
    choices = [choice for slot in slots(parsed.asked) for choice in slot.choices[:3]]
    for at, one in enumerate(choices):
        for other in choices[at + 1 :]:
            alike = one.column == other.column and one.values and other.values
            if alike and not one.places & other.places and one.values != other.values:
                yield one, other


def _differences(parsed: Parsed) -> Iterator[Draft]:
    """Between the cells of two rows: `how many more points did a have than b`."""
    trigger = parsed.asked.search(DIFFERENCE) or parsed.asked.search(BETWEEN)
    pair = next(_pairs(parsed), None) if trigger else None
    if pair is None:
        return
    one, other = pair
    seen = {one.column}
    for mention in parsed.asked.mentions:
        column = mention.column
        if not column.measurable or column.name in seen:
            continue
        seen.add(column.name)
        of = Term(column=column.name, transform=column.transform)
        measure = Measure(name="value", statistic="max", of=of)
        values = one.values[0], other.values[0]
        same = [Filter(column=one.column, comparison="=", value=value) for value in values]
        first, second = (parsed.query(where=(each,), measures=(measure,)) for each in same)
        said = f"{column.name} of {values[0]!r} less that of {values[1]!r}"
        used = places_of(trigger, one.places, other.places, mention.places)
        target = Target(column, mention.places, mention.how)
        found = Draft("difference", "counting", first, said, used, "value", target=target)
        yield replace(found, more=(second,), operation="difference", traits=("difference",))


# Questions for a choice or a yes: `did a or b win more`, `was x founded before 1900`.


def yes_no_drafts(parsed: Parsed) -> list[Draft]:
    found: list[Draft] = []
    for one, other in _pairs(parsed):
        between = frozenset(range(max(one.places) + 1, min(other.places)))
        if "or" not in {parsed.asked.words[place].text for place in between}:
            continue
        for pattern, descending in ((MORE, True), (LESS, False)):
            trigger = parsed.asked.search(pattern)
            if trigger is not None:
                used = places_of(one.places, other.places, trigger, between, parsed.asking)
                found += _either(parsed, (one, other), used, descending=descending)
    return [*found, *_whether(parsed)]


def _either(
    parsed: Parsed, pair: tuple[Choice, Choice], used: frozenset[int], *, descending: bool
) -> Iterator[Draft]:
    """Which of two named values has more or less of something."""
    one, other = pair
    key = parsed.asked.table.column(one.column)
    where = (Filter(column=one.column, comparison="in", values=(*one.values, *other.values)),)
    names = f"{one.values[0]!r} or {other.values[0]!r}"
    target = Target(key, one.places, "value")
    query = parsed.query(
        where=where,
        group_by=(Key(column=one.column),),
        measures=(Measure(name="rows", statistic="count"),),
        order=(Order(by="rows", descending=descending),),
        limit=1,
    )
    said = f"which of {names} has {'more' if descending else 'fewer'} rows"
    traits = ("either:rows", "either:key" if key.distinct > KEY else "either:repeated")
    whole = Draft("either_rows", "yes_no", query, said, used, "list", target=target, traits=traits)
    yield whole
    ways: dict[str, tuple[ColumnFacts, frozenset[int], str]] = {}
    for mention in parsed.asked.mentions:
        ways.setdefault(mention.column.name, (mention.column, mention.places, mention.how))
    for column in parsed.asked.table.columns:
        ways.setdefault(column.name, (column, frozenset(), "any"))
    measured = [way for way in ways.values() if way[0].measurable and way[0] is not key]
    for column, places, how in measured[:4]:
        turned = bool(set(column.words) & RANKS)
        order = Order(by=column.name, descending=descending != turned, transform=column.transform)
        which = "higher" if order.descending else "lower"
        yield replace(
            whole,
            kind="either",
            query=parsed.query(where=where, select=(one.column,), order=(order,), limit=1),
            said=f"which of {names} has the {which} {column.name}",
            used=places_of(used, places),
            traits=(f"either:{how}", f"either:{'down' if descending else 'up'}"),
        )


def _whether(parsed: Parsed) -> Iterator[Draft]:
    """Whether a row meets all conditions."""
    asks = parsed.asked.search(ASKS)
    if asks is None or " or " in parsed.asked.joined:
        return
    for conditions in parsed.sets:
        if len(conditions.choices) > 1:
            select, where = (parsed.asked.table.columns[0].name,), conditions.conditions
            query = parsed.query(where=where, select=select, limit=1, ties=False)
            said = f"whether there is a row where {conditions.said}"
            used = places_of(asks, conditions.used)
            made = Draft("whether", "yes_no", query, said, used, "boolean", conditions)
            yield replace(made, operation="exists")


# Questions for the extreme: the most, the highest, the first, the second longest, top 3.

_HIGHEST = """
most,highest,greatest,maximum,max,strongest:
largest,biggest: area size population capacity
most recent,most recently,last: year date season
farthest,furthest: distance
longest: length duration distance time
newest: year date founded opened established built
latest,final: year date
latest date: date
best: point score
top: point score total
richest: earning money purse
busiest: passenger
tallest: height
heaviest: weight
oldest: age
widest: width
deepest: depth
slowest: time"""
_LOWEST = """
least,fewest,lowest,minimum,min:
smallest: area size population capacity
earliest,first: year date season
closest,nearest: distance
shortest: length duration distance time height
oldest: year date founded opened established built born birth
fastest,quickest: time
best: rank position time place
top: rank position place
highest ranked,highest ranking,top ranked: rank position
worst: point score
youngest,newest: age
lightest: weight
cheapest: price cost"""


def _hints(lines: str) -> dict[str, frozenset[str]]:
    """Words for an extreme, each with what it is likely to be of."""
    pairs = [line.split(":") for line in lines.split("\n")[1:]]
    return {word: frozenset(of.split()) for words, of in pairs for word in words.split(",")}


_UP, _DOWN = _hints(_HIGHEST), _hints(_LOWEST)
_SUPERLATIVE = re.compile(
    r"\b(?:(?P<nth>second|third|fourth|fifth|2nd|3rd|4th|5th) )?(?:(?P<top>top) (?P<n>\d+|"
    + "|".join(NUMBER_WORDS)
    + r")|(?P<word>"
    + "|".join(sorted({*_UP, *_DOWN}, key=len, reverse=True))
    + r"))\b(?: (?:number|amount|total|count)(?: of)?\b)?"
)
_TIMES = re.compile(
    r"\b(?:most|least|fewest) (?:times|often|frequent(?:ly)?|common(?:ly)?|number of times)\b"
    r"|\bmore than once\b"
)
_GOOD = frozenset({"highest", "best", "lowest", "worst", "greatest"})
REACH = 5
"""Words after an extreme within which what it is one of is named."""
_PLACE_WORDS = frozenset({"first", "last", "final", "latest", "earliest", "top", "most recent"})


@dataclass(frozen=True, slots=True)
class Extreme:
    word: str
    descending: bool
    hints: frozenset[str]
    used: frozenset[int]
    place: int
    """Of its last word."""
    limit: int = 1
    offset: int = 0


def extremes(parsed: Parsed) -> list[Extreme]:
    found = []
    for match, places in parsed.asked.finditer(_SUPERLATIVE):
        word = match["word"] or "top"
        limit = int(NUMBER_WORDS.get(match["n"], 0) or match["n"]) if match["n"] else 1
        nth = match["nth"]
        itself = parsed.asked.places(match.start(), match.end("n" if match["n"] else "word"))
        place = max(itself)
        named = any(one.how == "exact" and one.places <= places for one in parsed.asked.mentions)
        used = itself if named else places
        offset = (ORDINALS.get(nth) or int(nth[:-2])) - 1 if nth else 0
        for descending, words in ((True, _UP), (False, _DOWN)):
            if word in words:
                found.append(Extreme(word, descending, words[word], used, place, limit, offset))
    return found


def superlative_drafts(parsed: Parsed) -> list[Draft]:
    found: list[Draft] = []
    for extreme in extremes(parsed):
        for conditions in parsed.sets[:8] + parsed.sets[-1:]:
            if not conditions.used & extreme.used:
                found += _by_columns(parsed, extreme, conditions)
                found += _most_frequent(parsed, extreme, conditions)
    return found


def _ordering(parsed: Parsed, extreme: Extreme) -> list[tuple[ColumnFacts, frozenset[int], str]]:
    """Columns that the extreme may be one of: named after it, hinted at by it, or the only one."""
    found: dict[str, tuple[ColumnFacts, frozenset[int], str]] = {}
    for one in parsed.asked.mention_within(extreme.place + 1, extreme.place + REACH):
        if one.column.measurable:
            found.setdefault(one.column.name, (one.column, one.places, f"after:{one.how}"))
    for column in parsed.asked.table.columns:
        if column.measurable and set(column.words) & extreme.hints:
            found.setdefault(column.name, (column, frozenset(), "hint"))
    if not found and parsed.is_row(max(extreme.used) + 1):
        return []
    for one in parsed.asked.mentions:
        if one.column.kind == "number" and one.score >= 0.5:  # noqa: PLR2004
            found.setdefault(one.column.name, (one.column, one.places, f"else:{one.how}"))
    numeric = [column for column in parsed.asked.table.columns if column.kind == "number"]
    only = "any"
    if len(numeric) == 1:
        alone = sum(column.measurable for column in parsed.asked.table.columns) == 1
        only = "after:exact" if alone else "only"
    for column in numeric[-2:] + numeric[:1]:
        found.setdefault(column.name, (column, frozenset(), only))
    return list(found.values())[:4]


def _by_columns(parsed: Parsed, extreme: Extreme, conditions: ConditionSet) -> Iterator[Draft]:
    for column, used, how in _ordering(parsed, extreme):
        itself = Target(column, used, "value")
        ranks = bool(set(column.words) & RANKS) and extreme.word in _GOOD
        for descending in (True, False) if ranks else (extreme.descending,):
            order = Order(by=column.name, descending=descending, transform=column.transform)
            turned = "turned" if descending != extreme.descending else "plain"
            by = (f"by:{how}", f"rank:{turned}") if ranks else (f"by:{how}",)
            for target in [*parsed.targets[:4], itself]:
                if target.column is not column or target is itself:
                    yield _ordered(parsed, extreme, conditions, target, order, used, by)
    if extreme.word in _PLACE_WORDS and (extreme.word != "top" or not extreme.descending):
        # The first or last row as the table has them.
        order = Order(by="", descending=extreme.descending)
        for target in parsed.targets[:4]:
            yield _ordered(parsed, extreme, conditions, target, order, frozenset(), ("by:place",))


def _ordered(  # noqa: PLR0917
    parsed: Parsed,
    extreme: Extreme,
    conditions: ConditionSet,
    target: Target,
    order: Order,
    used: frozenset[int],
    by: tuple[str, ...],
) -> Draft:
    name = target.column.name
    where = f" where {conditions.said}" if conditions.choices else ""
    if order.by:
        kind = "extreme" if target.how == "value" else "argmax"
        which = f"with the {'highest' if order.descending else 'lowest'} {order.by}"
        said = f"{name} of the row {which}{where}"
    else:
        kind = "place"
        said = f"{name} of the {'last' if order.descending else 'first'} row{where}"
    adjacent = "none"
    # Whether the extreme itself is asked for: `what is the highest score`.
    if parsed.wh is not None:
        span = range(max(parsed.wh[1]) + 1, min(extreme.used))
        between = {parsed.asked.words[place].text for place in span}
        direct = between <= {"is", "was", "the", "were", "are", "be", "of"}
        adjacent = "asked" if direct else "apart"
    query = parsed.query(
        where=conditions.conditions,
        select=(name,),
        order=(order,),
        limit=extreme.limit,
        offset=extreme.offset,
        ties=bool(order.by) and not extreme.offset,
    )
    way, word = "down" if order.descending else "up", parsed.wh[0] if parsed.wh else "none"
    traits = (*by, f"{kind}:{extreme.word}:{way}", f"{kind}:{adjacent}", f"{kind}:{word}")
    places = places_of(extreme.used, target.used, conditions.used, used, parsed.asking)
    return Draft(kind, "superlatives", query, said, places, "list", conditions, target, traits)


def _most_frequent(parsed: Parsed, extreme: Extreme, conditions: ConditionSet) -> Iterator[Draft]:
    """The value that occurs in the most rows."""
    if extreme.word not in {"most", "least", "fewest", "highest", "largest", "top", "greatest"}:
        return
    times = parsed.asked.search(_TIMES)
    near = parsed.asked.mention_within(extreme.place + 1, extreme.place + REACH)
    named = any(mention.column.measurable for mention in near)
    after = max(extreme.used) + 1
    noun = frozenset({after} if after < len(parsed.asked.words) else ())
    which = "most" if extreme.descending else "fewest"
    where = f" where {conditions.said}" if conditions.choices else ""
    for target in parsed.targets[:3]:
        name = target.column.name
        if target.column.distinct < 1:
            query = parsed.query(
                where=conditions.conditions,
                group_by=(Key(column=name),),
                measures=(Measure(name="rows", statistic="count"),),
                order=(Order(by="rows", descending=extreme.descending),),
                limit=extreme.limit,
                offset=extreme.offset,
            )
            said = f"{name} with the {which} rows{where}"
            used = places_of(extreme.used, target.used, conditions.used, times, noun, parsed.asking)
            told = extreme.word, "times" if times else "noun", "named" if named else "unnamed"
            traits = tuple(f"frequent:{one}" for one in told)
            made = Draft("frequent", "superlatives", query, said, used, "list")
            yield replace(made, conditions=conditions, target=target, traits=traits)
