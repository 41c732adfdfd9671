"""Follow-up questions made stand-alone by rules: pronouns and ellipses take what they stand for
from the turns before. English only, and careful: what may be clear already stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from secondlook.answer import Step, Trouble, Usage
from secondlook.events import NodeFinished, Warned
from secondlook.retrieval.terms import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.answer import ResultTable
    from secondlook.events import Event

LONGEST = 400
_LONGEST_NAME = 8
_LONGEST_SHORT = 8

_WORD = re.compile(r"[^\W_]+(?:[-'’.&][^\W_]+)*")  # noqa: RUF001
_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
_SMALL = frozenset(STOP_WORDS["english"]) | frozenset(
    """i'm it's what's who's that's there's he's she's they're also else ever many much yes no ok
    tell give show list name explain describe find please besides any anything besides
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday""".split()  # noqa: SIM905
)
_JOINING = frozenset({"of", "the", "and", "de", "von", "van", "la", "le", "du", "for", "in", "&"})

_PERSON = frozenset({"he", "she", "him", "his", "her", "hers", "himself", "herself"})
_GROUP = frozenset({"they", "them", "their", "theirs"})
_THING = frozenset({"it", "its"})
_OWNING = frozenset({"his", "their", "its", "hers", "theirs"})
_PRONOUN = re.compile(
    rf"\b(?:{'|'.join(sorted(_PERSON | _GROUP | _THING))})\b(?!['’](?!s\b))",  # noqa: RUF001
    re.IGNORECASE,
)
# "her" owns what follows unless nothing, or the next phrase, does.
_HER_ALONE = re.compile(
    r"\s*(?:[^\w\s]|\Z|\b(?:in|on|at|to|from|for|with|by|after|before|as|and|or|when|while|during|"
    r"about|into|if|that|out|back|up|off|do|die|go|get|a|an|the|any)\b)",
    re.IGNORECASE,
)
# It stands for nothing: "is it true that", "what time is it", "how long does it take".
_EMPTY_IT = re.compile(
    r"\bit\b(?=\s+(?:true|possible|clear|likely|known|said|take|takes|took|rain|rains|mean|"
    r"means|necessary|important|worth|rude|legal|cold|warm)\b)|(?<=time is )it\b",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?:and\s+|but\s+|so\s+)?(?P<word>why|when|where|how|who|since when|how much|how many|"
    r"how long|by whom|why not)\s*\??",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:(?:and|but|so|ok|okay|then)[, ]+)?(?:what|how)\s+(?:about|of)\s+(?P<rest>.+?)\s*[?.!]*",
    re.IGNORECASE,
)
_AND = re.compile(
    r"(?i:and|or|but)\s+(?P<rest>(?:in|on|at|for|with|without|from|to|by|since|until|before|after|"
    r"during|under|over|the|a|an|this|that|last|next|its|their|his|her|\d|[A-Z]).*?)\s*[?.!]*",
)
_PHRASE = re.compile(
    r"\b(?:the|this|that|these|those|our|my|its|a|an)\s+(?:[^\W\d_][\w'’-]*\s+)?"  # noqa: RUF001
    r"[^\W\d_][\w'’-]*(?:\s+\d[\w.]*)?(?=\s*(?:[?.,;!]|\Z|\s(?:in|on|at|of|for|with|from|to|by|is|"  # noqa: RUF001
    r"about|are|was|were|do|does|did|have|has|had|since|during|after|before|and|or)\b))"
    r"|\b[^\W\d_][\w'’-]*\s+\d[\w.]*"  # noqa: RUF001
    r"|(?:(?<=\bdo )|(?<=\bdid )|(?<=\bare )|(?<=\bwere )|(?<=\bhave ))"
    r"(?!this\b|his\b|its\b|others\b)(?:[^\W\d_]{3,}\s+)?[^\W\d_]{2,}(?<!s)s\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?P<wh>(?:who|whom|whose|what|which|when|where|why|how(?:\s+(?:much|many|long|often|far|deep|"
    r"old|big|high))?)\s+)?(?P<rest>(?:is|are|was|were|do|does|did|has|have|had|can|could|will|"
    r"would|should|may|might|must)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_ADVERBIAL = re.compile(
    r"(?:in|on|at|for|with|without|from|to|by|since|until|before|after|during|under|over|last|"
    r"next)\b",
    re.IGNORECASE,
)
_POINTING = frozenset({"this", "that", "these", "those", "a", "an", "its", "my"})
_AUXILIARIES = frozenset(
    """is are was were do does did has have had can could will would should about and not
    """.split()  # noqa: SIM905
)
_PREPOSITIONS = frozenset(
    "in on at of with for from to by about during as against under near into".split()  # noqa: SIM905
)
_NO_PHRASE = _POINTING | _PREPOSITIONS | {"any", "all", "some", "many", "they", "you", "we"}
_WHO = re.compile(
    r"(?:\w+ )?who(?:m|se)?\b|(?:what|which) (?:group|band|team|company|person)\b", re.IGNORECASE
)
_WHICH = re.compile(r"(?:what|which)\b", re.IGNORECASE)
_ASIDE = re.compile(r"\s*\([^()]*\)")
_LONGEST_PERSON = 4
_THERE = re.compile(
    r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )\bthere(?=\s*[?.!]*\Z)", re.IGNORECASE
)
_WHERE = re.compile(
    r"(?:\w+ )?where\b|(?:in |at )?(?:what|which) (?:place|town|city|country|port)\b", re.IGNORECASE
)
_LEANING = re.compile(
    r"\b(?:this|that|these|those|one|ones|there|then|same|other|others|another|else|also|"
    r"instead|former|latter|such)\b",
    re.IGNORECASE,
)
_FEW_WORDS = 3


def leans(question: str) -> bool:
    """Whether the question may need the turns before it: worth asking a model about."""
    if len(question) > LONGEST:
        return False
    if _PRONOUN.search(question) or _LEANING.search(question) or _ellipsis(question):
        return True
    telling = [word for word in _WORD.findall(question) if word.casefold() not in _SMALL]
    return len(telling) < _FEW_WORDS and not any(names(question))


def stand_alone(question: str, turns: Sequence[Turn]) -> str:
    """The question with pronouns and ellipses filled in; unchanged where that is not safe."""
    if not turns or len(question) > LONGEST:
        return question
    last = turns[-1]
    filled = _completed(question, last) or question
    return _resolved(_placed(filled, last), turns)


def names(text: str) -> Iterator[str]:
    """Runs of capitalised words, as names are written: "Zappa and the Mothers of Invention"."""
    held: list[re.Match[str]] = []
    for word in [*_WORD.finditer(text), None]:
        small = word[0].casefold() if word else ""
        gap = bool(word and held and text[held[-1].end() : word.start()].strip(" "))
        begins = word is not None and _is_capital(word[0]) and small not in _SMALL
        goes_on = word is not None and (_is_capital(word[0]) or small in _JOINING)
        if held and not gap and word and goes_on:
            held.append(word)
            continue
        while held and (held[-1][0].casefold() in _JOINING or not _is_capital(held[-1][0])):
            held.pop()
        if 0 < len(held) <= _LONGEST_NAME and held[-1].end() - held[0].start() > 1:
            yield re.sub(r"['’]s\Z", "", text[held[0].start() : held[-1].end()])  # noqa: RUF001
        held = [word] if word and begins else []


def _is_capital(word: str) -> bool:
    return word[:1].isupper() or (word[:1].isdigit() and len(word) < len("1234"))


# Ellipses


def _ellipsis(question: str) -> bool:
    return any(form.fullmatch(question.strip()) for form in (_BARE, _ABOUT, _AND))


def _completed(question: str, last: Turn) -> str | None:
    """ "And in 2023?" as the whole question that it is short for."""
    whole = question.strip()
    if bare := _BARE.fullmatch(whole):
        word, asking = bare["word"], _ASKING.fullmatch(last.asked.strip())
        if not asking or (asking["wh"] or "").casefold().split()[:1] == [word.casefold()]:
            return None
        rest = asking["rest"]
        return f"{word[0].upper()}{word[1:]} {rest[0].lower()}{rest[1:].rstrip(' ?.!')}?"
    about = _ABOUT.fullmatch(whole) or _AND.fullmatch(whole)
    if not about or _PRONOUN.search(about["rest"]):
        return None
    return _swapped(about["rest"], last.asked)


def _swapped(new: str, before: str) -> str:
    """The question before with the part that `new` is like replaced by it, or `new` added."""
    stem = before.strip().rstrip(" ?.!")
    if old := _alike(new, stem):
        return f"{stem[: old[0]]}{new}{stem[old[1] :]}?"
    return f"{stem} {new}?" if _is_adverbial(new) else f"{stem}: {new}?"


def _is_adverbial(new: str) -> bool:
    return bool(_ADVERBIAL.match(new) or _YEAR.fullmatch(new))


def _alike(new: str, stem: str) -> tuple[int, int] | None:
    year = _YEAR.search(stem)
    if _YEAR.search(new):
        if year is None:
            return None
        preposition = re.search(
            r"\b(?:in|since|until|before|after|during|by)\s+\Z", stem[: year.start()]
        )
        whole = preposition and not _YEAR.fullmatch(new)
        return (preposition.start() if preposition and whole else year.start()), year.end()
    if _is_adverbial(new):
        return None
    places = [(found.start(), found.end()) for found in _PHRASE.finditer(stem)]
    if head := _same_head(new, stem, places):
        return head
    if next(names(new), None) is not None:
        found = [name for name in names(stem) if name.casefold() not in _SMALL]
        if len(found) == 1:
            at = stem.rfind(found[0])
            return at, at + len(found[0])
    return places[0] if len(places) == 1 else None


def _same_head(new: str, stem: str, places: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The phrase with the same noun: "the south quay" for "the north quay", "berth 4"."""
    wanted = [word.casefold() for word in _WORD.findall(new) if not word[0].isdigit()]
    for start, end in places:
        said = [word.casefold() for word in _WORD.findall(stem[start:end]) if not word[0].isdigit()]
        if wanted and said and wanted[-1] == said[-1]:
            return start, end
    return None


# Pronouns


def _resolved(question: str, turns: Sequence[Turn]) -> str:
    found = _PRONOUN.search(question)
    if found is None or _EMPTY_IT.search(question):
        return question
    if any(True for _ in names(_without_first(question[: found.start()]))):
        return question  # what it stands for is named in the question itself
    said = question.casefold()
    candidates = antecedents(found[0].casefold(), turns)
    meant = next((name for name in candidates if name.casefold() not in said), None)
    if meant is None:
        return question
    before, after = question[: found.start()], question[found.end() :]
    return f"{before}{_inflected(found, question, meant)}{after}"


def _placed(question: str, last: Turn) -> str:
    """ "Who lives there?" with the place that the question before asked for."""
    place = next(_answered(last, _WHERE), None)
    return _THERE.sub(lambda _: f"in {place}", question) if place else question


def _without_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _inflected(pronoun: re.Match[str], question: str, meant: str) -> str:
    word = pronoun[0].casefold()
    owns = word in _OWNING or (word == "her" and not _HER_ALONE.match(question, pronoun.end()))
    if not owns:
        return meant
    return f"{meant}'" if meant.endswith("s") else f"{meant}'s"


def antecedents(pronoun: str, turns: Sequence[Turn]) -> Iterator[str]:
    last = turns[-1]
    if pronoun in _PERSON:
        yield from filter(_may_be_person, _answered(last, _WHO))
        yield from filter(_may_be_person, _named(turns, acting=True))
        return
    plural = pronoun in _GROUP
    yield from _answered(last, _WHO if plural else _WHICH)
    yield from _subjects(last.asked, acting=plural)
    yield from _phrases(last.asked, plural=plural)
    yield from _named(turns, acting=plural)
    for turn in reversed(turns):
        yield from _phrases(turn.asked, plural=plural)


def _answered(turn: Turn, asking: re.Pattern[str]) -> Iterator[str]:
    """The name that answered, where the question asked for one of this kind."""
    if turn.short and asking.match(turn.asked) and len(_WORD.findall(turn.short)) <= _LONGEST_SHORT:
        found = list(names(turn.short))
        if len(found) == 1:
            yield found[0]


def _named(turns: Sequence[Turn], *, acting: bool) -> Iterator[str]:
    """Names: those that the questions are about, those that the documents are about, the rest."""
    for turn in reversed(turns):
        yield from _subjects(turn.asked, acting=acting)
    yield from _topics(turns)
    for turn in reversed(turns):
        yield from names(_without_first(turn.asked))


def _subjects(asked: str, *, acting: bool) -> Iterator[str]:
    """Names that a question is about: who does something, or else what is not a mere place, time
    or company of it."""
    text = _without_first(asked)
    for name in names(text):
        before = [word.casefold() for word in _WORD.findall(text[: text.find(name)])]
        article = f"{before.pop()} " if before and before[-1] == "the" else ""
        last = before[-1] if before else ""
        if (not last or last in _AUXILIARIES) if acting else last not in _PREPOSITIONS:
            yield f"{article}{name}"


def _topics(turns: Sequence[Turn]) -> Iterator[str]:
    """Titles of documents that are about somebody or something, which the turns then name."""
    said = " ".join(f"{turn.asked} {turn.text}" for turn in turns)
    named = {word for name in names(said) for word in _WORD.findall(name)}
    for title in dict.fromkeys(title for turn in reversed(turns) for title in turn.titles):
        topic = _ASIDE.sub("", title).strip()
        telling = [word for word in _WORD.findall(topic) if _is_capital(word)]
        known = named.intersection(telling)
        if 2 * len(known) >= len(telling) > 0 and not any(sign.isdigit() for sign in topic):
            yield topic


def _may_be_person(name: str) -> bool:
    words = name.split()
    return len(words) <= _LONGEST_PERSON and all(
        word[:1].isupper() and not any(sign.isdigit() for sign in word) for word in words
    )


def _phrases(text: str, *, plural: bool) -> Iterator[str]:
    for found in _PHRASE.finditer(text):
        words = found[0].split()
        if words[0].casefold() in _NO_PHRASE or words[-1].endswith(("ed", "ing")):
            continue
        if plural == (words[-1].endswith("s") and not words[-1].endswith("ss")):
            yield found[0]


# The turns of a conversation, and a question made stand-alone from them: data only.


@dataclass(frozen=True, slots=True)
class Turn:
    asked: str
    """Stand-alone, as it was worked on."""
    short: str | None = None
    text: str = ""
    titles: tuple[str, ...] = ()
    asks_back: str | None = None
    """What was asked in return, where the question had several readings."""
    table: ResultTable | None = None


@dataclass(frozen=True, slots=True)
class StandAlone:
    """A question as it is worked on, how it became so, and what that took."""

    asked: str
    steps: tuple[Step, ...] = ()
    warnings: tuple[Trouble, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def events(self, run: str) -> Iterator[Event]:
        for trouble in self.warnings:
            yield Warned(run=run, trouble=trouble)
        for step in self.steps:
            yield NodeFinished(
                run=run,
                node=step.node,
                said=step.said,
                numbers=step.numbers,
                seconds=self.usage.seconds,
            )
