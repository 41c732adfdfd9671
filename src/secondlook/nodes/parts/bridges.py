"""Questions that ask about what they only describe: who directed *the film that she starred in*."""

from __future__ import annotations

import re
from typing import Final

from secondlook.nodes.parts.splitting import Split
from secondlook.nodes.parts.wording import named

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
_DONE: Final = (
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
_PLACE: Final = "(?:country|city|state|town|village|county|place) (?:where|in which)"
_FORMS: Final = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?P<head>who (?:{_MADE})) {_DESCRIBED}",
        rf"(?P<head>(?:who|what|where) (?:is|was|are|were) the (?:{_TOLD}) of) {_DESCRIBED}",
        rf"(?P<head>{_WHEN} (?:is|was|are|were|did|does)) {_DESCRIBED} (?P<tail>{_DONE})",
        rf"(?P<head>what (?:is|was) the {_PLACE}) {_DESCRIBED} (?P<tail>(?:is|was) (?:{_DONE}))",
        rf"(?P<head>how (?:old|tall) (?:is|was)) {_DESCRIBED}",
    )
)
_CHAIN = re.compile(
    rf"(?P<head>who (?:is|was)) (?P<owner>.+?)['\u2019]s (?P<role>{_PEOPLE}|{_KIN})['\u2019]s "
    rf"(?P<next>{_PEOPLE}|{_KIN})"
    rf"|(?P<head2>(?:when|where) (?:is|was|did)) (?P<owner2>.+?)['\u2019]s "
    rf"(?P<role2>{_PEOPLE}|{_KIN}) (?P<tail>{_DONE})",
    re.IGNORECASE,
)
_BARE_ROLE = re.compile(
    rf"the (?:\w+ ){{0,2}}(?:{_THINGS}) of .*|the [\w' -]* (?:man|woman|person) of .*",
    re.IGNORECASE,
)
_SECOND_CLAUSE = re.compile(rf"\b(?:{_DONE})\b.*\b(?:and|when|while|after|before)\b", re.IGNORECASE)
_UNFINISHED = re.compile(r" (?:is|was|are|were|be|been|has|had|based|originate)\Z", re.IGNORECASE)


def bridge(text: str) -> Split | None:
    """First what is described, then what is asked about it."""
    if found := _CHAIN.fullmatch(text):
        return _chained(found)
    for form in _FORMS:
        if found := form.fullmatch(text):
            return _described(found)
    return None


def _described(found: re.Match[str]) -> Split | None:
    thing = found["thing"]
    if _BARE_ROLE.fullmatch(thing) or not _names_something(thing):
        return None
    if _SECOND_CLAUSE.search(thing) or _UNFINISHED.search(thing):
        return None
    tail = found.groupdict().get("tail") or ""
    first = f"{'Who' if is_person(thing) else 'What'} is {thing}?"
    return Split((first, f"{found['head']} {{1}} {tail}".rstrip() + "?"), "last")


def _chained(found: re.Match[str]) -> Split | None:
    owner, role = found["owner"] or found["owner2"], found["role"] or found["role2"]
    if not named(owner) or re.search(r"['\u2019]s\b", owner):
        return None
    first = f"Who is {owner}'s {role}?"
    if found["next"]:
        return Split((first, f"{found['head']} {{1}}'s {found['next']}?"), "last")
    return Split((first, f"{found['head2']} {{1}} {found['tail']}?"), "last")


def is_person(thing: str) -> bool:
    """Whether a description such as "the singer of ..." is of a person."""
    head = re.split(rf",? (?:{_RELATIVE}|of|for|behind) ", thing.removeprefix("the "), maxsplit=1)[
        0
    ]
    return _MAN.fullmatch(head) is not None


def _names_something(thing: str) -> bool:
    """The description holds a name of its own, beyond the kind of thing: "the 2001 film" does
    not."""
    return named(thing) or bool(re.search(r"[\"\u201c]", thing))
