"""Which wordings of a question mean the same. What is not listed here counts as a difference, so
a gap costs a miss and never a wrong hit."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from secondlook.retrieval.analyse import terms

if TYPE_CHECKING:
    from collections.abc import Mapping

_NUMBER = r"(?=(?:[$€£]\s?)?\d|(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)"
_WH = r"(?:what|which)"
_AUXILIARY = r"(?:do|does|did|can|could|may|must|should|shall|will|would|am|are|have)"
_MEASURES = (
    ("depth", "deep"),
    ("width", "wide"),
    ("height", "high"),
    ("length", "long"),
    ("thickness", "thick"),
    ("size", "large"),
    ("weight", "heavy"),
    ("age", "old"),
)
_NO_PREPOSITION = r"(?<!\bby)(?<!\bto)(?<!\bof)(?<!\bin)(?<!\bon)(?<!\bat)(?<!\bfor)(?<!\bfrom)"

REWRITES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), new)
    for pattern, new in (
        # Short forms.
        (r"[’ʼ]", "'"),  # noqa: RUF001
        (r"\b(?:can't|cannot)\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\bshan't\b", "shall not"),
        (r"n't\b", " not"),
        (r"\b(what|who|where|when|why|how|it|that|there|here)'s\b", r"\1 is"),
        # What asks for an answer, and is no part of the question.
        (r"^\s*(?:please|kindly|hello|hi|hey)\b[,!.]?\s*", ""),
        (r"^\s*(?:can|could|would|will) you (?:please )?(?=tell|explain|show)", ""),
        (r"^\s*(?:tell|explain to|show) (?:me|us)\s*(?:if|whether|about)?\b", ""),
        (r"^\s*(?:do you know|would you say|i (?:want|wish|would like) to know)\b", ""),
        (r"^\s*(?:is|was) it (?:true|the case|correct) that\b", ""),
        (r"^\s*(?:if|whether|that)\b(?=[^,]*$)", ""),
        (r"\b(who|when|where|why|how|what|which \w+) (?:is|was) it that\b", r"\1"),
        (r"[,;]?\s*\bplease\b", ""),
        # What is asked for.
        (rf"\bfor (?:{_WH}) reasons?\b", "why"),
        (rf"\b{_WH} (?:is|was) (?:the )?reason (?:that\b|why\b)?(?!of |for )", "why "),
        (r"\bhow come\b", "why"),
        (rf"\b(?:in {_WH} (?:year|month|week)|(?:at|on) {_WH} (?:date|day|time))\b", "when"),
        (rf"\bunder {_WH} (?:circumstances?|conditions?)\b", "when"),
        (rf"\bin {_WH} (?:way|manner)s?\b", "how"),
        (rf"\b{_WH} (?:person|people|party)\b", "who"),
        (r"\bwhom\b", "who"),
        (rf"\b{_WH} number of\b", "how many"),
        *(
            (rf"\b{_WH} (is|was|are|were) the {noun} of\b", rf"how {how} \1")
            for noun, how in _MEASURES
        ),
        (r"\bhow (?:do|can|does|could) (?:i|we|you|one)\b", "how"),
        # Whoever asks may mean anybody; but who else is named with "you" or "me" counts.
        (rf"^((?:\w+ ){{0,3}}?{_AUXILIARY}) (?:i|you|we)\b", r"\1"),
        # What may and what must be.
        (r"\b(?:is|was) it possible (?:for\b)?(?: to\b)?", "may"),
        (r"\bis it (?:mandatory|necessary|obligatory|compulsory) (?:for\b)?(?: to\b)?", "must"),
        (r"\b(?:allowed|permitted|able) to\b", "may"),
        (r"\b(?:required|obliged|obligated) to\b", "must"),
        (r"\b(?:have|has|need|needs) to\b", "must"),
        (r"\bought to\b", "should"),
        (r"\bought (.{1,60}?) to\b", r"should \1"),
        (r"\bfail(?:s|ed)? to\b", "not"),
        # How two things lie to each other.
        (r"\bwith no\b", "without"),
        (r"\bnot any\b", "no"),
        (r"\b(?:prior to|ahead of|in advance of)\b", "before"),
        (r"\bfollowing\b(?= (?:the|a|an|this|that|his|her|its|their|surgery)\b)", "after"),
        (r"\b(?:more|greater|higher|older|longer|later|larger) than or equal to\b", "at least"),
        (r"\b(?:less|fewer|lower|younger|shorter) than or equal to\b", "at most"),
        (r"\b(?:no|not) (?:more|longer|older|later) than\b", "at most"),
        (r"\b(?:no|not) (?:less|fewer|younger|earlier) than\b", "at least"),
        (r"\b((?:one|\d[\d.,]*)) or more\b", r"at least \1"),
        (r"\b((?:one|\d[\d.,]*)) or (?:less|fewer)\b", r"at most \1"),
        (r"\b(?:above|over|older than) the age of\b", "more than"),
        (r"\b(?:below|under|younger than) the age of\b", "less than"),
        (rf"\b(?:over|above|exceeding|in excess of) {_NUMBER}", "more than "),
        (rf"\b(?:under|below|younger than|shorter than|fewer than) {_NUMBER}", "less than "),
        (rf"\b(?:older|longer|greater) than {_NUMBER}", "more than "),
        (r"\bbetween (\d+) and (\d+)\b", r"from \1 to \2"),
        # Verbs of two words, and relative clauses that are nothing but a form of "to be".
        (r"\b(?:turn|switch)(?:s|ed|ing|es)? off\b", "disable"),
        (r"\b(?:turn|switch)(?:s|ed|ing|es)? on\b", "enable"),
        (r"\bversion (?=\d)", ""),
        (r"\bs\. ?(?=\d)", "section "),
        (rf"(?<=\w){_NO_PREPOSITION} (?:who|which|that) (?:is|are|was|were|ha(?:s|ve) been)\b", ""),
        (r"\badverse (?=effects?\b|reactions?\b)", "side "),
        # Numbers and units.
        (r"[$]\s?([\d.,]*\d)", r"\1 dollars"),
        (r"€\s?([\d.,]*\d)", r"\1 euros"),
        (r"£\s?([\d.,]*\d)", r"\1 pounds"),
        (r"(?<=\d)\s?%", " percent"),
        (r"\bper cent\b", "percent"),
        (r"\btwice\b", "two times"),
        (r"\bthrice\b", "three times"),
        (r"\bq([1-4])\b", r"quarter \1"),
        (r"\bfirst quarter\b", "quarter 1"),
        (r"\bsecond quarter\b", "quarter 2"),
        (r"\bthird quarter\b", "quarter 3"),
        (r"\bfourth quarter\b", "quarter 4"),
    )
)
"""Applied in this order. `$` is escaped by a class, which reads better than a backslash here."""

# Words of which one is a term of some trade are not listed: to a lawyer an employee is no worker.
_SYNONYMS = """
allow permit
answer reply respond
assist help
attorney lawyer
automobile car
begin start commence
big large
biggest largest
smallest littlest
ship vessel
build construct
buy purchase
cease stop
certain some
child kid
choose pick select
delete remove erase
denote mean signify
display show
doctor physician
drop fall
use utilise utilize
end finish
every all each
fast quick rapid
film movie
forbid prohibit
hard difficult
happen occur
illness disease
important significant
lower reduce decrease diminish
method way
people persons
raise increase
refuse decline
require need
result outcome
sick ill
small little
surgery operation
understand comprehend
whole entire
"""

_MODAL = {"can": "may", "may": "may", "must": "must", "need": "must", "shall": "must"}
_MODAL |= {"allowed": "may", "permitted": "may"}
_MODAL |= {name: name for name in ("should", "could", "might", "would", "will")}
MODALS: Final[Mapping[str, str]] = _MODAL
NEGATIONS: Final = frozenset({"not", "no"})
_LEFT_OUT = (
    "a an the is are was were am be been being do does did has have had having that there it its "
    "one one's so then also just really actually exactly"
)
LEFT_OUT: Final = frozenset(_LEFT_OUT.split())
"""They carry the grammar, or nothing."""
_MARKERS = (
    "to from for with without by before after until since under over between through into "
    "inside outside against about above below beyond than if unless because while except as "
    "per via and or but towards toward across along among around behind despite near off onto "
    "upon whether although though where why how who what whose"
)
MARKERS: Final[Mapping[str, str]] = {name: name for name in _MARKERS.split()} | {
    "in": "in",
    "on": "in",
    "at": "in",
    "during": "in",
    "within": "inside",
    "when": "if",
    "once": "if",
    "which": "what",
}
"""Words that begin a part of a question, by what they mean there."""
_BEFORE_CLAUSES = (
    "to before after until since than if unless because while as and or but whether although "
    "though where why how who what whose"
)
PREPOSITIONS: Final = frozenset(MARKERS.values()) - frozenset(_BEFORE_CLAUSES.split())
"""Those of them behind which no verb can stand."""
QUESTION_WORDS: Final = frozenset({"who", "what", "which", "when", "where", "why", "how", "whose"})
ARTICLES: Final = frozenset({"a", "an", "the", "his", "her", "their", "its", "this", "last"})
PAST: Final = frozenset({"was", "were", "did", "had"})
PRESENT: Final = frozenset({"is", "are", "am", "do", "does", "has", "have"})
BE: Final = frozenset({"is", "are", "was", "were", "be", "been", "being"})
HAVE: Final = frozenset({"has", "have", "had"})
GET: Final = frozenset({"get", "gets", "got"})
AUXILIARIES: Final = frozenset({*PAST, *PRESENT, *MODALS, "be", "been", "get", "gets", "got"})
_PARTICIPLES = (
    "begun bitten bought bound broken brought built burnt caught chosen cut dealt done drawn "
    "driven eaten fallen fed felt forbidden forgotten fought found frozen given grown held hidden "
    "hit hurt kept known laid led left lent lit lost made meant met paid proven put read ridden "
    "risen run said seen sent set shot shown shut sold sought spent split spoken stolen struck "
    "sworn swept taken taught thrown told torn understood withdrawn won worn written"
)
_IRREGULAR_PARTICIPLES = frozenset(_PARTICIPLES.split())
_NO_PARTICIPLES = frozenset({"need", "indeed", "speed", "feed", "seed", "deed", "bed", "red"})
_NOT_LESS = frozenset({"unless", "regardless", "nevertheless", "nonetheless", "wireless", "bless"})
_SHORTEST_LESS = 6
_DENIALS = ("un", "in", "im", "ir", "non", "dis")
_SHORTEST_DENIED = 2


def is_participle(word: str) -> bool:
    """By its look: sold, taken, sued."""
    return word in _IRREGULAR_PARTICIPLES or (word.endswith("ed") and word not in _NO_PARTICIPLES)


def denied(word: str) -> str | None:
    """What something is not that is called so: the valid of invalid."""
    for prefix in _DENIALS:
        if word.startswith(prefix) and len(word) > len(prefix) + _SHORTEST_DENIED:
            return word.removeprefix(prefix).removeprefix("-")
    return None


def lacking(word: str) -> str | None:
    """What something is without that is called so: the warrant of warrantless."""
    if word.endswith("less") and len(word) > _SHORTEST_LESS and word not in _NOT_LESS:
        return word.removesuffix("less")
    return None


_IRREGULAR = {
    "bought": "buy", "built": "build", "chose": "choose", "chosen": "choose", "fell": "fall",
    "fallen": "fall", "gave": "give", "given": "give", "got": "get", "had": "have", "has": "have",
    "held": "hold", "kept": "keep",
    "knew": "know", "known": "know", "led": "lead", "left": "leave", "lent": "lend",
    "lost": "lose", "made": "make", "met": "meet", "paid": "pay", "ran": "run", "rose": "rise",
    "said": "say", "saw": "see", "seen": "see", "sent": "send", "sold": "sell", "spent": "spend",
    "sued": "sue",
    "sworn": "swear", "taken": "take", "took": "take", "told": "tell", "thought": "think",
    "understood": "understand", "went": "go", "gone": "go", "won": "win", "wrote": "write",
    "written": "write", "began": "begin", "begun": "begin", "brought": "bring", "broke": "break",
    "broken": "break", "found": "find", "grew": "grow", "grown": "grow", "shown": "show",
    "men": "man", "women": "woman", "children": "child", "people": "person",
}  # fmt: skip


@lru_cache(maxsize=4096)
def stem_of(word: str) -> str:
    """One form for the forms of a word, and for words that mean the same."""
    plain = _IRREGULAR.get(word, word)
    stem = next(iter(terms(plain)), plain)
    return _groups().get(stem, stem)


@lru_cache(maxsize=1)
def _groups() -> dict[str, str]:
    """The first word of its group, for every word of one; a word stands in one group."""
    found: dict[str, str] = {}
    for line in _SYNONYMS.split("\n"):
        stems = [terms(word)[0] for word in line.split()]
        for stem in stems:
            found.setdefault(stem, found.get(stems[0], stems[0]))
    return found
