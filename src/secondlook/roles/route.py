"""Whether a question is about one thing, answered in one pass, or needs several."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from secondlook.errors import UnusableReply
from secondlook.roles.ambiguity import unresolved
from secondlook.roles.follow_up import names
from secondlook.roles.prompts import load
from secondlook.roles.split import needs_more, split_by_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.answer import QueryType
    from secondlook.models.calls import Asker
    from secondlook.settings.workflows import AutoSettings

# The kind of a question by rules: one sign that it needs several facts is enough.

LONGEST_CLASSIFIED: Final = 4000
"""Characters. What is longer tells of many things; nobody needs to look for signs."""


@dataclass(frozen=True, slots=True)
class Verdict:
    kind: QueryType
    why: str


def classified(question: str, *, choices: int) -> Verdict:
    """`question` without its choices, of which only the number is known here."""
    if len(question) > LONGEST_CLASSIFIED:
        return Verdict("multi_hop", f"it is {len(question)} characters long")
    # What it tells, and what it asks.
    sentences = _SENTENCE.split(" ".join(question.split()))
    asking = [each for each in sentences if each.rstrip("\"')\u201d").endswith("?")]
    asking = asking or sentences[-1:]
    told = sum(len(each.split()) for each in sentences if each not in asking)
    asked = _PREAMBLE.sub("", " ".join(asking))
    plain = _RATHER.sub(" ", asked)
    signs: tuple[tuple[str, Callable[[], object]], ...] = (
        ("its form tells the facts that it needs", lambda: split_by_form(asked)),
        (
            "it asks about something that it only describes",
            lambda: needs_more(asked) or _DESCRIBED.search(asked),
        ),
        (f"it asks {len(asking)} questions", lambda: len(asking) > 1),
        (
            "it asks for several things at once",
            lambda: (
                _ASKED_AGAIN.search(asked)
                or _AND_WHY.search(asked)
                or (_DONE_AGAIN.search(asked) and _ASKING.search(asked))
            ),
        ),
        (
            "it compares, or sets several conditions",
            lambda: any(form.search(plain) for form in (_COMPARED, _THAN, _EITHER)),
        ),
        (f"{told} words of facts come before the question", lambda: told >= LONG_FACTS),
    )
    found = next((why for why, holds in signs if holds()), None)
    if not found and not choices:
        found = _doubt(asked)
    if found:
        return Verdict("multi_hop", found)
    return Verdict("simple", "nothing speaks for more than one concept")


def _doubt(asked: str) -> str | None:
    """What an open question is taken by in doubt. Of questions with choices these signs say
    little: the facts of one case are often long, and still of one matter."""
    words, known = len(asked.split()), len(list(names(asked[:1].lower() + asked[1:])))
    if words >= LONG_QUESTION or (known > 1 and words >= NAMED_QUESTION):
        return f"its question is {words} words long"
    if _QUALIFIED.search(asked) or _LATE.match(asked):
        return "it may ask about something that it only describes"
    return "it asks for two things of one" if _TWO_SIDES.search(asked) else None


# Signs that a question needs several facts, each in words for people. English only: a question
# in another language shows none but its length.

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


# The kind of a question by a model, in one word.

NODE: Final = "classify"
_KIND = re.compile(r"\b(?P<simple>simple)\b|\bmulti[ _-]?(?:hop|step)?\b", re.IGNORECASE)


async def asked_model(models: Asker, question: str, *, choices: int) -> QueryType:
    """What the model says. It is told that there are choices, and how many: not what they say.
    Raises ModelError or BudgetExceeded, also where the reply names no kind or both."""
    prompt = load(NODE)
    reply = await models.ask(
        "plan",
        prompt.render(
            question=" ".join(question.split()), choices=str(choices) if choices else "none"
        ),
        node=NODE,
        max_tokens=prompt.max_tokens,
        temperature=0.0,
    )
    said = {bool(found["simple"]) for found in _KIND.finditer(reply.text)}
    if len(said) != 1:
        name = models.name("plan")
        raise UnusableReply(f"{name} named no kind of question: {reply.text[:60]!r}")
    return "simple" if said.pop() else "multi_hop"


# Tells a request for a summary from a question, by its form. Asks no model.

# Patterns are compiled when a question may be a request, which few are: it takes a while.
_FLAGS = re.IGNORECASE | re.DOTALL
_SAY = r"(?:(?:please|kindly|hey|hi|ok|okay|now|so)[,!]?\s+)*"
_ASK = (
    r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?"
    r"|i(?:\s+would|['’]d)?\s+(?:need|want|like)\s+(?:you\s+to\s+)?|let\s+me\s+have\s+)?"  # noqa: RUF001
)
_GIVE = (
    r"(?:(?:give|write|make|show|send|provide|prepare|draft|get|produce|create)\s+(?:me|us)?\s*)?"
)
_INTENT_KIND = (
    r"(?:(?:a|an|the)\s+)?(?:(?:very|short|brief|quick|concise|rough|general|high-level|executive|"
    r"one-page|one-paragraph|plain|detailed|long|full|two-sentence|one-sentence)\s+)*"
)
_NOUN = (
    r"(?:summary|summari[sz]ation|overview|synopsis|digest|gist|recap|outline|tl;?\s?dr|abstract)"
)
_POINTS = (
    r"(?:(?:what\s+are|list)\s+)?(?:the\s+)?(?:main|key|central|most\s+important)\s+"
    r"(?:points|takeaways|ideas)"
)
_DOCUMENT = (
    r"(?:documents?|files?|papers?|reports?|texts?|articles?|books?|handbooks?|manuals?|guides?|"
    r"minutes|letters?|e?-?mails?|logs?|surveys?|contracts?|theses|thesis|slides?|presentations?|"
    r"pdfs?|notes|chapters?|essays?|stud(?:y|ies)|sheets?|spreadsheets?|tables?|brochures?|"
    r"librar(?:y|ies)|collections?|folders?|archives?|memos?|transcripts?|web\s?pages?|pages?)"
)
_ANY = (
    r"(?:documents?|files?|papers|texts?|pdfs?|librar(?:y|ies)|collections?|folders?|archives?|"
    r"web\s?pages?|pages?|notes)"
)
"""Documents without a kind: the survey may be one of many documents, the file cannot."""
_THIS = (
    r"(?:this|that|it|these|those|all\s+(?:of\s+)?(?:this|that|these)|everything)"
    rf"(?:\s+{_DOCUMENT})?"
)
_OF = r"\s+(?:of|on|about|for|from|over)\s+"
_TARGET = r"(?P<target>.+?)"

_ABOUT_NAMED = (
    r"what(?:['’]s|\s+is|\s+are)\s+(?P<target>(?:the|my|our)\s+(?:[\w'’-]+\s+){0,4}?"  # noqa: RUF001
    rf"{_DOCUMENT}|[\w.-]+\.[a-z]{{2,5}})\s+(?:all\s+)?about"
)
_SAYS = (
    rf"what\s+(?:do|does)\s+(?P<target>(?:this|these|the|my|our)\s+{_DOCUMENT})\s+"
    r"(?:say|cover|contain|deal\s+with|talk\s+about|discuss)"
)
_FORMS = (
    rf"{_ASK}(?:summari[sz]e|sum\s+up|recap|give\s+the\s+gist\s+of)\s+{_TARGET}",
    rf"{_ASK}sum\s+{_TARGET}\s+up",
    r"(?:summari[sz]e|sum\s+up|recap|summary|overview|tl;?\s?dr)(?P<target>)",
    rf"{_ASK}{_GIVE}{_INTENT_KIND}{_NOUN}{_OF}{_TARGET}",
    rf"{_ASK}(?:give|write|make|show|send|provide)\s+(?:me|us)?\s*{_INTENT_KIND}{_NOUN}(?P<target>)",
    rf"tl;?\s?dr[:,]?\s+{_TARGET}",
    rf"{_ASK}{_GIVE}{_POINTS}(?:{_OF}{_TARGET})?",
    rf"what(?:['’]s|\s+is|\s+are|\s+was|\s+were)\s+(?P<target>{_THIS})\s+(?:all\s+)?about",  # noqa: RUF001
    _ABOUT_NAMED,
    _SAYS,
    rf"what(?:['’]s|\s+is)\s+in\s+(?P<target>(?:this|these|the|my|our)\s+{_DOCUMENT})",  # noqa: RUF001
    rf"(?:tell|show)\s+me\s+what\s+(?P<target>{_THIS})\s+(?:is|are)\s+(?:all\s+)?about",
)
# Cheap, and wrong in one direction only: hardly any question gets past it.
_MAY_BE = re.compile(
    r"summar|\bsum\b|overview|about|gist|recap|tl;?\s?dr|synops|digest|outline|abstract|points|"
    r"takeaways|ideas|\Awhat\W{0,2}(?:s|is)\s+in\b|\Awhat\s+do(?:es)?\s+(?:this|these|the|my|our)\b",
    re.IGNORECASE,
)
_AFTERTHOUGHT = (
    r"[,\s]+(?:for\s+me|for\s+us|please|briefly|shortly|in\s+(?:short|brief|detail|a\s+nutshell|"
    r"simple\s+terms|plain\s+(?:words|english|language)|your\s+own\s+words)|"
    r"in\s+(?:about\s+)?(?:an?|one|two|three|four|five|six|ten|a\s+few|\d+)\s+"
    r"(?:short\s+)?(?:sentences?|paragraphs?|words|lines?|bullets?(?:\s+points)?|points|pages?))\Z"
)
_CALLED = rf"(?:the\s+|this\s+|that\s+|my\s+)?{_DOCUMENT}\s+(?:called|named|titled|entitled)\s+"
_CONTENTS = r"(?:the\s+)?(?:contents?|text)\s+of\s+"
_EVERYTHING = (
    rf"(?:(?:{_THIS}|(?:(?:all|each)\s+(?:of\s+)?)?(?:the|my|our|your)?\s*"
    rf"(?:whole\s+|entire\s+|full\s+|uploaded\s+|given\s+)?{_ANY}|all|them(?:\s+all)?|"
    r"what\s+(?:you|i)\s+have|what\s+is\s+here|what['’]s\s+here))"  # noqa: RUF001
)
_QUESTION_INSIDE = (
    r"\A(?:how|what|why|when|where|who|whom|whose|which|whether|if)\b"
    r"|\b(?:and|then|but)\s+(?:also\s+)?(?:tell|say|explain|list|show|give|answer|compare|how|what|"
    r"why|when|where|who|which|is|are|does|do|did)\b|\?.*\w"
)
_LONGEST = 300
_QUOTES = " \t\n\"'“”‘’«»`"  # noqa: RUF001


def summary_request(question: str) -> str | None:
    """What is to be summarised; "" means whatever there is, None that nobody asks for it."""
    whole = " ".join(question.split()).rstrip(" ?.!")
    if len(whole) > _LONGEST or not _MAY_BE.search(whole):
        return None
    text = whole
    while (shorter := re.sub(_AFTERTHOUGHT, "", text, flags=_FLAGS)) != text:
        text = shorter
    for form in _FORMS:
        if found := re.fullmatch(_SAY + form, text, _FLAGS):
            said = found["target"] or ""
            if re.search(_QUESTION_INSIDE, said, _FLAGS):
                return None
            target = re.sub(rf"\A{_CONTENTS}", "", said, flags=_FLAGS).strip(_QUOTES)
            if re.fullmatch(_EVERYTHING, target, _FLAGS):
                return ""
            return re.sub(rf"\A{_CALLED}", "", target, flags=_FLAGS).strip(_QUOTES)
    return None


# Tells a greeting, or a question about the library itself, from a question to its documents: only
# where the whole of it has such a form, in English. "What can the captain do" is for documents.

_GREETING = r"(?:hi|hello|hey|good (?:morning|afternoon|evening|day))(?: there| again| all)?"
_FILES = r"(?:documents?|files?|docs)"
_HAVE = r"(?:do )?(?:you|i|we) have"
_HERE = r"(?:here|the library|(?:this|my|your|our) (?:library|collection))"
_TOPIC = r"(?: (?:about|regarding) (?P<topic>.+))?"
_REQUESTS = (
    ("hello", _GREETING),
    ("thanks", r"(?:ok,? |okay,? )?(?:thanks|thank you)(?: a lot| so much| very much| again)?"),
    ("help", r"help(?: me)?|(?:who|what) are you|what (?:can|do) you do|what can i ask(?: you)?"),
    ("list", rf"(?:how many|what|which) {_FILES} (?:{_HAVE}|are (?:there|here)){_TOPIC}"),
    ("list", rf"(?:how many|what|which) {_FILES} are (?:there )?in {_HERE}"),
    ("list", rf"(?:list|show)(?: me)?(?: all)?(?: the| my| your)? {_FILES}(?: {_HAVE})?{_TOPIC}"),
    ("list", rf"what(?:['’]s| is) in {_HERE}|what do you have(?: here)?"),  # noqa: RUF001
    ("list", rf"what are (?:the|my|your|these|all these) {_FILES} (?:all )?about"),
)
_POLITE = rf"\A(?:{_GREETING}[ ,.!]+)?(?:please |can you |could you )?|,? please\Z"
_LONGEST_REQUEST = 120


def catalogue_request(question: str) -> tuple[str, str] | None:
    """Its kind, and what the files it asks for are about ("": all of them); None for a question to
    the documents, also where it begins with a greeting."""
    text = " ".join(question.split()).strip(" ?.!,")
    for said in (text, re.sub(_POLITE, "", text, flags=_FLAGS)):
        for kind, form in _REQUESTS if len(text) <= _LONGEST_REQUEST else ():
            if found := re.fullmatch(form, said, _FLAGS):
                topic = found.groupdict().get("topic") or ""
                asks = re.search(_QUESTION_INSIDE, topic, _FLAGS)
                return None if asks else (kind, topic)
    return None


# A sentence that asks two things, taken apart into questions of their own. English only.

MOST_PARTS: Final = 4
LONGEST_TAKEN_APART: Final = 1000
_APART_DO: Final = "is|are|was|were|do|does|did|has|have|had|can|could|will|would|should"
_ORDER: Final = "show|plot|draw|chart|list|give|compute|calculate|count|tell|name|find|sum"
_BEFORE: Final = "in|at|on|by|for|to|of|from|with|under"
_ASKS = re.compile(
    rf"\W*(?:(?:please|also|and|then)\s+)*(?:(?:{_BEFORE})\s+)?(?:{_WH}|{_APART_DO}|{_ORDER})\b",
    re.IGNORECASE,
)
_JOINT = re.compile(
    rf"\s*(?:[,;]\s*(?:(?:and|but|plus)\b)?|\b(?:and|but|plus|as well as)\b)\s*(?:also\s+)?"
    rf"(?=(?:(?:{_BEFORE})\s+)?(?:{_WH}|show|plot|draw|list|give|compute|calculate|count)\b)",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(?<=[?!.;])\s+(?=\S)")
_SHARED = re.compile(
    r"(?P<head>\W*(?:what|which)\s+(?:is|are|was|were)|\W*(?:tell me|give me|show me|compare))\s+"
    r"(?P<one>.+?)\s*,?\s+(?:and|with|to)\s+(?P<other>(?:the|our|its|an?|total|average|mean)\s.+)",
    re.IGNORECASE,
)
_ASKED_AS: Final = frozenset({"tell me", "give me", "show me", "compare"})
_FEWEST_WORDS: Final = 2


def apart(question: str) -> tuple[str, ...]:
    """The questions that it asks, in its order; one alone where it asks one, or nobody can tell."""
    text = " ".join(question.split())
    if len(text) > LONGEST_TAKEN_APART:
        return (text,)
    pieces = [piece for sentence in _ENDS.split(text) for piece in _JOINT.split(sentence)]
    parts = [_whole(piece) for piece in pieces if piece.strip(" ,;.?!")]
    asks = all(_ASKS.match(part) and len(part.split()) > _FEWEST_WORDS for part in parts)
    return tuple(parts) if asks and 1 < len(parts) <= MOST_PARTS else (text,)


def shared_head(question: str) -> tuple[str, ...]:
    """`What is the target and the total of sales` as the two questions it is short for. Whoever
    uses it looks whether each of them makes sense: `the law of supply and the demand` is one."""
    text = " ".join(question.split())
    found = _SHARED.fullmatch(text.rstrip("?.! ")) if len(text) <= LONGEST_TAKEN_APART else None
    if found is None:
        return (text,)
    head = found["head"].strip()
    asked = "what is" if head.casefold() in _ASKED_AS else head
    return tuple(_whole(f"{asked} {found[name]}") for name in ("one", "other"))


def _whole(piece: str) -> str:
    bare = piece.strip(" ,;.?!")
    return f"{bare[:1].upper()}{bare[1:]}?"


# Which workflow answers a question from documents.

_ACCOUNT = re.compile(
    r"\b(?:compare|contrast|discuss|evaluate|assess|analy[sz]e|argue|outline the|trace the)\b"
    r"|\b(?:pros and cons|arguments? (?:for|against)|advantages and disadvantages|strengths and"
    r" weaknesses|for and against|in (?:what|which) ways|to what extent|similarities|differences"
    r" between)\b"
    r"|\b(?:explain|describe)\b.{0,60}\b(?:how|why|and|between)\b",
    re.IGNORECASE,
)
"""An account has no short answer: what it is worth is the evidence that it lays out."""


def from_documents(question: str, settings: AutoSettings) -> tuple[str, str]:
    if _ACCOUNT.search(question):
        return settings.routes.account, "It asks for an account of several things"
    verdict = classified(question, choices=0)
    if verdict.kind == "multi_hop":
        return settings.routes.several_facts, f"It needs several facts ({verdict.why})"
    if unresolved(question) is not None:  # `corrective` asks back where a word has several meanings
        return settings.routes.several_facts, "A word of it may have several meanings"
    return settings.routes.one_fact, "Searched your documents"
