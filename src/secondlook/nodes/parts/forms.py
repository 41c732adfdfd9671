"""Questions that need several facts, recognised by their form. English only, and careful: what is
not surely such a form stays whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from secondlook.nodes.parts.bridges import bridge, is_person
from secondlook.nodes.parts.splitting import Split
from secondlook.nodes.parts.wording import (
    LONGEST,
    bare,
    clean,
    named,
    options,
    owner,
    possessive,
    resolved,
    subject_of,
)

if TYPE_CHECKING:
    from secondlook.nodes.parts.splitting import Combining

_YEARS_BETWEEN = re.compile(
    r"how (?:many years|long|much time)(?: (?:was|were|is|are|did|there|it|passed|elapsed|went by|"
    r"lie|lay))* between (?P<one>.+?),? and (?P<other>.+)",
    re.IGNORECASE,
)
_YEARS_AFTER = re.compile(
    r"how many years (?P<way>after|before) (?P<one>.+?)(?:,| (?P<verb>did|was|were)) (?P<other>.+)",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"how (?:much|many (?P<unit>\w+)) (?P<degree>\w+er) (?:is|was|are|were) (?P<one>.+?) than "
    r"(?P<other>.+)",
    re.IGNORECASE,
)
_MORE_THINGS = re.compile(
    r"how many (?:more|fewer|less) (?P<things>[\w' -]+?) (?P<verb>does|did|do) (?P<one>.+?) "
    r"(?P<what>have|had|win|won|score|own|hold|contain) than (?P<other>.+)",
    re.IGNORECASE,
)
_MEASURES = (
    "height|length|width|depth|age|population|area|size|weight|price|cost|distance|elevation|"
    "capacity|number of \\w+|amount of \\w+|speed|temperature|revenue|budget|surface area"
)
_DIFFERENCE = re.compile(
    rf"(?:what|how (?:large|big|great|much)) (?:is|was) the (?:\w+ )?difference "
    rf"(?:in (?P<what>{_MEASURES}) between (?P<one>.+?) and (?P<other>.+)"
    rf"|between the (?P<same>{_MEASURES}) of (?P<first>.+?) and "
    rf"(?:(?:the (?P=same)|that) of )?(?P<second>.+))",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    rf"what (?:is|was) the (?:total|combined|sum of the|joint) (?P<what>{_MEASURES})s? of "
    r"(?P<one>.+?) and (?P<other>.+?)(?: (?:together|combined|in total))?",
    re.IGNORECASE,
)
_TOGETHER = re.compile(
    r"how many (?P<things>[\w' -]+?) (?P<verb>do|did) (?P<one>.+?) and (?P<other>.+?) "
    r"(?P<what>have|had|win|own|hold|score|contain) (?:together|combined|in total|altogether)",
    re.IGNORECASE,
)
_WHICH = (
    r"(?:which|what|who)(?: of (?:the following|these|the two))?"
    r"(?P<noun>(?: (?!is\b|was\b|has\b|had\b|were\b|are\b|did\b|does\b|came\b)[\w'-]+){0,4}?)"
)
_BORN = re.compile(
    rf"{_WHICH},? (?:is|was|were) (?:the )?(?:born|birthed) (?P<when>\w+)[,:;]?"
    r" (?P<options>.+)",
    re.IGNORECASE,
)
_DONE = re.compile(
    rf"{_WHICH},? (?:was|were|is|got) (?P<done>\w+(?:ed|ilt|ade|tten|ought|own|et up|pen)) "
    r"(?:the )?(?P<when>first|last|earlier|later|earliest|latest|most recently|more recently)"
    r"[,:;]? (?P<options>.+)",
    re.IGNORECASE,
)
_DIED = re.compile(
    rf"{_WHICH},? (?P<what>died|opened|began|started|ended|closed|came out) "
    r"(?P<when>first|last|earlier|later)[,:;]? (?P<options>.+)",
    re.IGNORECASE,
)
_DEGREE = re.compile(
    rf"{_WHICH},? (?:is|was|are|were) (?:the )?(?P<degree>\w+er|\w+est)(?: in age)?"
    r"(?: (?:one|of the two))?[,:;]? (?P<options>.+)",
    re.IGNORECASE,
)
_HAS_MORE = re.compile(
    rf"{_WHICH},? (?P<verb>has|have|had|contains|won|scored|offers) (?:the )?"
    r"(?P<degree>more|most|fewer|fewest|less|larger|largest|greater|greatest|higher|highest|smaller|"
    r"smallest|lower|lowest|bigger|longer) "
    r"(?P<things>[\w'-]+(?: [\w'-]+){0,4}?)[,:;] (?P<options>.+)",
    re.IGNORECASE,
)
_SAME = re.compile(
    r"(?P<be>are|were|do|did|is|was) (?:both )?(?P<one>.+?) and (?P<other>.+?) "
    r"(?:(?:(?:both )?(?:from|of|in|based in|located in|born in|have|share|hold|play|on)) )?"
    r"(?:both )?(?:from |in |of )?the same (?P<what>[\w' -]+?)",
    re.IGNORECASE,
)
_BOTH = re.compile(
    r"(?P<be>are|were) (?:both (?P<pair>.+? and .+)|(?P<one>.+?) and (?P<other>.+?) both "
    r"(?P<what>[^,]+))",
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    r"(?P<one>.+?) and (?P<other>(?:the )?[A-Z0-9\"\u201c].*?),? "
    r"(?P<what>(?:an? )?(?:[A-Z]\w+(?:an|ish|ese)\b(?= [a-z]|\Z)|"
    r"(?!(?:of|the|and|on|in|de|la|von|van|for|to|a|with|at)\b)[a-z]).*)"
)
_JOINED = re.compile(r".* (?:and|or) ")
_ASIDE = re.compile(r"\?.|[()]|-\?")
_PREPOSITION = re.compile(r" (?:in|of|with|about|from|for|by|to|on|at|that|who|which) ")
_PLURAL = re.compile(r"\w*[^s\W](?<!u)s(?<!eries)")
_NOT_PLURAL = re.compile(r"(?:an?|\w+ed|in|from)\Z", re.IGNORECASE)
_EARLY: Final = frozenset({"first", "earlier", "earliest"})
_LATE: Final = frozenset({"last", "later", "latest", "recently", "most recently", "more recently"})
_PLAIN: Final[dict[str, tuple[str, Combining]]] = {
    "taller": ("tall", "most"),
    "higher": ("high", "most"),
    "longer": ("long", "most"),
    "larger": ("large", "most"),
    "bigger": ("large", "most"),
    "heavier": ("heavy", "most"),
    "deeper": ("deep", "most"),
    "faster": ("fast", "most"),
    "wider": ("wide", "most"),
    "smaller": ("large", "least"),
    "shorter": ("long", "least"),
    "lighter": ("heavy", "least"),
    "lower": ("high", "least"),
    "slower": ("fast", "least"),
    "narrower": ("wide", "least"),
}
_SUPERLATIVE: Final = re.compile(r"(?P<stem>\w+?)est", re.IGNORECASE)
_FOUNDED: Final = frozenset(
    """band group university college school company magazine newspaper city town club team airline
    institution organization organisation church journal museum bank firm brand party
    publication""".split()  # noqa: SIM905
)
_BUILT: Final = frozenset("building bridge castle tower cathedral stadium palace house".split())  # noqa: SIM905
_RELEASED: Final = frozenset("film movie album song single game book novel series show".split())  # noqa: SIM905
_AGED: Final[dict[str, Combining]] = {"older": "earliest", "younger": "latest", "newer": "latest"}
_IRREGULAR: Final = {"died": "die", "began": "begin", "came out": "come out"}


def split_by_form(question: str) -> Split | None:
    """The parts of a question whose form tells them; None where it is to be asked as a whole."""
    text = clean(question)
    if not text or len(text) > LONGEST:
        return None
    return _arithmetic(text) or _comparison(text) or _alike(text) or bridge(text)


# Arithmetic


def _arithmetic(text: str) -> Split | None:
    for form, made in _RECKONED:
        if found := form.fullmatch(text):
            return made(found)
    return None


def _between(found: re.Match[str]) -> Split | None:
    """ "X's birth and her first Grammy" as when each of them was."""
    one, other = found["one"], found["other"]
    who = owner(one) or subject_of(one)
    if not who:
        return None
    said = _OWN.match(other)
    first = _when(one, who)
    second = _when(resolved(other, who), who, own=said[0].lower() if said else "their")
    return Split((first, second), "years") if named(second) else None


def _after(found: re.Match[str]) -> Split | None:
    one, other = found["one"], found["other"]
    who = owner(one) or subject_of(one)
    if not who or not found["verb"]:
        return None
    second = f"When {found['verb'].lower()} {resolved(other, who)}?"
    return Split((_when(one, who), second), "years") if named(second) else None


_EVENTS: Final[dict[str, str]] = {
    "birth": "When was {} born?",
    "death": "When did {} die?",
    "founding": "When was {} founded?",
    "foundation": "When was {} founded?",
    "establishment": "When was {} established?",
    "release": "When was {} released?",
    "publication": "When was {} published?",
    "opening": "When was {} opened?",
    "completion": "When was {} completed?",
    "construction": "When was {} built?",
    "creation": "When was {} created?",
    "election": "When was {} elected?",
    "launch": "When was {} launched?",
    "invention": "When was {} invented?",
    "discovery": "When was {} discovered?",
    "retirement": "When did {} retire?",
    "marriage": "When did {} marry?",
    "premiere": "When did {} premiere?",
}
_WON: Final = re.compile(
    r"\b(?:grammy|oscar|emmy|tony|award|medal|prize|title|championship|cup)s?(?: award)?$",
    re.IGNORECASE,
)
_OWN: Final = re.compile(r"(?:her|his|its|their)\b", re.IGNORECASE)
_OF: Final = re.compile(r"(?:the )?(?P<event>\w+) of (?P<what>.+)", re.IGNORECASE)


def _when(event: str, who: str, *, own: str = "their") -> str:
    found = _OF.fullmatch(event)
    if found and (asks := _EVENTS.get(found["event"].casefold())):
        return asks.format(found["what"])
    pair = possessive(event)
    if pair and (asks := _EVENTS.get(pair[1].casefold())):
        return asks.format(pair[0])
    if pair and _WON.search(pair[1]) and pair[0].casefold() == who.casefold():
        return f"When did {who} win {own} {pair[1]}?"
    return f"When was {event}?"


def _how_much(found: re.Match[str]) -> Split | None:
    degree = found["degree"].casefold()
    if degree in _AGED and found["unit"] in {None, "years"}:
        return _of_both("When was {} born?", found["one"], found["other"], "years")
    if degree not in _PLAIN:
        return None
    asks = f"How {_PLAIN[degree][0]} is {{}}?"
    return _of_both(asks, found["one"], found["other"], "difference")


def _how_many(found: re.Match[str]) -> str:
    verb = {"do": "does"}.get(found["verb"].casefold(), found["verb"].casefold())
    what = {"had": "have", "won": "win"}.get(found["what"].casefold(), found["what"].casefold())
    return f"How many {found['things']} {verb} {{}} {what}?"


def _measured(what: str, one: str, other: str, combining: Combining) -> Split | None:
    if what.casefold() == "age":
        return _of_both("When was {} born?", one, other, "years")
    return _of_both(f"What is the {what} of {{}}?", one, other, combining)


def _of_both(asks: str, one: str, other: str, combining: Combining) -> Split | None:
    """The same asked of either; None where they are not two names."""
    if not (named(one) and named(other)) or one.casefold() == other.casefold():
        return None
    return Split((asks.format(one), asks.format(other)), combining)


def _more_things(found: re.Match[str]) -> Split | None:
    return _of_both(_how_many(found), found["one"], found["other"], "difference")


def _apart(found: re.Match[str]) -> Split | None:
    pair = (found["one"] or found["first"], found["other"] or found["second"])
    return _measured(found["what"] or found["same"], *pair, "difference")


def _in_total(found: re.Match[str]) -> Split | None:
    return _measured(found["what"], found["one"], found["other"], "sum")


def _together(found: re.Match[str]) -> Split | None:
    return _of_both(_how_many(found), found["one"], found["other"], "sum")


_RECKONED: Final = (
    (_YEARS_BETWEEN, _between),
    (_YEARS_AFTER, _after),
    (_MORE, _how_much),
    (_MORE_THINGS, _more_things),
    (_DIFFERENCE, _apart),
    (_TOTAL, _in_total),
    (_TOGETHER, _together),
)


# Comparison


def _comparison(text: str) -> Split | None:
    for form, asked in _COMPARISONS:
        if (found := form.fullmatch(text)) and (pair := options(found["options"])):
            way = asked(found, text)
            return _of_both(way[0], *pair, way[1]) if way else None
    return None


def _born(found: re.Match[str], _text: str) -> tuple[str, Combining] | None:
    order = _order(found["when"])
    return ("When was {} born?", order) if order else None


def _done(found: re.Match[str], _text: str) -> tuple[str, Combining] | None:
    order = _order(found["when"])
    return (f"When was {{}} {found['done'].lower()}?", order) if order else None


def _died(found: re.Match[str], _text: str) -> tuple[str, Combining] | None:
    order, what = _order(found["when"]), found["what"].casefold()
    verb = _IRREGULAR.get(what, what.removesuffix("ed"))
    return (f"When did {{}} {verb}?", order) if order else None


def _order(word: str) -> Combining | None:
    lowered = word.casefold()
    return "earliest" if lowered in _EARLY else "latest" if lowered in _LATE else None


def _by_degree(found: re.Match[str], text: str) -> tuple[str, Combining] | None:
    degree = _comparative(found["degree"].casefold())
    if degree in _AGED:
        return _age_question(found["noun"], text), _AGED[degree]
    if degree not in _PLAIN:
        return None
    plain, combining = _PLAIN[degree]
    person = text.casefold().startswith("who ")
    plain = "tall" if person and plain == "long" else plain
    return f"How {plain} is {{}}?", combining


def _comparative(degree: str) -> str:
    found = _SUPERLATIVE.fullmatch(degree)
    return f"{found['stem']}er" if found else {"elder": "older"}.get(degree, degree)


def _age_question(noun: str, text: str) -> str:
    kind = noun.rsplit(maxsplit=1)[-1].casefold() if noun.split() else ""
    for kinds, done in ((_FOUNDED, "founded"), (_BUILT, "built"), (_RELEASED, "released")):
        if kind in kinds:
            return f"When was {{}} {done}?"
    person = text.casefold().startswith("who ") or is_person(noun.strip())
    return "When was {} born?" if person else "When was {} founded?"


def _counted(found: re.Match[str], _text: str) -> tuple[str, Combining] | None:
    degree, things = found["degree"].casefold(), found["things"].strip()
    order: Combining = "least" if degree in _LESS else "most"
    if degree in {"more", "most", "fewer", "fewest", "less"}:
        verb = {"won": "did", "scored": "did", "had": "did"}.get(found["verb"].casefold(), "does")
        what = {"won": "win", "scored": "score", "contains": "contain", "offers": "offer"}.get(
            found["verb"].casefold(), "have"
        )
        return f"How many {things} {verb} {{}} {what}?", order
    return f"What is the {things} of {{}}?", order


_LESS: Final = frozenset("fewer fewest less smaller smallest lower lowest".split())  # noqa: SIM905
_COMPARISONS: Final = (
    (_BORN, _born),
    (_DONE, _done),
    (_DIED, _died),
    (_DEGREE, _by_degree),
    (_HAS_MORE, _counted),
)


# Alike


def _alike(text: str) -> Split | None:
    if found := _SAME.fullmatch(text):
        asks = f"What is the {found['what'].strip()} of {{}}?"
        return _of_two(asks, found["one"], found["other"], "same")
    found = _BOTH.fullmatch(text)
    told = found and (_PREDICATE.fullmatch(found["pair"]) if found["pair"] else found)
    if not found or not told:
        return None
    be = {"are": "Is", "were": "Was"}[found["be"].casefold()]
    asks = f"{be} {{}} {_singular(told['what'])}?"
    return _of_two(asks, told["one"], told["other"], "both")


def _of_two(asks: str, one: str, other: str, combining: Combining) -> Split | None:
    """As `_of_both`, where "and" joins the two and could also be part of a name."""
    last = other.rsplit(maxsplit=1)[-1] if other.split() else ""
    joined = _JOINED.search(f"{one} {other}") or _JOINED.match(asks.partition("{}")[2])
    if joined or last[:1].islower() or _ASIDE.search(asks):
        return None
    return _of_both(asks, bare(one), bare(other), combining)


def _singular(what: str) -> str:
    """ "American writers of songs" as "an American writer of songs"."""
    found = _PREPOSITION.search(what)
    words = (what[: found.start()] if found else what).split()
    rest = what[found.start() :] if found else ""
    if not words or not _PLURAL.fullmatch(words[-1]) or _NOT_PLURAL.match(words[0]):
        return what
    last = words[-1]
    one = f"{last[:-3]}y" if last.endswith("ies") else last[:-1]
    article = "an" if words[0][0].casefold() in "aeiou" else "a"
    return " ".join([article, *words[:-1], one]) + rest
