"""Whether two questions ask the same, so that research may be used again."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from secondlook.reading.numbers import numbers
from secondlook.retrieval.terms import language_name, terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from secondlook.settings.sections import Settings

# Whether two questions that read alike ask the same.

_MOST_SHOWN = 4
_ENGLISH = "english"


@dataclass(frozen=True, slots=True)
class Verdict:
    same: bool
    why: str


def same_question(one: str, other: str, similarity: float, settings: Settings) -> Verdict:
    """`similarity` is the cosine of the two questions' vectors."""
    limit = settings.research.memory_similarity
    if not similarity >= limit:
        return Verdict(same=False, why=f"similarity {similarity:.3f} is below {limit:.3f}")
    if _plain(one) == _plain(other):
        return Verdict(same=True, why="the same words")
    if language_name(settings.library.language) != _ENGLISH:
        return Verdict(same=False, why="other words, and only English ones are compared")
    return compared(one, other)


def compared(one: str, other: str) -> Verdict:
    """Two English questions, by their words alone."""
    texts = rewritten(one), rewritten(other)
    names = names_of(texts[0]) | names_of(texts[1])
    known = stems_of(texts[0]), stems_of(texts[1])
    verdict = Verdict(same=False, why="")
    for owning in ("near", "far"):
        forms = (
            form_of(texts[0], names, known[1], owning),
            form_of(texts[1], names, known[0], owning),
        )
        verdict = _held_against(*forms, names)
        if verdict.same:
            return verdict
    return verdict


def _held_against(one: Form, other: Form, names: Collection[str]) -> Verdict:
    if one.tense and other.tense and one.tense.isdisjoint(other.tense):
        return Verdict(same=False, why="one asks about now, the other about the past")
    left, right = one.words(), other.words()
    if left != right:
        return Verdict(same=False, why=_difference(left - right, right - left, names))
    if one.parts != other.parts:
        return Verdict(same=False, why="the same words in another order: who does what may differ")
    return Verdict(same=True, why="the same in other words")


def _difference(left: Counter[str], right: Counter[str], names: Collection[str]) -> str:
    changed = set(left) | set(right)
    shown = f"{_listed(left)} against {_listed(right)}"
    if any(word[:1].isdigit() for word in changed):
        return f"other numbers: {shown}"
    if NOT in changed or "without" in changed:
        return f"one denies what the other does not: {shown}"
    if changed & set(names):
        return f"other names: {shown}"
    if changed & set(MODALS.values()):
        return f"what may be, must be or is: {shown}"
    if changed & {*MARKERS.values(), PASSIVE}:
        return f"put together in another way: {shown}"
    return f"other words: {shown}"


def _listed(words: Counter[str]) -> str:
    shown = [repr(word) for word in sorted(words) if word][:_MOST_SHOWN]
    return ", ".join(shown) or "nothing"


def _plain(question: str) -> str:
    """Without what no question depends on: capitals at its start, white space, its last sign."""
    text = " ".join(unicodedata.normalize("NFKC", question).split()).rstrip(" ?.!")
    return text[:1].casefold() + text[1:]


# A question taken apart until only what it asks is left.

Tense = Literal["past", "present"]
Owning = Literal["near", "far"]
"""How much of what follows an "of" takes: a name or a word, or, where no verb can follow, all up to
the next part."""

NOT = "not"
PASSIVE = "(passive)"
_OF = "of"
_ARTICLE = "(the)"
_BY = "by"
_TOKEN = re.compile(r"[^\W_]+(?:[-.,'/][^\W_]+)*(?:\(\))?")
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z0-9\"'(])")
_FRONTED = re.compile(r"^([^,?]{3,200}),\s+(\S+)(.*)$", re.DOTALL)
_AMOUNT = re.compile(r"[\d,]+|[a-z]+-[a-z]+")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth")


@dataclass(frozen=True, slots=True)
class Part:
    """Words that belong together, behind the word that relates them to the rest."""

    marker: str
    words: tuple[str, ...]
    aside: tuple[str, ...] = ()
    """What may stand anywhere in the part: not, and what may or must be; sorted."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a question asks."""

    parts: Counter[Part]
    tense: frozenset[Tense]

    def words(self) -> Counter[str]:
        """All that is said, wherever it stands."""
        counted: Counter[str] = Counter()
        for part, times in self.parts.items():
            for word in (part.marker, *part.words, *part.aside):
                counted[word] += times if word else 0
        return counted


def rewritten(question: str) -> str:
    """With one wording for those that are known to mean the same."""
    text = " ".join(unicodedata.normalize("NFKC", question).split())
    for pattern, new in REWRITES:
        text = pattern.sub(new, text)
    return " ".join(text.split())


def names_of(text: str) -> frozenset[str]:
    """Words with a capital that no sentence gave them: of these no two are taken for one."""
    found = set[str]()
    for sentence in _SENTENCE.split(text):
        words = [_bare(token) for token in _TOKEN.findall(sentence)]
        found.update(word.casefold() for word in words[1:] if word[:1].isupper())
    return frozenset(found)


def stems_of(text: str) -> frozenset[str]:
    return frozenset(stem_of(_bare(token).casefold()) for token in _TOKEN.findall(text))


def form_of(text: str, names: Collection[str], known: Collection[str], owning: Owning) -> Form:
    """Of a text as `rewritten` leaves it. `known` are the stems of the question that it is held
    against: there "untaxed" is "not taxed"."""
    parts: Counter[Part] = Counter()
    tense = set[Tense]()
    for sentence in _SENTENCE.split(text):
        tokens = _TOKEN.findall(_with_front_behind(sentence))
        words = {token.casefold() for token in tokens}
        found = set[Tense]()
        if not PAST.isdisjoint(words):
            found.add("past")
        if not PRESENT.isdisjoint(words):
            found.add("present")
        tense |= found
        gathering = _Gathering(names, known, owning)
        parts.update(gathering.parts_of(tokens))
    return Form(parts, frozenset(tense))


def _with_front_behind(sentence: str) -> str:
    """What is before the comma comes last, where the question begins after it."""
    found = _FRONTED.match(sentence)
    if not found:
        return sentence
    front, first, rest = found.groups()
    fronted = front.split()[0].casefold() in MARKERS
    if not fronted or first.casefold() not in QUESTION_WORDS | AUXILIARIES:
        return sentence
    return f"{first}{rest.rstrip(' ?.!')} {front[:1].lower()}{front[1:]}"


@dataclass(slots=True)
class _Open:
    """A part while its words are gathered."""

    marker: str
    words: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    passive: bool = False
    is_all: bool = False
    """Whether a form of "to be" is its verb."""
    verb: int | None = None
    """Where the participle stands that makes it passive."""

    @property
    def has_no_verb(self) -> bool:
        return self.is_all or self.marker in PREPOSITIONS

    def made_active(self, doers: Sequence[str]) -> None:
        if self.verb is not None:
            verb = self.words.pop(self.verb)
            self.words = [*doers, verb, *self.words]
        self.passive = False

    def closed(self) -> Part:
        aside = [*self.aside, PASSIVE] if self.passive else self.aside
        return Part(self.marker, tuple(self.words), tuple(sorted(aside)))


@dataclass(frozen=True, slots=True)
class _Gathering:
    names: Collection[str]
    known: Collection[str]
    owning: Owning

    def parts_of(self, tokens: Sequence[str]) -> list[Part]:
        by_whom = [token.casefold() for token in tokens[:2]] == [_BY, "who"]
        gathered = self._gathered(tokens[1:] if by_whom else tokens)
        if by_whom and (asked := next((part for part in gathered if part.passive), None)):
            asked.made_active(())
        made = [
            part
            for part in _active(gathered)
            if bool(part.marker or part.words or part.aside or part.passive)
        ]
        for part in made:
            # "The roof of the house" as "the house's roof"; then the articles go.
            left = list(part.words)
            far = self.owning == "far" and part.has_no_verb
            while _OF in left:
                at = len(left) - 1 - left[::-1].index(_OF)
                start = _beginning(left, at)
                owner = [word for word in left[at + 1 :] if word != _ARTICLE]
                reach = len(owner) if far else self._reach(owner)
                left[start:] = [*owner[:reach], *left[start:at], *owner[reach:]]
            part.words = [word for word in left if word != _ARTICLE]
        return [part.closed() for part in made]

    def _gathered(self, tokens: Sequence[str]) -> list[_Open]:
        parts = [_Open("")]
        lowered = [_bare(token).casefold() for token in tokens]
        for at, word in enumerate(lowered):
            if at and tokens[at][:1].isupper():  # May is a month, and Will a man
                parts[-1].words.extend(self._canonical(word))
            elif word in MARKERS:
                # Open a part; two markers in a row make one: than on, even if.
                marker = "when" if word == "when" and at == 0 else MARKERS[word]
                last = parts[-1]
                if last.marker and not (last.words or last.aside or last.passive):
                    last.marker += f" {marker}"
                else:
                    parts.append(_Open(marker))
            else:
                self._take(parts, word, lowered[:at], lowered[at + 1 :])
        return parts

    def _take(
        self, parts: list[_Open], word: str, before: Sequence[str], after: Sequence[str]
    ) -> None:
        part = parts[-1]
        if word in NEGATIONS:
            part.aside.append(NOT)
        elif word in MODALS and not (before and before[-1] in ARTICLES):  # a will is left, or read
            part.aside.append(MODALS[word])
        elif word in HAVE | GET and not _participle_follows(after):  # who has it is not who is it
            part.words.append(stem_of(word))
        elif word in BE | GET:
            part.passive = part.passive or _participle_follows(after)
            part.is_all = not part.passive
        elif thing := lacking(word):
            parts.insert(-1, _Open("without", [stem_of(thing)]))
        elif word in ARTICLES & LEFT_OUT:
            part.words.append(_ARTICLE)
        elif word not in LEFT_OUT:
            if part.passive and part.verb is None and is_participle(word):
                part.verb = len(part.words)
            part.words.extend(self._without_denial(part, word))

    def _without_denial(self, part: _Open, word: str) -> Iterator[str]:
        plain = denied(word)
        if plain and stem_of(plain) in self.known and stem_of(word) not in self.known:
            part.aside.append(NOT)
            return self._canonical(plain)
        return self._canonical(word)

    def _canonical(self, word: str) -> Iterator[str]:
        if _ORDINAL.fullmatch(word):
            yield f"{word}."
        elif word in self.names or any(sign.isdigit() for sign in word):
            yield _value(word)
        elif "-" in word and not numbers(word):
            for piece in word.split("-"):
                yield from self._canonical(piece)
        else:
            value = _value(word)
            yield value if value != word else stem_of(word)

    def _reach(self, words: Sequence[str]) -> int:
        """How many of the words an "of" takes: all of a name, or one."""
        run = 0
        while run < len(words) and (words[run] in self.names or words[run][:1].isdigit()):
            run += 1
        return max(1, run)


def _beginning(words: Sequence[str], end: int) -> int:
    """Where the words before an "of" begin: after their article, or with the last of them."""
    for at in range(end - 1, -1, -1):
        if words[at] == _ARTICLE:
            return at
    return max(0, end - 1)


def _active(parts: Sequence[_Open]) -> Iterator[_Open]:
    """ "B was sued by A" as "A sued B"."""
    passive: _Open | None = None
    for part in parts:
        if part.passive:
            passive = part
        if part.marker == _BY and passive is not None and passive.verb is not None:
            passive.made_active(part.words)
            passive = None
            part.words.clear()
            part.marker = ""
    return iter(parts)


def _participle_follows(words: Sequence[str]) -> bool:
    """Whether a passive goes on here: the participle stands before the next part begins."""
    for word in words:
        if word in MODALS or (word in MARKERS and word != _BY):
            return False
        if is_participle(word):
            return True
    return False


def _bare(token: str) -> str:
    return re.sub(r"'s?\Z", "", token)


def _value(word: str) -> str:
    """One form for equal numbers; but 3.2 and 3.20 are two versions, 12 and 12A two sections."""
    if "." in word or not (word.isalpha() or _AMOUNT.fullmatch(word)):
        return word
    found = numbers(word)
    return min(found[0].readings) if len(found) == 1 else word


# Which wordings of a question mean the same. What is not listed here counts as a difference, so
# a gap costs a miss and never a wrong hit.

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
