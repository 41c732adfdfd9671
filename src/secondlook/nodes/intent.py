"""Tells a request for a summary from a question, by its form. Asks no model."""

from __future__ import annotations

import re

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
_KIND = (
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
    rf"{_ASK}{_GIVE}{_KIND}{_NOUN}{_OF}{_TARGET}",
    rf"{_ASK}(?:give|write|make|show|send|provide)\s+(?:me|us)?\s*{_KIND}{_NOUN}(?P<target>)",
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
    bare = _without_afterthoughts(whole)
    for form in _FORMS:
        if found := re.fullmatch(_SAY + form, bare, _FLAGS):
            return _target(found["target"] or "")
    return None


def _target(said: str) -> str | None:
    if re.search(_QUESTION_INSIDE, said, _FLAGS):
        return None
    target = re.sub(rf"\A{_CONTENTS}", "", said, flags=_FLAGS).strip(_QUOTES)
    if re.fullmatch(_EVERYTHING, target, _FLAGS):
        return ""
    return re.sub(rf"\A{_CALLED}", "", target, flags=_FLAGS).strip(_QUOTES)


def _without_afterthoughts(text: str) -> str:
    while (shorter := re.sub(_AFTERTHOUGHT, "", text, flags=_FLAGS)) != text:
        text = shorter
    return text
