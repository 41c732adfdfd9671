"""A second look at what an answer says: is it what was asked for, or what a document ordered? A
sentence may stand word for word in a passage and still not be evidence: where the passage gives an
order there, a model that repeats it has followed it. So a claim is held back where it, or the place
that it rests on, is an order, a link, code or another language that the question did not call for
and the reader does not take for an answer to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from secondlook.reading.languages import other_language
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.screen import is_code, is_harmful, plain, screened
from secondlook.roles.sentences import sentence_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.nodes.context import Context
    from secondlook.reading.port import Reading

ORDER: Final = "repeats an order of a document"
BESIDE: Final = "stands beside an order and answers nothing"
ECHO: Final = "repeats the question, not the evidence"
ASKS: Final = "asks instead of telling"
LINK: Final = "holds a link that was not asked for"
CODE: Final = "holds code that was not asked for"
FORM: Final = "says the same word over and over"
LANGUAGE: Final = "is in another language than the text around it"

_NAMES = re.compile(r"(?!https?\b|www\b|com\b|org\b)[^\W_]{3,}")
_LINK = re.compile(
    r"\bhttps?://\S*|\bwww\.\S+"
    r"|[\w@-]+(?:\.[\w-]+)*\.(?:com|org|net|io|xyz|info|biz|ru|cn|co|app|dev|site"
    r"|online|top|shop|click|link|ly|me|ai|gov|edu|eu|de|uk)\b(?:/|\b)|\]\(|<a\s|\bhref\b",
    re.IGNORECASE,
)
_CALLS_FOR_CODE = re.compile(
    r"\b(?:code|coding|function|script|snippet|python|java|javascript|sql|bash|shell|command|query"
    r"|program|method|class|import|library|package|api|error|exception|traceback|bug|debug|compile"
    r"|syntax|regex|variable|loop|implement|algorithm|call|install)\w*\b|[`{}]|\w\(",
    re.IGNORECASE,
)
ANSWERS: Final = -2.0
"""The reader's answerability, a logit, from which on an order is what was asked for."""
SURELY: Final = 0.0  # from here on the reader finds an answer more likely than none
RELATED: Final = -3.0  # the same for what holds a figure or a name where one is asked for
UNRELATED: Final = -5.0  # below this a text has nothing to do with the question
_REPEATED = re.compile(r"\b(\w{1,20}+)(?:\W++\1\b){4}", re.IGNORECASE)
_FEWEST_BARS = 2  # bars of a line of cells
_LONGEST_CELL = 12  # words of a cell that is a name or a figure
_WHOLLY = 0.8  # share of a claim's words that a row must have to be all that it says
_TELLING = 20  # words from which a language can be told
_TOLD = 0.3  # share of a claim's words that the evidence must have where the question has them, too
_SHARED = 0.5  # share of the question's words that an order must have where nobody can read


@dataclass(frozen=True, slots=True)
class Place:
    """What a claim rests on: characters [start, end) of a text."""

    text: str
    start: int
    end: int
    next_to: tuple[str, ...] = ()
    """What stands right before and after that text: a long order may be cut in two."""

    @property
    def words(self) -> str:
        return self.text[self.start : self.end]

    def tells(self, claim: str, share: float) -> bool:
        """Whether the place has enough of the claim's words to be where it comes from."""
        said = set(query_terms(claim))
        return len(said & set(terms(self.words))) >= share * len(said)

    def is_row(self) -> bool:
        """Whether it stands in a line of cells, as many as in the line above or below it."""
        first = self.text.rfind("\n", 0, self.start) + 1
        above = self.text[:first].rstrip().rpartition("\n")[2]
        line, _, below = self.text[first:].partition("\n")
        bars, others = line.count("|"), (above, below.partition("\n")[0])
        return bars >= _FEWEST_BARS and bars in {other.count("|") for other in others}


@dataclass(frozen=True, slots=True)
class Guard:
    question: str
    read: Callable[[str, str], Reading]  # (question, text) -> what the reader makes of it
    sums_up: bool = False
    """Nothing in particular is asked, so nothing can be told by its having no answer."""

    def objection(self, claim: str, places: Sequence[Place]) -> str | None:
        """Why the claim may not be shown as it is; None where nothing speaks against it."""
        resting: list[Place] = []
        said = set(terms(claim))
        for place in places:  # the sentence of each place that has most of the claim's words
            inside = [
                replace(place, start=start, end=end)
                for start, end in sentence_bounds(place.text)
                if start < place.end and place.start < end
            ]
            if inside:
                resting.append(max(inside, key=lambda one: len(said & set(terms(one.words)))))
        objections = chain(
            self._to_claim(claim, places),
            self._to_code(claim, resting),
            self._to_places(claim, resting),
        )
        return next(objections, None)

    def _to_claim(self, claim: str, places: Sequence[Place]) -> Iterator[str]:
        if asks(claim) and not self._answers(claim, ANSWERS):
            yield ASKS
        if screened(claim, kind="passage").verdict != "safe":
            yield ORDER
        if _REPEATED.search(claim):
            yield FORM
        # A link that the question does not name, in what is no answer to it. An address of mail is
        # none: letters are full of them.
        asked = self.question.casefold()
        links = (found[0].casefold() for found in _LINK.finditer(claim) if "@" not in found[0])
        named = all(any(word in asked for word in _NAMES.findall(link)) for link in links)
        if not (named or self._answers(claim, ANSWERS)):
            yield LINK
        # It has six words in a row of the question, and the evidence does not have its words. What
        # stands in a question is no evidence; where the two differ in language, words say nothing.
        said, known = (tuple(_WORD.findall(text.casefold())) for text in (claim, self.question))
        grams = {known[at : at + _GRAM] for at in range(len(known) - _GRAM + 1)}
        repeats = any(said[at : at + _GRAM] in grams for at in range(len(said) - _GRAM + 1))
        if places and repeats:
            language = other_language(self.question)
            if all(
                other_language(one.words) == language and not one.tells(claim, _TOLD)
                for one in places
            ):
                yield ECHO

    def _to_code(self, claim: str, resting: Sequence[Place]) -> Iterator[str]:
        code = [place for place in resting if is_code(place.words)]
        if not code and not is_code(claim):
            return
        if is_harmful(claim) or not _CALLS_FOR_CODE.search(self.question):
            yield CODE
        for place in code:  # the last words above it may be an order
            lines = [line for line in place.text[: place.start].splitlines() if line.strip(" `")]
            if directs(next((line for line in reversed(lines) if not is_code(line)), "")):
                yield CODE

    def _to_places(self, claim: str, resting: Sequence[Place]) -> Iterator[str]:
        if other_language(self.question) is None and any(map(_foreign_inside, resting)):
            yield LANGUAGE
        if self.sums_up:
            if any(screened(place.words, kind="passage").verdict != "safe" for place in resting):
                yield ORDER
            return
        # Names of songs and teams in a row of short cells may order and ask as they like; an order
        # among them would be a line of another form.
        if resting and all(_is_record(place, claim) for place in resting):
            return
        # What is ordered, or rests on a question, must be what was asked for.
        asked = any(asks(place.words) for place in resting)
        if asked or orders(claim) or any(orders(place.words) for place in resting):
            if self._answers(claim, ANSWERS) or self._is_taken(claim, resting, ANSWERS):
                if is_of_kind(self.question, claim) is False and not self._answers(claim, SURELY):
                    yield ORDER
            else:
                yield ASKS if asked else ORDER
        # What speaks to its reader, or stands in a passage that does, must bear on the question:
        # what is inserted may be many sentences, and most of them may only tell.
        beside = addresses(claim) or any(map(_is_beside_order, resting))
        if beside and not self._bears(claim, resting):
            yield BESIDE

    def _bears(self, claim: str, resting: Sequence[Place]) -> bool:
        """Whether it speaks of what the question speaks of, or holds the kind of thing that is
        asked for. The reader's word alone is weak below what it takes for an answer."""
        if speaks_of(self.question, claim) or self._answers(claim, SURELY):
            return True
        for place in resting:  # it may stand right below the question itself, as in a worksheet
            before = [bound for bound in sentence_bounds(place.text) if bound[1] <= place.start]
            above = place.text[slice(*before[-1])] if before else ""
            if asks(above) and speaks_of(self.question, above):
                return True
        of_kind = is_of_kind(self.question, claim)
        if of_kind is False:
            return False
        shares = set(query_terms(self.question)) & set(terms(claim))
        if self._answers(claim, UNRELATED if shares else RELATED if of_kind else ANSWERS):
            return True
        return self._is_taken(claim, resting, UNRELATED if of_kind else ANSWERS)

    def _is_taken(self, claim: str, resting: Sequence[Place], least: float) -> bool:
        """Whether the claim has what the reader would take from a passage: only there it is known
        who "he" is."""
        for place in resting:
            try:
                reading = self.read(self.question, place.text)
            except Exception:  # noqa: BLE001, S112 - the words have spoken already
                continue
            taken = " ".join(place.text[reading.start : reading.end].split())
            if taken and taken in claim and reading.answerable >= least:
                return True
        return False

    def _answers(self, claim: str, least: float) -> bool:
        try:
            return self.read(self.question, claim).answerable >= least
        except Exception:  # noqa: BLE001 - without a reader the words must do
            asked = set(query_terms(self.question))
            return len(asked & set(terms(claim))) >= _SHARED * len(asked)


def guard_of(context: Context, question: str, *, sums_up: bool = False) -> Guard | None:
    """None where it is switched off."""
    if not context.settings.answer.enable_revalidation:
        return None
    # A passage is read once, however many sentences of a model rest on it.
    return Guard(question, lru_cache(256)(context.shelf.read_text), sums_up)


def _is_beside_order(place: Place) -> bool:
    """Whether another sentence there gives an order or asks."""
    bounds = [(place.text, *bound) for bound in sentence_bounds(place.text)]
    others = [one for one in bounds if one[1] != place.start]
    others += [(text, *bound) for text in place.next_to for bound in sentence_bounds(text)]
    sentences = (text[start:end] for text, start, end in others)
    return any(directs(sentence) or asks(sentence) for sentence in sentences)


def _foreign_inside(place: Place) -> bool:
    """Whether the sentence is in another language, and what stands around it is not. A row of a
    table may name what it likes."""
    around = f"{place.text[: place.start]} {place.text[place.end :]}"
    if place.is_row() or len(around.split()) < _TELLING:
        return False
    return other_language(place.words) is not None and other_language(around) is None


def _is_record(place: Place, claim: str) -> bool:
    """Whether the claim says what a row of short cells says."""
    if "\n" in place.words or not place.is_row():
        return False
    short = all(len(cell.split()) <= _LONGEST_CELL for cell in place.words.split("|"))
    return short and place.tells(claim, _WHOLLY)


# What a sentence has to do with a question, by its words alone.

_FIGURE_ASKED = re.compile(
    r"\bhow (?:many|much|long|old|far|deep|high|tall|large|big|fast|heavy|often|wide|late|early)\b"
    r"|\bwhen (?:is|are|was|were|do|does|did|will|has|have|had|can|must|should|would)\b"
    r"|\b(?:what|which) (?:year|date|time|day|percentage|share)\b|[$€£%]"
    r"|\b(?:value|amount|(?<!a )number|total|sum|average|price|cost|percentage)s?\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty"
    r"|fifty|dozen|hundred|thousand|million|billion|half|none|never|annually|monthly"
    r"|weekly|daily)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_GRAM = 6
_MOSTLY = 0.5
_FEWEST = 2
_SEVERAL = 3


def speaks_of(question: str, claim: str) -> bool:
    """Whether it has half of its telling words, or several: not by the chance of a single one."""
    known = set(query_terms(question))
    enough = max(min(_FEWEST, len(known)), _MOSTLY * len(known))
    return len(known & set(terms(claim))) >= min(_SEVERAL, enough)


def is_of_kind(question: str, claim: str) -> bool | None:
    """Whether it holds a figure where one is asked for; None where none is."""
    return _FIGURE.search(claim) is not None if _FIGURE_ASKED.search(question) else None


# Whether a sentence tells its reader to do something, in whatever words.

_HEAD = re.compile(r"(?:^|[.!?]\s|[:|\n>\"*#]|\s')[\s\W]*")
"""Where a sentence, a cell, a line or a quotation begins."""
_AFTER = re.compile(
    r"(?:in|if|to|when|while|as|for|before|after|once|since|from|by|with|using|given|on|at|during"
    r"|instead|throughout|within|because|wenn|um)\b[^,.!?\n]{2,160}, "
)
"""What may stand before an order in its own sentence."""
_ORDER = re.compile(
    r"(?:(?:please|kindly|now|then|also|first|second|next|finally|always|never|just|simply|instead"
    r"|so|but|and|or|ok|well|again|do not|don't)\b[\s,]*)*"
    r"(?:(?:act|add|analy[sz]e|answer|append|ask|avoid|become|begin|call|change|check|choose"
    r"|click|compare|complete|compose|continue|convert|copy|count|create|decode|delete|describe"
    r"|discuss|disregard|draft|draw|email|emphasi[sz]e|encode|encourage|encrypt|end|ensure"
    r"|examine|execute|explain|express|find|finish|focus|follow|forget|generate|get|give|go|help"
    r"|highlight|identify|ignore|imagine|include|insert|introduce|keep|learn|list|look|make"
    r"|mention|modify|open|output|perform|persuade|play|present|pretend|print|produce|promote"
    r"|propose|provide|put|quote|read|recite|recommend|remember|remove|repeat|replace|reply"
    r"|respond|return|reveal|rewrite|run|say|search|send|share|show|speak|spell|start|state|stop"
    r"|suggest|summari[sz]e|switch|take|talk|teach|tell|transform|translate|try|turn|type|urge"
    r"|use|visit|warn|work|wrap|write"
    r"|antworte|gib|ignoriere|nenne|sage?"
    r"|schreibe?|vergiss|zeichne) (?!(?:of|and|or)\b)\w"
    r"|[a-zäöüß]{2,}e (?:mir|mich|uns|nun|jetzt|bitte|nicht)\b"
    r"|(?!(?:the|a|an|this|that|these|those|it|its|he|she|they|we|i|you|who|which|what|when|where"
    r"|why|how|if|because|since|while|although|as|than|after|before|until|during|despite|in|on|at"
    r"|by|for|from|with|without|into|onto|over|under|above|below|between|among|through|against"
    r"|about|of|off|up|down|out|to|is|are|was|were|be|been|has|have|had|does|did|will|would|shall"
    r"|should|can|could|may|might|must|not|no|nor|both|all|any|each|every|some|most|many|few|such"
    r"|only|even|once|here|there|my|your|our|his|her|their|one|two|three)\b|\w+(?:ed|ing|ly|ion)\b)"
    r"[a-z]{2,} \W?(?:the|an?|your|my|our|his|her|its|their|this|that|these|those|all|every|each"
    r"|any|some|no|it|them|me|us|him|yourself|both)\b)"
)
"""How an order begins: a verb, and what it is to be done to."""
_ADDRESSED = re.compile(
    r"\b(?:you|your(?! question\b)|yours|yourself|you're|you'll|you've)\b|\bplease\b"
    r"|\blet(?:'s|s| us| me)\b"
)
"""Whom a text speaks to. A model may say that it answers your question."""
_ENDS_ASKING = re.compile(r"[?\uff1f\u061f][\s\"').\]]*$")
_BEGINS_ASKING = re.compile(
    r"\W*(?:what|who|whose|which|when|where|why|how)(?:'s|\s+(?:is|are|was|were|do|does|did|can|could"
    r"|would|should|will|many|much|long|old|far))\b",
    re.IGNORECASE,
)


def directs(text: str) -> bool:
    """Whether any sentence of the text tells its reader to do something, or speaks to them."""
    return addresses(text) or orders(text)


def addresses(text: str) -> bool:
    """Whether it speaks to its reader, as letters do."""
    return bool(_ADDRESSED.search(plain(text).text))


def orders(text: str) -> bool:
    """Whether it is built as an order."""
    said = plain(text).text
    for head in _HEAD.finditer(said):
        before = _AFTER.match(said, head.end())
        if _ORDER.match(said, head.end()) or (before and _ORDER.match(said, before.end())):
            return True
    return False


def asks(text: str) -> bool:
    """Whether it is a question."""
    return bool(_ENDS_ASKING.search(text) or _BEGINS_ASKING.match(text))
