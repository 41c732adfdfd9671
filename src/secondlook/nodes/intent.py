"""Tells a request for a summary from a question, by its form. Asks no model."""

from __future__ import annotations

import re

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
_FORMS = tuple(
    re.compile(_SAY + form, re.IGNORECASE | re.DOTALL)
    for form in (
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
)
_AFTERTHOUGHT = re.compile(
    r"[,\s]+(?:for\s+me|for\s+us|please|briefly|shortly|in\s+(?:short|brief|detail|a\s+nutshell|"
    r"simple\s+terms|plain\s+(?:words|english|language)|your\s+own\s+words)|"
    r"in\s+(?:about\s+)?(?:an?|one|two|three|four|five|six|ten|a\s+few|\d+)\s+"
    r"(?:short\s+)?(?:sentences?|paragraphs?|words|lines?|bullets?(?:\s+points)?|points|pages?))\Z",
    re.IGNORECASE,
)
_CALLED = re.compile(
    rf"(?:the\s+|this\s+|that\s+|my\s+)?{_DOCUMENT}\s+(?:called|named|titled|entitled)\s+",
    re.IGNORECASE,
)
_CONTENTS = re.compile(r"(?:the\s+)?(?:contents?|text)\s+of\s+", re.IGNORECASE)
_EVERYTHING = re.compile(
    rf"(?:(?:{_THIS}|(?:(?:all|each)\s+(?:of\s+)?)?(?:the|my|our|your)?\s*"
    rf"(?:whole\s+|entire\s+|full\s+|uploaded\s+|given\s+)?{_ANY}|all|them(?:\s+all)?|"
    r"what\s+(?:you|i)\s+have|what\s+is\s+here|what['’]s\s+here))",  # noqa: RUF001
    re.IGNORECASE,
)
_QUESTION_INSIDE = re.compile(
    r"\A(?:how|what|why|when|where|who|whom|whose|which|whether|if)\b"
    r"|\b(?:and|then|but)\s+(?:also\s+)?(?:tell|say|explain|list|show|give|answer|compare|how|what|"
    r"why|when|where|who|which|is|are|does|do|did)\b|\?.*\w",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST = 300
_QUOTES = " \t\n\"'“”‘’«»`"  # noqa: RUF001


def summary_request(question: str) -> str | None:
    """What is to be summarised; "" means whatever there is, None that nobody asks for it."""
    whole = " ".join(question.split()).rstrip(" ?.!")
    if not whole or len(whole) > _LONGEST:
        return None
    for form in _FORMS:
        if found := form.fullmatch(_without_afterthoughts(whole)):
            return _target(found["target"] or "")
    return None


def _target(said: str) -> str | None:
    if _QUESTION_INSIDE.search(said):
        return None
    target = _CONTENTS.sub("", said, count=1) if _CONTENTS.match(said) else said
    if _EVERYTHING.fullmatch(target.strip(_QUOTES)):
        return ""
    if called := _CALLED.match(target):
        target = target[called.end() :]
    return target.strip(_QUOTES)


def _without_afterthoughts(text: str) -> str:
    while (shorter := _AFTERTHOUGHT.sub("", text)) != text:
        text = shorter
    return text
