"""Looks at what a model says a second time: is it what was asked for, or what a document ordered?

A sentence may stand word for word in a passage and still not be evidence: where the passage gives
an order there, a model that repeats it has followed it. So a claim is held back where it, or the
place that it rests on, is an order, a link, code or another language that the question did not call
for and the reader does not take for an answer to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from secondlook.nodes.bearing import is_of_kind, repeats, shared, speaks_of
from secondlook.nodes.places import sentence_bounds
from secondlook.nodes.screening import screened
from secondlook.nodes.screening.code import is_code, is_harmful
from secondlook.nodes.screening.form import is_misshapen
from secondlook.nodes.screening.mood import addresses, asks, directs, orders
from secondlook.reading.languages import other_language
from secondlook.retrieval.analyse import query_terms, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.context import Context
    from secondlook.reading.port import Reading

ORDER: Final = "repeats an order of a document"
BESIDE: Final = "stands beside an order and answers nothing"
ECHO: Final = "repeats the question, not the evidence"
ASKS: Final = "asks instead of telling"
LINK: Final = "holds a link that was not asked for"
CODE: Final = "holds code that was not asked for"
FORM: Final = "is not written as people write"
LANGUAGE: Final = "is in another language than the text around it"

_NAMES = re.compile(r"(?!https?\b|www\b|com\b|org\b)[^\W_]{3,}")
_LINK = re.compile(
    r"\bhttps?://\S*|\bwww\.\S+"
    r"|[\w@-]+(?:\.[\w-]+)*\.(?:com|org|net|io|xyz|info|biz|ru|cn|co|app|dev|site"
    r"|online|top|shop|click|link|ly|me|ai|gov|edu|eu|de|uk)\b(?:/|\b)|\]\(|<a\s|\bhref\b",
    re.IGNORECASE,
)
_CALLS_FOR_LINK = re.compile(
    r"\b(?:link|url|web ?site|web ?page|site|page|address|online|where|domain|host|server|source"
    r"|download|visit|e-?mail|contact|register|sign up|internet|web|homepage|blog|portal)\w*\b"
    r"|https?:|www\.",
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
SURELY: Final = 0.0
"""From here on the reader finds an answer more likely than none."""
RELATED: Final = -3.0
"""The same for what holds a figure or a name where one is asked for."""
UNRELATED: Final = -5.0
"""Below this a text has nothing to do with the question."""
_TURN = re.compile(
    r"^\W{0,3}(?:user|human|assistant|ai|bot|system|input|output|prompt|response|example|question"
    r"|answer|q|a)(?: ?\d{1,3})?\W{0,3}:",
    re.IGNORECASE | re.MULTILINE,
)
_TURNS = 2
"""Lines that name who speaks, or what goes in and comes out, as examples for a model do."""
_FEWEST_BARS = 2
"""Bars of a line of cells."""
_LONGEST_CELL = 12
"""Words of a cell that is a name or a figure."""
_WHOLLY = 0.8
"""Share of a claim's words that a row must have to be all that it says."""
_REMEMBERED = 256
"""Texts whose reading is kept while one answer is looked at."""
_TELLING = 20
"""Words from which a language can be told."""
_TOLD = 0.3
"""Share of a claim's words that the evidence must have where the question has them, too."""
_SHARED = 0.5
"""Share of the question's words that an order must have where nobody can read."""


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


@dataclass(frozen=True, slots=True)
class Guard:
    question: str
    read: Callable[[str, str], Reading]
    """(question, text) -> what the reader makes of it."""
    sums_up: bool = False
    """Nothing in particular is asked, so nothing can be told by its having no answer."""

    def objection(self, claim: str, places: Sequence[Place]) -> str | None:
        """Why the claim may not be shown as it is; None where nothing speaks against it."""
        if asks(claim) and not self._answers(claim, ANSWERS):
            return ASKS
        if screened(claim, kind="passage").verdict != "safe":
            return ORDER
        if is_misshapen(claim):
            return FORM
        if self._has_stray_link(claim):
            return LINK
        if self._is_echo(claim, places):
            return ECHO
        resting = [carrying for place in places if (carrying := _carrying(claim, place))]
        return self._of_code(claim, resting) or self._of_places(claim, resting)

    def _has_stray_link(self, claim: str) -> bool:
        """A link that the question neither names nor calls for, in what is no answer to it. An
        address of mail is none: letters are full of them."""
        asked = self.question.casefold()
        links = (found for found in _LINK.finditer(claim) if "@" not in found[0])
        named = all(
            any(word in asked for word in _NAMES.findall(found[0].casefold())) for found in links
        )
        return not (named or _CALLS_FOR_LINK.search(asked) or self._answers(claim, ANSWERS))

    def _is_echo(self, claim: str, places: Sequence[Place]) -> bool:
        """Whether it has the question's words and the evidence does not. What stands in a question
        is no evidence; where the two differ in language, words say nothing."""
        if not places or not repeats(self.question, claim):
            return False
        language = other_language(self.question)
        return all(
            other_language(one.words) == language and not _tells(one, claim) for one in places
        )

    def _of_code(self, claim: str, places: Sequence[Place]) -> str | None:
        resting = [place for place in places if is_code(place.words)]
        if not is_code(claim) and not resting:
            return None
        if is_harmful(claim) or not _CALLS_FOR_CODE.search(self.question):
            return CODE
        return CODE if any(directs(_line_before(place)) for place in resting) else None

    def _of_places(self, claim: str, resting: Sequence[Place]) -> str | None:
        if other_language(self.question) is None and any(map(_foreign_inside, resting)):
            return LANGUAGE
        if self.sums_up:
            ordered = any(
                screened(place.words, kind="passage").verdict != "safe" for place in resting
            )
            return ORDER if ordered else None
        if resting and all(_is_record(place, claim) for place in resting):
            return None
        return self._of_orders(claim, resting) or self._of_neighbours(claim, resting)

    def _of_orders(self, claim: str, resting: Sequence[Place]) -> str | None:
        """What is ordered, or rests on a question, must be what was asked for."""
        asked = any(asks(place.words) for place in resting)
        if not (asked or orders(claim) or any(orders(place.words) for place in resting)):
            return None
        if self._answers(claim, ANSWERS) or any(self._is_taken(claim, one) for one in resting):
            of_kind = is_of_kind(self.question, claim)
            return ORDER if of_kind is False and not self._answers(claim, SURELY) else None
        return ASKS if asked else ORDER

    def _of_neighbours(self, claim: str, resting: Sequence[Place]) -> str | None:
        """What speaks to its reader, or stands in a passage that does, must bear on the question:
        what is inserted may be many sentences, and most of them may only tell."""
        if not (addresses(claim) or any(map(_is_beside_order, resting))):
            return None
        return None if self._bears(claim, resting) else BESIDE

    def _bears(self, claim: str, resting: Sequence[Place]) -> bool:
        """Whether it speaks of what the question speaks of and holds the kind of thing that is
        asked for. The reader's word alone is weak below what it takes for an answer."""
        of_kind = is_of_kind(self.question, claim)
        if speaks_of(self.question, claim) or any(map(self._follows_it, resting)):
            return True
        if self._answers(claim, SURELY):
            return True
        if of_kind is False:
            return False
        if self._answers(claim, RELATED if of_kind else ANSWERS):
            return True
        if shared(self.question, claim) and self._answers(claim, UNRELATED):
            return True
        least = UNRELATED if of_kind else ANSWERS
        return any(self._is_taken(claim, one, least) for one in resting)

    def _follows_it(self, place: Place) -> bool:
        """Whether it stands right below the question itself, as in a worksheet."""
        before = [bound for bound in sentence_bounds(place.text) if bound[1] <= place.start]
        above = place.text[slice(*before[-1])] if before else ""
        return asks(above) and speaks_of(self.question, above)

    def _is_taken(self, claim: str, place: Place, least: float = ANSWERS) -> bool:
        """Whether the claim has what the reader would take from the passage: only there it is
        known who "he" is."""
        try:
            reading = self.read(self.question, place.text)
        except Exception:  # noqa: BLE001 - the words have spoken already
            return False
        taken = " ".join(place.text[reading.start : reading.end].split())
        return bool(taken) and taken in claim and reading.answerable >= least

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
    return Guard(question, lru_cache(_REMEMBERED)(context.shelf.read_text), sums_up)


def _carrying(claim: str, place: Place) -> Place | None:
    """The sentence of a place that has most of the claim's words."""
    said = set(terms(claim))
    inside = [
        replace(place, start=start, end=end)
        for start, end in sentence_bounds(place.text)
        if start < place.end and place.start < end
    ]
    return max(inside, key=lambda one: len(said & set(terms(one.words))), default=None)


def _tells(place: Place, claim: str, share: float = _TOLD) -> bool:
    """Whether the place has enough of the claim's words to be where it comes from."""
    said = set(query_terms(claim))
    return len(said & set(terms(place.words))) >= share * len(said)


def _is_beside_order(place: Place) -> bool:
    """Whether another sentence there gives an order or asks, or turns of a talk are played."""
    others = (
        place.text[start:end] for start, end in sentence_bounds(place.text) if start != place.start
    )
    further = (text[start:end] for text in place.next_to for start, end in sentence_bounds(text))
    if len(_TURN.findall(place.text)) >= _TURNS:
        return True
    return any(directs(sentence) or asks(sentence) for sentence in chain(others, further))


def _line_before(place: Place) -> str:
    """The last words above a piece of code."""
    lines = [line for line in place.text[: place.start].splitlines() if line.strip(" `")]
    return next((line for line in reversed(lines) if not is_code(line)), "")


def _foreign_inside(place: Place) -> bool:
    """Whether the sentence is in another language, and what stands around it is not. A row of a
    table may name what it likes."""
    if _is_row(place):
        return False
    around = f"{place.text[: place.start]} {place.text[place.end :]}"
    if len(around.split()) < _TELLING or other_language(place.words) is None:
        return False
    return other_language(around) is None


def _is_row(place: Place) -> bool:
    """Whether it stands in a line of cells, as many as in the line above or below it."""
    first = place.text.rfind("\n", 0, place.start) + 1
    above = place.text[:first].rstrip().rpartition("\n")[2]
    line, _, below = place.text[first:].partition("\n")
    bars = line.count("|")
    return bars >= _FEWEST_BARS and bars in {above.count("|"), below.partition("\n")[0].count("|")}


def _is_record(place: Place, claim: str) -> bool:
    """Whether the claim says what a row of short cells says: names of songs and teams may order
    and ask as they like, and an order among them would be a line of another form."""
    if "\n" in place.words or not _is_row(place):
        return False
    cells = place.words.split("|")
    short = all(len(cell.split()) <= _LONGEST_CELL for cell in cells)
    return short and _tells(place, claim, _WHOLLY)
