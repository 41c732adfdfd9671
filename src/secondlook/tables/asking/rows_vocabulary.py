"""Words that questions about rows are made of, and words that mean nearly the same."""

from __future__ import annotations

_FUNCTION = """a an the of in on at to for by with from as and or is was were are be been being do
does did has have had that this these those there their they he she it its his her them who whom
whose what which when where how why many much name list tell me all any each every some one than
then if but not no so into during between within per about also would will can could should you i
we us our your my him only ever make made get got give show find please table column row according
listed following total number amount more most less least other"""
FUNCTION_WORDS = frozenset(_FUNCTION.split())
"""Words that name no value and no column by themselves."""

_EMPTY = """a an the of in on at to for by with from as is was were are be been being do does did
has have had that this these those there their they he she it its his her them you i we us our your
my and or me please according listed list table column row chart so into also would will can could
ever shown given following all any each such out up s one ones"""
EMPTY_WORDS = frozenset(_EMPTY.split())
"""Words that a reading need not account for."""

_TELLING = """most least first last total average difference more less than not only after before
same consecutive or and between both higher lower next previous never each other at top longest
highest lowest years long time how when as"""
TELLING_WORDS = frozenset(_TELLING.split())
"""Words that ask for something: a reading that leaves one out has missed it."""

_TO_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen
fourteen fifteen sixteen seventeen eighteen nineteen twenty"""
NUMBER_WORDS = {word: number for number, word in enumerate(_TO_TWENTY.split())} | {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "hundred": 100,
    "dozen": 12,
}
_TO_TENTH = "first second third fourth fifth sixth seventh eighth ninth tenth"
ORDINALS = {word: number for number, word in enumerate(_TO_TENTH.split(), 1)}
SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}

_YEAR = "january february march april may june july august september october november december"
MONTH_NAMES = tuple(_YEAR.split())
MONTHS = {name: number for number, name in enumerate(MONTH_NAMES, 1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}

_FORMS = """won:win wins:win winner:win winners:win winning:win lost:loss lose:loss losses:loss
losing:loss men:man women:woman people:person children:child drawn:draw tied:tie ties:tie
series:series built:build written:writer wrote:writer directed:director produced:producer
elected:election scored:score movie:film movies:film"""
IRREGULAR = dict(pair.split(":") for pair in _FORMS.split())

_SHORT = """pts:point pt:point pos:position att:attendance no:number num:number pop:population
avg:average pct:percentage gp:game yr:year w:win l:loss d:draw t:tie g:goal gf:goal pld:match
ep:episode alt:altitude elev:elevation dept:department min:minute qty:quantity amt:amount
temp:temperature lbs:pound ft:foot nat:nation opp:opponent"""
ABBREVIATIONS = dict(pair.split(":") for pair in _SHORT.split())
"""In names of columns."""

_TEMPORAL = """year season date term reign release released founded opened built established
completed born died launched elected introduced entered closed active served commissioned"""
TEMPORAL_WORDS = frozenset(_TEMPORAL.split())

OUTCOMES = {
    "win": ("w", "win"),
    "loss": ("l", "loss"),
    "tie": ("t", "d", "tie"),
    "draw": ("d", "draw"),
}
"""Words of a question, and how a result begins that means them: `W 28-21`."""

_NEAR = """nation country noc nationality state
team club franchise squad school university college
player name athlete person driver rider swimmer skater runner competitor candidate man woman member contestant racer golfer cyclist wrestler actor artist director author writer winner win
film title show song album single book episode track series game release role
location venue place city site stadium town country arena
year season date time day month
rank position place ranking finish standing
point score result
competition tournament event championship race meet contest
opponent team rival against
height elevation altitude tall high
length distance long km mile
attendance crowd attendee spectator person
population person inhabitant resident
party affiliation
district county constituency region province area
vote ballot
time duration
company manufacturer constructor brand maker
award prize honor
language dialect
medal total
viewer audience
win result outcome
cost price money prize earning purse salary
ship vessel boat
game match
character role"""  # noqa: E501  # a line is a group
NEAR = tuple(frozenset(line.split()) for line in _NEAR.splitlines())

_PEOPLE = """name player driver rider candidate winner win champion athlete artist actor person
director writer author skater swimmer golfer opponent leader manager coach president member nominee
recipient competitor cyclist wrestler officeholder incumbent team representative contestant singer
performer jockey owner king"""
_ASKED_BY = {
    "who": _PEOPLE,
    "whom": _PEOPLE,
    "where": "location venue place city country site stadium town arena region",
    "how long": "length duration time distance year term",
    "how far": "distance length result round",
    "how tall": "height",
    "how high": "height elevation altitude",
    "how old": "age",
    "how much": "price cost amount money prize purse salary earning value",
    "how big": "area size population",
    "how large": "area size population",
    "how deep": "depth",
    "how fast": "speed time",
    "how heavy": "weight",
}
ASKED_BY = {asking: frozenset(words.split()) for asking, words in _ASKED_BY.items()}
"""Names of columns that a question word asks for."""

RANKS = frozenset({"rank", "position", "place", "seed", "finish", "ranking", "standing", "peak"})
"""Columns of which the lowest number is the best."""


def near(one: str, other: str) -> bool:
    return any(one in group and other in group for group in NEAR)
