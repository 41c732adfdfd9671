"""Words of a question that stand for something which the question itself does not name.

English only, and by the form of the question: a word counts as unclear only where the question has
one of a few forms in which nothing before it can be what it stands for. "How does a plant make its
food?" names the plant; "When did she leave her group?" names nobody.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from secondlook.nodes.follow_up import LONGEST, names
from secondlook.retrieval.analyse import query_terms

Kind = Literal["person", "group", "thing", "place", "noun"]
"""What is looked for: `noun` is a thing of the kind that the word itself says, as an album."""


@dataclass(frozen=True, slots=True)
class Unclear:
    word: str
    """As it is written: `she`, `The album`."""
    start: int
    end: int
    kind: Kind
    noun: str = ""
    """Of kind `noun`: the noun alone, in small letters."""
    owns: bool = False
    """Whether something of its own follows: "her group"."""


_PERSON = frozenset({"he", "she", "him", "his", "her", "hers"})
_GROUP = frozenset({"they", "them", "their", "theirs"})
_ALWAYS_OWNS = frozenset({"his", "their", "its"})

_AUX = (
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|might|must)"
    r"(?:n['\u2019]t| not)?"
)
_WH = r"(?:who|whom|whose|what|which|when|where|why|how)"
_PREPOSITION = r"(?:in|on|at|to|from|for|with|by|after|before|during|since|until|about|under)"
_AFTER_HER = (
    r"(?=\s*(?:[^\w\s]|\Z)|\s+(?:in|on|at|to|from|for|with|by|after|before|as|and|or|when|while|"
    r"during|about|into|if|out|back|up|off|do|die|go|get|the|a|an)\b)"
)
# What is asked for, "what kind of music", "how many people": no article, so it names nothing.
_ASKED_FOR = (
    r"(?P<asked>(?:\s+(?!(?:the|a|an|that|this|these|those|who|which|when|whose)\b)[\w-]+){0,5}?)"
)
_SUBJECT = r"(?P<word>he|she|they|it|his|her|their|its|this|that(?=\s*[?.!]*\Z))\b(?!['\u2019])"
_OBJECT = rf"(?P<word>him|them|it|her(?:{_AFTER_HER}))(?!['\u2019\w])"
_OWNER = r"(?P<word>his|her|their|its)\b"
_DID = (
    r"(?:[a-z]+ed|wrote|made|built|led|ran|won|sang|found|began|taught|bought|sold|gave|took|shot|"
    r"beat|drew|caught)"
)
_NOT_OWNING = re.compile(_AFTER_HER, re.IGNORECASE)
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        # When did she leave her group? In what year was it built? Did they win?
        rf"(?:(?:and|so|but)\s+)?(?:(?:{_PREPOSITION}\s+)?{_WH}{_ASKED_FOR}\s+)?{_AUX}\s+{_SUBJECT}",
        # In 1990, what did she do?
        rf"(?:in|by|after|before|since|during)\s+\d{{4}}s?,?\s+{_WH}{_ASKED_FOR}\s+{_AUX}\s+{_SUBJECT}",
        # Who is her husband? What was the name of their first album?
        rf"{_WH}\s+(?:is|are|was|were)\s+(?:the\s+(?:[a-z-]+\s+){{1,3}}of\s+)?{_OWNER}",
        # Who wrote it? What caused it? What happened to her in 1990?
        rf"(?:who|what)\s+{_DID}\s+{_OBJECT}(?!\s+{_AUX}\b)",
        rf"what\s+(?:happened|became|was\s+said)\s+(?:to|of|with|about)\s+{_OBJECT}",
        r"what\s+happened\s+(?:when|after|before|while)\s+(?P<word>he|she|they|it)\b",
        rf"(?:please\s+)?(?:tell\s+me|say|explain)(?:\s+(?:more|something))?\s+about\s+{_OBJECT}",
        # In her first book, what ...
        rf"{_PREPOSITION}\s+{_OWNER}(?=[^,]{{3,60}},\s+{_WH}\b)",
    )
)
# It stands for nothing, or for what comes after it: "is it true that", "what is it called when".
_EMPTY = re.compile(
    r"\bit\s+(?:(?!and\b|or\b|in\b)[a-z]+\s+){0,2}(?:"
    r"true|possible|impossible|legal|illegal|allowed|suggested|decided|thought|believed|custom|clear|likely|known|said|take|takes|took|taken|rain\w*|snow\w*|mean|means|meant|"
    r"necessary|important|worth|rude|cold|hot|warm|dark|late|early|cost|costs|matter|"
    r"matters|seem\w*|appear\w*|happen\w*|feel|like|that|who|when|if|time|easier|harder|better|best|"
    r"common|difficult|hard|easy|safe|dangerous)\b"
    r"|\bit\s+[\w-]+\s+(?:that|to|when|if|for|where)\s+\w"
    r"|\b(?:time is|far is|far was|decision was|turn was) it\b"
    r"|\b(?:cold|hot|warm|wet|dark) (?:can|does|did|is|was|will) it\b|\bit\s+(?:to|from)\s+\w"
    r"|\A(?:is|was)\s+it\s.*\bthat\b|\bit\s+(?:make|made)\s+sense\b|\bit\s+\d",
    re.IGNORECASE,
)
_HAPPENS = re.compile(
    r"\s*(?:[?.!]|\Z)|\s+(?:happen|occur|take\s+place|begin|start|end|change|mean|come\s+about|"
    r"called|known|done|made|built|founded|written|discovered|invented)\b",
    re.IGNORECASE,
)
# "What companies have their ...", "who is the best of its kind".
_BOUND = re.compile(r"\b(?:has|have|had)\s+\Z", re.IGNORECASE)
_OWN_KIND = re.compile(r"\s+(?:kind|own|sort|type|day|time|class|era)\b", re.IGNORECASE)
_THERE = re.compile(
    r"(?<!\bis)(?<!\bare)(?<!\bwas)(?<!\bwere)\s(?P<word>there)(?=\s*[?.!]*\Z)", re.IGNORECASE
)

_NOUNS = (
    "album", "song", "film", "movie", "book", "novel", "poem", "band", "singer", "author", "writer",
    "composer", "artist", "company", "firm", "war", "battle", "treaty", "debut", "show", "series",
    "team", "club", "festival", "debut album", "tv show",
)  # fmt: skip
"""Nouns that "the" makes one of: which one must have been said."""
_POINTED_AT = (
    *_NOUNS, "city", "town", "country", "region", "area", "river", "lake", "mountain", "island",
    "building", "bridge", "university", "school", "museum", "church", "king", "queen", "emperor",
    "president", "pope", "event", "conflict", "organization", "organisation", "agency", "disease",
    "man", "woman", "person", "scientist", "philosopher", "player", "actor", "actress", "dynasty",
    "empire", "kingdom", "party", "movement", "religion", "language", "animal", "species", "game",
)  # fmt: skip
"""The same for "this"."""
_AFTER_NOUN = (
    rf"(?=\s*(?:[?.!,]|\Z)|\s+(?:{_AUX}|[a-z]+ed|written|made|built|won|set|shot|sung|sold|begin|"
    r"start|end|come|go|take|sell|win|get|play|happen|called|released?|named)\b)"
)
_VAGUE = re.compile(
    rf"\b(?P<word>the\s+(?P<noun>{'|'.join(sorted(_NOUNS, key=len, reverse=True))})"
    rf"|this\s+(?P<pointed>{'|'.join(_POINTED_AT)}))\b(?!['\u2019]){_AFTER_NOUN}",
    re.IGNORECASE,
)
_ASKS = re.compile(rf"(?:{_PREPOSITION}\s+)?{_WH}\b|{_AUX}\s", re.IGNORECASE)
_CHOICE = re.compile(rf"(?:{_PREPOSITION}\s+)?(?:what|which|whose)\s+\w+", re.IGNORECASE)
_FIGURE = re.compile(r"\d|[\"\u201c\u201d]")
_MOST_WORDS = 5
"""Telling words beside a vague noun: a question that has more says which one it means."""


def unresolved(question: str) -> Unclear | None:
    """The first word that nothing in the question says the meaning of; None where all is clear."""
    text = question.strip()
    if not text or len(text) > LONGEST:
        return None
    shift = question.index(text)
    plain = text.capitalize() if text.isupper() else text
    found = _pronoun(plain) or _place(plain) or _vague(plain)
    if found is None:
        return None
    start, end = found.start + shift, found.end + shift
    return Unclear(question[start:end], start, end, found.kind, found.noun, found.owns)


def _pronoun(text: str) -> Unclear | None:
    found = next((match for form in _FORMS if (match := form.match(text))), None)
    if found is None or _is_empty(text, found) or _is_named(text, found):
        return None
    word, end = found["word"].casefold(), found.end("word")
    if word in {"this", "that"} and not _HAPPENS.match(text, end):
        return None  # "this region": a vague noun, or none of ours
    if word in _ALWAYS_OWNS and _BOUND.search(text[: found.start("word")]):
        return None
    if _OWN_KIND.match(text, end):
        return None
    owns = word in _ALWAYS_OWNS or (word == "her" and not _NOT_OWNING.match(text, end))
    return Unclear(found["word"], found.start("word"), end, _kind(word), owns=owns)


def _kind(word: str) -> Kind:
    if word in _PERSON:
        return "person"
    return "group" if word in _GROUP else "thing"


def _is_empty(text: str, found: re.Match[str]) -> bool:
    return found["word"].casefold() == "it" and bool(_EMPTY.search(text))


def _is_named(text: str, found: re.Match[str]) -> bool:
    """Whether the question names what the word may stand for: before it, or after it in another
    clause ("In her first book, what does Austen ...", "she (Austen)")."""
    before = text[: found.start("word")]
    if any(True for _ in names(before[:1].lower() + before[1:])):
        return True
    after = text[found.end("word") :]
    clauses = re.search(r"[,(:;\u2013\u2014]", after)
    return clauses is not None and any(True for _ in names(after[clauses.start() :]))


def _place(text: str) -> Unclear | None:
    found = _THERE.search(text)
    if found is None or not _ASKS.match(text) or _has_anchor(text):
        return None
    if re.search(r"\b(?:the|a|an|this)\b", text[: found.start()], re.IGNORECASE):
        return None
    return Unclear(found["word"], found.start("word"), found.end("word"), "place")


def _vague(text: str) -> Unclear | None:
    found = _VAGUE.search(text)
    if found is None or not _ASKS.match(text) or _has_anchor(text):
        return None
    noun = " ".join((found["noun"] or found["pointed"]).casefold().split())
    rest = set(query_terms(text)) - set(query_terms(noun))
    if len(rest) > _MOST_WORDS or (noun in _CHOICE.findall(text.casefold())):
        return None
    return Unclear(found["word"], found.start("word"), found.end("word"), "noun", noun)


def _has_anchor(text: str) -> bool:
    """A name, a figure or a quotation: something that says which one is meant."""
    return bool(_FIGURE.search(text)) or any(True for _ in names(text[:1].lower() + text[1:]))
