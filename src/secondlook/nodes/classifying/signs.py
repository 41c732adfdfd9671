"""Signs that a question needs several facts, each in words for people. English only: a question
in another language shows none but its length.

The decomposition of the corrective workflow knows questions it can take apart for sure. Here it is
enough that one pass will not do, so the signs are wider, and they look at what is told as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from secondlook.nodes.follow_up import names
from secondlook.nodes.parts.forms import split_by_form
from secondlook.nodes.parts.hints import needs_more

_SENTENCE = re.compile(r"(?<=[.!?])[\"'\u201d)]*\s+(?=[\"'\u201c(]?[A-Z0-9])")
_WH: Final = "who|whom|whose|what|which|when|where|why|how"
_BEFORE_WH: Final = "in|at|on|by|for|to|under|against|with|of|from|over"
_DO: Final = (
    "is|are|was|were|do|does|did|can|could|may|might|must|should|would|will|has|have|had|shall"
)
_ASKED_AGAIN = re.compile(
    rf"(?:[,;]|,? \b(?:and|or|but))\s+(?:if so,?\s+|if not,?\s+|also\s+)?(?:(?:{_BEFORE_WH})\s+)?"
    rf"(?:(?<=and )(?:{_WH})|(?<=or )(?:{_WH})|(?<=but )(?:{_WH})|(?<=so, )(?:{_WH})|"
    rf"(?<=; )(?:{_WH})|(?:(?:{_BEFORE_WH}) )?(?:(?<=and in )|(?<=and by )|(?<=and for )|"
    rf"(?<=and under )|(?<=and against )|(?<=and from )|(?<=and to ))(?:{_WH}))\b",
    re.IGNORECASE,
)
_DONE_AGAIN = re.compile(
    rf",? (?:and|or|but) (?:if so,? |also |then )?(?:{_DO}) (?:not )?"
    rf"(?:the|an?|it|its|he|his|she|her|they|their|this|that|these|those|there|one|any|[A-Z]\w+)\b"
)
_ASKING = re.compile(rf"(?:\A|, |: )(?:(?:{_BEFORE_WH}) )?(?:{_WH}|{_DO})\b", re.IGNORECASE)
_AND_WHY = re.compile(r"\band (?:why|how)\b", re.IGNORECASE)
_COMPARED = re.compile(
    r"\bcompar(?:e|es|ed|ing|ison)\b|\bdiffer(?:s|ed|ence|ences)?\b|\bdifferent from\b|"
    r"\bin common\b|\bversus\b|\bvs\.?\b|\bwhich of the two\b|\bboth\b.+\band\b|"
    r"\bcombined? with\b",
    re.IGNORECASE,
)
_THAN = re.compile(
    r"\b(?:\w+er|more|less|fewer|better|worse|further|rather)\b[^.?]{0,60}?\bthan\b"
    r"(?! (?:\d|one\b|two\b|three\b|four\b|five\b|ten\b|an? \w+ (?:of|ago)\b|half\b|usual\b))",
    re.IGNORECASE,
)
_RATHER = re.compile(r"\b(?:rather|other) than\b", re.IGNORECASE)
_EITHER = re.compile(
    r"\A(?:which|who|what)\b.*\b(?:\w+er|more|less|fewer|first|last)\b.*, .+ or ", re.IGNORECASE
)
_BARE_HEAD: Final = (
    "name|term|word|kind|type|number|amount|share|part|end|rest|date|purpose|meaning|case|sort"
)
_HEAD: Final = rf"(?!the (?:{_BARE_HEAD})\b)"
_DESCRIBED = re.compile(
    rf"\b{_HEAD}(?:the|an?) [\w'-]+(?: [\w'-]+)? (?:of|at|in|to|from|by|after) "
    r"(?:the|an?) (?:[\w'-]+ ){1,4}?(?:that|which|who|whose|where|in which)\b"
    rf"|\b{_HEAD}the [\w'-]+ of the (?!{_BARE_HEAD})[\w'-]+ (?:of|that|who|whose)\b",
    re.IGNORECASE,
)
_TWO_SIDES = re.compile(
    r"\b(?:the )?[\w-]+s and (?:the )?[\w-]+s of (?:the|an?|\w+)\b", re.IGNORECASE
)

_QUALIFIED = re.compile(
    r"\b(?:an?|the) (?:[\w'-]+ ){1,5}?(?:who|which|whose|where|(?:founded|directed|written|"
    r"produced|created|owned|starring|featuring|born|based|known|named|published|released|located|"
    r"played|led|hosted) (?:by|in|on|for|as|after)?)\b",
    re.IGNORECASE,
)
_LATE = re.compile(
    rf"(?!(?:{_WH}|{_DO}|{_BEFORE_WH}|during|after|before|about)\b).{{25,}}"
    r"\b(?:what|which|who|whom|how many|where|when)\b[^?]{0,60}\?*\Z",
    re.IGNORECASE,
)
_PREAMBLE = re.compile(rf"\A.*[:;] (?=(?:(?:{_BEFORE_WH}) )?(?:{_WH}|{_DO})\b)", re.IGNORECASE)

LONG_FACTS: Final = 18
"""Words told before a question with choices, from which on they tell of more than one matter."""
LONG_QUESTION: Final = 18
"""Words of an open question from which on one may doubt that it asks for one fact."""
NAMED_QUESTION: Final = 14
"""The same where it names two or more."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A question, parted into what it tells and what it asks."""

    told: str
    asked: str
    questions: int

    @classmethod
    def of(cls, question: str) -> Wording:
        text = " ".join(question.split())
        sentences = _SENTENCE.split(text)
        asking = [each for each in sentences if each.rstrip("\"')\u201d").endswith("?")]
        asking = asking or sentences[-1:]
        told = [each for each in sentences if each not in asking]
        asked = _PREAMBLE.sub("", " ".join(asking))
        return cls(" ".join(told), asked, len(asking))


def asks_twice(wording: Wording) -> str | None:
    if wording.questions > 1:
        return f"it asks {wording.questions} questions"
    again = _ASKED_AGAIN.search(wording.asked) or _AND_WHY.search(wording.asked)
    if again or (_DONE_AGAIN.search(wording.asked) and _ASKING.search(wording.asked)):
        return "it asks for several things at once"
    return None


def has_parts(wording: Wording) -> str | None:
    if split_by_form(wording.asked):
        return "its form tells the facts that it needs"
    if needs_more(wording.asked) or _DESCRIBED.search(wording.asked):
        return "it asks about something that it only describes"
    return None


def compares(wording: Wording) -> str | None:
    text = _RATHER.sub(" ", wording.asked)
    if _COMPARED.search(text) or _THAN.search(text) or _EITHER.search(text):
        return "it compares, or sets several conditions"
    return None


def tells_much(wording: Wording) -> str | None:
    told = len(wording.told.split())
    return f"{told} words of facts come before the question" if told >= LONG_FACTS else None


def leaves_doubt(wording: Wording) -> str | None:
    """What an open question is taken by in doubt. Of questions with choices these signs say
    little: the facts of one case are often long, and still of one matter."""
    asked = wording.asked
    words, known = len(asked.split()), len(list(names(asked[:1].lower() + asked[1:])))
    if words >= LONG_QUESTION or (known > 1 and words >= NAMED_QUESTION):
        return f"its question is {words} words long"
    if _QUALIFIED.search(asked) or _LATE.match(asked):
        return "it may ask about something that it only describes"
    return "it asks for two things of one" if _TWO_SIDES.search(asked) else None
