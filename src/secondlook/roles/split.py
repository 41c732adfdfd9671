"""What a question is split into, and how the answers are put together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from secondlook.roles.follow_up import names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Combining = Literal[
    "last", "years", "difference", "sum", "earliest", "latest", "least", "most", "same", "both"
]
"""`last`: the answer is that of the last part. `years`: years between two dates. `difference` and
`sum`: of numbers. `earliest` and `latest`: whose date it is; `least` and `most`: whose number.
`same`: whether the answers are the same. `both`: whether each part is so."""


@dataclass(frozen=True, slots=True)
class Split:
    parts: tuple[str, ...]
    """In the order they are asked; {1} is what the first came to."""
    combining: Combining


# Questions that ask about what they only describe: who directed *the film that she starred in*.

_PEOPLE: Final = (
    "actor|actress|architect|artist|astronaut|author|ceo|chairman|co-founder|coach|composer|"
    "conductor|creator|designer|developer|director|drummer|founder|frontman|guitarist|head coach|"
    "host|inventor|lead singer|leader|lyricist|manager|mayor|musician|narrator|novelist|owner|"
    "painter|performer|player|playwright|poet|politician|president|producer|rapper|screenwriter|"
    "sculptor|singer|songwriter|vocalist|winner|writer"
)
_KIN: Final = "mother|father|wife|husband|spouse|brother|sister|son|daughter"
_MEN: Final = f"{_PEOPLE}|{_KIN}|man|woman|person|prime minister|king|queen|scientist|band member"
_THINGS: Final = (
    "film|movie|album|song|single|book|novel|play|opera|musical|series|show|sitcom|company|band|"
    "group|university|college|school|club|team|magazine|newspaper|label|record label|country|city|"
    "town|village|state|county|river|island|building|stadium|airport|station|game|video game|"
    "franchise|brand|airline|organization|organisation|institution|battle|war|award|league|genus"
)
_TOLD: Final = (
    f"capital|population|nationality|{_KIN}|{_PEOPLE}|birthplace|hometown|occupation|"
    "profession|birth ?date|date of birth|place of birth|birth name|real name|middle name|"
    "full name|stage name|nickname|height|headquarters|area|currency|official language|star|stars"
)
_RELATIVE: Final = "that|which|who|whose|where|in which|on which|at which|for which|of which"
_MADE: Final = (
    "directed|wrote|founded|co-founded|owns|owned|produced|composed|designed|created|published|"
    "built|starred in|stars in|played|plays|sang|recorded|developed|invented|voiced|hosted|coached|"
    "led|distributed|released|manages|managed|edited|narrated|co-wrote|married|established"
)
_BUILT: Final = (
    "born|founded|established|formed|released|published|built|created|located|based|die|"
    "headquartered|premiered|buried|educated|raised|opened|completed|written|"
    "headquartered in|located in|based in|based out of|situated|begin construction|"
    "first (?:published|released|aired)|founded in|released in|born in"
)
_MAN = re.compile(rf"(?:\w+[ -]){{0,5}}?(?:{_MEN})", re.IGNORECASE)
_DESCRIBED: Final = (
    rf"(?P<thing>the (?:(?!of |in |and |for )[\w&'.-]+ ){{0,5}}?(?:{_MEN}|{_THINGS})"
    rf"(?:,? (?:{_RELATIVE}) [^,]+?|"
    rf"(?<=\b)(?: (?:of|for|behind) (?=[\w\"\u201c' -]*[A-Z0-9])[^,]+?)))"
)
_WHEN: Final = r"(?:when|where|(?:in |at |on )?(?:what|which) (?!of\b)\w+(?: \w+)?|how)"
_FORMS: Final = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?P<head>who (?:{_MADE})) {_DESCRIBED}",
        rf"(?P<head>(?:who|what|where) (?:is|was|are|were) the (?:{_TOLD}) of) {_DESCRIBED}",
        rf"(?P<head>{_WHEN} (?:is|was|are|were|did|does)) {_DESCRIBED} (?P<tail>{_BUILT})",
    )
)
_NO_DESCRIPTION: Final = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"\A(?:the (?:\w+ ){{0,2}}(?:{_THINGS}) of .*|the [\w' -]* (?:man|woman|person) of .*)\Z",
        rf"\b(?:{_BUILT})\b.*\b(?:and|when|while|after|before)\b",
        r" (?:is|was|are|were|be|been|has|had|based|originate)\Z",
    )
)


def bridge(text: str) -> Split | None:
    found = next((match for form in _FORMS if (match := form.fullmatch(text))), None)
    if found is None:
        return None
    thing = found["thing"]
    # The description holds a name of its own, beyond the kind of thing: "the 2001 film" does not.
    told = named(thing) or re.search(r"[\"\u201c]", thing)
    if not told or any(form.search(thing) for form in _NO_DESCRIPTION):
        return None
    tail = found.groupdict().get("tail") or ""
    first = f"{'Who' if is_person(thing) else 'What'} is {thing}?"
    return Split((first, f"{found['head']} {{1}} {tail}".rstrip() + "?"), "last")


def is_person(thing: str) -> bool:
    """Whether a description such as "the singer of ..." is of a person."""
    rest = thing.removeprefix("the ")
    head = re.split(rf",? (?:{_RELATIVE}|of|for|behind) ", rest, maxsplit=1)[0]
    return _MAN.fullmatch(head) is not None


# Whether a question may need several facts though no form tells them: worth asking a model.

_TWO_NAMES: Final = 2
_COMPARING = re.compile(
    r"\b(?:in common|do(?:es)? .+ share|the same|differ(?:ence|ent)?|than|together|combined|"
    r"in total|more|fewer|both|older|younger|earlier|later|between)\b",
    re.IGNORECASE,
)
_CHOOSING = re.compile(
    r"(?:which|who|what|is|was|did|does)\b.*[,:;] (?P<options>[^,]+ or [^,]+)", re.IGNORECASE
)
_DESCRIBING = re.compile(
    r"\b(?:the|an?) (?:[\w'-]+ ){1,5}?(?:that|which|who|whose|where|in which) .*"
    r"|\b(?:the|an?) [\w' -]+? (?:founded|directed|written|produced|created|composed|owned|"
    r"starring|featuring|featured|based) (?:by |on |in )?.*",
    re.IGNORECASE,
)
_ONLY_NAMED = re.compile(
    r"(?:what|who|which)(?: (?:is|was|are|were)| \w+){0,3}?(?: the)? "
    r"(?:names?|person|people|one|ones)\b",
    re.IGNORECASE,
)
_YEARS = re.compile(
    r"\bhow many (?:years|days|months)\b.*\b(?:after|before|between|until)\b", re.IGNORECASE
)


def needs_more(question: str) -> bool:
    """A cheap signal, right more often than not; a plain question has none."""
    text = clean(question)
    if not text or len(text) > LONGEST:
        return False
    known = list(names(text[:1].lower() + text[1:]))
    if _YEARS.search(text) and known:
        return True
    if (found := _CHOOSING.fullmatch(text)) and options(found["options"]):
        return True
    if sum(1 + name.count(" and ") for name in known) >= _TWO_NAMES and _COMPARING.search(text):
        return True
    # Something is asked about a thing that is only described, by a name of another.
    found = None if _ONLY_NAMED.match(text) else _DESCRIBING.search(text, len("Who is the "))
    return found is not None and next(names(found[0][4:]), None) is not None


# The words of a question that forms are made of: names, owners, pronouns, two to choose from.

LONGEST: Final = 300
_LONGEST_NAME: Final = 14
_END = re.compile(r"[\s?.!]+\Z")
_OR = re.compile(r",? or (?!\w+ly\b)")
_BETWEEN = re.compile(
    r"(?:between|out of|of) (?P<one>.+?) (?:and|or) (?P<other>.+?),? "
    r"(?P<wh>(?:which|who|what)\b.+)",
    re.IGNORECASE,
)
_AMONG = re.compile(
    r"(?P<wh>(?:which|who|what)\b[^,]*), (?:between )?(?P<options>[^,]+? or [^,]+?),? "
    r"(?P<rest>(?:is|was|were|are|has|have|had|did|does|died|came|won|opened|began) .+)",
    re.IGNORECASE,
)
_WORDING_EARLY = re.compile(
    r"\b(?P<be>was|were) (?P<when>first|last) (?P<done>\w+(?:ed|ilt|ade|tten|own))\b", re.IGNORECASE
)
_OWNED = re.compile(r"(?P<who>.+?)(?:['\u2019]s|(?<=s)['\u2019]) (?P<what>.+)")
_WORDING_OF = re.compile(r"(?:the )?\w+ of (?P<who>.+)", re.IGNORECASE)
_HER = re.compile(r"\b(?:her|his|its|their)\b", re.IGNORECASE)
_SHE = re.compile(r"\b(?:she|he|they|it)\b", re.IGNORECASE)
_BEFORE_NAME = re.compile(
    r"(?:(?:the|a|an|both|either|is it|was it|author|actor|film|movie|band|between) )+",
    re.IGNORECASE,
)
_KIND = re.compile(r"\A(?:(?:[a-z]+,? ){2,}|(?!the |an? )[a-z]+ )(?=[A-Z\"\u201c])")
_DETERMINED = re.compile(r"(?:the|a|an|this|that)\b|[A-Z\"\u201c]")


def clean(question: str) -> str:
    """On one line, without its end, and with what there is to choose from at the end."""
    text = _END.sub("", " ".join(question.split()))
    if found := _BETWEEN.fullmatch(text):
        text = f"{found['wh'][:1].upper()}{found['wh'][1:]}, {found['one']} or {found['other']}"
    elif found := _AMONG.fullmatch(text):
        text = f"{found['wh']} {found['rest']}, {found['options']}"
    return _WORDING_EARLY.sub(lambda at: f"{at['be']} {at['done']} {at['when']}", text)


def named(text: str) -> bool:
    return len(text.split()) <= _LONGEST_NAME and next(names(text), None) is not None


def options(text: str) -> tuple[str, str] | None:
    """The two names that a question lets choose from; None where they are not just two."""
    both = _OR.split(text.strip(" ,:;-\u2013"))
    if len(both) != 2 or not all(both):  # noqa: PLR2004
        return None
    one, other = (part.strip(" ,:;") for part in both)
    for part in (one, other):
        rest = _BEFORE_NAME.sub("", part, count=1).lstrip("\"'\u201c\u2018(")
        if not rest[:1].isupper() and not rest[:1].isdigit():
            return None
    return (one, other) if "," not in other[:-1] else None


def possessive(text: str) -> tuple[str, str] | None:
    found = _OWNED.fullmatch(text)
    return (found["who"], found["what"]) if found and named(found["who"]) else None


def owner(text: str) -> str | None:
    """Whose it is: of "Beyoncé's birth", of "the birth of Beyoncé"; or the only name in it."""
    if own := possessive(text):
        return own[0]
    found = _WORDING_OF.fullmatch(text)
    if found and named(found["who"]):
        return found["who"]
    only = list(names(text))
    return only[0] if len(only) == 1 else None


def resolved(text: str, who: str) -> str:
    """With the pronouns standing for `who`; "first Grammy" alone is theirs too."""
    owns = f"{who}'" if who.endswith("s") else f"{who}'s"
    if not _DETERMINED.match(text) and not _HER.search(text):
        return f"{owns} {text}"
    return _SHE.sub(who, _HER.sub(owns, text, count=1), count=1)


# Questions that need several facts, recognised by their form. English only, and careful: what
# is not surely such a form stays whole.

_YEARS_BETWEEN = re.compile(
    r"how (?:many years|long|much time)(?: (?:was|were|is|are|did|there|it|passed|elapsed|went by|"
    r"lie|lay))* between (?P<one>.+?),? and (?P<other>.+)",
    re.IGNORECASE,
)
_YEARS_AFTER = re.compile(
    r"how many years (?:after|before) (?P<one>.+?)(?:,| (?P<verb>did|was|were)) (?P<other>.+)",
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
_ORDER: Final[dict[str, Combining]] = {
    "first": "earliest", "earlier": "earliest", "earliest": "earliest", "last": "latest",
    "later": "latest", "latest": "latest", "recently": "latest", "most recently": "latest",
    "more recently": "latest",
}  # fmt: skip
_PLAIN: Final[dict[str, tuple[str, Combining]]] = {
    "taller": ("tall", "most"), "higher": ("high", "most"), "longer": ("long", "most"),
    "larger": ("large", "most"), "bigger": ("large", "most"), "heavier": ("heavy", "most"),
    "deeper": ("deep", "most"), "faster": ("fast", "most"), "wider": ("wide", "most"),
    "smaller": ("large", "least"), "shorter": ("long", "least"), "lighter": ("heavy", "least"),
    "lower": ("high", "least"), "slower": ("fast", "least"), "narrower": ("wide", "least"),
}  # fmt: skip
_SUPERLATIVE: Final = re.compile(r"(?P<stem>\w+?)est", re.IGNORECASE)
_MADE_BY_KIND: Final = (
    (
        frozenset(
            """band group university college school company magazine newspaper city town club team
            airline institution organization organisation church journal museum bank firm brand
            party publication""".split()  # noqa: SIM905
        ),
        "founded",
    ),
    (frozenset("building bridge castle tower cathedral stadium palace house".split()), "built"),  # noqa: SIM905
    (frozenset("film movie album song single game book novel series show".split()), "released"),  # noqa: SIM905
)
_AGED: Final[dict[str, Combining]] = {"older": "earliest", "younger": "latest", "newer": "latest"}
_IRREGULAR: Final = {"died": "die", "began": "begin", "came out": "come out"}


def split_by_form(question: str) -> Split | None:
    """The parts of a question whose form tells them; None where it is to be asked as a whole."""
    text = clean(question)
    if not text or len(text) > LONGEST:
        return None
    for form, made in _RECKONED:
        if found := form.fullmatch(text):
            return made(found)
    for form, asked in _COMPARISONS:
        if (found := form.fullmatch(text)) and (pair := options(found["options"])):
            way = asked(found)
            return _of_both(way[0], *pair, way[1]) if way and way[1] else None
    return _alike(text) or bridge(text)


# Arithmetic


def _years(found: re.Match[str]) -> Split | None:
    """ "X's birth and her first Grammy" as when each of them was."""
    one, other = found["one"], found["other"]
    who, verb = owner(one), found.groupdict().get("verb", "")
    if not who or verb is None:
        return None
    said = _OWN.match(other)
    told = resolved(other, who)
    own = said[0].lower() if said else "their"
    second = f"When {verb.lower()} {told}?" if verb else _when(told, who, own=own)
    return Split((_when(one, who), second), "years") if named(second) else None


_EVENTS: Final = {
    "birth": "was {} born", "death": "did {} die", "founding": "was {} founded",
    "foundation": "was {} founded", "establishment": "was {} established",
    "release": "was {} released", "publication": "was {} published", "opening": "was {} opened",
    "completion": "was {} completed", "construction": "was {} built", "creation": "was {} created",
    "election": "was {} elected", "launch": "was {} launched", "invention": "was {} invented",
    "discovery": "was {} discovered", "retirement": "did {} retire", "marriage": "did {} marry",
    "premiere": "did {} premiere",
}  # fmt: skip
_WON: Final = re.compile(
    r"\b(?:grammy|oscar|emmy|tony|award|medal|prize|title|championship|cup)s?(?: award)?$",
    re.IGNORECASE,
)
_OWN: Final = re.compile(r"(?:her|his|its|their)\b", re.IGNORECASE)
_OF: Final = re.compile(r"(?:the )?(?P<event>\w+) of (?P<what>.+)", re.IGNORECASE)


def _when(event: str, who: str, *, own: str = "their") -> str:
    found = _OF.fullmatch(event)
    if found and (asks := _EVENTS.get(found["event"].casefold())):
        return f"When {asks.format(found['what'])}?"
    owning, what = possessive(event) or ("", "")
    if asks := _EVENTS.get(what.casefold()):
        return f"When {asks.format(owning)}?"
    if _WON.search(what) and owning.casefold() == who.casefold():
        return f"When did {who} win {own} {what}?"
    return f"When was {event}?"


def _how_much(found: re.Match[str]) -> Split | None:
    degree = found["degree"].casefold()
    if degree in _AGED and found["unit"] in {None, "years"}:
        return _of_both("When was {} born?", found["one"], found["other"], "years")
    if degree not in _PLAIN:
        return None
    asks = f"How {_PLAIN[degree][0]} is {{}}?"
    return _of_both(asks, found["one"], found["other"], "difference")


def _counted_of(combining: Combining) -> Callable[[re.Match[str]], Split | None]:
    def split(found: re.Match[str]) -> Split | None:
        verb, what = found["verb"].casefold(), found["what"].casefold()
        verb, what = {"do": "does"}.get(verb, verb), {"had": "have", "won": "win"}.get(what, what)
        asks = f"How many {found['things']} {verb} {{}} {what}?"
        return _of_both(asks, found["one"], found["other"], combining)

    return split


def _of_both(asks: str, one: str, other: str, combining: Combining) -> Split | None:
    if not (named(one) and named(other)) or one.casefold() == other.casefold():
        return None
    return Split((asks.format(one), asks.format(other)), combining)


_RECKONED: Final = (
    (_YEARS_BETWEEN, _years),
    (_YEARS_AFTER, _years),
    (_MORE, _how_much),
    (_MORE_THINGS, _counted_of("difference")),
    (_TOGETHER, _counted_of("sum")),
)


# Comparison: what is asked of each of the two, and how the answers are put together.


def _born(found: re.Match[str]) -> tuple[str, Combining | None]:
    return "When was {} born?", _ORDER.get(found["when"].casefold())


def _done(found: re.Match[str]) -> tuple[str, Combining | None]:
    return f"When was {{}} {found['done'].lower()}?", _ORDER.get(found["when"].casefold())


def _died(found: re.Match[str]) -> tuple[str, Combining | None]:
    what = found["what"].casefold()
    verb = _IRREGULAR.get(what, what.removesuffix("ed"))
    return f"When did {{}} {verb}?", _ORDER.get(found["when"].casefold())


def _by_degree(found: re.Match[str]) -> tuple[str, Combining | None]:
    said = found["degree"].casefold()
    longest = _SUPERLATIVE.fullmatch(said)
    degree = f"{longest['stem']}er" if longest else {"elder": "older"}.get(said, said)
    person = found[0].casefold().startswith("who ")
    if degree in _AGED:
        noun = found["noun"].strip()
        kind = noun.rsplit(maxsplit=1)[-1].casefold() if noun else ""
        done = next((done for kinds, done in _MADE_BY_KIND if kind in kinds), "")
        done = done or ("born" if person or is_person(noun) else "founded")
        return f"When was {{}} {done}?", _AGED[degree]
    plain, combining = _PLAIN.get(degree, ("", None))
    plain = "tall" if person and plain == "long" else plain
    return f"How {plain} is {{}}?", combining


def _counted(found: re.Match[str]) -> tuple[str, Combining | None]:
    degree, things = found["degree"].casefold(), found["things"].strip()
    order: Combining = "least" if degree in _LESS else "most"
    if degree not in {"more", "most", "fewer", "fewest", "less"}:
        return f"What is the {things} of {{}}?", order
    said = found["verb"].casefold()
    verb = "did" if said in {"won", "scored", "had"} else "does"
    what = {"won": "win", "scored": "score", "contains": "contain", "offers": "offer"}
    return f"How many {things} {verb} {{}} {what.get(said, 'have')}?", order


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
    # Without the kind of thing that it names: "the flowering plants Alisma" is Alisma.
    wholes = [part.strip(" ,;:") for part in (one, other)]
    rests = [_KIND.sub("", whole, count=1) for whole in wholes]
    first, second = (
        rest if named(rest) else whole for rest, whole in zip(rests, wholes, strict=True)
    )
    return _of_both(asks, first, second, combining)


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


# Holes of a part: what the parts before it came to.

HOLE: Final = re.compile(r"\{(\d+)\}")
_ENDS = " .,;:"


def filled(part: str, shorts: Sequence[str]) -> str:
    return HOLE.sub(lambda hole: shorts[int(hole[1]) - 1].strip(_ENDS), part)


def value_parts(parts: Sequence[str]) -> list[int]:
    """Which parts give the values to compute with: those that no later part needs."""
    needed = {int(number) - 1 for part in parts for number in HOLE.findall(part)}
    return [at for at in range(len(parts)) if at not in needed]
